"""What a file is that is no model of RVC, or one that needs another content encoder than the studio has."""

from collections.abc import Collection, Mapping
from pathlib import Path

from engine.files import shown_name
from engine.rvc.sandbox import ModelFileError
from engine.texts import tr

_LONGEST_START = 64  # bytes of a file that tell what it is
_LONGEST_NAME = 40  # characters that are shown of what a file says
_PAGE = (b"<!doctype html", b"<html", b"<?xml", b"<head")
_POINTER = b"version https://git-lfs"
_OTHERS = {  # how files begin that people rename
    b"\x08": tr("an ONNX model: rename it so that it ends in .onnx"),
    b"IwFl": tr("an index of RVC: import it together with its model"),
    b"IxF": tr("an index of RVC: import it together with its model"),
    b"RIFF": tr("a recording: import the model that was made from it"),
}
SO_VITS = "so-vits-svc"
_GPT_SOVITS, _OPENVOICE, _VITS = "GPT-SoVITS", "OpenVoice", tr("VITS (text to speech)")
# beginnings of names of weights that only the models of these programs have
_PROGRAMS = {
    ("pre.weight", "emb_uv.", "f0_decoder."): SO_VITS,
    ("ssl_proj.", "quantizer.", "enc_p.ssl_proj.", "model.ar_"): _GPT_SOVITS,
    ("ref_enc.",): _OPENVOICE,
    ("enc_p.emb.", "sdp."): _VITS,
}
_PICKLED_SETTINGS = "utils.HParams"  # the class that stands in files of GPT-SoVITS
# what RVC and its forks call the encoder that RVC has always read, by either name: its hubert_base.pt is ContentVec
_CONTENTVEC = {"contentvec", "contentvecbest", "hubert", "hubertbase", "contentvec768l12", "vec768l12", "vec256l9"}


def refuse_foreign(path: Path) -> None:
    """Raise ModelFileError for an empty file, and for what a web site gives in place of one."""
    start = beginning_of(path)
    if not start:
        raise ModelFileError(tr('"{name}" is empty: download or copy it again.', name=shown_name(path)), "truncated")
    if start.startswith(_POINTER):
        raise ModelFileError(
            tr(
                '"{name}" is not the file itself but a Git LFS pointer to it: run `git lfs pull`, or download the '
                "file in the browser.",
                name=shown_name(path),
            ),
            "not_a_model",
        )
    if start.removeprefix(b"\xef\xbb\xbf").lstrip().lower().startswith(_PAGE):
        raise ModelFileError(
            tr(
                '"{name}" is a web page, not the file itself: download it with the download button of that page.',
                name=shown_name(path),
            ),
            "not_a_model",
        )


def beginning_of(path: Path) -> bytes:
    """Return the first bytes of a file."""
    with path.open("rb") as file:
        return file.read(_LONGEST_START)


def no_model(name: str, start: bytes = b"") -> ModelFileError:
    """Return the error of a file that is no model; start: how it begins."""
    if start[:1] == b"0" and start[2:4] == b"\x03\x04":  # GPT-SoVITS writes its version over the letters PK of a ZIP
        return of_program(name, _GPT_SOVITS)
    for beginning, kind in _OTHERS.items():
        if start.startswith(beginning):
            return ModelFileError(tr('"{name}" is {kind}.', name=name, kind=kind), "not_a_model")
    return ModelFileError(
        tr(
            '"{name}" is not a model. The studio opens voices of its own (.voice.zip) and RVC models (.pth, .onnx).',
            name=name,
        ),
        "not_a_model",
    )


def of_program(name: str, program: str) -> ModelFileError:
    """Return the error of another program's model."""
    return ModelFileError(
        tr(
            '"{name}" is a model of {program}, which works differently: the studio opens RVC models. If you have the '
            "recordings behind it, create a new voice from them.",
            name=name,
            program=program,
        ),
        "so_vits" if program == SO_VITS else "foreign_model",
    )


def refuse_other_programs(name: str, weights: Collection[object]) -> None:
    """Raise ModelFileError if the names of these weights are those of another program."""
    for beginnings, program in _PROGRAMS.items():
        if any(str(weight).startswith(beginnings) for weight in weights):
            raise of_program(name, program)


def refuse_foreign_pickle(name: str, said: str) -> None:
    """Raise ModelFileError if what the unpickler said names the class of another program's settings."""
    if _PICKLED_SETTINGS in said:
        raise of_program(name, _GPT_SOVITS)


def refuse_other_encoder(name: str, stated: Mapping[str, object], layer: int) -> None:
    """Raise ModelFileError for a model that was trained on another content encoder than ContentVec, or another layer.

    stated: what the file says of itself, as RVC's forks write it: `embedder_model` (Applio), `embedder_name` and
    `embedder_output_layer`, or `embedder` and `embOutputLayer` (in ONNX). layer: which RVC reads for this width. Files
    that say nothing are RVC's own.
    """
    encoder = next((stated[key] for key in ("embedder_model", "embedder_name", "embedder") if stated.get(key)), "")
    shown = "".join(one for one in str(encoder) if one.isprintable())[:_LONGEST_NAME]
    plain = "".join(one for one in Path(shown).stem.lower() if one.isalnum())
    if plain and plain.removesuffix("768") not in _CONTENTVEC and plain not in _CONTENTVEC:
        raise _other_encoder(name, tr("the content encoder {shown}", shown=shown))
    found = next((stated[key] for key in ("embedder_output_layer", "embOutputLayer") if stated.get(key)), layer)
    if str(found) not in (str(layer), "-1" if layer == 12 else str(layer)):  # counted from the end, the last one
        raise _other_encoder(
            name, tr("layer {found} of its content encoder, not {layer}", found=str(found)[:_LONGEST_NAME], layer=layer)
        )


def _other_encoder(name: str, encoder: str) -> ModelFileError:
    return ModelFileError(
        tr(
            '"{name}" was trained on {encoder}; the studio has only ContentVec, with which its words would be lost: '
            "import a model trained on ContentVec, or create a new voice from the recordings behind it.",
            name=name,
            encoder=encoder,
        ),
        "other_encoder",
    )
