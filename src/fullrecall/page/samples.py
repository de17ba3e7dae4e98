"""The data that the page's script reads: an index of all samples, and their details in blocks.

The script reads the index at once, to sort and filter the table. It reads blocks of details,
contexts and texts when a sample is opened or searched. Each text and each context is stored once,
for any number of samples, and identified by its number. Keys are one letter long, because a page
repeats them for thousands of samples; a key without a value is left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fullrecall.measures.findings import Evidence, Finding
from fullrecall.page.subject import Causes, ComparedRows, ResultCell, SampleReading
from fullrecall.samples.calls import Stage
from fullrecall.samples.context import Context
from fullrecall.samples.sample import Sample
from fullrecall.table.row import Row

PER_BLOCK = 200
"""The number of samples, contexts, or texts in a block."""

_QUESTION_SHOWN = 300
"""The most characters of a question in the index; the details have the whole question."""

# Make the encoder once: `json.dumps` with options makes one for each call, which takes 2.2 instead
# of 1.4 µs for each value.
_encoded = json.JSONEncoder(ensure_ascii=False, default=str).encode


class Samples:
    """The samples of a page, in the order in which they are added.

    `causes` are those of the misses in the last report; `last` is the index of this report.
    """

    def __init__(self, causes: Causes, last: int) -> None:
        self._causes = causes
        self._last = last
        self._details: list[dict[str, Any]] = []
        self._contexts: dict[tuple[Any, ...], int] = {}
        self._texts: dict[str, int] = {}

    def add(self, rows: ComparedRows, reading: SampleReading) -> dict[str, Any]:
        """Add a sample; return its entry in the index.

        - The entry has the label (l), the beginning of the question (q), the group (g), the pairs
          of cause and score of its misses (c), and why scores are not compared (n). For each
          report, v has the cells of `_values`, one for each score.
        - The details have the numbers of the texts of the question (q), the reference answer (a)
          and the metadata (m), and the data of the sample in each report (x).
        """
        row = next(row for row in rows if row is not None)
        sample = row.sample
        details = _without_none(
            q=self._text(sample.user_input),
            a=self._text(sample.reference or None),
            m=self._text(metadata_text(sample.metadata)),
        )
        details["x"] = [
            None if own is None else self._side(own, side, reading.sides[side])
            for side, own in enumerate(rows)
        ]
        self._details.append(details)
        last = details["x"][self._last] or {"f": ()}
        causes = {
            (target["u"], nth)
            for nth, result in enumerate(last["f"])
            for target in result.get("t", ())
            if "u" in target
        }
        question = sample.user_input or ""
        brief = question if len(question) <= _QUESTION_SHOWN else f"{question[:_QUESTION_SHOWN]}…"
        gaps = [gap and gap.replace("_", " ") for gap in reading.gaps]
        return _without_none(
            l=row.label,
            q=brief,
            g=sample.group,
            c=sorted(causes) or None,
            n=gaps if len(rows) > 1 else None,
            v=[
                None if own is None else list(map(_values, cells))
                for own, cells in zip(rows, reading.sides, strict=True)
            ],
        )

    def blocks(self) -> Iterator[tuple[str, Sequence[Any]]]:
        """Yield each block of data with its ID: details of samples, contexts, texts.

        A context has the numbers of its text (t), ID (i), source (d) and metadata (m), and the
        start (p) and end (e) of its text in the source.
        """
        contexts = [
            _without_none(**dict(zip("tidm", map(self._text, texts), strict=True)), p=start, e=end)
            for *texts, start, end in self._contexts
        ]
        for name, items in (
            ("details", self._details),
            ("contexts", contexts),
            ("texts", list(self._texts)),
        ):
            for nth, start in enumerate(range(0, len(items), PER_BLOCK)):
                yield f"{name}-{nth}", items[start : start + PER_BLOCK]

    def _text(self, text: str | None) -> int | None:
        """Return the number of a text; None for no text."""
        return None if text is None else self._texts.setdefault(text, len(self._texts))

    def _context(self, context: Context) -> int:
        """Return the number of a context; contexts that differ only in score share one."""
        metadata = metadata_text(context.metadata)
        key = (context.text, context.id, context.source, metadata, context.start, context.end)
        return self._contexts.setdefault(key, len(self._contexts))

    def _side(self, row: Row, side: int, cells: Sequence[ResultCell]) -> dict[str, Any]:
        """Return the data of a sample in one report.

        They are the response (r), the contexts (c) with their scores (o), the retrieval's error
        (e), the ranks (k), which contexts the model read (b), the stages (s), and the result of
        each score (f).
        """
        sample, record = row.sample, row.sample.retrieval
        contexts = sample.contexts
        scores = [_rounded(context.score) for context in contexts or ()]
        return _without_none(
            r=self._text(sample.response or None),
            c=None if contexts is None else list(map(self._context, contexts)),
            o=scores if any(score is not None for score in scores) else None,
            e=None if record is None else self._text(record.error),
            k=None if record is None else record.ranks,
            b=None if record is None else record.read,
            s=[self._stage(stage) for stage in sample.stages] or None,
            f=[self._result(row, cell, side, nth) for nth, cell in enumerate(cells)],
        )

    def _stage(self, stage: Stage) -> dict[str, Any]:
        """Return a stage's name (n), the name of the stage that it feeds (i), and contexts (c)."""
        contexts = list(map(self._context, stage.contexts))
        return _without_none(n=self._text(stage.name), i=self._text(stage.into), c=contexts)

    def _result(self, row: Row, cell: ResultCell, side: int, nth: int) -> dict[str, Any]:
        """Return the reason (w), targets (t), unmeasured claims (u) and usage (z) of a result.

        A target that is not compared also has y; a missed one has the number of its cause (u), the
        cause's details (d), and the rank that the diagnosis found (x).
        """
        result = cell.result
        misses = self._causes.of(nth, row.label) if side == self._last else {}
        targets = []
        for finding, ranked in zip(result.findings, result.ranked, strict=True):
            target = self._target(finding, ranked, row.sample)
            if cell.compared is not result and finding.target not in cell.compared.targets:
                target["y"] = 1
            miss = misses.get(finding.target.label)
            if miss is not None:
                detail = self._text(miss.detail or None)
                target |= _without_none(u=self._causes.number(miss), d=detail, x=miss.rank)
            targets.append(target)
        return _without_none(
            w=self._text(result.reason or None),
            t=targets or None,
            u=[[self._text(target), self._text(why)] for target, why in result.unmeasured] or None,
            z=result.usage if any(result.usage) else None,
        )

    def _target(self, finding: Finding, ranked: Finding, sample: Sample) -> dict[str, Any]:
        """Return the shown fields of a target.

        They are its label (t), the credit from each rank on (s), the positions of the contexts
        that support it (n), its size (w), grade (g), verdict (v), agreement (a), and evidence (e).
        """
        target = finding.target
        steps = [[rank, _rounded(credit)] for rank, credit in ranked.steps]
        if steps == [[rank, 1.0] for rank in finding.ranks[:1]]:
            steps = []  # leave out the script's default
        contexts = sample.retrieved_contexts or ()
        evidence = [self._evidence(each, contexts) for each in finding.evidence]
        return _without_none(
            t=self._text(target.label),
            s=steps or None,
            n=finding.ranks or None,
            w=None if target.size == 1.0 else _rounded(target.size),
            g=None if target.grade == 1.0 else _rounded(target.grade),
            v=self._text(finding.verdict or None),
            a=_rounded(finding.agreement),
            e=evidence or None,
        )

    def _evidence(self, evidence: Evidence, contexts: Sequence[Context]) -> dict[str, Any]:
        """Return rank (r), range (p), similarity (s), quote (q), and whether it is verified (v)."""
        text = contexts[evidence.rank - 1].text if 0 < evidence.rank <= len(contexts) else None
        return _without_none(
            r=evidence.rank,
            p=_range(text, evidence.start, evidence.end),
            s=_rounded(evidence.similarity),
            q=self._text(evidence.quote),
            v=evidence.verified,
        )


def _values(cell: ResultCell) -> list[Any]:
    """Return a cell's status, and its value and number of misses for each choice of measures."""
    values = [None if value is None else round(value, 6) for value in cell.values]
    return [cell.compared.status, values, [misses.missed for misses in cell.misses]]


def _range(text: str | None, start: int | None, end: int | None) -> tuple[int, int] | None:
    """Return a range of characters; None if it is not within the text."""
    if text is None or start is None or end is None or not 0 <= start < end <= len(text):
        return None
    return start, end


def metadata_text(metadata: Mapping[str, Any]) -> str | None:
    """Return metadata as JSON with one line for each key; None without metadata."""
    if not metadata:
        return None
    try:
        lines = [f" {_encoded(str(name))}: {_encoded(value)}" for name, value in metadata.items()]
    except (TypeError, ValueError):  # the value contains itself, or has keys that are not str
        return str(metadata)
    return "{\n" + ",\n".join(lines) + "\n}"


def _rounded(value: float | None) -> float | None:
    """Return a number with as many digits as a page needs; None for None."""
    return None if value is None else float(f"{value:.6g}")


def _without_none(**fields: Any) -> dict[str, Any]:
    """Return the fields that have a value."""
    return {name: value for name, value in fields.items() if value is not None}
