"""What the head of a page says of a report: who judged, what was asked, what it cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from fullrecall.report.lazy_rows import LazyRows
from fullrecall.views.page.selection import heads
from fullrecall.report.row import Row
from fullrecall.usage import Usage

if TYPE_CHECKING:
    from fullrecall.report.report import Report

_NAMED = 4
"""Sources of retrieval that are named."""


def about(report: Report) -> list[tuple[str, str]]:
    """Return what is known of how a report was made, as terms with their text."""
    facts = [*_retrieval(heads(report.rows)), *_judges(report), *_cost(report)]
    return list(dict.fromkeys(facts))


def _retrieval(rows: Iterable[Row]) -> Iterator[tuple[str, str]]:
    sources: dict[str, None] = {}
    contexts = []
    for row in rows:
        if row.sample.retrieved_context_ids is not None:
            contexts.append(len(row.sample.retrieved_context_ids))
        if row.sample.retrieval is not None and len(sources) <= _NAMED:
            stages = [stage.name for stage in row.sample.stages]
            called = [call.source for call in row.sample.retrieval.calls]
            sources |= dict.fromkeys([*stages, *called])
    named = [*list(sources)[:_NAMED], *(["…"] if len(sources) > _NAMED else [])]
    if named:
        yield "Retrieval", ", ".join(named)
    if contexts:
        yield "Contexts", f"{sum(contexts) / len(contexts):.3g} per question"


def _judges(report: Report) -> Iterator[tuple[str, str]]:
    for method in report.methods:
        judge = method.parameters.get("judge")
        if isinstance(judge, str):
            yield "Judge", judge
        elif isinstance(judge, Mapping):
            yield "Judge", ", ".join(f"{name} {_plain(value)}" for name, value in judge.items())
        for name in ("model", "prompts", "prompt"):
            if method.parameters.get(name):
                yield name.capitalize(), _plain(method.parameters[name])


def _cost(report: Report) -> Iterator[tuple[str, str]]:
    spent = report.spent
    if spent is not None and spent.calls:
        cost = [] if spent.cost is None else [f"{spent.cost:,.2f} at the prices given"]
        tokens = spent.prompt_tokens + spent.completion_tokens
        parts = [f"{spent.calls:,} requests", f"{tokens:,} tokens", *cost]
        yield "Cost of this run", ", ".join(parts)
        return
    usage = Usage()
    # Of rows that are not in memory it would take as long as reading them all.
    for row in () if isinstance(report.rows, LazyRows) else report.rows:
        for result in row.results:
            if result.usage[0]:
                usage = usage.plus(result.usage)
    if usage.calls:
        tokens = usage.prompt_tokens + usage.completion_tokens
        yield "Rests on", f"{usage.calls:,} judge requests, {tokens:,} tokens"


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_plain(one)}" for name, one in value.items())
    return str(value)
