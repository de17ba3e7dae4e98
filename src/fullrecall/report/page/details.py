"""What a page shows of a sample once it is opened: its contexts, targets, and evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fullrecall.context import Context
from fullrecall.findings import (
    Evidence,
    Finding,
    Findings,
    SingleFindings,
    Step,
    Target,
    WholeFindings,
    targets_of,
)
from fullrecall.measures import Measure
from fullrecall.report.page.causes import Causes
from fullrecall.report.page.encoding import ScriptJson, script_json, utf16_offset
from fullrecall.report.page.readings import Cell, Reading, Rows
from fullrecall.report.page.tables import (
    CONTEXTS_IN_BLOCK,
    Contexts,
    Texts,
    given,
    metadata_text,
    rounded,
)
from fullrecall.report.row import Row
from fullrecall.sample import Sample


class Details:
    """The details of the samples of a page, in the order in which they are added.

    `texts_per_block` is known once `blocks` has yielded all.
    """

    contexts_per_block = CONTEXTS_IN_BLOCK

    def __init__(self, causes: Causes, samples_per_block: int) -> None:
        self._causes = causes
        self._size = samples_per_block
        self.texts_per_block: list[int] = []
        self._texts = Texts()
        self._contexts = Contexts(self._texts)
        self._samples: list[dict[str, Any]] = []
        self._written: list[ScriptJson] = []

    def add(self, rows: Rows, one: Row, readings: Sequence[Reading]) -> list[list[int]]:
        """Add a sample; return the causes in it, each with the place of the score."""
        found: set[tuple[int, int]] = set()
        number, sample = self._texts.number, one.sample
        # The question first: its number is lower than those of its contexts, and in their block.
        entry = given(
            q=number(sample.user_input),
            a=number(sample.reference or None),
            m=number(metadata_text(sample.metadata)),
        )
        entry["x"] = [
            None if row is None else self._side(row, side, readings, found)
            for side, row in enumerate(rows)
        ]
        self._samples.append(entry)
        if len(self._samples) == self._size:
            self._write()
        return [list(pair) for pair in sorted(found)]

    def blocks(self) -> Iterator[tuple[str, ScriptJson]]:
        """Yield each block of data with its ID: details of samples, contexts, texts."""
        self._write()
        for nth, samples in enumerate(self._written):
            yield f"details-{nth}", samples
        for nth, contexts in enumerate(self._contexts.blocks()):
            yield f"contexts-{nth}", ScriptJson(contexts)
        self.texts_per_block = []
        for nth, texts in enumerate(self._texts.blocks()):
            self.texts_per_block.append(len(texts))
            yield f"texts-{nth}", script_json(texts)

    def _write(self) -> None:
        # At once, before there are so many objects that collecting garbage takes longer than
        # making them.
        if self._samples:
            self._written.append(script_json(self._samples))
            self._samples = []

    def _side(
        self, row: Row, side: int, readings: Sequence[Reading], found: set[tuple[int, int]]
    ) -> dict[str, Any]:
        number, sample = self._texts.number, row.sample
        contexts = sample.retrieved_contexts or ()
        entry: dict[str, Any] = {}
        if sample.response:
            entry["r"] = number(sample.response)
        if sample.retrieved_contexts is not None:
            entry["c"] = self._contexts.numbers(contexts)
            scores = [context.score for context in contexts]
            if any(score is not None for score in scores):
                entry["o"] = list(map(rounded, scores))
        elif sample.retrieved_context_ids is not None:
            entry["c"] = self._contexts.numbers_of_ids(sample.retrieved_context_ids)
        if sample.retrieval is not None:
            entry |= self._record(sample)
        entry["f"] = [
            self._result(row, reading, reading.cells[side], side, contexts, found)
            for reading in readings
        ]
        return entry

    def _record(self, sample: Sample) -> dict[str, Any]:
        """Return how the contexts came about."""
        number, retrieval = self._texts.number, sample.retrieval
        assert retrieval is not None  # noqa: S101 - who calls it has looked
        return given(
            e=number(sample.retrieval_error),
            # Contexts of united calls have their rank in their own call.
            k=None if sample.ranks is None else list(sample.ranks),
            b=None if retrieval.read is None else list(retrieval.read),
            s=[
                given(
                    n=number(stage.name),
                    i=number(stage.into),
                    c=self._contexts.numbers(stage.contexts),
                )
                for stage in sample.stages
            ]
            or None,
        )

    def _result(  # noqa: PLR0917 - all that a result is shown with
        self,
        row: Row,
        reading: Reading,
        cell: Cell,
        side: int,
        contexts: Sequence[Context],
        found: set[tuple[int, int]],
    ) -> dict[str, Any]:
        number, result = self._texts.number, cell.result
        reason = result.reason
        entry: dict[str, Any] = {"w": number(reason)} if reason else {}
        targets = self._targets(row, reading, cell, side, contexts, found)
        if targets:
            entry["t"] = targets
        if result.unmeasured:
            entry["u"] = [[number(target), number(why)] for target, why in result.unmeasured]
        if any(result.usage):
            entry["z"] = list(result.usage)
        return entry

    def _targets(  # noqa: PLR0917 - as above
        self,
        row: Row,
        reading: Reading,
        cell: Cell,
        side: int,
        contexts: Sequence[Context],
        found: set[tuple[int, int]],
    ) -> list[Any]:
        """Return a target each: an object, or a list of its text and ranks where that is all."""
        number, result = self._texts.number, cell.result
        findings, ranked = result.findings, result.ranked
        # Results are narrowed for a comparison where their targets differ, and then alone.
        compared = None if cell.read is result else set(cell.read.targets)
        plain = cell.whole and compared is None and result.ranks is None
        if plain and type(findings) is SingleFindings and findings.grades is None:
            causes = self._causes.of
            if all(causes(side, row.label, reading.nth, one) is None for one in findings.names):
                return [
                    [number(one), *ranks]
                    for one, ranks in zip(findings.names, findings.ranks, strict=True)
                ]
        apart = [None] if plain else [_counted(m, findings) for m in reading.measures]
        columns = findings if plain and isinstance(findings, WholeFindings) else None
        entries: list[Any] = []
        for place in range(len(findings)):
            if columns is not None:
                any_of, grade = columns.references[place]
                label = any_of[0] if len(any_of) == 1 else " | ".join(any_of)
                if grade == 1.0 and self._causes.of(side, row.label, reading.nth, label) is None:
                    entries.append([number(label), *columns.ranks[place]])
                    continue
            finding = findings[place]
            cause = self._causes.of(side, row.label, reading.nth, finding.target.label)
            if plain and cause is None and _is_plain(finding):
                entries.append([number(finding.target.label), *finding.ranks])
                continue
            if cause is not None:
                found.add((cause[0], reading.nth))
            entry = self._target(finding, ranked[place], row, cause, contexts)
            left_out = [
                nth
                for nth, known in enumerate(apart)
                if known is not None and finding.target not in known
            ]
            if left_out:
                entry["o"] = left_out
            if compared is not None and finding.target not in compared:
                entry["y"] = 1
            entries.append(entry)
        return entries

    def _target(
        self, finding: Finding, ranked: Finding, row: Row, cause: Any, contexts: Sequence[Context]
    ) -> dict[str, Any]:
        """Return what is shown of a target: credit by rank, contexts by their place, evidence."""
        # Most of the fields are not there for most of the targets, and there are many of these.
        number, target = self._texts.number, finding.target
        entry: dict[str, Any] = {"t": number(target.label)}
        if ranked.steps:
            # The credit at every rank that raises it: the script reads it at the k chosen.
            entry["s"] = [[rank, rounded(credit)] for rank, credit in ranked.steps]
            if ranked.rank is not None:
                entry["r"] = ranked.rank
        for name, weight in (("w", target.size), ("g", target.grade)):
            if weight != 1.0:
                entry[name] = rounded(weight)
        if finding.ranks:
            entry["n"] = finding.ranks
        if finding.verdict:
            entry["v"] = number(finding.verdict)
        if finding.agreement is not None:
            entry["a"] = rounded(finding.agreement)
        if finding.evidence:
            evidence = [self._evidence(item, contexts) for item in finding.evidence]
            entry |= given(e=evidence, h=_held(finding, row.sample))
        if cause is not None:
            entry |= given(u=cause[0], d=number(cause[1].detail or None), x=cause[1].rank)
        return entry

    def _evidence(self, item: Evidence, contexts: Sequence[Context]) -> dict[str, Any]:
        text = contexts[item.rank - 1].text if 0 < item.rank <= len(contexts) else None
        return given(
            r=item.rank,
            p=_range(text, item.start, item.end),
            s=rounded(item.similarity),
            q=self._texts.number(item.quote),
            v=None if item.verified is None else int(item.verified),
        )


def _counted(measure: Measure, findings: Findings) -> set[Target] | None:
    """Return the targets that a measure counts; None for all."""
    counted = measure.counted(findings)
    return None if counted is findings else set(targets_of(counted))


def _is_plain(finding: Finding) -> bool:
    """Return whether there is nothing to show of a finding but its target and its ranks."""
    return finding == Finding(
        Target(finding.target.any_of),
        (Step(finding.ranks[0], 1.0),) if finding.ranks else (),
        finding.ranks,
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
