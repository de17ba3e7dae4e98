"""The package fits into LlamaIndex's namespaces, and its README runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import llama_index.evaluation.fullrecall as package

DISTRIBUTION = Path(__file__).parents[1]


def test_the_public_names_are_these() -> None:
    """The public names are listed here, so that each change of them is a decision."""
    assert package.__all__ == [
        "LlamaIndexCapture",
        "LlamaIndexChatModel",
        "ObservedLlamaIndexRetriever",
        "RecallEvaluationResult",
        "RecallEvaluator",
        "RecallMetric",
        "capture_retrievals",
        "contexts",
        "observed",
        "report_of",
    ]
    assert len(package.__all__) <= 10
    assert all(hasattr(package, name) for name in package.__all__)


def test_the_namespaces_stay_everyones() -> None:
    """No shared namespace has an `__init__.py`, which would hide LlamaIndex or other evaluators."""
    source = DISTRIBUTION / "src" / "llama_index"
    assert (source / "evaluation" / "fullrecall" / "__init__.py").exists()
    assert (source / "evaluation" / "fullrecall" / "py.typed").exists()
    assert not (source / "__init__.py").exists()
    assert not (source / "evaluation" / "__init__.py").exists()


def test_neighbours_import_beside_it(tmp_path: Path) -> None:
    """LlamaIndex's core and other evaluators can be imported beside the package."""
    sibling = tmp_path / "llama_index" / "evaluation" / "neighbour"
    sibling.mkdir(parents=True)
    (sibling / "__init__.py").write_text("NAME = 'neighbour'\n")
    code = (
        "import llama_index.evaluation.fullrecall as ours\n"
        "from llama_index.evaluation.neighbour import NAME\n"
        "import llama_index.core\n"
        "print(NAME, ours.RecallEvaluator.__name__, llama_index.core.Document.__name__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("neighbour RecallEvaluator Document\n", 0), (
        done.stderr
    )


@pytest.mark.filterwarnings("default")
def test_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """Each example of the README runs offline and prints the shown output."""
    text = (DISTRIBUTION / "README.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```\n+```text\n(.*?)```", text, re.DOTALL)
    assert len(examples) == text.count("```python") == 4
    namespace: dict[str, object] = {"__name__": "readme"}
    for code, shown in examples:
        exec(code, namespace)  # noqa: S102 - our own README
        assert capsys.readouterr().out == shown
