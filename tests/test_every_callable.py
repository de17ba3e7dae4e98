"""Every public callable refuses odd values by an error of this package, and ends."""

from __future__ import annotations

import inspect
import itertools
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from tests.test_options import PUBLIC, Called

from fullrecall import EntityRecall, IdRecall, Report, Sample, evaluate
from fullrecall._util import parameters
from fullrecall.diagnosis import Change, Diagnosis
from fullrecall.errors import FullrecallError, ParameterError
from fullrecall.observe import StepReading
from fullrecall.read import documents_of
from fullrecall.testing import examine

ODD: list[Any] = ["a\0b", "\ud800", b"\0\xff", 10**5_000, -1, object(), [["\ud800"]]]
"""Values that few parameters take: halves of characters, numbers of many digits, other types."""

SLOW = {"run", "report_of", "AnthropicChatModel"}
"""A whole demo, a request to LangSmith, and an import of two seconds."""

PLAIN = [each for each in PUBLIC if "." not in each.name and each.name not in SLOW]
"""The public functions and constructors: a new one is tested by itself."""


def calls(each: Called, value: object) -> Iterator[Callable[[], Any]]:
    """Yield a call with the value for all required parameters, and one for each optional one."""
    parameters = inspect.signature(each.call).parameters.values()
    positional = [p for p in parameters if p.default is p.empty and p.kind < p.VAR_POSITIONAL]
    named = [p for p in parameters if p.default is p.empty and p.kind is p.KEYWORD_ONLY]
    if positional or named:
        yield lambda: each.call(*[value] * len(positional), **{p.name: value for p in named})
    else:
        yield from (lambda name=name: each.call(**{name: value}) for name in each.options)


def use(result: Any) -> None:
    """Use a result: read an iterator's first items, and show a value that says how."""
    if inspect.iscoroutine(result):
        result.close()
    elif hasattr(result, "__next__"):
        list(itertools.islice(result, 3))
    elif "fullrecall" in getattr(type(result).__str__, "__module__", ""):
        str(result)


@pytest.fixture
def _ends() -> Iterator[None]:
    """Fail a test that does not end, where the system can interrupt it."""
    if hasattr(signal, "alarm"):
        signal.alarm(120)
    yield
    if hasattr(signal, "alarm"):
        signal.alarm(0)


@pytest.mark.usefixtures("_ends")
def test_odd_values_are_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call with odd values works, or raises an error of this package."""
    monkeypatch.chdir(tmp_path)
    failures = []
    for each, value in itertools.product(PLAIN, ODD):
        for call in calls(each, value):
            try:
                use(call())
            except (FullrecallError, ValidationError):
                pass  # pydantic's error of a LlamaIndex model names the field and the value
            except Exception as error:  # noqa: BLE001 - the failure that this test looks for
                failures.append(f"{each.name}({parameters.shown(value)}): {error!r}"[:200])
    assert failures == []


REPORT = evaluate(
    [Sample(user_input="q", retrieved_context_ids=["1"], reference_context_ids=["1"])],
    IdRecall(),
    progress=False,
)
ENDLESS: dict[str, Callable[[Any], Any]] = {
    "methods": Report,
    "rows": REPORT.selected,
    "row": lambda values: Report.of([], values),
    "path": Report.open,
    "documents": documents_of,
    "aliases": lambda values: EntityRecall(aliases=values),
    "pairs": lambda values: examine(None, values),  # type: ignore[arg-type]
    "steps": lambda values: StepReading().record_of(values),
    "scorers": lambda values: evaluate([], values, progress=False),
}


@pytest.mark.usefixtures("_ends")
@pytest.mark.parametrize("name", ENDLESS)
@pytest.mark.parametrize("values", [itertools.count, lambda: itertools.repeat("a")])
def test_lists_without_an_end_are_refused(
    name: str, values: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list that does not end is refused at a wrong item, or at a stated number of items."""
    monkeypatch.setattr(parameters, "MOST_ITEMS", 1_000)
    monkeypatch.setattr("fullrecall.samples.identifiers._MOST_ITEMS", 1_000)
    with pytest.raises(FullrecallError) as refused:
        ENDLESS[name](values())
    assert name in str(refused.value) or "not a scorer" in str(refused.value)


@pytest.mark.parametrize(
    "wrong", ["a\0b", 10**5_000, None, b"a"], ids=["nul", "huge", "none", "bytes"]
)
def test_a_value_made_by_hand_names_its_wrong_field(wrong: Any) -> None:
    """A value with a field of a wrong type names the field when it is shown or converted."""
    fields = {p.name: wrong for p in inspect.signature(Change).parameters.values()}
    with pytest.raises(ParameterError, match=r"Change\.\w+ must be "):
        str(Change(**fields))
    needed = {p.name: wrong for p in inspect.signature(Diagnosis).parameters.values()}
    with pytest.raises(ParameterError, match=r"Diagnosis\.\w+ must be "):
        Diagnosis(**needed).to_markdown()
