"""What readers are sent to is there: links, paths, modules, and the map of the rooms."""

import re
from collections.abc import Iterator
from pathlib import Path

from tests import pictures

ROOT = Path(__file__).parents[2]
PACKAGES = ("engine", "studio")
WORDS_OF_README = 1100
DEVELOPERS = "\n## For developers\n"
LABORATORY = ROOT / "engine" / "EXPERIMENTS.md"  # for developers as a whole


def documents() -> list[Path]:
    packages = [path for folder in (*PACKAGES, "notebooks") for path in (ROOT / folder).rglob("*.md")]
    return [ROOT / "README.md", *(ROOT / ".github").glob("*.md"), *packages]


def paths_in(document: Path) -> Iterator[str]:
    """Paths and modules of the project that a document names, from the top, and where its links lead."""
    text = document.read_text(encoding="utf-8")
    yield from re.findall(r"(?<![\w/.])(?:engine|studio|notebooks|tests)/[\w./-]*\w", text)
    yield from (name.replace(".", "/") for name in re.findall(r"python -m ((?:engine|studio|tests)[\w.]*\w)", text))
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        yield str((document.parent / target).resolve().relative_to(ROOT))


def is_there(path: str) -> bool:
    return any((ROOT / f"{path}{suffix}").exists() for suffix in ("", ".py", "/__main__.py"))


def headings(document: Path) -> set[str]:
    """The anchors of a document's headings."""
    titles = re.findall(r"^#+ (.+)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def test_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= WORDS_OF_README


def test_documents_name_only_existing_paths():
    named = [(one.relative_to(ROOT), path) for one in documents() for path in paths_in(one)]
    assert not [f"{document}: {path}" for document, path in named if not is_there(path)]


def test_documents_link_only_to_existing_headings():
    offenders = []
    for document in documents():
        for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#([^)]+)\)", document.read_text(encoding="utf-8")):
            if anchor not in headings((document.parent / target) if target else document):
                offenders.append(f"{document.relative_to(ROOT)}: {target}#{anchor}")
    assert not offenders


def test_documents_mention_the_shared_folder_only_for_developers():
    texts = {one: one.read_text(encoding="utf-8").partition(DEVELOPERS)[0] for one in documents() if one != LABORATORY}
    assert not [str(one.relative_to(ROOT)) for one, text in texts.items() if "../shared" in text]


def test_contributors_are_told_of_every_folder_and_module_of_the_packages():
    text = (ROOT / ".github" / "CONTRIBUTING.md").read_text(encoding="utf-8")
    block = re.search(r"## Where things are\n+```\n(.*?)```", text, re.DOTALL)
    package, mapped = "", set()
    for line in block[1].splitlines():
        package = line.split("/")[0] if line.startswith(PACKAGES) else package
        mapped |= {f"{package}/{name}" for name in re.findall(r"(?:^  |\s{3,})(\w+(?:/|\.py))\s", line)}
    rooms = [path for name in PACKAGES for path in (ROOT / name).iterdir() if not path.name.startswith("_")]
    rooms = [path for path in rooms if path.is_dir() or path.suffix == ".py"]
    assert mapped == {f"{path.relative_to(ROOT)}{'/' if path.is_dir() else ''}" for path in rooms}


def test_pictures_of_the_readme_show_this_version():
    shown = re.findall(r"\]\((studio/page/pictures/[^)]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert {Path(picture).stem for picture in shown} == set(pictures.SHOWN)
    old = [picture for picture in shown if pictures.stamped(ROOT / picture) != pictures.version()]
    assert not old, "python -m tests.pictures takes them again"
