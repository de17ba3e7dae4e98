"""Plain-text tables, by rich."""

from __future__ import annotations

from collections.abc import Sequence


def render(
    header: Sequence[str], body: Sequence[Sequence[str]], *, left: Sequence[int] = (0,)
) -> str:
    """Return a table as text without colour; columns are right-aligned but for those in `left`."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE, pad_edge=False)
    for position, name in enumerate(header):
        table.add_column(Text(name), justify="left" if position in left else "right", no_wrap=True)
    for row in body:
        table.add_row(*map(Text, row))
    console = Console(width=10_000, color_system=None, force_terminal=False, highlight=False)
    with console.capture() as capture:
        console.print(table)
    return "\n".join(line.rstrip() for line in capture.get().strip("\n").splitlines()).strip("\n")
