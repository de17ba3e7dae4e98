"""Make one detail of true claims false; a careful judge does not support the result.

The claims are the user's own, which the contexts support; each edit changes or adds a few words. So
no labels are needed, and each false claim that a judge still supports is an error of a known kind.

For a kind with a rule in the judge, the errors show how well the rule works. Most kinds have no
rule, and the errors show how carefully the judge reads.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import NamedTuple, TypeAlias

from fullrecall.lexical.words.data import table
from fullrecall.lexical.words.languages import language_of
from fullrecall.lexical.words.names import names
from fullrecall.lexical.words.numbers import MONTHS, may_stand_for, months, numbers
from fullrecall.lexical.words.opposites import as_written
from fullrecall.lexical.words.tokens import read_words

_AUXILIARY = re.compile(
    r"\b(?:is|are|was|were|has|have|had|can|could|will|would|may|must|should|does|did)\b(?! not\b)"
)
_NOT = re.compile(r"\b(?:not|never)\s+|n['’]t\b", re.IGNORECASE)  # noqa: RUF001
_TRIES = 50

Edit: TypeAlias = Callable[["_ClaimToEdit", random.Random], "str | None"]


class Falsified(NamedTuple):
    """A claim that the contexts support, a false version of it, and the detail that differs."""

    claim: str
    false: str
    detail: str
    contexts: tuple[str, ...]


class _ClaimToEdit(NamedTuple):
    """A claim to edit, its contexts, and the names that may replace a name in it."""

    text: str
    contexts: Sequence[str]
    other_names: Sequence[str]

    def replaced(self, start: int, end: int, new: str) -> str:
        """Return the text with `new` in place of the text between these offsets."""
        return self.text[:start] + new + self.text[end:]


def falsified(claims: Sequence[tuple[str, Sequence[str]]], *, seed: int = 0) -> Iterator[Falsified]:
    """Yield a false version of each claim for each edit that applies.

    `claims` are pairs of a claim and the contexts that support it. In languages other than English
    only numbers are changed, since the rules that find all other details are English.
    """
    chance = random.Random(seed)  # noqa: S311 - a choice that can be repeated, no secret
    # Sort the names, so that a seed draws the same ones in every process: the order of a set
    # differs.
    all_names = sorted({name.text for claim, _ in claims for name in names(claim) if name.is_sure})
    for text, contexts in claims:
        claim = _ClaimToEdit(text, contexts, all_names)
        is_english = language_of(text) in ("en", None)
        for detail, edit in edits().items():
            if not is_english and detail != "number":
                continue
            false = edit(claim, chance)
            if false is not None and false != text:
                yield Falsified(text, false, detail, tuple(contexts))


@cache
def edits() -> Mapping[str, Edit]:
    """Return the edits that make a claim false, by kind; an edit returns None if it does not apply.

    - number: replaces a number by one that is in no context.
    - number elsewhere: replaces a number by another number from the contexts.
    - month: replaces a month by one that is in no context.
    - name: replaces a name by a name from another claim; the new name is in no context.
    - role: exchanges two names.
    - negation: adds or removes a "not".
    - opposite: replaces a word by its opposite.
    - rival: replaces a word by another word of the same kind, such as another weekday.
    - The edits in `falsifications.json` add a phrase inside, before or after the claim, or replace
      a word, such as a unit or a scale.
    """
    listed: dict[str, dict[str, list[str]]] = table("falsifications.json")
    edit_of: dict[str, Edit] = {
        "number": _number,
        "number elsewhere": _number_elsewhere,
        "month": _month,
        "name": _name,
        "role": _role,
        "negation": _negation,
        "opposite": partial(_exchanged, replacements=as_written("opposites.txt")),
        "rival": partial(_exchanged, replacements=as_written("kinds.txt")),
    }
    for place in ("after auxiliary", "before", "after"):
        for kind, phrases in listed[place].items():
            edit_of[kind] = partial(_phrased, place=place, phrases=phrases)
    for kind, options in listed["exchanged"].items():
        groups: dict[str, list[str]] = {}
        for word, other in map(str.split, options):
            groups.setdefault(word, []).append(other)
        is_measure = kind in ("unit", "scale")
        edit_of[kind] = partial(_exchanged, replacements=groups, of_numbers=is_measure)
    return edit_of


def _number(claim: _ClaimToEdit, chance: random.Random) -> str | None:
    own = [number for number in numbers(claim.text) if number.in_digits]
    if not own:
        return None
    number = chance.choice(own)
    present = [other for text in (claim.text, *claim.contexts) for other in numbers(text)]
    for _ in range(_TRIES):
        # Draw no 0, so that "17" does not become "07", which is not a usual form.
        drawn = re.sub(r"\d", lambda _: str(chance.randint(1, 9)), number.text)
        if not any(may_stand_for(new, present) for new in numbers(drawn)):
            return claim.replaced(number.start, number.end, drawn)
    return None


def _number_elsewhere(claim: _ClaimToEdit, chance: random.Random) -> str | None:
    """Replace a number by another of its sort from the contexts; return None if there is none."""
    own = numbers(claim.text)
    pairs = [
        (number, other)
        for number in own
        for text in claim.contexts
        for other in numbers(text)
        if number.in_digits
        and other.in_digits
        and other.sort == number.sort
        and not may_stand_for(other, own)
    ]
    if not pairs:
        return None
    number, other = chance.choice(pairs)
    return claim.replaced(number.start, number.end, other.text)


def _month(claim: _ClaimToEdit, chance: random.Random) -> str | None:
    present = {month for text in (claim.text, *claim.contexts) for month in months(text)}
    own = [month.capitalize() for month in sorted(months(claim.text))]
    others = [month.capitalize() for month in MONTHS if month not in present]
    return _renamed(claim, own, others, chance)


def _name(claim: _ClaimToEdit, chance: random.Random) -> str | None:
    text = " ".join(claim.contexts)
    others = [name for name in claim.other_names if not _shares(name, text)]
    return _renamed(claim, _names(claim.text), others, chance)


def _renamed(
    claim: _ClaimToEdit, own: Sequence[str], others: Sequence[str], chance: random.Random
) -> str | None:
    """Return the claim with one of `own` replaced by one of `others`; None if no name fits.

    The new name has as many words as the old one, if possible. Names that share a word with the
    claim are not used.
    """
    others = [name for name in others if not _shares(name, claim.text)]
    if not own or not others:
        return None
    former = chance.choice(own)
    like = [name for name in others if len(name.split()) == len(former.split())] or others
    # Replace by a function, because a backslash in a replacement text would be an escape.
    return re.sub(rf"\b{re.escape(former)}\b", lambda _: chance.choice(like), claim.text, count=1)


def _role(claim: _ClaimToEdit, chance: random.Random) -> str | None:
    own = _names(claim.text)
    if len(own) < 2:  # noqa: PLR2004 - two to exchange
        return None
    former, other = sorted(chance.sample(own, 2), key=claim.text.index)
    start, end = claim.text.index(former), claim.text.index(other)
    between = claim.text[start + len(former) : end]
    return claim.replaced(start, end + len(other), other + between + former)


def _negation(claim: _ClaimToEdit, chance: random.Random) -> str | None:
    if _NOT.search(claim.text):
        return re.sub(r"\s+", " ", _NOT.sub("", claim.text, count=1))
    return _phrased(claim, chance, place="after auxiliary", phrases=["not"])


def _phrased(
    claim: _ClaimToEdit, chance: random.Random, *, place: str, phrases: Sequence[str]
) -> str | None:
    """Add a phrase after the auxiliary verb, before the claim, or at its end.

    Return None if the phrase should follow an auxiliary verb and the claim has none.
    """
    auxiliary = _AUXILIARY.search(claim.text)
    if place == "after auxiliary" and auxiliary is None:
        return None
    phrase = chance.choice(phrases)
    if place == "before":
        is_name = any(name.start == 0 for name in names(claim.text)) or claim.text[:2].isupper()
        return f"{phrase} {claim.text if is_name else claim.text[:1].lower() + claim.text[1:]}"
    body = claim.text.rstrip(" .!")
    end = auxiliary.end() if auxiliary and place == "after auxiliary" else len(body)
    return claim.replaced(end, end, f" {phrase}")


def _exchanged(
    claim: _ClaimToEdit,
    chance: random.Random,
    *,
    replacements: Mapping[str, Sequence[str]],
    of_numbers: bool = False,
) -> str | None:
    """Replace a word, but not a name, so that the statement becomes false; None if none fits."""
    words = [
        word
        for word in read_words(claim.text)
        if word.written in replacements and not (word.start and word.is_capitalised)
    ]
    if of_numbers:
        spans = [(number.start, number.end) for number in numbers(claim.text)]
        words = [w for w in words if any(start < w.start < end for start, end in spans)]
    if not words:
        return None
    word = chance.choice(words)
    new = chance.choice(replacements[word.written])
    return claim.replaced(word.start, word.end, new.capitalize() if word.is_capitalised else new)


def _names(text: str) -> list[str]:
    """Return each name of a text once, as written.

    Names of one or two letters, and names that are part of another one, are left out.
    """
    listed = list(dict.fromkeys(name.text for name in names(text) if len(name.text) > 2))  # noqa: PLR2004
    return [name for name in listed if not any(name != other and name in other for other in listed)]


def _shares(name: str, text: str) -> bool:
    return any(part in text for part in re.findall(r"\w{3,}", name) or [name])
