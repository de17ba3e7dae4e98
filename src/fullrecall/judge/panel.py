"""Several judges, one verdict: the median of theirs, with their agreement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from fullrecall.errors import ParameterError
from fullrecall.judge.flow import side_by_side
from fullrecall.judge.judge import (
    LABELS,
    Flow,
    Judge,
    Relation,
    SplitKind,
    Verdict,
    fact_by_fact,
    requiring_quotes,
)


@dataclass(frozen=True)
class Panel:
    """Asks every judge about every target; the median of their labels decides.

    Labels are ordered: contradicted, not_supported, partial, supported. A target is found at the
    rank from which more than half of the judges find it. It is unscored where the median is open:
    the two in the middle differ, or judges without a valid verdict could move it.
    `Verdict.agreement` is the share of all judges that gave the label. The first judge splits
    texts.
    """

    judges: Sequence[Judge]

    def __post_init__(self) -> None:
        object.__setattr__(self, "judges", tuple(self.judges))
        if len(self.judges) < 2:  # noqa: PLR2004 - one needs no other
            raise ParameterError(f"a panel needs at least two judges, got {len(self.judges)}")

    @property
    def name(self) -> str:
        """The names of all judges, in their order."""
        return f"panel({', '.join(judge.name for judge in self.judges)})"

    def requiring_quotes(self) -> Self:
        """Return the same judges, asking once more for quotes where they can."""
        return type(self)([requiring_quotes(judge) for judge in self.judges])

    def split(
        self, text: str, *, kind: SplitKind, question: str | None = None
    ) -> Flow[Sequence[str]]:
        """Return what the first judge makes of the text: all judge the same targets."""
        return self.judges[0].split(text, kind=kind, question=question)

    def attribute(
        self,
        targets: Sequence[str],
        contexts: Sequence[str],
        *,
        question: str | None = None,
        relation: Relation = "claim",
    ) -> Flow[Sequence[Verdict]]:
        """Return the median verdict per target, in order; a compound claim fact by fact."""

        def judged(shown: Sequence[str]) -> Flow[Sequence[Verdict]]:
            return _medians(
                judge.attribute(shown, contexts, question=question, relation=relation)
                for judge in self.judges
            )

        return fact_by_fact(targets, judged) if relation == "claim" else judged(targets)

    def relevance(
        self, contexts: Sequence[str], *, question: str | None, reference: str | None
    ) -> Flow[Sequence[Verdict]]:
        """Return the median verdict per context, in order."""
        return _medians(
            judge.relevance(contexts, question=question, reference=reference)
            for judge in self.judges
        )


def _medians(flows: Iterable[Flow[Sequence[Verdict]]]) -> Flow[Sequence[Verdict]]:
    votes = yield from side_by_side(list(flows))
    return [median(verdicts) for verdicts in zip(*votes, strict=True)]


def median(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the verdict of a panel on one target; without a label where it has no majority."""
    ranks = [LABELS.index(verdict.label) for verdict in verdicts if verdict.label is not None]
    unknown = len(verdicts) - len(ranks)
    # Judges without a verdict might have said anything: a median counts if all lowest and all
    # highest answers of theirs leave it where it is.
    votes = [sorted([*ranks, *[guess] * unknown]) for guess in (0, len(LABELS) - 1)]
    half = len(verdicts) // 2
    # Of an even number two stand in the middle.
    middle = {rank for ordered in votes for rank in (ordered[half], ordered[-half - 1])}
    if len(middle) > 1 or not ranks:
        problems = "; ".join(sorted({verdict.problem for verdict in verdicts} - {""}))
        reason = f"the panel has no majority{': ' + problems if problems else ''}"
        most = Counter(ranks).most_common(1)[0][1] if ranks else 0
        return Verdict(None, problem=reason, agreement=most / len(verdicts))
    label = LABELS[middle.pop()]
    share = sum(verdict.label == label for verdict in verdicts) / len(verdicts)
    cited = [c for verdict in verdicts if verdict.label == label for c in verdict.citations]
    contested = next((verdict.contested for verdict in verdicts if verdict.contested), "")
    return Verdict(
        label,
        tuple(dict.fromkeys(cited)),
        agreement=share,
        votes=tuple(verdicts),
        contested=contested,
    )
