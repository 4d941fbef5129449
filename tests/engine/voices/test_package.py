import hashlib
import io
import json
import pickle
import shutil
import tempfile
import zipfile
from dataclasses import replace

import numpy as np
import pytest
import soundfile
import torch
from safetensors.torch import load_file, save

from engine.analysis.envelope import BANDS
from engine.analysis.pitch_statistics import PitchStatistics
from engine.errors import ArchiveError, EngineError, VoiceError
from engine.features.speaker_timbre import SPREAD
from engine.networks.content_encoder import CONTENT
from engine.networks.envelope_decoder import EnvelopeDecoder
from engine.networks.timbre_encoder import TIMBRE
from engine.voices.card import VoiceCard, list_voices, load_card
from engine.voices.imported import load_any_voice
from engine.voices.package import PACKAGE_SUFFIX, export_voice, import_voice
from engine.voices.voice import Voice, load_voice, save_voice
from tests.cards import rewrite_card, update_card

CARD = VoiceCard(
    **dict(id="anna", name="Änna", gender="female", age=None, description="A clear voice.", base_language="de"),
    **dict(traits=["clear"], genre=None, voice_type="alto", vocal_range={"min": "F3", "max": "D5"}),
    **dict(pitch=PitchStatistics(53.0, 58.5, 70.0), bandwidth_hertz=16_000, licence="CC0-1.0", source="a test"),
    **dict(consent={"statement": "yes", "by": "Änna"}, training={"epochs": 5, "scores": [None]}),
    other={"mood": ["happy"]},
)
FILES = set("card.json weights.safetensors statistics.json LICENCE.txt consent.json preview.wav checksums.json".split())


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """The folder of a voice with a preview."""
    folder = tmp_path_factory.mktemp("voices")
    torch.manual_seed(0)
    vectors = {"timbre": torch.randn(TIMBRE), "spread": torch.randn(SPREAD, TIMBRE), "centre": torch.randn(BANDS)}
    vectors["retrieval_frames"] = torch.randn(50, CONTENT)
    voice = Voice(CARD, contrast=torch.ones(BANDS), decoder=EnvelopeDecoder().eval(), **vectors)
    soundfile.write(folder / "preview.wav", 0.1 * np.sin(np.arange(4410) / 20), 44_100)
    save_voice(voice, folder / "anna", folder / "preview.wav")
    return folder / "anna"


@pytest.fixture(scope="module")
def package(home, tmp_path_factory):
    return export_voice(home, tmp_path_factory.mktemp("packages"))


@pytest.fixture
def voices(tmp_path, monkeypatch):
    """The folder to import into, and an empty one for what is unpacked on the way; both are looked at afterwards."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return tmp_path / "voices"


def contents(package):
    with zipfile.ZipFile(package) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def packed(folder, files, *, sums=True, method=zipfile.ZIP_STORED, **checksums):
    """A package of these files; `sums` makes the checksums right again."""
    files = dict(files)
    if sums:
        sha256 = {name: hashlib.sha256(data).hexdigest() for name, data in files.items() if name != "checksums.json"}
        stated = {"kind": "timbre-studio-voice", "format": 1, "sha256": sha256} | checksums
        files["checksums.json"] = json.dumps(stated).encode()
    with zipfile.ZipFile(folder / "made.zip", "w", method) as made:
        for name, data in files.items():
            made.writestr(name, data)
    return folder / "made.zip"


def assert_refused(package, voices, match, kind=EngineError):
    with pytest.raises(kind, match=match) as refusal:
        import_voice(package, voices)
    sentence = str(refusal.value)
    assert sentence.endswith(".")
    assert str(voices.parent) not in sentence  # paths of the moment help nobody
    assert not voices.exists()
    assert not list((voices.parent / "temporary").iterdir())


# ---- there and back


def test_load_voice_takes_a_package_and_leaves_nothing_behind(package, home, voices):
    for place in (package, str(package)):
        voice = load_voice(place)
        assert voice.card == load_card(home)
        assert torch.equal(voice.timbre, load_voice(home).timbre)
        assert voice.preview is None
        assert load_any_voice(place).card == voice.card
    assert not list((voices.parent / "temporary").iterdir())


def test_load_voice_refuses_a_package_as_an_import_does(package, voices):
    made = packed(voices.parent, contents(package) | {"weights.safetensors": b"none"})
    with pytest.raises(VoiceError, match="holds no weights"):
        load_voice(made)
    with pytest.raises(ArchiveError, match=r"^.*\.$"):
        load_voice("no such.voice.zip")
    assert not list((voices.parent / "temporary").iterdir())


def test_export_voice_writes_all_files_to_a_package_named_after_the_voice(package):
    assert package.name == f"anna{PACKAGE_SUFFIX}"
    files = contents(package)
    assert set(files) == FILES
    stated = json.loads(files["checksums.json"])
    assert stated["sha256"] == {
        name: hashlib.sha256(data).hexdigest() for name, data in files.items() if name != "checksums.json"
    }
    assert json.loads(files["consent.json"]) == CARD.consent
    assert json.loads(files["statistics.json"])["pitch"] == {"low": 53.0, "median": 58.5, "high": 70.0}
    assert json.loads(files["statistics.json"])["training"] == CARD.training
    licence = files["LICENCE.txt"].decode()
    assert all(words in licence for words in ("Änna", "CC0-1.0", "a test", "yes"))


def test_import_voice_restores_an_exported_voice_exactly(home, package, voices):
    card = import_voice(package, voices)
    assert card == CARD == load_card(voices / "anna")
    for name in ("weights.safetensors", "preview.wav", "card.json"):
        assert (voices / "anna" / name).read_bytes() == (home / name).read_bytes()
    expected = ["anna", "card.json", "preview.wav", "weights.safetensors"]
    assert sorted(path.name for path in voices.rglob("*")) == expected
    assert torch.equal(load_voice("anna", voices).timbre, load_voice(home).timbre)
    assert export_voice(voices / "anna", voices / "again.zip").read_bytes() == package.read_bytes()


def test_import_voice_restores_a_voice_without_preview_consent_and_licence(home, tmp_path, voices):
    bare = replace(load_voice(home), card=replace(CARD, consent={}, licence="", source="", training={}))
    save_voice(bare, tmp_path / "bare")
    package = export_voice(tmp_path / "bare", tmp_path / "bare.zip")
    assert set(contents(package)) == FILES - {"preview.wav"}
    assert import_voice(package, voices) == bare.card
    assert load_voice("anna", voices).preview is None


def test_export_voice_gives_the_same_bytes_for_the_same_voice(home, package, tmp_path):
    shutil.copytree(home, tmp_path / "elsewhere")
    assert export_voice(tmp_path / "elsewhere", tmp_path / "b.zip").read_bytes() == package.read_bytes()


def test_import_voice_numbers_an_id_that_is_taken(package, voices):
    assert [import_voice(package, voices).id for _ in range(3)] == ["anna", "anna-2", "anna-3"]
    assert import_voice(package, voices, taken=["anna-4"]).id == "anna-5"
    assert [card.id for card in list_voices(voices)] == ["anna", "anna-2", "anna-3", "anna-5"]
    assert load_card(voices / "anna-3") == replace(CARD, id="anna-3")


def test_export_and_import_voice_round_trip_a_demo_voice(tmp_path, voices):
    from engine.voices.card import DEMO_VOICES

    demo = list_voices()[0]
    assert import_voice(export_voice(DEMO_VOICES / demo.id, tmp_path), voices) == demo


# ---- exporting what cannot be


def test_export_voice_accepts_and_import_voice_refuses_an_earlier_format(home, tmp_path, voices):
    old = tmp_path / "old"
    shutil.copytree(home, old)
    rewrite_card(old, format=2)
    package = export_voice(old, tmp_path / "old.voice.zip")
    assert_refused(
        package, voices, r"made with an earlier version .* import one that was made with this version", VoiceError
    )


def test_export_voice_refuses_a_damaged_voice(home, tmp_path):
    shutil.copytree(home, tmp_path / "anna")
    weights = load_file(home / "weights.safetensors")
    for damaged in (b"", save(weights | {"timbre": weights["timbre"] * float("nan")})):
        (tmp_path / "anna" / "weights.safetensors").write_bytes(damaged)
        with pytest.raises(VoiceError, match="missing or damaged"):
            export_voice(tmp_path / "anna", tmp_path / "anna.zip")
    shutil.copy(home / "weights.safetensors", tmp_path / "anna")
    (tmp_path / "anna" / "preview.wav").write_bytes(b"sound")
    with pytest.raises(VoiceError, match="preview in the folder of 'anna' is not a short wave file"):
        export_voice(tmp_path / "anna", tmp_path / "anna.zip")
    assert [path.name for path in tmp_path.iterdir()] == ["anna"]


def test_export_voice_reports_a_missing_target_folder_and_a_folder_without_a_voice(home, tmp_path):
    with pytest.raises(VoiceError, match="could not be written: No such file"):
        export_voice(home, tmp_path / "nowhere" / "anna.zip")
    with pytest.raises(VoiceError, match="is not a voice"):
        export_voice(tmp_path, tmp_path / "anna.zip")
    assert not list(tmp_path.iterdir())


# ---- importing what is damaged


@pytest.mark.parametrize("name", sorted(FILES))
@pytest.mark.parametrize("place", [0.0, 0.5, 1.0])
def test_import_voice_refuses_a_flipped_bit_in_any_file(package, voices, name, place):
    files = contents(package)
    data = bytearray(files[name])
    data[round(place * (len(data) - 1))] ^= 1
    assert_refused(packed(voices.parent, files | {name: bytes(data)}, sums=False), voices, "damaged|not a voice")


def test_import_voice_refuses_or_ignores_flipped_bits_of_the_zip(package, voices):
    whole = package.read_bytes()
    for place in np.linspace(0, len(whole) - 1, 40).astype(int):
        data = bytearray(whole)
        data[place] ^= 0x10
        (voices.parent / "made.zip").write_bytes(data)
        try:
            card = import_voice(voices.parent / "made.zip", voices)
        except EngineError:
            assert not voices.exists()
        else:  # a bit that nobody reads, such as one of a date
            assert card == CARD
            shutil.rmtree(voices)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 0.999])
def test_import_voice_refuses_a_truncated_package(package, voices, share):
    whole = package.read_bytes()
    (voices.parent / "made.zip").write_bytes(whole[: int(share * len(whole))])
    assert_refused(voices.parent / "made.zip", voices, "damaged|not a ZIP", ArchiveError)


def test_import_voice_refuses_a_path_without_a_file(voices):
    assert_refused(voices.parent / "nothing.zip", voices, "no file", ArchiveError)


@pytest.mark.parametrize("sums", [True, False])
@pytest.mark.parametrize("name", sorted(FILES - {"preview.wav", "checksums.json"}))
def test_import_voice_names_a_missing_file(package, voices, name, sums):
    files = contents(package)
    del files[name]
    made = packed(voices.parent, files, sums=sums)
    assert_refused(made, voices, rf"damaged \({name} is missing\)", VoiceError)


def test_import_voice_refuses_a_package_without_its_listed_preview(package, voices):
    files = contents(package)
    del files["preview.wav"]
    assert_refused(packed(voices.parent, files, sums=False), voices, "preview.wav is not the file", VoiceError)


def test_import_voice_refuses_a_zip_of_another_kind(voices):
    assert_refused(packed(voices.parent, {"song.txt": b"la"}, sums=False), voices, "is not a voice", VoiceError)
    assert_refused(packed(voices.parent, {"song.txt": b"la"}, kind="songs"), voices, "of another kind", VoiceError)


# ---- importing what means harm


@pytest.mark.parametrize("name", ["../card.json", "/etc/card.json", "C:\\card.json"])
def test_import_voice_refuses_paths_outside_the_package(package, voices, name):
    assert_refused(packed(voices.parent, contents(package) | {name: b"x"}, sums=False), voices, name[-9:], ArchiveError)


def test_import_voice_refuses_a_zip_bomb(package, voices):
    files = contents(package) | {"weights.safetensors": bytes(200 << 20)}
    made = packed(voices.parent, files, sums=False, method=zipfile.ZIP_DEFLATED)
    assert_refused(made, voices, "grow|holds more", ArchiveError)


@pytest.mark.parametrize(
    ("checksums", "match"),
    [
        ({"format": 2}, "later version of Timbre Studio"),
        ({"format": 0}, "no checksums"),
        ({"format": "1"}, "another kind"),
        ({"kind": None}, "another kind"),
        ({"sha256": []}, "no checksums"),
        ({"sha256": {}}, "is not the file"),
    ],
)
def test_import_voice_refuses_invalid_checksums(package, voices, checksums, match):
    assert_refused(packed(voices.parent, contents(package), **checksums), voices, match, VoiceError)


@pytest.mark.parametrize("text", [b"", b"[]", b"{", b"\xff", b"[" * 100_000, b" " * (5 << 20)])
@pytest.mark.parametrize("name", ["checksums.json", "card.json", "consent.json"])
def test_import_voice_refuses_malformed_json(package, voices, name, text):
    made = packed(voices.parent, contents(package) | {name: text}, sums=name != "checksums.json")
    assert_refused(made, voices, "damaged|another kind", VoiceError)


def with_weights(package, change):
    files = contents(package)
    weights = load_file_bytes(files["weights.safetensors"])
    change(weights)
    return files | {"weights.safetensors": save(weights)}


def load_file_bytes(data):
    with tempfile.NamedTemporaryFile(suffix=".safetensors") as file:
        file.write(data)
        file.flush()
        return {name: value.clone() for name, value in load_file(file.name).items()}


def header(entries, length=None):
    text = json.dumps(entries).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text


HOSTILE_WEIGHTS = {
    "a pickle": pickle.dumps({"timbre": [0.0] * TIMBRE}),
    "a zip": (lambda file: (zipfile.ZipFile(file, "w").close(), file.getvalue())[1])(io.BytesIO()),
    "nothing": b"",
    "a header without an end": header({}, 2**63),
    "a huge header": header({}, 2**21),
    "a huge shape": header({"timbre": {"dtype": "F16", "shape": [2**40, 2**20], "data_offsets": [0, 2**61]}}),
    "a shape of overflow": header({"timbre": {"dtype": "F16", "shape": [2**63, 2], "data_offsets": [0, 0]}}),
    "data of nowhere": header({"timbre": {"dtype": "F16", "shape": [128], "data_offsets": [2**40, 2**40 + 256]}}),
    "no header": header([1, 2]),
}


NO_WEIGHTS = r"damaged \(weights.safetensors holds no weights\)"
OF_ANOTHER = "made (by|for) another version of the engine"
AGAIN = r'^"[^"]*" is damaged: download it again, or have it exported again.'
BROKEN_WEIGHTS = "weights of the voice 'anna' are missing or damaged"
MALFORMED_CARDS = (
    *({"id": "../../x"}, {"id": ".."}, {"id": "a/b"}, {"id": ""}, {"id": "con"}, {"name": 5}, {"name": "\x1b[2J"}),
    *({"pitch": {"low": 1, "median": None, "high": 3}}, {"vocal_range": {"min": "A2"}}, {"traits": "x"}),
    *({"bandwidth_hertz": 1e400}, {"consent": {"by": ["x"]}}, {"format": True}),
)
INVALID_CARDS = (
    *({"gender": "robot"}, {"genre": "metal"}, {"age": "999"}, {"base_language": "english"}, {"voice_type": "kazoo"}),
    *({"description": "x" * 50_000}, {"traits": ["x" * 3_000]}),
)
PREVIEWS = (b"", b"<html>", b"RIFF\0\0\0\0WAVE", b"RIFF\0\0\0\0WAVEfmt " + bytes(40))
REFUSED = {  # files in place of those of a package, fields in place of those of its card, or a change of its weights
    **{
        f"the file {name}": ({name: b"more"}, f'"{name}" does not belong')
        for name in ("more.txt", "weights.pt", "folder/card.json", "run.sh")
    },
    **{str(card): ({"card.json": card}, rf"damaged \({next(iter(card))} must be") for card in MALFORMED_CARDS},
    **{str(card)[:40]: ({"card.json": card}, rf"{AGAIN} {next(iter(card))}") for card in INVALID_CARDS},
    "a card of a later format": ({"card.json": {"format": 99}}, "later version"),
    "a consent that the card does not hold": (
        {"consent.json": b'{"statement": "anybody may"}'},
        "consent.json does not say what card.json says",
    ),
    **{f"weights: {kind}": ({"weights.safetensors": data}, NO_WEIGHTS) for kind, data in HOSTILE_WEIGHTS.items()},
    **{
        f"{value} in {name}": (
            lambda weights, name=name, value=value: weights[name].view(-1)[-1:].fill_(value),
            BROKEN_WEIGHTS,
        )
        for name in ("timbre", "decoder.leave.1.bias")
        for value in (float("nan"), float("inf"))
    },
    "weights longer": (lambda weights: weights.update(timbre=torch.zeros(TIMBRE + 1).half()), OF_ANOTHER),
    "weights in single precision": (lambda weights: weights.update(timbre=weights["timbre"].float()), OF_ANOTHER),
    "weights of integers": (lambda weights: weights.update(timbre=torch.zeros(TIMBRE, dtype=torch.int16)), OF_ANOTHER),
    "weights more": (lambda weights: weights.update(more=torch.zeros(1).half()), OF_ANOTHER),
    "weights less": (lambda weights: weights.pop("spread"), OF_ANOTHER),
    "weights none": (lambda weights: weights.clear(), OF_ANOTHER),
    **{
        f"a preview of {len(data)} bytes": ({"preview.wav": data}, 'preview in "made.zip" is not a short wave file')
        for data in PREVIEWS
    },
}


@pytest.mark.parametrize(("change", "match"), REFUSED.values(), ids=REFUSED)
def test_import_voice_refuses(package, voices, change, match):
    files = with_weights(package, change) if callable(change) else contents(package)
    for name, content in {} if callable(change) else change.items():
        files[name] = json.dumps(json.loads(files[name]) | content).encode() if isinstance(content, dict) else content
    assert_refused(packed(voices.parent, files), voices, match, VoiceError)


# ---- untrained voices


def test_export_and_import_voice_refuse_an_untrained_voice(home, package, voices, tmp_path):
    folder = shutil.copytree(home, tmp_path / "anna")
    update_card(folder, training={"untrained": True, "steps": 0})
    with pytest.raises(VoiceError, match=r"^The voice 'anna' is untrained: train it first, then export it\.$"):
        export_voice(folder, tmp_path)
    assert not list(tmp_path.glob("*.zip*"))
    files = contents(package) | {"card.json": (folder / "card.json").read_bytes()}
    with pytest.raises(VoiceError, match=r'^The voice in "made\.zip" is untrained: train it where its recordings are'):
        import_voice(packed(tmp_path, files), voices)
    assert not voices.exists()
