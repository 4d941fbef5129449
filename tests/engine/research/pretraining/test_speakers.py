"""The speaker directions: known ones are found, held-out speakers stay out, and a small corpus gives weights."""

import json
import multiprocessing.pool

import numpy as np
import pytest
import soundfile
from scipy.linalg import subspace_angles

from engine.errors import TrainingError
from engine.features.speaker_directions import load_discriminant
from engine.networks.timbre_encoder import TIMBRE
from engine.research.command import main
from engine.research.pretraining import speaker_windows
from engine.research.pretraining import speakers as module
from engine.research.pretraining.speaker_windows import Windows
from engine.research.pretraining.speakers import (
    draw_recordings,
    fit_discriminant,
    fitted_speakers,
    window_error_rate,
)

TRUE = 4  # directions in which the synthetic speakers differ


def draw_timbres(counts: list[int], seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Timbres of speakers who differ in the first TRUE numbers by 5, and vary by 1 in all, by 10 in the last four."""
    random = np.random.default_rng(seed)
    speaker = np.repeat([f"set/{number:03}" for number in range(len(counts))], counts)
    own = np.zeros((len(counts), TIMBRE))
    own[:, :TRUE] = 5 * random.standard_normal((len(counts), TRUE))
    timbres = np.repeat(own, counts, 0) + random.standard_normal((len(speaker), TIMBRE))
    timbres[:, -4:] *= 10
    return timbres.astype(np.float32), speaker


def windows_of(timbres: np.ndarray, speaker: np.ndarray) -> Windows:
    """Two windows of each recording, of which one is in another condition."""
    numbers = np.arange(len(speaker))
    return Windows(timbres, speaker, np.full(len(speaker), "f"), numbers // 2, numbers % 2)


def test_fit_discriminant_finds_directions_in_which_speakers_differ():
    found = fit_discriminant(*draw_timbres([40] * 100), TRUE).directions.numpy()
    assert found.shape == (TIMBRE, TRUE)
    assert np.degrees(subspace_angles(found, np.eye(TIMBRE)[:, :TRUE])).max() < 10
    timbres, speaker = draw_timbres([40] * 100, 1)
    inside = [(timbres[speaker == name] @ found).var(0) for name in np.unique(speaker)]
    np.testing.assert_allclose(np.mean(inside, 0), 1 / 1.2, rtol=0.1)  # less the ridge: 5 % of (124 + 4 * 100) / 128


def test_fit_discriminant_weighs_speakers_alike_whatever_their_windows():
    timbres, speaker = draw_timbres([20] * 60)
    of_each = [np.flatnonzero(speaker == name) for name in np.unique(speaker)]
    again = np.concatenate([np.tile(rows, 1 + number % 9) for number, rows in enumerate(of_each)])
    once, often = fit_discriminant(timbres, speaker, TRUE), fit_discriminant(timbres[again], speaker[again], TRUE)
    np.testing.assert_allclose(often.mean, once.mean, atol=1e-5)
    np.testing.assert_allclose(once.mean, np.mean([timbres[rows].mean(0) for rows in of_each], 0), atol=1e-5)
    assert subspace_angles(once.directions.numpy(), often.directions.numpy()).max() < 1e-3


def test_fit_discriminant_refuses_too_few_speakers():
    with pytest.raises(TrainingError, match="16 directions need recordings of more than 16 speakers"):
        fit_discriminant(*draw_timbres([5] * 16), 16)


def test_window_error_rate_is_small_along_the_directions_and_half_across_them():
    timbres, speaker = draw_timbres([40] * 30)
    along = fit_discriminant(timbres, speaker, TRUE)
    assert window_error_rate(windows_of(timbres, speaker), along) < 0.1
    rows = np.random.default_rng(3).permutation(len(speaker))
    assert window_error_rate(windows_of(timbres, speaker[rows]), along) == pytest.approx(0.5, abs=0.03)
    assert np.isnan(window_error_rate(windows_of(timbres, np.full(len(speaker), "set/0")), along))


@pytest.fixture
def manifest() -> list[dict[str, str]]:
    """Sixty readers with nine recordings each, and a folder of a choir."""
    people = [("speechocean762", f"{number:04}", 9) for number in range(60)]
    people += [("kathleen", "kathleen", 9), ("kerstin", "kerstin", 20), ("pjs", "koguchi", 9)]
    people.append(("berklee_vowels", "womens_voices", 9))
    rows = [(group, name, f"{group}/{name}/{number}.wav") for group, name, count in people for number in range(count)]
    return [{"path": path, "set": group, "speaker": name, "sex": "f", "kind": "speech"} for group, name, path in rows]


def test_draw_recordings_draws_the_same_up_to_seven_of_each_reader(manifest):
    drawn = draw_recordings(manifest)
    assert drawn == draw_recordings(manifest)
    count = {name: sum(one.speaker == name for one in drawn) for name in {one.speaker for one in drawn}}
    assert {count.pop("kathleen/kathleen"), count.pop("pjs/koguchi"), count.pop("kerstin/kerstin")} == {9, 20}
    assert set(count.values()) == {7}
    assert len(count) == 60
    assert len({one.number for one in drawn}) == len({one.path for one in drawn}) == len(drawn)


def test_fitted_speakers_leaves_half_of_the_readers_and_whom_the_base_does_not_know(manifest):
    fitted = fitted_speakers(manifest)
    assert 20 <= sum(name.startswith("speechocean762") for name in fitted) <= 40
    assert "kerstin/kerstin" in fitted
    assert not {"kathleen/kathleen", "pjs/koguchi"} & fitted


def test_speakers_command_writes_weights_and_card(tmp_path, sing, monkeypatch, capsys):
    monkeypatch.setattr(speaker_windows, "working_processes", lambda: multiprocessing.pool.ThreadPool(1))
    monkeypatch.setattr(module, "_DIRECTIONS", 2)
    rows = ["path\tset\tspeaker\tsex\tkind\tseconds\toriginal_rate"]
    for number in range(16):
        soundfile.write(tmp_path / f"{number}.flac", sing(2.0, hertz=100.0 + 8 * (number // 2), seed=number), 44_100)
        rows.append(f"{number}.flac\tspeechocean762\ts{number // 2}\tf\tspeech\t2.0\t44100")
    (tmp_path / "manifest.tsv").write_text("\n".join(rows) + "\n")
    arguments = ["speakers", "--corpus", str(tmp_path), "--out", str(tmp_path / "out")]
    found = []
    for _ in range(2):
        assert main("pretraining", arguments) == 0
        found.append((tmp_path / "out" / "speakers.safetensors").read_bytes())
    assert found[0] == found[1]
    assert "other speakers: " in capsys.readouterr().out
    discriminant = load_discriminant.__wrapped__(tmp_path / "out" / "speakers.safetensors")
    assert discriminant.mean.shape == (TIMBRE,)
    card = json.loads((tmp_path / "out" / "speakers.json").read_text(encoding="utf-8"))
    assert set(card["speakers"]) == fitted_speakers(module.read_manifest(tmp_path))
