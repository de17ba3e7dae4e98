"""What the page's script reads: an index of all samples, and their details in blocks.

The index is what the table sorts and filters by, and is read at once. Details and texts come in
blocks that are read when a sample is opened or searched. Each text stands once, however many
samples hold it, and is named by its number.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from fullrecall.context import Context
from fullrecall.findings import ColumnFindings, Evidence, Finding, targets_of
from fullrecall.measures import Measure
from fullrecall.report.page.causes import Causes
from fullrecall.report.page.choices import Choice, first_shown, labels_of
from fullrecall.report.page.columns import Column
from fullrecall.report.page.encoding import utf16_offset
from fullrecall.report.pairs import Common, Gap, common_targets
from fullrecall.report.row import Row
from fullrecall.result import Result, Status
from fullrecall.sample import Sample

SAMPLES_IN_BLOCK = 100
"""Samples whose details are read together."""

CHARACTERS_IN_BLOCK = 250_000
"""Characters of the texts that are read together, if they are not one longer text."""

_QUESTION_SHOWN = 300
"""Characters of a question that the table can show; the details have all of it."""


@dataclass
class Texts:
    """Texts by number, each once."""

    numbers: dict[str, int] = field(default_factory=dict)

    def number(self, text: str | None) -> int | None:
        """Return the number of `text`; None for none."""
        if text is None:
            return None
        return self.numbers.setdefault(text, len(self.numbers))

    def blocks(self) -> Iterator[list[str]]:
        """Yield the texts in order, cut into blocks."""
        block: list[str] = []
        size = 0
        for text in self.numbers:
            if block and size + len(text) > CHARACTERS_IN_BLOCK:
                yield block
                block, size = [], 0
            block.append(text)
            size += len(text)
        if block:
            yield block


class Misses(NamedTuple):
    """How many of the `targets` that a measure counts were not found in full within its k."""

    missed: int
    targets: int


@dataclass(frozen=True)
class Payload:
    """The data of a page as plain JSON values.

    `misses[side][score][choice]` are those of all scored samples.
    """

    index: dict[str, Any]
    details: list[list[dict[str, Any]]]
    texts: list[list[str]]
    misses: list[list[list[Misses]]]


Rows: TypeAlias = tuple[Row | None, ...]
"""One sample on each side of a page, None where that side's report does not have it."""


def payload(
    samples: Iterable[Rows],
    columns: Sequence[Column],
    choices: Sequence[Choice],
    sides: Sequence[str],
    causes: Causes,
) -> Payload:
    """Return the data of a page: each sample with its row on each of the `sides`.

    The page opens with the choice that `causes` were told for, else with the headline.
    """
    texts = Texts()
    total = [[[Misses(0, 0)] * len(choices) for _ in columns] for _ in sides]
    entries: list[dict[str, Any]] = []
    details: list[list[dict[str, Any]]] = []
    for rows in samples:
        one = next(row for row in rows if row is not None)
        # The question first: its number is lower than those of its contexts, and in their block.
        question = texts.number(one.sample.user_input)
        readings = [_reading(rows, column, nth, choices) for nth, column in enumerate(columns)]
        shown = [
            None if row is None else _side(row, side, readings, _Names(texts, causes))
            for side, row in enumerate(rows)
        ]
        if len(entries) % SAMPLES_IN_BLOCK == 0:
            details.append([])
        details[-1].append(
            {
                **_given(
                    q=question,
                    a=texts.number(one.sample.reference or None),
                    m=texts.number(_as_json(one.sample.metadata)),
                ),
                "x": shown,
            }
        )
        entries.append(_entry(rows, one, readings, _causes_in(shown)))
        _add(total, readings)
    blocks = list(texts.blocks())
    index = {
        "sides": list(sides),
        "choices": [choice.label for choice in choices],
        "first": first_shown(choices, columns, causes.labels),
        "scores": [_score(nth, column, choices, columns) for nth, column in enumerate(columns)],
        "causes": [[line.cause, line.name] for line in causes.lines],
        "statuses": [str(status) for status in Status],
        "gaps": list(_GAPS.values()),
        "samples": entries,
        "perBlock": SAMPLES_IN_BLOCK,
        "texts": [len(block) for block in blocks],
    }
    return Payload(index, details, blocks, total)


_GAPS: Mapping[Gap | str, str] = {
    "only_before": "only before",
    "only_after": "only after",
    "unscored": "unscored",
    "undefined": "undefined",
    "undefined_in_one": "undefined in one",
    "no_common_targets": "no common targets",
}
"""Why a score of a sample is not compared, by its number."""


def _score(
    nth: int, column: Column, choices: Sequence[Choice], columns: Sequence[Column]
) -> dict[str, Any]:
    return {
        "letter": column.letter,
        "name": column.method.name,
        "measures": [
            {"label": labels_of(choice, columns)[nth], "k": choice.measures[nth].k}
            for choice in choices
        ],
    }


class _Cell(NamedTuple):
    """One score of one sample on one side: its value and its misses by each choice.

    `result` is what the scorer found; `read` the same over the targets that are compared.
    """

    result: Result
    read: Result
    values: Sequence[float | None]
    misses: Sequence[Misses]


class _Reading(NamedTuple):
    """One score of one sample on the sides that have it; `gap` says why it is not compared."""

    nth: int
    measures: Sequence[Measure]
    cells: Mapping[int, _Cell]
    gap: Gap | str | None


def _reading(rows: Rows, column: Column, nth: int, choices: Sequence[Choice]) -> _Reading:
    results = [
        None if row is None else row.results[place]
        for row, place in zip(rows, column.positions, strict=True)
    ]
    gap, read = _compared(results)
    measures = [choice.measures[nth] for choice in choices]
    cells = {
        side: _cell(result, own, measures)
        for side, (result, own) in enumerate(zip(results, read, strict=True))
        if result is not None and own is not None
    }
    return _Reading(nth, measures, cells, gap)


def _compared(results: Sequence[Result | None]) -> tuple[Gap | str | None, Sequence[Result | None]]:
    """Return why two results are not compared, and both over the targets that are."""
    if len(results) == 1:
        return None, results
    before, after = results
    if before is None or after is None:
        return ("only_after" if before is None else "only_before"), results
    both = common_targets(before, after)
    return (None, (both.before, both.after)) if isinstance(both, Common) else (both, results)


def _cell(result: Result, read: Result, measures: Sequence[Measure]) -> _Cell:
    return _Cell(
        result,
        read,
        [_rounded(read[measure]) for measure in measures],
        [_missed(read, measure) for measure in measures],
    )


def _missed(result: Result, measure: Measure) -> Misses:
    # What was not measured was not missed.
    if result.status is not Status.SCORED:
        return Misses(0, 0)
    counted = measure.counted(result.ranked)
    if isinstance(counted, ColumnFindings):
        found = counted.found_within(measure.k)
    else:
        found = sum(finding.found_at(measure.k) for finding in counted)
    return Misses(len(counted) - found, len(counted))


def _add(total: list[list[list[Misses]]], readings: Sequence[_Reading]) -> None:
    for reading in readings:
        for side, cell in reading.cells.items():
            for nth, (missed, targets) in enumerate(cell.misses):
                so_far = total[side][reading.nth][nth]
                total[side][reading.nth][nth] = Misses(
                    so_far.missed + missed, so_far.targets + targets
                )


def _entry(
    rows: Rows, one: Row, readings: Sequence[_Reading], causes: list[list[int]]
) -> dict[str, Any]:
    """Return what the table shows of a sample: on each side, for each score, a list of three.

    They are the number of its status, and by each choice its value, None where there is none, and
    how many targets it missed.
    """
    question = one.sample.user_input or ""
    paired = len(rows) > 1
    gaps = list(_GAPS)
    return _given(
        l=one.label,
        q=question[:_QUESTION_SHOWN] + ("…" if len(question) > _QUESTION_SHOWN else ""),
        g=one.sample.group,
        c=causes or None,
        n=[None if r.gap is None else gaps.index(r.gap) for r in readings] if paired else None,
        v=[
            None if row is None else [_numbers(reading.cells[side]) for reading in readings]
            for side, row in enumerate(rows)
        ],
    )


def _numbers(cell: _Cell) -> list[Any]:
    status = list(Status).index(cell.result.status)
    return [status, list(cell.values), [each.missed for each in cell.misses]]


def _side(row: Row, side: int, readings: Sequence[_Reading], names: _Names) -> dict[str, Any]:
    texts, sample = names.texts, row.sample
    contexts = _contexts(sample)
    return _given(
        r=texts.number(sample.response or None),
        e=texts.number(sample.retrieval_error),
        # Contexts of united calls have their rank in their own call.
        k=None if sample.ranks is None else list(sample.ranks),
        b=None
        if sample.retrieval is None or sample.retrieval.read is None
        else list(sample.retrieval.read),
        c=[_context(context, texts) for context in contexts] if sample.has_retrieval else None,
        s=[
            _given(
                n=texts.number(stage.name),
                i=texts.number(stage.into),
                c=[_context(context, texts) for context in stage.contexts],
            )
            for stage in sample.stages
        ]
        or None,
        f=[_result(row, reading, side, contexts, names) for reading in readings],
    )


def _contexts(sample: Sample) -> list[Context]:
    if sample.retrieved_contexts is not None:
        return list(sample.retrieved_contexts)
    # A rank without an ID has nothing to show, and still takes its place.
    return [
        Context(id=given, text=None if given else "")
        for given in sample.retrieved_context_ids or ()
    ]


def _context(context: Context, texts: Texts) -> dict[str, Any]:
    return _given(
        t=texts.number(context.text),
        i=texts.number(context.id),
        s=_rounded(context.score),
        d=texts.number(context.source),
        p=None if context.start is None else [context.start, context.end],
        m=texts.number(_as_json(context.metadata)),
    )


def _result(
    row: Row,
    reading: _Reading,
    side: int,
    contexts: Sequence[Context],
    names: _Names,
) -> dict[str, Any]:
    texts = names.texts
    cell = reading.cells[side]
    result = cell.result
    compared = set(cell.read.targets)
    counted = [set(targets_of(m.counted(result.findings))) for m in reading.measures]
    return _given(
        w=texts.number(result.reason or None),
        t=[
            _target(finding, ranked, row, reading.nth, side, contexts, names)
            | _given(
                o=[nth for nth, known in enumerate(counted) if finding.target not in known] or None,
                y=None if finding.target in compared else 1,
            )
            for finding, ranked in zip(result.findings, result.ranked, strict=True)
        ]
        or None,
        u=[[texts.number(target), texts.number(why)] for target, why in result.unmeasured] or None,
        z=list(result.usage) if any(result.usage) else None,
    )


def _target(  # noqa: PLR0917 - all that a target is shown with
    finding: Finding,
    ranked: Finding,
    row: Row,
    nth: int,
    side: int,
    contexts: Sequence[Context],
    names: _Names,
) -> dict[str, Any]:
    """Return what is shown of a target: credit by rank, contexts and evidence by their place."""
    texts, target = names.texts, finding.target
    cause = names.causes.of(side, row.label, nth, target.label)
    return _given(
        t=texts.number(target.label),
        # The credit at every rank that raises it: the script reads it at the k chosen.
        s=[[step.rank, _rounded(step.credit)] for step in ranked.steps] or None,
        r=ranked.rank,
        w=None if target.size == 1.0 else _rounded(target.size),
        g=None if target.grade == 1.0 else _rounded(target.grade),
        n=list(finding.ranks) or None,
        v=texts.number(finding.verdict or None),
        a=_rounded(finding.agreement),
        e=[_evidence(item, contexts, texts) for item in finding.evidence] or None,
        h=_held(finding, row.sample),
        u=None if cause is None else cause[0],
        d=None if cause is None else texts.number(cause[1].detail or None),
        x=None if cause is None else cause[1].rank,
    )


def _evidence(item: Evidence, contexts: Sequence[Context], texts: Texts) -> dict[str, Any]:
    text = contexts[item.rank - 1].text if 0 < item.rank <= len(contexts) else None
    return _given(
        r=item.rank,
        p=_range(text, item.start, item.end),
        s=_rounded(item.similarity),
        q=texts.number(item.quote),
        v=None if item.verified is None else int(item.verified),
    )


def _held(finding: Finding, sample: Sample) -> list[list[int]] | None:
    """Return which characters of the target's text were retrieved, with the rank of each range.

    None where its text is not what the offsets count in: a place without a text, or one of
    several alternatives.
    """
    parts = [item for item in finding.evidence if item.target_start is not None]
    if not parts or len(finding.target.any_of) != 1:
        return None
    for group in sample.reference_contexts or ():
        for context in group:
            length = None if context.start is None else (context.end or 0) - context.start
            if context.text is None or (length is not None and length != len(context.text)):
                return None
    ranges = []
    for item in parts:
        place = _range(finding.target.label, item.target_start, item.target_end)
        if place is not None:
            ranges.append([*place, item.rank])
    return ranges or None


def _range(text: str | None, start: int | None, end: int | None) -> list[int] | None:
    if text is None or start is None or end is None or not 0 <= start < end <= len(text):
        return None
    return [utf16_offset(text, start), utf16_offset(text, end)]


class _Names(NamedTuple):
    """What stands once and is named by its number elsewhere."""

    texts: Texts
    causes: Causes


def _causes_in(sides: Iterable[dict[str, Any] | None]) -> list[list[int]]:
    """Return the causes in a sample's details, each with the place of the score that missed it."""
    found = {
        (target["u"], nth)
        for side in sides
        if side is not None
        for nth, result in enumerate(side["f"])
        for target in result.get("t", ())
        if "u" in target
    }
    return [list(pair) for pair in sorted(found)]


def _as_json(metadata: Mapping[str, Any]) -> str | None:
    if not metadata:
        return None
    try:
        return json.dumps(metadata, ensure_ascii=False, indent=1, default=str)
    except (TypeError, ValueError):  # keys that are no str, or a value that holds itself
        return str(metadata)


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")


def _given(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
