"""The built-in judges: no model to call, no key, no download, and the same answer every time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, ClassVar

from fullrecall.errors import JudgeError, ParameterError
from fullrecall.judges.protocols import Citation, Flow, Kind, Relation, Verdict
from fullrecall.judges.sentences import sentences

if TYPE_CHECKING:
    from fullrecall.judges.embedded import LexicalModel, Support


@cache
def _model(tier: str) -> LexicalModel:
    """Return the one model of a tier: what it has read of a context serves every judge."""
    from fullrecall.judges.embedded import EmbeddedModel, LexicalModel

    return EmbeddedModel() if tier == "embedded" else LexicalModel()


@dataclass(frozen=True)
class LexicalJudge:
    """Judges claims by their words: which of them, and which numbers and names, occur.

    Free and deterministic, and right less often than a large model: `agreement` is its balanced
    accuracy against human labels, measured as `tests/benchmarks/embedded_judge.py` does. A claim
    that differs from its context in one detail is its hard case, and a negation hardly moves it:
    "is not open" supports "is open". It splits texts into sentences, and it cannot tell whether a
    question is answered.
    """

    threshold: float | None = None

    tier: ClassVar[str] = "lexical"

    def __post_init__(self) -> None:
        if self.threshold is not None and not 0 < self.threshold <= 1:
            raise ParameterError(f"threshold is above 0 and at most 1, got {self.threshold!r}")
        _model(self.tier)

    @property
    def name(self) -> str:
        """The judge and its threshold."""
        return f"{self.tier}:{self._least}"

    @property
    def agreement(self) -> float:
        """Balanced accuracy against human labels: mean over data sets that it was not tuned on."""
        return float(_model(self.tier).AGREEMENT["mean"]["balanced_accuracy"])

    @property
    def _least(self) -> float:
        return _model(self.tier).threshold if self.threshold is None else self.threshold

    def __repr__(self) -> str:
        kind = type(self).__name__
        return f"{kind}(threshold={self._least:.3f}, agreement with humans={self.agreement:.2f})"

    def split(self, text: str, *, kind: Kind, question: str | None = None) -> Flow[Sequence[str]]:
        """Return the sentences of the text; raises `JudgeError` for entities."""
        yield from ()
        if kind == "entities":
            raise JudgeError(
                "the built-in judge lists no entities: EntityRecall() without a judge finds them "
                "by rule, and a sample's reference_entities come first"
            )
        return sentences(text)

    def attribute(
        self,
        targets: Sequence[str],
        contexts: Sequence[str],
        *,
        question: str | None = None,
        relation: Relation = "claim",
    ) -> Flow[Sequence[Verdict]]:
        """Return one verdict per claim, in order; raises `JudgeError` for questions."""
        yield from ()
        if relation == "question":
            raise JudgeError(
                "the built-in judge cannot tell whether a question is answered: "
                "give judge=LLMJudge(…)"
            )
        return [self._verdict(target, contexts, question) for target in targets]

    def relevance(
        self, contexts: Sequence[str], *, question: str | None, reference: str | None
    ) -> Flow[Sequence[Verdict]]:
        """Return one verdict per context: it helps if it supports a sentence of the reference."""
        yield from ()
        if reference is None:
            raise JudgeError(
                "the built-in judge cannot tell what helps to answer a question without a "
                "reference answer: give judge=LLMJudge(…)"
            )
        best: list[Support | None] = [None] * len(contexts)
        for sentence in sentences(reference):
            found = _model(self.tier).support(sentence, contexts, question=question)
            best = [
                new if old is None or new.probability > old.probability else old
                for old, new in zip(best, found, strict=True)
            ]
        return [
            Verdict("supported", (self._citation(support, index, contexts),))
            if support is not None and support.probability >= self._least
            else Verdict("not_supported")
            for index, support in enumerate(best)
        ]

    def _verdict(self, claim: str, contexts: Sequence[str], question: str | None) -> Verdict:
        alone = _model(self.tier).support(claim, contexts, question=question)
        enough = [
            self._citation(support, index, contexts)
            for index, support in enumerate(alone)
            if support.probability >= self._least
        ]
        if enough:
            return Verdict("supported", tuple(enough))
        needed = self._needed_together(claim, contexts, question)
        if needed is None:
            return Verdict("not_supported")
        *earlier, last = range(needed)
        best = max(earlier, key=lambda index: alone[index].probability)
        cited = tuple(self._citation(alone[index], index, contexts) for index in (best, last))
        return Verdict("supported", cited, together=True)

    def _needed_together(
        self, claim: str, contexts: Sequence[str], question: str | None
    ) -> int | None:
        """Return how many contexts, from the first, support the claim together; None if none do."""

        def enough(count: int) -> bool:
            together = _model(self.tier).support_together(
                claim, contexts[:count], question=question
            )
            return together.probability >= self._least

        # From the first: more contexts may dilute what fewer show, and recall never falls with k.
        return next((count for count in range(2, len(contexts) + 1) if enough(count)), None)

    def _citation(self, support: Support, index: int, contexts: Sequence[str]) -> Citation:
        return Citation(index, contexts[index][support.start or 0 : support.end or 0])


@dataclass(frozen=True, repr=False)
class EmbeddedJudge(LexicalJudge):
    """`LexicalJudge` with static word embeddings beside the words: paraphrases count for more.

    The embeddings ship inside the package that the extra `embedded` installs; nothing is
    downloaded. Raises `MissingExtraError` without it.
    """

    tier: ClassVar[str] = "embedded"
