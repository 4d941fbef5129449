"""A colour and initials for each voice, made from its name, so that it looks the same everywhere."""

import colorsys
import hashlib
from typing import Any

LEAST_CONTRAST = 4.5  # of the initials on the colour, for WCAG 2.2 AA
_SATURATION, _LIGHTEST = 0.55, 0.46
_BARS = 5
_SALT = 56  # with which the demo voices look least alike


def avatar_of(name: str) -> dict[str, Any]:
    """Return how a voice is shown: `colour` (#rrggbb, on which white is legible), `initials`, and `bars`, heights 0..1
    of a small waveform.

    >>> avatar_of("Kathleen") == avatar_of(" kathleen ")
    True
    """
    digest = hashlib.sha256(f"{_SALT} {' '.join(name.split()).casefold()}".encode()).digest()
    hue = int.from_bytes(digest[12:14], "big") / 65536
    return {
        "colour": _legible(hue),
        "initials": _initials(name),
        "bars": [round(0.25 + 0.75 * byte / 255, 2) for byte in digest[:_BARS]],
    }


def contrast(colour: str) -> float:
    """Return the contrast of white on a colour (WCAG 2.2)."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in channels]
    return 1.05 / (0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05)


def _legible(hue: float) -> str:
    """Return the lightest colour of this hue on which white is legible."""
    lightness = _LIGHTEST
    while contrast(colour := _hex(hue, lightness)) < LEAST_CONTRAST:
        lightness -= 0.01
    return colour


def _hex(hue: float, lightness: float) -> str:
    return "#" + "".join(f"{round(255 * one):02x}" for one in colorsys.hls_to_rgb(hue, lightness, _SATURATION))


def _initials(name: str) -> str:
    """Return the first letters of the first and the last word, or the first of one word."""
    words = ["".join(sign for sign in word if sign.isalnum()) for word in name.split()]
    words = [word for word in words if word]
    if not words:
        return "?"
    return (words[0][0] + words[-1][0] if len(words) > 1 else words[0][:1]).upper()[:2]
