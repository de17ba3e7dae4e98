# ruff: noqa: INP001 - a script
"""Draw `terminal.svg`: five commands, run in a real terminal, as a picture that plays in 25 s.

    python docs/images/record.py

Needs fullrecall alone, and a system with pseudo-terminals. The picture shows the
output of the commands with its colors; a browser plays it without a script or a font of its own.
"""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.ansi import AnsiDecoder
from rich.color import Color
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import MONOKAI
from rich.text import Text

COMMANDS = (
    "fullrecall evaluate monday.jsonl --k 5 --missed 3 --output before.jsonl",
    "fullrecall diagnose before.jsonl --k 5 --corpus pages.jsonl --misses 1",
    "fullrecall evaluate tuesday.jsonl --quiet --output after.jsonl",
    "fullrecall compare before.jsonl after.jsonl --measure recall@5 --flips 2",
    "fullrecall gate before.jsonl --baseline after.jsonl --measure recall@5 --margin 0.05",
)
COLUMNS = 80
SECONDS = 25.0
TYPING = 0.8
"""Seconds that a command stands alone before its output follows."""

_EXPECTED = (0, 1, 3)  # 1 and 3: what a gate decides
_CHARACTER, _LINE, _MARGIN = 8.4, 19, 16  # of a font of 14 px
_CONSOLE = Console(width=COLUMNS, color_system="truecolor", force_terminal=True)


def answers(folder: Path) -> None:
    """Write the library's pages, and the answers of a search with three copies and with one."""
    from fullrecall import IdRecall, Sample, evaluate
    from fullrecall.demo import COPIES, FullTextSearch, chunked, library_pages, library_questions
    from fullrecall.read import write_jsonl

    pages = library_pages()
    lines = (json.dumps({"id": page.id, "text": page.text}) for page in pages)
    (folder / "pages.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for name, copies in {"monday": COPIES, "tuesday": 1}.items():
        search = partial(FullTextSearch(chunked(pages) * copies), k=20)
        report = evaluate(library_questions(), IdRecall(), retriever=search, progress=False)
        asked = [
            Sample(
                id=row.sample.id,
                user_input=row.sample.user_input,
                answerable=row.sample.answerable,
                retrieved_context_ids=row.sample.retrieved_context_ids,
                retrieved_contexts=[
                    context.text for context in row.sample.retrieved_contexts or ()
                ],
                reference_context_ids=row.sample.reference_context_ids,
            )
            for row in report
        ]
        write_jsonl(asked, folder / f"{name}.jsonl")


def printed(command: str, folder: Path) -> list[Text]:
    """Return the lines that a command prints on a terminal of 80 columns."""
    own, its = pty.openpty()
    running = subprocess.Popen(  # noqa: S603 - this interpreter
        [sys.executable, "-c", "from fullrecall.cli import main; main()", *command.split()[1:]],
        stdin=its,
        stdout=its,
        stderr=its,
        cwd=folder,
        env={**_environment(), "COLUMNS": str(COLUMNS), "TERM": "xterm-256color"},
    )
    os.close(its)
    raw = b""
    with suppress(OSError):  # the terminal ends with the program
        while chunk := os.read(own, 65536):
            raw += chunk
    os.close(own)
    if running.wait() not in _EXPECTED:
        raise RuntimeError(f"{command}: exit code {running.returncode}\n{raw.decode()}")
    lines = raw.decode().replace("\r\n", "\n").rstrip("\n").split("\n")
    # What a carriage return overwrote, such as a progress bar, is gone.
    return list(AnsiDecoder().decode("\n".join(line.rpartition("\r")[2] for line in lines)))


def _environment() -> dict[str, str]:
    """Return the environment without what switches colors off or on."""
    return {
        name: value
        for name, value in os.environ.items()
        if name not in {"NO_COLOR", "FORCE_COLOR", "COLORTERM"}
    }


def drawn(scenes: Sequence[tuple[str, Sequence[Text]]]) -> str:
    """Return the picture: each scene is a command and its lines, shown for an equal time."""
    rows = 2 + max(len(lines) for _, lines in scenes)
    width = round(COLUMNS * _CHARACTER + 2 * _MARGIN)
    height = rows * _LINE + 2 * _MARGIN
    share = SECONDS / len(scenes)
    styles, groups = [], []
    for nth, (command, lines) in enumerate(scenes):
        begin, end = nth * share, (nth + 1) * share
        for name, start in ((f"c{nth}", begin), (f"o{nth}", begin + TYPING)):
            styles.append(_shown(name, start, end))
        prompt = Text.assemble(("$ ", "bold green"), (command, "bold"))
        groups.append(f'<g class="c{nth}">{_text(prompt, 1)}</g>')
        output = "".join(_text(line, row) for row, line in enumerate(lines, start=3))
        groups.append(f'<g class="o{nth}">{output}</g>')
    body = "\n".join(groups)
    back, text = MONOKAI.background_color.hex, MONOKAI.foreground_color.hex
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" '
        f'viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-label="{escape("; ".join(c for c, _ in scenes))}">\n'
        "<style>text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;"
        f"white-space:pre;fill:{text}}}g{{visibility:hidden}}{''.join(styles)}</style>\n"
        f'<rect width="100%" height="100%" rx="8" fill="{back}"/>\n{body}\n</svg>\n'
    )


def _shown(name: str, start: float, end: float) -> str:
    """Return the rules that show a group from one second to another, again and again."""
    first, last = (f"{100 * second / SECONDS:.2f}%" for second in (start, end))
    before = "" if start == 0 else "0%{visibility:hidden}"
    after = "" if end >= SECONDS else f"{last}{{visibility:hidden}}"
    until = "100%" if end >= SECONDS else f"{100 * end / SECONDS - 0.01:.2f}%"
    return (
        f".{name}{{animation:{name} {SECONDS:g}s step-end infinite}}"
        f"@keyframes {name}{{{before}{first}{{visibility:visible}}"
        f"{until}{{visibility:visible}}{after}}}"
    )


def _text(line: Text, row: int) -> str:
    """Return a line as SVG: each run of one style starts at its column."""
    spans = "".join(_spans(line))
    return f'<text y="{_MARGIN + row * _LINE}">{spans}</text>' if spans else ""


def _spans(line: Text) -> Iterator[str]:
    column = 0
    for segment in line.render(_CONSOLE):
        text = segment.text.rstrip("\n")
        if text.strip():
            left = column + len(text) - len(text.lstrip())
            x = _MARGIN + left * _CHARACTER
            words = escape(text.strip(), quote=False)
            yield f'<tspan x="{x:g}"{_look(segment.style)}>{words}</tspan>'
        column += len(text)


def _look(style: Style | None) -> str:
    """Return the attributes of a style."""
    if style is None:
        return ""
    color = style.color or Color.default()
    look = "" if color.is_default else f' fill="{color.get_truecolor(MONOKAI).hex}"'
    return look + (' font-weight="bold"' if style.bold else "")


def main() -> None:
    """Run the commands and write the picture beside this file."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        answers(folder)
        scenes = [(command, printed(command, folder)) for command in COMMANDS]
    Path(__file__).with_name("terminal.svg").write_text(drawn(scenes), encoding="utf-8")


if __name__ == "__main__":
    main()
