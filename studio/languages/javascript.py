"""Extract the texts of our browser scripts: string literals, and templates with their ${values} as fields."""

import re
from collections.abc import Iterator

from studio.languages.templates import FIELD

# comments, regular expressions after an operator, and the three kinds of strings
_TOKEN = re.compile(
    r"//[^\n]*|/\*.*?\*/|(?<=[(,=:\[!&|?{};\n])\s*/(?![*/])(?:\\.|\[(?:\\.|[^\]\n])*\]|[^/\\\n])+/[a-z]*"
    r"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`",
    re.DOTALL,
)
_TWO_WORDS = re.compile(r"[^\W\d_]{2,}(?:'s)?[,.:;)]? \(?[^\W\d_]|[^\W\d_]+ \{|\} \(?[^\W\d_]{2,}")
_LABEL = re.compile(r"[A-Z][a-z]+( ?\.\.\.|[.:…])?")
_CODE = re.compile(r"^[.#\[]|=>|;$|^\./|^\w+\(|^M\d|px\b|#[0-9a-f]{3}|^[MLZ][\d{]|Path=/")
_SELECTOR = re.compile(r"[a-z]+(\[[^\]]*\])?(, ?[a-z\[][^ ]*)+")
# values that only style sheets and our scripts read
_NOT_SHOWN = re.compile(
    r"(class|className|\"data-[a-z]+\"|id|type): ?(\"[^\"]*\"|`[^`]*`)|"
    r"(querySelector(All)?|closest|matches|matchMedia|startsWith|setAttribute)\("
    r"(\"class\", ?)?(\"[^\"]*\"|`[^`]*`)|className = (\"[^\"]*\"|`[^`]*`)"
)
_KEYS = {"Enter", "Escape", "Home", "End", "Tab", "Delete", "Backspace", "Space", "Shift", "Control"}


def texts_of_script(source: str) -> Iterator[str]:
    """Return the texts of a script, those in nested templates too."""
    for found in _TOKEN.finditer(_NOT_SHOWN.sub("0", source)):
        token = found[0]
        if token[0] not in "\"'`":
            continue
        body = token[1:-1]
        if token[0] == "`":
            yield from _nested(body)
            body = _as_template(body)
        text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda code: chr(int(code[1], 16)), body)
        text = text.replace("\\n", "\n").replace('\\"', '"').replace("\\'", "'")
        if _is_text(text):
            yield text


def _nested(body: str) -> Iterator[str]:
    for value in re.findall(r"\$\{((?:[^{}`]|\{[^{}]*\})*)\}", body):
        yield from texts_of_script(value)


def _as_template(body: str) -> str:
    names: list[str] = []

    def field(found: re.Match[str]) -> str:
        identifiers = re.findall(r"[A-Za-z_]\w*", re.sub(r"\"[^\"]*\"", "", found[1]))
        skipped = {"this", "Math", "Number", "round", "abs", "toFixed", "String", "Intl", "format"}
        base = next((one for one in reversed(identifiers) if one not in skipped), "value").lower()
        name, number = base, 2
        while name in names:
            name, number = f"{base}{number}", number + 1
        names.append(name)
        return f"{{{name}}}"

    return re.sub(r"\$\{((?:[^{}]|\{[^{}]*\})*)\}", field, body)


def _is_text(text: str) -> bool:
    words = FIELD.sub("0", text)
    if not re.search(r"[^\W\d_]{2,}", words) or _CODE.search(text) or text in _KEYS or _SELECTOR.fullmatch(text):
        return False
    return bool(_TWO_WORDS.search(text) or _LABEL.fullmatch(text))
