"""Find what counts in an English text, since other languages need a form for one, two or many of it."""

import re

# of these there can be one, two or many; other languages need a form for each
_COUNTED = (
    "bars|beats|blends|blocks|bytes|calls|channels|characters|checkpoints|chirps|clips|conversions|cores|days|digits|"
    "edits|epochs|evaluations|fields|files|findings|folders|hours|minutes|notes|octaves|parts|people|phrases|places|points|"
    "presets|processes|recordings|results|samples|seconds|semitones|speakers|stretches|takes|tasks|threads|tokens|"
    "trainings|versions|voices|words|workers|years"
)
_COUNT = re.compile(
    rf"\{{(\w+)\}} of \{{\w+\}} (?:{_COUNTED})\b"
    rf"|\{{(\w+)\}} (?:(?!has|have|holds|takes|and|for|is|are|the|its|called)[a-z-]+ ){{0,2}}(?:{_COUNTED})\b(?! an? )"
)


def counted_field_of(text: str) -> str:
    """Return the field that counts something in an English text; empty if none does.

    >>> counted_field_of("{name} has {count} usable takes"), counted_field_of("{name} has its faults")
    ('count', '')
    """
    found = _COUNT.search(text)
    return (found[1] or found[2]) if found else ""
