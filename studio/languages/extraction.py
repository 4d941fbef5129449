"""Extract the texts that people read from the code, as gettext's xgettext does from its keywords.

Python is read by its syntax tree: an f-string becomes a template with named fields. Not everything that is a string is
a text: `_is_text` and `_SKIPPED` decide, and a story in the browser shows what they miss.
"""

import ast
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from pathlib import Path

from engine.settings import title_of
from studio.languages.javascript import texts_of_script
from studio.languages.templates import FIELD, Template, normal
from studio.languages.words import DEMO_VOICES, GRADIO, WORDS

ROOT = Path(__file__).parents[2]
_ROOMS = ("engine", "studio")
# read by developers and programs: benchmarks, the making of weights, networks, traces
_NOT_READ = (
    "engine/__init__.py", "engine/research", "engine/networks", "engine/rvc/onnx_operators.py",
    "studio/typescript", "studio/mcp_server.py", "studio/tracing.py", "studio/client.py", "studio/languages",
    "studio/store/migrations", "studio/http/metrics.py", "studio/http/routes/documentation.py",
    "studio/http/routes/schemas.py", "studio/page/parts/theme.py", "studio/page/parts/memory.py",
)  # fmt: skip
# calls whose texts only programs or developers read, by the last part of their names
_SKIPPED_CALLS = {"compile", "get_logger", "getenv", "debug", "exception", "warning", "text", "sub", "match", "search",
                  "fullmatch", "split", "ValueError", "AssertionError", "RuntimeError", "TypeError", "KeyError",
                  "AttributeError", "execute", "Column", "Index", "cast", "TypeVar", "ParamSpec", "execute_script",
                  "NotImplementedError", "setdefault", "annotate", "set_transform", "legend", "imshow",
                  "getattr", "removeprefix", "startswith", "endswith", "span", "_Refused"}  # fmt: skip
_SKIPPED_KEYWORDS = {"elem_id", "elem_classes", "js", "js_on_load", "metavar", "summary", "tags", "operation_id",
                     "media_type", "key", "variant", "pattern", "dtype", "css_template", "filename"}  # fmt: skip
_TWO_WORDS = re.compile(r"[^\W\d_]{2,}(?:'s)?[,.:;)]? \(?[^\W\d_]|[^\W\d_]+[,.:;)]? \(?\{|\} \(?[^\W\d_]{2,}")
_NAME = re.compile(r"[A-Z][a-z]+(-[a-z]+)?[.:]?")
_CODE = re.compile(r"=>|;\s*$|^\s*[.#@]|\bfunction\b|^[A-Z]{3,} [A-Za-z_]+|[a-z]+ = '|\\[dwsS(]|://|^\w+\(|-> ")
_STYLE = re.compile(r"[{;]\s*[a-z-]+:\s|!important|\bvar\(--")
_LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")  # of Markdown
_TAG = re.compile(r"</?[a-z][^>]*>")
_FORMATTED = re.compile(r"\{(\w*)[:!][^{}]*\}")  # a field of str.format with its format
# calls whose texts are for people even if they are single words
_MARKING_CALLS = {"translated", "say", "show", "padded", "pad", "terms", "confirm", "filled"}
# blocks of code; headings; and paragraphs and items of lists, which go on up to an empty or a marked line
_MARK = r"[ ]*(?:#{1,6}|[-*+]|\d+[.)]|>)[ ]+"
_PROSE = re.compile(
    rf"^[ ]*```.*?^[ ]*```[^\n]*$|^#{{1,6}}[ ]+(?P<heading>[^\n]+)"
    rf"|^(?:{_MARK})?[ ]*(?P<text>(?![ ]*```)\S[^\n]*(?:\n(?!{_MARK}|[ ]*```|[ ]*$)[^\n]+)*)",
    re.MULTILINE | re.DOTALL,
)
_NOT_COMMANDS = {"contextmanager", "property", "cached_property", "cache", "overload", "wraps"}


class Texts:
    """Texts with the files that they stand in."""

    def __init__(self) -> None:
        self.places: dict[str, set[str]] = defaultdict(set)
        self._by_shape: dict[str, str] = {}

    def add(self, text: str, place: str) -> None:
        """Add a text in its normal form; one that differs only in the names of its fields is the same text."""
        known = self._by_shape.setdefault(Template(normal(text)).shape, normal(text))
        self.places[known].add(place)


def all_texts(root: Path = ROOT) -> Texts:
    """Return the texts of engine, studio and notebooks of a checkout."""
    texts = Texts()
    for text in (*WORDS, *DEMO_VOICES, *GRADIO):
        texts.add(text, "studio/languages/words.py")
    for room in _ROOMS:
        for path in sorted((root / room).rglob("*.py")):
            place = path.relative_to(root).as_posix()
            if not place.startswith(_NOT_READ):
                for text in python_texts(path.read_text(encoding="utf-8"), place):
                    texts.add(text, place)
    for path in sorted((root / "studio/page/static").glob("*.js")):
        for text in texts_of_script(path.read_text(encoding="utf-8")):
            texts.add(text, path.relative_to(root).as_posix())
    for path in sorted((root / "studio/page/static").glob("*.html")):
        for text in pieces_of_html(path.read_text(encoding="utf-8")):
            texts.add(text, path.relative_to(root).as_posix())
    for path in sorted((root / "notebooks").glob("*.ipynb")):
        for text in notebook_paragraphs(json.loads(path.read_text(encoding="utf-8"))):
            texts.add(text, path.relative_to(root).as_posix())
    return texts


def python_texts(source: str, place: str) -> Iterator[str]:
    """Return the texts of a module; `place` is its path in the project."""
    finder = _Finder(is_command=place.startswith("studio/commands"), is_http=place.startswith("studio/http"))
    finder.visit(ast.parse(source))
    yield from finder.titles
    for found in finder.found:
        text = _FORMATTED.sub(lambda field: f"{{{field[1] or 'value'}}}", found)
        if _TAG.search(text):
            yield from pieces_of_html(text)
        else:
            yield from (one for one in _paragraphs(text) if found in finder.marked or _is_text(one))


class _Finder(ast.NodeVisitor):
    """Strings of a module in the places where texts stand."""

    def __init__(self, is_command: bool, is_http: bool) -> None:
        self.found: list[str] = []
        self.marked: set[str] = set()
        self.titles: list[str] = []  # of settings
        self._is_command, self._is_http = is_command, is_http

    def visit_Module(self, node: ast.Module) -> None:
        self._body(node.body, keeps_docstring=False)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._body(node.body, keeps_docstring=False)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        decorators = {_last_name(one.func if isinstance(one, ast.Call) else one) for one in node.decorator_list}
        is_shown = self._is_command and bool(decorators) and not decorators & _NOT_COMMANDS
        for default in (*node.args.defaults, *(one for one in node.args.kw_defaults if one)):
            self.visit(default)
        for argument in (*node.args.args, *node.args.kwonlyargs):
            if isinstance(argument.annotation, ast.Subscript):
                self._annotated(argument.annotation)
        self._body(node.body, keeps_docstring=is_shown)

    visit_AsyncFunctionDef = visit_FunctionDef  # type: ignore[assignment]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if isinstance(node.value, ast.Call) and _last_name(node.value.func) in {"setting", "text_setting"}:
            self.titles.append(title_of(_last_name(node.target)))
        if node.value is not None:
            self.visit(node.value)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self._annotated(node)
        self.visit(node.value)

    def _annotated(self, node: ast.Subscript) -> None:
        """Look at the options of typer in `Annotated[...]`; other subscripts hold keys and types."""
        if isinstance(node.value, ast.Name) and node.value.id == "Annotated" and isinstance(node.slice, ast.Tuple):
            for one in node.slice.elts[1:]:
                self.visit(one)

    def visit_Compare(self, node: ast.Compare) -> None:
        for one in (node.left, *node.comparators):
            if not isinstance(one, ast.Constant):
                self.visit(one)

    def visit_Assert(self, node: ast.Assert) -> None:
        """Nobody reads what an assertion says."""

    def visit_Call(self, node: ast.Call) -> None:
        name = _last_name(node.func)
        if name in _SKIPPED_CALLS:
            return
        self.visit(node.func)
        for argument in node.args:
            self.visit(argument)
            if name in _MARKING_CALLS and isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                self.marked.add(argument.value)
        for keyword in node.keywords:
            is_document = self._is_http and keyword.arg in {"description", "summary", "title"}
            if keyword.arg not in _SKIPPED_KEYWORDS and not is_document:
                self.visit(keyword.value)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        self.found.append(_template(node))
        for value in node.values:
            if isinstance(value, ast.FormattedValue):
                self.visit(value.value)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self.found.append(node.value)

    def _body(self, body: list[ast.stmt], keeps_docstring: bool) -> None:
        first = body[0] if body else None
        has_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
        for statement in body[1:] if has_docstring and not keeps_docstring else body:
            self.visit(statement)


def _template(node: ast.JoinedStr) -> str:
    """Return the template of an f-string: its fields are named after the values."""
    names: list[str] = []
    parts = []
    for value in node.values:
        if isinstance(value, ast.FormattedValue):
            name = base = _name_of(value.value)
            number = 2
            while name in names:
                name, number = f"{base}{number}", number + 1
            names.append(name)
            parts.append(f"{{{name}}}")
        elif isinstance(value, ast.Constant):
            parts.append(str(value.value))
    return "".join(parts)


def _name_of(node: ast.expr) -> str:
    """Return a name for a value that helps a translator: `path.name` is a name, `len(takes)` the number of takes."""
    if isinstance(node, ast.Name):
        return node.id.strip("_").lower() or "value"
    if isinstance(node, ast.Attribute):
        return node.attr.strip("_").lower()
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and not node.args:
            return _name_of(node.func.value)
        return _name_of(node.args[0]) if node.args else _last_name(node.func)
    if isinstance(node, ast.Subscript):
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            return re.sub(r"\W", "_", node.slice.value)
        return _name_of(node.value)
    children = [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr)]
    names = [_name_of(one) for one in children if not isinstance(one, ast.Constant)]
    return next((name for name in names if name != "value"), "value")


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _paragraphs(text: str) -> Iterator[str]:
    """Return the parts of a text that are shown apart: paragraphs and headings of Markdown, the lines of a list."""
    for one in re.split(r"\n\s*\n|\n(?=#+ |[-*] )|(?<=^)(?=#+ )|(?m:(?<=^)(#+ .*)\n)", text):
        if one and one.strip():
            shown = re.sub(r"^(#+|[-*]) ", "", one.strip())
            link = _LINK.fullmatch(shown)
            yield link[1] if link else shown


def _is_text(text: str) -> bool:
    """Return whether people read this string: several words, or one that is written like a label."""
    words = FIELD.sub("0", text)
    if not re.search(r"[^\W\d_]{2,}", words) or _CODE.search(text) or _STYLE.search(text):
        return False
    return bool(_TWO_WORDS.search(text) or _NAME.fullmatch(text))


class _Pieces(HTMLParser):
    """The texts between the tags, and those of attributes that are shown or read out."""

    _SHOWN = ("aria-label", "title", "placeholder", "alt")

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._is_code = False

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self._is_code = tag in {"script", "style", "code"}
        self.found += [value for name, value in attributes if name in self._SHOWN and value]

    def handle_endtag(self, tag: str) -> None:
        self._is_code = False

    def handle_data(self, data: str) -> None:
        if not self._is_code:
            self.found.append(data)


def pieces_of_html(text: str) -> Iterator[str]:
    """Return the texts of some HTML as a browser holds them: one for each text node."""
    parser = _Pieces()
    parser.feed(text)
    parser.close()
    yield from (piece for piece in parser.found if re.search(r"[^\W\d_]{2,}", FIELD.sub("0", piece)))


def notebook_paragraphs(notebook: "dict[str, object]") -> Iterable[str]:
    """Return the paragraphs of a notebook's prose; blocks of code in it are left out."""
    for cell in notebook["cells"]:  # type: ignore[attr-defined]
        if cell["cell_type"] == "markdown":
            yield from prose_of("".join(cell["source"]))


def prose_of(markdown: str) -> Iterator[str]:
    """Return the headings, paragraphs and items of lists of some Markdown, without their marks and blocks of code."""
    yield from (text for text, is_prose in pieces_of_markdown(markdown) if is_prose)


def pieces_of_markdown(markdown: str) -> Iterator[tuple[str, bool]]:
    """Split Markdown into pieces and whether they are prose; together they are the Markdown again."""
    place = 0
    for found in _PROSE.finditer(markdown):
        if kind := found.lastgroup:
            yield markdown[place : found.start(kind)], False
            yield found[kind], True
            place = found.end(kind)
    yield markdown[place:], False
