"""Two services behind nginx, configured as in the studio's README: streamed uploads, ranges, our own errors."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest
import soundfile

import engine
from studio.client import Client
from studio.load.trial_service import TrialService, trial_service
from tests.proxies import free_port, nginx
from tests.waiting import PATIENCE_S

README = Path(__file__).parents[2] / "studio" / "deploy" / "README.md"
SAMPLES = Path(engine.__path__[0]) / "samples"

pytestmark = pytest.mark.slow


def server_block(port: int, services: list[TrialService]) -> str:
    """The README's server block, with these addresses and without TLS."""
    [block] = re.findall(r"```nginx\n(upstream.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    block = re.sub(r"listen 443 ssl; .*", f"listen 127.0.0.1:{port};", block)
    servers = " ".join(f"server {service.base_url.removeprefix('http://')};" for service in services)
    return re.sub(r"upstream studio \{.*?\}", f"upstream studio {{ {servers} }}", block)  # in turn, to reach both


@pytest.fixture
def proxy(postgresql_of_its_own, s3_server, s3_bucket, tmp_path) -> Iterator[tuple[str, TrialService]]:
    """The address of nginx, and one of the services behind it."""
    port = free_port()
    settings = {
        "database_url": postgresql_of_its_own,
        "base_url": f"http://127.0.0.1:{port}",
        "storage_url": f"s3://{s3_bucket}?endpoint={s3_server}&region=us-east-1",
    }
    with (
        trial_service(tmp_path / "one", **settings) as one,
        trial_service(tmp_path / "two", executor="none", **settings) as two,
        nginx(tmp_path, port, server_block(port, [one, two])) as base_url,
    ):
        yield base_url, one


def test_nginx_passes_uploads_results_ranges_the_page_and_errors(proxy, tmp_path):
    base_url, service = proxy
    token = service.token("anna")
    with (
        Client(base_url, token) as client,
        httpx.Client(base_url=base_url, trust_env=False, timeout=PATIENCE_S) as http,
    ):
        [take] = client.convert_and_wait(SAMPLES / "speech.flac", "kathleen", folder=tmp_path / "converted")
        task = client.convert(SAMPLES / "speech.flac", "kathleen")
        while (view := client.check_task(task))["status"] == "in_progress":
            time.sleep(0.1)
        [url] = view["output_audio_urls"]
        assert url.startswith(base_url)
        whole = http.get(url).content
        assert len(whole) == take.stat().st_size
        for _ in range(4):  # from both
            part = http.get(url, headers={"Range": "bytes=100-199"})
            assert (part.status_code, part.content) == (206, whole[100:200])
        assert "Timbre Studio" in http.get("/").text

        headers = {"Authorization": f"Bearer {token}"}
        soundfile.write(tmp_path / "long.wav", np.zeros(30_000_000, np.int16), 44_100, subtype="PCM_16")  # 60 MB
        for given, status in ((headers, 200), ({}, 401)):
            with (tmp_path / "long.wav").open("rb") as file:
                answer = http.post("/convert", headers=given, files={"audio": file}, data={"model": "kathleen"})
            assert answer.status_code == status
        answer = http.post(
            "/convert", headers=headers, files={"audio": ("a.wav", bytes(101_000_000))}, data={"model": "kathleen"}
        )
        assert answer.status_code == 413
        assert answer.json()["code"] == "too_large"  # ours, not nginx's page
