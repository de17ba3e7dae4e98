"""Every function that takes a retriever accepts the same ones, and reports failures alike."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
from collections import namedtuple
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace as Object
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
import pandas as pd
import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from llama_index.core.retrievers import BaseRetriever as LlamaRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from typer.testing import CliRunner

from fullrecall import Context, IdRecall, Report, Sample, aevaluate, choose, evaluate
from fullrecall.errors import ParameterError
from fullrecall.judge import Verdict
from fullrecall.measures import Recall
from fullrecall.run.retrievers import as_retriever
from fullrecall.samples.retrieval import Retrieval

IDS = ("d1", "d2")
TEXTS = {"d1": "The tower is in Paris.", "d2": "It was finished in 1889."}
QUESTION = "Where is the tower?"

Pair = namedtuple("Pair", "doc_id body")  # noqa: PYI024 - as an ORM makes it


def table() -> sqlite3.Connection:
    """Return a database that any thread may read."""
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.execute("create table chunks (name text, body text, rank real)")
    rows = [(name, TEXTS[name], 1.0 - n / 2) for n, name in enumerate(IDS)]
    connection.executemany("insert into chunks values (?, ?, ?)", rows)
    return connection


def named_rows(query: str) -> list[sqlite3.Row]:
    """Return rows that have names."""
    with_names = table()
    with_names.row_factory = sqlite3.Row
    return with_names.execute(query).fetchall()


RESULTS: dict[str, Callable[[], Any]] = {
    "ids": lambda: list(IDS),
    "an array of ids": lambda: np.array(IDS),
    "(id, text)": lambda: list(TEXTS.items()),
    "(text, id)": lambda: [(text, name) for name, text in TEXTS.items()],
    "(id, score)": lambda: [("d1", 0.9), ("d2", 0.4)],
    "(id, NumPy's score)": lambda: [("d1", np.float32(0.9)), ("d2", np.float32(0.4))],
    "(id, text, score)": lambda: [("d1", TEXTS["d1"], 0.9), ("d2", TEXTS["d2"], 0.4)],
    "pairs as JSON has them": lambda: [["d1", 0.9], ["d2", 0.4]],
    "(context, score)": lambda: [(Context(TEXTS[name], id=name), 0.9) for name in IDS],
    "mappings": lambda: [{"id": name, "text": text} for name, text in TEXTS.items()],
    "mappings in capitals": lambda: [{"ID": name, "TEXT": text} for name, text in TEXTS.items()],
    "contexts": lambda: [Context(id=name) for name in IDS],
    "a record": lambda: Retrieval([Context(id=name) for name in IDS]),
    "objects": lambda: [Object(node_id=name, text=text) for name, text in TEXTS.items()],
    "named tuples": lambda: [Pair(*item) for item in TEXTS.items()],
    "LangChain's documents": lambda: [Document(text, id=name) for name, text in TEXTS.items()],
    "LlamaIndex's nodes": lambda: [
        NodeWithScore(node=TextNode(id_=name, text=text), score=0.5) for name, text in TEXTS.items()
    ],
    "rows with names": lambda: named_rows("select name as id, body from chunks"),
    "rows with names of their own": lambda: named_rows("select name, rank from chunks"),
    "tuples from a cursor": lambda: (
        table().execute("select name, body, rank from chunks").fetchall()
    ),
    "a cursor": lambda: table().execute("select name as doc_id, body from chunks"),
    "single columns": lambda: table().execute("select name from chunks").fetchall(),
    "a generator": lambda: (name for name in IDS),
    "a frame": lambda: pd.DataFrame({"id": IDS, "text": TEXTS.values()}),
    "an answer and its contexts": lambda: ("In Paris.", list(TEXTS.items())),
    "an answer by names": lambda: {"answer": "In Paris.", "source_documents": list(IDS)},
    "an answer within an answer": lambda: {"output": {"documents": list(IDS), "took": 3}},
    "Chroma's columns": lambda: {"ids": [list(IDS)], "documents": [list(TEXTS.values())]},
}


class ByProtocol:
    """A retriever that follows the protocol, and takes samples."""

    def __init__(self, search: Callable[..., Any]) -> None:
        self.search = search

    def retrieve(self, sample: Sample) -> Any:
        """Return the results of the search."""
        return self.search(sample.user_input)

    async def aretrieve(self, sample: Sample) -> Any:
        """Return the results of the search."""
        return self.search(sample.user_input)


class Called:
    """An object with a `__call__`."""

    def __init__(self, search: Callable[..., Any]) -> None:
        self.search = search

    def __call__(self, question: str, *, top_k: int = 5) -> Any:
        """Return the results of the search."""
        return self.search(question)


def awaited(search: Callable[..., Any]) -> Callable[..., Any]:
    """Return the search as an async function."""

    async def asearch(question: str) -> Any:
        await asyncio.sleep(0)
        return search(question)

    return asearch


def streamed(search: Callable[..., Any]) -> Callable[..., Any]:
    """Return the search as an async generator of its rows."""

    async def rows(question: str) -> AsyncIterator[Any]:
        for row in search(question):
            yield row

    return rows


class OfLangChain(BaseRetriever):
    """A user's subclass of LangChain's retriever."""

    search: Any

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return [Document(TEXTS[name], id=name) for name in self.search(query)]


class OfLlamaIndex(LlamaRetriever):
    """A user's subclass of LlamaIndex's retriever."""

    def __init__(self, search: Callable[..., Any]) -> None:
        self.search = search
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = self.search(query_bundle.query_str)
        return [NodeWithScore(node=TextNode(id_=name, text=TEXTS[name])) for name in found]


FORMS: dict[str, Callable[[Callable[..., Any]], Any]] = {
    "a function": lambda search: search,
    "with an optional k": lambda search: lambda question, k=3: search(question),
    "with a required k": lambda search: lambda question, k: search(question)[:k],
    "with k by name": lambda search: lambda question, *, limit: search(question)[:limit],
    "a partial": lambda search: partial(lambda index, question, k: search(question), "index"),
    "async": awaited,
    "an async generator": streamed,
    "an async partial": lambda search: partial(awaited(search)),
    "an object": Called,
    "a retriever": ByProtocol,
    "LangChain's": lambda search: OfLangChain(search=search),
    "LlamaIndex's": OfLlamaIndex,
}


class Outcome(NamedTuple):
    """A retriever's outcome in one function: the IDs in order, or the reason without any."""

    ids: tuple[str | None, ...]
    reason: str = ""


class NoJudge:
    """A judge that supports nothing."""

    name = "none"

    def relevance(self, contexts: Any, *, question: str, reference: Any) -> Any:
        """Return no support."""
        yield from ()
        return [Verdict("not_supported") for _ in contexts]

    def attribute(self, targets: Any, contexts: Any, *, question: Any = None, **_: Any) -> Any:
        """Return no support."""
        yield from ()
        return [Verdict("not_supported") for _ in targets]


def samples(count: int = 1) -> list[Sample]:
    """Return questions whose target is the second document."""
    return [
        Sample(id=f"s{n}", user_input=QUESTION, reference_context_ids=["d2"]) for n in range(count)
    ]


def of_report(report: Report) -> Outcome:
    """Return the outcome of a report's first sample, and check its score."""
    row = report.rows[0]
    ids = row.sample.retrieved_context_ids or ()
    assert row.results[0].score == ("d2" in ids if ids else None)
    return Outcome(tuple(ids), "" if ids else row.results[0].reason)


def by_evaluate(retriever: Any) -> Outcome:
    """Return the outcome in `evaluate`."""
    return of_report(evaluate(samples(), IdRecall(), retriever=retriever, progress=False))


def by_aevaluate(retriever: Any) -> Outcome:
    """Return the outcome in `aevaluate`."""
    run = aevaluate(samples(), IdRecall(), retriever=retriever, progress=False)
    return of_report(asyncio.run(run))


def by_choose(retriever: Any) -> Outcome:
    """Return the outcome in `choose`, against a retriever that returns nothing."""
    rivals = {"it": retriever, "nothing": lambda _: []}
    chosen = choose(samples(6), IdRecall(), rivals, Recall @ 2, progress=False)
    if chosen["it"].unscored:
        return Outcome((), chosen["it"].reason)
    assert chosen["it"].mean == 1.0
    return Outcome(IDS)


def by_diagnose(retriever: Any) -> Outcome:
    """Return the outcome in `diagnose`: a rank of 2 for the target, or the failure as the cause."""
    from fullrecall import diagnose
    from fullrecall.diagnosis import Cause

    report = evaluate(samples(), IdRecall(), retriever=lambda _: [{"id": "other"}], progress=False)
    corpus = {**TEXTS, "other": "Nothing."}
    (miss,) = diagnose(report, corpus=corpus, retriever=retriever)
    if miss.cause is Cause.FAILED_CALL:
        return Outcome((), miss.detail)
    assert (miss.cause, miss.rank) == (Cause.BEYOND_K, 2)
    return Outcome(IDS)


def by_complete(retriever: Any) -> Outcome:
    """Return the outcome in `complete`, which pools the results."""
    from fullrecall.testset import complete

    done = complete(samples(), {"mine": retriever}, NoJudge(), depth=5, progress=False)  # type: ignore[arg-type]
    pairs = done.pool.pairs[0]
    if done.pool.problems:
        return Outcome((), done.pool.problems[0])
    nearest = sorted(pairs, key=lambda pair: pair.nearness, reverse=True)
    return Outcome(tuple(pair.context.id for pair in nearest))


TAKERS: dict[str, Callable[[Any], Outcome]] = {
    "evaluate": by_evaluate,
    "aevaluate": by_aevaluate,
    "choose": by_choose,
    "diagnose": by_diagnose,
    "complete": by_complete,
}


@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize("result", RESULTS)
def test_every_function_reads_every_result(taker: str, result: str) -> None:
    """Every function reads the same IDs, in the same order, from every form of result."""
    assert TAKERS[taker](lambda _: RESULTS[result]()) == Outcome(IDS)


@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize("form", FORMS)
def test_every_function_asks_every_form(taker: str, form: str) -> None:
    """Every function asks every form of retriever, with k if it takes one."""
    questions = []

    def search(question: str) -> list[str]:
        questions.append(question)
        return list(IDS)

    assert TAKERS[taker](FORMS[form](search)) == Outcome(IDS)
    assert set(questions) == {QUESTION}


def failing(question: str) -> Any:
    """Raise a driver's error."""
    raise ConnectionError("index is down")


@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize("form", FORMS)
def test_a_failure_is_a_state(taker: str, form: str) -> None:
    """A failure is reported with its reason, and is neither a score nor a cause."""
    outcome = TAKERS[taker](FORMS[form](failing))
    assert outcome.ids == ()
    assert "ConnectionError: index is down" in outcome.reason


@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize("result", [None, "a text", [1.5], [("The Tower", "Of Paris")], 7])
def test_an_unreadable_result_is_a_state(taker: str, result: Any) -> None:
    """An unreadable result is reported with its reason, and no guess is scored."""
    outcome = TAKERS[taker](lambda _: result)
    assert outcome.ids == ()
    assert outcome.reason


@pytest.mark.parametrize("name", ["function", "asynchronous", "index", "failing"])
@pytest.mark.parametrize("command", ["evaluate", "diagnose"])
def test_the_command_line_takes_the_same(
    command: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--retriever module:name` of every command takes the same retrievers."""
    from fullrecall.cli import app

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    Path("searches.py").write_text(
        "from tests_contract import FORMS, failing\n"
        "function = lambda question, k=1: [('d1', 0.9), ('d2', 0.4)]\n"
        "asynchronous = FORMS['async'](function)\n"
        "index = FORMS['a retriever'](function)\n",
        encoding="utf-8",
    )
    monkeypatch.setitem(sys.modules, "tests_contract", sys.modules[__name__])
    monkeypatch.delitem(sys.modules, "searches", raising=False)
    row = {"question": QUESTION, "expected_ids": ["d2"], "retrieved_ids": ["other"]}
    Path("samples.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    report = evaluate(
        [Sample(user_input=QUESTION, reference_context_ids=["d2"], retrieved_context_ids=["d9"])],
        IdRecall(),
        progress=False,
    )
    report.save("report.jsonl")
    file = "report.jsonl" if command == "diagnose" else "samples.jsonl"
    result = CliRunner().invoke(app, [command, file, "--retriever", f"searches:{name}"])
    if name == "failing":
        assert "ConnectionError: index is down" in " ".join(result.output.split())
    else:
        assert "rank 2" in result.output if command == "diagnose" else "1.000" in result.output


@pytest.mark.parametrize(
    ("id_key", "result"),
    [
        ("metadata.source", [{"text": "t", "metadata": {"source": "d1"}}]),
        ("source", [{"text": "t", "metadata": {"source": "d1"}}]),
        ("source", [Document("t", id="x", metadata={"source": "d1"})]),
        ("payload.file.name", [Object(id=7, payload={"file": {"name": "d1"}, "text": "t"})]),
        ("name", named_rows("select name, body from chunks limit 1")),
        (lambda item: item["meta"][0], [{"text": "t", "meta": ["d1"]}]),
        (lambda item: item.split(":")[0], ["d1: a text that begins with its ID"]),
    ],
)
def test_id_key_says_where_the_id_is(id_key: Any, result: Any) -> None:
    """`id_key` is a dotted path in the item or its metadata, or a function of the item."""
    sample = Sample(id="s", user_input=QUESTION, reference_context_ids=["d1"])
    report = evaluate(
        [sample], IdRecall(), retriever=lambda _: result, id_key=id_key, progress=False
    )
    assert report.rows[0].sample.retrieved_context_ids == ("d1",)
    missing = evaluate(
        [sample], IdRecall(), retriever=lambda _: [{"text": "t"}], id_key="a.b", progress=False
    )
    assert "a context has nothing at 'a.b'" in missing.rows[0].results[0].reason


def test_id_key_of_rows_and_frames() -> None:
    """`id_key` works the same in rows and frames that have the contexts."""
    contexts = [{"text": "t", "metadata": {"source": "d1"}}]
    row = {"question": QUESTION, "expected_ids": ["d1"], "retrieved_contexts": contexts}
    for samples_ in ([row], pd.DataFrame([row])):
        report = evaluate(samples_, IdRecall(), id_key="metadata.source", progress=False)
        assert report.rows[0].results[0].score == 1.0


@pytest.mark.parametrize(
    ("sample", "result", "ids", "texts"),
    [
        ({"reference_context_ids": ["d1"]}, ["d1"], ("d1",), None),
        ({"reference_contexts": ["Paris"]}, ["Paris"], None, ("Paris",)),
        ({"reference_context_ids": ["d1"]}, ["The tower.", "Paris"], None, ("The tower.", "Paris")),
        ({"reference_context_ids": ["d1"]}, ["埃菲尔铁塔在巴黎。"], None, ("埃菲尔铁塔在巴黎。",)),
        ({"reference_context_ids": ["塔"]}, ["塔", "橋"], ("塔", "橋"), None),
        ({"reference_context_ids": [1]}, [UUID(int=1)], (str(UUID(int=1)),), None),
    ],
)
def test_strings_are_ids_by_the_references_and_by_their_look(
    sample: dict[str, Any], result: Any, ids: Any, texts: Any
) -> None:
    """Strings are IDs or texts by the references and their look, never by whether they match."""
    retrieval = as_retriever(lambda _: result).retrieve(Sample(user_input=QUESTION, **sample))
    contexts = retrieval.contexts or ()
    assert (tuple(c.id for c in contexts) if ids else None) == ids
    assert (tuple(c.text for c in contexts) if texts else None) == texts


@pytest.mark.parametrize(
    ("retriever", "message"),
    [
        (OfLangChain, "retriever must be an instance, got the class OfLangChain"),
        ({"d1": 0.5}, "retriever must be a Retriever or a function of the question, got {'d1'"),
        (Object(search=lambda q: []), "pass its method that searches"),
    ],
)
def test_an_object_that_cannot_be_asked_is_refused(retriever: Any, message: str) -> None:
    """The error for an object that cannot be asked says what can."""
    for taker in ("evaluate", "choose", "diagnose", "complete"):
        with pytest.raises(ParameterError) as raised:
            TAKERS[taker](retriever)
        assert message in str(raised.value)
