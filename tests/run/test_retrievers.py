"""`evaluate(retriever=…)`: each sample gets its own contexts or error, with any retriever."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import partial, wraps
from pathlib import Path
from typing import Any

import pytest
from tests.observe.calls import of_calls

from fullrecall import ClaimRecall, Context, IdRecall, LLMJudge, Report, Sample, aevaluate, evaluate
from fullrecall.errors import InputError, Interrupted, ParameterError
from fullrecall.judge.models.scripted import ScriptedChatModel
from fullrecall.run.drivers import retrieved
from fullrecall.run.retrievers import as_retriever, takes_k
from fullrecall.samples.calls import Call
from fullrecall.samples.retrieval import Retrieval

Evaluate = Callable[..., Report]


def run(samples: Any, retriever: Any, **options: Any) -> Report:
    """Evaluate in this thread."""
    return evaluate(samples, IdRecall(), retriever=retriever, progress=False, **options)


def arun(samples: Any, retriever: Any, **options: Any) -> Report:
    """Evaluate in an event loop."""
    return asyncio.run(
        aevaluate(samples, IdRecall(), retriever=retriever, progress=False, **options)
    )


WAYS = pytest.mark.parametrize("run", [run, arun], ids=["evaluate", "aevaluate"])
asked_in: ContextVar[str] = ContextVar("asked_in", default="nowhere")


def questions(count: int) -> list[Sample]:
    """Return samples whose question is the reference ID."""
    return [Sample(user_input=f"d{n}", reference_context_ids=[f"d{n}"]) for n in range(count)]


def search(question: str) -> list[Context]:
    """Return the document that the question names, for some questions after a moment."""
    time.sleep(0.001 * (hash(question) % 3))
    return [Context(id="other"), Context(id=question)]


async def asearch(question: str) -> list[dict[str, str]]:
    """Return the document that the question names, in an event loop."""
    await asyncio.sleep(0.001 * (hash(question) % 3))
    return [{"id": "other"}, {"id": question}]


class Searcher:
    """A retriever that follows the protocol, and returns a whole record."""

    def retrieve(self, sample: Sample) -> Retrieval:
        """Return a record of one call."""
        contexts = tuple(search(sample.user_input or ""))
        return of_calls(
            [Call("searcher", sample.user_input, contexts)], response=f"It is {sample.user_input}."
        )

    async def aretrieve(self, sample: Sample) -> Retrieval:
        """Return a record of one call."""
        await asyncio.sleep(0)
        return self.retrieve(sample)


class Called:
    """An object with an async `__call__`."""

    async def __call__(self, question: str) -> list[Context]:
        """Return the contexts of `search`."""
        return search(question)


RETRIEVERS: dict[str, Any] = {
    "a function": search,
    "an async function": asearch,
    "a lambda": lambda question: search(question)[::1],
    "a partial": partial(search),
    "an async partial": partial(asearch),
    "a method": Searcher().retrieve.__self__,
    "a retriever": Searcher(),
    "an async callable": Called(),
    "a function that returns a record": lambda question: Retrieval(search(question)),
}


DEPTHS = "k top_k search_k topk limit depth count n size n_results num_results max_results".split()
"""Names of parameters for the number of contexts."""


def with_filters(question: str, filters: str = "", k: int = 3) -> Any:
    """Return the arguments."""
    return filters, k


def with_whole_number(question: str, most: int) -> Any:
    """Return the argument; its annotation is a text here."""
    return most


def at_place(question: str, most: int, /) -> Any:
    """Return the argument."""
    return most


@pytest.mark.parametrize(
    ("function", "by_itself", "asked_for_7"),
    [
        (lambda question: "-", "-", "-"),
        (lambda question, *rest, **named: (rest, named), ((), {}), ((), {})),
        (lambda question, k=3: k, 3, 7),
        (lambda question, k: k, 100, 7),
        (lambda question, *, limit: limit, 100, 7),
        (lambda question, *, other=0, search_k=3: (other, search_k), (0, 3), (0, 7)),
        (lambda question, filters=None, other=3, /: (filters, other), (None, 3), (None, 3)),
        (lambda question, filters=None, k=3, /: (filters, k), (None, 3), (None, 3)),
        (lambda question, kind="", rank=0: (kind, rank), ("", 0), ("", 0)),
        (lambda question, words: words, TypeError, 7),
        (with_filters, ("", 3), ("", 7)),
        (with_whole_number, 100, 7),
        (at_place, 100, 7),
        (partial(with_filters, filters="new"), ("new", 3), ("new", 7)),
        *((eval(f"lambda q, {name}=3: {name}"), 3, 7) for name in DEPTHS),  # noqa: S307
        *((eval(f"lambda q, {name}: {name}"), 100, 7) for name in DEPTHS),  # noqa: S307
    ],
)
def test_a_function_gets_k_if_it_takes_one(
    function: Callable[..., Any], by_itself: Any, asked_for_7: Any
) -> None:
    """Only the parameter for the number of contexts gets `k`, and without it keeps its default."""
    for k, expected in ((None, by_itself), (7, asked_for_7)):
        received = []

        @wraps(function)
        def search(*arguments: Any, _received: list[Any] = received, **named: Any) -> list[str]:
            _received.append(function(*arguments, **named))
            return []

        retriever = as_retriever(search, k=k)
        if expected is TypeError:
            with pytest.raises(TypeError):
                retriever.retrieve(questions(1)[0])
        else:
            retriever.retrieve(questions(1)[0])
            assert received == [expected]
    assert takes_k(function) is (asked_for_7 != by_itself)


@WAYS
@pytest.mark.parametrize("name", RETRIEVERS)
@pytest.mark.parametrize("max_concurrency", [1, 7])
def test_every_retriever_gives_the_same(run: Evaluate, name: str, max_concurrency: int) -> None:
    """Each sample has the contexts for its own question, in the samples' order."""
    report = run(questions(20), RETRIEVERS[name], max_concurrency=max_concurrency)
    assert [row.sample.user_input for row in report] == [f"d{n}" for n in range(20)]
    assert [row.results[0].score for row in report] == [1.0] * 20
    assert [row.sample.retrieved_context_ids for row in report] == [
        ("other", f"d{n}") for n in range(20)
    ]


@WAYS
def test_a_record_is_in_the_report(run: Evaluate) -> None:
    """The record that a retriever returns is in the report, with its calls and answer."""
    (row,) = run(questions(1), Searcher())
    assert row.sample.response == "It is d0."
    assert row.sample.retrieval is not None
    assert row.sample.retrieval.calls[0].source == "searcher"


@WAYS
def test_up_to_max_concurrency_are_asked_at_once(run: Evaluate) -> None:
    """Up to `max_concurrency` questions are asked at once, in the caller's context."""
    lock, now, most = threading.Lock(), 0, 0
    together = threading.Barrier(4)
    contexts = set()

    def slow(question: str) -> list[Context]:
        nonlocal now, most
        contexts.add(asked_in.get())
        with lock:
            now += 1
            most = max(most, now)
        if question != "d0":
            together.wait(20)
        with lock:
            now -= 1
        return [Context(id=question)]

    asked_in.set("here")
    report = run(questions(9), slow, max_concurrency=4)
    assert [row.results[0].score for row in report] == [1.0] * 9
    assert (most, contexts) == (4, {"here"})


@WAYS
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_failure_is_its_samples_own(run: Evaluate, *, asynchronous: bool) -> None:
    """A failure leaves its own sample unscored, with the reason and without a traceback."""

    def failing(question: str) -> Any:
        if question == "d1":
            raise ConnectionError("the index\n  is gone")
        if question == "d2":
            return None
        if question == "d3":
            return "a text"
        return search(question)

    async def afailing(question: str) -> Any:
        return failing(question)

    samples = [*questions(5), Sample(reference_context_ids=["a"])]
    report = run(samples, afailing if asynchronous else failing)
    results = [row.results[0] for row in report]
    assert [result.score for result in results] == [1.0, None, None, None, 1.0, None]
    assert results[1].reason == "no retrieval: ConnectionError: the index is gone"
    assert "expected a list of texts" in results[2].reason
    assert "got str 'a text'" in results[3].reason
    assert results[5].reason == "no retrieval: the sample has no user_input to ask"


@WAYS
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_call_that_hangs_is_given_up(run: Evaluate, *, asynchronous: bool) -> None:
    """A call ends after `timeout` seconds; the other calls and the run go on."""
    never = threading.Event()

    def hanging(question: str) -> Any:
        if question in ("d0", "d2"):
            never.wait()
        return search(question)

    async def ahanging(question: str) -> Any:
        if question in ("d0", "d2"):
            await asyncio.Event().wait()
        return search(question)

    try:
        report = run(
            questions(5), ahanging if asynchronous else hanging, timeout=0.3, max_concurrency=2
        )
    finally:
        never.set()
    results = [row.results[0] for row in report]
    assert [result.score for result in results] == [None, 1.0, None, 1.0, 1.0]
    assert results[0].reason == "no retrieval: TimeoutError: no answer within 0.3 seconds"


@WAYS
def test_a_timeout_of_the_retrievers_own_is_its_own(run: Evaluate) -> None:
    """A retriever's own timeout is not mistaken for the run's."""

    async def late(question: str) -> Any:
        raise TimeoutError("the index took 5 s")

    (row,) = run(questions(1), late, timeout=60)
    assert row.results[0].reason == "no retrieval: TimeoutError: the index took 5 s"


def database(path: Path) -> sqlite3.Connection:
    """Return a database that finds each document by its ID."""
    connection = sqlite3.connect(path)
    connection.execute("create table if not exists documents (id text)")
    connection.executemany("insert into documents values (?)", [(f"d{n}",) for n in range(40)])
    connection.commit()
    return connection


@WAYS
def test_a_retriever_of_the_callers_thread_is_asked_there(run: Evaluate, tmp_path: Path) -> None:
    """An SQLite connection of the caller's thread is used in that thread only."""
    connections: list[sqlite3.Connection] = []

    def find(question: str) -> list[str]:
        rows = connections[0].execute("select id from documents where id = ?", (question,))
        return [{"id": row[0]} for row in rows]  # type: ignore[misc]

    if run is arun:

        async def inside() -> Report:
            connections.append(database(tmp_path / "a.db"))
            return await aevaluate(questions(40), IdRecall(), retriever=find, progress=False)

        report = asyncio.run(inside())
    else:
        connections.append(database(tmp_path / "a.db"))
        report = run(questions(40), find)
    assert [row.results[0].score for row in report] == [1.0] * 40
    connections[0].close()


class Ending(BaseException):
    """An exception that ends a program, unlike an error."""


@pytest.mark.parametrize("kind", ["thread", "caller", "async"])
@pytest.mark.parametrize("raised", [asyncio.CancelledError, Ending, GeneratorExit])
def test_an_exit_of_a_retriever_hangs_no_run(
    tmp_path: Path, kind: str, raised: type[BaseException]
) -> None:
    """A retriever's own `CancelledError` leaves its sample unscored; other exits end the run."""
    connection = database(tmp_path / "a.db")
    calls: list[str] = []

    def find(question: str) -> list[str]:
        if kind == "caller":
            connection.execute("select id from documents").fetchall()
        calls.append(question)
        if len(calls) == 2:
            raise raised("x")
        return ["a"]

    async def afind(question: str) -> list[str]:
        return find(question)

    retriever = afind if kind == "async" else find
    if raised is asyncio.CancelledError:
        report = run(questions(4), retriever)
        assert [row.results[0].status for row in report].count("unscored") == 1
    else:
        with pytest.raises(raised):
            run(questions(4), retriever)
    connection.close()


class Recorder:
    """A retriever like an adapter's, whose record has the exception of a call."""

    def __init__(self, find: Callable[[str], Any]) -> None:
        self._find = find

    def retrieve(self, sample: Sample) -> Retrieval:
        """Return the record of one call."""
        try:
            found = tuple(self._find(str(sample.user_input)))
        except sqlite3.Error as error:
            call = Call("search", error=f"{type(error).__name__}: {error}")
            # Another search answers instead: no error in total, but the wrong documents.
            return Retrieval([Context(id="other")], calls=[call])
        return Retrieval(found, calls=[Call("search", contexts=found)])

    async def aretrieve(self, sample: Sample) -> Retrieval:
        """Return the record of one call, from another thread."""
        return await asyncio.to_thread(self.retrieve, sample)


@WAYS
def test_a_recorded_thread_error_is_asked_in_the_callers_thread(
    run: Evaluate, tmp_path: Path
) -> None:
    """A retriever whose record has an SQLite thread error is asked in the caller's thread."""
    connections: list[sqlite3.Connection] = []

    def find(question: str) -> list[Context]:
        rows = connections[0].execute("select id from documents where id = ?", (question,))
        return [Context(id=row[0]) for row in rows]

    async def inside() -> Report:
        connections.append(database(tmp_path / "a.db"))
        return await aevaluate(questions(40), IdRecall(), retriever=Recorder(find), progress=False)

    if run is arun:
        report = asyncio.run(inside())
    else:
        connections.append(database(tmp_path / "a.db"))
        report = run(questions(40), Recorder(find))
    assert [row.results[0].score for row in report] == [1.0] * 40
    connections[0].close()


@WAYS
def test_a_retriever_that_works_in_no_thread_is_named(run: Evaluate) -> None:
    """If a retriever works in no thread, the reason is the library's message."""
    here = threading.get_ident()

    def find(question: str) -> list[Context]:
        raise sqlite3.ProgrammingError(
            "SQLite objects created in a thread can only be used in that same thread. The object "
            f"was created in thread id 0 and this is {threading.get_ident() == here}."
        )

    report = run(questions(3), find)
    reasons = {row.results[0].reason for row in report}
    assert len(reasons) == 1
    assert "ProgrammingError: SQLite objects created in a thread" in reasons.pop()


@WAYS
def test_nothing_is_asked_after_the_deadline(run: Evaluate) -> None:
    """Samples that the deadline prevents from being asked are unscored, and the run ends."""
    asked = []

    def slow(question: str) -> list[Context]:
        asked.append(question)
        time.sleep(0.2)
        return [Context(id=question)]

    report = run(questions(30), slow, max_concurrency=1, deadline=0.5)
    assert len(report.rows) == 30
    assert len(asked) < 10
    assert report.rows[-1].results[0].score is None


@WAYS
def test_samples_are_not_read_far_ahead(run: Evaluate) -> None:
    """A stream is read only as far as it is asked, and its exception comes after its samples."""
    drawn: list[int] = []
    seen: list[int] = []

    def stream() -> Iterator[Sample]:
        for n, sample in enumerate(questions(50)):
            drawn.append(n)
            yield sample
        raise InputError("the file is broken")

    with pytest.raises(InputError, match="the file is broken") as raised:
        run(stream(), search, max_concurrency=4, sink=lambda _: seen.append(len(drawn)))
    assert len(raised.value.report.rows) == 50  # type: ignore[attr-defined]
    assert all(ahead - n <= 40 for n, ahead in enumerate(seen, start=1))


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_run_that_is_left_leaves_nothing_behind(*, asynchronous: bool) -> None:
    """Closing the generator early ends its threads and its loop."""
    before = set(threading.enumerate())
    asked = retrieved(questions(100), asearch if asynchronous else search, max_concurrency=4)
    next(asked)
    asked.close()
    deadline = time.monotonic() + 20
    while set(threading.enumerate()) - before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert set(threading.enumerate()) - before == set()


def test_a_cancelled_evaluation_cancels_its_calls() -> None:
    """Canceling `aevaluate` cancels the tasks that ask."""
    cancelled = []

    began: list[str] = []
    all_began = asyncio.Event()

    async def hanging(question: str) -> Any:
        began.append(question)
        if len(began) == 5:
            all_began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(question)
            raise

    async def main() -> int:
        task = asyncio.create_task(
            aevaluate(questions(5), IdRecall(), retriever=hanging, progress=False)
        )
        await all_began.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        left = {each for each in asyncio.all_tasks() if each is not asyncio.current_task()}
        ended, _ = await asyncio.wait(left, timeout=60) if left else (set(), set())
        return len(left - ended)

    assert asyncio.run(main()) == 0
    assert sorted(cancelled) == [f"d{n}" for n in range(5)]


@pytest.mark.parametrize(
    ("retriever", "why"),
    [
        (Searcher, "retriever must be an instance, got the class Searcher: pass Searcher"),
        (7, "retriever must be a Retriever or a function of the question, got 7"),
    ],
)
def test_an_object_that_is_not_a_retriever_is_refused(retriever: Any, why: str) -> None:
    """An object that is not a retriever is refused before the first question."""
    with pytest.raises(ParameterError, match=why):
        run(questions(1), retriever)


def test_a_function_that_is_asked_without_a_run() -> None:
    """A sync function that is awaited blocks no event loop; a sample needs a question."""
    threads: list[int] = []

    def noted(_: str) -> list[str]:
        threads.append(threading.get_ident())
        return []

    retriever = as_retriever(noted)
    asyncio.run(retriever.aretrieve(Sample(user_input="q")))
    assert len(threads) == 1
    assert threading.get_ident() not in threads
    with pytest.raises(InputError, match="the sample has no user_input to ask"):
        retriever.retrieve(Sample())


def test_a_hidden_coroutine_is_named() -> None:
    """A lambda around an async function is an error that names the returned awaitable."""
    (row,) = run(questions(1), lambda question: asearch(question[:]))
    assert "declare it with async def" in row.results[0].reason


def stuck_in(place: str, reached: threading.Event, over: threading.Event) -> Any:
    """Return a retriever that sets `reached` when it is asked for `d1`, which it never answers."""

    def sync(question: str) -> list[dict[str, str]]:
        if question == "d1":
            reached.set()
            over.wait(600)
        return [{"id": question, "text": "A text."}]

    async def awaited(question: str) -> list[dict[str, str]]:
        if question == "d1":
            reached.set()
            await asyncio.sleep(600)
        return [{"id": question, "text": "A text."}]

    return awaited if place == "a loop" else sync


@pytest.mark.parametrize("place", ["threads", "a loop"])
@pytest.mark.parametrize("judged", [False, True], ids=["counted", "judged"])
def test_ctrl_c_waits_for_no_call(place: str, *, judged: bool) -> None:
    """One Ctrl-C ends a run whose retriever hangs, and keeps the samples before it."""
    reached, over = threading.Event(), threading.Event()
    main = threading.main_thread().ident
    assert main is not None

    def press() -> None:
        reached.wait(600)
        time.sleep(0.05)  # The run ends, whether it already waits or not.
        signal.pthread_kill(main, signal.SIGINT)

    presser = threading.Thread(target=press)
    presser.start()
    model = ScriptedChatModel(["{}"] * 50)
    scorer: Any = ClaimRecall(judge=LLMJudge(model)) if judged else IdRecall()
    samples = [
        Sample(user_input=f"d{n}", reference_context_ids=[f"d{n}"], reference_claims=["A claim."])
        for n in range(3)
    ]
    try:
        with pytest.raises(Interrupted) as stopped:
            evaluate(
                samples,
                scorer,
                retriever=stuck_in(place, reached, over),
                timeout=None,
                progress=False,
            )
    finally:
        over.set()
        presser.join()
    assert len(stopped.value.report) == 1
