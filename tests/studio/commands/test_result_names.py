"""Names of results: a folder, a file or a template, and never that of something else."""

from pathlib import Path

import pytest

from engine.errors import AudioError, SettingsError
from studio.commands.result_names import ResultNames, free_path

pytestmark = pytest.mark.usefixtures("here")

SONG = Path("in/song.flac")


def named(output: str | None, takes: int = 2, **options: bool) -> list[str]:
    names = ResultNames(output, **options)
    names.check([SONG])
    return [str(path) for path in names.free(names.takes(SONG, "mia", takes), [SONG])]


@pytest.mark.parametrize(
    ("output", "made"),
    [
        (None, ["song.mia.wav", "song.mia.take2.wav"]),
        ("out/", ["out/song.mia.wav", "out/song.mia.take2.wav"]),
        ("out", ["out/song.mia.wav", "out/song.mia.take2.wav"]),
        ("x.flac", ["x.flac", "x.take2.flac"]),
        ("{name}.{voice}.{take}", ["song.mia.1.wav", "song.mia.2.wav"]),
        ("{voice}/{name}.mp3", ["mia/song.mp3", "mia/song.take2.mp3"]),
        ("out/{take:02}.flac", ["out/01.flac", "out/02.flac"]),
    ],
)
def test_takes_are_named_by_folder_file_or_template(output, made):
    assert named(output) == made


def test_free_numbers_all_results_of_a_recording_alike_until_none_is_taken():
    Path("song.mia.take2.wav").touch()
    assert named(None) == ["song.mia-2.wav", "song.mia-2.take2.wav"]
    Path("song.mia-2.wav").touch()
    assert named(None) == ["song.mia-3.wav", "song.mia-3.take2.wav"]
    assert named(None, overwrite=True) == ["song.mia.wav", "song.mia.take2.wav"]
    Path("gone.wav").symlink_to("nowhere")
    assert named("gone.wav", 1) == ["gone-2.wav"]


@pytest.mark.parametrize("overwrite", [False, True])
def test_free_gives_no_name_twice_in_a_call(overwrite):
    names = ResultNames(None, overwrite)
    made = [names.free(names.takes(Path(folder) / "song.wav", "mia", 1), []) for folder in ("a", "b", "c")]
    assert made == [[Path("song.mia.wav")], [Path("song.mia-2.wav")], [Path("song.mia-3.wav")]]


def test_skips_leaves_out_only_what_was_made_of_the_same_recording_of_the_call():
    for name in ("song.mia.wav", "song.mia-2.wav"):
        Path(name).touch()
    names = ResultNames(None, skip_existing=True)
    assert [names.skips(names.takes(Path(folder) / "song.wav", "mia", 1)) for folder in "abc"] == [True, True, False]
    assert not names.skips(names.takes(SONG, "mia", 2))  # the second take is not there
    assert not ResultNames().skips(names.takes(SONG, "mia", 1))


def test_lanes_of_a_mix_never_have_the_name_of_a_take():
    names = ResultNames()
    made = names.free(names.lanes(SONG, "mia", ["vocal", "backing"]), [])
    assert [str(path) for path in made] == ["song.mia.mix.wav", "song.mia.vocal.wav", "song.mia.backing.wav"]
    names = ResultNames("cover.flac")
    assert names.free(names.lanes(SONG, "mia", ["vocal"]), []) == [Path("cover.flac"), Path("cover.vocal.flac")]


def test_results_never_replace_a_recording_even_when_files_may_be_overwritten():
    SONG.parent.mkdir()
    SONG.touch()
    for output in (str(SONG), "in/{name}.flac"):
        with pytest.raises(SettingsError, match="would overwrite the recording"):
            named(output, 1, overwrite=True)
    with pytest.raises(SettingsError, match="would overwrite the recording"):
        free_path(SONG, True, [SONG])


@pytest.mark.parametrize(
    ("output", "count", "sentence"),
    [
        *(("x.wav", 2, "several recordings"), ("{nobody}", 1, "{name}, {voice}, {take}"), ("{", 1, "template")),
        *(("{}", 1, "template"), ("{name.nothing}", 1, "template")),
    ],
)
def test_check_refuses_names_that_do_not_fit(output, count, sentence):
    with pytest.raises(SettingsError, match=sentence):
        ResultNames(output).check([SONG] * count)


def test_check_makes_the_folder_of_results_and_refuses_what_is_no_place():
    ResultNames("new/folder/").check([SONG])
    ResultNames("other/x.wav").check([SONG])
    assert Path("new/folder").is_dir()
    assert Path("other").is_dir()
    ResultNames("tried/x.wav").check([SONG], is_tried=True)
    assert not Path("tried").exists()
    Path("file").touch()
    with pytest.raises(AudioError):
        ResultNames("file/").check([SONG])
    assert list(Path("new/folder").iterdir()) == []
