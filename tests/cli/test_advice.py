"""The advice of each message is one command that works when it is pasted."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.cli.command_line import run

from fullrecall.errors import InputError
from fullrecall.read import read

FOLDER = Path(__file__).parents[1] / "golden" / "structures"


def without_name(value: Any, name: str, other: str) -> Any:
    """Return plain values with a key under another name, at any depth."""
    if isinstance(value, dict):
        pairs = ((other if k == name else k, v) for k, v in value.items())
        return {key: without_name(inner, name, other) for key, inner in pairs}
    return [without_name(v, name, other) for v in value] if isinstance(value, list) else value


def variants(folder: Path) -> Iterator[Path]:
    """Yield each structure, and each of JSON with one column under an ambiguous name."""
    for path in sorted(FOLDER.iterdir()):
        if path.name == "manifest.jsonl" or path.name.endswith(".parquet.json"):
            continue
        yield path
        if path.suffix != ".json":
            continue
        value = json.loads(path.read_text("utf-8"))
        first = value[0] if isinstance(value, list) else next(iter(value.values()))
        row = first[0] if isinstance(first, list) and first else first
        for name in list(row)[-1:] if isinstance(row, dict) else ():
            written = folder / f"{path.stem} {name}.json"
            written.write_text(json.dumps(without_name(value, name, "gold")), "utf-8")
            yield written


def problem_of(call: str) -> str:
    """Return the problem that a call of `read` meets; an empty text without a problem."""
    try:
        list(eval(call))  # noqa: S307 - the line that a message proposes
    except InputError as error:
        return error.problem
    return ""


def test_each_message_proposes_a_call_that_reads_or_asks_further(tmp_path: Path) -> None:
    """The last line of each message, pasted, reads the file or leads to another message."""
    assert read.__name__ == "read"  # The name that the pasted line calls.
    pasted = 0
    for path in variants(tmp_path):
        first = problem_of(f"read({str(path)!r})")
        *_, call = first.splitlines() or [""]
        if call.startswith("read("):
            assert problem_of(call) != first, path.name
            pasted += 1
    assert pasted > 8


def test_each_command_that_a_message_proposes_runs(tmp_path: Path) -> None:
    """`fullrecall read` of an ambiguous file proposes a command, which shows a sample or asks."""
    shown = 0
    for path in [each for each in variants(tmp_path) if each.suffix != ".parquet"][::4]:
        result = run("read", path)
        if result.exit_code != 3:
            continue
        words = shlex.split(result.stdout.splitlines()[0])
        again = run(*words[words.index("read") :])
        assert again.exit_code in ((0, 3) if "?" not in words[-1] else (0, 2, 3)), again.stderr
        assert again.stdout != result.stdout or again.exit_code == 0
        shown += 1
    assert shown > 1
