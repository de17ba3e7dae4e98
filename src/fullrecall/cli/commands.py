"""The commands by name, and their help; a command's module is loaded only when it runs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from fullrecall.cli.overview import ABOUT, COMMANDS, overview

if TYPE_CHECKING:
    from fullrecall.cli.overview import CommandTable

_USUAL = {"--metric": "--measure", "--metrics": "--measure", "--top-k": "--k", "--topk": "--k"}
"""Names of options in other tools, each with the option's name here."""


class Command(TyperCommand):
    """A command whose help lists its options in named sections."""

    def __init__(self, name: str | None, **attributes: Any) -> None:
        super().__init__(name, **{**attributes, "help": laid_out(attributes["help"] or "")})

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **extra: Any) -> Any:
        """Return the context of the command, which keeps the words after its name."""
        words = tuple(args)
        context = super().make_context(info_name, args, *rest, **extra)
        context.meta["fullrecall.words"] = words
        return context

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words after the name; for an option of another tool, suggest the right one."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:  # The error's class is private in typer.
            given = getattr(error, "option_name", "")
            options = [each for parameter in self.params for each in parameter.opts]
            begun = [each for each in options if given and each.startswith(given)]
            ours = [_USUAL[given]] if _USUAL.get(given) in options else begun
            if ours:
                vars(error)["possibilities"] = ours
            message = getattr(error, "message", "")
            if message.startswith("Got unexpected extra") and "--require" in options:
                way = "a required value is an option, --require 'recall@10>=0.9'"
                vars(error)["message"] = f"{message}: {way}"
            raise

    def invoke(self, ctx: Any) -> Any:
        """Run the command; errors are printed with the names of options."""
        from fullrecall.cli.console import reporting  # The command has loaded it already.

        options = [one for one in self.params if one.param_type_name == "option"]
        words = [*ctx.command_path.split(), *ctx.meta.get("fullrecall.words", ())]
        flags: dict[str | None, str] = {"fields": "--field"}  # Each --field sets one of `fields`.
        flags |= {one.name: min(one.opts, key=_is_short) for one in options}
        with reporting(flags, words):
            return super().invoke(ctx)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage line, without the braces of newer versions of typer."""
        return [
            piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)
        ]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write each section of parameters; options without a section come last, as is usual."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            section = getattr(parameter, "rich_help_panel", None) or "Options"
            if record is not None and parameter.param_type_name == "argument":
                # Leave out the Python type beside the name, which does not help users.
                section, record = "Arguments", (parameter.metavar or "", record[1])
            if record is not None:
                sections.setdefault(section, []).append(record)
        for name in sorted(sections, key=lambda section: section == "Options"):
            with formatter.section(name):
                formatter.write_dl(sections[name])


def _is_short(flag: str) -> bool:
    return not flag.startswith("--")


def laid_out(text: str) -> str:
    r"""Return a help text in which `\b` keeps the line breaks of paragraphs with indented lines."""
    paragraphs = text.split("\n\n")
    return "\n\n".join(f"\b\n{each}" if "\n " in each else each for each in paragraphs)


class Deferred(Command):
    """A command in the list of commands; its module is loaded when it is run."""

    def __init__(self, name: str, summary: str, source: str) -> None:
        super().__init__(name, help=summary, rich_markup_mode=None)
        self._source = source

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **extra: Any) -> Any:
        """Load the command, and return its context."""
        # The group calls only this method, and then uses the returned context.
        return self.loaded().make_context(info_name, args, *rest, **extra)

    def loaded(self) -> Any:
        """Return the command, loaded from its module."""
        # Load only this command: all commands take 0.4 s of CPU, `--help` without them 0.1 s.
        module, _, name = self._source.partition(":")
        own = typer.Typer(
            add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False
        )
        function = getattr(import_module(f"fullrecall.cli.{module}"), name)
        own.command(self.name, cls=Command)(function)
        return typer.main.get_command(own)


class CommandGroup(TyperGroup):
    """A group of commands; for an unknown command, it lists all of its commands."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command of the first word; suggest others if it is unknown."""
        try:
            return super().resolve_command(ctx, args)
        except Exception as error:  # The error's class is private in typer.
            message = getattr(error, "message", "")
            if message.startswith("No such command") and "Did you mean" not in message:
                vars(error)["message"] = f"{message} {self._way(args[0])}"
            raise

    def _way(self, name: str) -> str:
        """Return a hint: the command of this name in a subgroup, or all commands of this group."""
        for group, command in self.commands.items():
            if name in getattr(command, "commands", {}):
                return f"Did you mean '{group} {name}'?"
        return f"Choose one of {', '.join(self.commands)}."


def _group(table: CommandTable, **attributes: Any) -> CommandGroup:
    """Return a group of commands, each loaded when it is run."""
    commands: dict[str, Any] = {
        name: Deferred(name, summary, source)
        if isinstance(source, str)
        else _group(source, name=name, help=summary, no_args_is_help=True, rich_markup_mode=None)
        for name, (source, summary) in table.items()
    }
    return CommandGroup(commands=commands, **attributes)


class Commands(CommandGroup):
    """The group of all commands."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**{**attributes, "commands": _group(COMMANDS).commands})

    def get_help(self, ctx: Any) -> str:  # noqa: ARG002 - typer passes it
        """Return the help of the command line."""
        return overview()


app = typer.Typer(
    name="fullrecall",
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(is_requested: bool) -> None:  # noqa: FBT001 - typer passes it by position
    if is_requested:
        from fullrecall import __version__

        typer.echo(f"fullrecall {__version__}")
        raise typer.Exit


_VERSION = typer.Option(
    "--version", callback=_version, is_eager=True, help="Print the version and exit."
)


@app.callback(help=ABOUT)
def _fullrecall(*, version: Annotated[bool, _VERSION] = False) -> None:
    """Take the options before a command."""
