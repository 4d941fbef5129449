"""Settings of a conversion, their ranges and their audible effect.

Page, service, command line and notebooks are made from these fields.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Literal, TypedDict

from typing_extensions import TypeAliasType

from engine.analysis.notes import CHROMATIC, SCALES
from engine.analysis.style import Style
from engine.conversion.harmony import NONE, STEPS
from engine.conversion.pitch_shaping import LARGEST_TRANSPOSE
from engine.errors import SettingsError
from engine.settings import check_settings, refuse_unknown, setting, text_setting, with_ranges
from engine.texts import tr

AUTO: Final = "auto"  # by the recording: the transposition that fits the voice, the preset of its style
REFUSE: Final = "refuse"  # what the transposition moves beyond the range of notes
FOLD: Final = "fold"  # by octaves into it
KEYS: Final = tuple(name for name in SCALES if name != CHROMATIC)
BEST: Final = "best"  # the transposition that leaves the fewest notes outside the voice's range


@with_ranges
@dataclass(frozen=True)
class ConversionSettings:
    """How to convert: all settings, whatever the recording.

    To change only some, and to let the style of the recording and the range of the voice decide the others, pass them
    to `convert` as a mapping, such as {"takes": 2}. Raises SettingsError for a value outside its range.

    Examples
    --------
    >>> ConversionSettings(takes=3).transpose
    'auto'
    >>> ConversionSettings(likeness=2)
    Traceback (most recent call last):
    engine.errors.SettingsError: likeness must be a number from 0.0 to 1.0, not 2.
    >>> sorted(ConversionSettings.presets)
    ['melodic', 'rhythmic', 'spoken']
    """

    presets: ClassVar[dict[str, "ConversionSettings"]]

    transpose: float | Literal["auto", "best"] = setting(
        AUTO, -float(LARGEST_TRANSPOSE), float(LARGEST_TRANSPOSE),
        tr("Semitones up or down; auto moves speech to where the voice speaks, singing to where it sings, in octaves; "
        "best is the key that leaves the fewest notes outside the voice's range."),
        words=(tr("auto"), tr("best")), step=1,
    )  # fmt: skip
    takes: int = setting(
        1, 1, 10, tr("How many takes to make: the first is the plain conversion, the others vary a little.")
    )
    seed: int = setting(0, 0, 2**31 - 1, tr("The same number gives exactly the same takes again."))
    likeness: float = setting(
        0.8,
        0.0,
        1.0,
        tr("How close the articulation comes to the voice: at 0 you hear the recording's own, at 1 only the voice's."),
    )
    retrieval: float = setting(
        0.0,
        0.0,
        1.0,
        tr(
            "How far each frame is replaced by similar ones from the voice: 0 replaces none and is clearest, 1 is "
            "most like the voice and blurs words."
        ),
    )
    accent: float = setting(
        0.8,
        0.0,
        1.0,
        tr(
            "Whose pronunciation you hear: at 0 the recording's, which is clearer, especially in languages foreign "
            "to the voice, at 1 the voice's."
        ),
    )
    consonant_protection: float = setting(
        0.8, 0.0, 1.0, tr("Breaths and unvoiced consonants: at 0 the voice's, at 1 the recording's.")
    )
    texture: float = setting(
        1.0, 0.0, 1.0,
        tr("How much of the performer's own breath, growl and rasp is kept, from the highest frequencies down: 0 is "
        "fully synthesised (always so with audible reverb, noise or bleed), 1 keeps all of it."),
    )  # fmt: skip
    formant_shift_semitones: float = setting(
        0.0, -6.0, 6.0, tr("Makes the voice sound smaller (up) or larger (down) without changing the notes.")
    )
    pitch_smoothing_ms: float = setting(
        0.0, 0.0, 300.0, tr("Evens out wobble in the pitch; much of it also takes out vibrato.")
    )
    pitch_snap: float = setting(
        0.0,
        0.0,
        1.0,
        tr(
            "Pulls sustained notes to the nearest semitone: 0 leaves them as they were sung, 1 puts them exactly on it."
        ),
    )
    notes_out_of_range: str = text_setting(
        REFUSE,
        tr(
            "What happens to notes that a shift moves above C7 or below F#1: refuse stops the conversion, fold sings "
            "them in another octave."
        ),
        (tr("refuse"), tr("fold")),
    )
    harmony: str = text_setting(
        NONE,
        tr(
            "Sings a second part instead of the lead: a double slightly off its pitch, or a harmony a third, a fifth "
            "or an octave away, in its key."
        ),
        tuple(STEPS),
    )
    harmony_key: str = text_setting(AUTO, tr("The key of the recording, for harmonies; auto finds it."), (AUTO, *KEYS))

    def __post_init__(self) -> None:
        """Raise SettingsError, naming the setting and its range, for any value outside it."""
        check_settings(self)

    def varies(self, number: int) -> bool:
        """Return whether a take, the first being 0, differs a little from the plain conversion."""
        return number > 0 or self.harmony != NONE


ConversionSettings.presets = {
    "melodic": ConversionSettings(accent=1.0, likeness=1.0),  # more like the voice (engine/EXPERIMENTS.md)
    "rhythmic": ConversionSettings(),
    "spoken": ConversionSettings(),
}


class ConversionValues(TypedDict, total=False):
    """Single settings by their names: a dictionary of some fields of ConversionSettings, as type checkers see it.

    Examples
    --------
    >>> values: ConversionValues = {"takes": 2, "likeness": 0.9}
    """

    transpose: float | Literal["auto", "best"]
    takes: int
    seed: int
    likeness: float
    retrieval: float
    accent: float
    consonant_protection: float
    texture: float
    formant_shift_semitones: float
    pitch_smoothing_ms: float
    pitch_snap: float
    notes_out_of_range: str
    harmony: str
    harmony_key: str


# all settings; or single values, which change the defaults; or a function from the style of the recording to settings
Chosen = TypeAliasType("Chosen", ConversionSettings | ConversionValues | Callable[[Style], ConversionSettings])


def chosen_by(chosen: Chosen | None) -> Callable[[Style], ConversionSettings]:
    """Return the settings for the style of a recording, however they are given.

    What is not given is as for every other door: the preset of the style, and the transposition that fits the voice.
    Raises SettingsError for an unknown setting or value.

    >>> chosen_by({"takes": 2})("melodic").accent, chosen_by(None)("spoken").transpose
    (1.0, 'auto')
    """
    if isinstance(chosen, ConversionSettings):
        return lambda style: chosen
    if callable(chosen):
        return chosen
    if not isinstance(chosen, Mapping | None):
        raise SettingsError(
            tr("Settings are ConversionSettings or a dictionary of them, not {name}.", name=type(chosen).__name__)
        )
    return by_style(AUTO, chosen or {})


def by_style(preset: str, given: Mapping[str, Any]) -> Callable[[Style], ConversionSettings]:
    """Return a function from the style of a recording to its settings: a preset, changed by the given values.

    Parameters
    ----------
    preset : str
        melodic, rhythmic or spoken; auto chooses the preset of the style.
    given : mapping
        Settings by their names, which the preset does not decide.

    Returns
    -------
    callable
        To be passed to `convert` as its settings.

    Raises
    ------
    SettingsError
        For an unknown preset, setting or value.

    Examples
    --------
    >>> by_style("auto", {"takes": 2})("melodic").accent
    1.0
    """
    if preset != AUTO and preset not in ConversionSettings.presets:
        names = ", ".join([AUTO, *ConversionSettings.presets])
        raise SettingsError(tr("There is no preset '{preset}'; the presets are: {names}.", preset=preset, names=names))
    refuse_unknown(ConversionSettings, given)

    def settings(style: Style) -> ConversionSettings:
        return replace(ConversionSettings.presets[style if preset == AUTO else preset], **given)

    settings("melodic")  # reports a wrong value now
    return settings
