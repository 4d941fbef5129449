"""Recognise an English text by its template.

Inside the studio all texts are English: in the log, in the database, and between processes. They are translated where a
person reads them. A text that holds values ("take 3 of 5") is recognised by its template ("take {number} of {takes}"),
which the extraction reads from the f-string that made it.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

NUMBER = re.compile(r"[-+\u2212]?\d+(\.\d+)?")
# values by which a template without a word is known: numbers, with a unit or not, times and notes
PLAIN = re.compile(r"[-+\u2212~]?\d[\d.:]*( ?(s|ms|min|h|Hz|kHz|dB|%|ct|MB|GB|kB|LUFS))?|[A-G]#?-?\d")
FIELD = re.compile(r"\{(\w+)\}")
# fields whose values are the words of users, and are never translated: a voice may be called "Convert"
NAMES = frozenset({"name", "voice", "voice_name", "file", "file_name", "path", "stem", "account"})
_WORD = re.compile(r"[^\W\d_]{3,}")
# in anybody's words too: "{first} and {second}" would be every sentence with "and"
_JOINING = frozenset({"and", "are", "but", "for", "from", "has", "its", "not", "than", "the", "this", "was", "with"})
_SPACES = re.compile(r"\s+")


def normal(text: str) -> str:
    """Return a text with every run of white space as one space, and none around it, as catalogues hold it."""
    return _SPACES.sub(" ", text).strip()


@dataclass(frozen=True)
class Template:
    """A text with {fields}.

    >>> Template("take {number} of {takes}").values_in("take 3 of 5")
    {'number': '3', 'takes': '5'}
    >>> Template("take {number} of {takes}").values_in("take it") is None
    True
    """

    text: str

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields, in the order of the text."""
        return tuple(FIELD.findall(self.text))

    @cached_property
    def pattern(self) -> str:
        """A regular expression for the texts of the template, in the dialect that Python and JavaScript share."""
        parts = FIELD.split(self.text)
        return "".join("([^]+?)" if place % 2 else _escaped(part) for place, part in enumerate(parts))

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern.replace("[^]", r"[\s\S]"))

    @property
    def takes_plain_values(self) -> bool:
        """Whether its fields must be `PLAIN`: what it says besides ("{length} s") is too little to know it by."""
        return not self.keyword

    @property
    def fixed_length(self) -> int:
        """The number of characters outside the fields: the larger, the surer a recognition is."""
        return len(FIELD.sub("", self.text))

    @cached_property
    def shape(self) -> str:
        """The text without the names of its fields: two templates of one shape cannot be told apart."""
        return FIELD.sub("{}", self.text)

    @cached_property
    def keyword(self) -> str:
        """The longest word outside the fields, by which candidates are found; empty if it has but joining words."""
        words = [word for word in _WORD.findall(FIELD.sub(" ", self.text)) if word.lower() not in _JOINING]
        return max(words, key=len, default="")

    def values_in(self, text: str) -> Mapping[str, str] | None:
        """Return the values of the fields in a text; None if it is not of this template."""
        found = self._compiled.fullmatch(text)
        if not found or (self.takes_plain_values and not all(map(PLAIN.fullmatch, found.groups()))):
            return None
        return dict(zip(self.fields, found.groups(), strict=True))


def _escaped(text: str) -> str:
    """Escape what is special in both dialects; `re.escape` also escapes what JavaScript refuses to see escaped."""
    return re.sub(r"[\\^$.*+?()\[\]{}|/]", r"\\\g<0>", text)


def words_of(text: str) -> Iterator[str]:
    """Return the words by which templates are found."""
    return iter(dict.fromkeys(_WORD.findall(text)))


class Templates:
    """Many templates, of which the surest that fits is found."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._by_keyword: dict[str, list[Template]] = defaultdict(list)
        for text in texts:
            template = Template(text)
            if template.fields and template.fixed_length:
                self._by_keyword[template.keyword].append(template)

    def recognise(self, text: str) -> tuple[str, Mapping[str, str]] | None:
        """Return the template of a text and the values in it; None if it has none."""
        candidates = [one for word in (*words_of(text), "") for one in self._by_keyword.get(word, ())]
        for template in sorted(candidates, key=lambda one: -one.fixed_length):
            if (values := template.values_in(text)) is not None:
                return template.text, values
        return None
