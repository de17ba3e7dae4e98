"""Right programs of LlamaIndex's users pass mypy's strict rules, and wrong lines do not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

RIGHT = """
from __future__ import annotations
from typing import Any
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.chat_engine.types import BaseChatEngine
from llama_index.core.evaluation import BaseEvaluator, BatchEvalRunner, RetrieverEvaluator
from llama_index.core.evaluation.retrieval.metrics_base import BaseRetrievalMetric
from llama_index.core.llms import LLM
from llama_index.core.workflow import Workflow

from fullrecall import ClaimRecall, IdRecall, LLMJudge, Report, Sample
from fullrecall import aevaluate, diagnose, evaluate, record
from fullrecall.measures import Recall, nDCG
from fullrecall.samples import Retriever
from llama_index.evaluation.fullrecall import (
    LlamaIndexChatModel, RecallEvaluationResult, RecallEvaluator, RecallMetric,
    capture_retrievals, contexts, observed, report_of,
)


def search(question: str, history: list[Any]) -> list[str]:
    return record(["a"], query=question)


async def asearch(question: str) -> list[str]:
    return ["a"]


def use(
    retriever: BaseRetriever,
    engine: BaseQueryEngine,
    chat: BaseChatEngine,
    flow: Workflow,
    llm: LLM,
) -> None:
    evaluator: BaseEvaluator = RecallEvaluator(
        IdRecall(), Recall @ 5, nDCG @ 10, id_key="ref_doc_id", tool_documents={"kb": len}
    )
    metric: BaseRetrievalMetric = RecallMetric(measure=Recall @ 5)
    RetrieverEvaluator(metrics=[metric], retriever=retriever)
    BatchEvalRunner({"recall": evaluator})
    ClaimRecall(judge=LLMJudge(LlamaIndexChatModel(llm)))
    with capture_retrievals(failed_calls="score") as capture:
        response = engine.query("q")
    result: RecallEvaluationResult = RecallEvaluator().evaluate_response("q", response)
    score: float | None = result.score
    sample: Sample = capture.sample(user_input="q", reference_context_ids=["a"])
    asked: Retriever = observed(engine)
    report: Report = report_of([result])
    evaluate([sample], [IdRecall()], retriever=asked)
    for thing in (retriever, engine, chat, flow):
        evaluate([sample], IdRecall(), retriever=observed(thing))
    evaluate([sample], IdRecall(), retriever=observed(asearch))
    evaluate([sample], IdRecall(), retriever=observed(search))
    diagnose(report, corpus=contexts(retriever.retrieve("q")), retriever=observed(retriever))
    print(score)


async def wait(retriever: BaseRetriever) -> float | None:
    report: Report = await aevaluate([], IdRecall(), retriever=observed(retriever))
    return (await RecallEvaluator().aevaluate("q", contexts=["a"])).score
"""

WRONG = {
    "RecallEvaluator(id_keys='a')": "call-arg",
    "RecallEvaluator(IdRecall(), 'recall@5')": "arg-type",
    "observed(search, failed_calls='ignore')": "arg-type",
    "capture_retrievals(id_keys='a')": "call-arg",
}


@pytest.mark.long
def test_mypy_takes_the_program_and_refuses_wrong_lines(tmp_path: Path) -> None:
    """Mypy passes the right program, and finds each wrong line, with LlamaIndex's types."""
    lines = [*RIGHT.splitlines(), *WRONG]
    (tmp_path / "program.py").write_text("\n".join(lines), encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "", "program.py"]
    checked = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    first = len(lines) - len(WRONG) + 1
    found = [
        (int(line.split(":")[1]), line.rpartition("[")[2].rstrip("]"))
        for line in checked.stdout.splitlines()
        if ": error: " in line
    ]
    assert found == list(enumerate(WRONG.values(), start=first)), checked.stdout
