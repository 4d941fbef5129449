"""`live`: convert while somebody sings, from a sound device or a file to a sound device or a file."""

import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated

import typer

from engine.audio.containers import AUDIO_SUFFIXES
from engine.errors import EngineError
from engine.files import on_track
from engine.installed import add_extra
from engine.texts import joined, ntr, numeral, tr
from studio.commands.arguments import Overwrite, Threads, Track, compute_on
from studio.commands.failures import in_one_sentence
from studio.commands.known_voices import complete_voice, refuse_unknown_voice
from studio.commands.path_arguments import refuse_missing
from studio.commands.result_names import free_path
from studio.commands.wording import say, show, translated
from studio.settings.options import read_settings

if TYPE_CHECKING:  # the engine takes seconds to load
    import numpy as np
    from sounddevice import Stream

    from engine.live.converter import LiveConverter
    from engine.live.inputs import Inputs
    from engine.live.session import Performance
    from engine.live.settings import LiveSettings
    from engine.voices.voice import Voice
    from studio.commands.live_keys import Keys
    from studio.commands.live_outputs import SecondOutput

_RATE = 48_000  # of devices and of the measurement
_MIX = "mix"
_BACK_WITHIN_S, _LOOKS_EVERY_S = 600.0, 1.0  # a device that is gone
_Devices = tuple[int | str | None, int | str | None]  # input and output, by number or name


@in_one_sentence
def live(
    voice: Annotated[
        str,
        typer.Option("-v", "--voice", metavar="ID", autocompletion=complete_voice, help=tr("The voice to sing with.")),
    ] = "kathleen",
    source: Annotated[
        str, typer.Option("--input", metavar="FILE|DEVICE", help=tr("A recording, or a device by number or name."))
    ] = "",
    output: Annotated[str, typer.Option("-o", "--output", metavar="FILE|DEVICE", help=tr("A file or a device."))] = "",
    second: Annotated[
        str, typer.Option("--second-output", metavar="DEVICE", help=tr("A second output, to hear yourself."))
    ] = "",
    channel: Annotated[
        str,
        typer.Option(
            "--channel", metavar="1|2|...|mix", help=tr("The input that the microphone is in, or the mix of all.")
        ),
    ] = _MIX,
    overwrite: Overwrite = False,
    track: Track = None,
    record: Annotated[
        Path | None, typer.Option("--record", metavar="FOLDER", help=tr("Also write dry.wav and converted.wav there."))
    ] = None,
    devices: Annotated[bool, typer.Option("--devices", help=tr("List the sound devices and exit."))] = False,
    tone: Annotated[
        bool, typer.Option("--test-tone", help=tr("Play a two-second tone on the output and exit."))
    ] = False,
    measure: Annotated[
        float | None,
        typer.Option(
            "--measure", metavar="SECONDS", help=tr("Send chirps through the whole path and find them again.")
        ),
    ] = None,
    threads: Threads = None,
    **given: str | None,
) -> None:
    """Convert live: keys t and g transpose, b bypasses, n takes the next voice, p is push to talk, q ends."""
    if devices:
        typer.echo(_sounddevice().query_devices())
        return
    if tone:
        _play_tones(dict.fromkeys((output, second or output)))
        return
    refuse_unknown_voice(voice)
    is_file = measure is None and Path(source).suffix.lower() in AUDIO_SUFFIXES
    if is_file:
        _check_files(source, output, {"--second-output": second, "--record": record})
    from engine.live.settings import LiveSettings

    settings, number = read_settings(LiveSettings(), given), _input_number(channel)
    loaded = _voice(voice)
    compute_on(threads)
    if measure is not None:
        _measure(loaded, settings, measure, threads)
    elif is_file:
        target = free_path(Path(output), overwrite, [Path(source)])
        _convert_file(on_track(source, track), target, loaded, settings, number)
        typer.echo(target)
    else:
        _perform(loaded, settings, (source, output, second), number, record, threads)


def _check_files(source: str, output: str, of_devices: Mapping[str, object]) -> None:
    """Raise EngineError for what cannot be done with a recording, before anything heavy is loaded; of_devices: the
    options that are for devices, with what was given."""
    refuse_missing(source)
    if not output:
        raise EngineError(tr("A recording is converted into a file: name it with --output."))
    if Path(output).suffix.lower() not in AUDIO_SUFFIXES:
        raise EngineError(
            tr(
                '"{output}" is not the name of an audio file: a recording is converted into a file, such as '
                "live.wav, not played on a device.",
                output=output,
            )
        )
    for option, given in of_devices.items():
        if given:
            raise EngineError(tr("{option} is for devices: leave it out for a recording.", option=option))


def _input_number(channel: str) -> int | None:
    """Return the number of an input, from 1; None for the mix of all. Raises EngineError."""
    if channel.strip().lower() == _MIX:
        return None
    if not channel.strip().isdecimal() or int(channel) == 0:
        raise EngineError(
            tr("--channel takes the number of an input, such as 1 or 2, or mix, not {channel}.", channel=channel)
        )
    return int(channel)


def _voice(voice: str) -> "Voice":
    from engine.voices.voice import load_voice
    from studio.actions.conversions.conversion import usable_voice_folder
    from studio.commands.in_process import local_studio
    from studio.commands.progress import progress_bar

    with local_studio() as studio, progress_bar() as report:
        return load_voice(usable_voice_folder(studio, studio.local, voice, report, "cpu"))


def _convert_file(source: Path, target: Path, voice: "Voice", settings: "LiveSettings", number: int | None) -> None:
    """Convert a recording as it would be converted live; the delay is taken out of the result."""
    from engine.analysis.recording import analyse
    from engine.analysis.voice_presence import SILENT
    from engine.audio.files import Audio, read_audio, write_audio
    from engine.live.delay_measurement import expected_delay_s
    from engine.live.inputs import Inputs
    from engine.live.session import convert_recording, live_statement
    from studio.commands.progress import progress_bar

    audio = read_audio(source)
    for note in audio.notes:
        say(note)
    if number is not None:
        inputs = Inputs(len(audio.samples), number, audio.rate)
        audio = Audio(inputs.take(audio.samples)[None], audio.rate)
        _complain(inputs)
    dryness = analyse(audio).dryness
    if dryness.presence.is_silent:
        raise EngineError(SILENT)
    if dryness.warning:
        say(dryness.warning)
    with progress_bar() as report:
        samples, converter = convert_recording(audio.mono(), audio.rate, voice, settings, report)
    statement = live_statement(voice, settings, source)
    write_audio(target, Audio(samples[None], audio.rate, statement, audio.place))
    say(
        tr(
            "{name}; live this would come {delay_s} ms later.",
            name=voice.card.name,
            delay_s=numeral(1000 * expected_delay_s(converter), ".0f"),
        )
    )


def _measure(voice: "Voice", settings: "LiveSettings", seconds: float, given: int | None) -> None:
    """Measure with one thread and with two, or with as many as were given; print a line each."""
    import torch

    from engine.cores import usable_cores
    from engine.live.converter import LiveConverter
    from engine.live.delay_measurement import measure_live, warm_up

    for threads in (given,) if given else dict.fromkeys((1, min(2, usable_cores()))):
        torch.set_num_threads(threads)
        converter = LiveConverter(voice, settings, _RATE, whole_blocks=True)
        warm_up(converter)
        found = measure_live(LiveConverter(voice, settings, _RATE, whole_blocks=True), seconds)
        show(
            ntr(
                "{threads} thread: algorithm {delay_s} ms, measured {delay_p50_s} ms (p50), {delay_p99_s} ms (p99), "
                "{found} of {chirps} chirps found; work {work_p50} (p50), {work_p99} (p99) of real time; {glitches} "
                "glitches in {seconds} s.",
                "{threads} threads: algorithm {delay_s} ms, measured {delay_p50_s} ms (p50), {delay_p99_s} ms (p99), "
                "{found} of {chirps} chirps found; work {work_p50} (p50), {work_p99} (p99) of real time; {glitches} "
                "glitches in {seconds} s.",
                threads=threads,
                delay_s=numeral(1000 * converter.delay_s, ".0f"),
                delay_p50_s=numeral(1000 * found.delay_p50_s, ".0f"),
                delay_p99_s=numeral(1000 * found.delay_p99_s, ".0f"),
                found=found.found,
                chirps=found.chirps,
                work_p50=numeral(found.work_p50, ".2f"),
                work_p99=numeral(found.work_p99, ".2f"),
                glitches=found.glitches,
                seconds=numeral(seconds, "g"),
            )
        )


def _complain(inputs: "Inputs") -> None:
    """Say what is wrong with the chosen input, if something is."""
    if inputs.complaint is not None:
        say(joined(" ", (inputs.complaint, tr("Start again with --channel {sounding}.", sounding=inputs.sounding))))


def _sounddevice() -> ModuleType:
    try:
        import sounddevice
    except (ImportError, OSError) as cause:  # the package, or PortAudio
        raise EngineError(
            tr(
                "Sound devices need the package sounddevice and the PortAudio library: {install}"
                " (on Debian also: apt install libportaudio2). Files work without them.",
                install=add_extra("live"),
            )
        ) from cause
    return sounddevice


def _device(name: str) -> int | str | None:
    return int(name) if name.isdecimal() else name or None


def _perform(
    voice: "Voice",
    settings: "LiveSettings",
    names: tuple[str, str, str],
    number: int | None,
    record: Path | None,
    threads: int | None,
) -> None:
    """Convert from device to device, and a second one beside it (names), until q, Ctrl-C, or the device is gone."""
    sounddevice = _sounddevice()
    import torch

    from engine.live.converter import LiveConverter
    from engine.live.delay_measurement import warm_up
    from engine.live.inputs import Inputs
    from engine.live.pipe import real_time
    from engine.live.session import TOO_SLOW, Performance
    from studio.commands.live_keys import Keys
    from studio.commands.live_outputs import SecondOutput

    # a second one has no real time: beside a busy core, waiting for it makes gaps
    torch.set_num_threads(threads or 1)
    devices = (_device(names[0]), _device(names[1]))
    beside = SecondOutput(_device(names[2])) if names[2] else None
    count = _input_count(sounddevice, devices[0], number)
    rate = _usable_rate(sounddevice, devices, count)
    inputs = Inputs(count, number, rate)
    converter = LiveConverter(voice, settings, rate, whole_blocks=True)
    with real_time():
        work = warm_up(converter)
    if work > TOO_SLOW:
        raise EngineError(_too_slow(settings))
    with ExitStack() as stack:
        performance = stack.enter_context(Performance(converter, voice, record))
        keys = stack.enter_context(Keys(performance, voice))
        callback = _callback(performance, inputs, beside, sounddevice.CallbackStop)
        opened = partial(_opened, stack, sounddevice, count, rate, callback, beside)
        stream: Stream | None = opened(devices)
        say(tr("Use headphones. Keys: t and g transpose, b bypass, n next voice, p push to talk, q ends."))
        slow = complained = False
        reopen = partial(_reopened, sounddevice, partial(opened, _names_of(sounddevice, devices)))
        while stream is not None and (stream.active or performance.failure is None) and keys.look():
            if not stream.active and performance.failure is None:
                stream = _awaited(keys, reopen)
                continue
            _show(converter, performance.report.glitches)
            performance.flush()
            if beside is not None:
                beside.look()
            time.sleep(0.1)
            if not complained and inputs.complaint is not None:
                complained = True
                typer.echo(err=True)  # after the line that is written over
                _complain(inputs)
            if not slow and performance.report.share(0.5, converter.block / rate) > TOO_SLOW:
                slow = True
                typer.echo("\n" + _too_slow(settings), err=True)
        if performance.failure is not None:
            raise performance.failure


def _callback(
    performance: "Performance", inputs: "Inputs", beside: "SecondOutput | None", stop: type[Exception]
) -> Callable[["np.ndarray", "np.ndarray", int, object, object], None]:
    """Return what the device calls for each block; it raises `stop` where the performance fails."""
    from engine.live.pipe import ask_for_real_time

    scheduled: list[object] = []  # how the device's thread was before; empty until its first call

    def callback(indata: "np.ndarray", outdata: "np.ndarray", frames: int, when: object, status: object) -> None:
        if not scheduled:
            scheduled.append(ask_for_real_time())
        try:
            outdata[:, 0] = performance.exchange(inputs.take(indata.T))
            if beside is not None:
                beside.give(outdata[:, 0])
        except Exception as cause:  # it has faded out, and the main thread says why
            outdata.fill(0)
            raise stop from cause

    return callback


def _play_tones(names: Iterable[str]) -> None:
    from studio.commands.live_outputs import play_tone

    for name in names:
        play_tone(_sounddevice(), _device(name))


def _names_of(sounddevice: ModuleType, devices: _Devices) -> _Devices:
    """Return devices by their names: numbers change when one comes or goes, and so does what the system chooses."""
    kinds = ("input", "output")
    with suppress(sounddevice.PortAudioError, ValueError, KeyError):
        found = [str(sounddevice.query_devices(one, kind)["name"]) for one, kind in zip(devices, kinds, strict=True)]
        return found[0], found[1]
    return devices


def _awaited(keys: "Keys", reopen: "Callable[[], Stream]") -> "Stream | None":
    """Wait until a device that is gone is back; None if q is pressed. Raises EngineError if that takes long."""
    typer.echo(err=True)  # after the line that is written over
    say(tr("The audio device was disconnected. Live goes on as soon as you connect it again; q quits."))
    for _ in range(round(_BACK_WITHIN_S / _LOOKS_EVERY_S)):
        if not keys.look():
            return None
        time.sleep(_LOOKS_EVERY_S)
        with suppress(EngineError):
            return reopen()
    raise EngineError(tr("The sound device is gone: connect it and start again."))


def _reopened(sounddevice: ModuleType, opened: "Callable[[], Stream]") -> "Stream":
    """Open devices that were gone. Raises EngineError while they are; no other is taken in their place."""
    sounddevice._terminate()  # PortAudio lists devices once, when it begins
    sounddevice._initialize()
    return opened()


def _opened(
    stack: ExitStack,
    sounddevice: ModuleType,
    count: int,
    rate: int,
    callback: Callable[..., None],
    beside: "SecondOutput | None",
    devices: _Devices,
) -> "Stream":
    """Open the devices, `count` inputs and one output or two, and start them. Raises EngineError."""
    from engine.live.delay_measurement import PIECE_MS

    piece = rate * PIECE_MS // 1000
    try:
        opening = partial(sounddevice.Stream, samplerate=rate, blocksize=piece, channels=(count, 1), dtype="float32")
        stream: Stream = stack.enter_context(opening(latency="low", device=devices, callback=callback))
    except (sounddevice.PortAudioError, ValueError) as cause:
        raise EngineError(
            tr("The sound device cannot be used: {cause}. --devices lists all of them.", cause=cause)
        ) from cause
    if beside is not None:
        beside.open(stack, sounddevice, rate, piece)
    return stream


def _input_count(sounddevice: ModuleType, device: int | str | None, number: int | None) -> int:
    """Return how many inputs to open: two where there are so many, more for the number of one beyond."""
    with suppress(sounddevice.PortAudioError, ValueError):  # opening the device says what is wrong
        there = int(sounddevice.query_devices(device, "input")["max_input_channels"])
        return max(1, min(there, max(2, number or 0)))
    return 1


def _usable_rate(sounddevice: ModuleType, devices: _Devices, count: int) -> int:
    """Return 48,000, or the input's own rate where a device does not take that; count: of inputs."""
    try:
        sounddevice.check_input_settings(devices[0], count, "float32", None, _RATE)
        sounddevice.check_output_settings(devices[1], 1, "float32", None, _RATE)
    except sounddevice.PortAudioError:
        with suppress(sounddevice.PortAudioError, ValueError):  # opening the devices says what is wrong
            return int(sounddevice.query_devices(devices[0], "input")["default_samplerate"])
    except ValueError:  # no such device: opening it says so
        pass
    return _RATE


def _too_slow(settings: "LiveSettings") -> str:
    return tr(
        "This machine is too slow for blocks of {block_ms} ms: choose --block-ms {longer_ms}, or close other programs.",
        block_ms=settings.block_ms,
        longer_ms=2 * settings.block_ms,
    )


def _show(converter: "LiveConverter", glitches: int) -> None:
    meter = converter.meter
    bars = ["#" * round(20 * min(1.0, peak)) for peak in (meter.input_peak, meter.output_peak)]
    pitch = f"{meter.hertz:6.1f} -> {meter.rendered_hertz:6.1f} Hz"
    parts = (
        translated(tr("in")),
        f"{bars[0]:<20}",
        translated(tr("out")),
        f"{bars[1]:<20}",
        f"{pitch},",
        translated(tr("{glitches} late", glitches=glitches)),
    )
    print(f"\r{' '.join(parts)}", end="", file=sys.stderr, flush=True)  # noqa: T201 - one line that is written over
