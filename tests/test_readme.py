"""The README is executed: what it shows works, as shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", README.read_text("utf-8"), re.DOTALL | re.MULTILINE)
NEEDS_FRAMEWORK = re.compile(r"^from (langchain|llama_index)", re.MULTILINE)


def blocks(*, frameworks: bool) -> list[str]:
    """Return the README's Python blocks that import a framework, or those that do not."""
    return [block for block in BLOCKS if bool(NEEDS_FRAMEWORK.search(block)) is frameworks]


@pytest.mark.parametrize("block", blocks(frameworks=False))
def test_plain_blocks_run(block: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each block runs by itself, in a fresh namespace."""
    exec(compile(block, str(README), "exec"), {"__name__": "readme"})  # noqa: S102
    if "print(" in block:
        assert capsys.readouterr().out.strip()


@pytest.mark.frameworks
@pytest.mark.parametrize("block", blocks(frameworks=True))
def test_framework_blocks_run(block: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The LangChain and LlamaIndex examples run offline, and print a score of one half."""
    exec(compile(block, str(README), "exec"), {"__name__": "readme"})  # noqa: S102
    assert "0.5" in capsys.readouterr().out


def test_there_are_blocks_of_both_kinds() -> None:
    """A README without examples would pass the tests above."""
    assert len(blocks(frameworks=False)) >= 2
    assert len(blocks(frameworks=True)) >= 2


def test_the_examples_for_frameworks_are_ten_lines() -> None:
    """Imports and blank lines aside, an example has at most ten lines of code."""
    for block in blocks(frameworks=True):
        lines = [line for line in block.splitlines() if line and not line.startswith("from ")]
        assert len(lines) <= 10


@pytest.mark.parametrize("name", ["demo", "test"])
def test_each_command_is_one_line(name: str) -> None:
    """`.ci/run` takes the commands from here: each marker is followed by one line."""
    found = re.findall(rf"<!-- command: {name} -->\n```bash\n(.+)\n```", README.read_text("utf-8"))
    assert len(found) == 1
