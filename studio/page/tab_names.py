"""The tabs of the page, from left to right."""

TABS = ("Convert", "Live", "History", "Voices", "Create", "Train", "Explore", "Settings")
_OF_THE_HOST = {"Settings"}  # tokens and the machine


def tabs_of(is_demo: bool) -> tuple[str, ...]:
    """Return the names of the tabs that a page has."""
    return tuple(name for name in TABS if not (is_demo and name in _OF_THE_HOST))
