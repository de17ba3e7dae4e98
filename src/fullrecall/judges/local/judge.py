"""The built-in judge: no model to call, no key, no download, and the same answer every time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from fullrecall.errors import JudgeError, ParameterError
from fullrecall.judges.clauses import facts_of
from fullrecall.judges.judge import Citation, Flow, Kind, Relation, Verdict
from fullrecall.judges.local.support import (
    Support,
    judged,
    support_alone,
    support_together,
    weights,
)
from fullrecall.judges.sentences import sentences
from fullrecall.judges.words.languages import is_in_script_of, judged_language, name_of
from fullrecall.judges.words.tokens import read_words

MEASURED = ("en",)
"""The languages that the built-in judge was measured on."""


@dataclass(frozen=True)
class LexicalJudge:
    """Judges claims by their words: which of them, and which numbers and names, occur.

    Free and deterministic, and right less often than a large model: `agreement` is its balanced
    accuracy against human labels, measured as `bench/local_judge.py` does. A number
    that stands in no context, or a "not" on one side only, denies support by itself. Two contexts
    support a claim together where both name the same; what takes three is not found. It splits
    texts into the facts of their sentences, and it cannot tell whether a question is answered.

    `languages` are the ISO 639-1 codes of those that it judges: English, for it was measured on no
    other. A claim in another language, or one that only a context in another may support, is
    unscored. Measure it on your own texts (`fullrecall judge examine`) before you add to them.

    `rules` are the kinds of false claims that it has a rule of its own for.
    """

    threshold: float | None = None
    languages: tuple[str, ...] = MEASURED

    rules: ClassVar[frozenset[str]] = frozenset(
        "number unit scale month negation report myth language".split()
    )

    def __post_init__(self) -> None:
        if self.threshold is not None and not 0 < self.threshold <= 1:
            raise ParameterError(f"threshold must be above 0 and at most 1, got {self.threshold!r}")
        languages: object = self.languages
        if isinstance(languages, str) or not languages:
            raise ParameterError(
                f"languages must be ISO 639-1 codes, got {self.languages!r}: pass ('en', 'de')"
            )
        object.__setattr__(self, "languages", tuple(self.languages))

    @property
    def name(self) -> str:
        """The judge and its threshold."""
        added = "" if self.languages == MEASURED else f":{'+'.join(self.languages)}"
        return f"lexical:{self._least}{added}"

    @property
    def agreement(self) -> float:
        """Balanced accuracy against human labels: mean over data sets that it was not tuned on."""
        return float(weights()["agreement"]["mean"]["balanced_accuracy"])

    @property
    def _least(self) -> float:
        return float(weights()["threshold"]) if self.threshold is None else self.threshold

    def __repr__(self) -> str:
        return (
            f"LexicalJudge(threshold={self._least:.3f}, agreement with humans={self.agreement:.2f})"
        )

    def split(
        self,
        text: str,
        *,
        kind: Kind,
        question: str | None = None,  # noqa: ARG002 - the protocol's
    ) -> Flow[Sequence[str]]:
        """Return the facts of the text, sentence by sentence; raises `JudgeError` for entities."""
        yield from ()
        if kind == "entities":
            raise JudgeError(
                "the built-in judge lists no entities: EntityRecall() without a judge finds them "
                "by rule, and a sample's reference_entities come first"
            )
        return facts_of(text) if kind == "claims" else sentences(text)

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
                "the built-in judge cannot decide whether a question is answered: "
                "pass judge=LLMJudge(…)"
            )
        return [self._verdict(target, contexts, question) for target in targets]

    def relevance(
        self, contexts: Sequence[str], *, question: str | None, reference: str | None
    ) -> Flow[Sequence[Verdict]]:
        """Return one verdict per context: it helps if it supports a sentence of the reference."""
        del question
        yield from ()
        if reference is None:
            raise JudgeError(
                "the built-in judge cannot decide what helps to answer a question without a "
                "reference answer: pass judge=LLMJudge(…)"
            )
        best = [Support(0.0)] * len(contexts)
        for sentence in sentences(reference):
            language = judged_language(sentence, [*contexts, reference])
            if language not in self.languages:
                problem = self._unmeasured(f"the reference is {name_of(language)}")
                return [Verdict(None, problem=problem)] * len(contexts)
            supports = support_alone(sentence, contexts)
            best = [max(pair, key=lambda support: support.probability)
                    for pair in zip(best, supports, strict=True)]  # fmt: skip
        return [
            self._helps(reference, contexts, index, support) for index, support in enumerate(best)
        ]

    def support(
        self, targets: Sequence[str], contexts: Sequence[str], *, question: str | None = None
    ) -> Flow[Sequence[float]]:
        """Return how far each claim is supported, in [0, 1]: what `threshold` is compared with."""
        del question
        yield from ()
        return [self._support(target, contexts) for target in targets]

    def _support(self, claim: str, contexts: Sequence[str]) -> float:
        alone, together = judged(claim, contexts, threshold=self._least)
        shown = [contexts[index] for index in together]
        jointly = support_together(claim, shown).probability
        return max([jointly, *(support.probability for support in alone)])

    def _helps(
        self, reference: str, contexts: Sequence[str], index: int, support: Support
    ) -> Verdict:
        language = judged_language(contexts[index], [reference])
        if language not in self.languages and _may_tell(reference, contexts[index]):
            return Verdict(None, problem=self._unmeasured(f"a context is {name_of(language)}"))
        if support.probability < self._least:
            return Verdict("not_supported")
        return Verdict("supported", (_citation(support, index, contexts),))

    def _verdict(self, claim: str, contexts: Sequence[str], question: str | None) -> Verdict:
        language = judged_language(claim, [*contexts, question or ""])
        if language not in self.languages:
            return Verdict(None, problem=self._unmeasured(f"this claim is {name_of(language)}"))
        spoken = [judged_language(text, [claim], language) for text in contexts]
        read = [index for index, other in enumerate(spoken) if other in self.languages]
        verdict = self._judged(claim, read, contexts)
        foreign = {
            other
            for text, other in zip(contexts, spoken, strict=True)
            if other not in self.languages and _may_tell(claim, text)
        }
        if verdict.label == "supported" or not foreign:
            return verdict
        named = ", ".join(map(name_of, sorted(foreign)))
        return Verdict(None, problem=self._unmeasured(f"a context is {named}"))

    def _judged(self, claim: str, read: Sequence[int], contexts: Sequence[str]) -> Verdict:
        texts = [contexts[index] for index in read]
        alone, together = judged(claim, texts, threshold=self._least)
        needed = together or [
            number for number, support in enumerate(alone) if support.probability >= self._least
        ]
        if not needed:
            return Verdict("not_supported")
        cited = tuple(_citation(alone[number], read[number], contexts) for number in needed)
        return Verdict("supported", cited, together=bool(together))

    def _unmeasured(self, reason: str) -> str:
        measured = ", ".join(map(name_of, self.languages))
        return f"the built-in judge is measured on {measured} only, and {reason}: pass judge=…"


def _citation(support: Support, index: int, contexts: Sequence[str]) -> Citation:
    return Citation(index, contexts[index][support.start or 0 : support.end or 0])


def _may_tell(claim: str, context: str) -> bool:
    """Whether a context in another language may speak of what the claim does.

    In the same script, a claim's names and numbers are written alike: one that has none of them
    is about something else.
    """
    keys = {word.key for word in read_words(claim) if word.is_number or word.is_capitalised}
    if not keys or not is_in_script_of(claim, context):
        return True
    return not keys.isdisjoint(word.key for word in read_words(context))
