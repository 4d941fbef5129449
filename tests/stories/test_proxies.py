"""A shell whose traffic goes through a SOCKS proxy: the page needs no network, and starts there."""

import httpx
import pytest

from studio.load.trial_service import trial_service
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.system


def test_page_starts_beside_a_socks_proxy(tmp_path, monkeypatch):
    """It said that the installation is incomplete."""
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "localhost,127.0.0.1,[::1]")
    with trial_service(tmp_path / "data", executor="none") as service:
        page = httpx.get(service.base_url, trust_env=False, timeout=PATIENCE_S)
    assert page.is_success
    assert "Timbre Studio" in page.text
