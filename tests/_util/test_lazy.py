"""Names that load when they are used, also in a program that was built without sources."""

from __future__ import annotations

import compileall
import shutil
import subprocess
import sys
from pathlib import Path

import fullrecall

PROGRAM = """
import fullrecall
from fullrecall import IdRecall, Sample, evaluate
from fullrecall.measures import Recall
from fullrecall.report import Report
from fullrecall.scorers import TextRecall

assert fullrecall.__file__.endswith(".pyc")
assert "evaluate" in fullrecall.__all__ and "evaluate" in dir(fullrecall)
sample = Sample(retrieved_context_ids=["a"], reference_context_ids=["a", "b"])
report = evaluate([sample], IdRecall(), progress=False)
print(report.summary(Recall @ 5)["id_recall"]["recall@5"].mean)
try:
    fullrecall.evalute
except AttributeError as error:
    print(error)
"""


def test_a_build_without_sources_has_the_same_names(tmp_path: Path) -> None:
    """Freezers leave compiled modules alone."""
    package = Path(fullrecall.__file__).parent
    copy = tmp_path / "fullrecall"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
    assert compileall.compile_dir(copy, quiet=1, legacy=True)
    for source in copy.rglob("*.py"):
        source.unlink()
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={"PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.stdout.splitlines() == [
        "0.5",
        "module 'fullrecall' has no attribute 'evalute': did you mean evaluate?",
    ], ended.stderr
