"""How help is laid out: plain text in named sections, for which nothing has to be loaded.

Drawn by rich, the help of one command took two thirds of its time to load what draws it.
"""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand


class Command(TyperCommand):
    """A command whose help lists its options in named sections."""

    def __init__(self, name: str | None, **attributes: Any) -> None:
        super().__init__(name, **{**attributes, "help": laid_out(attributes["help"] or "")})

    def invoke(self, ctx: Any) -> Any:
        """Run the command; what it cannot do is printed in the words of the command line."""
        from fullrecall.cli.console import reporting  # which a command that runs has loaded

        options = [one for one in self.params if one.param_type_name == "option"]
        with reporting({one.name: min(one.opts, key=_is_short) for one in options}):
            return super().invoke(ctx)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage line, without the braces that newer typer draws."""
        return [
            piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)
        ]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write each section of parameters; options of no section last, as most have them."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            section = getattr(parameter, "rich_help_panel", None) or "Options"
            if record is not None and parameter.param_type_name == "argument":
                # Beside its name stands its Python type, which tells a reader nothing.
                section, record = "Arguments", (parameter.metavar or "", record[1])
            if record is not None:
                sections.setdefault(section, []).append(record)
        for name in sorted(sections, key=lambda section: section == "Options"):
            with formatter.section(name):
                formatter.write_dl(sections[name])


def _is_short(flag: str) -> bool:
    return not flag.startswith("--")


def laid_out(text: str) -> str:
    r"""Return a help text whose paragraphs with indented lines keep them: `\b` says so."""
    paragraphs = text.split("\n\n")
    return "\n\n".join(f"\b\n{each}" if "\n " in each else each for each in paragraphs)
