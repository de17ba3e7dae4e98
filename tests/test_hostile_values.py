"""Wrong types, NUL bytes, half characters, huge numbers, and endless lists are refused."""

from __future__ import annotations

import itertools
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from tests.containment_judge import ContainmentJudge

from fullrecall import Gate, IdRecall, Report, Sample, compare, evaluate
from fullrecall.errors import FullrecallError
from fullrecall.judge import AnthropicChatModel, Cascade, OpenAIChatModel
from fullrecall.measures import Recall, parse, parse_threshold, seconds
from fullrecall.read import from_rows, read, with_references, write_jsonl
from fullrecall.run import SQLiteLedger
from fullrecall.samples import identifiers

SAMPLE = Sample(user_input="q", retrieved_context_ids=["1"], reference_context_ids=["1"])
HUGE = 10**5_000
"""A number of more digits than Python writes."""

NO_PATHS: list[Any] = [
    3,
    None,
    1.5,
    ["a"],
    {"a": 1},
    "a\0b",
    "\ud800.jsonl",
    b"a\0b",
    "",
    "x" * 256,
    "a/" * 20_000,
]


@pytest.fixture(scope="module")
def report() -> Report:
    """A report of one sample."""
    return evaluate([SAMPLE], IdRecall(), progress=False)


@pytest.fixture(autouse=True)
def _ends() -> Iterator[None]:
    """Fail a test that does not end, where the system can interrupt it."""
    if hasattr(signal, "alarm"):
        signal.alarm(60)
    yield
    if hasattr(signal, "alarm"):
        signal.alarm(0)


PATHS: dict[str, Callable[[Report, Any], Any]] = {
    "save": lambda report, path: report.save(path),
    "load": lambda _, path: Report.load(path),
    "open": lambda _, path: Report.open(path),
    "csv": lambda report, path: report.to_csv(path),
    "markdown": lambda report, path: report.to_markdown(path),
    "read": lambda _, path: list(read(path)),
    "write": lambda _, path: write_jsonl([SAMPLE], path),
    "output": lambda _, path: evaluate([SAMPLE], IdRecall(), output=path, progress=False),
    "store": lambda _, path: evaluate([SAMPLE], IdRecall(), store=path, progress=False),
}
OPTIONAL = ("csv", "markdown", "output", "store")


CASES = [
    pytest.param(name, wrong, id=f"{name} {wrong!r}"[:40])
    for name in PATHS
    for wrong in NO_PATHS
    # Optional paths may be None, and `open` takes several reports.
    if not (wrong is None and name in OPTIONAL)
    and not (isinstance(wrong, (list, dict)) and name == "open")
]


@pytest.mark.parametrize(("name", "wrong"), CASES)
def test_no_path(name: str, wrong: Any, report: Report) -> None:
    """A value that cannot be a path is refused by name, and no file is written."""
    with pytest.raises(FullrecallError):
        PATHS[name](report, wrong)


CALLS: dict[str, Callable[[Report], Any]] = {
    "a directory": lambda _: Report.load("/"),
    "open a directory": lambda _: Report.open(Path("/").resolve()),
    "an ID": lambda _: Sample(retrieved_context_ids=[HUGE]),
    "IDs of mappings": lambda _: evaluate(
        [{"retrieved_context_ids": [HUGE], "reference_context_ids": [-HUGE]}],
        IdRecall(),
        progress=False,
    ),
    "a grade": lambda _: Sample(reference_context_ids={"a": HUGE}),
    "k": lambda _: Recall @ HUGE,
    "a threshold": lambda _: Recall @ 5 >= HUGE,
    "a timeout": lambda _: evaluate([SAMPLE], IdRecall(), timeout=HUGE, progress=False),
    "a deadline": lambda _: evaluate([SAMPLE], IdRecall(), deadline=HUGE, progress=False),
    "concurrency": lambda _: evaluate([SAMPLE], IdRecall(), max_concurrency=HUGE, progress=False),
    "a scorer": lambda _: evaluate([SAMPLE], object(), progress=False),  # type: ignore[arg-type]
    "a scorer's class": lambda _: evaluate([SAMPLE], IdRecall, progress=False),  # type: ignore[arg-type]
    "slices": lambda report: report.slices(3),  # type: ignore[arg-type]
    "no slices": lambda report: report.slices(lambda _: []),
    "a key": lambda report: report[None],  # type: ignore[call-overload]
    "a gate": lambda _: Gate(3),  # type: ignore[arg-type]
    "fields": lambda _: list(read("x.json", fields=["a"])),  # type: ignore[arg-type]
    "rename": lambda _: from_rows([{"a": 1}], rename="a"),  # type: ignore[arg-type]
    "rows": lambda _: list(read("x.json", rows=b"a")),  # type: ignore[arg-type]
    "a format": lambda _: list(read("x.json", format=[])),  # type: ignore[call-overload]
    "a measure": lambda _: parse(3),  # type: ignore[arg-type]
    "measures of a page": lambda report: report.to_html(measures="in the page"),  # type: ignore[arg-type]
    "measures of a table": lambda report: report.to_markdown(measures=3),  # type: ignore[arg-type]
    "a filter": lambda report: report.filter("id"),  # type: ignore[arg-type]
    "a plot of no measure": lambda report: report.plot(3),  # type: ignore[arg-type]
    "a plot of nothing": lambda report: report.plot(ks=[]),
    "a ledger": lambda _: SQLiteLedger("a\0b"),
    "a threshold of bytes": lambda _: parse_threshold(b"a"),  # type: ignore[arg-type]
    "seconds": lambda _: seconds(10**400),
    "references": lambda _: with_references([SAMPLE], "golden.json"),  # type: ignore[arg-type]
    "a band": lambda _: Cascade(ContainmentJudge(), ContainmentJudge(), unsure=0.5),  # type: ignore[arg-type]
    "a key of a model": lambda _: OpenAIChatModel("m", api_key=SecretStr("k")),  # type: ignore[arg-type]
    "an address": lambda _: AnthropicChatModel("m", base_url=b"http://h"),  # type: ignore[arg-type]
    "options of a model": lambda _: AnthropicChatModel("m", options="a"),  # type: ignore[arg-type]
    "seconds of a model": lambda _: OpenAIChatModel("m", timeout="60"),  # type: ignore[arg-type]
    "a comparison": lambda report: compare(report, 3, Recall @ 5),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", CALLS)
def test_wrong_values(name: str, report: Report) -> None:
    """A wrong value is an error of this package, with a message of one line."""
    with pytest.raises(FullrecallError) as caught:
        CALLS[name](report)
    assert len(str(caught.value)) < 600


def test_an_index_of_many_digits(report: Report) -> None:
    """An index of many digits is out of range, like any other."""
    with pytest.raises(IndexError, match="no sample a value of type int"):
        report[HUGE]


@pytest.mark.parametrize(
    "endless",
    [
        lambda: Sample(retrieved_context_ids=itertools.count()),
        lambda: Sample(retrieved_contexts=itertools.cycle(["a"])),
        lambda: Sample(reference_context_ids=itertools.repeat("a")),
    ],
)
def test_lists_without_an_end(
    endless: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Endless lists are read up to a stated number of items, then refused."""
    monkeypatch.setattr(identifiers, "_MOST_ITEMS", 1_000)
    with pytest.raises(FullrecallError, match="got more than 1,000 items: does it end"):
        endless()


def test_a_retriever_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A retriever that returns an endless list leaves its sample unscored with the reason."""
    monkeypatch.setattr(identifiers, "_MOST_ITEMS", 1_000)
    scored = evaluate(
        [SAMPLE], IdRecall(), retriever=lambda _: itertools.cycle(["1"]), progress=False
    )
    assert scored[0].results[0].score is None
    assert "more than 1,000 items" in str(scored[0].results[0].note)


def test_scorers_of_a_generator_are_kept() -> None:
    """Scorers from a generator are read once and kept."""
    scored = evaluate([SAMPLE], (each for each in [IdRecall()]), progress=False)  # type: ignore[arg-type]
    assert [result.score for result in scored[0].results] == [1.0]
