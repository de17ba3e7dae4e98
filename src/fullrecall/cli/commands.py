"""The commands by name: `--help` lists them all, and the one that is run loads its module."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer

from fullrecall.cli.exits import reader_may_leave
from fullrecall.cli.layout import Command, Group


class Entry(NamedTuple):
    """Where a command is, and what it does in one sentence, with which its help begins."""

    module: str
    summary: str


COMMANDS: Mapping[str, Entry] = {
    "demo": Entry(
        "demo",
        "Measure real retrievers on this machine: no key, no download, under 20 seconds.",
    ),
    "evaluate": Entry(
        "evaluation", "Score a file of samples: questions with retrieved and reference contexts."
    ),
    "summary": Entry(
        "summary", "Summarize a saved report: means, intervals, and how many samples they stand on."
    ),
    "compare": Entry(
        "comparison",
        "Compare two saved reports of the same questions: was a change an improvement?",
    ),
    "choose": Entry(
        "choice",
        "Choose among retrievers: ask them the same questions until one is known to be the best.",
    ),
    "gate": Entry(
        "gate",
        "Decide in CI whether a report is good enough: exit code 0 pass, 1 fail, 3 cannot tell.",
    ),
    "diagnose": Entry(
        "diagnosis",
        "Show which changes would gain the most recall, and why each target of a saved "
        "report was missed.",
    ),
    "label": Entry(
        "calibration",
        "Sample claims of a judged report to label: do the contexts support the claim?",
    ),
    "calibrate": Entry("calibration", "Measure a judge against human labels and correct the mean."),
    "judge": Entry(
        "examination",
        "Measure a judge on labeled claims, and on true claims with one detail made false.",
    ),
    "inspect": Entry(
        "inspection",
        "Show what is in a store of `evaluate --store`, or in a report of `evaluate --output`.",
    ),
    "page": Entry(
        "page",
        "Write a web page of saved reports: one file that needs no server or network.",
    ),
    "testset": Entry(
        "testset",
        "Make test sets from documents, check them, complete their references, and review them.",
    ),
    "doctor": Entry(
        "doctor",
        "Check the installation: versions, extras, frameworks, the built-in judge, a store, a "
        "model.",
    ),
}
"""A module has a function of the command's name, or an `app` of commands of its own; and `HELP`, or
`LABEL_HELP` for the command `label`: what its help says below the summary."""


class Deferred(Command):
    """A command as the list of commands shows it; its module is loaded when it is run."""

    def __init__(self, name: str, entry: Entry) -> None:
        super().__init__(name, help=entry.summary, rich_markup_mode=None)
        self._entry = entry

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **extra: Any) -> Any:
        """Return the context of the command itself, which whoever runs it goes on with."""
        return self.loaded().make_context(info_name, args, *rest, **extra)

    def loaded(self) -> Any:
        """Return the command itself."""
        name = str(self.name)
        module = import_module(f"fullrecall.cli.{self._entry.module}")
        below = getattr(module, f"{name.upper()}_HELP", None) or module.HELP
        told = f"{self._entry.summary}\n\n{below}"
        own = getattr(module, "app", None)
        if own is not None:
            own.info.help = told
        else:
            own = typer.Typer(
                add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False
            )
            own.command(name, cls=Command, help=told)(getattr(module, name))
        return typer.main.get_command(own)


class Commands(Group):
    """The group of all commands."""

    def __init__(self, **attributes: Any) -> None:
        commands = {name: Deferred(name, entry) for name, entry in COMMANDS.items()}
        super().__init__(**{**attributes, "commands": commands})

    def make_context(self, *arguments: Any, **extra: Any) -> Any:
        """Return the context; print what `--help` and `--version` ask for."""
        with reader_may_leave():
            return super().make_context(*arguments, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named; what the system refuses it is one message."""
        with reader_may_leave():
            try:
                return super().invoke(ctx)
            except BrokenPipeError:
                raise
            except OSError as error:  # of a path that a command looked at before it read it
                from fullrecall.cli.console import fail
                from fullrecall.cli.problems import explained

                fail(*explained(error))


_HELP = """\
How much of what a question needs does your retriever find?

Measures context recall: by document ID, text, characters, entities, and claims.

Start here:
  fullrecall demo
  fullrecall evaluate answers.jsonl --k 5 --missed 20
  fullrecall gate report.jsonl --min-recall 0.9 --k 10
"""

app = typer.Typer(
    name="fullrecall",
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:  # noqa: FBT001 - typer calls it so
    if asked:
        from fullrecall import __version__

        typer.echo(f"fullrecall {__version__}")
        raise typer.Exit


@app.callback(help=_HELP)
def _fullrecall(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Take the options that stand before a command."""
