"""The Voices tab as visitors use it: heard, edited, blended, carried elsewhere, set to a checkpoint, deleted."""

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import torch
from playwright.sync_api import Page, expect

import engine
from engine.datasets.dataset import create_dataset
from engine.errors import EngineError
from engine.training.history import TrainingHistory, write_history
from engine.voices.card import DEMO_VOICES, load_card
from tests.cards import update_card
from tests.engine.rvc.models import checkpoint_of
from tests.engine.rvc.test_index_file import INDEX
from tests.waiting import WORK_MS

SAMPLES = Path(engine.__path__[0]) / "samples"
BEGUN_MS = 2000  # in which a conversion would have begun
ODD = "<img src=x onerror=alert(1)>"
MADE_OF = {0: "koguchi", 4: "kerstin", 8: "kathleen"}  # demo voices instead of the checkpoints of a training
SCORES = {"likeness": 0.9, "content": 0.8, "mel_distance": 0.5, "pitch_error_cents": 8.0, "voicing_error": 0.1}


@pytest.fixture
def trained(studio_page) -> Iterator[Path]:
    """A voice whose training was judged after 0, 4 and 8 epochs, and stopped; its folder of recordings."""
    home = studio_page.home / "datasets" / "odd"
    create_dataset([SAMPLES / "speech.flac"], home, {"name": ODD, "genre": "jazz"})
    history = TrainingHistory("training", 20, [{"epoch": 8, "steps": 5, "seconds": 1.0, "envelope": 0.5}])
    for epoch, name in MADE_OF.items():
        evaluation = home / "training" / "evaluations" / f"{epoch:06d}"
        shutil.copytree(DEMO_VOICES / name, evaluation)
        update_card(evaluation, name=ODD, training={"epochs": epoch, "steps": 7 * epoch})
        shutil.copytree(SAMPLES / "foreign", evaluation, dirs_exist_ok=True)
        history.evaluations.append(
            {"epoch": epoch, "folder": f"{epoch:06d}", "seconds": 1.0, **SCORES, "score": 1.0 - epoch}
        )
    shutil.copytree(SAMPLES / "foreign", home / "training" / "originals")
    write_history(history, home / "training")
    studio_page.command("voices")  # which imports it
    yield home
    with suppress(EngineError):  # deleted by its test
        studio_page.command("voices", "delete", "odd", "--yes")


@pytest.fixture
def page(visitor, open_tab) -> Page:
    """Somebody who looks at the voices."""
    open_tab(visitor, "Voices")
    expect(shown(visitor)).not_to_be_empty()
    return visitor


@pytest.fixture
def forget(studio_page) -> Iterator[Callable[[str], None]]:
    """Voices that are deleted in the end, if they are there."""
    names: list[str] = []
    yield names.append
    for name in names:
        with suppress(EngineError):  # it is not there
            studio_page.command("voices", "delete", name, "--yes")


def shown(page: Page):
    """The name of the voice that is looked at."""
    return page.locator("#voice-head h2")


def choose(page: Page, name: str) -> None:
    page.locator("#voices-cards").get_by_role("radio", name=name).click()
    expect(shown(page)).to_have_text(name)


def bring(page: Page, *files: Path) -> None:
    with page.expect_file_chooser() as asked:
        page.locator("#voices-import").click()
    asked.value.set_files(files)


def button(page: Page, name: str):
    return page.get_by_role("button", name=name, exact=True)


def test_voices_tab_plays_exports_and_converts_with_a_read_only_demo_voice(page, tmp_path, photographed):
    choose(page, "Kathleen")
    expect(page.locator("#voice-range svg.keyboard")).to_have_attribute("aria-label", "Keyboard. B2 to A#3: B2 to A#3")
    expect(page.locator("#voice-about")).to_contain_text("CC-BY-4.0")
    for name in ("Edit", "Delete", "Train this voice"):
        expect(button(page, name)).to_have_count(0)
    page.locator("#voice-preview .play").click()
    expect(page.locator("#voice-preview .time")).not_to_contain_text("0:00 /")
    photographed(page, "voices")
    with page.expect_download(timeout=WORK_MS) as fetched:
        button(page, "Export").click()
    package = tmp_path / fetched.value.suggested_filename
    fetched.value.save_as(package)
    assert package.name == "Kathleen.voice.zip"
    assert package.stat().st_size > 1_000_000
    button(page, "Open in Convert").click()
    expect(page.get_by_role("tab", name="Convert", exact=True)).to_have_attribute("aria-selected", "true")
    expect(page.locator("#convert-voices [aria-checked=true] .name")).to_have_text("Kathleen")


def test_voices_tab_opens_a_voice_in_convert_without_converting(page, open_tab):
    open_tab(page, "Convert")
    page.get_by_role("button", name="Speech", exact=True).click()
    expect(page.locator("#convert-instrument .play:not([data-welcome] *)")).to_be_visible(timeout=WORK_MS)
    open_tab(page, "Voices")
    choose(page, "Kerstin")
    button(page, "Open in Convert").click()
    expect(page.locator("#convert-voices [aria-checked=true] .name")).to_have_text("Kerstin")
    expect(page.locator("#convert-fit")).to_contain_text(re.compile("Kerstin's range|fit Kerstin"))
    page.wait_for_timeout(BEGUN_MS)
    expect(page.locator("#convert-bar")).to_be_hidden()
    expect(page.locator("#convert-instrument .track")).to_have_count(0)


def test_voices_tab_imports_edits_and_deletes_a_voice_after_confirmation(
    page, studio_page, tmp_path, forget, photographed
):
    package = tmp_path / "koguchi.voice.zip"
    studio_page.command("voices", "export", "koguchi", "--output", str(package))
    forget("koguchi-2")
    (tmp_path / "no.zip").write_bytes(b"nothing")
    bring(page, tmp_path / "no.zip")
    expect(page.locator("#voices-notice")).to_contain_text("not a voice package", timeout=WORK_MS)
    (tmp_path / "mia.pth").write_bytes(b"PK\x03\x04, a model of RVC")
    page.locator("#voices-cards").evaluate(
        """place => {
          const dataTransfer = new DataTransfer();
          dataTransfer.items.add(new File(["PK"], "mia.pth"));
          place.dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer }));
        }"""
    )
    expect(page.locator("#voices-notice")).to_contain_text('"mia.pth" is cut off or damaged', timeout=WORK_MS)

    question = page.locator("#voices-import-question")
    bring(page, package)
    expect(question).to_contain_text("There is already a demo voice called Koguchi.", timeout=WORK_MS)
    expect(question.get_by_role("button", name="Replace")).to_be_hidden()
    button(page, "Cancel").first.click()
    expect(question).to_be_hidden()
    bring(page, package)
    expect(question.get_by_label("Name")).to_have_value("Koguchi 2", timeout=WORK_MS)
    button(page, "Keep both").click()
    expect(page.locator("#voices-notice")).to_contain_text("Koguchi 2 has been imported. Licence: ", timeout=WORK_MS)
    expect(shown(page)).to_have_text("Koguchi 2")

    button(page, "Edit").click()
    form = page.locator("#voice-form")
    expect(form.get_by_label("Name", exact=True)).to_have_value("Koguchi 2")
    form.get_by_label("Name", exact=True).fill(ODD)
    form.get_by_label("Date of consent").fill("May")
    photographed(page, "voices-edit")
    button(page, "Save").click()
    expect(page.locator("#voice-problem")).to_contain_text("must be a day")
    expect(form.get_by_label("Name", exact=True)).to_have_value(ODD)
    form.get_by_label("Date of consent").fill("2026-03-31")
    button(page, "Save").click()
    expect(shown(page)).to_have_text(ODD)
    card = load_card(studio_page.home / "voices" / "koguchi-2")
    assert (card.name, card.consent["date"]) == (ODD, "2026-03-31")

    button(page, "Delete").click()
    expect(page.locator("#voice-question")).to_contain_text("This cannot be undone")
    button(page, "Cancel").click()
    expect(page.locator("#voice-question")).to_be_hidden()
    button(page, "Delete").click()
    button(page, "Delete voice").click()
    expect(page.locator("#voices-notice")).to_contain_text("deleted")
    expect(page.locator("#voices-cards").get_by_text(ODD)).to_have_count(0)
    assert not (studio_page.home / "voices" / "koguchi-2").exists()


def test_voices_tab_blends_two_voices(page, forget, photographed):
    forget("half-and-half")
    button(page, "Blend voices").click()
    button(page, "Blend").click()
    expect(page.locator("#voices-blend-problem")).to_contain_text("Choose two voices")
    blend = page.locator("#voices-blend")
    for label, name in (("First voice", "Kathleen"), ("Second voice", "Koguchi")):
        choice = blend.get_by_role("combobox", name=label)
        choice.fill(name)
        choice.press("Enter")
        expect(choice).to_have_value(name)
    blend.get_by_label("Name", exact=True).fill("Half and half")
    photographed(page, "voices-blend")
    button(page, "Blend").click()
    expect(shown(page)).to_have_text("Half and half", timeout=WORK_MS)
    expect(blend).to_be_hidden()
    expect(page.locator("#voice-about")).to_contain_text("Kathleen (50 %), Koguchi (50 %)")
    expect(page.locator("#voice-preview .time")).to_contain_text("/ 0:0")


def test_voices_tab_lists_the_checkpoints_and_uses_the_chosen_one(page, trained, studio_page, open_tab, photographed):
    page.reload()
    open_tab(page, "Voices")
    expect(shown(page)).not_to_be_empty()
    choose(page, ODD)
    expect(page.locator("#voice-head .badge")).to_have_text("not trained")
    expect(button(page, "Open in Convert")).to_be_visible()  # as it is before its training
    page.locator("#voice-checkpoints").get_by_role("button", name="Checkpoints").click()
    tracks = page.locator("#voice-checkpoints-player").get_by_role("radio")
    expect(tracks).to_have_count(4)
    expect(tracks.nth(1)).to_have_attribute("aria-checked", "true")  # the best
    tracks.nth(2).click()
    photographed(page, "voices-checkpoints")
    button(page, "Use epoch 4").click()
    expect(page.locator("#voice-checkpoints-notice")).to_contain_text("now uses epoch 4")
    expect(page.locator("#voice-checkpoints-choose")).to_have_text("Epoch 4 is in use")
    expect(button(page, "Open in Convert")).to_be_visible()
    home = studio_page.home / "voices" / "odd"
    assert (home / "weights.safetensors").read_bytes() == (DEMO_VOICES / "kerstin" / "weights.safetensors").read_bytes()
    button(page, "Continue training").click()
    expect(page.get_by_role("tab", name="Train", exact=True)).to_have_attribute("aria-selected", "true")
    open_tab(page, "Voices")
    expect(shown(page)).to_have_text(ODD)
    button(page, "Delete").click()
    button(page, "Delete voice").click()
    expect(page.locator("#voices-notice")).to_contain_text("deleted")
    assert not trained.exists()


def test_voices_tab_imports_an_rvc_model_and_reports_missing_contentvec(
    page, studio_page, tmp_path, forget, photographed
):
    torch.save(checkpoint_of("v1"), tmp_path / "Rvc Mia.pth")
    forget("rvc-mia")
    expect(button(page, "Make it ours")).to_have_count(0)  # a demo voice
    page.get_by_role("button", name="RVC models").click()
    page.get_by_label("Speaker number, from 0").fill("9")
    bring(page, tmp_path / "Rvc Mia.pth")
    notice = page.locator("#voices-notice")
    expect(notice).to_contain_text('"Rvc Mia.pth" has no speaker 9: they are numbered from 0 to 2', timeout=WORK_MS)
    page.get_by_label("Speaker number, from 0").fill("2")
    bring(page, tmp_path / "Rvc Mia.pth", INDEX)
    expect(shown(page)).to_have_text("Rvc Mia", timeout=WORK_MS)
    card = load_card(studio_page.home / "voices" / "rvc-mia")
    assert (card.model["speaker"], card.model["probes"]) == (2, 1)
    button(page, "Make it ours").click()
    form = page.locator("#voices-teach")
    expect(form).to_contain_text("sings the bundled recordings and yours")
    photographed(page, "make-it-ours")
    page.locator("#voices-teach-begin").click()
    expect(page.locator("#voices-teach-problem")).to_contain_text("timbre-studio rvc fetch")
    there = studio_page.home / "models" / "contentvec.safetensors"
    there.parent.mkdir(exist_ok=True)
    there.write_bytes(b"no weights")
    page.locator("#voices-teach-recordings input[type=file]").set_input_files(SAMPLES / "speech.flac")
    page.locator("#voices-teach-begin").click()
    expect(form.get_by_role("progressbar").or_(page.locator("#voices-teach-problem"))).not_to_have_count(0)
    expect(page.locator("#voices-teach-problem")).to_contain_text("is damaged", timeout=WORK_MS)
    expect(page.locator("#voices-teach-begin")).to_be_enabled()
    there.unlink()
    choose(page, "Kathleen")
    expect(button(page, "Make it ours")).to_have_count(0)
    expect(form).to_be_hidden()
