"""Combine several judges: the median of a panel, or a second judge if the first is unsure."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self, TypeAlias

from fullrecall._util.parameters import check_share
from fullrecall._util.values import shown
from fullrecall.errors import JudgeError, ParameterError
from fullrecall.judge.flow import side_by_side
from fullrecall.judge.judge import LABELS, FactByFact, Flow, Judge, JudgeRequest, SplitKind, Verdict

_Asking: TypeAlias = Callable[[Judge, Sequence[int]], Flow[Sequence[Verdict]]]
"""Asks one judge about some of the targets, or some of the contexts, by 0-based number."""


class _Several(FactByFact):
    """A judge that combines several judges; subclasses decide how."""

    @property
    @abstractmethod
    def _members(self) -> Sequence[Judge]:
        """The combined judges, in their order."""

    @abstractmethod
    def _decided(self, ask: _Asking, numbers: Sequence[int]) -> Flow[Sequence[Verdict]]:
        """Return the combined verdict on each of these targets or contexts, by 0-based number."""

    @property
    def quotes_by_rules(self) -> bool:
        """Whether rules alone decide if a quote is verified."""
        return all(getattr(judge, "quotes_by_rules", False) for judge in self._members)

    def split(
        self, text: str, *, kind: SplitKind, question: str | None = None
    ) -> Flow[Sequence[str]]:
        """Return the parts from the first judge, so that all judges judge the same targets."""
        return self._members[0].split(text, kind=kind, question=question)

    def _judged(self, asked: JudgeRequest) -> Flow[Sequence[Verdict]]:
        targets, contexts, question, relation = asked

        def ask(judge: Judge, numbers: Sequence[int]) -> Flow[Sequence[Verdict]]:
            shown = [targets[number] for number in numbers]
            return judge.attribute(shown, contexts, question=question, relation=relation)

        return self._decided(ask, range(len(targets)))

    def relevance(
        self, contexts: Sequence[str], *, question: str | None, reference: str | None
    ) -> Flow[Sequence[Verdict]]:
        """Return one verdict per context, in order."""

        def ask(judge: Judge, numbers: Sequence[int]) -> Flow[Sequence[Verdict]]:
            shown = [contexts[number] for number in numbers]
            verdicts = yield from judge.relevance(shown, question=question, reference=reference)
            # Renumber the citations: the judge may have been shown only some of the contexts.
            return [_at(verdict, n) for verdict, n in zip(verdicts, numbers, strict=True)]

        return self._decided(ask, range(len(contexts)))


def _at(verdict: Verdict, place: int) -> Verdict:
    """Return a verdict on one context, with its citations renumbered to that context."""
    return replace(
        verdict,
        citations=tuple(citation._replace(context=place) for citation in verdict.citations),
        others=tuple(_at(other, place) for other in verdict.others),
    )


@dataclass(frozen=True)
class Panel(_Several):
    """Asks every judge about every target; the median of their labels decides.

    Labels are ordered: contradicted, not_supported, partial, supported. A target is found at the
    rank from which more than half of the judges find it. A target is unscored if the median is
    undecided: either the two middle labels differ, or judges without a valid verdict could change
    the median. `Verdict.agreement` is the share of all judges that gave the label. The first judge
    splits texts.
    """

    judges: Sequence[Judge]

    def __post_init__(self) -> None:
        object.__setattr__(self, "judges", tuple(self.judges))
        if len(self.judges) < 2:  # noqa: PLR2004 - the message names it
            raise ParameterError(f"a panel needs at least two judges, got {len(self.judges)}")

    @property
    def name(self) -> str:
        """The names of all judges, in their order."""
        return f"panel({', '.join(judge.name for judge in self.judges)})"

    @property
    def _members(self) -> Sequence[Judge]:
        return self.judges

    def requiring_quotes(self) -> Self:
        """Return a panel whose judges ask again for unverified quotes, if they can."""
        return type(self)([requiring_quotes(judge) for judge in self.judges])

    def _decided(self, ask: _Asking, numbers: Sequence[int]) -> Flow[Sequence[Verdict]]:
        votes = yield from side_by_side([ask(judge, numbers) for judge in self.judges])
        return [median(verdicts) for verdicts in zip(*votes, strict=True)]


def median(verdicts: Sequence[Verdict]) -> Verdict:
    """Return a panel's verdict on one target: the median label, None if that is undecided."""
    ranks = [LABELS.index(verdict.label) for verdict in verdicts if verdict.label is not None]
    unknown = len(verdicts) - len(ranks)
    # Judges without a verdict could have given any label. The median counts only if it is the same
    # whether all of them give the lowest label or the highest.
    votes = [sorted([*ranks, *[guess] * unknown]) for guess in (0, len(LABELS) - 1)]
    half = len(verdicts) // 2
    # An even number of votes has two middle ones.
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


@dataclass(frozen=True)
class Cascade(_Several):
    """Asks `first` about every target, and `second` where the first is unsure.

    The first judge is unsure if its `support` is within `unsure`, both ends included, or if it
    gives no verdict, as for a claim in another language. `first` must give `support`, as
    `LexicalJudge` and `CrossEncoderJudge` do; they cannot judge questions, so all questions go to
    the second judge. The first judge splits texts.

    `Verdict.referred` marks the targets that the second judge decided; their `support` is the first
    judge's. A summary counts these targets and their cost.
    """

    first: Judge
    second: Judge
    unsure: tuple[float, float] = (0.3, 0.65)

    def __post_init__(self) -> None:
        is_pair = isinstance(self.unsure, Sequence) and len(self.unsure) == 2  # noqa: PLR2004
        low, high = self.unsure if is_pair else (1.0, 0.0)
        if check_share(low, "unsure") > check_share(high, "unsure"):
            raise ParameterError(
                f"must be (low, high) within [0, 1], got {shown(self.unsure)}", "unsure"
            )

    @property
    def name(self) -> str:
        """The names of both judges, and the range of `support` in which the second one decides."""
        low, high = self.unsure
        return f"cascade({self.first.name}, {self.second.name}, {low:g}-{high:g})"

    @property
    def _members(self) -> Sequence[Judge]:
        return self.first, self.second

    def requiring_quotes(self) -> Self:
        """Return a cascade whose judges ask again for unverified quotes, if they can."""
        first, second = map(requiring_quotes, self._members)
        return replace(self, first=first, second=second)

    def _decided(self, ask: _Asking, numbers: Sequence[int]) -> Flow[Sequence[Verdict]]:
        """Return the first judge's verdicts, and the second judge's where the first is unsure."""
        try:
            verdicts = list((yield from ask(self.first, numbers)))
        except JudgeError:
            verdicts = [Verdict(None)] * len(numbers)
        low, high = self.unsure
        unsure = [
            number
            for number, verdict in enumerate(verdicts)
            if verdict.label is None
            or (verdict.support is not None and low <= verdict.support <= high)
        ]
        if unsure:
            asked = yield from ask(self.second, unsure)
            for number, verdict in zip(unsure, asked, strict=True):
                verdicts[number] = replace(verdict, support=verdicts[number].support, referred=True)
        return verdicts


def requiring_quotes(judge: Judge) -> Judge:
    """Return a judge that asks once more for unverified quotes, if `judge` has that option."""
    stricter: Judge = getattr(judge, "requiring_quotes", lambda: judge)()
    return stricter
