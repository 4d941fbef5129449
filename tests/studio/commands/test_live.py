"""`live` on files, what it says without a sound device, and on one that does what devices do."""

import sys
import threading
import time

import numpy as np
import pytest
import soundfile

from tests.command_line import run
from tests.waiting import PATIENCE_S


@pytest.fixture
def vocal(tmp_path):
    time_s = np.arange(48_000) / 48_000
    sung = sum(np.sin(2 * np.pi * k * 220 * time_s) / k for k in range(1, 15)) * 0.1
    soundfile.write(tmp_path / "vocal.wav", sung, 48_000)
    return tmp_path / "vocal.wav"


def test_live_converts_a_file_and_keeps_its_length(home, vocal, tmp_path):
    done = run("live", "--input", vocal, "--output", tmp_path / "out.wav", "--voice", "koguchi", "--content", "student")
    assert done.exit_code == 0, done.output
    assert "live this would come 195 ms later" in done.stderr  # 125, its reserve of 60, and a device's piece of 10
    samples, rate = soundfile.read(tmp_path / "out.wav")
    assert (len(samples), rate) == (48_000, 48_000)
    assert np.abs(samples[24_000:]).max() > 0.01


def test_live_warns_of_a_file_without_a_voice_and_refuses_silence(home, tmp_path):
    hiss = np.random.default_rng(0).uniform(-0.3, 0.3, 48_000)
    for name, samples in (("hiss.wav", hiss), ("silent.wav", 0 * hiss)):
        soundfile.write(tmp_path / name, samples, 48_000)
    target = tmp_path / "out.wav"
    given = ("--output", target, "--voice", "koguchi", "--content", "student")
    assert "No voice was found" in run("live", "--input", tmp_path / "hiss.wav", *given).stderr
    target.unlink()
    refused = run("live", "--input", tmp_path / "silent.wav", *given)
    assert (refused.exit_code, target.exists()) == (1, False)
    assert "silent" in refused.stderr


def test_live_refuses_a_missing_output_overwriting_and_an_invalid_block_length(home, vocal):
    assert "name it with --output" in run("live", "--input", vocal).output
    for name in ("CABLE Input (VB-Audio)", "3", "out.txt"):
        assert f'"{name}" is not the name of an audio file' in run("live", "--input", vocal, "--output", name).output
    assert "would overwrite" in run("live", "--input", vocal, "--output", vocal).output
    assert "multiple of 20" in run("live", "--block-ms", "50").output


@pytest.mark.parametrize("option", ["--second-output", "--record"])
def test_live_refuses_options_of_devices_beside_a_recording(home, vocal, tmp_path, option):
    target = tmp_path / "out.wav"
    refused = run("live", "--input", vocal, "--output", target, option, "phones")
    assert (refused.exit_code, target.exists()) == (1, False)
    assert refused.stderr == f"{option} is for devices: leave it out for a recording.\n"


class Card:
    """PortAudio with one sound card, whose clock calls back; `ends_after` pieces it is pulled out."""

    class PortAudioError(Exception):
        pass

    class CallbackStop(Exception):
        pass

    def __init__(self, rate=48_000, ends_after=None, opens=True, gains=(1.0,)):
        self.rate, self.ends_after, self.opens, self.heard = rate, ends_after, opens, []
        self.gains, self.rates = gains, []  # of its inputs
        self.outputs, self.second_ends_after, self.beside, self.played = ["phones"], None, [], {}  # of second ones
        self.devices, self.away = [], 0  # that were opened, and how often it is not there yet

    def _terminate(self):
        self.away -= 1

    def _initialize(self):
        pass

    def check_input_settings(self, device, channels, kind, extra, rate):
        if rate != self.rate:
            raise self.PortAudioError("Invalid sample rate")

    check_output_settings = check_input_settings

    def query_devices(self, device=None, kind=None):
        return {"name": kind, "default_samplerate": float(self.rate), "max_input_channels": len(self.gains)}

    def OutputStream(self, samplerate, blocksize, callback, channels, device, **_):  # PortAudio's name
        if device not in self.outputs:
            raise ValueError(f"No output device matching {device!r}")
        return SecondOfCard(self, samplerate, blocksize, callback)

    def play(self, samples, rate, device, blocking):
        assert blocking
        self.played[device] = samples, rate

    def Stream(self, samplerate, blocksize, callback, channels, device, **_):  # PortAudio's name
        if not self.opens or channels[0] > len(self.gains) or self.away > 0:
            raise self.PortAudioError("Device unavailable")
        self.devices.append(device)
        self.rates.append(samplerate)
        return CardStream(self, samplerate, blocksize, callback, self.gains[: channels[0]])


class PretendedStream:
    """Calls back from a thread of its own, which `run` is, until it is left."""

    def __init__(self, card, rate, blocksize, callback):
        self.card, self.size, self.rate, self.callback, self.active = card, blocksize, rate, callback, True
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.active = False
        self.thread.join(PATIENCE_S)


class CardStream(PretendedStream):
    def __init__(self, card, rate, blocksize, callback, gains):
        super().__init__(card, rate, blocksize, callback)
        self.gains = np.array(gains)

    def run(self):
        number = 0
        while self.active and number != self.card.ends_after:
            time_s = (np.arange(self.size) + number * self.size) / self.rate
            sung = sum(np.sin(2 * np.pi * k * 220 * time_s) / k for k in range(1, 12)) * 0.1
            played = np.full((self.size, 1), 9.0, np.float32)
            try:
                self.callback((sung[:, None] * self.gains).astype(np.float32), played, self.size, None, None)
            except self.card.CallbackStop:
                self.card.heard.append(played[:, 0])
                break
            self.card.heard.append(played[:, 0])
            number += 1
            time.sleep(self.size / self.rate)
        self.active = False


class SecondOfCard(PretendedStream):
    """A second output, with a clock of its own."""

    def run(self):
        while self.active and len(self.card.beside) != self.card.second_ends_after:
            played = np.full((self.size, 1), 9.0, np.float32)
            self.callback(played, self.size, None, None)
            self.card.beside.append(played[:, 0])
            time.sleep(self.size / self.rate)
        self.active = False


def sing(card, monkeypatch, *arguments, work=0.1, patience=0):
    monkeypatch.setattr("engine.live.delay_measurement.warm_up", lambda _: work)  # whatever else the machine does
    monkeypatch.setattr("studio.commands.live._LOOKS_EVERY_S", 0.01)
    monkeypatch.setattr("studio.commands.live._BACK_WITHIN_S", 0.01 * patience)
    monkeypatch.setitem(sys.modules, "sounddevice", card)
    return run("live", "--content", "student", "--block-ms", "160", *arguments)


def test_live_plays_the_same_on_a_second_output(home, monkeypatch):
    card = Card(ends_after=100)
    sing(card, monkeypatch, "--second-output", "phones")
    heard = {piece.tobytes() for piece in card.heard if piece.any()}
    also = {piece.tobytes() for piece in card.beside if piece.any()}
    assert len(also) > 20
    assert also <= heard


def test_live_says_when_the_second_output_is_gone_and_goes_on(home, monkeypatch):
    card = Card(ends_after=150)
    card.second_ends_after = 10
    done = sing(card, monkeypatch, "--second-output", "phones")
    assert done.output.count("The second output was disconnected.") == 1
    assert len(card.heard) == 150


def test_live_refuses_a_second_output_that_is_not_there(home, monkeypatch):
    refused = sing(Card(), monkeypatch, "--second-output", "cable")
    assert "The second output cannot be used: No output device matching 'cable'." in refused.output


def test_test_tone_sounds_on_both_outputs(home, monkeypatch):
    card = Card(rate=44_100)
    monkeypatch.setitem(sys.modules, "sounddevice", card)
    done = run("live", "--test-tone", "--output", "3", "--second-output", "phones")
    assert done.exit_code == 0, done.output
    assert list(card.played) == [3, "phones"]
    samples, rate = card.played[3]
    assert (len(samples), rate) == (2 * 44_100, 44_100)
    assert np.argmax(np.abs(np.fft.rfft(samples))) == 440 * 2  # in bins of half a hertz
    assert np.abs(samples).max() == pytest.approx(0.1, rel=0.01)
    assert abs(samples[0]) < 1e-6
    assert abs(samples[-1]) < 1e-3


def test_live_keeps_the_recording_and_reports_a_lost_device(home, monkeypatch, tmp_path):
    card = Card(ends_after=150)
    done = sing(card, monkeypatch, "--record", tmp_path / "session")
    assert done.exit_code != 0
    assert "The sound device is gone" in done.output
    heard = np.concatenate(card.heard)
    assert np.abs(heard).max() <= 0.99  # everything is written, nothing is a burst
    dry, rate = soundfile.read(tmp_path / "session" / "dry.wav")
    converted, _ = soundfile.read(tmp_path / "session" / "converted.wav")
    assert (len(dry), rate) == (len(converted), 48_000)
    assert len(dry) == 150 * 480
    np.testing.assert_allclose(converted, heard, atol=1e-4)


def test_live_goes_on_when_a_lost_device_is_back_and_takes_no_other(home, monkeypatch, tmp_path):
    card = Card(ends_after=20)
    stream = card.Stream

    def opened(**given):
        made = stream(**given)
        card.away = 3 if len(card.devices) == 1 else 1000  # it comes back once
        return made

    card.Stream = opened
    done = sing(card, monkeypatch, "--record", tmp_path / "session", patience=10)
    assert done.output.count("Live goes on as soon as you connect it again") == 2
    assert "connect it and start again" in done.output
    assert card.devices == [(None, None), ("input", "output")]  # by name: numbers and defaults change
    dry, _ = soundfile.read(tmp_path / "session" / "dry.wav")
    assert len(dry) == 2 * 20 * 480  # one recording of both


def test_live_uses_the_sample_rate_of_the_device(home, monkeypatch):
    card = Card(rate=44_100, ends_after=5)
    sing(card, monkeypatch)
    assert card.rates == [44_100]


def test_live_reports_a_device_that_does_not_open(home, monkeypatch):
    done = sing(Card(opens=False), monkeypatch)
    assert "The sound device cannot be used: Device unavailable" in done.output


def test_live_fades_out_and_reports_the_error_when_the_conversion_fails(home, monkeypatch):
    from engine.errors import EngineError
    from engine.live.converter import LiveConverter

    convert, count = LiveConverter.convert, [0]

    def failing(self, samples):
        count[0] += 1
        if count[0] > 3:
            raise EngineError("The disk is full.")
        return convert(self, samples)

    monkeypatch.setattr(LiveConverter, "convert", failing)
    card = Card()
    done = sing(card, monkeypatch)
    assert "The disk is full." in done.output
    heard = np.concatenate(card.heard)
    assert np.abs(heard).max() <= 0.99
    assert not heard[-480:].any()


def test_live_refuses_too_short_blocks_and_suggests_longer_ones(home, monkeypatch):
    assert "choose --block-ms 320" in sing(Card(), monkeypatch, work=1.4).output


def dry_level(session):
    """The mean level of what was sung, in dB below the microphone's."""
    sung = sum(np.sin(2 * np.pi * k * 220 * np.arange(48_000) / 48_000) / k for k in range(1, 12)) * 0.1
    dry, _ = soundfile.read(session / "dry.wav")
    return 10 * np.log10(np.mean(dry**2) / np.mean(sung**2))


@pytest.mark.parametrize(
    ("gains", "channel", "level_db"),
    [
        *(((0.0, 1.0), "2", 0.0), ((0.0, 1.0), "mix", -6.02), ((1.0,), "1", 0.0), ((0.5, 0.5, 1.0), "3", 0.0)),
        *(((1.0, 1.0, 0.0), "mix", 0.0), ((1.0, 0.5), "2", -6.02)),
    ],
)
def test_live_takes_the_input_that_is_chosen(home, monkeypatch, tmp_path, gains, channel, level_db):
    sing(Card(ends_after=20, gains=gains), monkeypatch, "--record", tmp_path, "--channel", channel)
    assert dry_level(tmp_path) == pytest.approx(level_db, abs=0.1)


@pytest.mark.parametrize(
    ("channel", "said"),
    [
        ("1", "Input 1 is silent; your microphone is in input 2: choose Input 2. Start again with --channel 2."),
        ("mix", "Your microphone is in input 2, and the mix with the silent inputs makes it softer: choose Input 2."),
    ],
)
def test_live_names_the_input_that_sounds_where_the_chosen_one_is_silent(home, monkeypatch, channel, said):
    done = sing(Card(ends_after=150, gains=(0.0, 1.0)), monkeypatch, "--channel", channel)
    assert done.output.count(said) == 1


@pytest.mark.parametrize("gains", [(1.0, 1.0), (1.0, 0.3), (1.0,)])
def test_live_says_nothing_of_inputs_that_sound(home, monkeypatch, gains):
    assert "choose Input" not in sing(Card(ends_after=150, gains=gains), monkeypatch).output


def test_live_refuses_an_input_that_is_not_there_and_what_is_none(home, monkeypatch, vocal, tmp_path):
    assert "There is no input 2: the microphone" in sing(Card(), monkeypatch, "--channel", "2").output
    given = ("--input", vocal, "--output", tmp_path / "out.wav")
    assert "There is no input 3" in run("live", *given, "--channel", "3").output
    for channel in ("0", "left", "-1", ""):
        assert "such as 1 or 2, or mix" in run("live", *given, "--channel", channel).output
    assert not (tmp_path / "out.wav").exists()


def test_live_takes_the_chosen_channel_of_a_file(home, vocal, tmp_path):
    sung, rate = soundfile.read(vocal)
    soundfile.write(tmp_path / "two.wav", np.stack([0 * sung, sung], 1), rate)
    given = ("--content", "student", "--voice", "koguchi", "--output")
    first = run("live", "--input", tmp_path / "two.wav", "--channel", "1", *given, tmp_path / "out.wav")
    assert "Input 1 is silent; your microphone is in input 2" in first.stderr
    assert not (tmp_path / "out.wav").exists()
    assert run("live", "--input", tmp_path / "two.wav", "--channel", "2", *given, tmp_path / "out.wav").exit_code == 0
    assert run("live", "--input", vocal, *given, tmp_path / "alone.wav").exit_code == 0
    np.testing.assert_array_equal(soundfile.read(tmp_path / "out.wav")[0], soundfile.read(tmp_path / "alone.wav")[0])
