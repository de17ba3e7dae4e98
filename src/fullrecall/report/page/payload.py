"""What the page's script reads: an index of all samples, and their details in blocks.

The index is what the table sorts and filters by, and is read at once. Details and texts come in
blocks that are read when a sample is opened or searched. Each text stands once, however many
samples hold it, and is named by its number.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from fullrecall.context import Context
from fullrecall.finding import Evidence, Finding
from fullrecall.report.page.columns import Column
from fullrecall.report.page.encoding import utf16_offset
from fullrecall.report.row import Row
from fullrecall.result import Result, Status
from fullrecall.sample import Sample

SAMPLES_IN_BLOCK = 100
"""Samples whose details are read together."""

CHARACTERS_IN_BLOCK = 250_000
"""Characters of the texts that are read together, if they are not one longer text."""

_QUESTION_SHOWN = 300
"""Characters of a question that the table can show; the details have all of it."""


class Diagnosed(Protocol):
    """Why one target was missed, as a diagnosis says it."""

    @property
    def sample(self) -> str:
        """The label of the row."""
        ...

    @property
    def score(self) -> str:
        """The name of the score, with or without its cut-off."""
        ...

    @property
    def target(self) -> str:
        """The label of the target."""
        ...

    @property
    def cause(self) -> str:
        """Why it was missed, in one of few words."""
        ...

    @property
    def detail(self) -> str:
        """The same in a sentence."""
        ...

    @property
    def rank(self) -> int | None:
        """Where it stands beyond what was counted."""
        ...


class Diagnosis(Protocol):
    """The causes of all misses of a report."""

    @property
    def misses(self) -> Sequence[Diagnosed]:
        """One for each target that was missed."""
        ...

    @property
    def fixes(self) -> Mapping[Any, str]:
        """What each cause suggests to do."""
        ...


class CauseLine(NamedTuple):
    """A cause with how many misses have it on each side, and what it suggests to do."""

    cause: str
    name: str
    counts: tuple[int, ...]
    fix: str

    @property
    def total(self) -> int:
        """How many misses have it on all sides."""
        return sum(self.counts)


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


@dataclass(frozen=True)
class Payload:
    """The data of a page as plain JSON values."""

    index: dict[str, Any]
    details: list[list[dict[str, Any]]]
    texts: list[list[str]]
    causes: list[CauseLine]


def payload(
    samples: Iterable[tuple[Row | None, ...]],
    columns: Sequence[Column],
    sides: Sequence[str],
    diagnoses: Sequence[Diagnosis | None],
) -> Payload:
    """Return the data of a page: each sample with its row on each of the `sides`.

    `diagnoses` are those of the sides, None for a side without.
    """
    texts, causes = names = _Names(Texts(), _Causes(diagnoses))
    entries: list[dict[str, Any]] = []
    details: list[list[dict[str, Any]]] = []
    for rows in samples:
        one = next(row for row in rows if row is not None)
        # The question first: its number is lower than those of its contexts, and in their block.
        question = texts.number(one.sample.user_input)
        shown = [
            None if row is None else _side(row, side, columns, names)
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
        entries.append(_entry(rows, one, columns, _causes_in(shown)))
    blocks = list(texts.blocks())
    index = {
        "sides": list(sides),
        "scores": [
            {
                "letter": column.letter,
                "name": column.method.name,
                "label": column.method.label,
                "measure": column.method.measure,
                "k": column.method.k,
                "ks": list(column.method.ks),
            }
            for column in columns
        ],
        "causes": [[line.cause, line.name, line.total] for line in causes.lines],
        "samples": entries,
        "perBlock": SAMPLES_IN_BLOCK,
        "texts": [len(block) for block in blocks],
    }
    return Payload(index, details, blocks, causes.lines)


def _entry(
    rows: Sequence[Row | None], one: Row, columns: Sequence[Column], causes: list[int]
) -> dict[str, Any]:
    """Return what the table shows of a sample: on each side, for each score, a list of two.

    They are the score, None where there is none, and the number of targets missed; the status
    stands in the score's place where it is not "scored".
    """
    question = one.sample.user_input or ""
    return _given(
        l=one.label,
        q=question[:_QUESTION_SHOWN] + ("…" if len(question) > _QUESTION_SHOWN else ""),
        g=one.sample.group,
        c=causes or None,
        v=[
            None
            if row is None
            else [_cell(row.results[column.positions[side]]) for column in columns]
            for side, row in enumerate(rows)
        ],
    )


def _cell(result: Result) -> list[Any]:
    if result.status is not Status.SCORED:
        return [str(result.status), 0]
    return [_rounded(result.score), len(result.missed)]


def _side(
    row: Row,
    side: int,
    columns: Sequence[Column],
    names: _Names,
) -> dict[str, Any]:
    texts, sample = names.texts, row.sample
    contexts = _contexts(sample)
    return _given(
        r=texts.number(sample.response or None),
        e=texts.number(sample.retrieval_error),
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
        f=[_result(row, column, side, contexts, names) for column in columns],
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
    column: Column,
    side: int,
    contexts: Sequence[Context],
    names: _Names,
) -> dict[str, Any]:
    texts, causes = names
    result = row.results[column.positions[side]]
    scored = result.status is Status.SCORED
    targets = []
    for finding in result.findings:
        missed = scored and not finding.found_at(result.method.k)
        cause = causes.of(side, row, result, finding) if missed else None
        targets.append(
            _given(
                t=texts.number(finding.target.label),
                # Found, missed, or not counted because the sample has no score.
                f=(0 if missed else 1) if scored else None,
                c=_rounded(finding.credit_at(result.method.k)),
                r=finding.rank,
                w=None if finding.target.weight == 1.0 else _rounded(finding.target.weight),
                g=None if finding.target.grade == 1.0 else _rounded(finding.target.grade),
                n=list(finding.ranks) or None,
                v=texts.number(finding.verdict or None),
                a=_rounded(finding.agreement),
                e=[_evidence(item, contexts, texts) for item in finding.evidence] or None,
                h=_held(finding, row.sample),
                u=None if cause is None else cause[0],
                d=None if cause is None else texts.number(cause[1].detail or None),
                x=None if cause is None else cause[1].rank,
            )
        )
    return _given(
        s=str(result.status),
        v=_rounded(result.score),
        w=texts.number(result.reason or None),
        n=result.retrieved,
        k=[_rounded(value) for value in result.at.values_at(column.method.ks)] if scored else None,
        t=targets or None,
        u=[[texts.number(target), texts.number(why)] for target, why in result.unmeasured] or None,
        z=list(result.usage) if any(result.usage) else None,
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


class _Causes:
    """The causes of a diagnosis of each side, each with a number, by what was missed."""

    def __init__(self, diagnoses: Sequence[Diagnosis | None]) -> None:
        counts = [Counter[str]() for _ in diagnoses]
        fixes: dict[str, str] = {}
        self._of: dict[tuple[int, str, str, str], Diagnosed] = {}
        for side, diagnosis in enumerate(diagnoses):
            if diagnosis is None:
                continue
            for miss in diagnosis.misses:
                counts[side][str(miss.cause)] += 1
                self._of[(side, miss.sample, miss.score, miss.target)] = miss
            fixes |= {str(cause): fix for cause, fix in diagnosis.fixes.items()}
        lines = [
            CauseLine(
                cause,
                cause.replace("_", " "),
                tuple(of_side[cause] for of_side in counts),
                fixes.get(cause, ""),
            )
            for cause in set().union(*counts)
        ]
        self.lines = sorted(lines, key=lambda line: (-line.total, line.cause))
        self._numbers = {line.cause: number for number, line in enumerate(self.lines)}

    def of(
        self, side: int, row: Row, result: Result, finding: Finding
    ) -> tuple[int, Diagnosed] | None:
        """Return the cause of one miss, with its number; None where none was diagnosed."""
        if not self._of:
            return None
        for score in (result.method.label, result.method.name):
            miss = self._of.get((side, row.label, score, finding.target.label))
            if miss is not None:
                return self._numbers[str(miss.cause)], miss
        return None


class _Names(NamedTuple):
    """What stands once and is named by its number elsewhere."""

    texts: Texts
    causes: _Causes


def _causes_in(sides: Iterable[dict[str, Any] | None]) -> list[int]:
    """Return the numbers of the causes in a sample's details, the most frequent cause first."""
    return sorted(
        {
            target["u"]
            for side in sides
            if side is not None
            for result in side["f"]
            for target in result.get("t", ())
            if "u" in target
        }
    )


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
