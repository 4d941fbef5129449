"""Sentences of errors, with the names that owners gave to their files."""

from pathlib import Path

from engine.errors import AudioError
from engine.texts import Text, tr
from studio.errors import naming

STORED = Path("/storage/tasks/1/input.wav")


def test_naming_changes_the_name_in_a_text_and_keeps_its_template():
    template = '"{name}" is empty (0 bytes).'
    named = naming(AudioError(tr(template, name=STORED.name)), STORED, '"vocal.wav"')
    assert named == '"vocal.wav" is empty (0 bytes).'
    assert isinstance(named, Text)
    assert (named.template, named.values) == (template, {"name": "vocal.wav"})


def test_naming_changes_a_whole_path_within_another_text():
    inner = tr('The file "{path}" does not exist.', path=STORED)
    named = naming(AudioError(tr("{part} Add it again.", part=inner)), STORED, '"vocal.wav"')
    assert named == 'The file "vocal.wav" does not exist. Add it again.'


def test_naming_puts_words_in_place_of_a_quoted_name():
    assert naming(AudioError(f'"{STORED.name}" is empty.'), STORED, "the zip") == "The zip is empty."
