"""Attacks by HTTP on all that came after 0.6, and on what belongs to another account: one call each.

Each says which answers are right: a refusal of its own, never an error of the service.
"""

import io
import json
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
import numpy as np
import soundfile

from studio.client import Client
from studio.load.payloads import bomb, changed, deep_json, endless_wav, running_pickle, sample, silence, zipped
from studio.load.trial_service import TrialService
from studio.load.waiting import PATIENCE_S, wait_until

VOICE = "kathleen"
REFUSED = frozenset({400, 404, 405, 409, 413, 414, 415, 422, 429})
TAKEN = REFUSED | {200, 204}  # where a repetition may be accepted
FULL = frozenset({503, 507})  # with a reason
_NOBODY = "http://127.0.0.1:9/"  # nothing listens there
MANY_VALUES = ("nan", "-inf", "1e400", "1e308", "0x10", "٣", "9" * 5_000, "\x00", "null", "[]", "{}", "true", "--1")


@dataclass(frozen=True)
class Belongings:
    """What two accounts have: whoever attacks, and another. task: a conversion with a take; callback: of its end."""

    task: str
    project: str
    model: str
    callback: str
    their_task: str
    their_project: str
    their_model: str
    their_callback: str


@dataclass(frozen=True)
class Attack:
    """A call. path: with names of `Belongings`. form: texts, or (file name, content). expected: besides `FULL`."""

    surface: str
    kind: str
    method: str
    path: str
    form: Mapping[str, Any] = field(default_factory=dict)
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    expected: frozenset[int] = REFUSED

    def carried_out(self, client: httpx.Client, has: Belongings) -> httpx.Response:
        """Make the call; return its answer, read to the end."""
        path = self.path.format_map(vars(has))
        parts = [(name, one if isinstance(one, tuple) else (None, one)) for name, one in self.form.items()]
        if self.content is not None:
            return client.request(self.method, path, content=self.content, headers=dict(self.headers))
        return client.request(self.method, path, files=parts or None, headers=dict(self.headers))

    def wrong(self, answer: httpx.Response) -> str:
        """Return what is wrong with the answer, empty if nothing is."""
        where = f"{self.surface}, {self.kind}: {self.method} {self.path[:60]} answered {answer.status_code}"
        if answer.status_code not in self.expected | FULL:
            return f"{where}: {answer.text[:300]}"
        if answer.status_code in (200, 204):
            return ""
        said = answer.json()
        if not said.get("code") or not said.get("detail") or "Traceback" in answer.text or len(answer.content) > 4_000:
            return f"{where} with {answer.text[:300]}"
        return ""


# ---- the attacks


def attacks(package: bytes) -> Iterator[Attack]:
    """Yield them all, surface by surface; package: of a voice."""
    of_voices = (_imports(package), _new_voices(), _checks(), _songs(), _effects(), _takes(), _teachings())
    for part in (*of_voices, _projects(), _links(), _callbacks(), _openai(), _of_others()):
        yield from part


def _imports(package: bytes) -> Iterator[Attack]:
    def sent(kind: str, content: bytes, name: str = "a.voice.zip", **more: Any) -> Attack:
        return Attack("imports", kind, "POST", "/models/import", {"package": (name, content), **more})

    half = len(package) // 2
    nan_weights = np.full(1000, np.nan, np.float32).tobytes()
    contents = (b"", b"\x00" * 64, b"PK\x03\x04", package[:half], package[half:], bytes(range(256)) * 40)
    for name in ("a.voice.zip", "a.pth", "a.onnx", "a.index"):
        for content in contents:
            yield sent("malformed", content, name)
    for name in ("\u202ea.zip", "../../a.pth", "a" * 5_000 + ".onnx", 'a"b\r\nX: y.zip'):
        yield sent("malformed", b"PK\x03\x04", name)
    for content in (running_pickle(), zipped({"archive/data.pkl": running_pickle(), "archive/version": b"3\n"})):
        yield sent("malformed", content, "a.pth")
        yield sent("malformed", package, index=("a.index", content))
    yield sent("malformed", changed(package, json=deep_json().encode()))
    yield sent("malformed", changed(package, json=b'{"name": 1e400, "format": NaN}'))
    yield sent("malformed", changed(package, safetensors=struct.pack("<Q", 1 << 62) + b"{}"))
    yield sent("malformed", changed(package, safetensors=struct.pack("<Q", 2) + b"{}" + nan_weights))
    for speaker in MANY_VALUES:
        yield sent("malformed", b"x", "a.pth", speaker=speaker)
    for name in ("../../../evil", "/etc/evil", "a\\..\\b", "con", "a\x00b", "a" * 300):
        yield sent("malformed", zipped({name: b"x", "model.json": b"{}"}))
    yield sent("malformed", zipped({"voice.json": b"/etc/passwd", "a": b"x"}, link="voice.json"))
    for name in ("a.voice.zip", "a.pth"):
        yield sent("huge", bomb("archive/data.pkl" if name == "a.pth" else "voice.safetensors"), name)
        yield sent("huge", zipped({f"{number}.x": b"" for number in range(3_000)}), name)


def _new_voices() -> Iterator[Attack]:
    def sent(kind: str, content: bytes, **fields: Any) -> Attack:
        form = {"training_audio_files": ("a.zip", content), **fields}
        return Attack("new voices", kind, "POST", "/models/create", form)

    good = zipped({"audio/a.flac": sample()})
    for content in (b"", b"x", b"PK\x05\x06" + bytes(18), good[:-30], zipped({"model.json": b"{}"})):
        yield sent("malformed", content, name="Mia")
    long = '{"statement": ' + "9" * 5_000 + "}"
    for text in (deep_json(), long, "[1e400]", '{"by": NaN}', '{"date": "9999999-1-1"}'):
        yield sent("malformed", good, name="Mia", consent=text, vocal_range=text)
        yield sent("malformed", zipped({"model.json": text.encode(), "audio/a.flac": sample()}))
    for name in ("a" * 5_000, "\x00", "\ud7ff\x07", "\u202e" * 200):
        yield sent("malformed", good, name=name)
    yield sent("malformed", zipped({"audio/a.flac": b"/etc/passwd"}, link="audio/a.flac"), name="Mia")
    yield sent("malformed", zipped({"audio/../../../a.flac": sample()}), name="Mia")
    yield sent("huge", bomb("audio/a.wav"), name="Mia")
    yield sent("huge", zipped({f"audio/{number}.flac": b"" for number in range(3_000)}), name="Mia")
    yield sent("huge", zipped({f"audio/{number}.flac": silence() for number in range(11)}), name="Mia")


def _checks() -> Iterator[Attack]:
    def sent(kind: str, content: bytes, name: str = "a.wav") -> Attack:
        return Attack("verify", kind, "POST", "/verify", {"audio": (name, content)}, expected=TAKEN)

    speech, long_tag = sample(), b"ID3\x04\0\0\x7f\x7f\x7f\x7f" + bytes(99)
    for name in ("a.wav", "a.mp3", "a.flac", "a.m4a", "a.txt", "a" * 5_000, "\u202e.wav"):
        for content in (b"", b"x", endless_wav(), speech[:200], speech[:-2_000], long_tag):
            yield sent("malformed", content, name)
    claims = b"caBX" + bytes(4) + struct.pack(">I", 0xFFFFFFFF) + b"jumb" * 1000
    yield sent("malformed", speech[:42] + claims + speech[42:])
    yield sent("malformed", b"RIFF\x40\0\0\0WAVEC2PA\xff\xff\xff\x7f" + claims)
    yield sent("huge", silence(600.0), "a.flac")
    yield sent("huge", silence(2.0, 8, 192_000), "a.flac")


def _songs() -> Iterator[Attack]:
    def sent(kind: str, expected: frozenset[int] = REFUSED, **form: Any) -> Attack:
        given = {"audio": ("a.flac", sample()), "model": VOICE, **form}
        return Attack("songs", kind, "POST", "/convert", given, expected=expected)

    parts = (
        *("1:42", "::::", "99999999999:99 kathleen", "-1:00 kathleen", "1e400 kathleen", "0:01 ../../etc", "0:01 \x00"),
        *(",", "0:01 kathleen," * 5_000, "0:0" + "1" * 5_000 + " kathleen", "\u0660:\u0660\u0661 kathleen"),
    )
    for text in parts:
        yield sent("malformed", parts=text)
        yield sent("malformed", stem=("b.flac", sample()), stem_parts=text)
    for name in ("offset", "vocal_db", "backing_db", "stem_db"):
        for text in (*MANY_VALUES, "1e5", "-1e9"):
            yield sent("malformed", REFUSED, **{name: text})
    for content in (b"", b"x", endless_wav(), sample()[:300], b"\x00" * 5_000):
        yield sent("malformed", backing=("b.wav", content))
        yield sent("malformed", stem=("b.wav", content))
    yield sent("malformed", separate="perhaps")
    yield sent("malformed", backing="a text", stem="another")
    yield sent("huge", backing=("b.flac", silence()))
    yield sent("huge", stem=("b.flac", silence(600.0)))


def _effects() -> Iterator[Attack]:
    def sent(kind: str, text: str) -> Attack:
        form = {"audio": ("a.flac", sample()), "model": VOICE, "effects": text}
        return Attack("effects", kind, "POST", "/convert", form)

    values = ('"x"', "1e400", "NaN", "-Infinity", "null", "[]", "{}", "true", "9" * 5_000, "-1", deep_json())
    deep = (deep_json(), '{"a": ' * 20_000)
    for text in ("{", "[]", "null", "1", '"hall"', "concert", "\x00", "{}" * 9, *deep, '{"": 1}'):
        yield sent("malformed", text)
    for value in values:
        yield sent("malformed", f'{{"reverb": {value}}}')
    yield sent("malformed", '{"reverb": 0.1, "reverb": 0.2, "revreb": 1}')
    yield sent("huge", json.dumps({f"effect {number}": 0 for number in range(20_000)}))
    yield sent("huge", "x" * 900_000)
    yield sent("huge", json.dumps({"reverb": "x" * 900_000}))
    yield sent("huge", json.dumps({"x" * 900_000: 1}))


def _takes() -> Iterator[Attack]:
    json_body = {"Content-Type": "application/json"}
    for text in ("", "0", "1,0", "1.5", "-1", "1,,1", "1" * 400, ",".join(["1"] * 20_000), *MANY_VALUES):
        yield Attack("comps", "malformed", "POST", "/tasks/{task}/comp", {"takes": text})
    for text in (deep_json(), "null", "[]", '{"takes": [[1]]}', '{"takes": 1e400}', "{", '{"takes": {"a": 1}}'):
        yield Attack("comps", "malformed", "POST", "/tasks/{task}/comp", content=text.encode(), headers=json_body)
    for number in ("0", "101", "9" * 400, "-1", "1e1", "x"):
        yield Attack("takes", "malformed", "PUT", f"/tasks/{{task}}/takes/{number}", {"name": "a"})
    for name in ("a" * 100_000, "\x00", "a\x1b[2Jb", "\ud7ff\x07"):
        yield Attack("takes", "malformed", "PUT", "/tasks/{task}/takes/1", {"name": name})
    yield Attack("takes", "malformed", "PUT", "/tasks/{task}/takes/1", {"starred": "perhaps"})
    yield Attack("takes", "malformed", "PUT", "/tasks/{task}/takes/1", content=b"\xff" * 5_000, headers=json_body)


def _teachings() -> Iterator[Attack]:
    for model in ("{model}", VOICE, "nobody", "%00", "..%2f..", "a" * 3_000):
        yield Attack("teach", "malformed", "POST", f"/models/{model}/teach", {"recordings": ("a.flac", sample())})
        yield Attack("teach", "huge", "POST", f"/models/{model}/teach", {"recordings": ("a.zip", bomb("a.wav"))})
    for text in MANY_VALUES:
        yield Attack("teach", "malformed", "POST", "/models/{model}/teach", {"epochs": text, "name": text * 99})
        yield Attack("training", "malformed", "POST", "/models/{model}/train", {"epochs": text})
    body, headers = deep_json().encode(), {"Content-Type": "application/json"}
    yield Attack("training", "malformed", "POST", "/models/{model}/train", content=body, headers=headers)


def _projects() -> Iterator[Attack]:
    for name in ("tempo_bpm", "beats_per_bar", "start_s"):
        for text in MANY_VALUES:
            yield Attack("projects", "malformed", "PUT", "/projects/{project}", {name: text})
    for text in ("a" * 100_000, "\x00", "a\x1b[2Jb"):
        yield Attack("projects", "malformed", "PUT", "/projects/{project}", {"name": text})
    for query in ("dry=perhaps", "dry=1&dry=0", "q=a", "dry=" + "9" * 5_000):
        yield Attack("exports", "malformed", "GET", f"/projects/{{project}}/export?{query}")
    for query in (
        *("limit=0", "limit=1e9", "cursor=" + "A" * 400, "cursor=%00", "cursor=eyJhIjoxfQ==", "q=%00"),
        *("q=" + "%25" * 300, "cursor=" + "9" * 400),
    ):
        for path in ("/projects", "/tasks", "/models"):
            expected = TAKEN if query == "limit=1e9" else REFUSED
            yield Attack("lists", "malformed", "GET", f"{path}?{query}", expected=expected)


def _links() -> Iterator[Attack]:
    for key in ("a.wav", "%2e%2e/%2e%2e/secret", "accounts/x/tasks/y/1/take-1.wav", "%00", "a" * 4_000):
        for expires in ("1", "9" * 19, "-1", "nan", "%D9%A3"):
            link = f"/files/{key}?expires={expires}&signature={'A' * 43}"
            yield Attack("links", "malformed", "GET", link, expected=REFUSED | {401, 403, 410})


def _callbacks() -> Iterator[Attack]:
    """With `callbacks` "any": what is no address is refused all the same."""
    addresses = (
        *("x", "http://", "//127.0.0.1/a", "ftp://127.0.0.1/a", "file:///etc/passwd", "javascript:alert(1)", "data:,a"),
        *("http://a:b@127.0.0.1/", "http://127.0.0.1:99999/", "http://[::1", "http://" + "a" * 5_000),
        "http://a\r\nX: y/",
        *("http://127.0.0.1/\x00", "http://\u202e.example/", "http://xn--/", "http://xn--a/", "http://a.xn--0.com/"),
        *("http://" + "a" * 64 + ".com/", "http://" + ".".join(["a" * 15] * 17) + "/", "http://a..b/", "http://a.b./"),
        *("http://0x7f.1/", "http://2130706433/", "http://0177.0.0.1/", "http://127.1/", "http://[fe80::1%25eth0]/"),
        *("http://127.0.0.1:+80/", "http://127.0.0.1:8_0/", "http://@127.0.0.1/", "http://\uff11\uff12\uff17.0.0.1/"),
    )
    for address in addresses:
        form = {"audio": ("a.flac", sample()), "model": VOICE, "callback_url": address}
        yield Attack("callbacks", "malformed", "POST", "/convert", form)
        yield Attack("callbacks", "malformed", "POST", "/callbacks/{callback}/repeat", {"callback_url": address})
    for query in (
        *("limit=0", "limit=1e9", "state=perhaps", "state=", "task_id=%00", "task_id=" + "a" * 5_000),
        *("cursor=%00", "cursor=eyJhIjoxfQ==", "cursor=" + "9" * 400, "q=a", "limit=1&limit=2"),
    ):
        yield Attack("callbacks", "malformed", "GET", f"/callbacks?{query}")
    for name in ("nobody", "%00", "..%2f..", "a" * 5_000, "secret/repeat"):
        yield Attack("callbacks", "malformed", "GET", f"/callbacks/{name}")
        yield Attack("callbacks", "malformed", "POST", f"/callbacks/{name}/repeat")
    body, headers = deep_json().encode(), {"Content-Type": "application/json"}
    yield Attack("callbacks", "malformed", "POST", "/callbacks/{callback}/repeat", content=body, headers=headers)
    yield Attack("callbacks", "huge", "POST", "/callbacks/{callback}/repeat", {"callback_url": "x" * 2_000_000})


def _openai() -> Iterator[Attack]:
    """Calls below /v1. No speech service is named here, so all texts are refused."""

    def converted(kind: str, content: bytes = b"", **more: Any) -> Attack:
        form = {"file": ("a.flac", content or sample()), "voice": VOICE, **more}
        return Attack("openai", kind, "POST", "/v1/audio/conversions", form)

    for model in ("nobody", "%00", "..%2f..", "a" * 5_000):
        yield Attack("openai", "malformed", "GET", f"/v1/models/{model}")
    for query in ("q=a", "limit=1", "a" * 5_000 + "=1"):
        yield Attack("openai", "malformed", "GET", f"/v1/models?{query}")
        yield Attack("openai", "malformed", "GET", f"/v1/audio/voices?{query}")
    for content in (b"x", endless_wav()[:44], sample()[:200], b"ID3\x04\0\0\x7f\x7f\x7f\x7f"):
        yield converted("malformed", content)
    for voice in ("nobody", "\x00", "../../etc", "a" * 5_000, ""):
        yield converted("malformed", voice=voice)
    for form in ("exe", "WAV", "\x00", "wav\r\nX: y", "x" * 5_000):
        yield converted("malformed", response_format=form)
    for text in MANY_VALUES:
        yield converted("malformed", likeness=text + "x")
        yield Attack("openai", "malformed", "POST", "/v1/audio/speech", {"input": "a", "voice": VOICE, "speed": text})
    yield converted("malformed", file="a text")
    yield converted("malformed", audio=("b.flac", sample()))
    yield converted("huge", silence(600.0))
    for text in ("", "\x00", "a" * 5_000, "\u202e" * 9):
        yield Attack("openai", "malformed", "POST", "/v1/audio/speech", {"input": text, "voice": VOICE})
    headers = {"Content-Type": "application/json"}
    for body in (deep_json(), "null", "[]", "{", '{"input": 1e400, "voice": []}', '{"input": {"a": "b"}}'):
        yield Attack("openai", "malformed", "POST", "/v1/audio/speech", content=body.encode(), headers=headers)
    yield Attack("openai", "huge", "POST", "/v1/audio/speech", {"input": "x" * 2_000_000, "voice": VOICE})


def _of_others() -> Iterator[Attack]:
    """Everything by the ids of another account, as if there were nothing."""
    one, theirs, speech = "another's", "{their_model}", ("a.flac", sample())
    nothing = frozenset({404})
    for method, path, form in (
        *(("GET", "/tasks/{their_task}", {}), ("GET", "/check-task/{their_task}", {})),
        ("DELETE", "/tasks/{their_task}", {}),
        *(("DELETE", "/tasks/{their_task}/results", {}), ("POST", "/tasks/{their_task}/comp", {"takes": "1"})),
        ("PUT", "/tasks/{their_task}/takes/1", {"name": "mine", "starred": "true"}),
        *(("GET", "/projects/{their_project}", {}), ("PUT", "/projects/{their_project}", {"name": "mine"})),
        *(("GET", "/projects/{their_project}/export", {}), ("DELETE", "/projects/{their_project}", {})),
        *(("GET", f"/models/{theirs}", {}), ("DELETE", f"/models/{theirs}", {})),
        ("GET", f"/models/{theirs}/package", {}),
        *(("POST", f"/models/{theirs}/train", {"epochs": "1"}), ("GET", f"/v1/models/{theirs}", {})),
        *(("GET", "/callbacks/{their_callback}", {}), ("POST", "/callbacks/{their_callback}/repeat", {})),
        ("POST", f"/models/{theirs}/teach", {"recordings": speech}),
    ):
        yield Attack("accounts", one, method, path, form, expected=nothing)


def of_another(model: str) -> Iterator[Attack]:
    """Yield conversions to a voice of another account, which forms name and not addresses."""
    speech, nothing = ("a.flac", sample()), frozenset({404})
    yield Attack("accounts", "another's", "POST", "/convert", {"audio": speech, "model": model}, expected=nothing)
    yield Attack(
        "accounts", "another's", "POST", "/v1/audio/conversions", {"file": speech, "voice": model}, expected=nothing
    )
    for name in ("parts", "stem_parts"):
        form = {"audio": speech, "backing": speech, "stem": speech, "model": VOICE, name: f"0:01 {model}"}
        yield Attack("accounts", "another's", "POST", "/convert", form, expected=nothing)


def belongings(service: TrialService, mine: str, theirs: str) -> Belongings:
    """Let two accounts have a conversion with a take, a project and a voice each, with ids of their own."""
    return Belongings(*_belongings(service, mine, "kathleen", 0), *_belongings(service, theirs, "koguchi", 1_000))


def _belongings(service: TrialService, token: str, voice: str, start: int) -> tuple[str, str, str, str]:
    """start: of the recording, in samples: projects are called after what is in them."""
    samples, rate = soundfile.read(io.BytesIO(sample()), dtype="int16")
    recording = io.BytesIO()
    soundfile.write(recording, samples[start : start + 2 * rate], rate, format="FLAC")
    with Client(service.base_url, token) as client, client_of(service, token) as http:
        task = client.convert(recording.getvalue(), voice, callback_url=_NOBODY)
        package = {"package": ("a.voice.zip", http.get(f"/models/{voice}/package").content)}
        model = http.post("/models/import", files=package).json()["model_id"]
        wait_until(lambda: client.check_task(task)["status"] == "completed")
        [project] = http.get("/projects").json()["projects"]
        wait_until(lambda: http.get("/callbacks").json()["callbacks"])
        [callback] = http.get("/callbacks").json()["callbacks"]
    return task, project["id"], model, callback["id"]


def client_of(service: TrialService, token: str) -> httpx.Client:
    """A client of a token's account, as patient as tests."""
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.Client(base_url=service.base_url, headers=headers, trust_env=False, timeout=PATIENCE_S)
