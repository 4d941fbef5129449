"""The version of this program."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("timbre-studio")
except PackageNotFoundError:  # it runs without being installed
    __version__ = "unknown"
