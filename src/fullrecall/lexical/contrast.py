"""Find differences between a claim and an English text.

A difference is the opposite of a word, or another word, amount, item or agent in the same place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from rapidfuzz.distance import LCSseq, MatchingBlock

from fullrecall._util.caches import remembered_words
from fullrecall.lexical.clauses import agent_and_act, clauses_of, is_known_verb
from fullrecall.lexical.matching import ParsedText, read_passage
from fullrecall.lexical.words.data import word_set
from fullrecall.lexical.words.frequencies import zipf_frequencies
from fullrecall.lexical.words.names import names
from fullrecall.lexical.words.negations import denied_keys
from fullrecall.lexical.words.numbers import excludes, is_equal, may_stand_for, numbers
from fullrecall.lexical.words.opposites import opposites, synonyms
from fullrecall.lexical.words.tokens import Word, alike, read_words, stem

_PREFIXES = ("un", "in", "im", "ir", "il", "non", "dis")
_LEAST = 4  # the fewest letters of a word that a prefix negates
_WITHIN = 3  # opposites count only if an equal word is within this many words of both
_MOST = 60  # the most words of a claim that are compared
_SHORT = 15  # in a claim of at most this many words, one differing word counts
_EQUAL = 2  # the fewest equal words beside a difference, except at the beginning of both texts
_LONGEST_NAME = 4  # the most words that are compared as one name
_CODE = re.compile("`[^`]++(?:`|$)")
_NOT = re.compile(
    r"\b(?:(?:does|do|did|is|are|was|were) )?not (?=\w)|\bnot |(?:(?<=\bcan)not|n['\u2019]t)(?= )",
    re.IGNORECASE,
)
_NOT_ALL = re.compile(r"\bnot (?:all|every|each)\b", re.IGNORECASE)
_PART_END = re.compile(r"(?:[;,]|(?<![;,\s]))\s++(?:and|but|while|whereas)\s++|[;,]\s++")
_AMOUNTS = (("of all", "of some"), ("of many", "of few"), ("of few", "of many"))


@remembered_words(65_536)
def opposite_keys(written: str) -> frozenset[str]:
    """Return the keys of a word's opposites: listed ones, and those made by a negating prefix.

    The prefix is added, or removed if the word has it: "stable" for "unstable".
    """
    keys = set(opposites().get(stem(written), ()))
    if written in word_set("not negated") or len(written) < _LEAST:
        return frozenset(keys)
    for prefix in _PREFIXES:
        rest = written.removeprefix(prefix)
        if rest == written:
            keys.add(stem(prefix + written))
        elif len(rest) >= _LEAST and not zipf_frequencies().keys().isdisjoint((rest, stem(rest))):
            keys.add(stem(rest))
    return frozenset(keys)


def states_opposite(claim: str, text: str) -> bool:
    """Return whether a text has an opposite of a claim's word, near another word of the claim.

    The pair counts only if both words are denied or neither is.
    """
    claimed, stated = read_words(claim), {word.key: word for word in reversed(read_words(text))}
    claim_keys = {word.key for word in claimed}
    pairs = [
        (word, stated[key])
        for word in claimed[:_MOST]
        if word.key not in stated
        for key in opposite_keys(word.written)
        if key in stated and key not in claim_keys
    ]
    denied = (denied_keys(claim), denied_keys(text)) if pairs else ((), ())
    return any(
        (word.key in denied[0]) == (other.key in denied[1])
        and _neighbors(claimed, word) & _neighbors(read_words(text), other)
        for word, other in pairs
    )


def _neighbors(words: Sequence[Word], word: Word) -> set[str]:
    at = words.index(word)
    near = words[max(0, at - _WITHIN) : at + _WITHIN + 1]
    return {other.key for other in near if other is not word and other.tells}


def states_other_word(claim: str, text: str, *, of_names: bool = True) -> bool:
    """Return whether a text has another name where the claim has a name.

    Two words are in the same place if equal words are beside them: "the Basic plan", "the Pro
    plan". Names are compared only with `of_names`. If a claim of up to 15 words differs from the
    text in only one word, this word is compared even if it is not a name.
    """
    claimed, stated = read_words(claim)[:_MOST], read_words(text)[: 2 * _MOST]
    found = {word.key for word in stated}
    named, others = (_named(claim), _named(text)) if of_names else (frozenset(), frozenset())
    keys = [[word.key for word in each] for each in (claimed, stated)]
    *blocks, end = LCSseq.editops(*keys).as_matching_blocks()
    equal = sum(block.size for block in blocks)
    span = blocks[-1].b + blocks[-1].size - blocks[0].b if blocks else 0
    is_but_one = len(claimed) <= _SHORT and equal == len(claimed) - 1 and span <= equal + 1
    for own, other in _replaced(claimed, stated, [*blocks, end]):
        absent = [word for word in own if word.key not in found]
        is_name = any(word.start in named for word in absent) and len(own) <= _LONGEST_NAME
        if is_name and len(other) <= len(own) and any(word.start in others for word in other):
            return True
        # Compare the word next to the equal words: the text may have more words before the claim's
        # first word, or after its last one.
        beside = other[-1:] if own[0] is claimed[0] else other[:1]
        if is_but_one and absent and any(_exclude(own[0], word) for word in beside):
            # A word after a number is a unit, which other rules compare.
            return not claimed[max(0, claimed.index(own[0]) - 1)].is_number
    return False


def _named(text: str) -> frozenset[int]:
    """Return the start offsets of the words of names, and of code in backticks."""
    spans = [(name.start, name.end) for name in names(text)]
    spans += [code.span() for code in _CODE.finditer(text)]
    return frozenset(
        word.start
        for word in read_words(text)[: 2 * _MOST]
        if not word.is_number and any(start <= word.start < end for start, end in spans)
    )


def _replaced(
    words: Sequence[Word], others: Sequence[Word], blocks: Sequence[MatchingBlock]
) -> Iterator[tuple[Sequence[Word], Sequence[Word]]]:
    """Yield each part of a claim between equal blocks, with the text's part between these blocks.

    The text's part is empty if the two equal blocks have fewer than two words in all. If both parts
    are at the beginning of their texts, one equal word is enough.
    """
    end = other_end = before = 0
    for block in blocks:
        own, other = words[end : block.a], others[other_end : block.b]
        begins = end == other_end == 0 < block.size
        if own:
            is_placed = begins or before + block.size >= _EQUAL
            yield own, other if is_placed else ()
        end, other_end, before = block.a + block.size, block.b + block.size, block.size


def _exclude(word: Word, other: Word) -> bool:
    """Return whether two words in the same position have different meanings.

    They do if both are numbers, or both are content words that are neither synonyms nor alike.
    """
    if word.is_number or other.is_number:
        return word.is_number and other.is_number
    if not (word.tells and other.tells):
        return False
    same = synonyms().get(word.key, frozenset())
    return other.key not in same and not alike(word.key, other.key)


def states_other_amount(claim: str, text: str) -> bool:
    """Return whether a text has another amount than a claim.

    For "all", "every" or "none" in the claim, another amount is "some", "most" or "few"; for "many"
    or "most", it is "few"; for "few", it is "many" or "most".
    """
    rest = _NOT_ALL.sub(" some ", text)
    claimed, stated = ({word.written for word in read_words(each)} for each in (claim, rest))
    return any(
        claimed & word_set(own)
        and not stated & word_set(own)
        and (stated & word_set(other)) - claimed
        for own, other in _AMOUNTS
    )


def states_other_item(claim: str, text: str) -> bool:
    """Return whether a text has a claim's number, but only for another item.

    "SSH uses port 22 and HTTPS port 443" has 443, but not for SSH.
    """
    first, *rest = _PART_END.split(text)
    parts = [(part, numbers(part)) for part in (first, *filter(_names_item, rest))]
    if len(read_words(claim)) > _SHORT:
        return False
    claimed, claim_keys = numbers(claim), _item_keys(claim)
    for number in claimed:
        own, others = set[str](), set[str]()
        for part, stated in parts:
            if may_stand_for(number, stated):
                own |= _item_keys(part)
            elif any(excludes(number, each) for each in stated):
                others |= _item_keys(part)
        is_alone = sum(each.sort == number.sort for each in claimed) == 1
        if is_alone and own and claim_keys & (others - own) and not claim_keys & (own - others):
            return True
    return False


def _names_item(part: str) -> bool:
    """Return whether a part of a sentence may begin with an item.

    It does not if it begins with a preposition, a pronoun or a verb.
    """
    word = part.partition(" ")[0]
    shares = word_set("prepositions") | word_set("personal")
    return word.lower() not in shares and not (word.islower() and is_known_verb(word))


def _item_keys(text: str) -> set[str]:
    """Return the keys of the words of a text that may name an item: no verbs, no numbers."""
    return {
        word.key
        for word in read_words(text)
        if word.tells and not word.is_number and not is_known_verb(word.written)
    }


def states_other_agent(claim: str, texts: Iterable[str]) -> bool:
    """Return whether texts state a claim's act, but only of other agents.

    In active claims only names are compared, since "She" or "the physicist" may be the claim's
    agent.
    """
    agent, act = agent_and_act(claim)
    keys, agent_keys = _telling(act), _telling(agent)
    is_passive = claim.startswith(act)
    if len(keys) < 2 or not agent_keys or not (is_passive or _has_capitals(agent)):  # noqa: PLR2004
        return False
    clauses = [
        clause
        for passage in map(read_passage, texts)
        for sentence in map(passage.sentence, range(len(passage.sentences)))
        if keys <= read_passage(sentence).places.keys()
        for clause in clauses_of(sentence)
        if keys <= read_passage(clause).places.keys()
    ]
    others = [agent_and_act(clause)[0] for clause in clauses]
    return (
        bool(clauses)
        and all(agent_keys.isdisjoint(read_passage(clause).places) for clause in clauses)
        and (is_passive or all(names(other) and _has_capitals(other) for other in others))
    )


def _has_capitals(text: str) -> bool:
    return all(word.is_capitalised for word in read_words(text))


def _telling(text: str) -> set[str]:
    titles = word_set("titles")
    return {word.key for word in read_words(text) if word.tells and word.written not in titles}


def in_amounts_of(claim: str, texts: Iterable[str]) -> str:
    """Return a claim with amounts and times written as in the texts: 0.25 seconds for 250 ms."""
    for number in reversed(numbers(claim)):
        stated = [each for text in texts for each in numbers(text)] if number.unit else []
        same = next((each.text for each in stated if is_equal(number, each)), "")
        if same and same not in claim:
            claim = f"{claim[: number.start]}{same}{claim[number.end :]}"
    return claim


def in_words_of(claim: str, contexts: Sequence[ParsedText]) -> str:
    """Return a claim with amounts written as in its contexts, and one word replaced if possible.

    The replaced word is the first one that is in no context, while a context has its negated
    opposite: "eager" becomes "not lazy", "unavailable" becomes "not available", and "does not
    include" becomes "excludes".
    """
    claim = in_amounts_of(claim, [context.text for context in contexts])
    for word in read_words(claim)[:_MOST]:
        if not word.tells or any(word.key in context.places for context in contexts):
            continue
        for context in contexts:
            for key in sorted(filter(context.places.__contains__, opposite_keys(word.written))):
                other = context.words[context.places[key][0]].written
                is_denied = word.key in denied_keys(claim)
                if is_denied != (key in denied_keys(context.text)):
                    before = claim[: word.start]
                    before = _NOT.sub("", before) if is_denied else f"{before}not "
                    return f"{before}{other}{claim[word.end :]}"
    return claim
