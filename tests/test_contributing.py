"""CONTRIBUTING.md is executed: its examples keep the contracts, what it names is there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.test_package import KERNEL, ROOMS

import fullrecall

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
EXAMPLES: Mapping[str, str] = dict(
    re.findall(r"^<!-- example: (.+?) -->\n```python\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
)
PARTS = ("scorer", "judge", "adapter")


def outcomes(folder: Path, sources: Mapping[str, str]) -> dict[str, set[str]]:
    """Run programs as a reader would, each in a file of its own by pytest: what came out of it."""
    for name, source in sources.items():
        (folder / f"test_{name}.py").write_text(source, encoding="utf-8")
    settings = folder / "pytest.ini"
    settings.write_text("[pytest]\n", encoding="utf-8")
    ended = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-v",
            "-W",
            "error",
            "-p",
            "no:cacheprovider",
            "--tb=no",
            "-c",
            str(settings),
            str(folder),
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )
    found: dict[str, set[str]] = {name: set() for name in sources}
    for name, outcome in re.findall(r"test_(\w+)\.py::.* (PASSED|FAILED|ERROR)", ended.stdout):
        found[name].add(outcome)
    return found


def with_its_test(part: str) -> str:
    """Return an example and its test as one program."""
    test = EXAMPLES[f"{part}'s test"]
    return f"{EXAMPLES[part]}\n\n{test}"


MISTAKES = {
    "a_rank_too_many": ("scorer", "index(text) + 1", "index(text) + 2"),
    "the_wrong_context": ("judge", "Citation(n, contexts[n])", "Citation(0, contexts[0])"),
    "another_order": ("adapter", "for hit in hits]", "for hit in sorted(hits, key=str)]"),
    "a_failure_is_empty": (
        "adapter",
        "        return contexts(search(question))",
        (
            "        try:\n"
            "            return contexts(search(question))\n"
            "        except ConnectionError:\n"
            "            return []"
        ),
    ),
}


@pytest.mark.long
def test_the_examples_keep_their_contracts_and_mistakes_do_not(tmp_path: Path) -> None:
    """Each example passes the test that stands below it, which catches each mistake in it."""
    sources = {part: with_its_test(part) for part in PARTS}
    for name, (part, right, wrong) in MISTAKES.items():
        assert EXAMPLES[part].count(right) == 1
        sources[name] = with_its_test(part).replace(right, wrong, 1)
    seen = outcomes(tmp_path, sources)
    assert {part: seen[part] for part in PARTS} == {part: {"PASSED"} for part in PARTS}
    assert {name for name, said in seen.items() if "FAILED" in said} == MISTAKES.keys()


@pytest.mark.parametrize("name", [*PARTS, *(f"{part}'s test" for part in PARTS)])
def test_examples_are_short(name: str) -> None:
    """An example is read in one go: fewer than 40 lines."""
    assert len(EXAMPLES[name].splitlines()) < 40


def test_the_drawing_has_the_tested_order() -> None:
    """The kernel is drawn in the order that `tests/test_package.py` holds, with every room."""
    drawing = TEXT[TEXT.index("  ROOMS  ") : TEXT.index("── ports")]
    words = [re.sub(r"\.py$", "", word) for word in re.findall(r"[\w.]+", drawing)]
    assert [word for word in words if word in KERNEL] == list(KERNEL)
    assert [word for word in words if word in ROOMS] == list(ROOMS)


def test_the_table_shows_every_folder() -> None:
    """A package that is added, renamed or removed shows in the table."""
    table = TEXT[TEXT.index("| where |") : TEXT.index("Four boundaries are tested")]
    shown = {name.partition("/")[0] for name in re.findall(r"`([\w/]+)/`", table)}
    source = Path(fullrecall.__file__).parent
    assert shown == {path.parent.name for path in source.glob("*/__init__.py")}
    assert all((source / name).exists() for name in re.findall(r"`([\w/]+\.py)`", table))


def test_the_walks_name_files_that_are_there() -> None:
    """A module that is renamed or moved shows in the reading order and in the walks."""
    walks = TEXT[TEXT.index("## Read the kernel") : TEXT.index("## Add a scorer")]
    walks = walks.replace("`scorers/prefixes.py`", "").replace("`run/folder.py`", "")
    roots = (Path(fullrecall.__file__).parent, ROOT / "integrations" / "langchain" / "src")
    files = re.findall(r"`((?!tests/)[\w/]+\.(?:py|html))`", walks)
    assert len(files) >= 60
    assert [name for name in files if not any((root / name).exists() for root in roots)] == []


def test_what_it_links_and_runs_is_there() -> None:
    """Files that it names exist, and the markers that it selects by are known."""
    for target in re.findall(r"\]\(([^)]+)\)", TEXT):
        assert (ROOT / target).exists()
    for path in re.findall(r"\btests/\w+\.py", TEXT):
        assert (ROOT / path).exists(), path
    settings = (ROOT / "pyproject.toml").read_text("utf-8")
    for marker in re.findall(r"`-m (\w+)`", TEXT):
        assert f'"{marker}: ' in settings
    for extra in re.findall(r'-e "\.\[(\w+)\]"', TEXT):
        assert f"\n{extra} = [" in settings


def test_what_the_gate_runs_is_there() -> None:
    """A test file that is renamed or removed shows before the gate trips over it."""
    gate = (ROOT / ".ci" / "run").read_text("utf-8")
    paths = re.findall(r"(?:tests|integrations|bench)/[\w/.-]+", gate)
    assert len(paths) >= 20
    assert [path for path in paths if not (ROOT / path).exists()] == []
