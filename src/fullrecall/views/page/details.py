"""What a page shows of a sample once it is opened: its contexts, targets, results, and responses.

It is written as JSON at once: nearly all of it is numbers, those of texts, contexts, and ranks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, TypeAlias

from fullrecall.views.page.document import ScriptJson, as_json, script_json
from fullrecall.views.page.texts import (
    CONTEXTS_IN_BLOCK,
    Contexts,
    Texts,
    metadata_text,
    rounded,
    written,
)

if TYPE_CHECKING:
    from fullrecall.context import Context
    from fullrecall.diagnosis.causes import Diagnosed
    from fullrecall.findings import Evidence, Finding, Target
    from fullrecall.sample import Sample
    from fullrecall.table.row import Row
    from fullrecall.views.page.causes import Causes
    from fullrecall.views.page.choices import Rows
    from fullrecall.views.page.readings import Cell, Reading

_Causes: TypeAlias = set[tuple[int, int]]
"""The causes of what a sample misses, by their number, each with the index of the score."""

_score = attrgetter("score")


class Details:
    """The details of the samples of a page, in the order in which they are added.

    `texts_per_block` is known once `blocks` has yielded all.
    """

    contexts_per_block = CONTEXTS_IN_BLOCK

    def __init__(self, causes: Causes, samples_per_block: int) -> None:
        self._size = samples_per_block
        self.texts_per_block: list[int] = []
        self._texts = Texts()
        self._contexts = Contexts(self._texts)
        self._causes = causes
        # Many are told in the same words: the number of each cause, and how it is written.
        self._written_causes: dict[tuple[str, str, int | None], tuple[int, str]] = {}
        self._samples: list[str] = []

    def add(self, rows: Rows, sample_row: Row, readings: Sequence[Reading]) -> str:
        """Add a sample; return the causes in it, each with the index of the score, as JSON.

        Empty where there are none.
        """
        causes: _Causes = set()
        number, sample = self._texts.number, sample_row.sample
        # The question first: its number is lower than those of its contexts, and in their block.
        parts = [] if sample.user_input is None else [f'"q":{number(sample.user_input)}']
        if sample.reference:
            parts.append(f'"a":{number(sample.reference)}')
        if sample.metadata:
            parts.append(f'"m":{number(metadata_text(sample.metadata))}')
        sides = [
            "null" if row is None else self._side(row, side, readings, causes)
            for side, row in enumerate(rows)
        ]
        self._samples.append(f'{{{",".join([*parts, ""])}"x":[{",".join(sides)}]}}')
        return as_json(sorted(causes)) if causes else ""

    def blocks(self) -> Iterator[tuple[str, ScriptJson]]:
        """Yield each block of data with its ID: details of samples, contexts, texts."""
        for nth, start in enumerate(range(0, len(self._samples), self._size)):
            samples = self._samples[start : start + self._size]
            yield f"details-{nth}", ScriptJson(f"[{','.join(samples)}]")
        for nth, contexts in enumerate(self._contexts.blocks()):
            yield f"contexts-{nth}", ScriptJson(contexts)
        self.texts_per_block = []
        for nth, texts in enumerate(self._texts.blocks()):
            self.texts_per_block.append(len(texts))
            yield f"texts-{nth}", script_json(texts)

    def _side(self, row: Row, side: int, readings: Sequence[Reading], causes: _Causes) -> str:
        sample = row.sample
        contexts = sample.retrieved_contexts
        parts = [f'"r":{self._texts.number(sample.response)}'] if sample.response else []
        if contexts is not None:
            parts.append(f'"c":{self._contexts.listed(contexts)}')
            scores = list(map(_score, contexts))
            if any(score is not None for score in scores):
                values = ["null" if score is None else rounded(score) for score in scores]
                parts.append(f'"o":[{",".join(values)}]')
        elif sample.retrieved_context_ids is not None:
            parts.append(f'"c":{self._contexts.listed_ids(sample.retrieved_context_ids)}')
        if sample.retrieval is not None:
            parts += self._record(sample)
        results = [
            self._result(row, reading, reading.cells[side], side, causes) for reading in readings
        ]
        parts.append(f'"f":[{",".join(results)}]')
        return f"{{{','.join(parts)}}}"

    def _record(self, sample: Sample) -> Iterator[str]:
        """Yield how the contexts came about."""
        number, retrieval = self._texts.number, sample.retrieval
        assert retrieval is not None  # noqa: S101 - who calls it has looked
        if retrieval.error is not None:
            yield f'"e":{number(retrieval.error)}'
        if retrieval.ranks is not None:
            # Contexts of united calls have their rank in their own call.
            yield f'"k":{as_json(list(retrieval.ranks))}'
        if retrieval.read is not None:
            yield f'"b":{as_json(list(retrieval.read))}'
        stages = [
            written(
                n=number(stage.name), i=number(stage.into), c=self._contexts.listed(stage.contexts)
            )
            for stage in sample.stages
        ]
        if stages:
            yield f'"s":[{",".join(stages)}]'

    def _result(self, row: Row, reading: Reading, cell: Cell, side: int, causes: _Causes) -> str:
        number, result = self._texts.number, cell.result
        reason = cell.reason
        parts = [f'"w":{number(reason)}'] if reason else []
        if cell.findings:
            misses = self._causes.of(side, reading.nth, row.label)
            targets = self._targets(row.sample, reading, cell, misses, causes)
            parts.append(f'"t":[{",".join(targets)}]')
        if result.unmeasured:
            unmeasured = [f"[{number(target)},{number(why)}]" for target, why in result.unmeasured]
            parts.append(f'"u":[{",".join(unmeasured)}]')
        if any(result.usage):
            parts.append(f'"z":{as_json(list(result.usage))}')
        return f"{{{','.join(parts)}}}"

    def _targets(
        self,
        sample: Sample,
        reading: Reading,
        cell: Cell,
        misses: Mapping[str, Diagnosed],
        causes: _Causes,
    ) -> list[str]:
        """Return each target: an object, or a list of its text and ranks where that is all."""
        findings = cell.findings
        ranked = findings if cell.result.ranks is None else cell.result.ranked
        marks = _marks(reading, cell)
        targets = []
        for nth, finding in enumerate(findings):
            target, ranks = finding.target, finding.ranks
            label = target.label
            more = marks[nth] if marks else ""
            if label in misses:
                more += self._cause(misses[label], reading.nth, causes)
            if finding.evidence or ranked is not findings or not _is_whole(finding):
                targets.append(self._target(finding, ranked[nth], sample, more))
            elif more:
                ranks_json = (
                    f',"s":[[{ranks[0]},1]],"r":{ranks[0]},"n":{as_json(ranks)}' if ranks else ""
                )
                targets.append(f'{{"t":{self._texts.number(label)}{ranks_json}{more}}}')
            else:
                targets.append(f"[{','.join(map(str, (self._texts.number(label), *ranks)))}]")
        return targets

    def _target(self, finding: Finding, ranked: Finding, sample: Sample, more: str) -> str:
        """Return what is shown of a target: credit by rank, contexts by position, evidence."""
        number, target = self._texts.number, finding.target
        parts = [f'"t":{number(target.label)}']
        if ranked.steps:
            # The credit at every rank that raises it: the script reads it at the k chosen.
            steps = ",".join([f"[{rank},{rounded(credit)}]" for rank, credit in ranked.steps])
            parts.append(f'"s":[{steps}]')
            if ranked.rank is not None:
                parts.append(f'"r":{ranked.rank}')
        if target.size != 1.0:
            parts.append(f'"w":{rounded(target.size)}')
        if target.grade != 1.0:
            parts.append(f'"g":{rounded(target.grade)}')
        if finding.ranks:
            parts.append(f'"n":[{",".join(map(str, finding.ranks))}]')
        if finding.verdict:
            parts.append(f'"v":{number(finding.verdict)}')
        if finding.agreement is not None:
            parts.append(f'"a":{rounded(finding.agreement)}')
        if finding.evidence:
            contexts = sample.retrieved_contexts or ()
            items = [self._evidence(item, contexts) for item in finding.evidence]
            parts.append(f'"e":[{",".join(items)}]{_retrieved_ranges(finding, sample)}')
        return f"{{{','.join(parts)}{more}}}"

    def _cause(self, miss: Diagnosed, nth: int, causes: _Causes) -> str:
        """Return why a target was missed: the number of the cause, the sentence, the rank."""
        key = miss.cause, miss.detail, miss.rank
        entry = self._written_causes.get(key)
        if entry is None:
            number = self._causes.number(miss)
            detail = f',"d":{self._texts.number(miss.detail)}' if miss.detail else ""
            rank = "" if miss.rank is None else f',"x":{miss.rank}'
            entry = self._written_causes[key] = number, f',"u":{number}{detail}{rank}'
        causes.add((entry[0], nth))
        return entry[1]

    def _evidence(self, item: Evidence, contexts: Sequence[Context]) -> str:
        text = contexts[item.rank - 1].text if 0 < item.rank <= len(contexts) else None
        span = _range(text, item.start, item.end)
        return written(
            r=item.rank,
            p=None if span is None else f"[{span}]",
            s=None if item.similarity is None else rounded(item.similarity),
            q=self._texts.number(item.quote),
            v=None if item.verified is None else int(item.verified),
        )


def _marks(reading: Reading, cell: Cell) -> list[str]:
    """Return which choices do not count each target, and whether it is left out of a comparison.

    Empty where every measure counts all of them.
    """
    if cell.figures.whole and cell.read is cell.result:
        return []
    findings = cell.findings
    left_out: list[list[str]] = [[] for _ in findings]
    for nth, measure in enumerate(reading.measures):
        counted = measure.countable(findings)
        if counted is not findings:
            targets = {finding.target for finding in counted}
            for index, finding in enumerate(findings):
                if finding.target not in targets:
                    left_out[index].append(str(nth))
    # Results are narrowed for a comparison where their targets differ, and then alone.
    compared: set[Target] | None = None if cell.read is cell.result else set(cell.read.targets)
    return [
        (f',"o":[{",".join(choices)}]' if choices else "")
        + ',"y":1' * (compared is not None and finding.target not in compared)
        for finding, choices in zip(findings, left_out, strict=True)
    ]


def _is_whole(finding: Finding) -> bool:
    """Return whether its ranks tell all of a finding without evidence: found in full, or not."""
    target, ranks = finding.target, finding.ranks
    return (
        finding.steps == (((ranks[0], 1.0),) if ranks else ())
        and target.grade == target.size == 1.0
        and not finding.verdict
        and finding.agreement is None
    )


def _retrieved_ranges(finding: Finding, sample: Sample) -> str:
    """Return which characters of the target's text were retrieved, with the rank of each range.

    Nothing where its text is not what the offsets count in: a place without a text, or one of
    several alternatives.
    """
    parts = [item for item in finding.evidence if item.target_start is not None]
    if not parts or len(finding.target.any_of) != 1:
        return ""
    for group in sample.reference_contexts or ():
        for context in group:
            start, text = context.start, context.text
            if text is None or (start is not None and (context.end or 0) - start != len(text)):
                return ""
    label = finding.target.label
    spans = [(_range(label, item.target_start, item.target_end), item.rank) for item in parts]
    ranges = [f"[{span},{rank}]" for span, rank in spans if span is not None]
    return f',"h":[{",".join(ranges)}]' if ranges else ""


def _range(text: str | None, start: int | None, end: int | None) -> str | None:
    """Return a range of a text in the units of the script, None where it is none of it."""
    if text is None or start is None or end is None or not 0 <= start < end <= len(text):
        return None
    return f"{utf16_offset(text, start)},{utf16_offset(text, end)}"


def utf16_offset(text: str, offset: int) -> int:
    """Return an offset in characters as one in UTF-16 code units, as scripts count them."""
    if text.isascii():
        return offset
    return offset + sum(character > "\uffff" for character in text[:offset])
