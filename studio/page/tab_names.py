"""The tabs of the page, from left to right."""

from engine.texts import tr

TABS = (
    tr("Convert"),
    tr("Live"),
    tr("History"),
    tr("Voices"),
    tr("Create"),
    tr("Train"),
    tr("Explore"),
    tr("Settings"),
)
_OF_THE_HOST = {tr("Settings")}  # tokens and the machine


def tabs_of(is_demo: bool) -> tuple[str, ...]:
    """Return the names of the tabs that a page has."""
    return tuple(name for name in TABS if not (is_demo and name in _OF_THE_HOST))
