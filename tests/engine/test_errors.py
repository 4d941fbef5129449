"""Which errors mean that a disk is full, whoever tells it, and how errors pass to another process."""

import errno
import pickle

import pytest
from safetensors import SafetensorError

from engine.errors import AudioError, EngineError, ProfileError, VoiceError, is_full_disk
from engine.rvc.sandbox import ModelFileError

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


@pytest.mark.parametrize(
    "error",
    [AudioError("No sound."), ProfileError([("name", "Too long."), ("age", "Odd.")]), ModelFileError("No.", "unsafe")],
)
def test_errors_pass_to_another_process_with_all_they_say(error: EngineError):
    passed = pickle.loads(pickle.dumps(error))
    assert (type(passed), str(passed), vars(passed)) == (type(error), str(error), vars(error))
