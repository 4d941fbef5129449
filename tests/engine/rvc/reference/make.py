"""Write what other programs compute beside this file, for the tests of parity: *.safetensors, ivf.index.

In an environment of its own, never the project's (their code is not part of it):

    python3.11 -m venv scratch
    scratch/bin/pip install torch==2.13.0 transformers safetensors faiss-cpu
    scratch/bin/pip install --no-deps huggingface-hub-rvc==0.1.4
    scratch/bin/python tests/engine/rvc/reference/make.py

Small networks with random weights: features, latent noise and the noise of the excitation are drawn here and stored.
"""

import json
import sys
import types
from pathlib import Path

import torch
from safetensors.torch import save_file

HERE = Path(__file__).parent
SPEAKERS, WIDTH, FRAMES = 3, 8, 14
# hop: upsampling rates, and the lengths of their filters
SHAPES = {
    32_000: ([10, 8, 2, 2], [20, 16, 4, 4]),
    40_000: ([10, 10, 2, 2], [16, 16, 4, 4]),
    48_000: ([12, 10, 2, 2], [24, 20, 4, 4]),
    -48_000: ([10, 6, 2, 2, 2], [16, 16, 4, 4, 4]),  # of v1
}
CASES = {
    "v1": ("SynthesizerTrnMs256NSFsid", "v1", 1, 40_000, "1"),
    "v1-five-stages": ("SynthesizerTrnMs256NSFsid", "v1", 1, -48_000, "2"),
    "v2": ("SynthesizerTrnMs768NSFsid", "v2", 1, 48_000, "1"),
    "v2-32k": ("SynthesizerTrnMs768NSFsid", "v2", 1, 32_000, "1"),
    "v1-no-pitch": ("SynthesizerTrnMs256NSFsid_nono", "v1", 0, 40_000, "1"),
    "v2-no-pitch": ("SynthesizerTrnMs768NSFsid_nono", "v2", 0, 32_000, "1"),
}


def rvc() -> dict[str, torch.Tensor]:
    import importlib.machinery

    package = Path(next(path for path in sys.path if (Path(path) / "huggingface_hub_rvc").is_dir()))
    door = types.ModuleType("huggingface_hub_rvc")  # without its __init__, which wants torchaudio
    door.__path__ = [str(package / "huggingface_hub_rvc")]
    door.__spec__ = importlib.machinery.ModuleSpec("huggingface_hub_rvc", None, is_package=True)
    sys.modules["huggingface_hub_rvc"] = door
    from huggingface_hub_rvc.core import models

    tensors, facts = {}, {}
    for number, (name, (class_name, version, pitched, shape, block)) in enumerate(CASES.items()):
        torch.manual_seed(number)
        rates, kernels = SHAPES[shape]
        dilations = [[1, 3, 5]] * 2 if block == "1" else [[1, 3]] * 2
        config = [1025, 32, 8, 16, 24, 2, 2, 3, 0.0, block, [3, 7], dilations, rates, 32, kernels, SPEAKERS, WIDTH]
        config.append(abs(shape))
        model = getattr(models, class_name)(*config, is_half=False).eval()
        del model.enc_q
        for key, parameter in model.named_parameters():
            parameter.data.normal_(0.0, 0.3)
            if key.endswith("weight_g"):  # lengths
                parameter.data.abs_().add_(0.7)
            parameter.data = parameter.data.half().float()  # stored as halves, as RVC does
        content = torch.randn(1, FRAMES, 256 if version == "v1" else 768).half().float()
        hertz = 100 + 300 * torch.rand(1, FRAMES)
        hertz[:, 10:16] = 0.0
        mels = 1127 * torch.log(1 + hertz / 700)
        lowest, highest = (1127 * torch.log(torch.tensor(1 + one / 700)) for one in (50.0, 1100.0))
        coarse = (
            torch.where(mels > 0, (mels - lowest) * 254 / (highest - lowest) + 1, mels).clamp(1, 255).round().long()
        )
        noise, second = torch.randn(1, 8, FRAMES), torch.randn(1, FRAMES * abs(shape) // 100, 1).half().float()
        real = torch.randn_like
        speaker = torch.tensor([number % SPEAKERS])
        length = torch.tensor([FRAMES])
        given = (content, length, coarse, hertz, speaker) if pitched else (content, length, speaker)
        for _ in range(2):  # the first shows how loud it is
            drawn = iter([noise, second])
            torch.randn_like = lambda like, drawn=drawn, **_: next(drawn)
            with torch.no_grad():
                samples = model.infer(*given)[0]
                weight = model.dec.conv_post.weight
                weight.mul_(0.1 / samples.std() if samples.std() < 0.05 else 1.0).copy_(weight.half())
        torch.randn_like = real
        assert 0.03 < samples.std() < 0.7, samples.std()
        found = {
            "content": content,
            "hertz": hertz,
            "noise": noise,
            "source_noise": second[..., 0],
            "samples": samples[:, 0],
        }
        found |= {f"weight.{key}": value for key, value in model.state_dict().items()}
        halves = {key: value if key in ("samples", "hertz", "noise") else value.half() for key, value in found.items()}
        tensors |= {f"{name}/{key}": value.contiguous() for key, value in halves.items()}
        facts[name] = {"config": config, "version": version, "f0": pitched, "speaker": number % SPEAKERS}
    return tensors, {"cases": json.dumps(facts)}


def hubert() -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    from transformers import HubertConfig, HubertModel

    torch.manual_seed(1)
    config = HubertConfig(
        **dict(hidden_size=24, num_hidden_layers=12, num_attention_heads=2, intermediate_size=32, conv_dim=(16,) * 7),
        **dict(num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4),
    )
    model = HubertModel(config).eval()
    for parameter in model.parameters():
        parameter.data.add_(torch.randn_like(parameter) * 0.1)
    samples = torch.randn(1, 8000) * 0.3
    with torch.no_grad():
        found = model(samples, output_hidden_states=True)
    tensors = {"samples": samples, "layer9": found.hidden_states[9], "layer12": found.last_hidden_state}
    tensors |= {f"weight.{name}": value for name, value in model.state_dict().items()}
    return {name: value.contiguous() for name, value in tensors.items()}, {"heads": "2", "groups": "4"}


def index() -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    """Write ivf.index with faiss, and return what a search in it gives, weighted as RVC weights it."""
    import faiss
    import numpy as np

    drawn = np.random.default_rng(0)
    own, content = drawn.standard_normal((40, 256), np.float32), drawn.standard_normal((6, 256), np.float32)
    own = own.astype(np.float16).astype(np.float32)
    built = faiss.index_factory(256, "IVF3,Flat")
    faiss.extract_index_ivf(built).nprobe = 1
    built.train(own)
    built.add(own)
    faiss.write_index(built, str(HERE / "ivf.index"))
    found = []
    for row in content:
        squares, places = built.search(row[None], k=8)
        there = places[0] >= 0
        weights = np.square(1 / squares[0][there])
        found.append((weights / weights.sum()) @ own[places[0][there]])
    return {"content": torch.from_numpy(content), "nearest": torch.from_numpy(np.stack(found))}, {}


if __name__ == "__main__":
    for stem, made in (("rvc", rvc()), ("hubert", hubert()), ("nearest", index())):
        save_file(made[0], HERE / f"{stem}.safetensors", made[1])
