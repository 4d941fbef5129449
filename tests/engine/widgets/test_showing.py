import dataclasses

import pytest
from IPython.core.interactiveshell import InteractiveShell
from PIL import Image

from engine.errors import AudioError, EngineError
from engine.plots.style import new_figure
from engine.widgets import showing
from engine.widgets.showing import figure_image, figure_png, prepare, show_figure, table


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    likeness: float | None
    good: bool = True
    traits: tuple[str, ...] = ()


def test_table_formats_values_and_escapes_html():
    shown = table([Row("<b>$Mia</b>", 0.12345, traits=("warm", "low")), {"name": "Ben", "likeness": None}]).data
    assert "&lt;b&gt;$Mia&lt;/b&gt;" in shown
    assert "<b>" not in shown
    assert ">0.123<" in shown
    assert ">yes<" in shown
    assert ">warm, low<" in shown
    assert ">Ben</td>" in shown
    assert shown.count(">-<") == 3  # what Ben has not
    assert ">likeness</th>" in shown


def test_table_selects_and_renames_columns():
    shown = table([{"a_b": 1.0, "c": 2}], {"c": "see & hear", "a_b": "first"}).data
    assert shown.index("see &amp; hear") < shown.index("first")
    assert ">1<" in shown


def test_table_shows_a_single_mapping_as_one_row():
    assert table({"seconds": 8.9, "style": None}).data == table([{"seconds": 8.9, "style": None}]).data


def test_table_of_no_rows_is_empty():
    assert "<td" not in table([]).data


def test_show_figure_replaces_the_picture_of_a_figure_image():
    wide, tall = new_figure(2.0, 1.0), new_figure(1.0, 2.0)
    widget = figure_image(wide)
    assert bytes(widget.value) == figure_png(wide)
    show_figure(widget, tall)
    from io import BytesIO

    picture = Image.open(BytesIO(bytes(widget.value)))
    assert picture.height == 2 * picture.width


@pytest.fixture
def shell(monkeypatch) -> InteractiveShell:
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)  # of whoever runs the tests, which IPython would warn of
    shell = InteractiveShell()
    monkeypatch.setattr(showing, "get_ipython", lambda: shell)
    return shell


def test_prepare_shows_figures_as_png_in_a_notebook(shell):
    prepare()
    figure = new_figure(1.0, 1.0)
    data, _ = shell.display_formatter.format(figure)
    assert data["image/png"] == figure_png(figure)


def test_prepare_shows_engine_errors_as_sentences_and_others_with_traceback(shell, monkeypatch, capsys):
    told = []
    monkeypatch.setattr(showing, "display", told.append)
    prepare()
    shell.user_ns["problem"] = AudioError('"<i>.wav" holds no sound.')
    result = shell.run_cell("raise problem")
    assert isinstance(result.error_in_exec, EngineError)  # so that the cells below are not run
    assert [one.data.count("&lt;i&gt;.wav&quot; holds no sound.") for one in told] == [1]
    assert "Traceback" not in "".join(capsys.readouterr())
    assert not shell.run_cell("1 / 0").success
    assert "ZeroDivisionError" in "".join(capsys.readouterr())


def test_prepare_does_nothing_outside_a_notebook(monkeypatch):
    monkeypatch.setattr(showing, "get_ipython", lambda: None)
    prepare()
