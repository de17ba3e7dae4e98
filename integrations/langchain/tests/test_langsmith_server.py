"""Uploads by every route arrive at a local server in LangSmith's protocol."""

from __future__ import annotations

import asyncio
import json
import random
import threading
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlparse
from uuid import UUID, uuid4

import pytest
from langchain_classic.smith import RunEvalConfig, run_on_dataset
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.runnables.config import ContextThreadPoolExecutor
from langsmith import Client, aevaluate, evaluate
from langsmith.evaluation import evaluate_comparative, evaluate_existing
from langsmith.schemas import Example

from fullrecall import ClaimRecall, IdRecall, LLMJudge
from fullrecall.measures import Recall, nDCG
from langchain_fullrecall import LangChainChatModel, RecallStringEvaluator, report_of

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    # LangChain's own runner does not name a run's project.
    pytest.mark.filterwarnings("ignore:Creating feedback for a run without session_id"),
]

TENANT, DATASET = str(uuid4()), str(uuid4())
NOW = datetime(2025, 1, 1, tzinfo=UTC).isoformat()


class Letters(BaseRetriever):
    """A retriever of one document for each letter of the question, which fails for "down"."""

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        if query == "down":
            raise ConnectionError("no route")
        return [Document(f"text {one}", id=one) for one in query]


class Server:
    """The part of LangSmith's server that these tests need, in memory."""

    def __init__(self, examples: list[Example]) -> None:
        self.examples = examples
        self.sessions: dict[str, dict[str, Any]] = {}
        self.runs: dict[str, dict[str, Any]] = {}
        self.feedback: list[dict[str, Any]] = []
        self.unknown: list[str] = []
        self.lock = threading.Condition()

    def wait_for_feedback(self, count: int) -> None:
        """Wait until enough feedback has arrived, since `aevaluate` ends before its uploads do."""
        with self.lock:
            assert self.lock.wait_for(lambda: len(self.feedback) >= count, timeout=60)

    def answer(  # noqa: C901, PLR0911, PLR0912 - one case for each thing that is asked
        self, method: str, path: str, query: dict[str, list[str]], body: Any
    ) -> Any:
        """Return the answer to one request."""
        parts = path.strip("/").split("/")
        with self.lock:
            match method, parts:
                case _, ["info"]:
                    return {}
                case _, ["settings"]:
                    return {"id": TENANT, "display_name": "t", "created_at": NOW}
                case "POST", ["sessions"]:
                    made = {
                        "id": body.get("id") or str(uuid4()),
                        "tenant_id": TENANT,
                        "start_time": NOW,
                        "reference_dataset_id": DATASET,
                        **body,
                    }
                    made["id"] = made["id"] or str(uuid4())
                    self.sessions[made["id"]] = made
                    return made
                case "GET", ["sessions"]:
                    name = query.get("name", [None])[0]
                    return [s for s in self.sessions.values() if name in (None, s["name"])]
                case _, ["sessions", session]:
                    return self.sessions[session]
                case "GET", ["datasets"]:
                    return [self.dataset()]
                case "POST", ["datasets", "comparative"]:
                    return {
                        "id": str(uuid4()),
                        "tenant_id": TENANT,
                        "created_at": NOW,
                        "modified_at": NOW,
                        "reference_dataset_id": DATASET,
                        **body,
                    }
                case "GET", ["datasets", _]:
                    return self.dataset()
                case "GET", ["examples"]:
                    offset = int(query.get("offset", ["0"])[0])
                    return [self.example(each) for each in self.examples][offset:]
                case "GET", ["examples", key]:
                    return next(self.example(e) for e in self.examples if str(e.id) == key)
                case "POST", ["runs"]:
                    self.runs[body["id"]] = body
                    return {}
                case "PATCH", ["runs", run]:
                    self.runs[run] |= {k: v for k, v in body.items() if v is not None}
                    return {}
                case "POST", ["runs", "query"]:
                    return {"runs": [r for r in map(self.run, self.runs) if wanted(r, body)]}
                case "POST", ["feedback"]:
                    self.feedback.append(body)
                    self.lock.notify_all()
                    return {}
                case "GET", ["feedback"]:
                    if int(query.get("offset", ["0"])[0]):
                        return []
                    return [
                        {**each, "created_at": NOW, "modified_at": NOW, "id": each["id"]}
                        for each in self.feedback
                        if each.get("run_id") in query["run"]
                    ]
        self.unknown.append(f"{method} {path}")
        return {}

    def dataset(self) -> dict[str, Any]:
        """Return the only dataset."""
        return {
            "id": DATASET,
            "name": "d",
            "created_at": NOW,
            "data_type": "kv",
            "tenant_id": TENANT,
        }

    def example(self, one: Example) -> dict[str, Any]:
        """Return a row as JSON."""
        return {
            "id": str(one.id),
            "dataset_id": DATASET,
            "inputs": one.inputs,
            "outputs": one.outputs,
            "created_at": NOW,
            "modified_at": NOW,
        }

    def run(self, key: str) -> dict[str, Any]:
        """Return a run as JSON."""
        run = self.runs[key]
        session = next(
            (s["id"] for s in self.sessions.values() if s["name"] == run.get("session_name")), None
        )
        known = {name: value for name, value in run.items() if name != "attachments"}
        return {"child_run_ids": [], "app_path": "", **known, "session_id": session or str(uuid4())}


def wanted(run: dict[str, Any], body: dict[str, Any]) -> bool:
    """Return whether a query selects a run."""
    return (not body.get("session") or run["session_id"] in body["session"]) and (
        body.get("is_root") is None or body["is_root"] == (run.get("parent_run_id") is None)
    )


@pytest.fixture
def no_network() -> None:
    """Allow this module to connect to this machine only."""


@pytest.fixture
def rows() -> list[Example]:
    """Return three rows: one is scored, one lacks references, and one has a failing retriever."""
    wanted_ids: list[tuple[str, list[str]]] = [("abc", ["b", "z"]), ("ab", []), ("down", ["a"])]
    return [
        Example(id=uuid4(), inputs={"question": asked}, outputs={"reference_context_ids": ids})
        for asked, ids in wanted_ids
    ]


@pytest.fixture
def server(rows: list[Example]) -> Iterator[tuple[Server, Client]]:
    """Yield the server, and a client of it."""
    kept = Server(rows)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _reply(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            raw = self.rfile.read(length)
            url = urlparse(self.path)
            body = json.loads(raw) if raw else {}
            plain = json.dumps(kept.answer(self.command, url.path, parse_qs(url.query), body))
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(plain.encode())))
            self.end_headers()
            self.wfile.write(plain.encode())

        do_GET = do_POST = do_PATCH = _reply  # noqa: N815 - the standard library's names

        def log_message(self, *_: object) -> None:
            """Write no log."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    client = Client(
        api_url=f"http://127.0.0.1:{http.server_port}",
        api_key="k",
        info={},
        auto_batch_tracing=False,
    )
    yield kept, client
    http.shutdown()
    thread.join()
    http.server_close()
    assert kept.unknown == []


def target(inputs: dict[str, Any]) -> dict[str, str]:
    """Answer, and swallow a retriever's failure."""
    try:
        found = Letters().invoke(inputs["question"])
    except ConnectionError:
        found = []
    return {"answer": f"{len(found)} documents"}


EXPECTED = {
    ("id_recall@1", 0.0, "0 of 2 found in 1 retrieved; missed: b, z"),
    ("id_recall", 0.5, "1 of 2 found in 3 retrieved; missed: z"),
    ("id_recall@1", None, "undefined: no reference items"),
    ("id_recall", None, "undefined: no reference items"),
    ("id_recall@1", None, "unscored: no retrieval: ConnectionError: no route"),
    ("id_recall", None, "unscored: no retrieval: ConnectionError: no route"),
}


def uploaded(kept: Server) -> set[tuple[Any, ...]]:
    """Return key, score and comment of the uploads; values and extras must be empty."""
    for each in kept.feedback:
        assert each.get("value") is None
        assert not each.get("extra")
    return {(each["key"], each.get("score"), each.get("comment")) for each in kept.feedback}


def evaluator() -> RecallStringEvaluator:
    """Return the evaluator of these tests."""
    return RecallStringEvaluator(IdRecall(), Recall @ 1, Recall)


@pytest.mark.parametrize("route", ["evaluate", "aevaluate"])
def test_an_experiment_arrives_as_computed(server: Any, route: str) -> None:
    """Every key, score and comment arrives, and the report comes from the server's values."""
    kept, client = server
    options: dict[str, Any] = {"data": "d", "evaluators": [evaluator()], "client": client}

    async def arun() -> Any:
        async def atarget(inputs: dict[str, Any]) -> dict[str, str]:
            return await asyncio.to_thread(target, inputs)

        outcome = await aevaluate(atarget, **options)
        async for _ in outcome:
            pass
        return outcome.experiment_name

    if route == "evaluate":
        outcome = evaluate(target, **options)
        outcome.wait()
        name = outcome.experiment_name
    else:
        name = asyncio.run(arun())
    kept.wait_for_feedback(len(EXPECTED))
    assert uploaded(kept) == EXPECTED
    report = report_of(name, client=client)
    assert sorted(str(row.results[0].status) for row in report) == [
        "scored",
        "undefined",
        "unscored",
    ]
    assert {row.results[0][Recall] for row in report} == {0.5, None}
    assert {row.sample.id for row in report} == {str(each.id) for each in kept.examples}


def test_an_existing_experiment_scores_alike(server: Any) -> None:
    """An existing experiment, whose runs are JSON with their children, gives the same scores."""
    kept, client = server
    first = evaluate(target, data="d", client=client)
    first.wait()
    evaluate_existing(
        first.experiment_name, evaluators=[evaluator()], client=client, load_nested=True
    ).wait()
    assert uploaded(kept) == EXPECTED


def changing(inputs: dict[str, Any]) -> dict[str, str]:
    """Change list and documents right after the search."""
    found = Letters().invoke(inputs["question"])
    for document in found:
        document.id = document.page_content = "other"
    random.choice([list.reverse, list.clear, list.pop])(found)
    return {"answer": "An answer."}


def parallel(inputs: dict[str, Any]) -> dict[str, str]:
    """Search twice in parallel, in any order."""
    questions = [inputs["question"], inputs["question"][::-1]]
    random.shuffle(questions)
    with ContextThreadPoolExecutor(2) as pool:
        for found in pool.map(Letters().invoke, questions):
            found.clear()
    return {"answer": "An answer."}


@pytest.mark.parametrize(
    ("application", "comment"),
    [
        (changing, "2 of 4 found in 4 retrieved; missed: y, z"),
        (parallel, "2 of 4 found in 4 retrieved; union of 2 calls; missed: y, z"),
    ],
)
def test_a_stored_run_scores_as_it_did_live(
    server: Any, runs: int, application: Any, comment: str
) -> None:
    """Each run has one number, from this process's objects and from the server's JSON."""
    kept, client = server
    wanted_ids = {"reference_context_ids": ["a", "d", "y", "z"]}
    kept.examples = [
        Example(id=uuid4(), inputs={"question": "abcd"}, outputs=wanted_ids) for _ in range(runs)
    ]
    one = RecallStringEvaluator()
    live = evaluate(application, data="d", evaluators=[one], client=client, max_concurrency=4)
    live.wait()
    assert [(each["score"], each["comment"]) for each in kept.feedback] == [(0.5, comment)] * runs
    kept.feedback.clear()
    evaluate_existing(
        live.experiment_name, evaluators=[one], client=client, load_nested=True
    ).wait()
    assert [(each["score"], each["comment"]) for each in kept.feedback] == [(0.5, comment)] * runs
    report = report_of(live.experiment_name, one, client=client)
    assert {row.results[0].score for row in report} == {0.5}


def run_by(route: str, evaluators: list[Any], client: Client) -> str:
    """Run an experiment to its end; return its name."""

    async def atarget(inputs: dict[str, Any]) -> dict[str, Any]:
        return {"documents": await Letters().ainvoke(inputs["question"])}

    async def arun() -> str:
        outcome = await aevaluate(atarget, data="d", evaluators=evaluators, client=client)
        async for _ in outcome:
            pass
        return outcome.experiment_name

    if route == "aevaluate":
        return asyncio.run(arun())
    outcome = evaluate(
        lambda inputs: {"documents": Letters().invoke(inputs["question"])},
        data="d",
        evaluators=evaluators,
        client=client,
    )
    outcome.wait()
    return outcome.experiment_name


@pytest.mark.parametrize("route", ["evaluate", "aevaluate"])
def test_a_judges_calls_lie_under_the_evaluators_trace(server: Any, route: str) -> None:
    """A judge's calls are in the trace of the evaluator, and the feedback names that trace."""
    kept, client = server
    kept.examples = [
        Example(id=uuid4(), inputs={"question": "ab"}, outputs={"reference": "Paris is large."})
    ]
    model = LangChainChatModel(FakeListChatModel(responses=["nothing"]))
    run_by(route, [RecallStringEvaluator(ClaimRecall(judge=LLMJudge(model)))], client)
    kept.wait_for_feedback(1)
    judge_calls = [run for run in kept.runs.values() if run["run_type"] == "llm"]
    sources = {each["feedback_source"]["metadata"]["__run"]["run_id"] for each in kept.feedback}
    assert judge_calls
    assert {run["trace_id"] for run in judge_calls} == sources
    for source in sources:
        assert kept.runs[source]["session_name"] == "evaluators"


def test_no_deprecated_function_of_langsmith_is_used(server: Any) -> None:
    """No deprecated function of LangSmith is used but `list_runs`, for old servers."""
    _, client = server

    def deprecated(action: Any, *arguments: Any) -> list[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            action(*arguments)
        return [
            str(each.message).partition(" ")[0]
            for each in caught
            if issubclass(each.category, DeprecationWarning)
            and "langchain_fullrecall" in each.filename
        ]

    def compare(*names: str) -> None:
        list(evaluate_comparative(names, evaluators=evaluator().each(), client=client))  # type: ignore[call-overload]

    recall = evaluator()
    assert deprecated(run_by, "evaluate", [recall], client) == []
    assert deprecated(run_by, "aevaluate", [recall], client) == []
    first, second, third = (run_by("evaluate", [], client) for _ in range(3))
    assert deprecated(compare, first, second) == []
    again = {"evaluators": [recall], "client": client}
    assert deprecated(lambda: evaluate_existing(first, **again).wait()) == []
    assert set(deprecated(lambda: report_of(third, recall, client=client))) <= {"list_runs()"}


def test_two_experiments_are_compared(server: Any) -> None:
    """`evaluate_comparative` takes the evaluator, and compares its first measure."""
    kept, client = server
    names = []
    for cut in (3, 1):
        outcome = evaluate(
            lambda inputs, cut=cut: {"documents": Letters().invoke(inputs["question"][:cut])},
            data=[kept.examples[0]],
            client=client,
        )
        outcome.wait()
        names.append(outcome.experiment_name)
    compared = evaluate_comparative(
        tuple(names), evaluators=[RecallStringEvaluator(IdRecall(), Recall)], client=client
    )
    list(compared)
    assert sorted(each["score"] for each in kept.feedback) == [0.0, 0.5]
    assert {each["key"] for each in kept.feedback} == {"id_recall"}


def test_a_run_over_a_dataset_uploads_every_key(server: Any) -> None:
    """Each row's several keys are uploaded, and no key is called "unnamed"."""
    kept, client = server
    kept.examples = kept.examples[:1]
    both = RecallStringEvaluator(IdRecall(), Recall @ 1, nDCG)
    run_on_dataset(
        client=client,
        dataset_name="d",
        llm_or_chain_factory=lambda: RunnableLambda(lambda i: i["question"]) | Letters(),
        evaluation=RunEvalConfig(evaluators=[both]),
    )
    scores = {each["key"]: each["score"] for each in kept.feedback}
    assert scores == {"id_recall@1": 0.0, "id_recall.ndcg": pytest.approx(0.387, abs=1e-3)}


def test_the_function_form_of_pytest_and_openevals(rows: list[Example]) -> None:
    """The evaluator takes `inputs`, `outputs`, `reference_outputs`, as openevals calls it."""
    one = RecallStringEvaluator(IdRecall(), Recall)
    documents = Letters().invoke("abc")
    given: dict[str, Any] = {
        "inputs": rows[0].inputs,
        "outputs": {"documents": documents},
        "reference_outputs": rows[0].outputs,
    }
    assert one(**given) == {
        "key": "id_recall",
        "score": 0.5,
        "comment": "1 of 2 found in 3 retrieved; missed: z",
    }
    assert [each["key"] for each in evaluator()(**given)] == ["id_recall@1", "id_recall"]
    broken = one(inputs={}, outputs={"documents": [7]}, reference_outputs=rows[0].outputs)
    assert (broken["score"], "document 0" in broken["comment"]) == (None, True)
    assert isinstance(rows[0].id, UUID)
