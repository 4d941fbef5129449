"""`demo`: convert the recording that comes with the project."""

from pathlib import Path

from engine.errors import EngineError
from engine.texts import tr
from studio.commands.arguments import DEFAULT_VOICE, AsJson, VoiceId
from studio.commands.convert import convert
from studio.commands.failures import in_one_sentence
from studio.commands.wording import say

_SAMPLE = "singing.flac"  # in the engine's folder of samples


@in_one_sentence
def demo(voice: VoiceId = DEFAULT_VOICE, as_json: AsJson = False) -> None:
    """Convert the bundled recording with a demo voice and score the result."""
    sample = bundled_sample()
    say(tr("Converting {name}, a recording that comes with the project ...", name=sample.name))
    convert([sample], voice, str(Path.cwd()), scores=True, as_json=as_json)
    say(tr("Now convert one of your own: timbre-studio convert RECORDING"))


def bundled_sample() -> Path:
    """Return the recording that `demo` converts. Raises EngineError if the installation lacks it."""
    import engine

    sample = Path(engine.__path__[0]) / "samples" / _SAMPLE
    if not sample.is_file():
        raise EngineError(tr('The bundled recording "{sample}" is missing: install the project again.', sample=_SAMPLE))
    return sample
