"""What `--help` shows of a command: no type where it says nothing."""

from __future__ import annotations

from typing import Any

from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption


def _plain(parameter: Any) -> Any:
    """Return a parameter as its help shows it.

    Newer releases of typer write `<bool>` after a flag, as if it took a value, and `<list[Path]>`
    after an argument.
    """
    if isinstance(parameter, TyperOption) and parameter.is_flag and parameter.metavar is None:
        parameter.metavar = ""
    if isinstance(parameter, TyperArgument):
        vars(parameter)["display_type_rich"] = _no_type
    return parameter


def _no_type(ctx: Any) -> None:
    """Return no type."""


def _bare(piece: str) -> str:
    """Return a word of the usage line without the braces that newer typer puts around it."""
    return piece.replace("{", "").replace("}", "")


class Command(TyperCommand):
    """A command with plain help."""

    def get_params(self, ctx: Any) -> Any:
        """Return the parameters as help shows them."""
        return [_plain(parameter) for parameter in super().get_params(ctx)]

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage line."""
        return [_bare(piece) for piece in super().collect_usage_pieces(ctx)]


class Group(TyperGroup):
    """A group of commands with plain help."""

    def get_params(self, ctx: Any) -> Any:
        """Return the parameters as help shows them."""
        return [_plain(parameter) for parameter in super().get_params(ctx)]
