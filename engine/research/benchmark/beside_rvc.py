"""A voice of this studio beside a model of RVC of the same singer, measured, and to be listened to blindly.

    python -m engine.benchmark beside-rvc --model rita.pth --index rita.index --recordings RITA --sources SOURCES

Our voice is made from the singer's recordings as the studio makes it: report, training, best checkpoint. The last
fifth of their sound, at most three minutes, is held out (held_out.py): it is what both are compared with. The model of
RVC has most likely learned it, so likeness is in its favour. Both convert the sources at the same transposition, which
ours chooses; RVC's own page leaves it to its user. RVC runs in our host (engine/rvc) with the settings of its page:
search feature ratio 0.75, protect voiceless consonants 0.33.

Columns are the sources as they are, the control (the singer's own sound with their melody), RVC and ours, and by how
much ours is higher, with 95 % of a bootstrap over the sources. Rows are those of the part `opinions`, the words that
Whisper base gets wrong in spoken sources, pitch within 50 cents, and the seconds of work for a second of sound on this
machine. `listening/index.html` in the folder of --work is a blind test that opens in a browser without a network.

Needs ContentVec (`timbre-studio rvc fetch`), and what word-errors and opinions need. Made again with the same --work,
it resumes the training.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import cycle
from pathlib import Path

import numpy as np

from engine.audio.files import Audio, read_audio
from engine.conversion.settings import ConversionValues
from engine.datasets.dataset import create_dataset, load_dataset
from engine.errors import AudioError, EngineError
from engine.evaluation.performance import compare_performances, trace
from engine.research.benchmark.held_out import SingersRecordings, part_recordings
from engine.research.benchmark.judges import Judges
from engine.research.benchmark.listening import Compared, write_listening_page
from engine.research.benchmark.machine import describe_machine
from engine.research.benchmark.opinions import COLUMNS, Judged, JudgedVoice, Opinion, opinions, outputs_in, row
from engine.research.benchmark.quality import keep
from engine.research.benchmark.recordings import find_recordings
from engine.research.benchmark.samples import Sample, timed_conversion
from engine.research.benchmark.training import first_recordings
from engine.research.benchmark.word_errors import WordErrors, recognised, short_outputs, whisper
from engine.research.command import every_few_seconds, log
from engine.research.tables import table
from engine.rvc.contentvec import load_contentvec
from engine.training.plan import TrainingPlan
from engine.training.train import train_dataset
from engine.voices.imported import AnyVoice, import_rvc, load_any_voice
from engine.voices.voice import Voice

RVC, OURS = "RVC", "ours"
_AS_RVC: ConversionValues = {"retrieval": 0.75, "consonant_protection": 0.67}  # its page has 0.33: 1 is none
_NO_INDEX = "none"
_NOTE = "comparison.json"  # of a folder of --work: the recordings that ours learned
_WARM_S = 3.0
_RESAMPLED = 2_000  # times, for the spread over the sources
_LABELS = {
    "speaker_similarity": "similarity to the singer, resemblyzer",
    "way": "  share of the way to the control",
    "source": "similarity to the source, resemblyzer",
    "leak": "  share of the leak, above the control",
    "second": "similarity to the singer, CAM++",
    "second_way": "  share of the way to the control",
    "second_source": "similarity to the source, CAM++",
    "second_leak": "  share of the leak, above the control",
    "p808": "P.808 less the source's",
    "ovrl": "OVRL less the source's",
    "distilled": "DistillMOS less the source's",
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the model, the singer, what is converted, and how long ours may learn."""
    parser.add_argument("--model", type=Path, required=True, metavar="FILE", help="the model of RVC, .pth or .onnx")
    parser.add_argument("--index", metavar="FILE", help=f"its .index; {_NO_INDEX}: it has none")
    parser.add_argument("--speaker", type=int, default=0, metavar="N", help="of a model with several (default: 0)")
    parser.add_argument("--recordings", type=Path, required=True, metavar="DIR", help="of the same singer, dry")
    parser.add_argument("--sources", type=Path, nargs="+", required=True, metavar="FILE", help="files, or a folder")
    parser.add_argument("--epochs", type=int, default=TrainingPlan.epochs, help="of our training, at most")
    parser.add_argument("--seconds", type=float, metavar="S", help="of the singer that ours learns (default: all)")
    parser.add_argument("--seed", type=int, default=0, help="of the order of the listening page (default: 0)")
    parser.add_argument("--whisper", default="base", metavar="MODEL", help="as for word-errors")
    parser.add_argument("--work", type=Path, default=Path("beside-rvc"), metavar="DIR", help="default: beside-rvc")


def run(options: argparse.Namespace) -> Iterator[str]:
    """Make our voice, convert with both, and yield the table and where the listening page is."""
    sources = {path.name: path for path in _sources(options.sources)}
    plan, recordings = TrainingPlan(epochs=options.epochs), find_recordings(options.recordings)
    asked = json.dumps([options.seconds, *([path.name, path.stat().st_size] for path in recordings)])
    _refuse_another_comparison(options.work, asked)
    judges, recognise = Judges(), whisper(options.whisper)
    with tempfile.TemporaryDirectory() as place:
        rvc = _imported(options, Path(place))
        singer = part_recordings(recordings, options.work / "recordings")
        (options.work / _NOTE).write_text(asked, encoding="utf-8")
        ours = _trained(singer, options.work / "voice", plan, options.seconds)
        samples = _converted(sources, ours, rvc)
    outputs = options.work / "outputs"
    keep(samples, {}, outputs)
    voice = JudgedVoice(judges.of_voice(singer.held_out), singer.learned)
    made = [one for one in outputs_in(outputs) if one.source in sources]
    heard = {name: judges.measure(path) for name, path in sources.items()}
    judged = opinions(judges, heard, made, dict.fromkeys((RVC, OURS), voice))
    spoken = dict.fromkeys(sample.source for sample in samples if sample.style != "melodic")
    words = recognised([sources[name] for name in spoken], outputs, recognise)
    wrong = {(output.source, output.voice): found for output, found in words}
    yield comparison_table(samples, judged, wrong, _pitch(sources, samples))
    yield "\n".join(filter(None, [*short_outputs(words), judges.missing, _machine()]))
    page = write_listening_page(options.work / "listening", _compared(sources, samples, singer), options.seed)
    yield f"To be listened to blindly, in a browser: {page}"


# ---- before anything that takes time


def _sources(given: Sequence[Path]) -> list[Path]:
    """Return the files of `--sources`. Raises AudioError for one that is missing, and for two of one name."""
    paths = [path for one in given for path in (find_recordings(one) if one.is_dir() else [one])]
    if missing := [path for path in paths if not path.is_file()]:
        raise AudioError(f"There is no recording {missing[0]}: give files, or one folder, with --sources.")
    names = [path.name for path in paths]
    if twice := [name for name in names if names.count(name) > 1]:
        raise AudioError(f"Two sources are called {twice[0]}: rename one of them.")
    return paths


def _refuse_another_comparison(work: Path, asked: str) -> None:
    """Raise EngineError for a folder that holds anything but an earlier run with the same recordings."""
    note = work / _NOTE
    held = note.read_text(encoding="utf-8") if note.is_file() else None
    if held != asked and work.exists() and (not work.is_dir() or any(work.iterdir())):
        raise EngineError(f"{work} holds something else, which is kept: choose another folder with --work.")


def _imported(options: argparse.Namespace, place: Path) -> AnyVoice:
    """Import the model of RVC into a folder. Raises EngineError for what is none, or where something is missing."""
    if options.index is None:
        raise EngineError(
            f"RVC converts with an index: give it with --index FILE, or say --index {_NO_INDEX} if the model has none."
        )
    index = None if options.index == _NO_INDEX else Path(options.index)
    for given, path in {"the model with --model": options.model, "the index of the model with --index": index}.items():
        if path is not None and not path.is_file():
            raise EngineError(f"There is no file {path}: give {given}.")
    load_contentvec()
    card = import_rvc(options.model, place, index, speaker=options.speaker)
    return load_any_voice(place / card.id)


# ---- our voice, and both conversions


def _trained(singer: SingersRecordings, home: Path, plan: TrainingPlan, seconds: float | None) -> Voice:
    """Make our voice as the studio does, or resume."""
    learned = singer.learned if seconds is None else first_recordings(singer.learned, seconds)
    dataset = load_dataset(home) if home.exists() else create_dataset(learned, home, {"name": "Ours"})
    return train_dataset(dataset, plan, every_few_seconds())


def _converted(sources: dict[str, Path], ours: Voice, rvc: AnyVoice) -> list[Sample]:
    """Convert every source with ours, which chooses the transposition, and with RVC at the same one."""
    samples: list[Sample] = []
    for number, (name, path) in enumerate(sources.items()):
        log(f"converting {name} with both")
        audio = read_audio(path)
        if not number:  # what is loaded at the first conversion is not counted
            beginning = Audio(audio.samples[:, : round(_WARM_S * audio.rate)], audio.rate)
            for voice in (ours, rvc):
                timed_conversion(name, beginning, voice, {"transpose": 0})
        own = timed_conversion(name, audio, ours, {})
        other = timed_conversion(name, audio, rvc, {**_AS_RVC, "transpose": own.transpose})
        samples += [replace(other, voice=RVC), replace(own, voice=OURS)]
    return samples


def _pitch(sources: dict[str, Path], samples: Sequence[Sample]) -> dict[tuple[str, str], float | None]:
    sung = {name: trace(path) for name, path in sources.items()}
    return {
        (one.source, one.voice): compare_performances(sung[one.source], trace(one.output), one.transpose).pitch_accuracy
        for one in samples
    }


# ---- what is printed

Measured = Mapping[tuple[str, str], tuple[float, float]]  # by source and voice: a sum and its weight


def comparison_table(
    samples: Sequence[Sample],
    judged: Sequence[Judged],
    words: Mapping[tuple[str, str], WordErrors],
    pitch: Mapping[tuple[str, str], float | None],
) -> str:
    """Format the measures, a row each: sources, controls, both conversions, and ours less RVC."""
    groups = {name: [one for one in judged if one.output.voice == name] for name in (RVC, OURS)}
    columns = {
        "unconverted": row("", groups[OURS], lambda one: one.stranger),
        "control": row("", groups[OURS], lambda one: one.control),
        **{name: row("", group) for name, group in groups.items()},
    }
    values = _values(samples, judged, words, pitch)
    lines = [
        [_LABELS[column], *(cells[2 + number] for cells in columns.values()), _difference(values.get(column, {}))]
        for number, column in enumerate(COLUMNS)
        if column in _LABELS
    ]
    for name in ("words wrong", "pitch within 50 cents", "seconds of work for a second"):
        lines.append([name, "-", "-", *(_mean(values[name], voice) for voice in groups), _difference(values[name])])
    spoken = sum(found.words for (_, voice), found in words.items() if voice == OURS)
    heading = f"{len(groups[OURS])} sources, {sum(one.audio_s for one in samples) / 2:.0f} s, {spoken} spoken words"
    return f"{heading}\n\n{table(['', *columns, f'{OURS} less {RVC} (95 %)'], lines)}"


def _values(
    samples: Sequence[Sample],
    judged: Sequence[Judged],
    words: Mapping[tuple[str, str], WordErrors],
    pitch: Mapping[tuple[str, str], float | None],
) -> dict[str, Measured]:
    values: dict[str, Measured] = {
        field.name: {
            (one.output.source, one.output.voice): (value, 1.0)
            for one in judged
            if (value := getattr(one.opinion, field.name)) is not None
        }
        for field in fields(Opinion)
    }
    values["words wrong"] = {key: (found.wrong, found.words) for key, found in words.items()}
    values["pitch within 50 cents"] = {key: (share, 1.0) for key, share in pitch.items() if share is not None}
    values["seconds of work for a second"] = {(one.source, one.voice): (one.wall_s, one.audio_s) for one in samples}
    return values


def _mean(values: Measured, voice: str) -> str:
    own = [pair for (_, of), pair in values.items() if of == voice]
    weight = sum(weight for _, weight in own)
    return f"{sum(total for total, _ in own) / weight:.3f}" if weight else "-"


def _difference(values: Measured) -> str:
    """Say by how much ours is higher, and 95 % of that over sources drawn with replacement."""
    both = [source for source, voice in values if voice == OURS and (source, RVC) in values]
    rows = np.array([[values[source, OURS][0] - values[source, RVC][0], values[source, OURS][1]] for source in both])
    if not both or not rows[:, 1].sum():
        return "-"
    drawn = rows[np.random.default_rng(0).integers(0, len(rows), (_RESAMPLED, len(rows)))].sum(1)
    low, high = np.quantile(drawn[:, 0] / np.maximum(drawn[:, 1], 1e-9), (0.025, 0.975))
    apart = rows[:, 0].sum() / rows[:, 1].sum()
    return f"{apart:+.3f} ({low:+.3f} to {high:+.3f})"


def _machine() -> str:
    machine = describe_machine()
    return f"{machine['processor']}, {machine['threads']} threads, load before {machine['load_before']}"


def _compared(sources: Mapping[str, Path], samples: Sequence[Sample], singer: SingersRecordings) -> list[Compared]:
    made = {(sample.source, sample.voice): sample.output for sample in samples}
    held_out, found = cycle(singer.held_out), []
    for name, path in sources.items():
        outputs = {voice: made[name, voice] for voice in (RVC, OURS)}
        found.append(Compared(name, read_audio(path), outputs, read_audio(next(held_out))))
    return found
