"""Records that a test makes of the fields that it is about."""


class Known(dict):
    """Fields of a record, read as such; those that a test leaves out are not there."""

    def __getattr__(self, name: str) -> object:
        try:
            return _known(self[name])
        except KeyError as cause:
            raise AttributeError(name) from cause

    def __or__(self, more: dict) -> "Known":
        return Known({**self, **more})


def _known(value: object) -> object:
    if isinstance(value, list | tuple):
        return [_known(one) for one in value]
    return Known(value) if type(value) is dict else value
