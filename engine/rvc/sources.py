"""Where ContentVec comes from and where it lies; importing this loads no network."""

import os
from pathlib import Path

from engine.pinned import PinnedFile
from engine.provenance.installation import data_folder
from engine.texts import tr

CONTENTVEC_FILE = "contentvec.safetensors"

# Sizes and checksums as published with these revisions, and stated alike by independent projects that pin them.
SOURCES = (
    PinnedFile(
        name="ContentVec",
        file_name="pytorch_model.bin",
        size=378_342_945,
        sha256="d8dd400e054ddf4e6be75dab5a2549db748cc99e756a097c496c099f65a4854e",
        url="https://huggingface.co/lengyue233/content-vec-best/resolve/ab04aa7067b99ee05cc82499bc64916b980a1967/"
        "pytorch_model.bin",
        licence="MIT",
        origin=tr("Qian et al. (2022), in the layout of Transformers by lengyue233"),
    ),
    PinnedFile(
        name=tr("ContentVec in half precision"),
        file_name="hubert_base.pt",
        size=189_507_909,
        sha256="f54b40fd2802423a5643779c4861af1e9ee9c1564dc9d32f54f20b5ffba7db96",
        url="https://huggingface.co/lj1995/VoiceConversionWebUI/resolve/1c75048c96f23f99da4b12909b532b5983290d7d/"
        "hubert_base.pt",
        licence="MIT",
        origin=tr("Qian et al. (2022), in the layout of fairseq as RVC ships it"),
    ),
)


def contentvec_path() -> Path:
    """Return where ContentVec lies once it is installed.

    >>> contentvec_path().suffix
    '.safetensors'
    """
    return data_folder(os.environ) / "models" / CONTENTVEC_FILE
