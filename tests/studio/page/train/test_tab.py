"""The Train tab as visitors use it, with a real training that is as short as can be."""

import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import engine
from engine.datasets.dataset import create_dataset, load_dataset
from engine.errors import EngineError
from engine.training.plan import TrainingPlan
from tests.waiting import WORK_MS

SAMPLES = Path(engine.__path__[0]) / "samples"
LEFT_MS = 2000  # after a list was left, which chose again what it had


@pytest.fixture(scope="module")
def recordings(tmp_path_factory) -> Path:
    """The folder of a dataset with a minimum of a voice."""
    folder = tmp_path_factory.mktemp("recordings")
    sounds = [SAMPLES / "speech.flac", SAMPLES / "singing.flac", SAMPLES / "foreign" / "singing-high.flac"]
    return create_dataset(sounds, folder / "dataset", {"name": "Mia"}).folder


@pytest.fixture(scope="module")
def begun(recordings, short_auditions, tmp_path_factory) -> Path:
    """The same after an epoch in steps that are quick, heard on a second each of others."""
    from engine.training.train import train_dataset

    folder = shutil.copytree(recordings, tmp_path_factory.mktemp("begun") / "dataset")
    train_dataset(load_dataset(folder), TrainingPlan(epochs=1, batch=8, foreign=1))
    return folder


@pytest.fixture
def brought(studio_page) -> Callable[[Path, str], None]:
    """Brings a dataset into the service's folder, and imports it; what is there is gone afterwards."""
    made = []

    def bring(dataset: Path, name: str) -> None:
        home = studio_page.home / "datasets" / name
        shutil.copytree(dataset, home)
        profile = home / "model.json"
        profile.write_text(profile.read_text().replace('"Mia"', f'"{name.capitalize()}"'))
        studio_page.command("voices")  # which imports it
        made.append(name)

    yield bring
    for name in made:
        with suppress(EngineError):  # deleted by its test
            studio_page.command("voices", "delete", name, "--yes")


@pytest.fixture
def page(visitor) -> Page:
    return visitor


def choose(page: Page, name: str) -> None:
    choice = page.get_by_role("combobox", name="Voice")
    page.wait_for_timeout(1000)  # a single voice is chosen by itself, with the epochs that are proposed for it
    if choice.input_value().startswith(name):
        return
    choice.click()
    page.get_by_role("option", name=re.compile(rf"^{name}")).click()
    page.wait_for_timeout(1000)  # what is proposed comes a moment later, and would take the place of what is typed


def state(page: Page):
    return page.locator("#train-state .fact").first


def test_train_tab_without_a_voice_shows_what_will_be_seen_and_leads_to_create(page, open_tab):
    open_tab(page, "Train")
    expect(page.locator("#train-state")).to_contain_text("No voices to train yet.")
    expect(page.locator("#train-preview")).to_contain_text("intelligibility")
    expect(page.get_by_role("button", name="Start training")).to_have_count(0)
    page.get_by_role("button", name="Create a voice").click()
    expect(page.get_by_role("tab", name="Create", exact=True)).to_have_attribute("aria-selected", "true")


def test_train_tab_continues_a_training_with_curves_and_auditions(
    studio_page, page, open_tab, brought, begun, photographed
):
    brought(begun, "mia")
    open_tab(page, "Train")
    choose(page, "Mia")
    expect(state(page)).to_contain_text("stopped, can be continued")
    expect(page.locator("timbre-curves .pill")).to_have_count(3)
    expect(page.locator("#train-preview")).to_be_hidden()
    heights = []
    for height in (720, 1080):  # the curve is as high as the window lets it
        page.set_viewport_size({"width": 1280, "height": height})
        page.wait_for_timeout(300)
        heights.append(page.locator("timbre-curves svg").bounding_box()["height"])
    page.set_viewport_size({"width": 1280, "height": 720})
    assert heights[1] == pytest.approx(heights[0] + 360, abs=2)
    expect(page.locator("#train-estimate")).to_contain_text("from epoch 1 to")
    page.get_by_label("Epochs", exact=True).fill("3")
    page.get_by_label("Epochs", exact=True).press("Tab")
    expect(page.locator("#train-estimate")).to_contain_text("from epoch 1 to 3")
    page.get_by_role("button", name="Continue from epoch 1").click()
    expect(page.locator("#train-queue .task")).to_have_count(1)
    expect(page.get_by_role("button", name="Stop", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Continue from epoch 1")).to_be_disabled()

    expect(state(page)).to_contain_text("trained", timeout=WORK_MS)  # by itself: it is followed
    expect(page.locator("#train-queue .task")).to_have_count(0)
    expect(page.get_by_role("button", name="Convert with this voice")).to_have_class(re.compile("primary"))
    expect(page.get_by_role("button", name="Continue from epoch 3")).not_to_have_class(re.compile("primary"))
    expect(page.locator("#train-state")).to_contain_text("3 of 3")
    expect(page.locator("#train-state")).to_contain_text(re.compile(r"Best checkpoint✓? ?epoch \d, score \d\.\d{3}"))
    assert (studio_page.home / "voices" / "mia" / "card.json").is_file()

    expect(page.locator("#train-player [role=radio]").first).to_contain_text("Original")
    expect(page.locator("#train-player [role=radio]").last).to_contain_text("Epoch 3")
    expect(page.locator("#train-scores .fact").last).to_contain_text("likeness 0.")
    expect(page.locator("#train-player .time")).to_contain_text("0:0")
    curve = page.locator("timbre-curves svg").first
    curve.press("Home")
    expect(page.locator("#train-player [role=radio][aria-checked=true]")).to_contain_text("Before training")
    expect(curve).to_have_attribute("aria-valuenow", "0")
    expect(curve).to_be_focused()
    photographed(page, "train")

    use = page.locator("#train-use")
    page.locator("#train-player [role=radio]").last.click()
    expect(use).to_have_text("Epoch 3 is in use")
    page.locator("#train-player [role=radio]").nth(1).click()
    expect(use).to_have_text("Use epoch 0")
    use.click()
    expect(page.locator("#train-notice")).to_contain_text("The voice now uses epoch 0.")
    expect(use).to_have_text("Epoch 0 is in use")
    expect(page.locator("#train-state")).to_contain_text("chosen by ear")

    page.get_by_role("button", name="Continue from epoch 3").click()
    expect(page.locator("#train-notice")).to_contain_text("is already trained for 3 epochs")
    open_tab(page, "History")
    page.get_by_role("radio", name="All work").check()
    expect(page.locator("#history-tasks .task").first).to_contain_text("Training, 3 epochs")


def test_train_tab_queues_and_stops_several_trainings(page, open_tab, brought, begun):
    for name in ("ada", "bea"):
        brought(begun, name)
    open_tab(page, "Train")
    for name in ("Ada", "Bea"):
        choose(page, name)
        expect(state(page)).to_contain_text("stopped")
        page.get_by_label("Epochs", exact=True).fill("900")
        page.get_by_label("Epochs", exact=True).press("Tab")
        page.get_by_role("button", name="Continue from epoch 1").click()
        expect(page.locator("#train-queue .task").filter(has_text=name)).to_have_count(1)
    expect(state(page)).to_contain_text("up next")
    waiting = page.locator("#train-queue .task").filter(has_text="Bea")
    waiting.locator(".task-head").click()
    waiting.locator(".actions .train").click()
    waiting.locator(".actions .cancel").click()
    expect(waiting).to_have_count(0)
    choose(page, "Ada")
    expect(state(page)).to_contain_text("in training", timeout=WORK_MS)
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.locator("#train-notice")).to_contain_text("training can continue")
    expect(state(page)).to_contain_text("stopped, can be continued", timeout=WORK_MS)
    expect(page.locator("#train-queue .task")).to_have_count(0, timeout=WORK_MS)


def test_train_tab_start_over_deletes_progress_and_estimates_the_time(studio_page, page, open_tab, brought, begun):
    brought(begun, "cleo")
    open_tab(page, "Train")
    choose(page, "Cleo")
    page.get_by_role("button", name="More settings").click()
    batch = page.get_by_role("slider", name=re.compile("^Batch|range slider for Batch")).first
    expect(batch).to_be_disabled()
    page.get_by_role("button", name="Start over").click()
    page.get_by_role("button", name="Delete progress").click()
    expect(page.locator("#train-notice")).to_contain_text("starts from scratch")
    expect(state(page)).to_contain_text("not trained")
    expect(batch).to_be_enabled()
    assert not (studio_page.home / "datasets" / "cleo" / "training").exists()
    expect(page.locator("#train-estimate")).to_contain_text("Estimating training time")
    expect(page.locator("#train-estimate")).to_contain_text(re.compile(r"About \d+ \w+"), timeout=WORK_MS)


def test_train_tab_shows_errors_in_place_and_keeps_form_values(page, open_tab, brought, begun):
    brought(begun, "dora")
    open_tab(page, "Train")
    choose(page, "Dora")
    expect(state(page)).to_contain_text("stopped")
    page.get_by_label("Epochs", exact=True).fill("0")
    page.get_by_label("Epochs", exact=True).press("Tab")
    page.get_by_role("button", name="Continue from epoch 1").click()
    expect(page.locator("#train-notice [role=alert]")).to_contain_text("epochs must be a whole number from 1")
    page.get_by_label("Epochs", exact=True).fill("77")
    page.get_by_label("Epochs", exact=True).press("Tab")
    expect(page.locator("#train-estimate")).to_contain_text("to 77")
    page.get_by_role("combobox", name="Voice").focus()
    page.keyboard.press("Tab")
    page.wait_for_timeout(LEFT_MS)
    expect(page.get_by_label("Epochs", exact=True)).to_have_value("77")  # to go through the list is to choose nothing
    page.wait_for_function("localStorage.getItem('timbre-train')")
    page.reload()
    open_tab(page, "Train")
    expect(page.get_by_label("Epochs", exact=True)).to_have_value("77")
    expect(page.get_by_role("combobox", name="Voice")).to_have_value(re.compile("^Dora"))


def test_train_tab_selects_the_voice_chosen_in_the_voices_tab(studio_page, page, open_tab, brought, recordings, begun):
    brought(begun, "eva")
    brought(recordings, "ida")
    open_tab(page, "Train")
    choose(page, "Eva")
    expect(page.locator("timbre-curves .pill")).to_have_count(3)
    for name in ("Ida", "Eva", "Ida"):
        open_tab(page, "Voices")
        page.locator("#voices-cards").get_by_role("radio", name=name).click()
        expect(page.locator("#voices-panel").get_by_role("heading", name=name)).to_be_visible()
        page.locator("#voice-train").click()
        expect(page.get_by_role("combobox", name="Voice")).to_have_value(re.compile(f"^{name}"))
        page.wait_for_timeout(1500)  # and stays so
        expect(page.get_by_role("combobox", name="Voice")).to_have_value(re.compile(f"^{name}"))
    expect(state(page)).to_contain_text("not trained")
    expect(page.locator("[data-testid=toast-body]")).to_have_count(0)
    expect(page.locator("#train-estimate")).to_contain_text("About", timeout=WORK_MS)  # nothing is watched any more
    studio_page.command("voices", "delete", "ida", "--yes")
    page.get_by_role("button", name="Start training").click()
    expect(page.locator("#train-notice")).to_contain_text("has been deleted")
    expect(page.get_by_role("combobox", name="Voice")).to_have_value("")
