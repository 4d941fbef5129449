"""The command line: `timbre-studio`, or `python -m studio` where that is not installed.

Output for scripts (paths, ids, JSON) goes to stdout; everything else (progress, scores, errors) to stderr. Errors are
one sentence with exit status 1; Ctrl-C gives 130, an invalid command line 2. The engine takes seconds to load, so each
command imports what it needs when it runs: `--help` stays fast.
"""

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, Annotated, cast

import typer
from typer import TyperException
from typer.core import TyperGroup, TyperOption
from typer.main import get_command

from engine.cores import prepare_torch
from engine.errors import SettingsError
from engine.texts import tr
from studio.commands.analyse import analyse
from studio.commands.arguments import RESULTS, AsJson
from studio.commands.comp import comp
from studio.commands.convert import convert
from studio.commands.credentials import credentials, verify
from studio.commands.datasets import PROFILE_OPTIONS, create, report
from studio.commands.defaults import FILE, Defaults, own_defaults, tables_with_defaults, wrong_default
from studio.commands.demo import demo
from studio.commands.failures import in_one_sentence
from studio.commands.lessons import lessons
from studio.commands.live import live
from studio.commands.mcp import mcp
from studio.commands.mix import mix
from studio.commands.notebooks import lab, notebooks
from studio.commands.output import writable_output
from studio.commands.parsing import leaves, named, translate_error
from studio.commands.path_arguments import read_pasted_paths
from studio.commands.presets import presets
from studio.commands.projects import projects
from studio.commands.reaper import reaper
from studio.commands.rvc import rvc
from studio.commands.separation import separation
from studio.commands.serve import serve
from studio.commands.short_help import add_examples, choose_help
from studio.commands.token import token
from studio.commands.train import train
from studio.commands.update import update
from studio.commands.voices import voices
from studio.commands.wording import (
    OPTION,
    PROGRAM,
    be_quiet,
    choose_language,
    installed_name,
    keep_help,
    padded,
    set_program_name,
    show,
    translate_help,
    translated,
)
from studio.settings.options import (
    DEFAULT,
    OR_THE_ENVIRONMENTS,
    OR_THE_PRESETS,
    read_settings,
    setting_options,
    with_options,
)

if TYPE_CHECKING:
    from typer._click import Command, Context

_QUIET = "--quiet"  # before a command, or after it
_COMPLETIONS = ("--install-completion", "--show-completion")
# of a dataclass whose fields are options: its module and name, their panel, and what is said of defaults
_Mirrored = tuple[str, str, str, str]
_WITH_SETTINGS: dict[str, tuple[Callable[..., None], list[_Mirrored]]] = {
    "convert": (
        convert,
        [
            ("engine.audio.result_format", "ResultFormat", RESULTS, DEFAULT),
            ("engine.conversion.settings", "ConversionSettings", tr("How it sounds"), OR_THE_PRESETS),
        ],
    ),
    "mix": (mix, [("engine.audio.result_format", "ResultFormat", RESULTS, DEFAULT)]),
    "live": (live, [("engine.live.settings", "LiveSettings", tr("How it sounds"), DEFAULT)]),
    "train": (train, [("engine.training.plan", "TrainingPlan", tr("How to train"), DEFAULT)]),
    "serve": (serve, [("studio.settings.service", "ServiceSettings", tr("How it runs"), OR_THE_ENVIRONMENTS)]),
}


class Commands(TyperGroup):
    """The commands in the language of the terminal; options that mirror engine settings are added only when used."""

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        be_quiet(False)
        try:
            return self._parsed(ctx, args)
        except TyperException as error:
            translate_error(error)
            raise

    def _parsed(self, ctx: "Context", args: list[str]) -> list[str]:
        choose_language(args)
        choose_help(args)
        if ctx.info_name != PROGRAM and any(one.startswith(_COMPLETIONS) for one in args):
            raise typer.BadParameter(
                tr("Completion works only for the command {program}: call it by that name.", program=PROGRAM)
            )
        if _shows_help(args):
            translate_help(self, ctx)
            add_examples(self, "")
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: "Context", args: list[str]) -> "tuple[str | None, Command | None, list[str]]":
        if args[0] in _WITH_SETTINGS:
            self.commands[args[0]] = _completed(args[0])
            if _shows_help(args):
                translate_help(self.commands[args[0]], ctx)
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            ctx.default_map = _defaults(self.commands, name or "", args)
            for path, one in named(command, name or ""):
                add_examples(one, path)
            for one in leaves(command):
                if not any(_QUIET in parameter.opts for parameter in one.params):
                    one.params += [parameter for parameter in self.params if _QUIET in parameter.opts]
                read_pasted_paths(one)
        return name, command, rest

    def invoke(self, ctx: "Context") -> object:
        try:
            return super().invoke(ctx)
        except TyperException as error:
            translate_error(error)
            raise


def _shows_help(arguments: Sequence[str]) -> bool:
    """Return whether a help may be shown, which takes a moment to translate: a command that is used shows none."""
    used = bool(arguments) and arguments[0] in _WITH_SETTINGS
    return not used or not {"-h", "--help"}.isdisjoint(arguments)


def _defaults(commands: "Mapping[str, Command]", name: str, args: Sequence[str]) -> Defaults:
    """Return the user's own defaults of a command; help, and `doctor`, which says what is wrong with them, do without.
    Raises typer.BadParameter."""
    if not {"-h", "--help"}.isdisjoint(args):
        return {}
    try:
        return _checked_defaults(commands, name)
    except typer.BadParameter:
        if name == doctor.__name__:
            return {}
        raise


def _checked_defaults(commands: "Mapping[str, Command]", name: str) -> Defaults:
    found = own_defaults(commands, name)
    values = cast("dict[str, str]", found.get(name, {}))  # of a command with settings
    for module, settings, *_ in _WITH_SETTINGS[name][1] if values and name in _WITH_SETTINGS else ():
        own = getattr(import_module(module), settings)
        try:
            read_settings(own(), {one.name: values[one.name] for one in fields(own) if one.name in values})
        except SettingsError as cause:
            raise wrong_default(str(cause)) from cause
    return found


def _wrong_defaults(commands: "Mapping[str, Command]") -> str:
    """Return what is wrong with the user's own defaults, of whichever command; "" if nothing is."""
    try:
        for name in tables_with_defaults(commands):
            completed = {**commands, name: _completed(name)} if name in _WITH_SETTINGS else commands
            _checked_defaults(completed, name)
    except typer.BadParameter as error:
        return error.message
    return ""


@in_one_sentence
def _completed(name: str) -> "Command":
    """Return a command with an option for every setting."""
    command, mirrored = _WITH_SETTINGS[name]
    single = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    options = [
        option
        for module, settings, panel, default in mirrored
        for option in setting_options(getattr(import_module(module), settings), panel, default)
    ]
    single.command(name)(with_options(command, options))
    made = get_command(single)
    helps = {one.name: one.annotation.__metadata__[0].help for one in options}
    for parameter in made.params:
        if isinstance(parameter, TyperOption) and parameter.name in helps:
            keep_help(parameter, helps[parameter.name])
    return made


app = typer.Typer(
    cls=Commands,
    help=tr("Timbre Studio: the same performance in another voice."),
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from engine.version import __version__

        typer.echo(f"{PROGRAM} {__version__}")
        raise typer.Exit


def _choose_quiet(quiet: bool) -> None:
    if quiet:
        be_quiet(True)


@app.callback()
def root(
    language: Annotated[
        str,
        typer.Option(
            OPTION, metavar="CODE", help=tr("Language of messages and help: en, de, ja, ... (Default: the terminal's.)")
        ),
    ] = "",
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help=tr("Show the version and exit."))
    ] = False,
    quiet: Annotated[
        bool,
        typer.Option(
            "-q",
            _QUIET,
            is_eager=True,
            callback=_choose_quiet,
            help=tr("Show only results and errors."),
            expose_value=False,
        ),
    ] = False,
) -> None:
    """Timbre Studio: the same performance in another voice."""
    # Commands has read it before the help was made


@in_one_sentence
def doctor(context: typer.Context, as_json: AsJson = False) -> None:
    """Test every part of a conversion on this machine; exit status 1 if one fails."""
    from studio.doctor import Finding, examine

    found = []
    wrong = _wrong_defaults(cast(TyperGroup, context.find_root().command).commands)
    for finding in chain(examine(), [Finding(FILE, wrong, works=False)] if wrong else []):
        found.append(finding)
        if not as_json:
            typer.echo(finding.line(translated, padded))
    works = all(finding.works for finding in found)
    if as_json:
        typer.echo(json.dumps({"works": works, "findings": [asdict(one) for one in found]}, indent=2))
    else:
        show(
            tr("This machine is ready to convert.")
            if works
            else tr("This machine cannot convert yet: see FAULT above.")
        )
    if not works:
        raise typer.Exit(1)


app.command()(with_options(serve, []))  # Commands completes it
app.command()(with_options(convert, []))  # as above
app.command()(with_options(mix, []))  # as above
app.add_typer(separation, name="separation")
app.command()(with_options(live, []))  # as above
app.add_typer(voices, name="voices")
app.add_typer(rvc, name="rvc")
app.add_typer(projects, name="projects")
app.add_typer(presets, name="presets")
app.command()(with_options(create, PROFILE_OPTIONS))
app.command()(report)
app.command()(with_options(train, []))  # as above
app.command()(analyse)
app.command()(comp)
app.command()(verify)
app.add_typer(credentials, name="credentials")
app.add_typer(token, name="token")
app.command()(doctor)
app.command()(mcp)
app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(lab)
app.command()(notebooks)
app.command()(reaper)
app.command()(lessons)
app.command()(update)
app.command()(demo)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line on `arguments`, or on the process's own, and exit with its status."""
    prepare_torch()  # before anything brings torch
    os.umask(os.umask(0o077) & 0o077)  # whoever runs it can use what it writes, whatever the umask keeps from others
    name = installed_name(sys.argv[0])
    set_program_name(name)
    with writable_output():
        app(arguments, prog_name=name)
