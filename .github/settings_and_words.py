"""A page of the API reference: tables of all settings, and the project's words. CONTRIBUTING has the command."""

from dataclasses import MISSING, fields

from engine import ConversionSettings, EffectSettings, LiveSettings, TrainingPlan

__all__: list[str] = []
_HEAD = "| setting | range | default | what it does |\n|---|---|---|---|\n"
_WORDS = "# Words\n\n.. include:: CONTRIBUTING.md\n   :start-after: ## Words\n"


def _table(settings: type) -> str:
    rows = []
    for one in fields(settings):
        lowest, highest = one.metadata.get("minimum"), one.metadata.get("maximum")
        accepted = [*([f"{lowest} to {highest}"] if lowest is not None else []), *one.metadata["words"]]
        default = "" if one.default is MISSING else one.default
        rows.append(f"| `{one.name}` | {', '.join(accepted)} | {default} | {one.metadata['meaning']} |\n")
    text = (settings.__doc__ or "").partition("\n\nParameters\n")[0]
    return f"## {settings.__name__}\n\n{text}\n\n{_HEAD}{''.join(rows)}\n"


_ALL = (ConversionSettings, EffectSettings, LiveSettings, TrainingPlan)
__doc__ = f"# Settings\n\n{''.join(_table(one) for one in _ALL)}{_WORDS}"
