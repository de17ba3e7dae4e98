"""The built-in judge: no model to call, no key, no download, and the same answer every time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from fullrecall.errors import ParameterError
from fullrecall.judges.claim_judge import ClaimJudge, Judged, helping
from fullrecall.judges.judge import Flow, Verdict
from fullrecall.judges.local.support import alone, judged, weights
from fullrecall.judges.sentences import sentences
from fullrecall.judges.words.languages import is_in_latin, judged_language, name_of
from fullrecall.judges.words.tokens import read_words

MEASURED = ("en",)
"""The languages that the built-in judge was measured on."""


@dataclass(frozen=True)
class LexicalJudge(ClaimJudge):
    """Judges claims by their words: which of them, and which numbers and names, occur.

    Free and deterministic, and right less often than a large model: `agreement` is its balanced
    accuracy against human labels, measured as `bench/local_judge.py` does. A number
    that stands in no context, or a "not" on one side only, denies support by itself. Two contexts
    support a claim together where both name the same; what takes three is not found. It splits
    texts into the facts of their sentences, and it cannot tell whether a question is answered.

    `languages` are the ISO 639-1 codes of those that it judges: English, for it was measured on no
    other. A claim in another language, or one that only a context in another may support, is
    unscored. Measure it on your own texts before you add to them, by
    `fullrecall.evaluation.examination.examine`.

    `rules` are the kinds of false claims that it has a rule of its own for.
    """

    threshold: float | None = None
    languages: tuple[str, ...] = MEASURED

    called: ClassVar[str] = "the built-in judge"
    rules: ClassVar[frozenset[str]] = frozenset(
        "number unit scale month negation frequency report myth language".split()
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

    def _judged(self, targets: Sequence[str], contexts: Sequence[str]) -> Flow[Sequence[Judged]]:
        yield from ()
        return [judged(target, contexts, threshold=self._least) for target in targets]

    def _attributed(
        self, targets: Sequence[str], contexts: Sequence[str], question: str | None
    ) -> Flow[Sequence[Verdict]]:
        yield from ()
        return [self._verdict(target, contexts, question) for target in targets]

    def _verdict(self, claim: str, contexts: Sequence[str], question: str | None) -> Verdict:
        language = judged_language(claim, [*contexts, question or ""])
        if language not in self.languages:
            return self._unmeasured(f"this claim is {name_of(language)}")
        spoken = [judged_language(text, [claim], language) for text in contexts]
        read = [
            text if other in self.languages else ""
            for text, other in zip(contexts, spoken, strict=True)
        ]
        verdict = judged(claim, read, threshold=self._least).verdict(self._least)
        foreign = {
            other
            for text, other in zip(contexts, spoken, strict=True)
            if other not in self.languages and _may_tell(claim, text)
        }
        if verdict.label == "supported" or not foreign:
            return verdict
        named = ", ".join(map(name_of, sorted(foreign)))
        return self._unmeasured(f"a context is {named}")

    def _relevant(self, contexts: Sequence[str], reference: str) -> Flow[Sequence[Verdict]]:
        yield from ()
        facts = []
        for sentence in sentences(reference):
            language = judged_language(sentence, [*contexts, reference])
            if language not in self.languages:
                return [self._unmeasured(f"the reference is {name_of(language)}")] * len(contexts)
            facts.append(alone(sentence, contexts))
        verdicts = helping(facts, len(contexts), self._least)
        for index, context in enumerate(contexts):
            language = judged_language(context, [reference])
            if language not in self.languages and _may_tell(reference, context):
                verdicts[index] = self._unmeasured(f"a context is {name_of(language)}")
        return verdicts

    def _unmeasured(self, reason: str) -> Verdict:
        measured = ", ".join(map(name_of, self.languages))
        problem = f"the built-in judge is measured on {measured} only, and {reason}: pass judge=…"
        return Verdict(None, problem=problem)


def _may_tell(claim: str, context: str) -> bool:
    """Whether a context in another language may speak of what the claim does.

    In the same script, a claim's names and numbers are written alike: one that has none of them
    is about something else.
    """
    keys = {word.key for word in read_words(claim) if word.is_number or word.is_capitalised}
    if not keys or is_in_latin(claim) != is_in_latin(context):
        return True
    return not keys.isdisjoint(word.key for word in read_words(context))
