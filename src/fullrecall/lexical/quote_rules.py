"""Rules that refuse quotes which do not bear on their claims, without a model.

That a quote is in the context proves nothing: "of the" occurs everywhere, and "opened in 1889" does
not prove a claim about 1989. Twelve rules compare a quote's sentences with the claim: numbers with
their units, months, negation, opposites, single words, names, amounts, items, agents, "only" and
roles. They refuse a quote if they find a difference; a quote that passes may still not be proof.
`bench/quote_rules.py` measures the share of contradicting quotes that they refuse, by kind. The
rules are English; in other languages only numbers and negation are compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

from fullrecall._util.caches import remembered
from fullrecall.judge.evidence import Location
from fullrecall.judge.language import Aim
from fullrecall.lexical.contrast import (
    in_amounts_of,
    opposite_keys,
    states_opposite,
    states_other_agent,
    states_other_amount,
    states_other_item,
    states_other_word,
)
from fullrecall.lexical.words.data import word_set
from fullrecall.lexical.words.languages import any_function_words, function_words, language_of
from fullrecall.lexical.words.names import Name, names
from fullrecall.lexical.words.negations import denials, denies
from fullrecall.lexical.words.numbers import excludes, may_stand_for, months, numbers, weekdays
from fullrecall.lexical.words.tokens import Word, may_hold, read_words

_MOSTLY = 0.75
_FEWEST = 2  # the fewest content words of a claim that a sentence can state word for word
_SEVERAL = 3  # one shared word is too little for a claim with this many content words
_BESIDE = 400  # characters that are searched for the end of a sentence
_EQUAL = 2  # names are at the same place if this many words beside them are equal
_DENIED = 5  # the most content words beside a denial that it may deny
_LONGEST = 4_000  # the most characters of a claim, and of a quote, that are compared
_MOST_NUMBERS = 60
_MOST_NAMES = 8

_SENTENCE_END = re.compile(r"[!?。！？\n]|\.(?=\s|$)")  # noqa: RUF001
_CLAUSE_END = re.compile(r"[;,，、；!?。！？\n]|\.(?=\s|$)")  # noqa: RUF001


def objection(
    target: str,
    context: str,
    parts: Sequence[Location],
    aim: Aim = "claim",
    beside: Sequence[str] = (),
) -> str:
    """Return the reason, as a clause, why a quote cannot prove its target; "" if it may.

    `parts` are the locations of the quote in the context. `aim` is the kind of target. Every
    quote needs a content word; a quote for a claim must also share a word with the claim and pass
    the rules. `beside` are the other quotes, if several prove the target only together.
    """
    quoted_keys = {
        word.key for part in parts for word in content_words(context[part.start : part.end])
    }
    if not quoted_keys:
        return "says nothing"
    target_keys = content_keys(target)
    if aim in ("question", "context") or not target_keys:  # "It is." has no content word
        return ""
    quote = " ".join(_around(context, part) for part in parts)
    if not (target_keys & quoted_keys or target_keys & content_keys(quote)):
        return "shares no word with it"
    return _claim_objection(target, context, parts, quote, beside)


def _claim_objection(
    claim: str, context: str, parts: Sequence[Location], quote: str, beside: Sequence[str]
) -> str:
    context_language, claim_language = language_of(context), language_of(claim)
    claim = in_amounts_of(claim, [quote])
    is_alike = claim_language in (None, context_language)
    pair = _QuotedClaim(claim, quote, " ".join([_near(context, parts), *beside]))
    # One shared word does not prove a claim of three content words or more.
    shared = pair.claim_keys & (pair.quote_keys | content_keys(pair.near))
    if is_alike and len(shared) == 1 and len(pair.claim_keys) >= _SEVERAL:
        return "is about something else"
    if (context_language or claim_language or "en") != "en":
        return _objection_elsewhere(pair, context_language or "", is_alike=is_alike)
    return next((reason for rule, reason in RULES.items() if rule(pair)), "")


class _QuotedClaim:
    """A claim, the whole sentences of its quote, and the text near the quote.

    The text near the quote is the sentence before it, the context's first sentence, and the other
    quotes for the claim.
    """

    def __init__(self, claim: str, quote: str, near: str) -> None:
        # Rules compare every word of the claim with every word of the quote, so limit both.
        self.claim = claim[:_LONGEST]
        self.quote = quote[:_LONGEST]
        self.near = near[:_LONGEST]
        self.claimed = numbers(self.claim)[:_MOST_NUMBERS]
        self.quoted = numbers(self.quote)[:_MOST_NUMBERS]
        self.said_near = (*self.quoted, *numbers(self.near)[:_MOST_NUMBERS])
        self.claim_keys = content_keys(self.claim)
        self.quote_keys = content_keys(self.quote)

    @property
    def is_opposed(self) -> bool:
        """Whether the quote has an opposite of a content word of the claim, perhaps negated."""
        return any(
            not self.quote_keys.isdisjoint(opposite_keys(word.written))
            for word in read_words(self.claim)
            if word.key in self.claim_keys
        )


def _lacks_number(pair: _QuotedClaim) -> bool:
    """Return whether the quote has another number in place of a number of the claim.

    The claim's number must be neither in the quote nor near it.
    """
    return any(
        not may_stand_for(number, pair.said_near)
        and any(excludes(number, other) for other in pair.quoted)
        for number in pair.claimed
    )


def _other_month(pair: _QuotedClaim) -> bool:
    return any(
        of(pair.claim) - of(pair.quote) - of(pair.near) and of(pair.quote) - of(pair.claim)
        for of in (months, weekdays)
    )


def _other_name(pair: _QuotedClaim) -> bool:
    """Return whether the quote has another name in the place of a name of the claim.

    A name of the claim that is in or near the quote is not compared.
    """
    near_keys = {word.key for word in (*read_words(pair.quote), *read_words(pair.near))}
    claim_words, quote_words = read_words(pair.claim), read_words(pair.quote)
    claim_keys = {word.key for word in claim_words}
    return any(
        _in_one_place(claim_words, name, quote_words, other)
        for name in names(pair.claim)[:_MOST_NAMES]
        if near_keys.isdisjoint(name.keys)
        for other in names(pair.quote)[: 2 * _MOST_NAMES]
        if claim_keys.isdisjoint(other.keys)
    )


def _in_one_place(
    words: Sequence[Word], name: Name, other_words: Sequence[Word], other: Name
) -> bool:
    """Return whether two names are at the same place.

    They are if the two words before each name, or the two words after each name, are equal. They
    also are if each name begins its text and the next words are equal.
    """
    before, after = _beside(words, name)
    other_before, other_after = _beside(other_words, other)
    if before == other_before == []:
        return after[:1] == other_after[:1]
    is_led = len(before) == _EQUAL and before == other_before
    return is_led or (len(after) == _EQUAL and after == other_after)


def _beside(words: Sequence[Word], name: Name) -> tuple[list[str], list[str]]:
    before = [word.key for word in words if word.end <= name.start][-_EQUAL:]
    return before, [word.key for word in words if word.start >= name.end][:_EQUAL]


def _denies_more(pair: _QuotedClaim) -> bool:
    """Return whether the claim has a denial, and the quote has none.

    If all denials of the claim are plain ("not open"), a quote with an opposite of a word of the
    claim ("closed") is allowed.
    """
    if denials(pair.quote, "en") or not denials(pair.claim, "en"):
        return False
    return denies(pair.claim, "en", ("implied", "reported")) or not pair.is_opposed


def _is_denied(pair: _QuotedClaim) -> bool:
    """Return whether the claim has no denial, but the quote denies a word of it.

    A quote with an opposite of a word of the claim is allowed: "not closed" may mean "open".
    """
    if denials(pair.claim, "en") or pair.is_opposed:
        return False
    words = [word for word in read_words(pair.quote) if word.tells]
    for denial in denials(pair.quote, "en"):
        denied = [word for word in words if denial.end <= word.start][:_DENIED]
        if denial.kind == "reported":  # "That the mill burned is a myth."
            denied += [word for word in words if word.end <= denial.start][-_DENIED:]
        if any(word.key in pair.claim_keys for word in denied):
            return True
    return False


def _lacks_only(pair: _QuotedClaim) -> bool:
    """Return whether the claim has "only", but no such word is in or near the quote."""
    if word_set("only").isdisjoint(word.written for word in read_words(pair.claim)):
        return False
    written = {word.written for word in read_words(f"{pair.quote} {pair.near}")}
    return written.isdisjoint(word_set("only in other words"))


def _exchanged(pair: _QuotedClaim) -> bool:
    """Return whether two names changed places around a word: "Ann beat Bo", "Bo beat Ann"."""
    claimed = names(pair.claim)[:_MOST_NAMES]
    if len(claimed) < 2:  # noqa: PLR2004 - one name has no other to change with
        return False
    quoted = names(pair.quote)[: 2 * _MOST_NAMES]
    return any(
        _turns(pair, (first, second), (other, another))
        for first, second in pairwise(claimed)
        for other, another in pairwise(quoted)
        if set(first.keys) & set(another.keys)
        and set(second.keys) & set(other.keys)
        and not set(first.keys) & set(second.keys)
    )


def _turns(pair: _QuotedClaim, claimed: tuple[Name, Name], quoted: tuple[Name, Name]) -> bool:
    between = pair.claim[claimed[0].end : claimed[1].start]
    quoted_between = pair.quote[quoted[0].end : quoted[1].start]
    is_shared = bool(content_keys(between) & content_keys(quoted_between))
    # If only one of the two texts has "by", only that text is passive, so exchanged names mean the
    # same.
    return is_shared and ("by" in between.split()) == ("by" in quoted_between.split())


# Three further rules are left out. Of 12,393 contradicting quotes in eight datasets, they would
# refuse only 19 more: 3 for another unit, 8 for another count, and 8 for another order in time.
RULES: Mapping[Callable[[_QuotedClaim], bool], str] = {
    lambda pair: states_opposite(pair.claim, pair.quote): "states the opposite",
    _lacks_number: "has another number, and not the one that it has",
    lambda pair: states_other_amount(pair.claim, pair.quote): "says it of another amount",
    # Leave out names here. The next rule compares them, and accepts a name that is near the quote.
    lambda pair: states_other_word(
        pair.claim, pair.quote, of_names=False
    ): "has another word in its place",
    _other_name: "has another name in its place",
    lambda pair: states_other_item(pair.claim, pair.quote): "says it of another thing",
    lambda pair: states_other_agent(pair.claim, [pair.quote]): "says it of another person",
    _denies_more: "denies nothing, and it does",
    _other_month: "has another month or day",
    _exchanged: "has the names in other roles",
    _lacks_only: "does not say that it is the only one",
    _is_denied: "denies what it states",
}
"""The rules, in order, each with the reason for which it refuses a quote."""


def _objection_elsewhere(pair: _QuotedClaim, language: str, *, is_alike: bool) -> str:
    """Return the objection if the claim or the context is not English; "" if there is none.

    Only numbers and, if both are in one language, negation are compared.
    """
    claimed_numbers = {word.key for word in content_words(pair.claim) if word.is_number}
    if claimed_numbers and claimed_numbers.isdisjoint(content_keys(f"{pair.quote} {pair.near}")):
        return "has none of its numbers"
    if not is_alike or denies(pair.claim, language):
        return ""
    clauses = _CLAUSE_END.split(pair.quote)
    sharing = [clause for clause in clauses if content_keys(clause) & pair.claim_keys]
    are_denials = [denies(clause, language, ("plain", "reported")) for clause in sharing]
    return "denies what it states" if are_denials and all(are_denials) else ""


def _around(context: str, part: Location) -> str:
    """Return the whole sentences around a part of a quote."""
    end = _end(context, max(part.start, part.end - 1))
    return context[_begin(context, part.start, 1) : end].strip()


def _near(context: str, parts: Sequence[Location]) -> str:
    """Return the sentence before a quote, and the context's first sentence."""
    start = parts[0].start
    before = context[_begin(context, start, 2) : start]
    return f"{before} {context[: _end(context, 0)]}"


def _begin(context: str, at: int, nth: int) -> int:
    """Return the start of the sentence at an offset (`nth` = 1), or of the one before it (2).

    The start is at most `nth` times 400 characters before the offset.
    """
    start = max(0, at - nth * _BESIDE)
    stops = [match.end() for match in _SENTENCE_END.finditer(context, start, at)]
    return stops[-nth] if len(stops) >= nth else start


def _end(context: str, at: int) -> int:
    """Return the end of the sentence at an offset, at most 400 characters after the offset."""
    stop = _SENTENCE_END.search(context, at, at + _BESIDE)
    return stop.end() if stop else at + _BESIDE


def stating(claim: str, contexts: Mapping[int, str]) -> Iterator[int]:
    """Yield the numbers of the contexts with a sentence that has all content words of a claim.

    The sentence must have a denial if the claim has one, and none otherwise. The order of words is
    ignored: "Ann beat Bob" and "Bob beat Ann" are the same here.
    """
    longest = _longest(claim)
    # Most contexts fail this test, and are not parsed. If all fail, the claim is not parsed either.
    holding = (number for number, text in contexts.items() if may_hold(text, longest))
    yield from (number for number in holding if _states(contexts[number], claim))


def _longest(claim: str) -> tuple[str, ...]:
    """Return the key of a claim's longest ASCII word that is not a function word in any language.

    The result is a tuple with this one key, or () if there is no such word.
    """
    for printed in sorted(claim.split(), key=len, reverse=True):
        bare = printed.strip('.,;:!?()"')
        if bare.isascii() and bare.isalpha():
            (word,) = read_words(bare)
            if word.tells and word.written not in any_function_words():
                return (word.key,)
    return ()


def _states(context: str, claim: str) -> bool:
    claim_keys = content_keys(claim)
    if len(claim_keys) < _FEWEST or not may_hold(context, claim_keys):
        return False  # most contexts end here, without parsing their words
    if not claim_keys <= content_keys(context):
        return False
    language = language_of(context) or "en"
    is_denial = denies(claim, language)
    return any(
        claim_keys <= content_keys(sentence)
        and is_denial == denies(sentence, language, ("plain", "reported"))
        for sentence in _SENTENCE_END.split(context)
    )


def stand_alone(claim: str, contexts: Sequence[str]) -> list[bool]:
    """Return, for each cited context, whether it alone may prove as much as all of them together.

    Words of the claim that are in no cited context are ignored. Of the other words, the context
    must have all numbers and capitalized words, and at least three quarters of all content words.
    """
    word_of = {word.key: word for word in content_words(claim)}
    shares = [word_of.keys() & content_keys(context) for context in contexts]
    union = set().union(*shares)
    vital = {key for key in union if word_of[key].is_number or word_of[key].is_capitalised}
    return [vital <= share and len(share) >= _MOSTLY * len(union) for share in shares]


@remembered(200_000)
def content_keys(text: str) -> frozenset[str]:
    """Return the keys of the content words, numbers and names of a text."""
    return frozenset([word.key for word in content_words(text)])


@remembered(400_000)
def content_words(text: str) -> tuple[Word, ...]:
    """Return the content words, numbers and names of a text, in order."""
    functional = function_words(language_of(text)) | function_words("en")
    return tuple(
        [word for word in read_words(text) if word.tells and word.written not in functional]
    )
