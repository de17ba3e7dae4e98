"""Details that decide: a number or a month that stands nowhere, a "not" on one side only.

A regression weighs a hundred words that fit against one that does not; these rules do not weigh.
Of ten such rules these two held on data sets that they were not chosen on; the one for denials has
become shorter since (`docs/judges.md`).
"""

from __future__ import annotations

from collections.abc import Sequence

from fullrecall.judges.local.matching import Match
from fullrecall.judges.local.passages import Passage
from fullrecall.judges.words.negations import denials, denied_keys, denies
from fullrecall.judges.words.numbers import follows_from, months, numbers

_ABOUT = 0.3  # of the claim's weight that one sentence covers, to be about the same
_HALF = 0.5  # of the words that a sentence denies


def differing_detail(claim: Passage, contexts: Sequence[Passage], match: Match) -> str:
    """Return in what the claim differs, "number" or "negation"; empty where in neither."""
    if has_absent_number(claim.text, [passage.text for passage in contexts]):
        return "number"
    if match.best is None or match.covered < _ABOUT * match.total:
        return ""
    return "negation" if _is_denied(claim, contexts[match.best.context], match) else ""


def has_absent_number(claim: str, contexts: Sequence[str]) -> bool:
    """Whether a number in digits, with its unit and scale, or a month stands in no context.

    A number may stand there for another: rounded, within bounds, or the years between two others.
    """
    if not months(claim) <= {month for context in contexts for month in months(context)}:
        return True
    own = [number for number in numbers(claim) if number.in_digits]
    present = [number for context in contexts for number in numbers(context)] if own else []
    return not all(follows_from(number, present) for number in own)


def _is_denied(claim: Passage, context: Passage, match: Match) -> bool:
    """Whether either of the claim and the sentence that covers most of it denies it, not both.

    A sentence denies the claim where half of what it denies is the claim's. Where the claim denies,
    too, one word is enough, or other words for a denial: "failed to", "a myth".
    """
    assert match.best is not None  # noqa: S101 - asked only where something was found
    sentence = context.sentence(match.best.number)
    denied = denied_keys(sentence)
    shared = denied.intersection(word.key for word in claim.words)
    if denials(claim.text, "en"):
        return not (shared or denies(sentence, "en", ("implied", "reported")))
    return bool(shared) and len(shared) >= _HALF * len(denied)
