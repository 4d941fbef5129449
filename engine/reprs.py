"""Values that hold arrays, written in one line: an array by its type and shape, what is long by its beginning."""

from dataclasses import fields
from reprlib import Repr


class _OneLine(Repr):
    """Write any value in a few words, and arrays wherever they lie in it."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxlist, self.maxtuple, self.maxdict = 2, 3, 4, 3
        self.maxstring, self.maxother = 60, 160

    def repr1(self, value: object, level: int) -> str:
        shape = getattr(value, "shape", None)
        if isinstance(shape, tuple):
            return f"<{str(getattr(value, 'dtype', 'array')).removeprefix('torch.')} {tuple(shape)}>"
        return super().repr1(value, level)


def brief(value: object) -> str:
    """Return a value in a few words.

    >>> import numpy as np
    >>> brief([np.zeros((2, 300), np.float32)]), brief("x" * 900)[:9]
    ('[<float32 (2, 300)>]', "'xxxxxxxx")
    """
    return _OneLine().repr(value)


class Brief:
    """A dataclass, made with `repr=False`, that is written in one line though its fields hold arrays."""

    def __repr__(self) -> str:
        names = [one.name for one in fields(self) if one.repr]  # type: ignore[arg-type]
        return f"{type(self).__name__}({', '.join(f'{name}={brief(getattr(self, name))}' for name in names)})"
