"""The built-in judge: no model to call, no key, no download, and the same answer every time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from fullrecall._util.pieces import paused
from fullrecall.judge.judge import Flow, Verdict
from fullrecall.lexical.claim_judge import ClaimJudge
from fullrecall.lexical.sentences import MOST_CHARACTERS
from fullrecall.lexical.support import judged
from fullrecall.lexical.words.languages import is_in_latin, judged_language, name_of
from fullrecall.lexical.words.names import names
from fullrecall.lexical.words.tokens import read_words

_LONGEST_CLAIM = 20_000  # characters


@dataclass(frozen=True)
class LexicalJudge(ClaimJudge):
    """Judges claims by their words: which of them, and which numbers and names, occur.

    Free and deterministic, and right less often than a large model: `weights.json` has its balanced
    accuracy against human labels, measured as `bench/local_judge.py` does. A number
    that stands in no context, or a "not" on one side only, denies support by itself. Two contexts
    support a claim together where both name the same; what takes three is not found. It splits
    texts into the facts of their sentences, and it cannot tell whether a question is answered.

    It judges English, for it was measured on no other language. A claim in another one, or one that
    only a context in another may support, is unscored.

    `rules` are the kinds of false claims that it has a rule of its own for.
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

    def _attributed(
        self, targets: Sequence[str], contexts: Sequence[str], question: str | None
    ) -> Flow[Sequence[Verdict]]:
        yield from ()
        return [self._verdict(target, contexts, question) for target in paused(targets, 1)]

    def _verdict(self, claim: str, contexts: Sequence[str], question: str | None) -> Verdict:
        longest = max(map(len, contexts), default=0)
        for kind, length, most in (
            ("claim", len(claim), _LONGEST_CLAIM),
            ("context", longest, MOST_CHARACTERS),
        ):
            if length > most:
                problem = f"a {kind} of at most {most:,} characters is read, got one of {length:,}"
                return Verdict(None, problem=problem)
        language = judged_language(claim, [*contexts, question or ""])
        if language != "en":
            return _unmeasured(f"this claim is {name_of(language)}")
        language_of = {text: judged_language(text, [claim]) for text in contexts}
        # What is not read stays as an empty context: verdicts cite contexts by their place.
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
    """Whether a context in another language may speak of what the claim does.

    In the same script, a claim's names and numbers are written alike: one that has none of them
    is about something else.
    """
    told = [word for word in read_words(claim) if word.is_number or word.is_capitalised]
    has_own = bool(names(claim)) or any(word.written[0].isdigit() for word in told)
    if not has_own or is_in_latin(claim) != is_in_latin(context):
        return True
    keys = {word.key for word in told}
    return not keys.isdisjoint(word.key for word in read_words(context))
