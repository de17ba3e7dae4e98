"""The package among its neighbours, and its README."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import llama_index.evaluation.fullrecall as package

DISTRIBUTION = Path(__file__).parents[1]


def python(code: str, *paths: Path) -> str:
    """Return what `code` prints in an interpreter of its own that finds `paths` first."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_public_names_are_these() -> None:
    """The surface is small and pinned: a new name is a decision."""
    assert package.__all__ == [
        "LlamaIndexChatModel",
        "RecallEvaluationResult",
        "RecallEvaluator",
        "RecallMetric",
        "attach",
        "capture_of",
        "capture_retrievals",
        "contexts",
        "observed",
        "report_of",
    ]
    assert all(hasattr(package, name) for name in package.__all__)


def test_the_namespaces_stay_everyones() -> None:
    """An `__init__.py` in a shared namespace would hide LlamaIndex itself, or other evaluators."""
    source = DISTRIBUTION / "src" / "llama_index"
    assert (source / "evaluation" / "fullrecall" / "__init__.py").exists()
    assert (source / "evaluation" / "fullrecall" / "py.typed").exists()
    assert not (source / "__init__.py").exists()
    assert not (source / "evaluation" / "__init__.py").exists()


def test_neighbours_import_beside_it(tmp_path: Path) -> None:
    """LlamaIndex's core and another distribution's evaluator are found, in either order."""
    sibling = tmp_path / "llama_index" / "evaluation" / "neighbour"
    sibling.mkdir(parents=True)
    (sibling / "__init__.py").write_text("NAME = 'neighbour'\n")
    imports = [
        "import llama_index.core",
        "from llama_index.evaluation.neighbour import NAME",
        "import llama_index.evaluation.fullrecall as ours",
    ]
    shown = "print(NAME, ours.RecallEvaluator.__name__, llama_index.core.Document.__name__)"
    for order in (imports, imports[::-1]):
        assert (
            python("\n".join([*order, shown]), tmp_path) == "neighbour RecallEvaluator Document\n"
        )


def test_the_readme_runs() -> None:
    """Each example of the README runs offline and prints what it says."""
    text = (DISTRIBUTION / "README.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```\n+```text\n(.*?)```", text, re.DOTALL)
    assert len(examples) == text.count("```python") == 4
    printed = "".join(shown for _, shown in examples)
    assert python("".join(code for code, _ in examples)) == printed
