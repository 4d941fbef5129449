import errno
import io
import stat
import struct
import zipfile
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from engine import archives
from engine.archives import ArchiveLimits, extract_archive, is_junk, safe_path
from engine.errors import ArchiveError


def entry(name, mode=0, method=zipfile.ZIP_DEFLATED):
    """A ZipInfo whose name is taken as it is."""
    info = zipfile.ZipInfo("x", (2025, 1, 1, 0, 0, 0))
    info.filename = name
    info.external_attr = mode << 16
    info.compress_type = method
    return info


def zipped(files, method=zipfile.ZIP_DEFLATED):
    """The bytes of a zip of names (or ZipInfos) and contents, written as they are."""
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", method) as archive:
        for name, content in files:
            archive.writestr(name if isinstance(name, zipfile.ZipInfo) else entry(name, method=method), content)
    return memory.getvalue()


def patched(content, name, field, value):
    """The zip with a number of `name`'s record in the list of contents replaced; field: (offset, struct format)."""
    offset, form = field
    place = content.rindex(name.encode()) - 46
    assert content[place : place + 4] == b"PK\x01\x02"
    changed = bytearray(content)
    struct.pack_into(form, changed, place + offset, value)
    return bytes(changed)


FLAGS, METHOD, CHECKSUM, PACKED, UNPACKED, PLACE = (8, "<H"), (10, "<H"), (16, "<L"), (20, "<L"), (24, "<L"), (42, "<L")
SONG = bytes(range(256)) * 40
USUAL = ArchiveLimits()


@pytest.fixture
def unpack(tmp_path):
    """Unpacks bytes as a zip called new.zip into tmp_path/new."""

    def unpack(content, limits=USUAL):
        (tmp_path / "new.zip").write_bytes(content)
        return extract_archive(tmp_path / "new.zip", tmp_path / "new", limits)

    return unpack


@pytest.fixture
def refused(unpack, tmp_path):
    """Checks that a zip is refused with a sentence, and that nothing is left behind anywhere near."""

    def refused(content, words, limits=USUAL):
        with pytest.raises(ArchiveError, match=words) as caught:
            unpack(content, limits)
        assert str(caught.value).endswith(".")
        assert [path.name for path in tmp_path.iterdir()] == ["new.zip"]

    return refused


def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# ---- what is unpacked ----


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_extract_archive_round_trips_stored_and_deflated_files(unpack, tmp_path, method):
    files = [("model.json", b"{}"), ("audio/b.wav", SONG), ("audio/soft/a.wav", b"")]
    assert unpack(zipped(files, method)) == [PurePosixPath(name) for name, _ in files]
    assert contents(tmp_path / "new") == dict(files)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "new.zip"]


def test_extract_archive_reads_a_zip_after_other_bytes(unpack, tmp_path):
    unpack(b"a program that unpacks itself" + zipped([("a.wav", SONG)]))
    assert contents(tmp_path / "new") == {"a.wav": SONG}


def test_extract_archive_makes_an_empty_folder_of_an_empty_zip(unpack, tmp_path):
    assert unpack(zipped([])) == []
    assert list((tmp_path / "new").iterdir()) == []


def test_extract_archive_creates_missing_parent_folders(tmp_path):
    (tmp_path / "new.zip").write_bytes(zipped([("a.wav", SONG)]))
    extract_archive(tmp_path / "new.zip", tmp_path / "far" / "away" / "new")
    assert contents(tmp_path / "far") == {"away/new/a.wav": SONG}


def test_extract_archive_leaves_out_system_files(unpack, tmp_path):
    junk = ["__MACOSX/audio/._a.wav", "audio/.DS_Store", "audio/Thumbs.db", "audio/._a.wav", "__MACOSX/more"]
    folder = entry("empty/", stat.S_IFDIR | 0o755)
    assert unpack(zipped([(name, b"x") for name in junk] + [(folder, b""), ("audio/a.wav", SONG)])) == [
        PurePosixPath("audio/a.wav")
    ]
    assert sorted(path.name for path in (tmp_path / "new").rglob("*")) == ["a.wav", "audio"]


@pytest.mark.parametrize("name", ["a.wav", "_.wav", "audio/macosx/a.wav", "thumbs.db.wav", "DS_Store"])
def test_is_junk_is_false_for_similar_names(name):
    assert not is_junk(PurePosixPath(name))


@pytest.mark.parametrize("said", [True, False], ids=["said to be", "silently"])
def test_extract_archive_composes_utf8_names_with_or_without_the_utf8_flag(unpack, tmp_path, said):
    content = zipped([("G\u006f\u0308khan/\u30bd\u30f3\u30b0.wav", SONG)])
    flags = struct.unpack_from("<H", content, 6)[0]
    assert flags & 0x800
    if not said:  # as macOS does
        content = content.replace(struct.pack("<HHH", 20, flags, 8), struct.pack("<HHH", 20, 0, 8))
        assert content.count(struct.pack("<HHH", 20, 0, 8)) == 2
    assert unpack(content) == [PurePosixPath("G\u00f6khan/\u30bd\u30f3\u30b0.wav")]
    assert contents(tmp_path / "new") == {"G\u00f6khan/\u30bd\u30f3\u30b0.wav": SONG}


def test_extract_archive_reads_names_of_old_zips_in_their_code_page(unpack):
    content = zipped([("G@khan.wav", SONG)]).replace(b"G@khan", b"G\x94khan")
    assert unpack(content) == [PurePosixPath("Gökhan.wav")]


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("a/./b//c.wav", "a/b/c.wav"),
        ("audio\\a.wav", "audio/a.wav"),
        ("Who are you?.wav", "Who are you_.wav"),
        ("a\nb\x00\u202ec.wav", "a_b__c.wav"),
        ('a <1>: "x"|*.wav', "a _1__ _x___.wav"),
        ("folder. /a.wav .", "folder/a.wav"),
        ("con.wav", "_con.wav"),
        ("LPT1/a.wav", "_LPT1/a.wav"),
        ("concert.wav", "concert.wav"),
        ("com10.wav", "com10.wav"),
        ("a..b/...wav", "a..b/...wav"),
        ("... /a.wav", "_/a.wav"),
        ("-rf ~/$HOME.wav", "-rf ~/$HOME.wav"),
        ("\u200d\U0001f3a4.wav", "\u200d\U0001f3a4.wav"),
    ],
)
def test_safe_path_makes_names_safe_for_every_system(name, path):
    assert safe_path(name) == PurePosixPath(path)


@pytest.mark.parametrize("name", ["", ".", "./", ".//."])
def test_safe_path_is_none_for_empty_and_dot_names(name):
    assert safe_path(name) is None


@given(some.text(max_size=60))
def test_safe_path_returns_a_safe_path_or_refuses_any_text(name):
    try:
        path = safe_path(name)
    except ArchiveError:
        return
    if path is not None:
        assert not path.is_absolute()
        assert not set(path.parts) & {"", ".", ".."}
        assert not any(ord(sign) < 32 or sign in '\\<>:"|?*' for sign in str(path))
        str(path).encode("utf-8")
        assert safe_path(str(path)) == path


# ---- what is refused ----


def among_good(name):
    return zipped([("good.wav", SONG), (name, SONG)])


PAIR = [("a.wav", SONG), ("b.wav", SONG)]
ONE, TWO, ONE_STORED, TWO_STORED = (
    zipped(files, method) for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED) for files in (PAIR[:1], PAIR)
)
OUTSIDE = ("../a.wav", "audio/../../a.wav", "audio/..", "..\\a.wav", "audio\\..\\..\\a.wav", ".. /a.wav", "a/. ./a.wav")
ABSOLUTE = ("/etc/passwd", "\\\\server\\share\\a.wav", "C:\\a.wav", "c:a.wav", "//a.wav")
SPECIAL = {"a pipe": stat.S_IFIFO, "a device": stat.S_IFCHR, "a folder without its slash": stat.S_IFDIR}
LINK = stat.S_IFLNK | 0o777
TOO_LONG = "in the ZIP file is too long; shorten"
REFUSED = {
    **{f"{name!r}, which leaves the folder": (among_good(name), "outside its folder") for name in OUTSIDE},
    **{f"{name!r}, an absolute path": (among_good(name), "an absolute path") for name in ABSOLUTE},
    **{kind: (among_good(entry("a.wav", mode | 0o644)), "not a regular file") for kind, mode in SPECIAL.items()},
    "a link": (among_good(entry("a.wav", LINK)), "a link to another file"),
    "a link with a folder's name": (zipped([(entry("audio/", LINK), b"/etc")]), "a link to another file"),
    "a file and a folder of one name": (zipped([("a", SONG), ("a/b.wav", SONG)]), "both a file and a folder"),
    "a folder and a file of one name": (zipped([("A/b.wav", SONG), ("a", SONG)]), "both a file and a folder"),
    "a file and an empty folder of one name": (zipped([("a", SONG), ("a/", b"")]), "both a file and a folder"),
    **{f"encryption {flag:#x}": (patched(ONE, "a.wav", FLAGS, flag), "password") for flag in (0x1, 0x40, 0x2000)},
    "bzip2": (zipped(PAIR, zipfile.ZIP_BZIP2), "Deflate"),
    "lzma": (zipped(PAIR, zipfile.ZIP_LZMA), "Deflate"),
    **{f"method {method}": (patched(ONE, "a.wav", METHOD, method), "Deflate") for method in (1, 9, 12, 93, 99)},
    "more than 2000 files": (zipped([(f"{number}.wav", b"") for number in range(2001)]), "more than 2,000 files"),
    "a path of 401 characters": (zipped([("a/" * 200 + "b", SONG)]), TOO_LONG),
    "a name of 256 characters": (zipped([("a" * 256, SONG)]), TOO_LONG),
    "a name of 256 bytes": (zipped([("ä" * 128, SONG)]), TOO_LONG),
    "12 folders in each other": (zipped([("a/" * 12 + "b", SONG)]), "more than 11 folders"),
    "a zip bomb": (zipped([("silence.wav", bytes(90 << 20))]), "more than 200 times"),
    "Fifield's bomb, several names for the same bytes": (patched(TWO, "b.wav", PLACE, 0), "overlap"),
    "a file that runs into the next": (patched(TWO_STORED, "a.wav", PACKED, len(SONG) + 100), "overlap"),
    "a file that runs into the directory": (patched(ONE_STORED, "a.wav", PACKED, len(SONG) + 60), "overlap"),
    "less than its header says": (patched(ONE, "a.wav", UNPACKED, len(SONG) + 1), '"a.wav" in "new.zip" is damaged'),
    **{
        f"another format, {content[:4]}": (content, '"new.zip" is not a ZIP file')
        for content in (b"", b"R", b"Rar!\x1a\x07\x00" + bytes(100), b"RIFF" + bytes(100))
    },
    **{f"a zip cut at {kept}": (TWO_STORED[:kept], "damaged or incomplete") for kept in (4, 30, 100, -1, -22, -60)},
}


@pytest.mark.parametrize(("content", "words"), REFUSED.values(), ids=REFUSED)
def test_extract_archive_refuses(refused, content, words):
    refused(content, words)


@pytest.mark.parametrize(
    "names",
    [
        ("a.wav", "a.wav"),
        ("a.wav", "A.WAV"),
        ("straße.wav", "STRASSE.wav"),
        ("\u00e9.wav", "e\u0301.wav"),
        ("a?.wav", "a*.wav"),
        ("audio/a.wav", "audio\\a.wav"),
    ],
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_extract_archive_refuses_names_that_collide_on_some_systems(refused, names):
    refused(zipped([(name, SONG) for name in names]), "twice")


def test_extract_archive_accepts_most_files_and_refuses_one_more(unpack, refused, tmp_path):
    files = [(f"{number}.wav", b"") for number in range(4)]
    refused(zipped(files), "more than 3 files", ArchiveLimits(most_files=3))
    assert len(unpack(zipped([*files, ("__MACOSX/x", b"")]), ArchiveLimits(most_files=4))) == 4


def test_extract_archive_refuses_an_oversized_central_directory(refused, monkeypatch):
    monkeypatch.setattr(archives, "_LARGEST_READ", 4096)
    refused(zipped([(f"__MACOSX/{number}", b"") for number in range(100)]), "damaged")


@pytest.mark.parametrize("name", ["/".join(["a" * 199, "b" * 200]), "a" * 255, "a/" * 11 + "b"])
def test_extract_archive_accepts_the_longest_and_deepest_names(unpack, name):
    assert unpack(zipped([(name, SONG)])) == [PurePosixPath(name)]


# ---- bombs ----

SMALL = ArchiveLimits(most_bytes=100_000, most_ratio=10.0, free_bytes=50_000)


def test_extract_archive_accepts_60_mb_of_silence(unpack, tmp_path):
    unpack(zipped([("silence.wav", bytes(60 << 20))]))  # 1000:1, but within the allowance
    assert (tmp_path / "new" / "silence.wav").stat().st_size == 60 << 20


def test_extract_archive_refuses_a_compression_ratio_above_the_limit(unpack, refused):
    content = zipped([("silence.wav", bytes(40_000)), ("more.wav", bytes(12_000))])
    assert 50_000 + 10 * len(content) in range(52_000, 60_000)
    refused(zipped([("silence.wav", bytes(40_000)), ("more.wav", bytes(22_000))]), "more than 10 times", SMALL)
    assert len(unpack(content, SMALL)) == 2


def test_extract_archive_limits_the_total_size_of_all_files(unpack, refused):
    sound = bytes(value % 251 for value in range(50_000))
    files = [("a.wav", sound), ("b.wav", sound)]
    refused(zipped([*files, ("c.wav", b"x")], zipfile.ZIP_STORED), "more than 0.0954 MB", SMALL)
    assert len(unpack(zipped(files, zipfile.ZIP_STORED), SMALL)) == 2


@pytest.mark.parametrize("promised", [0, 1, 1000])
def test_extract_archive_refuses_a_bomb_with_a_false_size_as_damaged(refused, promised):
    content = zipped([("a.wav", bytes(1 << 20))])
    refused(patched(content, "a.wav", UNPACKED, promised), "damaged", SMALL)


@pytest.mark.parametrize("promised", [0, 700])
def test_extract_archive_limits_unpacked_bytes_despite_a_false_header(unpack, refused, monkeypatch, promised):
    """Even if the reader believed the header no more than we do, the count of real bytes stops it."""
    blocks = [bytes(30_000)] * 5
    monkeypatch.setattr(zipfile.ZipExtFile, "read", lambda self, size: blocks.pop() if blocks else b"")
    refused(patched(zipped([("a.wav", SONG)]), "a.wav", UNPACKED, promised), "more than 10 times", SMALL)


# ---- damage ----


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_extract_archive_names_the_file_with_a_flipped_bit(refused, method):
    content = bytearray(zipped([("good.wav", SONG), ("bad.wav", SONG)], method))
    content[content.rindex(b"PK\x01\x02", 0, content.rindex(b"PK\x01\x02")) - 40] ^= 1
    refused(bytes(content), r'"bad.wav" in "new.zip" is damaged')


def test_extract_archive_reports_a_missing_zip(tmp_path):
    for name in ("nothing.zip", "."):
        with pytest.raises(ArchiveError, match="There is no file"):
            extract_archive(tmp_path / name, tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


def test_extract_archive_refuses_an_existing_folder_and_keeps_it(unpack, tmp_path):
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "mine.txt").write_text("kept")
    with pytest.raises(ArchiveError, match="already exists"):
        unpack(zipped([("a.wav", SONG)]))
    assert contents(tmp_path / "new") == {"mine.txt": b"kept"}


def test_extract_archive_reports_a_full_disk_and_leaves_nothing(refused, monkeypatch):
    real_open = Path.open

    class Full(io.BytesIO):
        def write(self, block):
            raise OSError(errno.ENOSPC, "No space left on device")

    def opened(path, mode="r", *rest, **more):
        if path.name == "b.wav":
            return Full()
        return real_open(path, mode, *rest, **more)

    monkeypatch.setattr(Path, "open", opened)
    refused(zipped([("a.wav", SONG), ("b.wav", SONG)]), "could not be unpacked: No space left on device")


def test_extract_archive_refuses_a_zip_larger_than_the_free_disk_space(refused, monkeypatch):
    usage = archives.shutil.disk_usage("/")
    monkeypatch.setattr(archives.shutil, "disk_usage", lambda path: usage._replace(free=2 * len(SONG) - 1))
    refused(zipped([("a.wav", SONG), ("b.wav", SONG)]), "disk space .* needs 0.0195 MB")


def test_extract_archive_leaves_nothing_after_an_interruption(unpack, tmp_path, monkeypatch):
    def interrupted(self, size):
        raise KeyboardInterrupt

    monkeypatch.setattr(zipfile.ZipExtFile, "read", interrupted)
    with pytest.raises(KeyboardInterrupt):
        unpack(zipped([("a.wav", SONG)]))
    assert [path.name for path in tmp_path.iterdir()] == ["new.zip"]


# ---- anything ----

many = settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
GOOD = zipped([("model.json", b"{}"), ("audio/a.wav", SONG), ("audio/b.wav", b"x" * 50)])


def only_refused(folder, content):
    """Unpacks, or is refused with an ArchiveError; neither leaves anything but the new folder."""
    archive, new = folder / "new.zip", folder / "new"
    archive.write_bytes(content)
    try:
        paths = extract_archive(archive, new)
        assert {str(path) for path in paths} == set(contents(new))
        archives.shutil.rmtree(new)
    except ArchiveError:
        pass
    assert list(folder.iterdir()) == [archive]


@many
@given(content=some.binary(max_size=300))
def test_extract_archive_refuses_random_bytes(tmp_path, content):
    (tmp_path / "new.zip").write_bytes(content)
    with pytest.raises(ArchiveError):
        extract_archive(tmp_path / "new.zip", tmp_path / "new")
    assert [path.name for path in tmp_path.iterdir()] == ["new.zip"]


@many
@given(changes=some.lists(some.tuples(some.integers(0, len(GOOD) - 1), some.integers(0, 255)), min_size=1, max_size=6))
def test_extract_archive_unpacks_or_refuses_a_zip_with_changed_bytes(tmp_path, changes):
    content = bytearray(GOOD)
    for place, value in changes:
        content[place] = value
    only_refused(tmp_path, bytes(content))


@many
@given(
    place=some.integers(GOOD.index(b"PK\x01\x02"), len(GOOD) - 4),
    value=some.sampled_from([0, 1, 0xFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF]),
)
def test_extract_archive_unpacks_or_refuses_extreme_numbers_in_the_directory(tmp_path, place, value):
    content = bytearray(GOOD)
    struct.pack_into("<L", content, place, value)
    only_refused(tmp_path, bytes(content))


@many
@given(name=some.text(some.characters(codec="utf-8"), min_size=1, max_size=20))
def test_extract_archive_keeps_files_of_any_name_inside_the_folder(tmp_path, name):
    only_refused(tmp_path, zipped([(name, SONG)]))
