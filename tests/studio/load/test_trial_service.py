"""A service of one's own for a while."""

import httpx
import pytest

from engine.errors import EngineError
from studio.load.trial_service import trial_service
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.system


def test_trial_service_raises_the_reason_if_it_cannot_start(tmp_path):
    with pytest.raises(EngineError, match="sqlite"), trial_service(tmp_path / "home", database_url="mysql://x"):
        pytest.fail("it started")


def test_trial_service_uses_only_its_own_folder_and_ends(tmp_path, monkeypatch):
    monkeypatch.setenv("TIMBRE_STUDIO_DATABASE_URL", "mysql://somebody-elses")
    with trial_service(tmp_path / "home", executor="none", page="off") as service:
        assert httpx.get(f"{service.base_url}/health", timeout=PATIENCE_S).status_code == 200
        assert (tmp_path / "home" / "studio.sqlite").exists()
        assert (tmp_path / "home").stat().st_mode & 0o077 == 0  # nobody else's to read
        with pytest.raises(EngineError, match="token create"):
            service.command("token", "create", "x", "--expires-days", "-1")
    assert service.process.poll() == 0
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{service.base_url}/health")
