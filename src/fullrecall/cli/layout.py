"""How help is laid out: plain text in named sections, which needs no library that draws.

Drawn by rich, the help of one command took two thirds of its time to load what draws it.
"""

from __future__ import annotations

from collections.abc import Iterable
from inspect import cleandoc
from itertools import groupby
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

_ARGUMENTS, _OPTIONS, _COMMANDS = "Arguments", "Options", "Commands"


class _Sections:
    """Writes the text of a command's help, then its parameters by section, then its commands."""

    help: str | None

    def format_help_text(self, ctx: typer.Context, formatter: Any) -> None:
        """Write what the command does: paragraphs are filled, indented lines stand as they are."""
        del ctx
        formatter.write_paragraph()
        for indented, lines in groupby(cleandoc(self.help or "").splitlines(), _is_verbatim):
            if indented:
                formatter.write("".join(f"{line}\n" for line in lines))
                continue
            for line in lines:
                if line.endswith(":") and " " * 2 not in line:
                    formatter.write(f"{_bold(line)}\n")
                elif line:
                    formatter.write_text(line)
                else:
                    formatter.write_paragraph()

    def format_options(self, ctx: typer.Context, formatter: Any) -> None:
        """Write each section of parameters, those without a name first, and the commands."""
        sections: dict[str, list[tuple[str, str]]] = {_ARGUMENTS: [], _OPTIONS: []}
        for parameter in self.get_params(ctx):  # type: ignore[attr-defined]
            record = parameter.get_help_record(ctx)
            if record is not None:
                section = getattr(parameter, "rich_help_panel", None) or _OPTIONS
                if parameter.param_type_name == "argument":
                    # Beside its name stands its Python type, which tells a reader nothing.
                    section, record = _ARGUMENTS, (parameter.metavar or record[0], record[1])
                sections.setdefault(section, []).append(record)
        sections[_COMMANDS] = [
            (name, _summary(command)) for name, command in getattr(self, "commands", {}).items()
        ]
        # What every command has comes last, after what this one is about.
        for name in (*(s for s in sections if s not in (_OPTIONS, _COMMANDS)), _OPTIONS, _COMMANDS):
            _write(name, sections[name], formatter)


class Command(_Sections, TyperCommand):
    """A command whose help is laid out in sections."""


class Group(_Sections, TyperGroup):
    """A group of commands whose help is laid out in sections."""


def _is_verbatim(line: str) -> bool:
    return line.startswith("  ")


def _summary(command: Any) -> str:
    """Return the first paragraph of a command's help."""
    return cleandoc(command.help or "").partition("\n\n")[0]


def _write(name: str, records: Iterable[tuple[str, str]], formatter: Any) -> None:
    records = list(records)
    if records:
        formatter.write_paragraph()
        formatter.write_heading(_bold(name))
        with formatter.indentation():
            formatter.write_dl(records)


def _bold(heading: str) -> str:
    """Return a heading as a terminal shows it; whatever else reads it is given the plain text."""
    return typer.style(heading, bold=True)
