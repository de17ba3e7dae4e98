"""The commands by name: `--help` lists them all, and the one that is run loads its module."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer

from fullrecall.cli.exits import reader_may_leave
from fullrecall.cli.layout import Command, Group


class Entry(NamedTuple):
    """What a command does in one sentence, and where it is: `module:function`, or commands."""

    summary: str
    source: str | Mapping[str, Entry]
    examples: str = ""


COMMANDS: Mapping[str, Entry] = {
    "demo": Entry(
        "Measure real retrievers on this machine: no key, no download, under 20 seconds.",
        "demo:demo",
    ),
    "evaluate": Entry(
        "Score a file of samples: questions with retrieved and reference contexts.",
        "evaluation:evaluate",
    ),
    "summary": Entry(
        "Summarize a saved report: means, intervals, the smallest k; or what a store holds.",
        "summary:summary",
    ),
    "compare": Entry(
        "Compare saved reports of the same questions: was a change an improvement?",
        "comparison:compare",
    ),
    "choose": Entry(
        "Choose among retrievers: ask them the same questions until one is known to be the best.",
        "choice:choose",
    ),
    "gate": Entry(
        "Decide in CI whether a report is good enough: exit code 0 pass, 1 fail, 3 cannot tell.",
        "gate:gate",
    ),
    "diagnose": Entry(
        "Show which changes would gain the most recall, and why each target of a saved "
        "report was missed.",
        "diagnosis:diagnose",
    ),
    "page": Entry(
        "Write a web page of saved reports: one file that needs no server or network.",
        "page:page",
    ),
    "doctor": Entry(
        "Check the installation: versions, extras, frameworks, the built-in judge, a store.",
        "doctor:doctor",
    ),
    "judge": Entry(
        "Measure a judge of claims: on labeled claims, or on labels of your own report.",
        {
            "examine": Entry(
                "Measure a judge on labeled claims, and on true claims with one detail made false.",
                "examination:examine",
            ),
            "label": Entry(
                "Sample claims of a judged report to label: do the contexts support the claim?",
                "calibration:label",
            ),
            "calibrate": Entry(
                "Measure a judge against human labels and correct the mean.",
                "calibration:calibrate",
            ),
        },
        """\
From a judged report to a corrected mean:
  fullrecall judge label report.jsonl -n 100 --output labels.csv
  fullrecall judge calibrate report.jsonl labels.csv
""",
    ),
    "testset": Entry(
        "Make test sets from documents, check them, complete their references, and review them.",
        {
            "generate": Entry(
                "Write questions about documents, with references that were checked.",
                "testset:generate",
            ),
            "check": Entry(
                "Check a test set: IDs, offsets, near-duplicates, copied words, and size.",
                "testset:check",
            ),
            "complete": Entry(
                "Judge what retrievers found and nobody labeled, and measure how complete the "
                "references are.",
                "testset:complete",
            ),
            "review": Entry(
                "Draw questions for people to review, as a web page or a sheet, and apply what "
                "they decided.",
                "testset:review",
            ),
            "follow": Entry(
                "Move the labels of a set to a new corpus, by the words that they were made for.",
                "testset:follow",
            ),
            "export": Entry(
                "Write a set as another tool has it, and print what that form cannot hold.",
                "testset:export",
            ),
        },
        """\
From documents to a gate:
  fullrecall testset generate docs/ --model openai:gpt-4o-mini -o set.jsonl
  fullrecall testset review set.jsonl --documents docs/ -o review.html
  fullrecall testset review set.jsonl --apply review.json -o reviewed.jsonl
  fullrecall testset check reviewed.jsonl docs/
""",
    ),
}


class Deferred(Command):
    """A command as the list of commands shows it; its module is loaded when it is run."""

    def __init__(self, name: str, summary: str, source: str) -> None:
        super().__init__(name, help=summary, rich_markup_mode=None)
        self._summary, self._source = summary, source

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **extra: Any) -> Any:
        """Return the context of the command itself, which whoever runs it goes on with."""
        return self.loaded().make_context(info_name, args, *rest, **extra)

    def loaded(self) -> Any:
        """Return the command itself."""
        from fullrecall.cli.signatures import command_of, help_of

        module, _, name = self._source.partition(":")
        function = getattr(import_module(f"fullrecall.cli.{module}"), name)
        text = f"{self._summary}\n\n{help_of(function)}"
        own = typer.Typer(
            add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False
        )
        own.command(self.name, cls=Command, help=text)(command_of(function))
        return typer.main.get_command(own)


def _command(name: str, entry: Entry) -> Any:
    """Return a command, or a group of them."""
    if isinstance(entry.source, str):
        return Deferred(name, entry.summary, entry.source)
    return Group(
        name=name,
        commands={below: _command(below, subcommand) for below, subcommand in entry.source.items()},
        help=f"{entry.summary}\n\n{entry.examples}",
        no_args_is_help=True,
        rich_markup_mode=None,
    )


class Commands(Group):
    """The group of all commands."""

    def __init__(self, **attributes: Any) -> None:
        commands = {name: _command(name, entry) for name, entry in COMMANDS.items()}
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
