"""Which errors mean that a disk is full, whoever tells it."""

import errno

import pytest
from safetensors import SafetensorError

from engine.errors import VoiceError, is_full_disk

FULL = OSError(errno.ENOSPC, "No space left on device")
OF_RUST = SafetensorError(f"Error while serializing: I/O error: No space left on device (os error {errno.ENOSPC})")


def raised_from(cause: Exception) -> VoiceError:
    error = VoiceError("The voice could not be written.")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    "error", [FULL, OSError(errno.EDQUOT, "Quota"), OF_RUST, raised_from(FULL), raised_from(OF_RUST)]
)
def test_is_full_disk_is_true_for_full_disk_and_quota_errors(error):
    assert is_full_disk(error)


@pytest.mark.parametrize(
    "error", [None, ValueError("28"), OSError(errno.EACCES, "x"), raised_from(OSError(28_000, "x"))]
)
def test_is_full_disk_is_false_for_anything_else(error):
    assert not is_full_disk(error)
