"""The findings of one scorer on one sample, and every measure of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from typing import Any, cast

from fullrecall.errors import ParameterError
from fullrecall.findings import (
    ColumnFindings,
    Finding,
    Findings,
    LateFindings,
    RankedFindings,
    SingleFindings,
    Target,
    WholeFindings,
    targets_of,
)
from fullrecall.measures import Measure, Recall
from fullrecall.measures.measure import KINDS
from fullrecall.usage import Usage

_NAMED = 5
"""Missed targets that a printed result names."""

_LONGEST = 120
"""Characters of a text within a printed result."""


class Status(StrEnum):
    """Whether a sample has a score, and if not, why not."""

    SCORED = "scored"
    UNDEFINED = "undefined"
    """The sample has no targets: there is nothing to recall."""
    UNSCORED = "unscored"
    """The sample could not be measured: no retrieval seen, a field missing, a failure."""


@dataclass(frozen=True)
class Method:
    """How findings were made: the scorer's name, its kind and parameters, its judge's prompts.

    `headline` is the measure that the score is: recall, unless the scorer finds something that
    recall does not describe.
    """

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    headline: Measure = Recall

    def label(self, measure: Measure) -> str:
        """Return the name of a score: `id_recall`, `id_recall@5`, `id_recall.ndcg@10`."""
        if measure.whole == self.headline:
            return self.name if measure.k is None else f"{self.name}@{measure.k}"
        return f"{self.name}.{measure.name}"


_FREE = Usage()
_UNSCORED = Status.UNSCORED  # an attribute of an enum takes as long as a measure


@dataclass(frozen=True, init=False)
class Result:
    """What one scorer found in one sample: `result[Recall @ 5]` is a measure of it.

    `findings` has one item per target, `retrieved` counts the contexts (0 for none), `reason` is
    one sentence. Where several calls were united, `ranks` is the rank of each context in its own
    call, ascending, and findings name contexts by their 1-based place in that list; None: the
    place is the rank. `unmeasured` names targets that could not be judged, each with why, and
    `usage` is what the judging cost; an unscored result keeps the findings that were made.
    """

    method: Method
    status: Status
    findings: Sequence[Finding] = ()
    retrieved: int = 0
    note: str = ""
    unmeasured: tuple[tuple[str, str], ...] = ()
    usage: Usage = _FREE
    ranks: tuple[int, ...] | None = None

    def __init__(  # noqa: PLR0917 - the fields, in their order
        self,
        method: Method,
        status: Status,
        findings: Sequence[Finding] = (),
        retrieved: int = 0,
        note: str = "",
        unmeasured: tuple[tuple[str, str], ...] = (),
        usage: Usage = _FREE,
        ranks: tuple[int, ...] | None = None,
    ) -> None:
        # One is made for each score of each sample: what a frozen dataclass does takes five times
        # as long. What is at its default stands in the class.
        fields = self.__dict__
        fields["method"] = method
        fields["status"] = status
        fields["findings"] = findings
        fields["retrieved"] = retrieved
        fields["ranks"] = ranks  # each measure that is read reads it
        if note:
            fields["note"] = note
        if unmeasured:
            fields["unmeasured"] = unmeasured
        if usage is not _FREE:
            fields["usage"] = usage

    def __getitem__(self, measure: Measure) -> float | None:
        """Return a measure in [0, 1], None where the sample is unscored or it is undefined.

        Raises `ParameterError` for what is not a measure.
        """
        if type(measure) not in KINDS:
            raise ParameterError(
                f"expected a measure such as Recall @ 5 of fullrecall.measures, got {measure!r}"
            )
        if self.status is _UNSCORED:
            return None
        return measure.of(self.findings if self.ranks is None else self.ranked, self.retrieved)

    @property
    def score(self) -> float | None:
        """The headline measure over all that was retrieved: recall. None: see `status`."""
        return None if self.status is not Status.SCORED else self[self.method.headline]

    @property
    def ranked(self) -> Findings:
        """The findings by rank: those of united calls by each context's rank in its own call."""
        return self.findings if self.ranks is None else RankedFindings(self.findings, self.ranks)

    @property
    def missed(self) -> tuple[str, ...]:
        """The targets not found in full, as text or IDs."""
        return tuple(finding.target.label for finding in self.findings if not finding.found_at())

    @property
    def targets(self) -> tuple[Target, ...]:
        """What was to be found, in order; without targets that could not be judged."""
        return tuple(targets_of(self.findings))

    @property
    def digest(self) -> str:
        """The identity of the targets: equal for two results that were to find the same."""
        known = sorted(map(tuple, targets_of(self.findings)))
        unjudged = sorted(target for target, _ in self.unmeasured)
        text = repr((known, unjudged)).encode("utf-8", "surrogatepass")
        return sha256(text).hexdigest()[:16]

    @property
    def reason(self) -> str:
        """One sentence for a human: why there is no score, or what the score stands for."""
        if self.status is not Status.SCORED or not len(self.findings):
            return self.note
        # The kinds that most results have, by columns; told in a fifth of the time of isinstance.
        if type(self.findings) in (SingleFindings, WholeFindings, LateFindings):
            found, partly = cast("ColumnFindings", self.findings).found_within(None), False
        else:
            found = sum(finding.found_at() for finding in self.findings)
            partly = any(0 < finding.credit_at() < 1 for finding in self.findings)
        sentence = (
            f"{found} of {len(self.findings)} found{' in full' if partly else ''} "
            f"in {self.retrieved} retrieved"
        )
        return f"{sentence}; {self.note}" if self.note else sentence

    def __repr__(self) -> str:
        score = str(self.status) if self.score is None else f"{self.score:.3f}"
        return f"Result({score}, {self.method.name}: {_short(self.reason)})"

    def __str__(self) -> str:
        score = str(self.status) if self.score is None else f"{self.score:.3f}"
        missed = [_short(target) for target in self.missed] if self.score is not None else []
        named = [*missed[:_NAMED], *([f"{len(missed) - _NAMED:,} more"] * (len(missed) > _NAMED))]
        lost = f"; missed: {', '.join(named)}" if named else ""
        return f"{score} {self.method.name}: {_short(self.reason)}{lost}"

    def _repr_html_(self) -> str:
        from fullrecall.views import html
        from fullrecall.views.summaries import result_sheet

        return html.text_of(result_sheet(self))


def _short(text: str) -> str:
    """Return a text as one line of printable characters that is not too long."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: 4 * _LONGEST]).split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
