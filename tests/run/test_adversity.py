"""Faults of a store and of answers during a run: each answer is paid once, and none is lost."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from tests.run.paid import VERDICTS

from fullrecall import ClaimRecall, LLMJudge, Sample, evaluate
from fullrecall.errors import StoreError
from fullrecall.judge.models import ChatRequest, Completion
from fullrecall.judge.models.chat import Failure
from fullrecall.judge.models.retries import Retries, sound
from fullrecall.run.sqlite import SQLiteLedger

Reply = Callable[[int, int], Completion]


def samples(numbers: list[int]) -> list[Sample]:
    """Return samples that each take one request, equal for equal numbers."""
    return [Sample(reference_claims=[f"Claim {n}."], retrieved_contexts=["c"]) for n in numbers]


class Model:
    """A model that answers with `reply(claim, requests so far)`, and counts requests."""

    name = "told"

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        self.asked: Counter[int] = Counter()

    def complete(self, request: ChatRequest) -> Completion:
        """Raise: the engine must use `acomplete`."""
        raise AssertionError(request)

    async def acomplete(self, request: ChatRequest) -> Completion:
        """Answer in a later turn of the loop."""
        claim = int(request.messages[1].content.rpartition("Claim ")[2].partition(".")[0])
        self.asked[claim] += 1
        # Count before waiting: other requests of this loop are counted meanwhile.
        sent = self.asked.total()
        await asyncio.sleep(0)
        return self.reply(claim, sent)


def scores(model: Model, numbers: list[int], store: Any, **options: Any) -> list[float | None]:
    """Return the scores of a run."""
    scorer = ClaimRecall(judge=LLMJudge(model, reasks=0))
    waits = Retries(2, first_wait=0.001)
    report = evaluate(
        samples(numbers), scorer, store=store, retries=waits, progress=False, **options
    )
    return [row.results[0].score for row in report]


# --- odd completions


@pytest.mark.parametrize(
    "odd",
    [
        "5",
        "many",
        [1],
        {"a": 1},
        -3,
        float("nan"),
        float("inf"),
        2**63,
        10**400,
        -(10**400),
        True,
        None,
        100.0,
        99.5,
        "1e3",
        b"5",
        [[1]],
        object(),
    ],
)
@pytest.mark.parametrize(
    "field", ["prompt_tokens", "completion_tokens", "requests", "detail", "wait"]
)
def test_an_answer_stands_whatever_it_says_of_itself(field: str, odd: Any) -> None:
    """A paid text is kept; its other fields are kept or replaced by plain values."""
    made = sound(Completion(VERDICTS, **{field: odd}))
    assert (made.text, made.failure) == (VERDICTS, None)
    counts = made.prompt_tokens, made.completion_tokens, made.requests
    assert all(type(count) is int and 0 <= count < 2**63 for count in counts)
    assert made.requests >= 1
    assert isinstance(made.detail, str)
    assert made.wait is None or (type(made.wait) is float and 0 <= made.wait < float("inf"))


@pytest.mark.parametrize("odd", [10**400, float("nan"), [[1]], 2**63])
def test_an_odd_answer_is_kept_and_served(tmp_path: Path, odd: Any) -> None:
    """An odd answer is stored and paid once, by the first of three runs."""
    sent = []
    for _ in range(3):
        model = Model(lambda *_: Completion(VERDICTS, odd, odd, None, odd, odd))
        assert scores(model, [1, 2], tmp_path / "s") == [0.0, 0.0]
        sent.append(model.asked.total())
    assert sent == [2, 0, 0]


@pytest.mark.parametrize("name", ["half a pair \ud800", "a\0b", "", "x" * 100_000])
def test_an_odd_name_stops_no_store(tmp_path: Path, name: str) -> None:
    """Answers of a model with an odd name are stored and not paid again."""
    for expected in (2, 0):
        model = Model(lambda *_: Completion(VERDICTS, 10, 5))
        model.name = name
        with SQLiteLedger(tmp_path / "s") as store:
            assert scores(model, [1, 2], store) == [0.0, 0.0]
            assert not store.problem
        assert model.asked.total() == expected


def test_a_failure_in_other_words_is_one() -> None:
    """A model that reports a failure in its own type gave no answer."""
    made = sound(Completion("text", failure="quota"))  # type: ignore[arg-type]
    assert made.failure is Failure.TRANSPORT
    assert "quota" in made.detail


# --- resuming


class HttpError(Exception):
    """A client's exception for an HTTP status."""

    def __init__(self, status: int, code: str | None = None) -> None:
        super().__init__(f"Error code: {status}")
        self.status_code = status
        self.code = code


REJECTIONS: dict[str, Callable[[], Completion]] = {
    **{
        str(code): lambda code=code: _raise(HttpError(code))
        for code in (400, 401, 403, 404, 413, 418, 422, 429, 500, 503)
    },
    "content filter": lambda: _raise(HttpError(400, "content_filter")),
    "quota": lambda: _raise(HttpError(429, "insufficient_quota")),
    "timeout": lambda: _raise(TimeoutError("late")),
    "connection": lambda: _raise(ConnectionError("lost")),
    "refused": lambda: Completion("", 5, 0, Failure.REFUSED),
    "empty": lambda: Completion(""),
    "cut off": lambda: Completion('{"verd', 5, 9, Failure.CUT_OFF),
}


def _raise(error: Exception) -> Completion:
    raise error


@pytest.mark.long
@pytest.mark.parametrize("name", REJECTIONS)
def test_a_resume_never_raises_where_the_run_did_not(tmp_path: Path, name: str) -> None:
    """If six of forty requests are always rejected, a resumed run fails only these."""
    bad = set(random.Random(name).sample(range(40), 6))

    def reply(claim: int, _: int) -> Completion:
        return REJECTIONS[name]() if claim in bad else Completion(VERDICTS, 10, 5)

    every = list(range(40))
    expected = [None if n in bad else 0.0 for n in every]
    assert scores(Model(reply), every, tmp_path / "s") == expected
    for most in (16, 1):
        model = Model(reply)
        assert scores(model, every, tmp_path / "s", max_concurrency=most) == expected
        assert set(model.asked) == bad
    assert scores(Model(reply), every[::-1], tmp_path / "s") == expected[::-1]
    assert scores(Model(reply), sorted(bad), tmp_path / "s") == [None] * 6


# --- the file


def wal(path: Path) -> Path:
    """Return the log beside a store."""
    return path.with_name(f"{path.name}-wal")


def replace(path: Path) -> None:
    """Replace a store by another."""
    path.unlink()
    SQLiteLedger(path).close()


def overwrite(path: Path) -> None:
    """Write noise over the beginning of a store."""
    with path.open("r+b") as file:
        file.write(random.Random(1).randbytes(8_192))


GONE = {
    "deleted": Path.unlink,
    "replaced": replace,
    "renamed": lambda path: path.rename(path.with_name("other")),
}
HARMED = {
    "truncated": lambda path: os.truncate(path, 0),
    "overwritten": overwrite,
    "without its log": lambda path: wal(path).unlink(missing_ok=True),
    "with a cut log": lambda path: os.truncate(wal(path), 0),
}


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be touched there")
@pytest.mark.parametrize("harm", [*GONE, *HARMED])
def test_a_run_outlives_its_store(tmp_path: Path, harm: str) -> None:
    """The run scores all samples, warns that the store is lost, and pays for no answer twice.

    The next run can use a harmed file, or refuses it with a way out.
    """
    path = tmp_path / "s"

    def reply(_: int, sent: int) -> Completion:
        if sent == 5:
            (GONE | HARMED)[harm](path)
        return Completion(VERDICTS, 10, 5)

    model = Model(reply)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert scores(model, list(range(20)), path, max_concurrency=2) == [0.0] * 20
    assert set(model.asked.values()) == {1}
    told = " ".join(str(each.message) for each in said)
    if harm in GONE:
        assert "it was deleted or replaced while it was in use" in told
    later = Model(lambda *_: Completion(VERDICTS, 10, 5))
    refused = pytest.raises(StoreError, match="name another file, or move this one away")
    with refused if is_refused(path) else nullcontext():
        assert scores(later, list(range(20)), path) == [0.0] * 20
    assert harm in HARMED or later.asked


def is_refused(path: Path) -> bool:
    """Return whether a store cannot be opened."""
    try:
        SQLiteLedger(path).close()
    except StoreError:
        return True
    return False


# --- the clock


@pytest.mark.parametrize("jump", [3_600.0, -3_600.0, 1e9, -1e9, 20.0, -20.0])
def test_a_clock_that_jumps_pays_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    """Leases use a clock that is never set, and end with their process."""
    now, shift = time.time, [0.0]
    monkeypatch.setattr(time, "time", lambda: now() + shift[0])
    models = []

    def reply(_: int, sent: int) -> Completion:
        if sent == 3:
            shift[0] = jump
        return Completion(VERDICTS, 10, 5)

    def one(store: SQLiteLedger | Path, seed: int) -> None:
        numbers = list(range(12))
        random.Random(seed).shuffle(numbers)
        models.append(Model(reply))
        assert scores(models[-1], numbers, store, max_concurrency=3) == [0.0] * 12

    with SQLiteLedger(tmp_path / "s") as store:
        threads = [
            threading.Thread(target=one, args=(given, seed))
            for seed, given in enumerate((store, tmp_path / "s"))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert sum((model.asked for model in models), Counter()) == Counter(range(12))


STEPPED = """
import asyncio, random, sys, time
from pathlib import Path

seed, shift = int(sys.argv[1]), [float(sys.argv[2])]
real = time.time
time.time = lambda: real() + shift[0]

from fullrecall import evaluate
from tests.run.paid import Paid, samples, scorer

chance = random.Random(seed)

async def before(sent):
    if sent == 4:
        shift[0] += float(sys.argv[3])
    await asyncio.sleep(0.004 * chance.random())

numbers = list(range(40))
chance.shuffle(numbers)
model = Paid(Path(sys.argv[4]), before)
print("ready", flush=True)
sys.stdin.readline()
report = evaluate(
    samples(numbers), scorer(model), store=sys.argv[5], progress=False, max_concurrency=4
)
assert [row.results[0].score for row in report] == [0.0] * 40
"""


@pytest.mark.parametrize(
    "steps",
    [
        [(0, 0), (3_600, 0)],
        [(0, 0), (-3_600, 0), (864_000, 0)],
        [(0, 20), (0, -20), (20, 0), (-20, 3_600)],
    ],
    ids=["an hour", "ten days", "between and during"],
)
def test_processes_whose_clocks_disagree_pay_nothing_twice(
    tmp_path: Path, steps: list[tuple[float, float]]
) -> None:
    """The date may differ between processes, and change while they run."""
    paid, store = tmp_path / "paid", tmp_path / "store"
    processes = [
        subprocess.Popen(
            [
                *(sys.executable, "-c", STEPPED, str(seed)),
                *(str(start), str(step), str(paid), str(store)),
            ],
            cwd=Path(__file__).parents[2],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed, (start, step) in enumerate(steps)
    ]
    pipes = [(process.stdin, process.stdout) for process in processes]
    assert [told.readline() for _, told in pipes if told] == ["ready\n"] * len(steps)
    for start, _ in pipes:
        assert start is not None
        start.write("go\n")
        start.flush()
    assert [process.wait() for process in processes] == [0] * len(steps)
    for process in processes:
        process.communicate()
    assert Counter(paid.read_text().split()) == Counter(map(str, range(40)))
