import io
import zipfile

import numpy as np
import torch

from engine.evaluation.performance import EVALUATION_RATE
from engine.research.benchmark.judges import filter_bank, for_processors


def test_filter_bank_has_a_tone_in_the_band_of_its_frequency():
    tone = 0.5 * np.sin(2 * np.pi * 1000 * np.arange(EVALUATION_RATE) / EVALUATION_RATE).astype(np.float32)
    found = filter_bank(tone)
    assert found.shape == (98, 80)  # whole frames alone
    # 80 triangles evenly in mel between 20 and 8000 Hz: the one whose middle is nearest to 1 kHz
    middles = 700 * (np.exp(np.linspace(np.log1p(20 / 700), np.log1p(8000 / 700), 82)[1:-1]) - 1)
    assert int(found.mean(0).argmax()) == int(np.abs(middles - 1000).argmin())


def test_filter_bank_is_12_decibels_higher_for_four_times_the_amplitude():
    noise = np.random.default_rng(0).standard_normal(8000).astype(np.float32) * 0.1
    louder = filter_bank(4 * noise) - filter_bank(noise)
    torch.testing.assert_close(louder, torch.full_like(louder, 2 * np.log(4.0)))


def test_for_processors_writes_out_operators_that_only_cuda_has():
    archive = io.BytesIO()
    code = (
        "    _0 = torch.cudnn_convolution_relu(x, CONSTANTS.c0, CONSTANTS.c1, [1, 1], [1, 1], [1, 1], 1)\n"
        "    _1 = torch.cudnn_convolution_add_relu(_0, CONSTANTS.c2, x, 1, CONSTANTS.c3, [1, 1], [1, 1], [1, 1], 1)\n"
    )
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("net/code/net.py", code)
        file.writestr("net/constants/0", b"\x00cudnn_convolution_relu(")
    with zipfile.ZipFile(for_processors(archive.getvalue())) as file:
        assert file.read("net/constants/0") == b"\x00cudnn_convolution_relu("
        assert file.read("net/code/net.py").decode().splitlines() == [
            "    _0 = torch.relu(torch.conv2d(x, CONSTANTS.c0, CONSTANTS.c1, [1, 1], [1, 1], [1, 1], 1))",
            "    _1 = torch.relu(torch.add("
            "torch.conv2d(_0, CONSTANTS.c2, CONSTANTS.c3, [1, 1], [1, 1], [1, 1], 1), x))",
        ]
