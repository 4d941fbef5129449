"""What becomes of the samples of a microphone in the page: the input that is taken, and the WAV file of it."""

import base64
import io
from collections.abc import Iterator

import numpy as np
import pytest
import soundfile
from playwright.sync_api import Page

from tests.browsers import blank_page

# a file of blocks of 10 ms, [[channels] of each block], as base64
FILE = """async ([blocks, choice, largest]) => {
  const { Growing } = await import("/page-files/wav.js");
  const growing = new Growing(), shares = [];
  for (const block of blocks) growing.add(block.map((one) => Float32Array.from(one)), 48000, choice);
  const file = await growing.file(choice, "one.wav", largest, (share) => shares.push(share));
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (const one of bytes) text += String.fromCharCode(one);
  return { wav: btoa(text), name: file.name, type: file.type, seconds: growing.seconds, share: shares.at(-1) };
}"""
SAID = """async ([choice, pieces]) => {
  const { Sounding } = await import("/page-files/inputs.js");
  const sounding = new Sounding();
  for (const [powers, seconds] of pieces) sounding.take(powers, seconds);
  return sounding.said(choice);
}"""
STEP = 480


@pytest.fixture(scope="module")
def page(browser) -> Iterator[Page]:
    with blank_page(browser, "") as page:
        yield page


def file_of(page: Page, channels: np.ndarray, choice: str | int = "mix", largest: int | None = None):
    """The samples and the subtype of the file of channels (inputs, samples), and what was told of it."""
    blocks = [channels[:, first : first + STEP].tolist() for first in range(0, channels.shape[1], STEP)]
    told = page.evaluate(FILE, [blocks, choice, largest])
    written = io.BytesIO(base64.b64decode(told["wav"]))
    found = soundfile.info(written)
    written.seek(0)
    samples, rate = soundfile.read(written)
    assert (rate, found.channels, told["type"], told["share"]) == (48_000, 1, "audio/wav", 1)
    assert told["seconds"] == pytest.approx(channels.shape[1] / 48_000)
    return samples, found.subtype


def random(count: int, seconds: float, full: int) -> np.ndarray:
    """Noise of whole numbers out of `full`, as a converter of so many steps gives it."""
    return np.random.default_rng(3).integers(-full, full, (count, round(48_000 * seconds))) / full


def test_files_of_sixteen_bits_are_exact_and_begin_a_new_piece_after_five_seconds(page):
    channels = random(2, 5.3, 2**15)
    for choice in (1, 2):
        samples, subtype = file_of(page, channels, choice)
        np.testing.assert_array_equal(samples, channels[choice - 1])
        assert subtype == "PCM_16"


def test_files_of_more_than_sixteen_bits_and_of_mixes_are_exact_in_twenty_four(page):
    deep = random(1, 0.5, 2**23)
    samples, subtype = file_of(page, deep)
    np.testing.assert_array_equal(samples, deep[0])
    assert subtype == "PCM_24"
    both = random(2, 0.5, 2**15)
    samples, subtype = file_of(page, both)
    np.testing.assert_array_equal(samples, both.mean(axis=0))
    assert subtype == "PCM_24"


def test_files_stay_within_full_scale_and_within_the_largest_upload(page):
    loud = np.array([[1.5, -1.5, 1.0, -1.0] * 120])
    samples, _ = file_of(page, loud)
    np.testing.assert_allclose(samples, loud[0].clip(-1, 1), atol=1e-4)
    samples, subtype = file_of(page, random(1, 0.5, 2**23), largest=60_000)
    assert subtype == "PCM_16"
    np.testing.assert_allclose(samples, random(1, 0.5, 2**23)[0], atol=2**-15)


def test_files_take_the_one_input_that_is_left_when_others_end_and_one_of_many(page):
    four = random(4, 0.2, 2**15)
    samples, _ = file_of(page, four, 3)
    np.testing.assert_array_equal(samples, four[2])
    samples, _ = file_of(page, four[:1], 2)
    np.testing.assert_array_equal(samples, four[0])


OF_MIX = "Your microphone is in input 2, and the mix with the silent inputs makes it softer: choose Input 2."


@pytest.mark.parametrize(
    ("choice", "levels_db", "said"),
    [
        (1, (-90, -30), "Input 1 is silent; your microphone is in input 2: choose Input 2."),
        (2, (-30, -90), "Input 2 is silent; your microphone is in input 1: choose Input 1."),
        (3, (-80, -30, -70), "Input 3 is silent; your microphone is in input 2: choose Input 2."),
        ("mix", (-90, -30), OF_MIX),
        *((2, (-90, -30), ""), ("mix", (-30, -45), ""), ("mix", (-30,), ""), (1, (-90, -55), ""), (1, (-48, -30), "")),
    ],
)
def test_what_is_said_of_inputs(page, choice, levels_db, said):
    powers = [10 ** (level / 10) for level in levels_db]
    assert page.evaluate(SAID, [choice, [[powers, 0.01]] * 300]) == said
    assert page.evaluate(SAID, [choice, [[powers, 0.01]] * 50]) == ""  # too soon
