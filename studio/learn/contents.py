"""The table of contents: where each lesson stands, by the name of its Markdown file, and its title."""

from collections.abc import Mapping
from typing import Final

from engine.texts import tr

START: Final = "index"
CONTENTS: Final[Mapping[str, Mapping[str, str]]] = {  # titles of the parts, and in each the titles of its pages
    tr("Learn"): {
        "first-conversion": tr("Your first conversion"),
        "whole-song": tr("A whole song"),
        "harmonies": tr("Harmonies and doubles"),
        "pitch": tr("Edit the pitch"),
        "own-voice": tr("A voice of your own"),
        "live": tr("Sing live"),
        "daw": tr("With your DAW"),
    },
    tr("How to"): {
        "fix": tr("Fix a bad result"),
        "by-ear": tr("Settings by ear"),
        "from-rvc": tr("Coming from RVC and others"),
        "batch": tr("Convert a folder"),
        "script": tr("Script it in Python"),
        "team": tr("Serve a team"),
        "space": tr("Run a Space"),
    },
    tr("Understand"): {
        "how-it-works": tr("How it works"),
        "limits": tr("What it cannot do"),
        "hardware": tr("Quality, speed and hardware"),
        "consent": tr("Consent and credentials"),
    },
    tr("Reference"): {
        "settings": tr("Settings of the sound"),
        "commands": tr("Commands"),
        "python-audio": tr("Python: audio"),
        "python-analyse": tr("Python: analyse"),
        "python-convert": tr("Python: convert"),
        "python-train": tr("Python: train"),
        "python-live": tr("Python: live"),
        "python-songs": tr("Python: songs"),
        "python-voices": tr("Python: voices"),
        "python-basics": tr("Python: errors, units, credentials"),
    },
}
PAGES: Final[Mapping[str, str]] = {name: title for pages in CONTENTS.values() for name, title in pages.items()}
