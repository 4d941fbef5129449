"""Converting and training on another device than the processor: a pretended one, and a real one where there is."""

import numpy as np
import pytest
import soundfile
import torch

from engine.audio.files import Audio
from engine.conversion.convert import convert, convert_file
from engine.conversion.edit_data import read_edit_data, write_edit_data
from engine.conversion.pitch_edits import Shift
from engine.conversion.rerendering import edit_take
from engine.conversion.settings import ConversionSettings
from engine.devices import Device, working_device
from engine.errors import SettingsError
from engine.features.clips import analysed_clips
from engine.networks.base import load_base
from engine.training.checkpoint import CHECKPOINT_FILE
from engine.training.fine_tuning import FineTuning
from engine.training.pieces import epoch_pieces
from engine.training.plan import TrainingPlan
from engine.training.train import estimate_training, train
from engine.units import SAMPLE_RATE
from tests.engine.pretended_gpu import THERE, pretended_gpu

# every setting that a network's output passes through
SETTINGS = ConversionSettings(takes=2, likeness=0.7, formant_shift_semitones=1.0, consonant_protection=0.3)
PLAN = TrainingPlan(epochs=1, batch=8, foreign=1, evaluate_epochs=1)
EQUAL_DB = -50.0  # difference of two devices, relative to the sound: below what is heard beside it
NEAR_DB = -60.0  # of the processor's, for windows in batches
on_a_real_one = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")
pytestmark = [
    # torch does not know that a tensor that is elsewhere holds its numbers
    pytest.mark.filterwarnings("ignore:for .*copying from a non-meta parameter"),
    pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad=True to a scalar"),
]


@pytest.fixture
def elsewhere(monkeypatch):
    """All that asks for a device is given the pretended one."""
    device = Device(THERE.type, "pretended", torch.float32)
    for module in ("conversion.convert", "training.train"):
        monkeypatch.setattr(f"engine.{module}.working_device", lambda wanted: device)
    monkeypatch.setattr("engine.workers.usable_cores", lambda: 1)  # it is pretended in this thread alone
    with pretended_gpu():
        yield device


@pytest.fixture
def here(monkeypatch):
    """The processor, in the precision of the pretended device."""
    for module in ("conversion.convert", "training.train"):
        monkeypatch.setattr(f"engine.{module}.working_device", lambda wanted: Device("cpu", "processor", torch.float32))


@pytest.fixture(scope="module")
def song(sing) -> Audio:
    return Audio(sing(3.0)[None], SAMPLE_RATE)


@pytest.fixture(scope="module")
def clips(tmp_path_factory, sing):
    folder = tmp_path_factory.mktemp("recordings")
    paths = [folder / f"{number}.wav" for number in range(2)]
    for number, path in enumerate(paths):
        soundfile.write(path, sing(7.0, hertz=150.0 + 20 * number, seed=number), SAMPLE_RATE)
    return analysed_clips(paths)


def difference_db(one: np.ndarray, other: np.ndarray) -> float:
    return float(10 * np.log10(np.square(one - other).mean() / np.square(other).mean() + 1e-30))


def test_pretended_gpu_refuses_mixed_devices_and_numpy():
    with pretended_gpu() as gpu:
        numbers = torch.ones(3).to(gpu)
        assert (numbers + 1).cpu().tolist() == [2, 2, 2]
        with pytest.raises(RuntimeError, match="same device"):
            numbers + torch.ones(3)
        with pytest.raises(RuntimeError):
            numbers.numpy()


@pytest.mark.system
def test_convert_on_a_pretended_gpu_is_near_the_processor(song, voice, request):
    wanted = convert(song, voice, SETTINGS)
    request.getfixturevalue("elsewhere")
    found = convert(song, voice, SETTINGS)
    for one, other in zip(wanted.takes, found.takes, strict=True):
        assert difference_db(one.audio.samples, other.audio.samples) < NEAR_DB
    assert found.edit_data.voice == wanted.edit_data.voice


def test_convert_file_on_a_pretended_gpu_returns_storable_edit_data(song, voice, elsewhere, tmp_path):
    soundfile.write(tmp_path / "song.wav", song.samples[0], SAMPLE_RATE)
    done = convert_file(tmp_path / "song.wav", [tmp_path / "take.wav"], voice)
    write_edit_data(tmp_path / "groundwork.npz", done.edit_data)
    kept = read_edit_data((tmp_path / "groundwork.npz").read_bytes())
    assert np.array_equal(kept.timbre, done.edit_data.timbre)


def test_edit_take_on_a_pretended_gpu_is_near_the_processor(song, voice, request):
    conversion, edits = convert(song, voice), [Shift(1.0, 1.5, semitones=2.0)]
    wanted = edit_take(song, conversion, 0, voice, edits)
    request.getfixturevalue("elsewhere")
    found = edit_take(song, conversion, 0, voice, edits)
    assert difference_db(wanted.audio.samples, found.audio.samples) < NEAR_DB


@pytest.mark.system
def test_train_on_a_pretended_gpu_matches_and_resumes_a_processor_training(
    clips, short_trainings, here, tmp_path, request
):
    wanted = train(clips, PLAN, tmp_path / "here")
    request.getfixturevalue("elsewhere")
    found = train(clips, PLAN, tmp_path / "there")
    assert torch.equal(wanted.timbre, found.timbre)
    assert all(map(torch.equal, wanted.decoder.state_dict().values(), found.decoder.state_dict().values()))
    assert found.timbre.device.type == "cpu"  # as every voice is that is not in use
    checkpoints = [torch.load(tmp_path / name / CHECKPOINT_FILE, weights_only=True) for name in ("here", "there")]
    assert {one["tuning"]["learned"]["timbre"].device.type for one in checkpoints} == {"cpu"}
    # what was begun on the one goes on on the other
    longer = TrainingPlan(**vars(PLAN) | {"epochs": 2})
    assert train(clips, longer, tmp_path / "here").card.training["epochs"] == 2


@pytest.mark.system
def test_estimate_training_works_on_a_pretended_gpu(clips, short_auditions, elsewhere):
    assert estimate_training(clips, PLAN).total_s > 0


@pytest.mark.system
def test_fine_tuning_keeps_its_networks_on_the_device_of_the_base(clips, elsewhere):
    tuning = FineTuning(load_base(device=THERE), clips, PLAN, precision=torch.float32)
    assert {value.device.type for value in tuning.decoder.state_dict().values()} == {THERE.type}
    assert tuning.timbre.device.type == THERE.type


def test_memory_of_reports_a_full_gpu_and_passes_on_processor_errors():
    from engine.devices import memory_of

    with pytest.raises(SettingsError, match="memory of cuda:0 is full"), memory_of(torch.device("cuda", 0)):
        raise torch.OutOfMemoryError("CUDA out of memory")
    with pytest.raises(torch.OutOfMemoryError), memory_of(torch.device("cpu")):
        raise torch.OutOfMemoryError


@on_a_real_one
def test_convert_on_a_real_gpu_matches_the_processor_within_50_db(song, voice):
    wanted, found = (convert(song, voice, SETTINGS, device=device) for device in ("cpu", "cuda"))
    for one, other in zip(wanted.takes, found.takes, strict=True):
        difference = np.sqrt(np.mean((one.audio.samples - other.audio.samples) ** 2))
        assert 20 * np.log10(difference / np.sqrt(np.mean(one.audio.samples**2))) < EQUAL_DB


@on_a_real_one
def test_train_on_a_real_gpu_matches_the_timbre_of_the_processor(clips, short_auditions, tmp_path):
    one, other = (train(clips, PLAN, tmp_path / device, device=device) for device in ("cpu", "cuda"))
    assert torch.nn.functional.cosine_similarity(one.timbre, other.timbre, dim=0) > 0.999


@on_a_real_one
def test_a_training_step_on_a_real_gpu_waits_for_nothing(clips):
    """Told by CUDA, which knows of waiting that a pretended device cannot know of."""
    tuning = FineTuning(
        load_base(device=torch.device("cuda", 0)), clips, PLAN, precision=working_device("cuda").precision
    )
    assert tuning.ahead
    steps = tuning.draw(0, [epoch_pieces(clips, 0, 0)] * 6)
    tuning.read([tuning.queue(step) for step in steps[:3]])
    torch.cuda.set_sync_debug_mode("error")
    try:
        queued = [tuning.queue(step) for step in steps[3:]]
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert None not in tuning.read(queued)
