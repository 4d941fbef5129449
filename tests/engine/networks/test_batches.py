"""Windows of several lengths in one batch give what each gives alone, within rounding."""

import numpy as np
import pytest
import torch

from engine.analysis.envelope import BANDS
from engine.analysis.pitch import Pitch
from engine.networks.base import load_base
from engine.networks.batches import inside, together
from engine.networks.envelope_decoder import PROSODY, decode_together
from engine.networks.listener import FEATURES, listen_together, resampled_in_silence
from engine.networks.recorded_excitation import move
from engine.networks.spectral_frames import cut_frames
from engine.networks.synthesizer import source_of, synthesize_together
from engine.networks.timbre_encoder import TIMBRE
from engine.units import HOP

LENGTHS = (150, 301, 222)
HERE = torch.device("cpu")


@pytest.fixture(scope="module")
def base():
    return load_base()


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_together_fills_up_the_shorter_rows_and_inside_tells_where_they_end():
    rows = [drawn(length, 2) for length in LENGTHS]
    batch, within = together(rows, 7.0), inside(LENGTHS, HERE)
    assert batch.shape == (3, 301, 2)
    assert within.shape == (3, 301, 1)
    for number, row in enumerate(rows):
        assert torch.equal(batch[number, : len(row)], row)
        assert (batch[number, len(row) :] == 7.0).all()
        assert within[number].sum() == len(row)
    assert inside((5, 5), HERE) is None
    assert together(rows[:1]).data_ptr() == rows[0].data_ptr()  # what is alone is not copied


def test_listener_hears_of_shorter_windows_what_it_hears_of_them_alone(base, sing):
    samples = [torch.from_numpy(resampled_in_silence(sing(seconds))[0]) for seconds in (2.0, 5.2, 3.1)]
    with torch.inference_mode():
        found = listen_together(base.listener, samples)
        for one, features in zip(samples, found, strict=True):
            alone = base.listener(one[None])[0]
            assert features.shape == alone.shape
            torch.testing.assert_close(features, alone, atol=2e-3, rtol=1e-4)


def test_content_and_envelope_of_shorter_windows_are_those_of_them_alone(base):
    features = [drawn(length // 2 + 1, FEATURES, seed=length) for length in LENGTHS]
    held = [torch.cat([one, one[-1:].expand(151 - len(one), -1)]) for one in features]
    within = inside(LENGTHS, HERE)
    with torch.inference_mode():
        contents = base.content(torch.stack(held), torch.zeros(3, FEATURES), max(LENGTHS), within)
        contents = [row[:length] for row, length in zip(contents, LENGTHS, strict=True)]
        alone = [
            base.content(one[None], torch.zeros(1, FEATURES), length)[0]
            for one, length in zip(features, LENGTHS, strict=True)
        ]
        for one, other in zip(contents, alone, strict=True):
            torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)
        prosody, timbre = [drawn(length, PROSODY) for length in LENGTHS], drawn(TIMBRE)
        found = decode_together(base.decoder, contents, prosody, timbre)
        for envelope, content, curve in zip(found, contents, prosody, strict=True):
            other = base.decoder(content[None], curve[None], timbre[None])[0]
            torch.testing.assert_close(envelope, other, atol=1e-4, rtol=1e-4)
        ends = base.decoder(together(contents), together(prosody), timbre[None].expand(3, -1))[0, LENGTHS[0] - 1]
    assert (ends - found[0][-1]).abs().max() > 1e-2  # of a network that is not told where windows end


@pytest.mark.parametrize("change", [1.0, 1.2, 0.8], ids=["as it is", "up", "down"])
def test_samples_of_shorter_windows_are_those_of_them_alone(base, sing, change):
    given = []
    for number, length in enumerate(LENGTHS):
        samples = sing((length - 1) * HOP / 44_100, 200.0, seed=number)
        pitch = Pitch(np.full(length, 200.0, np.float32), np.linspace(0.0, 1.0, length, dtype=np.float32))
        envelope, share = drawn(length, BANDS, seed=number) * 0.5 - 5.0, torch.ones(length, BANDS)
        cut, voicing = cut_frames(samples, length), torch.from_numpy(pitch.voicing)
        residual = base.synthesizer.residual(cut, envelope, voicing, share[:, 0], share[0])
        hertz = pitch.hertz * np.float32(change)
        recorded = base.synthesizer.recorded(cut, envelope, pitch, share)
        recorded = recorded.moved(move(pitch.hertz, hertz, 0.3, False))
        source = source_of(Pitch(hertz, pitch.voicing), 1000 * number, 0.3, number)
        given.append((envelope, source, residual, recorded))
    found = synthesize_together(base.synthesizer, *zip(*given, strict=True))
    for samples, one, length in zip(found, given, LENGTHS, strict=True):
        [alone] = synthesize_together(base.synthesizer, *([part] for part in one))
        assert samples.shape == ((length - 1) * HOP,)
        torch.testing.assert_close(samples, alone, atol=1e-4 * float(alone.abs().max()), rtol=0)
