"""How help is laid out: plain text in named sections, for which nothing has to be loaded.

Drawn by rich, the help of one command took two thirds of its time to load what draws it.
"""

from __future__ import annotations

from collections.abc import Iterable
from inspect import cleandoc
from itertools import groupby
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

_ARGUMENTS, _OPTIONS = "Arguments", "Options"


class _InSections:
    """Help in sections; no flag lacks a value by default.

    Whatever lacks one is read by pydantic, which takes longest of all to load, and for every help.
    """

    help: str | None

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, `--help` among them."""
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            if getattr(parameter, "is_flag", False) and parameter.default is None:
                parameter.default = False
        return parameters

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write what it does, and examples."""
        del ctx
        _write_text(self.help or "", formatter)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the parameters by section."""
        _write_parameters(self.get_params(ctx), ctx, formatter)


class Command(_InSections, TyperCommand):
    """A command whose help is laid out in sections."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage line, without the braces that newer typer draws."""
        return [
            piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)
        ]


class Group(_InSections, TyperGroup):
    """A group of commands whose help is laid out in sections."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the parameters, and what each command does."""
        super().format_options(ctx, formatter)
        summaries = [
            (name, cleandoc(command.help or "").partition("\n\n")[0])
            for name, command in self.commands.items()
        ]
        _write_section("Commands", summaries, formatter)


def _write_text(text: str, formatter: Any) -> None:
    """Write paragraphs filled, indented lines as they are, headings (they end in a colon) bold."""
    for paragraph in cleandoc(text).split("\n\n"):
        formatter.write_paragraph()
        for is_indented, lines in groupby(paragraph.splitlines(), lambda line: line[:1] == " "):
            if is_indented:
                formatter.write("".join(f"{line}\n" for line in lines))
                continue
            filled = " ".join(lines)
            if filled.endswith(":"):
                formatter.write(f"{_bold(filled)}\n")
            else:
                formatter.write_text(filled)


def _write_parameters(parameters: Iterable[Any], ctx: Any, formatter: Any) -> None:
    """Write each section of parameters; options of no section last, as most commands have them."""
    sections: dict[str, list[tuple[str, str]]] = {_ARGUMENTS: []}
    unnamed: list[tuple[str, str]] = []
    for parameter in parameters:
        record = parameter.get_help_record(ctx)
        section = getattr(parameter, "rich_help_panel", None)
        if record is None:
            continue
        if parameter.param_type_name == "argument":
            # Beside its name stands its Python type, which tells a reader nothing.
            sections[_ARGUMENTS].append((parameter.metavar or record[0], record[1]))
        elif section is None:
            unnamed.append(record)
        else:
            sections.setdefault(section, []).append(record)
    for name, records in (*sections.items(), (_OPTIONS, unnamed)):
        _write_section(name, records, formatter)


def _write_section(name: str, records: list[tuple[str, str]], formatter: Any) -> None:
    if records:
        formatter.write_paragraph()
        formatter.write_heading(_bold(name))
        with formatter.indentation():
            formatter.write_dl(records)


def _bold(heading: str) -> str:
    """Return a heading as a terminal shows it; whatever else reads it is given the plain text."""
    return typer.style(heading, bold=True)
