import errno
import io
import json
import os
import shutil
import zipfile
from pathlib import Path, PurePosixPath

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from engine.archives import ArchiveLimits
from engine.audio.containers import AUDIO_SUFFIXES
from engine.audio.files import Audio, write_audio
from engine.datasets import dataset as module
from engine.datasets.dataset import create_dataset, load_dataset
from engine.errors import ArchiveError, DatasetError, EngineError, ProfileError
from engine.voices.profile import VoiceProfile

ANNA = json.dumps({"name": "Anna", "mood": "happy", "consent": {"statement": "I agree."}})
NAMED = {"model.json": ANNA, "audio/a.wav": "sound a", "audio/b.flac": "sound b"}


def write_folder(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def write_zip(path, files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


@pytest.fixture
def new(tmp_path):
    """Where datasets are made; nothing else may be found in there."""
    (tmp_path / "datasets").mkdir()
    return tmp_path / "datasets" / "anna"


@pytest.fixture(params=["zip", "folder"])
def bring(request, tmp_path, new):
    """Creates a dataset from files, brought in a zip and in a folder, which must stay as they were."""

    def bring(files, given=None):
        source = tmp_path / "source"
        if request.param == "zip":
            source = write_zip(source.with_suffix(".zip"), files)
        else:
            write_folder(source, files)
        before = snapshot(source)
        try:
            return create_dataset(source, new, given)
        finally:
            assert snapshot(source) == before

    return bring


@pytest.fixture
def refused(bring, new):
    """Checks that files are refused with a sentence, and that nothing is left behind."""

    def refused(files, words, given=None, kind=DatasetError):
        with pytest.raises(kind, match=words) as caught:
            bring(files, given)
        assert str(caught.value).endswith(".")
        assert list(new.parent.iterdir()) == []
        return caught.value

    return refused


def snapshot(path):
    if path.is_file():
        return path.read_bytes()
    return {one.relative_to(path): one.read_bytes() for one in sorted(path.rglob("*")) if one.is_file()}


def sounds(dataset):
    """Places in the folder of recordings, in the dataset's order, and what the files hold."""
    assert all(path.is_relative_to(dataset.folder / "audio") for path in dataset.recordings)
    return {
        path.relative_to(dataset.folder / "audio").as_posix(): path.read_bytes().decode() for path in dataset.recordings
    }


# ---- what is brought in ----


def below(top, files):
    return {f"{top}/{name}": content for name, content in files.items()}


SOUNDS = {"a.wav": "sound a", "b.flac": "sound b"}
TAKEN = {
    "only recordings in the folder audio": (
        (
            {"model.json": ANNA, "audio/soft/a.wav": "soft", "audio/loud/a.wav": "loud"}
            | {"audio/notes.txt": "none", "preview.wav": "none", "other/b.wav": "none", "audio.wav": "none"}
            | {"__MACOSX/audio/._a.wav": "none", "audio/._a.wav": "none", "audio/.DS_Store": "none"}
        ),
        {"loud/a.wav": "loud", "soft/a.wav": "soft"},
    ),
    "a readme beside the top folder": ({"README.txt": "read me"} | below("top", NAMED), SOUNDS),
    "file and folder names in any case": ({"Model.JSON": ANNA, "Audio/A.WAV": "sound"}, {"A.WAV": "sound"}),
    "recordings outside the folder of the profile": (below("anna", NAMED) | {"berta/audio/c.wav": "none"}, SOUNDS),
    "a byte order mark": (NAMED | {"model.json": b"\xef\xbb\xbf" + ANNA.encode()}, SOUNDS),
    "the profile at the root before another": (NAMED | {"old/model.json": "broken"}, SOUNDS),
    "a model.json of 1 MB": (NAMED | {"model.json": ANNA + " " * (1_000_000 - len(ANNA))}, SOUNDS),
}


@pytest.mark.parametrize(("files", "taken"), TAKEN.values(), ids=TAKEN)
def test_create_dataset_takes(bring, files, taken):
    made = bring(files)
    assert (made.profile.name, sounds(made)) == ("Anna", taken)


@pytest.mark.parametrize("top", ["", "Anna's voice/"])
def test_create_dataset_imports_a_zip_or_folder_with_a_profile(bring, new, top):
    made = bring({top + name: content for name, content in NAMED.items()})
    assert made == load_dataset(new)
    assert made.folder == new
    assert made.cache == new / "clips"
    assert made.profile == VoiceProfile("Anna", consent={"statement": "I agree."}, other={"mood": "happy"})
    assert sounds(made) == {"a.wav": "sound a", "b.flac": "sound b"}
    assert sorted(path.name for path in new.rglob("*")) == ["a.wav", "audio", "b.flac", "model.json"]
    assert [path.name for path in new.parent.iterdir()] == ["anna"]


@pytest.mark.parametrize("top", ["", "top/", "top/audio/"])
@pytest.mark.parametrize(
    "taken", [{"a.wav": "a", "deep/er/b.mp3": "b"}, {"take one/a.wav": "1", "take two/a.wav": "2"}]
)
def test_create_dataset_without_a_profile_takes_every_recording(bring, top, taken):
    made = bring({top + name: content for name, content in (taken | {"notes.txt": "none"}).items()}, {"name": "Berta"})
    assert made.profile == VoiceProfile("Berta")
    assert sounds(made) == taken


@pytest.mark.parametrize("suffix", AUDIO_SUFFIXES)
def test_create_dataset_accepts_every_audio_suffix_in_any_case(tmp_path, new, suffix):
    write_folder(tmp_path / "in", {f"a{suffix}": "1", f"b{suffix.upper()}": "2"})
    assert len(create_dataset(tmp_path / "in", new, {"name": "Anna"}).recordings) == 2


def test_audio_suffixes_include_the_common_formats():
    assert set(AUDIO_SUFFIXES) >= {".wav", ".flac", ".mp3", ".ogg", ".opus", ".m4a", ".aiff"}


def test_create_dataset_lists_recordings_in_natural_order(bring):
    names = ["1.wav", "2.wav", "b 9.wav", "B 10.wav", "take 2/1.wav", "take 10/1.wav"]
    assert list(sounds(bring({name: "x" for name in sorted(names)}, {"name": "Anna"}))) == names


def test_create_dataset_prefers_given_values_even_to_an_invalid_field(bring):
    files = NAMED | {"model.json": json.dumps({"name": "Anna", "genre": "metal", "source": "home"})}
    made = bring(files, {"genre": "rock", "age": "", "name": "Berta"})
    assert made.profile == VoiceProfile("Berta", genre="rock", source="home")


def test_create_dataset_accepts_the_folder_of_another_dataset(bring, new, tmp_path):
    first = bring(NAMED)
    write_folder(new, {"clips/x.safetensors": "x", "training/audition.wav": "x"})
    again = create_dataset(new, new.with_name("again"))
    assert again.profile == first.profile
    assert sounds(again) == sounds(first)


# ---- loose files ----


def test_create_dataset_keeps_loose_files_of_the_same_name_apart(tmp_path, new):
    write_folder(tmp_path, {"x/take.wav": "1", "y/take.wav": "2", "z/Take.WAV": "3", "z/take-2.wav": "4", "n.txt": ""})
    paths = [tmp_path / name for name in ("x/take.wav", "y/take.wav", "z/Take.WAV", "z/take-2.wav", "n.txt")]
    made = create_dataset(paths, new, {"name": "Anna"})
    assert sorted(sounds(made).values()) == ["1", "2", "3", "4"]
    assert len({name.casefold() for name in sounds(made)}) == 4
    assert snapshot(tmp_path / "x") == {Path("take.wav"): b"1"}


def test_create_dataset_reads_a_profile_among_loose_files(tmp_path, new):
    write_folder(tmp_path, NAMED)
    made = create_dataset([tmp_path / "audio" / "a.wav", tmp_path / "model.json"], new)
    assert made.profile.name == "Anna"
    assert sounds(made) == {"a.wav": "sound a"}


@pytest.mark.parametrize("in_list", [True, False])
def test_create_dataset_accepts_a_single_source_alone_or_in_a_list(tmp_path, new, in_list):
    write_folder(tmp_path / "in", NAMED)
    write_zip(tmp_path / "in.zip", NAMED)
    write_zip(tmp_path / "unnamed", NAMED)
    for source in ("in", "in.zip", "unnamed", "in/audio/a.wav"):
        path = tmp_path / source
        create_dataset([path] if in_list else path, new, {"name": "Berta"})
        assert load_dataset(new).profile.name == "Berta"
        shutil.rmtree(new)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ([], "no recordings"),
        (["nothing.wav"], 'no file or folder "nothing.wav"'),
        (["in/audio/a.wav", "nothing.wav"], 'no file or folder "nothing.wav"'),
        (["in/audio/a.wav", "in.zip"], '"in.zip" is a ZIP file among other files'),
        (["in/audio/a.wav", "in"], "Folders cannot be combined"),
        (["in", "in"], "Folders cannot be combined"),
        (["in/model.json"], '"model.json" is not a ZIP file, folder or recording; supported formats are .wav, .flac'),
        (["in/model.json", "in/model.json"], "more than one model.json"),
        (
            ["in/notes.txt", "in/more.txt"],
            "The selection holds no recordings: supported formats are .wav.* instead: 2 .txt",
        ),
    ],
)
def test_create_dataset_refuses_unusable_sources(tmp_path, new, names, words):
    write_folder(tmp_path / "in", NAMED | {"notes.txt": "", "more.txt": ""})
    write_zip(tmp_path / "in.zip", NAMED)
    with pytest.raises(DatasetError, match=words):
        create_dataset([tmp_path / name for name in names], new, {"name": "Anna"})
    assert list(new.parent.iterdir()) == []


def test_create_dataset_refuses_a_named_pipe_without_waiting(tmp_path, new):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "in").mkdir()
    os.mkfifo(tmp_path / "in" / "a.wav")
    with pytest.raises(DatasetError, match="no file or folder"):
        create_dataset(tmp_path / "pipe", new, {"name": "Anna"})
    with pytest.raises(DatasetError, match="holds no recordings"):
        create_dataset(tmp_path / "in", new, {"name": "Anna"})


# ---- what is refused ----


def test_create_dataset_reports_a_missing_name(refused):
    for files in ({"a.wav": "a"}, NAMED | {"model.json": "{}"}):
        error = refused(files, "name is missing; write it into model.json", kind=ProfileError)
        assert [name for name, _ in error.problems] == ["name"]


def test_create_dataset_names_all_invalid_profile_fields(refused):
    wrong = json.dumps({"name": "Anna", "genre": "metal", "consent": {"date": "today"}})
    error = refused(NAMED | {"model.json": wrong}, "genre must be one of pop", kind=ProfileError)
    assert [name for name, _ in error.problems] == ["genre", "consent.date"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"name": "Anna",\n  "age": }', "not valid JSON in line 2, column 10"),
        ("", "line 1, column 1"),
        ('["Anna"]', "must hold one object"),
        ('"Anna"', "must hold one object"),
        ("null", "must hold one object"),
        (ANNA.encode("utf-16"), "UTF-8"),
        (b'{"name": "G\xf6khan"}', "UTF-8"),
        ('{"name": "Anna", "x": "' + "x" * 1_000_000 + '"}', "larger than 1 MB"),
        ('{"x": ' + "[" * 200_000 + "]" * 200_000 + "}", "too deep"),
        ('{"x": ' + "9" * 5_000 + "}", "numbers too long"),
    ],
)
def test_create_dataset_refuses_an_unreadable_model_json(refused, content, words):
    error = refused(NAMED | {"model.json": content}, words, kind=ProfileError)
    assert [name for name, _ in error.problems] == ["model.json"]


FORMATS = r"supported formats are \.wav, .*\.aif, .*\.snd"
REFUSED = {
    "a model.json two folders deep": (below("a/b", NAMED), 'in "a/b"; put it at the root'),
    "two profiles": (
        below("anna", NAMED) | below("berta", NAMED),
        'more than one model.json: "anna/model.json" and "berta/model.json"',
    ),
    "recordings outside the folder audio": (
        {"model.json": ANNA, "a.wav": "a", "recordings/b.wav": "b", "audio/notes.txt": ""},
        "has 2 recordings, but none in the folder audio beside model.json; move them there",
    ),
    "other files instead of recordings": (
        {"model.json": ANNA, "audio/a.txt": "", "audio/b.TXT": "", "audio/c.wma": "", "audio/d": ""},
        rf"holds no recordings: {FORMATS}; found instead: 2 \.txt, 1 \.wma, 1 without a suffix\.",
    ),
    "nothing": ({"model.json": ANNA, "audio/.DS_Store": "", "__MACOSX/x.txt": ""}, r"found instead: nothing\."),
}


@pytest.mark.parametrize(("files", "words"), REFUSED.values(), ids=REFUSED)
def test_create_dataset_refuses(refused, files, words):
    refused(files, words)


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (ArchiveLimits(most_files=2), "more than 2 (files|recordings)"),
        (ArchiveLimits(most_bytes=13), "holds more than"),
        (ArchiveLimits(most_files=4, most_bytes=len(ANNA) + 15), None),
    ],
)
def test_create_dataset_limits_recordings_and_their_size(refused, bring, monkeypatch, limits, words):
    monkeypatch.setattr(module, "LIMITS", limits)
    files = NAMED | {"audio/c.wav": "c"}
    if words:
        refused(files, words, kind=EngineError)
    else:
        assert len(bring(files).recordings) == 3


def test_create_dataset_does_not_count_other_files_in_a_folder_towards_the_limits(tmp_path, new, monkeypatch):
    monkeypatch.setattr(module, "LIMITS", ArchiveLimits(most_files=2, most_bytes=14))
    source = write_folder(tmp_path / "in", NAMED | {"notes.txt": "notes", "b.txt": ""})
    assert len(create_dataset(source, new).recordings) == 2


def test_create_dataset_refuses_a_folder_with_too_many_files(tmp_path, new, monkeypatch):
    monkeypatch.setattr(module, "_MOST_LOOKED_AT", 10)
    source = write_folder(tmp_path / "in", {f"{number}.txt": "" for number in range(8)} | NAMED)
    with pytest.raises(DatasetError, match="more than 10 files"):
        create_dataset(source, new)
    (source / "0.txt").unlink()
    assert create_dataset(source, new).profile.name == "Anna"


@pytest.mark.parametrize(
    ("more", "words"), [(None, r'"in\.zip" is not a ZIP file'), ("../../a.wav", "outside"), ("audio/A.wav", "twice")]
)
def test_create_dataset_refuses_an_unsafe_zip_and_leaves_nothing(tmp_path, new, more, words):
    source = write_zip(tmp_path / "in.zip", NAMED | {more or "b": "x"})
    if more is None:
        source.write_text("no zip")
    with pytest.raises(ArchiveError, match=words):
        create_dataset(source, new)
    assert list(new.parent.iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["datasets", "in.zip"]


# ---- links ----


@pytest.mark.parametrize("name", ["audio/c.wav", "audio/more", "model.json"])
def test_create_dataset_refuses_links_out_of_the_folder(tmp_path, new, name):
    write_folder(tmp_path / "secret", {"c.wav": "secret", "deep/c.wav": "secret", "model.json": ANNA})
    source = write_folder(tmp_path / "in", NAMED)
    (source / "model.json").unlink() if name == "model.json" else None
    targets = {"audio/c.wav": "c.wav", "audio/more": "deep", "model.json": "model.json"}
    (source / name).symlink_to(tmp_path / "secret" / targets[name])
    with pytest.raises(DatasetError, match="links to a file outside the folder"):
        create_dataset(source, new, {"name": "Anna"})
    assert list(new.parent.iterdir()) == []


def test_create_dataset_counts_linked_recordings_once_and_ignores_link_cycles(tmp_path, new):
    source = write_folder(tmp_path / "in", NAMED)
    (source / "audio" / "c.wav").symlink_to("a.wav")
    (source / "audio" / "round").symlink_to(source)
    (source / "audio" / "broken.wav").symlink_to("nowhere.wav")
    assert sounds(create_dataset(source, new)) == {"a.wav": "sound a", "b.flac": "sound b"}


def test_create_dataset_follows_a_link_given_as_the_source(tmp_path, new):
    write_folder(tmp_path / "in", NAMED)
    (tmp_path / "link").symlink_to("in")
    (tmp_path / "link.wav").symlink_to("in/audio/a.wav")
    assert len(create_dataset(tmp_path / "link", new).recordings) == 2
    made = create_dataset([tmp_path / "link.wav"], new.with_name("b"), {"name": "B"})
    assert sounds(made) == {"link.wav": "sound a"}
    assert not made.recordings[0].is_symlink()


def test_create_dataset_makes_file_names_portable(tmp_path, new):
    awkward = [
        "C:song?.wav",
        "back\\slash.wav",
        os.fsdecode(b"l\xf6we.wav"),
        "con.wav",
        "Gö\nkhan.wav",
        "A.wav",
        "a.wav",
    ]
    write_folder(tmp_path / "in", {name: "x" for name in awkward})
    made = create_dataset(tmp_path / "in", new, {"name": "Anna"})
    expected = ["A.wav", "C_song_.wav", "Gö_khan.wav", "_con.wav", "a-2.wav", "back_slash.wav", "l_we.wav"]
    assert sorted(sounds(made)) == expected


# ---- whole or not at all ----


def test_create_dataset_refuses_to_replace_an_existing_dataset(tmp_path, new):
    made = create_dataset(write_folder(tmp_path / "in", NAMED), new)
    with pytest.raises(DatasetError, match='dataset "anna" already'):
        create_dataset(tmp_path / "in", new, {"name": "Berta"})
    assert load_dataset(new) == made


def test_create_dataset_removes_leftovers_of_a_crash(tmp_path, new):
    write_folder(new.with_name("anna.part"), {"audio/old.wav": "old", "unpacked/x": "x"})
    made = create_dataset(write_zip(tmp_path / "in.zip", NAMED), new)
    assert sounds(made) == {"a.wav": "sound a", "b.flac": "sound b"}
    assert [path.name for path in new.parent.iterdir()] == ["anna"]


@pytest.mark.parametrize(
    ("cause", "error", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), DatasetError, "could not be imported: No space left"),
        (KeyboardInterrupt(), KeyboardInterrupt, None),
    ],
)
def test_create_dataset_leaves_nothing_on_a_full_disk_and_after_an_interruption(
    tmp_path, new, monkeypatch, cause, error, words
):
    def broken(source, target):
        if target.name == "b.flac":
            raise cause
        target.write_bytes(b"")

    monkeypatch.setattr(module.shutil, "copyfile", broken)
    with pytest.raises(error, match=words):
        create_dataset(write_folder(tmp_path / "in", NAMED), new)
    assert list(new.parent.iterdir()) == []


# ---- later ----


def test_load_dataset_refuses_a_folder_without_a_profile_or_recordings(tmp_path, new):
    made = create_dataset(write_folder(tmp_path / "in", NAMED), new)
    for folder in (tmp_path / "nothing", new.parent):
        with pytest.raises(DatasetError, match="is not a dataset"):
            load_dataset(folder)
    for recording in made.recordings:
        recording.unlink()
    with pytest.raises(DatasetError, match="no recordings left"):
        load_dataset(new)
    shutil.rmtree(new / "audio")
    with pytest.raises(DatasetError, match="cannot be read: No such file"):
        load_dataset(new)
    (new / "model.json").write_text("{}")
    with pytest.raises(ProfileError, match="name is missing"):
        load_dataset(new)


def test_load_dataset_ignores_links_out_of_the_folder(tmp_path, new):
    create_dataset(write_folder(tmp_path / "in", NAMED), new)
    (new / "audio" / "c.wav").symlink_to(tmp_path / "in" / "audio" / "a.wav")
    assert [path.name for path in load_dataset(new).recordings] == ["a.wav", "b.flac"]


def test_create_dataset_copies_a_recording_unchanged(tmp_path, new):
    sound = Audio(np.sin(np.arange(8000) / 20).astype(np.float32)[None], 16_000)
    write_audio(tmp_path / "a.wav", sound)
    made = create_dataset(tmp_path / "a.wav", new, {"name": "Anna"})
    assert made.recordings[0].read_bytes() == (tmp_path / "a.wav").read_bytes()


# ---- anything ----

many = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
memory = io.BytesIO()
write_zip(memory, NAMED)
GOOD = memory.getvalue()


def made_or_refused(folder, content):
    """Makes a dataset that can be loaded, or refuses with an EngineError; neither leaves anything else."""
    archive, new = folder / "in.zip", folder / "datasets" / "any"
    archive.write_bytes(content)
    try:
        made = create_dataset(archive, new)
        assert load_dataset(new) == made
        shutil.rmtree(new)
    except (ArchiveError, DatasetError):
        pass
    assert list(new.parent.iterdir()) == []


@many
@given(some.lists(some.tuples(some.integers(0, len(GOOD) - 1), some.integers(0, 255)), min_size=1, max_size=4))
def test_create_dataset_imports_or_refuses_any_corrupted_zip(tmp_path, new, changes):
    content = bytearray(GOOD)
    for place, value in changes:
        content[place] = value
    made_or_refused(tmp_path, bytes(content))


json_values = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats() | some.text(),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(), inner, max_size=3),
    max_leaves=6,
)


SOME_VALUES = some.dictionaries(
    some.sampled_from(["genre", "traits", "consent", "vocal_range"]) | some.text(), json_values
)


@many
@given(
    json_values.map(json.dumps).map(str.encode)
    | SOME_VALUES.map(lambda values: json.dumps(values | {"name": "Anna"}).encode())
    | some.binary(max_size=50)
)
def test_create_dataset_imports_or_refuses_any_model_json(tmp_path, new, content):
    source = write_folder(tmp_path / "in", NAMED | {"model.json": content})
    try:
        made = create_dataset(source, new)
    except ProfileError:
        pass
    else:
        assert load_dataset(new) == made
        shutil.rmtree(new)
    assert list(new.parent.iterdir()) == []


@many
@given(some.lists(some.text(some.characters(codec="utf-8"), min_size=1, max_size=8), min_size=1, max_size=4))
def test_create_dataset_imports_or_refuses_any_recording_names(tmp_path, new, names):
    memory = io.BytesIO()
    write_zip(memory, {"model.json": ANNA} | {f"audio/{name}.wav": "x" for name in names})
    made_or_refused(tmp_path, memory.getvalue())


@given(some.lists(some.text(min_size=1, max_size=5).filter(lambda name: "/" not in name), min_size=2, max_size=6))
def test_apart_gives_every_recording_its_own_path(names):
    brought = [
        module._Brought(Path(str(number)), PurePosixPath(name)) for number, name in enumerate(names) if name != "."
    ]
    places = module._apart(brought)
    assert len({str(place).casefold() for place in places}) == len(brought)
    assert sorted(str(one.path) for one in places.values()) == sorted(str(one.path) for one in brought)
