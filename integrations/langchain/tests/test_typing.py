"""Users' programs type-check under pyright's strict rules, and wrong programs do not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = pytest.mark.tools

PROGRAM = """
from collections.abc import Sequence
from typing import Any

from fullrecall import (
    Context, IdRecall, LLMJudge, Report, Sample, aevaluate, diagnose, evaluate, record,
)
from fullrecall.measures import Recall, nDCG
from fullrecall.samples.retrieval import Retriever
from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore
from langchain_fullrecall import (
    LangChainChatModel, RecallStringEvaluator, capture_retrievals, contexts, observed,
    report_of,
)
from langchain_classic.evaluation import StringEvaluator
from langchain_fullrecall.classic import ClassicStringEvaluator
from langsmith.evaluation import RunEvaluator


def search_kb(question: str) -> str:
    return question


def use(documents: list[Document], retriever: BaseRetriever, store: VectorStore) -> None:
    evaluator = RecallStringEvaluator(
        IdRecall(), Recall @ 3, nDCG @ 10, id_key=("source", "page"), retriever=store
    )
    returned: dict[str, Any] = evaluator.evaluate_strings(
        prediction=documents, reference=["a", 7], input="q"
    )
    evaluator.evaluate_strings(prediction={"answer": "a", "context": documents}, reference={"a": 2})
    evaluator.evaluate_strings(prediction="a", retrieved_documents=[(d, 0.5) for d in documents])
    light: RunEvaluator = RecallStringEvaluator(
        which="innermost", name="x"
    )
    classic: StringEvaluator = ClassicStringEvaluator(IdRecall(), Recall @ 3)
    observed(search_kb, tool_documents={"search_kb": len})
    found_there: list[Document] = record(store.similarity_search("q"), query="q")
    with capture_retrievals(id_key=lambda document: document.metadata["source"]) as seen:
        retriever.invoke("q")
    found: list[Context] | None = seen.contexts()
    sample: Sample = seen.sample(user_input="q")
    read: Sequence[Context] = contexts(documents, collapse=True)
    report: Report = report_of("experiment", evaluator)


def run(retriever: BaseRetriever, store: VectorStore, model: BaseChatModel) -> None:
    def search(question: str) -> list[Document]:
        return retriever.invoke(question)

    async def asearch(question: str) -> list[Document]:
        return await retriever.ainvoke(question)

    asked: Retriever = observed(store, id_key="source", failed_calls="score")
    samples = [Sample(user_input="q")]
    report: Report = evaluate(samples, IdRecall(), retriever=asked, progress=False)
    evaluate(samples, [IdRecall()], retriever=observed(retriever | len), max_concurrency=2)
    evaluate(samples, IdRecall(), retriever=observed(search, config={"tags": ["a"]}))
    evaluate(samples, IdRecall(), retriever=observed(asearch, as_input=lambda q: {"q": q}))
    diagnose(report, corpus=contexts([Document("a")]), retriever=observed(store))
    LLMJudge(LangChainChatModel(model.with_retry()))


async def wait(evaluator: RecallStringEvaluator, documents: list[Document]) -> float | None:
    report: Report = await aevaluate([], IdRecall(), retriever=observed(lambda q: documents))
    returned = await evaluator.aevaluate_strings(prediction=documents, reference=["a"])
    score: float | None = returned["score"]
    return score
"""
WRONG = {
    "RecallStringEvaluator(which='all')": "reportArgumentType",
    "observed(int, which='best')": "reportArgumentType",
    "RecallStringEvaluator(id_keys='a')": "reportCallIssue",
    "RecallStringEvaluator(IdRecall(), 'recall@5')": "reportArgumentType",
    "observed(len, colapse=True)": "reportCallIssue",
    "observed(len, failed_calls='ignore')": "reportArgumentType",
    "capture_retrievals(id_keys='a')": "reportCallIssue",
}


def check(programs: dict[str, str], folder: Path) -> list[tuple[str, str]]:
    """Return the file and the rule of each error of pyright; one run reads LangChain once."""
    settings = {"typeCheckingMode": "strict", "reportUnusedVariable": False,
                "reportUnusedImport": False}  # fmt: skip
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    for name, program in programs.items():
        (folder / name).write_text(program, encoding="utf-8")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pyright",
            "--outputjson",
            "--pythonpath",
            sys.executable,
            "--project",
            str(folder),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"},
    )
    told = sorted(
        json.loads(done.stdout)["generalDiagnostics"],
        key=lambda each: (each["file"], each["range"]["start"]["line"]),
    )
    return [
        (Path(each["file"]).name, each.get("rule", each["message"]))
        for each in told
        if each["severity"] == "error"
    ]


@pytest.mark.skipif(find_spec("pyright") is None, reason="pyright is missing: extra test has it")
def test_the_signatures_take_what_users_hand_over(tmp_path: Path) -> None:
    """Signatures take documents, outputs and references, not only the base class's strings."""
    head = PROGRAM.partition("def use")[0]
    lines = "".join(f"    {line}\n" for line in WRONG)
    wrong = f"{head}def wrong(evaluator: RecallStringEvaluator) -> None:\n{lines}"
    said = check({"right.py": PROGRAM, "wrong.py": wrong}, tmp_path)
    assert said == [("wrong.py", rule) for rule in WRONG.values()]


def test_mypy_takes_the_same_program(tmp_path: Path) -> None:
    """The same program passes mypy's strict rules."""
    (tmp_path / "right.py").write_text(PROGRAM, encoding="utf-8")
    options = ["--strict", "--cache-dir", str(tmp_path / "cache"), "--config-file", os.devnull]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "right.py"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout
