"""The built-in judges: no model to call, no key, no download, and the same answer every time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, ClassVar

from fullrecall.errors import JudgeError, ParameterError
from fullrecall.judges.clauses import facts_of
from fullrecall.judges.judge import Citation, Flow, Kind, Relation, Verdict
from fullrecall.judges.sentences import sentences
from fullrecall.judges.words.languages import (
    UNDETERMINED,
    language_among,
    name_of,
    reads_as_english,
)
from fullrecall.judges.words.tokens import read_words

if TYPE_CHECKING:
    from fullrecall.judges.lexical.regression import LexicalModel, Support


MEASURED = ("en",)
"""The languages that the built-in judges were measured on."""


@cache
def _model(tier: str) -> LexicalModel:
    """Return the one model of a tier: what it has read of a context serves every judge."""
    from fullrecall.judges.lexical.regression import EmbeddedModel, LexicalModel

    return EmbeddedModel() if tier == "embedded" else LexicalModel()


@dataclass(frozen=True)
class LexicalJudge:
    """Judges claims by their words: which of them, and which numbers and names, occur.

    Free and deterministic, and right less often than a large model: `agreement` is its balanced
    accuracy against human labels, measured as `tests/benchmarks/embedded_judge.py` does. A number
    or a name that stands in no context, a "not" that its context lacks, or two names exchanged
    deny support by themselves. Two contexts support a claim together where both name the same;
    what takes three is not found. It splits texts into the facts of their sentences, and it cannot
    tell whether a question is answered.

    `languages` are the ISO 639-1 codes of those that it judges: English, for it was measured on no
    other. A claim in another language, or one that only a context in another may support, is
    unscored; so is one with too few English words to be told. Measure it on your own texts
    (`fullrecall judge`) before you add to them.
    """

    threshold: float | None = None
    languages: tuple[str, ...] = MEASURED

    tier: ClassVar[str] = "lexical"

    def __post_init__(self) -> None:
        if self.threshold is not None and not 0 < self.threshold <= 1:
            raise ParameterError(f"threshold must be above 0 and at most 1, got {self.threshold!r}")
        languages: object = self.languages
        if isinstance(languages, str) or not languages:
            raise ParameterError(
                f"languages must be ISO 639-1 codes, got {self.languages!r}: pass ('en', 'de')"
            )
        object.__setattr__(self, "languages", tuple(self.languages))
        _model(self.tier)

    @property
    def name(self) -> str:
        """The judge and its threshold."""
        told = "" if self.languages == MEASURED else f":{'+'.join(self.languages)}"
        return f"{self.tier}:{self._least}{told}"

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
        yield from ()
        if reference is None:
            raise JudgeError(
                "the built-in judge cannot decide what helps to answer a question without a "
                "reference answer: pass judge=LLMJudge(…)"
            )
        verdicts = [Verdict("not_supported")] * len(contexts)
        best: dict[int, Support] = {}
        for sentence in sentences(reference):
            language = _language(sentence, [*contexts, reference])
            if language not in self.languages:
                problem = self._unmeasured(f"the reference is {name_of(language)}")
                return [Verdict(None, problem=problem)] * len(contexts)
            found = _model(self.tier).support(sentence, contexts, question=question)
            for index, support in enumerate(found):
                if index not in best or support.probability > best[index].probability:
                    best[index] = support
        for index, support in best.items():
            told = _language(contexts[index], [reference])
            if told not in self.languages and _may_tell(reference, contexts[index]):
                problem = self._unmeasured(f"a context is {name_of(told)}")
                verdicts[index] = Verdict(None, problem=problem)
            elif support.probability >= self._least:
                cited = (self._citation(support, index, contexts),)
                verdicts[index] = Verdict("supported", cited)
        return verdicts

    def _verdict(self, claim: str, contexts: Sequence[str], question: str | None) -> Verdict:
        around = [*contexts, question or ""]
        language = _language(claim, around)
        if language not in self.languages:
            return Verdict(None, problem=self._unmeasured(f"this claim is {name_of(language)}"))
        told = {index: _language(text, [claim], language) for index, text in enumerate(contexts)}
        read = [index for index, other in told.items() if other in self.languages]
        verdict = self._judged(claim, read, contexts, question)
        foreign = sorted(
            {told[index] for index in told.keys() - set(read) if _may_tell(claim, contexts[index])}
        )
        if verdict.label == "supported" or not foreign:
            return verdict
        named = ", ".join(map(name_of, foreign))
        return Verdict(None, problem=self._unmeasured(f"a context is {named}"))

    def support(
        self, targets: Sequence[str], contexts: Sequence[str], *, question: str | None = None
    ) -> Flow[Sequence[float]]:
        """Return how far each claim is supported, in [0, 1]: what `threshold` is compared with."""
        yield from ()
        return [self._support(target, contexts, question) for target in targets]

    def _support(self, claim: str, contexts: Sequence[str], question: str | None) -> float:
        model = _model(self.tier)
        alone, together = model.judge(claim, contexts, question=question, least=self._least)
        shown = [contexts[index] for index in together]
        jointly = model.support_together(claim, shown, question=question).probability
        return max([jointly, *(support.probability for support in alone)])

    def _unmeasured(self, found: str) -> str:
        measured = ", ".join(map(name_of, self.languages))
        return f"the built-in judge is measured on {measured} only, and {found}: pass judge=…"

    def _judged(
        self, claim: str, read: Sequence[int], contexts: Sequence[str], question: str | None
    ) -> Verdict:
        texts = [contexts[index] for index in read]
        alone, together = _model(self.tier).judge(
            claim, texts, question=question, least=self._least
        )
        needed = together or [
            number for number, one in enumerate(alone) if one.probability >= self._least
        ]
        if not needed:
            return Verdict("not_supported")
        cited = tuple(self._citation(alone[n], read[n], contexts) for n in needed)
        return Verdict("supported", cited, together=bool(together))

    def _citation(self, support: Support, index: int, contexts: Sequence[str]) -> Citation:
        return Citation(index, contexts[index][support.start or 0 : support.end or 0])


@dataclass(frozen=True, repr=False)
class EmbeddedJudge(LexicalJudge):
    """`LexicalJudge` with static word embeddings beside the words: paraphrases count for more.

    The embeddings ship inside the package that the extra `embedded` installs; nothing is
    downloaded. Raises `MissingExtraError` without it.
    """

    tier: ClassVar[str] = "embedded"


def _language(text: str, around: Sequence[str], default: str = "en") -> str:
    """Return the language of a text, by the texts around it where it says too little.

    What is told as English, or not at all, must also read as English.
    """
    told = language_among(text, around) or default
    return UNDETERMINED if told == "en" and not reads_as_english(text, around) else told


def _may_tell(claim: str, context: str) -> bool:
    """Whether a context in another language may speak of what the claim does.

    In the same script, a claim's names and numbers are written alike: one that has none of them
    is about something else.
    """
    keys = {word.key for word in read_words(claim) if word.is_number or word.is_capitalised}
    if not keys or (not context.isascii() and claim.isascii() and not _is_latin(context)):
        return True
    return not keys.isdisjoint(word.key for word in read_words(context))


def _is_latin(text: str) -> bool:
    letters = [c for c in text if c.isalpha()]
    return 2 * sum(c < "\u0250" for c in letters) > len(letters)
