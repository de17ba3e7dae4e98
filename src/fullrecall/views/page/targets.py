"""What a page shows of the targets of a result: where each was found, or why it was missed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

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
from fullrecall.views.page.causes import Causes, Diagnosed
from fullrecall.views.page.encoding import utf16_offset
from fullrecall.views.page.readings import Cell, Reading
from fullrecall.views.page.tables import Texts, rounded
from fullrecall.report.row import Row
from fullrecall.sample import Sample

Found: TypeAlias = set[tuple[int, int]]
"""The causes of what a sample misses, by their number, each with the place of the score."""


class Targets:
    """Writes targets as JSON: an object each, or a list of its text and ranks where that is all."""

    def __init__(self, texts: Texts, causes: Causes) -> None:
        self._number = texts.number
        self._causes = causes
        # Many are told in the same words: the number of each cause, and how it is written.
        self._told: dict[tuple[str, str, int | None], tuple[int, str]] = {}

    def of(self, row: Row, reading: Reading, cell: Cell, side: int, found: Found) -> list[str]:
        """Return the targets of one result; add to `found` the causes of those that are missed."""
        findings = cell.result.findings
        if not findings:
            return []
        causes = self._causes.of(side, reading.nth, row.label)
        if cell.figures.whole and cell.read is cell.result and cell.result.ranks is None:
            # Of ten thousand samples, most are like that: nothing is made for their targets.
            if type(findings) is SingleFindings:
                return self._of_ids(findings, causes, reading.nth, found)
            if isinstance(findings, WholeFindings):
                return [
                    self._whole(" | ".join(any_of), grade, ranks, causes, reading.nth, found)
                    for (any_of, grade), ranks in zip(
                        findings.references, findings.ranks, strict=True
                    )
                ]
            marks = [""] * len(findings)
        else:
            marks = _marks(reading, cell)
        contexts = row.sample.retrieved_contexts or ()
        ranked = findings if cell.result.ranks is None else cell.result.ranked
        targets = []
        for finding, by_rank, mark in zip(findings, ranked, marks, strict=True):
            label = finding.target.label
            more = mark + self._cause(causes.get(label), reading.nth, found)
            if not more and _is_plain(finding):
                targets.append(_listed(self._number(label), finding.ranks))
            else:
                targets.append(self._target(finding, by_rank, row.sample, contexts, more))
        return targets

    def _of_ids(
        self,
        findings: SingleFindings,
        causes: Mapping[str, Diagnosed],
        nth: int,
        found: Found,
    ) -> list[str]:
        names, ranks = findings.names, findings.ranks
        if not causes and findings.grades is None:
            return [_listed(self._number(one), at) for one, at in zip(names, ranks, strict=True)]
        grades = findings.grades or (1.0,) * len(names)
        return [
            self._whole(one, grade, at, causes, nth, found)
            for one, grade, at in zip(names, grades, ranks, strict=True)
        ]

    def _whole(  # noqa: PLR0917 - all that there is to know of it
        self,
        label: str,
        grade: float,
        ranks: tuple[int, ...],
        causes: Mapping[str, Diagnosed],
        nth: int,
        found: Found,
    ) -> str:
        """Return a target that one context finds in full."""
        # Texts are numbered as they are met: the cause first, whatever kind of findings these are.
        cause = self._cause(causes.get(label), nth, found) if causes else ""
        number = self._number(label)
        if grade == 1.0 and not cause:
            return _listed(number, ranks)
        graded = "" if grade == 1.0 else f',"g":{rounded(grade)}'
        if not ranks:
            return f'{{"t":{number}{graded}{cause}}}'
        first = ranks[0]
        places = ",".join(map(str, ranks))
        return f'{{"t":{number},"s":[[{first},1]],"r":{first}{graded},"n":[{places}]{cause}}}'

    def _target(
        self,
        finding: Finding,
        ranked: Finding,
        sample: Sample,
        contexts: Sequence[Context],
        more: str,
    ) -> str:
        """Return what is shown of a target: credit by rank, contexts by their place, evidence."""
        number, target = self._number, finding.target
        made = f'"t":{number(target.label)}'
        if ranked.steps:
            # The credit at every rank that raises it: the script reads it at the k chosen.
            steps = ",".join([f"[{rank},{rounded(credit)}]" for rank, credit in ranked.steps])
            made += f',"s":[{steps}]'
            if ranked.rank is not None:
                made += f',"r":{ranked.rank}'
        if target.size != 1.0:
            made += f',"w":{rounded(target.size)}'
        if target.grade != 1.0:
            made += f',"g":{rounded(target.grade)}'
        if finding.ranks:
            made += f',"n":[{",".join(map(str, finding.ranks))}]'
        if finding.verdict:
            made += f',"v":{number(finding.verdict)}'
        if finding.agreement is not None:
            made += f',"a":{rounded(finding.agreement)}'
        if finding.evidence:
            items = [self._evidence(item, contexts) for item in finding.evidence]
            made += f',"e":[{",".join(items)}]{_held(finding, sample)}'
        return f"{{{made}{more}}}"

    def _cause(self, miss: Diagnosed | None, nth: int, found: Found) -> str:
        """Return why a target was missed: the number of the cause, the sentence, the rank."""
        if miss is None:
            return ""
        key = miss.cause, miss.detail, miss.rank
        known = self._told.get(key)
        if known is None:
            number = self._causes.number(miss)
            detail = f',"d":{self._number(miss.detail)}' if miss.detail else ""
            rank = "" if miss.rank is None else f',"x":{miss.rank}'
            known = self._told[key] = number, f',"u":{number}{detail}{rank}'
        found.add((known[0], nth))
        return known[1]

    def _evidence(self, item: Evidence, contexts: Sequence[Context]) -> str:
        made = f'"r":{item.rank}'
        text = contexts[item.rank - 1].text if 0 < item.rank <= len(contexts) else None
        place = _range(text, item.start, item.end)
        if place is not None:
            made += f',"p":[{place}]'
        if item.similarity is not None:
            made += f',"s":{rounded(item.similarity)}'
        if item.quote is not None:
            made += f',"q":{self._number(item.quote)}'
        if item.verified is not None:
            made += f',"v":{int(item.verified)}'
        return f"{{{made}}}"


def _marks(reading: Reading, cell: Cell) -> list[str]:
    """Return which choices do not count each target, and whether it is left out of a comparison."""
    findings = cell.result.findings
    counted = [None] if cell.figures.whole else [_counted(m, findings) for m in reading.measures]
    # Results are narrowed for a comparison where their targets differ, and then alone.
    compared = None if cell.read is cell.result else set(cell.read.targets)
    marks = []
    for target in targets_of(findings):
        left_out = [
            str(nth)
            for nth, known in enumerate(counted)
            if known is not None and target not in known
        ]
        apart = compared is not None and target not in compared
        marks.append((f',"o":[{",".join(left_out)}]' if left_out else "") + ',"y":1' * apart)
    return marks


def _counted(measure: Measure, findings: Findings) -> set[Target] | None:
    """Return the targets that a measure counts; None for all."""
    counted = measure.counted(findings)
    return None if counted is findings else set(targets_of(counted))


def _is_plain(finding: Finding) -> bool:
    """Return whether there is nothing to show of a finding but its target and its ranks."""
    if finding.evidence or finding.target.size != 1.0:  # most of them, and seen at once
        return False
    return finding == Finding(
        Target(finding.target.any_of),
        (Step(finding.ranks[0], 1.0),) if finding.ranks else (),
        finding.ranks,
    )


def _listed(label: int | None, ranks: tuple[int, ...]) -> str:
    return f"[{label},{','.join(map(str, ranks))}]" if ranks else f"[{label}]"


def _held(finding: Finding, sample: Sample) -> str:
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
    places = [(_range(label, item.target_start, item.target_end), item.rank) for item in parts]
    ranges = [f"[{place},{rank}]" for place, rank in places if place is not None]
    return f',"h":[{",".join(ranges)}]' if ranges else ""


def _range(text: str | None, start: int | None, end: int | None) -> str | None:
    if text is None or start is None or end is None or not 0 <= start < end <= len(text):
        return None
    if text.isascii():
        return f"{start},{end}"
    return f"{utf16_offset(text, start)},{utf16_offset(text, end)}"
