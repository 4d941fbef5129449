"""Every printed line of curl, replayed: the form reader takes it, and makes the record that it was printed for.

The records are generated from the settings as they are, so that a new one that is not printed fails here.
"""

import dataclasses
import email.parser
import email.policy
import os
import shlex
import shutil
import socketserver
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from engine.audio.result_format import PUBLISHED, ResultFormat
from engine.audio.tracks import MOST_TRACKS
from engine.conversion.settings import ConversionSettings
from engine.effects.settings import EffectSettings, effects_of
from engine.provenance.statement import Statement
from engine.songs.alignment import LARGEST_GIVEN_S
from engine.songs.mixing import SILENT_DB
from engine.songs.parts import KEEP, Part
from studio.actions.calls import last_call
from studio.actions.conversions.songs import LANES
from studio.http.bodies import Form, UploadedFile
from studio.http.routes.conversions import FURTHER_FIELDS, PRESETS, read_conversion
from studio.http.routes.fields import Fields
from studio.store.kinds import KINDS
from studio.store.records.codec import written
from studio.store.records.conversion import (
    Comp,
    CompSource,
    Conversion,
    Edit,
    EditSources,
    OutputSettings,
    Song,
    more_lanes,
)
from studio.store.records.voices import Nothing, Training
from studio.store.tasks import submit
from tests.studio.exchange.hostile_server import server

VOICES = ("koguchi", "kathleen", "mia-2")
KEYS = "tasks/t"
INPUT = "tasks/t/input.wav"
BACKED = Song(
    (Part(0.0, "koguchi"),), (Part(0.0, "koguchi"),), False, None, {}, {"backing": f"{KEYS}/backing"}, {"backing": "-"}
)
NAMES = st.text(min_size=1, max_size=40).filter(lambda name: name.isprintable() and "/" not in name)


def values_of(kind: type, published: bool = False) -> st.SearchStrategy[dict[str, object]]:
    """Some settings of a class, each over its whole range; as the page's sliders give them, and as the service does."""
    fields = {}
    for one in dataclasses.fields(kind):
        known = one.metadata
        words = st.sampled_from([str(word) for word in known.get("words", ())]) if known.get("words") else st.nothing()
        numbers = st.nothing()
        if "minimum" in known:
            lowest, highest = known["minimum"], known["maximum"]
            whole = st.integers(int(lowest), int(highest)) | st.integers(int(lowest), int(highest)).map(float)
            numbers = whole if isinstance(lowest, int) else whole | st.floats(lowest, highest)
        fields[one.name] = numbers | words
    return st.fixed_dictionaries({}, optional=fields)


def parts() -> st.SearchStrategy[tuple[Part, ...]]:
    """Parts in order, to the millisecond, which is how people write them."""
    gaps = st.lists(st.tuples(st.integers(1000, 2_000_000), st.sampled_from([*VOICES, KEEP])), max_size=6)
    first = st.sampled_from([*VOICES, KEEP])

    def placed(drawn: tuple[str, list[tuple[int, str]]]) -> tuple[Part, ...]:
        made, at_ms = [Part(0.0, drawn[0])], 0
        for gap_ms, voice in drawn[1]:
            at_ms += gap_ms
            made.append(Part(at_ms / 1000, voice))
        return tuple(made)

    return st.tuples(first, gaps).map(placed)


@st.composite
def songs(draw: st.DrawFn) -> Song:
    lanes = draw(st.sets(st.sampled_from(["backing", "stem"])))
    more = draw(st.lists(parts(), max_size=2)) if "stem" in lanes else []
    files = [*sorted(lanes), *(name for name, _ in zip(more_lanes(), more, strict=False))]
    far_s = 2 * LARGEST_GIVEN_S
    offset_s = draw(st.none() | st.floats(-far_s, far_s))
    faders = draw(st.dictionaries(st.sampled_from(LANES), st.floats(SILENT_DB, 12.0)))
    keys, names = {name: f"{KEYS}/{name}" for name in files}, {name: draw(NAMES) for name in files}
    return Song(draw(parts()), draw(parts()), draw(st.booleans()), offset_s, faders, keys, names, tuple(more) or None)


FORMS = st.builds(
    ResultFormat, **{one.name: st.sampled_from(one.metadata["words"]) for one in dataclasses.fields(ResultFormat)}
)
CONVERSIONS = st.builds(
    Conversion,
    input_key=st.just(INPUT),
    settings=values_of(ConversionSettings),
    file_name=NAMES,
    preset=st.sampled_from(PRESETS),
    effects=st.sampled_from(list(EffectSettings.presets)) | values_of(EffectSettings),
    untrained=st.booleans(),
    song=st.none() | songs(),
    track=st.none() | st.integers(1, MOST_TRACKS),
    form=FORMS.map(lambda form: None if form == PUBLISHED else form),
)


def printed(studio, kind: str, asked: Conversion | Training) -> list[str]:
    """The lines that are printed for a task."""
    with studio.database.write() as connection:
        submit(connection, studio.local.id, kind, written(asked), model_id="koguchi")
    return last_call(studio, studio.local)["command"].replace("\\\n", " ").split("\n")


def form_of(line: str) -> Form:
    """The form that curl makes of a line; `test_curl_reads_the_names_as_they_are` has curl itself."""
    words = shlex.split(line)
    sent = [words[place + 1] for place, word in enumerate(words) if word == "-F"]
    texts, files = {}, {}
    for name, value in (one.split("=", 1) for one in sent):
        assert name in {*FURTHER_FIELDS, "audio", "model"}, name
        if value.startswith("@"):
            file = value[2:-1].replace('\\"', '"').replace("\\\\", "\\")
            files[name] = UploadedFile(file, Path(file), 1, "0" * 64)
        else:
            assert not value.startswith("<")
            assert ";" not in value, "curl would take what follows for a type"
            texts[name] = value
    assert len(texts) + len(files) == len(sent)
    return Form(texts, files)


def replayed(form: Form) -> Conversion:
    """The record of a conversion that a form asks for."""
    fields = Fields(form)
    audio, track = fields.file("audio"), fields.maybe_whole("track", 1, MOST_TRACKS)
    request = read_conversion(fields, fields.text("model"))
    fields.check()
    song = None if request.song is None else request.song.record(KEYS)
    asked = {"preset": request.preset, "effects": request.effects, "untrained": request.untrained, "track": track}
    form = None if request.form == PUBLISHED else request.form
    return Conversion(INPUT, request.settings, audio.name, song=song, form=form, **asked)


def compared(asked: Conversion) -> dict[str, object]:
    """What counts of a record: settings with the defaults that all doors but the call have, faders that are moved."""
    song = asked.song and dataclasses.replace(
        asked.song,
        faders={lane: level for lane, level in asked.song.faders.items() if level},
        keys=dict.fromkeys(asked.song.keys),
    )
    if song is not None and not song.names and not song.separate and not song.faders and song.offset_s is None:
        song = dataclasses.replace(song, stem_parts=())  # of no stem
    defaults = {"transpose": "auto", "takes": 1}
    effects = effects_of(asked.effects)
    return dataclasses.asdict(
        dataclasses.replace(asked, settings={**defaults, **asked.settings}, song=song, effects={})
    ) | {"effects": effects}


def is_unfit(asked: Conversion) -> bool:
    """Whether the call has no field for something that is asked."""
    transpose = asked.settings.get("transpose", "auto")
    is_known = isinstance(transpose, str) or (abs(transpose) <= 12 and transpose == int(transpose))
    song = asked.song
    if song is None or not is_known:
        return not is_known
    return bool(song.more_stem_parts) or abs(song.offset_s or 0) > LARGEST_GIVEN_S


def with_sent_names(replayed: Conversion) -> Conversion:
    """With the names that curl sends: of a file that is given with its folder, its own name alone."""

    def sent(name: str) -> str:
        return name.removeprefix("./")

    song = replayed.song
    if song is not None:
        song = dataclasses.replace(song, names={lane: sent(name) for lane, name in song.names.items()})
    return dataclasses.replace(replayed, file_name=sent(replayed.file_name), song=song)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(CONVERSIONS)
@example(Conversion(INPUT, {}, "a.wav", form=ResultFormat("48000", "16")))
@example(Conversion(INPUT, {}, "a.wav"))
@example(Conversion(INPUT, {}, "-"))
@example(Conversion(INPUT, {}, "a.wav", song=BACKED))
def test_printed_conversion_makes_the_record_that_it_was_printed_for(studio, asked):
    convert, check = printed(studio, "conversion", asked)
    assert "/check-task/" in check
    if is_unfit(asked):
        assert convert.startswith("# The HTTP call")
    else:
        assert convert.startswith("curl -X POST {origin}/convert")
        form = form_of(convert)
        assert compared(with_sent_names(replayed(form))) == compared(asked)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(1, 100_000), st.dictionaries(st.sampled_from(["batch_size", "seed"]), st.integers(1, 9)))
def test_printed_training_asks_for_the_epochs_or_says_what_the_call_lacks(studio, epochs, others):
    [line] = printed(studio, "training", Training(epochs, others))
    if others:
        assert line.startswith("# The HTTP call does not take ")
        assert all(name in line for name in others)
    else:
        assert shlex.split(line)[-2:] == ["-F", f"epochs={epochs}"]


def test_printed_call_of_a_part_says_where_it_begins(studio):
    part, convert, *_ = printed(studio, "conversion", Conversion(INPUT, {}, "my\n song.wav", start_s=62.5))
    assert part == "# This is my song.wav from 1:02.50 on: cut it there first."
    assert convert.startswith("curl")


SOURCE = CompSource(
    OutputSettings("koguchi", 0, "spoken"), {}, False, Statement("koguchi", "K", None, {}, None, "1"), ()
)
UNCALLED = [
    ("conversion", Conversion(INPUT, {}, "Live session.wav", live={"voice": "koguchi"})),
    ("conversion", Conversion(INPUT, {}, "a.wav", edit=Edit("t", "t", 1, [], EditSources(KEYS, KEYS)))),
    ("conversion", Conversion(INPUT, {}, "a.wav", comp=Comp((KEYS,), (), (), SOURCE))),
    *((kind, Nothing()) for kind in sorted({*KINDS} - {"conversion", "training"})),
]


@pytest.mark.parametrize(("kind", "asked"), UNCALLED)
def test_no_call_is_printed_for_what_the_service_has_none_for(studio, kind, asked):
    with studio.database.write() as connection:
        submit(connection, studio.local.id, kind, written(asked), model_id="koguchi")
    assert last_call(studio, studio.local) is None


def test_every_field_that_is_printed_under_its_name_is_one_of_the_call():
    assert {*Conversion.of_the_call} <= FURTHER_FIELDS.keys() & {one.name for one in dataclasses.fields(Conversion)}


HARD_NAMES = [
    "it's; rm -rf ~.wav",
    '"quoted",;type=x.wav',
    "$(touch x)`y`.wav",
    "back\\slash.wav",
    "-",
    "@a.wav",
    "<b.wav",
    "é 中.wav",
]


@pytest.fixture(scope="module")
def received() -> Iterator[tuple[str, list[bytes]]]:
    """An address, and the forms that are sent there, with their heads."""
    forms: list[bytes] = []

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            head = list(iter(self.rfile.readline, b"\r\n"))
            length = next(int(line.partition(b":")[2]) for line in head if line.lower().startswith(b"content-length"))
            kind = next(line for line in head if line.lower().startswith(b"content-type"))
            forms.append(kind + b"\r\n" + self.rfile.read(length))
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

    with server(Handler) as running:
        yield f"http://127.0.0.1:{running.server_address[1]}", forms


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed here")
@pytest.mark.parametrize("name", HARD_NAMES)
def test_curl_sends_what_was_meant(studio, tmp_path_factory, received, name):
    """Read by curl and a shell, and by a parser that is not ours."""
    folder, (address, forms) = tmp_path_factory.mktemp("typed"), received
    (folder / name).write_bytes(b"RIFF")
    asked = Conversion(INPUT, {"likeness": 0.25}, name, effects={"reverb": 0.2}, form=ResultFormat("48000"))
    line, _ = printed(studio, "conversion", asked)
    command = line.replace("{origin}", address).replace("curl ", "curl --silent --show-error ", 1)
    environment = os.environ | {"TOKEN": "t"}
    subprocess.run(["sh", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL, check=True)
    sent = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(forms[-1])
    form = {part.get_param("name", header="content-disposition"): part.get_content() for part in sent.iter_parts()}
    assert form == (
        {"audio": b"RIFF", "model": "koguchi", "effects": '{"reverb": 0.2}', "transpose": "auto"}
        | {"likeness": "0.25", "rate": "48000"}
    )
    assert [path.name for path in folder.iterdir()] == [name]


def test_replay_would_notice_a_field_that_is_not_printed(studio):
    """The test itself is tried: what calls.py left out earlier makes another record."""
    asked = Conversion(INPUT, {}, "a.wav", form=ResultFormat("48000", "16"))
    line, _ = printed(studio, "conversion", asked)
    assert compared(replayed(form_of(line))) == compared(asked)
    words: Mapping[str, str] = {"rate": "-F rate=48000", "bits": "-F bits=16"}
    for word in words.values():
        assert compared(replayed(form_of(line.replace(word, "")))) != compared(asked)
