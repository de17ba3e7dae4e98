"""Several judges, one verdict: the majority's, with their agreement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from fullrecall.errors import ParameterError
from fullrecall.judges.flow import side_by_side
from fullrecall.judges.protocols import Flow, Judge, Kind, Relation, Verdict


@dataclass(frozen=True)
class Panel:
    """Asks every judge about every target; the label that more than half of them give decides.

    Without such a majority the target is unscored. `Verdict.agreement` is the majority's share
    of all judges, those that gave no valid verdict included. The first judge splits texts.
    """

    judges: Sequence[Judge]

    def __post_init__(self) -> None:
        object.__setattr__(self, "judges", tuple(self.judges))
        if len(self.judges) < 2:  # noqa: PLR2004 - one is no panel
            raise ParameterError(f"a panel has two judges or more, got {len(self.judges)}")

    @property
    def name(self) -> str:
        """The names of all judges."""
        return f"panel({', '.join(judge.name for judge in self.judges)})"

    def split(self, text: str, *, kind: Kind) -> Flow[Sequence[str]]:
        """Return what the first judge makes of the text: all judge the same targets."""
        return self.judges[0].split(text, kind=kind)

    def attribute(
        self,
        targets: Sequence[str],
        contexts: Sequence[str],
        *,
        question: str | None = None,
        relation: Relation = "claim",
    ) -> Flow[Sequence[Verdict]]:
        """Return the majority's verdict per target, in order."""
        votes = yield from side_by_side(
            [
                judge.attribute(targets, contexts, question=question, relation=relation)
                for judge in self.judges
            ]
        )
        return [_majority(verdicts) for verdicts in zip(*votes, strict=True)]

    def relevance(
        self, contexts: Sequence[str], *, question: str | None, reference: str | None
    ) -> Flow[Sequence[Verdict]]:
        """Return the majority's verdict per context, in order."""
        votes = yield from side_by_side(
            [
                judge.relevance(contexts, question=question, reference=reference)
                for judge in self.judges
            ]
        )
        return [_majority(verdicts) for verdicts in zip(*votes, strict=True)]


def _majority(verdicts: Sequence[Verdict]) -> Verdict:
    label, count = Counter(verdict.label for verdict in verdicts).most_common(1)[0]
    share = count / len(verdicts)
    if label is None or 2 * count <= len(verdicts):
        problems = "; ".join(sorted({verdict.problem for verdict in verdicts} - {""}))
        reason = f"the panel has no majority{': ' + problems if problems else ''}"
        return Verdict(None, problem=reason, agreement=share)
    chosen, *agreeing = (verdict for verdict in verdicts if verdict.label == label)
    others = (part for verdict in agreeing for part in (verdict, *verdict.others))
    return replace(chosen, agreement=share, others=(*chosen.others, *others))
