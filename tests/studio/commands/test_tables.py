"""Tables in a pipe, as scripts read them."""

from studio.commands.tables import print_table


def test_print_table_keeps_each_row_on_one_line_in_a_pipe(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    print_table(("id", "name"), [["a" * 30, "Mia and " * 20], ["b", "[bold]x"]])
    head, first, second = capsys.readouterr().out.splitlines()
    assert head.split() == ["id", "name"]
    assert first.split() == ["a" * 30, *["Mia", "and"] * 20]
    assert second.split() == ["b", "[bold]x"]
