"""What users read uses the words of the field: the texts of page, service, command line and notebooks."""

import re

import pytest

from engine.texts import FIELD
from studio.languages.extraction import all_texts

# of the table in .github/CONTRIBUTING.md, where the word is wrong whatever it stands beside: what to say instead
WRONG = {
    r"\bheld (notes?|sounds?|vowels?)\b": "sustained",
    r"\bdrawn? towards\b": "replaced by similar frames",
    r"\bperformances\b": "takes",
    r"\bpronunciation is heard\b": "used",
    r"\bheard (timbre|as)\b": "speaker timbre, target timbre",
    r"\bmean colou?r\b": "long-term mean spectrum",
    r"\bcritic\b": "discriminator, optimizer",
    r"\bmoments? of (a|the) training\b|\beach moment\b": "checkpoint, frame",
    r"\b(watermark|fingerprint)\b": "content credentials",
    r"\bvariations\b": "takes",
    r"\bjoined where\b": "cross-fades",
}


def wrong_words(text: str) -> list[str]:
    shown = FIELD.sub("", text)
    return [f"{found[0]!r} in {text!r}: {say}" for one, say in WRONG.items() if (found := re.search(one, shown, re.I))]


@pytest.mark.parametrize("text", ["Pulls held notes up.", "How many performances to make", "What each moment needs"])
def test_wrong_words_finds_them(text):
    assert wrong_words(text)


def test_texts_use_the_words_of_the_field():
    texts = [text if isinstance(text, str) else text[1] for text in all_texts()]
    assert not [wrong for text in texts for wrong in wrong_words(text)]
