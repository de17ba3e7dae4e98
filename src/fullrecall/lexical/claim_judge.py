"""The base of judges without a language model, which judge claims but not questions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import ClassVar, NamedTuple

from fullrecall._util.parameters import check_share
from fullrecall.errors import JudgeError, ParameterError
from fullrecall.judge.judge import Citation, FactByFact, Flow, JudgeRequest, SplitKind, Verdict
from fullrecall.lexical.clauses import facts_of, resolved
from fullrecall.lexical.sentences import sentences, statements


class Best(NamedTuple):
    """The part of a context that supports a claim most: its support in [0, 1], and its words."""

    support: float = 0.0
    quote: str = ""


class Judged(NamedTuple):
    """The results of judging a claim by each context alone, and by a pair of contexts together.

    `alone` has the best part of each context. `pair` has the ascending indices of two contexts, and
    `together` their joint support; they are () and 0.0 without a pair that supports the claim.
    """

    alone: Sequence[Best]
    pair: tuple[int, ...] = ()
    together: float = 0.0

    def verdict(self, threshold: float) -> Verdict:
        """Return a verdict that cites each context whose support reaches `threshold`.

        If no single context reaches it, but the two contexts of `pair` do together, the verdict
        cites both.
        """

        def cited(indices: Iterable[int]) -> tuple[Citation, ...]:
            return tuple(Citation(index, self.alone[index].quote) for index in indices)

        # Cite all of these contexts, not only the best one: measures use the rank of each.
        enough = [index for index, best in enumerate(self.alone) if best.support >= threshold]
        support = max((best.support for best in self.alone), default=0.0)
        if enough:
            return Verdict("supported", cited(enough), support=support)
        if self.together >= threshold:
            return Verdict("supported", cited(self.pair), together=True, support=self.together)
        return Verdict("not_supported", support=support)


def _order(verdict: Verdict) -> tuple[int, float]:
    """Return a sort key by label (supported, none, not supported), then by descending support."""
    return ("supported", None, "not_supported").index(verdict.label), -(verdict.support or 0.0)


class ClaimJudge(FactByFact):
    """Base of the judges that judge claims, but cannot judge questions.

    It splits texts by rules, without a model. Subclasses judge the claims; `called` is their name
    in messages.
    """

    called: ClassVar[str]
    threshold: float

    def __post_init__(self) -> None:
        if not check_share(self.threshold, "threshold"):
            raise ParameterError("must be above 0, got 0: every claim would count", "threshold")

    @abstractmethod
    def _attributed(self, asked: JudgeRequest) -> Flow[Sequence[Verdict]]:
        """Return one verdict per claim, in order."""

    def split(
        self,
        text: str,
        *,
        kind: SplitKind,
        question: str | None = None,  # noqa: ARG002 - the protocol's
    ) -> Flow[Sequence[str]]:
        """Return the facts of a text of claims, or the sentences of a text of questions."""
        yield from ()
        return facts_of(text) if kind == "claims" else sentences(text)

    def _judged(self, asked: JudgeRequest) -> Flow[Sequence[Verdict]]:
        """Return one verdict per claim, in order; raises `JudgeError` for questions."""
        if asked.relation == "question":
            raise JudgeError(
                f"{self.called} cannot decide whether a question is answered: "
                "pass judge=LLMJudge(…) or --judge openai:MODEL"
            )
        return self._attributed(asked._replace(targets=resolved(asked.targets)))

    def relevance(
        self, contexts: Sequence[str], *, question: str | None, reference: str | None
    ) -> Flow[Sequence[Verdict]]:
        """Return one verdict per context.

        A context is relevant if it supports a statement of the reference. Raises `JudgeError`
        without a reference.
        """
        del question
        if reference is None:
            raise JudgeError(
                f"{self.called} cannot decide what helps to answer a question without a "
                "reference answer: pass judge=LLMJudge(…) or --judge openai:MODEL"
            )
        facts = statements(reference)
        verdicts = []
        for index, context in enumerate(contexts):
            judged = yield from self._attributed(JudgeRequest(facts, [context], reference))
            first = min(judged, key=_order, default=Verdict("not_supported"))
            cited = tuple(Citation(index, each.quote) for each in first.citations)
            verdicts.append(replace(first, citations=cited))
        return verdicts
