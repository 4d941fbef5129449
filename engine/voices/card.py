"""The cards of voices (who it is, what it may be used for, how high it sings), and the folders voices lie in.

A voice is a folder with card.json, weights.safetensors and preview.wav. Here is what concerns the card, or the folder
as a whole; no network is loaded, so that a program that only lists voices need not wait for one.
Nothing in a folder is believed before it is checked: it may come from anybody.
"""

import json
import math
import os
import re
import shutil
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError
from safetensors import SafetensorError

from engine.analysis.pitch_statistics import PitchStatistics
from engine.errors import VoiceError, is_full_disk
from engine.files import UNFINISHED, sync_to_disk
from engine.provenance.installation import data_folder
from engine.reprs import Brief
from engine.spelling import folded, nearest
from engine.texts import tr
from engine.units import note_name, note_number
from engine.voices import card_rules as rules
from engine.voices.card_rules import FORMAT, LONGEST_IDENTIFIER, is_identifier, is_whole
from engine.voices.estimated_pitch import estimated_singing, estimated_speech

DEMO_VOICES = Path(__file__).parents[1] / "weights" / "voices"
STUDIO_DATASETS = "datasets"  # beside them: the recordings of voices, trained or not
STUDIO_VOICES = "voices"  # in the data folder of an installation: the voices of its command line and its page
CARD_FILE, WEIGHTS_FILE, PREVIEW_FILE = "card.json", "weights.safetensors", "preview.wav"
PACKAGE = ".zip"  # how the name of a package ends, at least
RETRIEVAL_FRAMES = "sounds"  # their name in a weights file
# endings no identifier can have, so that what a crash leaves behind is never taken for a voice
_REPLACED = ".old"
# letters that do not come apart into a plain letter and an accent
_PLAIN_LETTERS = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i"}  # noqa: RUF001
)
_LARGEST_CARD = 4 * 2**20  # bytes; the curves of a long training are far below it
_PITCHES = ("pitch", "spoken_pitch", "sung_pitch")  # the fields that are statistics of the pitch
_BESIDE_RANGE = 4.0  # semitones from a median pitch's 5 and 95 % to the ends of a range that was measured with it


@dataclass(frozen=True, repr=False)
class VoiceCard(Brief):
    """Everything known about a voice except its weights; None where nothing was stated.

    - id, name: by which it is loaded, and shown
    - gender, age, genre, voice_type: such as female, adult, pop, alto
    - description: for people
    - base_language: two lowercase letters
    - traits: such as warm, clear
    - vocal_range: {"min": "A2", "max": "C5"}
    - pitch, spoken_pitch, sung_pitch: MIDI note numbers of all its recordings, and of those in which it speaks or
      sings; None where hardly any do
    - bandwidth_hertz: of the recordings it was made from
    - licence, source: on what terms, and where the recordings come from and whom to credit
    - consent, consent_seal: any of "statement", "by" and "date", and the signature on them
    - corpus_speaker: 'set/speaker' of the training corpus, for scoring
    - training: minutes of audio, epochs, scores
    - other: what else its model.json said
    - estimated: those of "spoken_pitch" and "sung_pitch" that rest partly on an estimate, as those of a blend can
    - format: of the card
    - kind: which networks render it: studio or rvc
    - model: of an imported voice: its configuration
    """

    id: rules.Identifier
    name: rules.Name
    gender: rules.Line  # male, female
    age: rules.Line  # child, young adult, adult
    description: rules.Text
    base_language: rules.Line  # two lowercase letters
    traits: rules.Words
    genre: rules.Line
    voice_type: rules.Line
    vocal_range: rules.Range  # {"min": "A2", "max": "C5"}
    pitch: rules.Pitch
    bandwidth_hertz: rules.AboveZero  # of the recordings it was made from
    licence: rules.Text
    source: rules.Text  # where the recordings come from, and whom to credit
    consent: rules.Texts  # any of "statement", "by", "date"
    corpus_speaker: rules.Text = ""  # 'set/speaker' of the training corpus, for scoring
    training: rules.Object = field(default_factory=dict)  # minutes of audio, epochs, scores
    other: rules.Object = field(default_factory=dict)  # what else its model.json said
    format: rules.Format = FORMAT
    # of those recordings alone in which it speaks, or sings; None where hardly any do, or nobody has measured it
    spoken_pitch: rules.PitchOrNone = None
    sung_pitch: rules.PitchOrNone = None
    # of those two, what rests on an estimate; a file also has here what follows from the fields above (see `estimates`)
    estimated: rules.Pitches = field(default_factory=dict)
    consent_seal: rules.Texts = field(default_factory=dict)  # see engine.provenance.consent; empty if not signed
    kind: rules.Kind = "studio"  # which networks render it
    model: rules.Object = field(default_factory=dict)  # of an imported voice: see engine.voices.imported

    @property
    def is_earlier(self) -> bool:
        """Whether it was made on a base before this one's, and so cannot convert any more."""
        return self.format < FORMAT

    @property
    def is_imported(self) -> bool:
        """Whether it is a model of RVC, which converts but can be neither trained, blended nor exported."""
        return self.kind == rules.RVC

    @property
    def is_untrained(self) -> bool:
        """Whether it was only made from recordings and has not been trained yet."""
        return self.training.get(rules.UNTRAINED) is True

    def is_known_to(self, sing: bool) -> bool:
        """Return whether some of its recordings are sung, or spoken; so it is taken to be where nobody has measured
        it."""
        unknown = self.spoken_pitch is None and self.sung_pitch is None
        return unknown or (self.sung_pitch if sing else self.spoken_pitch) is not None

    def pitch_where(self, sung: bool) -> PitchStatistics:
        """Return where the voice lives when it sings, or speaks: as measured, or estimated from the other.

        In MIDI note numbers; of all of its recordings where neither is known.
        """
        known, other = (self.sung_pitch, self.spoken_pitch) if sung else (self.spoken_pitch, self.sung_pitch)
        if known or other is None:
            return known or self.pitch
        return (estimated_singing if sung else estimated_speech)(other, self.gender, self.age)

    def is_estimated(self, sung: bool) -> bool:
        """Return whether `pitch_where` is an estimate, or of a blend rests partly on one."""
        return not self.is_known_to(sung) or _pitch_name(sung) in self.estimated

    @property
    def estimates(self) -> dict[rules.PitchName, PitchStatistics]:
        """What `pitch_where` estimates, by the name of the field that it stands for.

        >>> load_card(DEMO_VOICES / "safiye").estimates  # a woman who was only recorded singing, about E4
        {'spoken_pitch': PitchStatistics(low=51.06, median=55.76, high=62.06)}
        """
        return {_pitch_name(sung): self.pitch_where(sung) for sung in (False, True) if self.is_estimated(sung)}

    @property
    def values(self) -> dict[str, Any]:
        """Its fields as a file has them, with all `estimates` in `estimated`."""
        return asdict(replace(self, estimated=self.estimates))

    def range_where(self, sung: bool) -> dict[str, str]:
        """Return the range of the voice when it sings, or speaks: {"min": "A2", "max": "C5"}; empty if it is not known.

        A voice that was only recorded singing speaks in the lower part of its range and below; one that was only
        recorded speaking sings those notes and higher ones. A range that somebody has stated stays as it is.

        Examples
        --------
        >>> card = load_card(DEMO_VOICES / "safiye")
        >>> card.range_where(sung=True), card.range_where(sung=False)
        ({'min': 'G3', 'max': 'C5'}, {'min': 'D#3', 'max': 'D#4'})
        """
        if self.is_known_to(sung) or not self._is_range_measured:
            return self.vocal_range
        pitch = self.pitch_where(sung)
        low, high = math.floor(pitch.low), math.ceil(pitch.high)
        if sung:  # nobody sings only above what they say
            low, high = (
                pick(one, note_number(self.vocal_range[end]))
                for pick, one, end in ((min, low, "min"), (max, high, "max"))
            )
        return {"min": note_name(low), "max": note_name(high)}

    @property
    def _is_range_measured(self) -> bool:
        """Whether the range is that of the recordings, as far as can be seen, and not a statement."""
        if not self.vocal_range:
            return False
        low, high = (note_number(self.vocal_range[end]) for end in ("min", "max"))
        return abs(low - self.pitch.low) < _BESIDE_RANGE and abs(high - self.pitch.high) < _BESIDE_RANGE


def _pitch_name(sung: bool) -> rules.PitchName:
    return "sung_pitch" if sung else "spoken_pitch"


# ---- reading ----


def card_text(card: VoiceCard) -> str:
    """Return the text of a card.json. Raises VoiceError for a card that could not be read again."""
    try:
        text = json.dumps(card.values, indent=2, ensure_ascii=False) + "\n"
        _card_from(json.loads(text))
    except (ValueError, TypeError, RecursionError) as cause:
        raise VoiceError(
            tr("The card of the voice '{id}' cannot be written: {cause}.", id=card.id, cause=cause)
        ) from cause
    return text


def load_card(folder: Path) -> VoiceCard:
    """Read the card of the voice in `folder`. Raises VoiceError if it is missing, damaged, or of a later version."""
    try:
        with (folder / CARD_FILE).open("rb") as file:
            content = file.read(_LARGEST_CARD + 1)
    except FileNotFoundError as cause:
        raise VoiceError(
            tr("'{name}' is not a voice: it has no {card_file}.", name=folder.name, card_file=CARD_FILE)
        ) from cause
    except OSError as cause:
        raise VoiceError(
            tr("The card of the voice '{name}' cannot be read: {cause}.", name=folder.name, cause=why_refused(cause))
        ) from cause
    return read_card(content, f"'{folder.name}'")


def read_card(content: bytes, where: str) -> VoiceCard:
    """Parse the text of a card.json; `where` names the file in a VoiceError."""
    try:
        if len(content) > _LARGEST_CARD:
            raise ValueError(tr("it is too large"))
        values = _read_json(content)
        if isinstance(values, dict) and is_whole(values.get("format")) and values["format"] > FORMAT:
            raise VoiceError(
                tr("The voice {where} was made by a later version of Timbre Studio; update to use it.", where=where)
            )
        return _card_from(values)
    except ValueError as cause:
        raise VoiceError(
            tr(
                "The card of the voice {where} is damaged ({cause}); import the voice again.",
                where=where,
                cause=str(cause),
            )
        ) from cause


def _read_json(content: bytes) -> object:
    try:
        # what is no number in a training's figures says nothing; where a number is needed, null is refused
        return json.loads(content.decode("utf-8"), parse_constant=lambda word: None)
    except (ValueError, RecursionError) as cause:
        raise ValueError(tr("it is not JSON")) from cause


UNTRAINED = tr("not trained")  # the state of a voice that was made of recordings and not trained yet, as it is shown
TRAIN_AGAIN = tr("train again")  # the state of a voice that was made on an earlier base, as it is shown


def earlier_voice(name: str) -> str:
    """Return the advice for a voice made on an earlier base."""
    return tr(
        "The voice '{name}' was made with an earlier version of Timbre Studio and cannot be used with this one. "
        "Train it again if its recordings are here; otherwise import one that was made with this version, or "
        "blend it anew.",
        name=name,
    )


def damaged_weights(name: str) -> str:
    """Return the advice for weights that cannot be used."""
    return tr("The weights of the voice '{name}' are missing or damaged; import the voice or make it again.", name=name)


def _card_from(values: object) -> VoiceCard:
    """Make a card from parsed JSON; unknown fields are ignored. Raises ValueError naming the wrong field."""
    if not isinstance(values, dict):
        raise ValueError(tr("it is not an object"))
    known = {one.name: values[one.name] for one in fields(VoiceCard) if one.name in values}
    known.setdefault("format", 1)  # of this one's format it would say so
    if not rules.is_shallow(known):
        raise ValueError(tr("it is nested too deeply"))
    json.dumps(known, ensure_ascii=False).encode("utf-8")  # half a character cannot be shown or stored: ValueError
    adapter, wanted = _card_type()
    try:
        adapter.validate_python(known)
    except ValidationError as cause:
        wrong = cause.errors(include_context=False)[0]
        name = str(wrong["loc"][0])
        is_missing = wrong["type"] == "missing" and len(wrong["loc"]) == 1
        if is_missing:
            raise ValueError(tr("{missing} is missing", missing=name)) from None
        raise ValueError(tr("{name} must be {expected}", name=name, expected=wanted[name])) from None
    statistics = {name: PitchStatistics(**known[name]) for name in _PITCHES if known.get(name) is not None}
    # what follows from the other fields is found anew: it may have been written by an earlier rule
    partly = {name: PitchStatistics(**one) for name, one in known.get("estimated", {}).items() if name in statistics}
    return VoiceCard(**known | statistics | {"estimated": partly})


@lru_cache(maxsize=1)
def _card_type() -> tuple[TypeAdapter[VoiceCard], dict[str, str]]:
    """Return the schema of a card, and for each field a description of its values."""
    hints = get_type_hints(VoiceCard, include_extras=True)
    return TypeAdapter(VoiceCard), {name: hint.__metadata__[-1] for name, hint in hints.items()}


Folders = Path | str | Sequence[Path | str]  # a folder of voices, or several


def known_folders() -> tuple[Path, ...]:
    """Return where voices are looked up by id and name: the demo voices, and those of the studio's data folder."""
    return (DEMO_VOICES, data_folder() / STUDIO_VOICES)


def list_voices(folder: Folders | None = None) -> list[VoiceCard]:
    """Read the cards of all voices in a folder.

    Parameters
    ----------
    folder : Path or str, or several, optional
        By default the demo voices and the studio's own, in its `data_folder`. Of two voices with one id, the one in the
        earlier folder counts.

    Returns
    -------
    list of VoiceCard
        By name; damaged ones are left out.

    Examples
    --------
    >>> [voice.id for voice in list_voices()]
    ['everett', 'goekhan', 'kathleen', 'kerstin', 'koguchi', 'safiye']
    """
    cards: dict[str, VoiceCard] = {}
    for one in _several(folder):
        there = {identifier_in(home) for home in one.iterdir()} if one.is_dir() else set()
        for identifier in sorted(there - cards.keys()):
            if home := _home(identifier, [one]):
                try:
                    cards[identifier] = replace(load_card(home), id=identifier)
                except VoiceError:
                    continue
    return sorted(cards.values(), key=lambda card: (folded(card.name), card.id))


def _several(folder: Folders | None) -> Sequence[Path]:
    if folder is None:
        return known_folders()
    return [Path(folder)] if isinstance(folder, str | os.PathLike) else [Path(one) for one in folder]


def is_place(voice: Path | str) -> bool:
    """Return whether a voice is given by where it lies and not by an id or a name: a Path, or the name of a package.

    Any other text never leads out of the folders of voices.

    >>> is_place("Mia"), is_place("mia.voice.zip"), is_place(Path("mia"))
    (False, True, True)
    """
    return not isinstance(voice, str) or voice.lower().endswith(PACKAGE)


def voice_home(voice: Path | str, folder: Folders | None = None) -> Path:
    """Return where a voice lies: its own place if that is given, else that of its id or name in one of the folders.

    folder: as for `list_voices`.

    Raises VoiceError, naming the voices there are, for one that is unknown, or a name that several have.
    """
    if is_place(voice):
        return Path(voice)
    folders = _several(folder)
    if home := _home(str(voice), folders):
        return home
    cards = list_voices(folders)
    named = [card.id for card in cards if folded(card.name) == folded(str(voice))]
    if len(named) == 1:
        return voice_home(named[0], folders)
    if named:
        raise VoiceError(
            tr(
                "Several voices have the name '{voice}': give the id, which is one of {named}.",
                voice=voice,
                named=", ".join(named),
            )
        )
    if folder is None and is_identifier(str(voice)) and (made_of := data_folder() / STUDIO_DATASETS / voice).is_dir():
        raise VoiceError(
            tr(
                "The voice '{id}' is not trained yet: train it, or pass "
                'untrained_voice(usable_clips(load_dataset("{folder}"))) as the voice.',
                id=voice,
                folder=made_of.as_posix(),
            )
        )
    there = ", ".join(card.id for card in cards) or "none"
    if meant := nearest(str(voice), [one for card in cards for one in (card.name, card.id)]):
        raise VoiceError(
            tr(
                "There is no voice '{voice}': did you mean {meant}? The voices here are: {there}.",
                voice=voice,
                meant=meant,
                there=there,
            )
        )
    raise VoiceError(tr("There is no voice '{voice}'. The voices here are: {there}.", voice=voice, there=there))


def _home(identifier: str, folders: Sequence[Path]) -> Path | None:
    """Where the voice with this id is: in its folder, or beside it where a crash left it while it was replaced."""
    if is_identifier(identifier):
        for folder in folders:
            for home in (folder / identifier, folder / (identifier + _REPLACED)):
                if (home / CARD_FILE).exists():
                    return home
    return None


def identifier_in(home: Path) -> str:
    """Return the id of the voice in this folder: its name, also where a crash left it while it was replaced."""
    return home.name.removesuffix(_REPLACED)


# ---- writing ----


@contextmanager
def new_voice_folder(folder: Path) -> Iterator[Path]:
    """Give an empty folder to fill; its content becomes the voice in `folder` in one step, or leaves no trace.

    A voice that is there is moved aside, and deleted once the new one is in its place: a crash at any moment leaves
    one of them whole where `load_voice` finds it. Raises VoiceError for what the system refuses.
    """
    unfinished = folder.with_name(folder.name + UNFINISHED)
    replaced = folder.with_name(folder.name + _REPLACED)
    try:
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        yield unfinished
        for path in unfinished.iterdir():
            sync_to_disk(path)
        if folder.exists():
            shutil.rmtree(replaced, ignore_errors=True)
            os.replace(folder, replaced)
        try:
            os.replace(unfinished, folder)
        except OSError:
            if replaced.exists():
                os.replace(replaced, folder)
            raise
        shutil.rmtree(replaced, ignore_errors=True)
    except (OSError, SafetensorError) as cause:
        raise VoiceError(
            tr("The voice '{name}' could not be written: {cause}.", name=folder.name, cause=why_refused(cause))
        ) from cause
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def new_identifier(name: str, taken: Collection[str] = ()) -> str:
    """Make an id from a voice's name that is not `taken`: Gökhan -> gokhan, or gokhan-2 if there is one.

    >>> new_identifier("Gökhan"), new_identifier("Gökhan", {"gokhan"})
    ('gokhan', 'gokhan-2')
    """
    apart = unicodedata.normalize("NFKD", name.lower().translate(_PLAIN_LETTERS))
    plain = "".join(letter for letter in apart if not unicodedata.combining(letter))
    stem = re.sub(r"[^a-z0-9]+", "-", plain.replace("'", "")).strip("-")[:LONGEST_IDENTIFIER].strip("-") or "voice"
    for number in count(1):
        ending = "" if number == 1 else f"-{number}"
        identifier = stem[: LONGEST_IDENTIFIER - len(ending)].rstrip("-") + ending
        if identifier not in taken and is_identifier(identifier):
            return identifier
    raise AssertionError("there are always more numbers")


def why_refused(cause: Exception) -> str:
    """Return the system's reason for not writing or deleting a file, to go into a sentence."""
    if is_full_disk(cause):
        return tr("the disk is full")
    if isinstance(cause, OSError):
        return cause.strerror or str(cause)
    return str(cause)
