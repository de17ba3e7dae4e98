"""The built-in judge: no model, no key, no download, and the same answer every time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from fullrecall._util.pieces import paused
from fullrecall.judge.judge import Flow, JudgeRequest, Verdict
from fullrecall.lexical.claim_judge import ClaimJudge
from fullrecall.lexical.sentences import MOST_CHARACTERS
from fullrecall.lexical.support import judged
from fullrecall.lexical.words.languages import is_in_latin, judged_language, name_of
from fullrecall.lexical.words.names import names
from fullrecall.lexical.words.tokens import read_words

_LONGEST_CLAIM = 20_000  # characters


@dataclass(frozen=True)
class LexicalJudge(ClaimJudge):
    """Judges claims by the words, numbers and names of a claim that occur in the contexts.

    It is free and deterministic, and less accurate than a large model: `weights.json` has its
    balanced accuracy against human labels, as measured by `bench/local_judge.py`. A claim is not
    supported if it has a number that no context has, or if only the claim or only the context has a
    "not". Two contexts support a claim together if both name the same thing; claims that need three
    contexts are not supported.
    The judge splits texts into the facts of their sentences, and cannot decide whether a question
    is answered.

    It judges only English, because it was not measured on other languages. A claim in another
    language, or one that only a context in another language may support, gets no verdict.

    `threshold` is the lowest support of a supported claim, in (0, 1]. `rules` names the kinds of
    false claims for which the judge has a rule (see `fullrecall.lexical.falsified`).
    """

    threshold: float = 0.5

    called: ClassVar[str] = "the built-in judge"
    rules: ClassVar[frozenset[str]] = frozenset(
        "number unit scale month negation opposite quantity frequency report myth".split()
    )

    quotes_by_rules: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """The judge and its threshold."""
        return f"lexical:{self.threshold}"

    def _attributed(self, asked: JudgeRequest) -> Flow[Sequence[Verdict]]:
        yield from ()
        around = [asked.question or ""]
        return [self._verdict(claim, asked.contexts, around) for claim in paused(asked.targets, 1)]

    def _verdict(self, claim: str, contexts: Sequence[str], around: Sequence[str]) -> Verdict:
        longest = max(map(len, contexts), default=0)
        for kind, length, most in (
            ("claim", len(claim), _LONGEST_CLAIM),
            ("context", longest, MOST_CHARACTERS),
        ):
            if length > most:
                problem = f"a {kind} of at most {most:,} characters is read, got one of {length:,}"
                return Verdict(None, problem=problem)
        language = judged_language(claim, [*contexts, *around])
        if language != "en":
            return _unmeasured(f"this claim is {name_of(language)}")
        language_of = {text: judged_language(text, [claim]) for text in contexts}
        # Replace contexts that are not read by empty texts, since verdicts cite contexts by index.
        read = [text if language_of[text] == "en" else "" for text in contexts]
        verdict = judged(claim, read, threshold=self.threshold).verdict(self.threshold)
        if verdict.label == "supported":
            return verdict
        foreign = {
            language
            for text, language in language_of.items()
            if language != "en" and _may_tell(claim, text)
        }
        named = ", ".join(map(name_of, sorted(foreign)))
        return _unmeasured(f"a context is {named}") if foreign else verdict


def _unmeasured(reason: str) -> Verdict:
    problem = f"the built-in judge is measured on English only, and {reason}: pass judge=…"
    return Verdict(None, problem=problem)


def _may_tell(claim: str, context: str) -> bool:
    """Return whether a context in another language may be about the same thing as the claim.

    It may in each of these cases: both share a number or a capitalized word; the claim has no name
    or number; only one of the texts is in Latin script.
    """
    told = [word for word in read_words(claim) if word.is_number or word.is_capitalised]
    has_own = bool(names(claim)) or any(word.written[0].isdigit() for word in told)
    if not has_own or is_in_latin(claim) != is_in_latin(context):
        return True
    keys = {word.key for word in told}
    return not keys.isdisjoint(word.key for word in read_words(context))
