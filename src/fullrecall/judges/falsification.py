"""True claims with one detail made false: what a judge that reads closely does not support.

The claims are the user's own, which the contexts support; each edit changes one word or two. So no
label is needed, and what a judge still supports is an error of a known kind.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias, get_args

from fullrecall.judges.sentences import sentences
from fullrecall.judges.words.frequencies import zipf_frequencies
from fullrecall.judges.words.languages import function_words, language_of
from fullrecall.judges.words.tokens import read_words

Detail: TypeAlias = Literal["number", "negation", "name", "confusion", "role"]
"""What is exchanged: a number for one that stands nowhere, a "not" put in or taken out, a name for
another text's (name) or for another one of its own contexts (confusion), two names for each other
(role)."""

DETAILS: tuple[Detail, ...] = get_args(Detail)

_NUMBER = re.compile(r"(?<![\w.,])\d+(?:[.,]\d+)*(?![\w]|[.,]\d)")
_NAME = re.compile(r"(?<![.!?]\s)(?<!^)\b[A-ZÀ-Þ][\w'’-]+(?:\s+[A-ZÀ-Þ][\w'’-]+)*")  # noqa: RUF001
_FIRST_NAME = re.compile(r"^(?:The\s+)?([A-ZÀ-Þ][\w'’-]+(?:\s+[A-ZÀ-Þ][\w'’-]+)*)")  # noqa: RUF001
_NOT = re.compile(r"\b(?:not|never)\s+|n['’]t\b", re.IGNORECASE)  # noqa: RUF001
_AUXILIARY = re.compile(
    r"\b(?:is|are|was|were|has|have|had|can|could|will|would|may|must|should|does|did)\b(?! not\b)"
)


class Falsified(NamedTuple):
    """A claim that the contexts support, the same with one detail changed, and which."""

    claim: str
    false: str
    detail: Detail
    contexts: tuple[str, ...]


def falsified(claims: Sequence[tuple[str, Sequence[str]]], *, seed: int = 0) -> Iterator[Falsified]:
    """Yield each claim with each detail that it has changed; claims come with their contexts.

    English only, but for numbers: negation and names are found by English forms.
    """
    chance = random.Random(seed)  # noqa: S311 - a choice that can be repeated, no secret
    names = sorted({name for claim, contexts in claims for name in _names(claim, contexts)})
    for claim, contexts in claims:
        for detail in DETAILS:
            if detail != "number" and language_of(claim) not in ("en", None):
                continue
            false = _EDITS[detail](claim, contexts, names, chance)
            if false is not None and false != claim:
                yield Falsified(claim, false, detail, tuple(contexts))


_Edit: TypeAlias = Callable[[str, Sequence[str], Sequence[str], random.Random], str | None]


def _number(
    claim: str, contexts: Sequence[str], names: Sequence[str], chance: random.Random
) -> str | None:
    del names
    found = list(_NUMBER.finditer(claim))
    if not found:
        return None
    match = chance.choice(found)
    there = {word.key for text in (claim, *contexts) for word in read_words(text)}
    for _ in range(50):
        other = "".join(str(chance.randint(1, 9)) if c.isdigit() else c for c in match[0])
        if next(read_words(other)).key not in there:
            return claim[: match.start()] + other + claim[match.end() :]
    return None


def _negation(
    claim: str, contexts: Sequence[str], names: Sequence[str], chance: random.Random
) -> str | None:
    del contexts, names, chance
    if _NOT.search(claim):
        return re.sub(r"\s+", " ", _NOT.sub("", claim, count=1))
    match = _AUXILIARY.search(claim)
    return claim[: match.end()] + " not" + claim[match.end() :] if match else None


def _name(
    claim: str, contexts: Sequence[str], names: Sequence[str], chance: random.Random
) -> str | None:
    text = " ".join(contexts)
    return _renamed(claim, contexts, [name for name in names if not _shares(name, text)], chance)


def _confusion(
    claim: str, contexts: Sequence[str], names: Sequence[str], chance: random.Random
) -> str | None:
    del names
    stated = (sentence for context in contexts for sentence in sentences(context))
    there = sorted({name for sentence in stated for name in _names(sentence, contexts)})
    return _renamed(claim, contexts, there, chance)


def _renamed(
    claim: str, contexts: Sequence[str], names: Sequence[str], chance: random.Random
) -> str | None:
    """Return the claim with one of its names exchanged for one of these, of as many words."""
    own = _names(claim, contexts)
    others = [name for name in names if not _shares(name, claim)]
    if not own or not others:
        return None
    mine = chance.choice(own)
    like = [name for name in others if len(name.split()) == len(mine.split())] or others
    return re.sub(rf"\b{re.escape(mine)}\b", lambda _: chance.choice(like), claim, count=1)


def _shares(name: str, text: str) -> bool:
    return any(part in text for part in re.findall(r"\w{3,}", name))


def _role(
    claim: str, contexts: Sequence[str], names: Sequence[str], chance: random.Random
) -> str | None:
    del names
    own = _names(claim, contexts)
    if len(own) < 2:  # noqa: PLR2004 - two to exchange
        return None
    one, other = sorted(chance.sample(own, 2), key=claim.index)
    start, end = claim.index(one), claim.index(other)
    between = claim[start + len(one) : end]
    return claim[:start] + other + between + one + claim[end + len(other) :]


_EDITS: Mapping[Detail, _Edit] = {
    "number": _number,
    "negation": _negation,
    "name": _name,
    "confusion": _confusion,
    "role": _role,
}


def _names(claim: str, contexts: Sequence[str]) -> list[str]:
    """Return the names of a claim, as far as capitals tell, in order, each once.

    A first word alone is one if it is no frequent English word, or if the contexts show it.
    """
    first = _FIRST_NAME.match(claim)
    found = [first[1]] if first and _is_name(first[1], contexts) else []
    found += [match[0] for match in _NAME.finditer(claim)]
    known = function_words("en")
    kept = [name for name in found if name.lower() not in known and len(name) > 2]  # noqa: PLR2004
    return [
        name
        for name in dict.fromkeys(kept)
        if not any(name != other and name in other for other in kept)
    ]


def _is_name(first: str, contexts: Sequence[str]) -> bool:
    if " " in first or first.lower() not in zipf_frequencies():
        return True
    return any(match[0] == first for context in contexts for match in _NAME.finditer(context))
