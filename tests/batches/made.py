"""Rows of all statuses, tables of all kinds, and every scorer with every judge."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.containment_judge import ContainmentJudge

from fullrecall import (
    ClaimRecall,
    IdRecall,
    LLMJudge,
    Report,
    Sample,
    SpanRecall,
    errors,
    evaluate,
    scorers,
)
from fullrecall.judge import OpenAIChatModel, Panel
from fullrecall.judge.models import ChatRequest, Failure, Message
from fullrecall.lexical import LexicalJudge

pa = pytest.importorskip("pyarrow", reason="needs the parquet extra")
pd = pytest.importorskip("pandas", reason="needs the pandas extra")
pl = pytest.importorskip("polars", reason="needs the test extra")

SCORERS = (IdRecall(), SpanRecall(), ClaimRecall(judge=ContainmentJudge()))


def rows(count: int = 24) -> list[dict[str, Any]]:
    """Return rows of all statuses, with gaps, nested contexts and groups, numbered by `place`."""
    rng = random.Random(3)
    texts = [f"The tower number {n} was finished in {1880 + n}." for n in range(8)]
    made = []
    for place in range(count):
        ranked = rng.sample(range(8), 5)
        row: dict[str, Any] = {
            "place": place,
            "id": f"q{place}" if place % 3 else None,
            "user_input": f"Question “{place}”, with a \u2028 in it?" if place % 7 else None,
            "retrieved_contexts": [
                {
                    "id": f"d{n}",
                    "text": texts[n],
                    "score": 1 / (rank + 1) if place % 2 else None,
                    "metadata": {"page": n} if n % 2 else None,
                }
                for rank, n in enumerate(ranked)
            ]
            if place % 5
            else None,
            "reference_context_ids": [f"d{n}" for n in rng.sample(range(8), 2)],
            "reference_contexts": [texts[rng.randrange(8)]] if place % 4 else [],
            "reference_claims": [texts[rng.randrange(8)], "The tower is red."],
            "group": f"g{place % 4}" if place % 6 else None,
            "metadata": {"lang": "en", "pages": [place, 1]} if place % 2 else {"other": 0.5},
            "retrieval": None if place % 10 else {"error": "TimeoutError: 30 s"},
        }
        made.append(row)
    return made


def without_absent_keys(row: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a row without its gaps and its place."""
    return {name: value for name, value in row.items() if value is not None and name != "place"}


def plain(some: list[dict[str, Any]], how: Any = SCORERS, **options: Any) -> Report:
    """Return the report of `evaluate` over the rows, without any table."""
    samples = [Sample(**without_absent_keys(row)) for row in some]
    return evaluate(samples, how, progress=False, **options)


def saved(report: Report, folder: Path) -> bytes:
    """Return the bytes of a report's file."""
    report.save(folder / "report.jsonl")
    return (folder / "report.jsonl").read_bytes()


def lists(some: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Return the rows as columns."""
    return {name: [row[name] for row in some] for name in rows(1)[0]}


def arrow_table(some: list[dict[str, Any]]) -> Any:
    """Return the rows as an Arrow table; the schema is the same for any rows."""
    return pa.Table.from_pylist(some, schema=pa.Table.from_pylist(rows()).schema)


def arrow_batch(some: list[dict[str, Any]]) -> Any:
    """Return the rows as an Arrow record batch."""
    return pa.RecordBatch.from_pylist(some, schema=arrow_table([]).schema)


def frame(some: list[dict[str, Any]]) -> Any:
    """Return the rows as a data frame of Python objects, with its own row labels."""
    index = [f"row {row['place']}" for row in some]
    columns = {
        name: pd.Series(values, index=index, dtype="int64" if name == "place" else "object")
        for name, values in lists(some).items()
    }
    return pd.DataFrame(columns, index=index)


KINDS: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "table": arrow_table,
    "record batch": arrow_batch,
    "frame": frame,
    "frame from Arrow": lambda some: arrow_table(some).to_pandas(),
    "frame of Arrow's types": lambda some: arrow_table(some).to_pandas(types_mapper=pd.ArrowDtype),
    "frame of polars": lambda some: pl.from_arrow(arrow_table(some)),
}


def chat_model() -> OpenAIChatModel:
    """Return a model that was used, and so has open connections."""
    pytest.importorskip("openai", reason="needs the openai extra")
    model = OpenAIChatModel(
        "m", base_url="http://127.0.0.1:9/v1", temperature=1.0, options={"seed": 1}
    )
    reply = model.complete(ChatRequest((Message("user", "Are you there?"),)))
    assert reply.failure is Failure.CONNECTION
    return model


JUDGES: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "LexicalJudge": LexicalJudge,
    "LLMJudge": lambda: LLMJudge(chat_model()),
    "Panel": lambda: Panel([LLMJudge(chat_model()), LLMJudge(chat_model(), sample=1)]),
}
FOUND = Sample(
    id="a",
    user_input="Where does the cat sit?",
    retrieved_contexts=[{"id": "d", "text": "The cat sat on the mat."}],
    reference="The cat sat on the mat.",
    reference_contexts=["The cat sat on the mat."],
    reference_context_ids=["d"],
    reference_claims=["The cat sat on the mat."],
    reference_entities=["cat"],
    response="On the mat.",
)


class Scored(NamedTuple):
    """A scorer's class and whether it takes a judge."""

    scorer: type[Any]
    takes_judge: bool


def _every_scorer() -> Iterator[Scored]:
    for name in scorers.__all__:
        scorer = getattr(scorers, name)
        if (
            inspect.isclass(scorer)
            and issubclass(scorer, scorers.FindingScorer)
            and not inspect.isabstract(scorer)
        ):
            yield Scored(scorer, "judge" in inspect.signature(scorer).parameters)


EVERY_SCORER = tuple(_every_scorer())
"""All scorers that the package exports, new ones included."""

ERRORS = (
    errors.FullrecallError("plain"),
    errors.InputError("no list", path="a.csv", line=3, field="id"),
    errors.ParameterError("k is a whole number"),
    errors.ReportError("no report"),
    errors.StoreError("no store"),
    errors.RunStopped("no such model"),
    errors.JudgeError("no entities"),
    errors.MissingExtraError("pandas", "pandas", "a batch as a data frame"),
    errors.Interrupted(plain(rows(4))),
)
