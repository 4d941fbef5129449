"""Python's search for garbage, which was an eighth of the processor time in which a phrase is converted."""

import gc


def collect_nothing() -> None:
    """Look for no garbage while modules are loaded: there is none in them."""
    gc.disable()


def collect_from_here() -> None:
    """Look for it again where `collect_nothing` was called, but no more in what was loaded since."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
