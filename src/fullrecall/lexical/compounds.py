"""The simple sentences of an English compound: clauses, relative clauses, appositions, lists.

By form alone. Where a form leaves room for doubt, or a word such as "if" or "not" may govern the
whole, the sentence stays whole.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from fullrecall.lexical.words.data import lines, word_set
from fullrecall.lexical.words.frequencies import zipf_frequencies
from fullrecall.lexical.words.tokens import stem

_MOST_WORDS = 60
_MOST_ITEM = 6  # words of an item of a list
_MOST_NAMED = 8  # words of a subject that a clause describes
_LEAST_ITEMS = 3  # with two, "and" may be part of a name
_SINGULAR = {"are": "is", "were": "was", "have": "has", "do": "does"}
_AFTER_COMMA = re.compile(r"([^,]+), ([^,]+), ([^,].*)")
_WHILE = re.compile(
    r"(?:While|Whereas) ([^,]+), (.+)|([^,]+), (?:while|whereas) (.+)", re.IGNORECASE
)
_INTRODUCED = re.compile(r"(\w+ [^,]+), ((?:The |An? )?[A-Z][^,]+)")


def is_known_verb(word: str, *, base: bool = False) -> bool:
    """Whether a word has the form of a verb with a subject; `base`: that of a plural, too."""
    bare = word.strip(",.;:").lower()
    if bare in word_set("verbs") | word_set("modals") or bare in _past_forms():
        return True
    if not (base or bare.endswith(("s", "ed"))):
        return False
    return stem(bare) in _verb_stems() or stem(bare.removesuffix("d")) in _verb_stems()  # died


def simple_sentences(sentence: str) -> list[str]:
    """Return the sentences that a compound is made of, in order; the sentence itself if none."""
    words = sentence.split()
    if len(words) > _MOST_WORDS:
        return [sentence]
    body = sentence.rstrip(".")
    for split in (_by_semicolon, _by_while, _by_description):
        pieces = split(body)
        if pieces:
            return [fact for piece in pieces for fact in simple_sentences(_sentence(piece))]
    return [sentence]


def listed_facts(sentence: str) -> list[str]:
    """Return a fact for each item of a sentence's list; the sentence itself without a list."""
    words = [word.strip(",;:").lower() for word in sentence.split()]
    governed = word_set("unsure") | word_set("governing")
    if len(words) > _MOST_WORDS or not governed.isdisjoint(words):
        return [sentence]
    body = sentence.rstrip(".")
    return [_sentence(fact) for fact in _of_pair(body) or _of_items(body)] or [sentence]


def _sentence(text: str) -> str:
    text = text.strip(" ,;")
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith((".", "!", "?")) else ".")


def _by_semicolon(body: str) -> list[str]:
    pieces = body.split("; ")
    return pieces if len(pieces) > 1 and all(map(_is_clause, pieces)) else []


def _by_while(body: str) -> list[str]:
    match = _WHILE.fullmatch(body)
    pieces = [piece for piece in match.groups() if piece] if match else []
    return pieces if pieces and all(map(_is_clause, pieces)) else []


def _by_description(body: str) -> list[str]:
    """Return what stands between a subject's commas, or before it, as a sentence of its own."""
    introduced = _INTRODUCED.fullmatch(body)
    if introduced and _is_participle(introduced[1].split()):
        verb = _verb_at(introduced[2].split())
        subject = " ".join(introduced[2].split()[:verb])
        return [f"{subject} was {_lowered(introduced[1])}", introduced[2]] if verb else []
    match = _AFTER_COMMA.fullmatch(body)
    if match is None or _verb_at(match[1].split()) or not is_known_verb(match[3].split()[0]):
        return []
    subject, words = match[1], match[2].split()
    if len(subject.split()) > _MOST_NAMED or subject.split()[0].lower() in word_set("prepositions"):
        return []
    if words[0] in ("which", "who") and len(words) > 1:
        described = f"{subject} {' '.join(words[1:])}"
    elif _is_participle(words):
        described = f"{subject} was {match[2]}"
    elif words[0] in ("a", "an", "the", "our") and not _verb_at(words):
        described = f"{subject} is {match[2]}"
    else:
        return []
    return [described, f"{subject} {match[3]}"]


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]


def _is_participle(words: Sequence[str]) -> bool:
    """Whether words begin as in "founded in 1998"."""
    first = words[0].lower()
    is_past = first.endswith("ed") or first in _past_forms()
    return is_past and words[1] in word_set("prepositions") if len(words) > 1 else False


def _is_clause(text: str) -> bool:
    words = text.split()
    has_verb = any(is_known_verb(word, base=True) for word in words[1:])
    return has_verb and words[0].lower() not in word_set("unsure") | word_set("of others")


def _verb_at(words: Sequence[str]) -> int:
    """Return where the first verb stands; 0 without one."""
    articles = word_set("articles") | word_set("prepositions")
    places = (
        at
        for at in range(1, len(words))
        if words[at].islower()
        and is_known_verb(words[at])
        and words[at - 1].lower() not in articles
    )
    return next(places, 0)


def _of_pair(body: str) -> list[str]:
    """Return the facts of "both A and B" and of "A as well as B"."""
    before, _, item = body.partition(" as well as ")
    if item.strip() and _verb_at(before.split()):
        return [before, f"{_shared(before.split(), item.split())} {item}"]
    before, _, both = body.partition(" both ")
    first, _, second = both.partition(" and ")
    is_pair = second.strip() and _verb_at(before.split())
    return [f"{before} {first}", f"{before} {second}"] if is_pair else []


def _of_items(body: str) -> list[str]:
    """Return the facts of a list that "and" ends: of subjects, objects or adjectives."""
    head, joined, last = body.rpartition(" and ")
    chunks = head.rstrip(",").split(", ")
    first, items = chunks[0].split(), [*chunks[1:], last]
    is_long = any(item.isdigit() or len(item.split()) > _MOST_ITEM for item in items[:-1])
    if not joined or " and " in head or is_long or word_set("pairs") & set(first):
        return []
    verb = _verb_at(first)
    if not verb:
        return _of_subjects([*chunks, last])
    if len(items) < _LEAST_ITEMS - 1:
        return _of_adjectives(first, last, verb)
    has_verb = any(is_known_verb(item.split()[0]) for item in items)
    if has_verb or len(last.split()) > _MOST_ITEM or _verb_at(["", *last.split()]):
        return []
    shared = _shared(first, items[0].split())
    return [chunks[0], *(f"{shared} {item}" for item in items)]


def _of_adjectives(first: Sequence[str], last: str, verb: int) -> list[str]:
    """Return the facts of "is fast and cheap"."""
    is_bare = first[verb] in ("is", "are", "was", "were") and verb == len(first) - 2
    is_plain = all(word.isalpha() and word.islower() for word in (first[-1], last))
    shared = " ".join(first[:-1])
    return [f"{shared} {first[-1]}", f"{shared} {last}"] if is_bare and is_plain else []


def _of_subjects(chunks: Sequence[str]) -> list[str]:
    """Return what is said of several subjects, of each."""
    words = chunks[-1].split()
    verb = _verb_at(words) or next((n for n, word in enumerate(words) if word in _SINGULAR), 0)
    subjects = [*chunks[:-1], " ".join(words[:verb])]
    kinds = {_kind(subject.split()[0]) for subject in subjects if subject}
    opening = chunks[0].split()[0].lower()
    introduces = word_set("prepositions") | word_set("connectives") | word_set("adverbs")
    if not verb or len(subjects) < _LEAST_ITEMS or len(kinds) > 1 or opening in introduces:
        return []
    predicate = [_SINGULAR.get(words[verb], words[verb]), *words[verb + 1 :]]
    return [" ".join([subject, *predicate]) for subject in subjects]


def _shared(first: Sequence[str], item: Sequence[str]) -> str:
    """Return the words that an item shares: to the verb, or to a preposition before its like."""
    verb = _verb_at(first)
    prepositions = word_set("prepositions") - {"of"}
    for at in range(len(first) - 2, verb, -1):
        if first[at] in prepositions and _kind(first[at + 1]) == _kind(item[0]):
            return " ".join(first[: at + 1])
    return " ".join(first[: verb + 1])


def _kind(word: str) -> str:
    if any(map(str.isdigit, word)):
        return "number"
    if word.lower() in word_set("determiners") | {"the"}:
        return "determiner"
    return "name" if any(map(str.isupper, word)) else "word"


@cache
def _past_forms() -> frozenset[str]:
    """Return the irregular pasts: built, wrote, held."""
    forms = {form for line in lines("irregular.txt") for form in line.split()[1:]}
    return frozenset(form for form in forms if not form.endswith(("s", "ing")))


@cache
def _verb_stems() -> frozenset[str]:
    """Return the stems of which the frequent words have both -ing and a past."""
    of = {
        ending: {stem(word) for word in zipf_frequencies() if word.endswith(ending)}
        for ending in ("ing", "ed")
    }
    irregular = {stem(line.split()[0]) for line in lines("irregular.txt")}
    return frozenset(of["ing"] & (of["ed"] | irregular))
