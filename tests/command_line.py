"""The command line, in this process."""

from click.testing import Result
from typer.testing import CliRunner

from studio.commands.cli import app


def run(*arguments: object, given: bytes | str | None = None, code: int | None = None, **environment: str) -> Result:
    """Run a command in a wide terminal. given: what is typed or piped; code: what it must end with."""
    texts = [str(argument) for argument in arguments]
    result = CliRunner().invoke(app, texts, input=given, env={"COLUMNS": "200", **environment})
    assert code is None or result.exit_code == code, result.stderr
    return result


def assert_one_sentence(result: Result, *words: str, status: int = 1, alone: bool = True) -> None:
    """Nothing but a sentence with these words is said, on standard error; alone: without any lines before it."""
    assert (result.exit_code, result.stdout) == (status, "")
    *before, sentence = result.stderr.splitlines()
    assert not (alone and before)
    assert sentence.endswith(".")
    assert not [word for word in ("Traceback", "Error") if word in sentence]
    assert not [word for word in words if word not in sentence]
