"""The import of a package, with a question first if a voice of its name is already here."""

from collections.abc import Sequence
from pathlib import Path

import gradio as gr

from engine.rvc.sources import SOURCES
from engine.texts import ntr, tr
from engine.voices.card_rules import RVC
from studio.actions.rvc_models import INDEX, RvcFiles, contentvec, is_rvc_model
from studio.actions.uploads import refuse_large
from studio.actions.voices.cards import VoiceDetails
from studio.actions.voices.packages import Namesake, free_name, import_model, namesakes, replace_model
from studio.errors import NotReadable
from studio.languages.reading import said
from studio.page.parts.install import InstallOffer, InstallWords
from studio.page.parts.markup import markup
from studio.page.parts.page import Page, Visit
from studio.page.parts.values import Values


class Question:
    """What is asked where a voice of the package's name is here. name: for keeping both; package: the paths of the
    uploaded files that it is about. outputs: the components changed by `Import.look` and `Import.close`."""

    def __init__(self) -> None:
        with gr.Column(visible=False, elem_id="voices-import-question") as self.place:
            self.asked = gr.HTML()
            self.name = gr.Textbox(label=tr("Name of the imported voice"))
            with gr.Row():
                self.keep = gr.Button(tr("Keep both"), size="sm", variant="primary", min_width=90)
                self.replace = gr.Button(tr("Replace"), size="sm", min_width=90)
                self.cancel = gr.Button(tr("Cancel"), size="sm", min_width=90)
        self.package = gr.State(None)
        self.outputs = [self.place, self.asked, self.name, self.replace, self.package]


class Import:
    """What is imported with `upload`. rvc, speaker, contentvec: for models of RVC."""

    def __init__(self, page: Page, tab: gr.Tab, upload: gr.UploadButton, question: Question) -> None:
        """Lay out what models of RVC need."""
        self.upload, self.question = upload, question
        with gr.Accordion(tr("RVC models"), open=False, elem_id="voices-import-rvc") as self.rvc:
            self.contentvec = InstallOffer(page, tab, contentvec, _contentvec_words(), "voices-contentvec")
            self.speaker = gr.Number(0, label=tr("Speaker number, from 0"), precision=0, minimum=0)

    def offered(self, voice: VoiceDetails) -> Values:
        """Return updates that show what a model of RVC still needs."""
        needs = voice.kind == RVC and not self.contentvec.is_installed
        return {self.rvc: gr.Accordion(open=True)} if needs else {}

    def close(self) -> Values:
        """Return updates that hide the question."""
        return {self.question.place: gr.Column(visible=False), self.question.package: None}

    def look(self, visit: Visit, files: Sequence[str]) -> Values:
        """Return updates that ask what to do where a voice has the name of the one in the package; else none."""
        for one in files:
            refuse_large(visit.studio, Path(one))
        package, _ = _sorted(files)
        called, there = visit.do(namesakes, package)
        if not there:
            return {}
        question = self.question
        return {
            question.place: gr.Column(visible=True),
            question.asked: gr.HTML(_question(called, there)),
            question.name: visit.do(free_name, called),
            question.replace: gr.Button(visible=len(_own(there)) == 1 and not is_rvc_model(package)),
            question.package: list(files),
        }

    def take_in(self, visit: Visit, files: Sequence[str], speaker: float | None, name: str | None = None) -> str:
        """Import the package or the model, with this name or its own; return the voice's id."""
        package, index = _sorted(files)
        with_it = RvcFiles(index, int(speaker or 0) if is_rvc_model(package) else 0)  # the field keeps the last one
        return visit.do(import_model, package, voice_name=name, files=with_it)

    def take_instead(self, visit: Visit, files: Sequence[str]) -> str:
        """Import the package in place of the voice of its name; return that voice's id."""
        package, _ = _sorted(files)
        (model,) = _own(visit.do(namesakes, package)[1])
        visit.do(replace_model, model, package)
        return model


def _contentvec_words() -> InstallWords:
    file = SOURCES[0]
    return InstallWords(
        tr(
            "To convert with an RVC model the studio needs {name}: {megabytes} MB, licence {licence}, by {origin}. "
            "It is stored in the data folder.",
            name=file.name,
            megabytes=file.megabytes,
            licence=file.licence,
            origin=file.origin,
        ),
        tr(
            "RVC models cannot convert here yet. The person who runs this studio can add that: timbre-studio rvc fetch."
        ),
        tr("This demo cannot convert with RVC models: run the studio yourself."),
    )


def _own(voices: Sequence[Namesake]) -> list[str]:
    return [voice.id for voice in voices if not voice.demo]


def _sorted(files: Sequence[str]) -> tuple[Path, Path | None]:
    """Return the package or model among the uploaded files, and the index dropped with it. Raises NotReadable."""
    paths = [Path(one) for one in files]
    indexes = [one for one in paths if one.suffix.lower() == INDEX]
    packages = [one for one in paths if one not in indexes] or indexes
    if len(packages) > 1 or len(indexes) > 1:
        raise NotReadable(tr("Import one voice at a time: an RVC model, and its index if it has one."), "several_files")
    return packages[0], indexes[0] if indexes and indexes != packages else None


def _question(name: str, there: Sequence[Namesake]) -> str:
    shown = f"<strong>{markup(name)}</strong>"
    if len(_own(there)) == 1:
        text = tr(
            "There is already a voice called {shown}. Keep both, under two names, or replace its model and "
            "profile? Its recordings and its training stay.",
            shown=shown,
        )
    elif len(there) == 1:
        text = tr("There is already a demo voice called {shown}. Import this one under another name?", shown=shown)
    else:
        text = ntr(
            "There is already {there} voice called {shown}. Import this one under another name?",
            "There are already {there} voices called {shown}. Import this one under another name?",
            there=len(there),
            shown=shown,
        )
    return f'<p role="alert">{said(text)}</p>'
