"""How help is laid out: plain text in named sections, for which nothing has to be loaded.

Drawn by rich, the help of one command took two thirds of its time to load what draws it.
"""

from __future__ import annotations

import re
from inspect import cleandoc
from typing import Any

from typer.core import TyperCommand, TyperGroup


class Command(TyperCommand):
    """A command whose help is laid out in sections; no flag lacks a value by default.

    Whatever lacks one is read by pydantic, which takes longest of all to load, and for every help.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, `--help` among them."""
        parameters: list[Any] = super().get_params(ctx)
        for parameter in parameters:
            if getattr(parameter, "is_flag", False) and parameter.default is None:
                parameter.default = False
        return parameters

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage line, without the braces that newer typer draws."""
        return [re.sub("[{}]", "", piece) for piece in super().collect_usage_pieces(ctx)]

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write what it does, and examples."""
        del ctx
        _write_text(self.help or "", formatter)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write each section of parameters; options of no section last, as most have them."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": []}
        unnamed: list[tuple[str, str]] = []
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            section = getattr(parameter, "rich_help_panel", None)
            if record is None:
                continue
            if parameter.param_type_name == "argument":
                # Beside its name stands its Python type, which tells a reader nothing.
                sections["Arguments"].append((parameter.metavar or record[0], record[1]))
            else:
                (sections.setdefault(section, []) if section else unnamed).append(record)
        for name, records in (*sections.items(), ("Options", unnamed)):
            _write_section(name, records, formatter)


class Group(TyperGroup):
    """A group of commands whose help is laid out in sections."""

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write what it does, and examples."""
        del ctx
        _write_text(self.help or "", formatter)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the parameters, and what each command does."""
        records = [parameter.get_help_record(ctx) for parameter in self.get_params(ctx)]
        _write_section("Options", [record for record in records if record], formatter)
        summaries = [
            (name, (command.help or "").partition("\n\n")[0])
            for name, command in self.commands.items()
        ]
        _write_section("Commands", summaries, formatter)


def _write_text(text: str, formatter: Any) -> None:
    """Write paragraphs filled, and those with indented lines as they are."""
    for paragraph in cleandoc(text).split("\n\n"):
        formatter.write_paragraph()
        if "\n " in paragraph:
            formatter.write(f"{paragraph}\n")
        else:
            formatter.write_text(" ".join(paragraph.splitlines()))


def _write_section(name: str, records: list[tuple[str, str]], formatter: Any) -> None:
    if records:
        with formatter.section(name):
            formatter.write_dl(records)
