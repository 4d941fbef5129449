"""Attacks on the live socket and by the Model Context Protocol: conversations, each with what was wrong in the end."""

import json
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import httpx
import numpy as np
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from studio.load.attacks import MANY_VALUES, VOICE
from studio.load.payloads import deep_json
from studio.load.trial_service import TrialService
from studio.load.waiting import PATIENCE_S, wait_until

_RATE = 48_000
_ANSWER_S = 60.0
HELLOS = ('{"rate": 1e400}', '{"rate": 1}', "[" * 50_000, "null", "", '{"rate": ', "x" * 200_000, '{"rate": 44101}')
CHANGES = (
    *({"transpose": 1e308}, {"transpose": None}, {"voice": "../../etc"}, {"voice": "x" * 10_000}, {"nothing": 1}),
    *({"block_ms": 20}, {"accent": "nan"}, {"style": "x"}, {"bypass": 5}),
)
BLOCKS = (np.nan, np.inf, -np.inf, 1e38, 0.0)
ASKED: tuple[dict[str, Any], ...] = (
    *({"settings": {"nothing": 1}}, {"settings": {"block_ms": 1e9}}, {"settings": {"transpose": [1]}}),
    *({"settings": {"style": {}}}, {"model": "x" * 9_000}),
)
CALLS = (
    *(("a" * 100_000, {}), ("voices", {"x": 1}), ("convert", [])),
    *(("convert", {"recording": "/dev/zero", "voice": VOICE}), ("convert", {"recording": "a\x00b", "voice": VOICE})),
    *(("task", {"task_id": "\x00"}), ("task", {"task_id": "9" * 9_000})),
    *(("convert", {"recording": "a.wav", "voice": VOICE, "wait_s": text}) for text in MANY_VALUES),
)
MESSAGES: tuple[bytes, ...] = (
    *(b"{", b"null", b"[]", b"\xff\xfe\x00", b"[" * 50_000, b"x" * (8 << 20)),
    *(b'{"jsonrpc":"2.0","id":1e400,"method":"x"}', b'{"jsonrpc":"2.0","id":{"a":1},"method":"tools/call"}'),
    *(b'{"jsonrpc":"2.0","id":7,"method":"nothing"}', b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":null}'),
    b'{"jsonrpc":"2.0","id":7,"method":"prompts/get","params":{"name":"x"}}',
    b'{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}',
    b'{"jsonrpc":"2.0","result":{},"id":3}',
)


# ---- the live socket of the page


def live_attacks(service: TrialService) -> Iterator[str]:
    """Yield what was wrong with an answer, or "" for each attack; on a service of this machine, whose page is open."""
    headers = {"Origin": service.base_url}
    with httpx.Client(base_url=service.base_url, headers=headers, trust_env=False, timeout=PATIENCE_S) as browser:
        start = next(
            one["id"] for one in browser.get("/config").json()["dependencies"] if one["targets"][0][1] == "start"
        )
        for asked in ASKED:
            answer = _asked(browser, start, asked)
            yield "" if answer.get("problem") else f"live: {asked} gave {str(answer)[:300]}"
        yield _unknown_ticket(service)
        for hello in HELLOS:
            yield _said(service, _ticket(browser, start), [hello])
        for level in BLOCKS:
            block = bytes(4) + np.full(_RATE // 20, level, np.float32).tobytes()
            changes = [json.dumps({"change": change}) for change in CHANGES]
            said: list[str | bytes] = [json.dumps({"rate": _RATE}), block, *changes]
            said += [block, b"\1\2", b"", block, '{"stop": true}']
            yield _said(service, _ticket(browser, start), said)
        yield _said(service, _ticket(browser, start), [json.dumps({"rate": _RATE}), bytes(200_000)])


def _asked(browser: httpx.Client, event: int, given: dict[str, Any]) -> dict[str, Any]:
    """Ask the page for a ticket; return what its element shows."""
    session, data = secrets.token_hex(6), {"model": VOICE, "settings": {}, "record": False, "at": 1} | given
    call = {"fn_index": event, "session_hash": session, "data": [], "event_data": {"told": data}}
    browser.post("/gradio_api/queue/join", json=call)
    with browser.stream("GET", "/gradio_api/queue/data", params={"session_hash": session}) as told:
        line = next(line for line in told.iter_lines() if "process_completed" in line)
    output = json.loads(line.removeprefix("data: "))["output"]
    if "data" not in output:
        return {"refused": output}
    shown = output["data"][0]
    found: dict[str, Any] = json.loads(shown["value"] if isinstance(shown, dict) else shown)
    return found


def _ticket(browser: httpx.Client, event: int) -> str:
    return str(wait_until(lambda: _asked(browser, event, {}).get("ticket")))  # until the session before has ended


def _socket(service: TrialService, ticket: str) -> Any:
    address = service.base_url.replace("http", "ws", 1) + f"/live/{ticket}"
    origin = Origin(service.base_url)
    return connect(address, origin=origin, proxy=None, max_size=None, open_timeout=_ANSWER_S)


def _unknown_ticket(service: TrialService) -> str:
    try:
        with _socket(service, secrets.token_hex(8)):
            return "live: an unknown ticket was accepted"
    except InvalidStatus as refusal:
        return "" if refusal.response.status_code == 401 else f"live: an unknown ticket: {refusal}"


def _said(service: TrialService, ticket: str, said: list[str | bytes]) -> str:
    """Say all this; the service must end it with a sentence or by closing."""
    with _socket(service, ticket) as socket:
        with suppress(ConnectionClosed):
            for one in said:
                socket.send(one)
        try:
            while True:
                answer = socket.recv(timeout=_ANSWER_S)
                if isinstance(answer, str) and ("Something went wrong" in answer or "Traceback" in answer):
                    return f"live: {str(said)[:100]} gave {answer[:300]}"
        except ConnectionClosed:
            return ""
        except TimeoutError:
            return f"live: {str(said)[:100]} is not answered"


# ---- Model Context Protocol


@contextmanager
def assistant(service: TrialService) -> Iterator["Assistant"]:
    """A conversation with `studio mcp` beside the service, in the same data folder."""
    log = service.home.with_name(f"{service.home.name}.mcp.log")
    with (
        log.open("ab") as said,
        subprocess.Popen(
            [sys.executable, "-m", "studio", "mcp"],
            env=service.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
        ) as process,
    ):
        yield Assistant(process)
        process.stdin.close()  # type: ignore[union-attr]


class Assistant:
    """Says lines, and reads the answers to `ping` behind each."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process, self._count = process, 1_000
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
        self._ask("initialize", client)
        self._write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')

    def attacks(self) -> Iterator[str]:
        """Yield what was wrong, or "", for each message."""
        calls = ({"method": "tools/call", "params": {"name": name, "arguments": given}} for name, given in CALLS)
        written = (json.dumps({"jsonrpc": "2.0", "id": 7} | call).encode() for call in calls)
        for message in (*MESSAGES, deep_json().encode(), *written):
            self._write(message)
            answers = self._ask("ping", {})
            long = [one for one in answers if len(one) > 4_000 or b"Traceback" in one]
            yield f"mcp: {message[:100]!r} gave {long[0][:300]!r}" if long else ""

    def _ask(self, method: str, given: dict[str, Any]) -> list[bytes]:
        """Return the lines that came before the answer."""
        self._count += 1
        self._write(json.dumps({"jsonrpc": "2.0", "id": self._count, "method": method, "params": given}).encode())
        lines: list[bytes] = []
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if json.loads(line).get("id") == self._count:
                return lines
            lines.append(line)
        raise EOFError(f"The process of the assistant has ended: {self.process.wait()}.")

    def _write(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()
