import numpy as np
import pytest
from scipy import signal

from engine.audio.files import read_audio
from engine.errors import AudioError, Cancelled, SettingsError
from engine.provenance.installation import Installation
from engine.provenance.verification import verify
from engine.songs.mixing import programme_lufs
from engine.songs.part_conversion import Work
from engine.songs.parts import Part
from engine.songs.separation import OnnxSeparator
from engine.songs.song import FolderStages, Song, SongFiles, Stem, make_song
from engine.units import SAMPLE_RATE
from engine.voices.voice import load_voice
from tests.engine.songs.conftest import chords, save

VOICE = "goekhan"
PARTS = (Part(0.0, VOICE),)


class Counting:
    """Counts how often there is something to separate, and how often a voice is used."""

    def __init__(self, network):
        self.network, self.separated = network, 0

    def __call__(self):
        self.separated += 1
        return OnnxSeparator(self.network)


@pytest.fixture
def files(tmp_path):
    (tmp_path / "out").mkdir()
    return SongFiles(*(tmp_path / "out" / f"{name}.wav" for name in ("mix", "vocal", "backing")))


@pytest.fixture(scope="module")
def stems(sing):
    return sing(5.0), chords(5.0)


@pytest.fixture
def song(stems, tmp_path):
    vocal, sides = stems
    return save(tmp_path / "song.wav", vocal + sides, vocal - sides)


def test_make_song_separates_converts_and_mixes_a_song(song, stems, files, network, tmp_path):
    work, stages = Work(installation=Installation(tmp_path / "home")), FolderStages(tmp_path / "work")
    made = make_song(Song(Stem(song, PARTS), separates=True), files, load_voice, stages, Counting(network), work=work)
    mix, vocal, backing = (read_audio(path).samples for path in (files.mix, files.vocal, files.backing))
    assert mix.shape == read_audio(song).samples.shape
    gain = 10 ** (made.mix.gain_db / 20)
    np.testing.assert_allclose(backing, gain * np.stack([stems[1], -stems[1]]), atol=5e-6)  # the song's own
    np.testing.assert_allclose(mix - backing, vocal, atol=5e-6)  # nothing else is in the mix
    original = save(tmp_path / "original.wav", stems[0], stems[0])
    difference = programme_lufs(files.vocal) - programme_lufs(original) - made.mix.gain_db
    assert abs(difference) < 0.5
    states = [verify(path, work.installation).state for path in (files.mix, files.vocal, files.backing)]
    assert states == ["made_here", "made_here", "no_credentials"]
    assert made.statement.voice == VOICE


def test_make_song_needs_no_separator_for_a_vocal_with_backing(stems, files, tmp_path):
    vocal, backing = save(tmp_path / "v.wav", stems[0]), save(tmp_path / "b.wav", stems[1], stems[1])

    def none():
        raise AssertionError("there is nothing to separate")

    make_song(Song(Stem(vocal, PARTS), backing), files, load_voice, FolderStages(tmp_path / "work"), none)
    assert read_audio(files.mix).samples.shape == (2, len(stems[0]))


def test_make_song_resumes_after_the_last_finished_stage(song, files, network, tmp_path):
    stages, separator = FolderStages(tmp_path / "work"), Counting(network)
    wanted = Song(Stem(song, PARTS), separates=True)

    def stop_at(message):
        def report(fraction, now):
            if now == message:
                raise Cancelled

        return report

    for message in ("converting", "mixing"):
        with pytest.raises(Cancelled):
            make_song(wanted, files, load_voice, stages, separator, report=stop_at(message))
        assert not list(files.mix.parent.iterdir())
    seen = []
    made = make_song(wanted, files, load_voice, stages, separator, report=lambda *one: seen.append(one[1]))
    assert separator.separated == 1
    assert "separating" not in seen  # the progress is of what is left, so that the time left follows from it
    assert "analysing" not in seen  # nothing was converted again
    assert made.statement.voice == VOICE
    whole = FolderStages(tmp_path / "again")
    afresh = SongFiles(*(path.with_stem(f"{path.stem}2") for path in (files.mix, files.vocal, files.backing)))
    make_song(wanted, afresh, load_voice, whole, separator)
    np.testing.assert_array_equal(read_audio(files.mix).samples, read_audio(afresh.mix).samples)


def test_make_song_converts_a_lead_and_keeps_a_harmony_stem(stems, files, sing, tmp_path):
    lead, harmony = save(tmp_path / "lead.wav", stems[0]), save(tmp_path / "harmony.wav", 0.5 * sing(5.0, hertz=227.0))
    backing = save(tmp_path / "b.wav", stems[1])
    targets = SongFiles(files.mix, files.vocal, files.backing, [files.mix.with_name("harmony.wav")])
    given = Song(Stem(lead, PARTS), backing, stems=[Stem(harmony, (Part(0.0, "keep"),))])
    made = make_song(given, targets, load_voice, FolderStages(tmp_path / "work"), nothing_to_separate)
    assert [done is None for done in made.conversions] == [False, True]
    gain = 10 ** (made.mix.gain_db / 20)
    np.testing.assert_allclose(read_audio(targets.stems[0]).samples, gain * read_audio(harmony).samples, atol=5e-6)


def test_make_song_refuses_bad_input_and_writes_nothing(song, stems, files, network, tmp_path):
    vocal, silent = save(tmp_path / "v.wav", stems[0]), save(tmp_path / "s.wav", 0 * stems[0])
    long, kept = save(tmp_path / "long.wav", chords(9.0)), (Part(0.0, "keep"),)
    for wanted, sentence in (
        (Song(Stem(vocal, PARTS)), "There is no backing"),
        (Song(Stem(vocal, kept), long), "Nothing is converted"),
        (Song(Stem(vocal, PARTS), long), "lasts 5 seconds, the backing 9 seconds"),
        (Song(Stem(vocal, PARTS), song), "already holds the vocal"),
        (Song(Stem(silent, PARTS), song), "is silent"),
        (Song(Stem(silent, PARTS), separates=True), "There is no vocal"),
    ):
        with pytest.raises((AudioError, SettingsError), match=sentence):
            make_song(wanted, files, load_voice, FolderStages(tmp_path / "work"), Counting(network))
    assert not list(files.mix.parent.iterdir())


def nothing_to_separate():
    raise AssertionError("there is nothing to separate")


@pytest.mark.parametrize("taken", ["mix", "vocal", "backing"])
def test_make_song_refuses_to_overwrite_its_own_inputs(stems, files, tmp_path, taken):
    vocal, backing = save(tmp_path / "v.wav", stems[0]), save(getattr(files, taken), stems[1])
    before = backing.read_bytes()
    with pytest.raises(SettingsError, match=f'would overwrite "{taken}.wav"'):
        make_song(
            Song(Stem(vocal, PARTS), backing), files, load_voice, FolderStages(tmp_path / "w"), nothing_to_separate
        )
    assert [path.name for path in files.mix.parent.iterdir()] == [f"{taken}.wav"]
    assert backing.read_bytes() == before


def test_make_song_refuses_mismatched_channels_before_the_long_stages(song, stems, files, tmp_path):
    six = save(tmp_path / "six.wav", *[0.1 * stems[1]] * 6)
    for wanted in (Song(Stem(song, PARTS), six), Song(Stem(song, PARTS), six, separates=True)):
        with pytest.raises(AudioError, match=r'"song\.wav" has 2 channels and "six\.wav" has 6 channels'):
            make_song(wanted, files, load_voice, FolderStages(tmp_path / "work"), nothing_to_separate)
    assert not (tmp_path / "work").exists()


def test_make_song_notes_two_pitches_only_in_a_converted_stem_and_names_it(song, stems, files, sing, network, tmp_path):
    choir = save(tmp_path / "choir.wav", stems[0] + 0.5 * sing(5.0, hertz=227.0))
    third = files.mix.with_name("third.wav")
    targets = SongFiles(files.mix, files.vocal, files.backing, [third])
    found = []
    for parts in ((Part(0.0, "keep"),), PARTS):
        given = Song(Stem(song, PARTS), separates=True, stems=[Stem(choir, parts)])
        made = make_song(given, targets, load_voice, FolderStages(tmp_path / "work"), Counting(network))
        found.append(made.notes)
    assert found[0] == []
    assert [note.partition(" at once")[0] for note in found[1]] == ['"choir.wav": Two pitches sound']


def noise(seconds):
    return (0.1 * np.random.default_rng(0).standard_normal(round(seconds * SAMPLE_RATE))).astype(np.float32)


def test_make_song_warns_of_a_lead_and_of_a_stem_without_a_voice_before_it_converts(stems, files, tmp_path):
    paths = [save(tmp_path / f"{name}.wav", noise(3.0)) for name in ("lead", "stem", "kept")]
    backing, order, stages = save(tmp_path / "b.wav", stems[1]), [], FolderStages(tmp_path / "work")
    lead, stem, kept = (Stem(path, PARTS if path != paths[2] else (Part(0.0, "keep"),)) for path in paths)
    for _ in range(2):  # an interrupted song that goes on says it again
        order.clear()
        given = (Song(lead, backing, offset_s=0.0, stems=[stem, kept]), files, load_voice, stages, Counting(None))
        made = make_song(*given, report=lambda _, message: order.append(message), work=Work(warn=order.append))
        said = [one for one in order if "No voice was found" in one]
        assert [one.split(": ")[0] for one in said] == ['"lead.wav"', '"stem.wav"']
        assert made.warning == " ".join(said)
        if "converting" in order:
            assert order.index(said[0]) < order.index("mixing")
    made = make_song(Song(lead, backing, offset_s=0.0), files, load_voice, stages, Counting(None))
    assert made.warning.startswith("No voice was found")  # there is one recording alone


@pytest.mark.parametrize("played", [noise(4.0), chords(4.0) * 0 + np.sin(np.arange(4 * SAMPLE_RATE) / 70)])
def test_make_song_warns_of_an_instrumental_given_as_a_song(played, files, network, tmp_path):
    song = save(tmp_path / "song.wav", played.astype(np.float32), 0.6 * played.astype(np.float32))
    made = make_song(
        Song(Stem(song, PARTS), separates=True), files, load_voice, FolderStages(tmp_path / "work"), Counting(network)
    )
    assert "check that the song is not an instrumental" in made.warning


def test_make_song_does_not_warn_of_a_voice(song, files, network, tmp_path):
    said, stages = [], FolderStages(tmp_path / "work")
    work = Work(warn=said.append)
    made = make_song(Song(Stem(song, PARTS), separates=True), files, load_voice, stages, Counting(network), work=work)
    assert (said, made.warning) == ([], None)


def test_make_song_states_both_voices_of_a_duet(stems, files, sing, tmp_path):
    voices = ["goekhan", "kathleen"]
    lead, other = (
        Stem(save(tmp_path / f"{voice}.wav", sing(2.0, hertz=hertz)), (Part(0.0, voice),))
        for voice, hertz in zip(voices, (180.0, 240.0), strict=True)
    )
    targets = SongFiles(files.mix, files.vocal, files.backing, [files.mix.with_name("other.wav")])
    work = Work(installation=Installation(tmp_path / "home"))
    duet, stages = Song(lead, save(tmp_path / "b.wav", chords(2.0)), stems=[other]), FolderStages(tmp_path / "work")
    made = make_song(duet, targets, load_voice, stages, nothing_to_separate, work=work)
    stated = [
        verify(path, work.installation).statement["voice"]["id"] for path in (files.mix, files.vocal, *targets.stems)
    ]
    assert stated == [" ".join(voices), *voices]
    assert made.statement.voice == " ".join(voices)


def test_make_song_keeps_the_reverb_tail_and_panning_of_the_vocal(stems, files, sing, tmp_path):
    random, length = np.random.default_rng(3), 2 * SAMPLE_RATE
    sung = np.concatenate([sing(3.0), np.zeros(length, np.float32)])
    room = random.standard_normal((2, length)) * 10 ** (-3 * np.arange(length) / SAMPLE_RATE / 0.8)  # 0.8 s to -60 dB
    wet = np.array([signal.fftconvolve(sung, one)[: len(sung)] for one in room])
    left = np.stack([sung, 0.4 * sung]) + 0.3 * wet / np.abs(wet).max()
    vocal = save(tmp_path / "v.wav", *(0.5 * left).astype(np.float32))
    backing = save(tmp_path / "b.wav", chords(5.0))
    make_song(Song(Stem(vocal, PARTS), backing), files, load_voice, FolderStages(tmp_path / "w"), nothing_to_separate)
    levels_db = []
    for path in (vocal, files.vocal):
        pieces = read_audio(path).samples[:, : 4 * SAMPLE_RATE].reshape(2, -1, SAMPLE_RATE // 10)
        levels_db.append(10 * np.log10(np.square(pieces, dtype=np.float64).mean(axis=2) + 1e-12))
    was, now = levels_db
    np.testing.assert_allclose(np.diff(now[:, 5:28], axis=0).mean(), np.diff(was[:, 5:28], axis=0).mean(), atol=1.5)
    # (a room answers other notes differently)
    tail = slice(31, 37)  # after the voice has stopped, 50 dB down
    assert was[:, tail].min() < was.max() - 40
    np.testing.assert_allclose(now[:, tail] - now[:, 5:28].mean(), was[:, tail] - was[:, 5:28].mean(), atol=6.0)
