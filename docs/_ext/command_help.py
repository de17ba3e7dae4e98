"""The directive `command-help`: what `fullrecall COMMAND --help` prints, of every command."""
# ruff: noqa: INP001 - conf.py puts this folder on the path

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import typer
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from typer.testing import CliRunner

from fullrecall.cli import app as commands

_ENVIRONMENT = {"COLUMNS": "90", "TERM": "dumb", "NO_COLOR": "1", "FORCE_COLOR": None}


def help_of(*command: str) -> str:
    """Return what `fullrecall COMMAND --help` prints, without colors and trailing blanks."""
    result = CliRunner().invoke(commands, [*command, "--help"], env=_ENVIRONMENT)
    if result.exit_code:
        raise RuntimeError(f"fullrecall {' '.join(command)} --help: {result.output}")
    return "\n".join(line.rstrip() for line in result.output.strip().splitlines())


class CommandHelp(SphinxDirective):
    """A section for each command, in the order in which `fullrecall --help` lists them."""

    has_content: ClassVar[bool] = False

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        return [_section(command) for command in _commands((), typer.main.get_command(commands))]


def _commands(path: tuple[str, ...], command: Any) -> Iterator[tuple[str, ...]]:
    """Yield a command and those below it."""
    yield path
    for name, below in getattr(command, "commands", {}).items():
        yield from _commands((*path, name), below)


def _section(command: tuple[str, ...]) -> nodes.section:
    title = " ".join(("fullrecall", *command))
    section = nodes.section(ids=[nodes.make_id(title)], names=[nodes.fully_normalize_name(title)])
    section += nodes.title(text=title)
    section += nodes.literal_block(help_of(*command), help_of(*command), language="text")
    return section


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("command-help", CommandHelp)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
