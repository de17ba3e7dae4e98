"""A user's type checker, mypy or pyright, sees the package's types in programs outside of it.

Right programs pass in the strictest mode, and each wrong line of the wrong ones is found, by
`py.typed` and the annotations.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

pytestmark = pytest.mark.tools

RIGHT = '''\
import asyncio
from collections.abc import Sequence
from typing import assert_type

import fullrecall
from fullrecall import (
    Budget,
    ClaimRecall,
    Context,
    EntityRecall,
    Gate,
    IdRecall,
    LLMJudge,
    Report,
    Sample,
    SpanRecall,
    TextRecall,
    aevaluate,
    compare,
    read as datasets,
    diagnose,
    evaluate,
)
from fullrecall.diagnosis import Diagnosis
from fullrecall.errors import FullrecallError
from fullrecall.measures.findings import Finding
from fullrecall.measures import AP, RR, Recall, nDCG
from fullrecall.report import Comparison, GateResult, Interval, MissedTargets
from fullrecall.scorers.result import Result, Status
from fullrecall.scorers import Scorer
from fullrecall.judge import Judge, Panel
from fullrecall.judge.models import ChatModel, ChatRequest, Completion
from fullrecall.lexical import LexicalJudge
from fullrecall.samples.calls import Call
from fullrecall.samples.retrieval import Retrieval
from fullrecall.judge.models.scripted import ScriptedChatModel

sample = Sample(
    id=7,
    user_input="Where?",
    retrieved_contexts=["a text", Context("b", id=1), {"text": "c", "id": "d"}],
    reference_context_ids=[["a", 2], "c"],
    reference_contexts=["a", ["b", Context("c")]],
    retrieval=Retrieval(calls=[Call("first", contexts=(Context("a"),))]),
)
graded = Sample(retrieved_context_ids=["a", None, 3], reference_context_ids={"a": 3, "b": 1})
assert_type(sample.retrieved_contexts, tuple[Context, ...] | None)
assert_type(sample.with_retrieval([]), Sample)

result = IdRecall(name="ids").score(sample)
assert_type(result, Result)
assert_type(result.score, float | None)
assert_type(result.status, Status)
assert_type(result[Recall @ 3], float | None)
assert_type(result[nDCG(gain="exponential") @ 10], float | None)
assert_type(result.missed, tuple[str, ...])
first: Finding = result.findings[0]
assert_type(first.rank, int | None)
assert_type(TextRecall(similarity=lambda one, other: 0.5).score(user_input="q"), Result)


class Fixed:
    """A model of the user's own, by its form alone."""

    @property
    def name(self) -> str:
        return "fixed"

    def complete(self, request: ChatRequest) -> Completion:
        return Completion(request.messages[0].content)

    async def acomplete(self, request: ChatRequest) -> Completion:
        return self.complete(request)


model: ChatModel = Fixed()
judges: Sequence[Judge] = [LLMJudge(model), LexicalJudge(), LLMJudge(ScriptedChatModel(["{}"]))]
claims = ClaimRecall(judge=Panel(judges), require_evidence=True)
scorers: list[Scorer] = [claims, SpanRecall(), EntityRecall()]
report = evaluate([sample, {"question": "q"}], scorers, budget=Budget(calls=1), store="s.sqlite")
assert_type(report, Report)
assert_type(asyncio.run(aevaluate([sample], claims)), Report)
assert_type(report.missed(k=1), MissedTargets)
assert_type(report.summary()[0].interval, Interval | None)
assert_type(report.summary(Recall @ 5, RR)["id_recall"][RR].mean, float | None)
assert_type(compare(report, report), Comparison)
assert_type(compare(report, report, AP)["id_recall"][AP].difference, float | None)
assert_type(Gate(Recall(min_grade=2) @ 10 >= 0.9, RR >= 0.7).check(report), GateResult)
assert_type(diagnose(report, corpus={"a": "text"}), Diagnosis)
assert_type([row.sample for row in report], list[Sample])
assert_type(report.to_html(), str)
for read in datasets.read("samples.jsonl"):
    assert_type(read, Sample)
try:
    print(Recall @ 0)
except FullrecallError as error:
    print(error, fullrecall.__version__)
'''

WRONG = """\
from fullrecall import (
    BatchScorer, IdRecall, LLMJudge, Sample, SpanRecall, aevaluate, choose, evaluate
)
from fullrecall.measures import Recall
from fullrecall.testset import check

Recall @ "5"  # wrong
IdRecall(k=5)  # wrong
IdRecall(5)  # wrong
SpanRecall(threshold=0.5)  # wrong
Sample(["a"])  # wrong
Sample(user_input=5)  # wrong
Sample(retrieved_contexts=[5])  # wrong
LLMJudge("gpt-4o")  # wrong
evaluate([Sample()], ["id"])  # wrong
evaluate([Sample()], IdRecall(), max_concurrency="all")  # wrong
evaluate([Sample()], IdRecall(), retreiver=len)  # wrong
choose([Sample()], IdRecall(), {}, stores="s.sqlite")  # wrong
BatchScorer(IdRecall(), max_concurency=4)  # wrong
check([Sample()], {}, progres=False)  # wrong
aevaluate([Sample()], IdRecall()).summary()  # wrong
score: float = IdRecall().score(Sample()).score  # wrong
IdRecall().score(Sample()).score = 1.0  # wrong
evaluate([Sample()], IdRecall()).summry()  # wrong
Sample().user_input = "q"  # wrong
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with both programs and no settings of this repository."""
    folder = tmp_path_factory.mktemp("typed")
    (folder / "right.py").write_text(RIGHT, encoding="utf-8")
    (folder / "wrong.py").write_text(WRONG, encoding="utf-8")
    return folder


def check(found: Mapping[str, set[int]], told: str) -> None:
    """Fail unless the errors are exactly the wrong lines of the wrong program."""
    lines = WRONG.splitlines()
    wrong = {number for number, line in enumerate(lines, start=1) if line.endswith("# wrong")}
    assert len(wrong) == 19
    assert found.get("right.py", set()) == set(), told
    assert found.get("wrong.py", set()) == wrong, told


def by_file(errors: list[tuple[str, int]]) -> dict[str, set[int]]:
    """Return the lines with errors of each file, so that unexpected files show."""
    files: dict[str, set[int]] = {}
    for path, line in errors:
        files.setdefault(Path(path).name, set()).add(line)
    assert files.keys() <= {"right.py", "wrong.py"}
    return files


MYPY = """\
[mypy]
strict = True
follow_imports = skip

[mypy-fullrecall.*]
follow_imports = normal
"""
"""Of all that fullrecall imports, mypy reads the stubs: the sources of SQLAlchemy, which other
libraries bring, took it four times as long as ours."""


def test_mypy_strict_sees_our_types(programs: Path) -> None:
    """Under mypy's strict rules a right program passes, and each wrong line is found."""
    (programs / "mypy.ini").write_text(MYPY, encoding="utf-8")
    ended = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--config-file",
            "mypy.ini",
            "--no-pretty",
            "--no-error-summary",
            "--cache-dir",
            "cache",
            "right.py",
            "wrong.py",
        ],
        cwd=programs,
        capture_output=True,
        text=True,
        check=False,
        env={name: value for name, value in os.environ.items() if name != "MYPYPATH"},
    )
    told = ended.stdout + ended.stderr
    errors = re.findall(r"^(\S+?):(\d+): error: ", ended.stdout, re.MULTILINE)
    check(by_file([(path, int(line)) for path, line in errors]), told)
    assert ended.returncode == 1, told


def test_pyright_strict_sees_our_types(programs: Path) -> None:
    """Under pyright's strict mode a right program passes, and each wrong line is found."""
    settings = {"typeCheckingMode": "strict", "pythonVersion": "3.11"}
    (programs / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    ended = subprocess.run(
        [
            sys.executable,
            "-m",
            "pyright",
            "--outputjson",
            "--pythonpath",
            sys.executable,
            "--project",
            str(programs),
        ],
        cwd=programs,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"},
    )
    told = json.loads(ended.stdout)["generalDiagnostics"]
    errors = [
        (one["file"], one["range"]["start"]["line"] + 1)
        for one in told
        if one["severity"] == "error"
    ]
    check(by_file(errors), json.dumps(told, indent=1))
    assert ended.returncode == 1
