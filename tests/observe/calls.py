"""Makes the record of a block with given calls, all in parallel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any

from fullrecall import Retrieval
from fullrecall.observe import StepLog, StepReading, ValueReader
from fullrecall.samples.calls import Call


def of_calls(
    calls: Iterable[Call],
    *,
    prompts: Sequence[str] | None = None,
    response: str | None = None,
    **options: Any,
) -> Retrieval:
    """Return the record of calls and of a model with these prompts; options of `StepReading`."""
    log = StepLog(ValueReader())
    numbers = count(1)
    for call in calls:
        _write(log, call, None, numbers)
    if prompts is not None:
        log.begin("model", None, "llm", "model", prompt=list(prompts))
        log.end("model", "an answer")
    return StepReading(**options).record_of(log.steps, response=response)


def _write(log: StepLog, call: Call, parent: int | None, numbers: Any) -> None:
    number = next(numbers)
    log.begin(
        number,
        parent,
        "retriever",
        call.source,
        query=call.query,
        reorders=call.reorders,
        group="at once",
    )
    for child in call.children:
        _write(log, child, number, numbers)
    # The list is copied, since two calls do not return the same object.
    output = None if call.contexts is None else list(call.contexts)
    log.end(number, output, error=call.error)
