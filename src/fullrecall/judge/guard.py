"""Canaries: claims with known verdicts, which reveal contexts that manipulate verdicts.

An instruction in a context may change the verdict on every claim in the same request. So claims
with a known verdict are added: altered claims (claims of the request with a number or name that
occurs in no text) and two sentences copied from the contexts. If an altered claim is judged
supported, or a copy is denied, the whole reply is discarded. The contexts are then judged in
smaller groups, finally alone, each with new canaries. A context counts if its canaries get their
known verdicts; otherwise it is left out and reported.

This finds contexts that change every verdict. It does not find an instruction about specific
claims, or a page that states a false claim in its own words.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from fullrecall.judge.exchange import Exchange, Matter, groups_of
from fullrecall.judge.flow import side_by_side
from fullrecall.judge.hints import seems_to_instruct
from fullrecall.judge.judge import Flow, Verdict
from fullrecall.judge.language import Aim, language
from fullrecall.judge.verdicts import merged

_MOST_REQUESTS = 16
"""The most requests for one group of claims; contexts that are not judged by then are left out."""
_CLAIMS_PER_ALTERED = 5
_CLAIMS_A_TOPIC = 3
_MOST_CHANGED = 40  # at most so many claims of a request are altered; some become canaries
_COPIES = 2
_COPIED_WORDS = range(5, 41)
_READ = 2_000  # characters of a context that are searched for a sentence to copy
_INEXACT = re.compile(r"\b(?:about|above|around|below|least|most|nearly|over|than|to|under) $")
"""Words before a number, such as "over": with another number, the claim may be true, too."""
_DIGITS = re.compile(r"\d[\d.,]*")
_SYLLABLES = "bel dor fen gar hul kav lem mir nos pel rud sav tol ven wis zem".split()

APART = "a context seems to instruct the judge: it was judged apart"
UNPROVEN = "a context seems to instruct the judge, and the quote from it is not evidence"


class Guard:
    """Judges claims together with canaries; if a canary fails, judges contexts in smaller groups.

    `matter` has the targets and the request. `apart` says that the contexts seem to instruct the
    judge. Each verdict is then marked as `contested`, and a supporting verdict becomes
    `not_supported` if no quote proves it.
    """

    def __init__(self, exchange: Exchange, matter: Matter, *, apart: bool) -> None:
        self._size = exchange.claims_per_call
        self._exchange = exchange
        self._matter = matter
        self._apart = apart
        self.left_out: set[int] = set()
        """The numbers of the contexts that changed a canary's verdict, or that were not judged."""

    @cached_property
    def _with_canaries(self) -> Exchange:
        """An exchange whose requests have room for canaries; most samples never need it."""
        room = self._size + _most_altered(self._size) + _COPIES
        return replace(self._exchange, claims_per_call=room)

    def verdicts(self, window: Mapping[int, str]) -> Flow[dict[int, Verdict]]:
        """Return a verdict for each target, from the contexts that change no canary's verdict."""
        targets = self._matter.targets
        groups = groups_of(list(targets), self._size)
        judged = yield from side_by_side(
            [self._judged({n: targets[n] for n in group}, window) for group in groups]
        )
        return {number: verdict for group in judged for number, verdict in group.items()}

    def _judged(
        self, targets: Mapping[int, str], window: Mapping[int, str]
    ) -> Flow[dict[int, Verdict]]:
        waiting = [dict(window)]
        trusted: list[dict[int, Verdict]] = []
        left_out: list[int] = []
        requests = 0
        # Limit the requests: contexts full of instructions must not cost one request each.
        while windows := waiting[: _MOST_REQUESTS - requests]:
            waiting = waiting[len(windows) :]
            requests += len(windows)
            judged = yield from side_by_side(
                [self._among_canaries(targets, each) for each in windows]
            )
            for contexts, verdicts in zip(windows, judged, strict=True):
                if verdicts is not None:
                    trusted.append(verdicts)
                elif len(contexts) == 1:
                    left_out += contexts
                else:
                    waiting += _smaller(contexts)
        left_out += [number for contexts in waiting for number in contexts]
        self.left_out.update(left_out)
        shown = ", ".join(map(str, sorted(left_out)))
        which = f"context {shown} moves" if len(left_out) == 1 else f"contexts {shown} move"
        why = f"{which} every verdict: left out" if left_out else ""
        note = APART if self._apart else ""
        verdicts = {
            n: merged([each[n] for each in trusted] or [Verdict("not_supported")]) for n in targets
        }
        return {n: replace(v, contested=why or v.contested or note) for n, v in verdicts.items()}

    def _among_canaries(
        self, targets: Mapping[int, str], window: Mapping[int, str]
    ) -> Flow[dict[int, Verdict] | None]:
        """Return the verdicts of one request with canaries; None if a canary fails."""
        own = list(targets.values())
        # Use the texts as the seed, so that the request is always the same, and a store can answer
        # it.
        seed = json.dumps([*own, *window.values()])
        chance = random.Random(seed)  # noqa: S311 - repeatable, no secret
        altered, copies = _canaries(own, list(window.values()), self._matter.aim, chance)
        texts = [*own, *altered, *copies]
        shuffled_numbers = list(range(1, len(texts) + 1))
        # Shuffle: if the canaries came last, an instruction "except for the last two" would spare
        # them.
        chance.shuffle(shuffled_numbers)
        shuffled = dict(sorted(zip(shuffled_numbers, texts, strict=True)))
        altered_numbers = shuffled_numbers[len(own) : len(own) + len(altered)]
        copy_numbers = shuffled_numbers[len(own) + len(altered) :]

        def are_changed(verdicts: Mapping[int, Verdict]) -> bool:
            """Return whether a canary's verdict differs from the known one."""
            return any(verdicts[number].label == "supported" for number in altered_numbers) or any(
                verdicts[number].label in ("not_supported", "contradicted")
                for number in copy_numbers
            )

        matter = replace(self._matter, targets=shuffled, window=window)
        judged = yield from self._with_canaries.verdicts(matter, are_changed)
        # If no verdict has a label, the request failed, and this shows nothing about the contexts.
        is_answered = any(verdict.label for verdict in judged.values())
        if is_answered and (are_changed(judged) or not all(judged[n].label for n in copy_numbers)):
            return None
        return {
            target: self._proven(number, judged[number], matter)
            for target, number in zip(targets, shuffled_numbers, strict=False)
        }

    def _proven(self, number: int, verdict: Verdict, matter: Matter) -> Verdict:
        if self._apart and verdict.helps and not matter.proves(number, verdict):
            return Verdict("not_supported", contested=UNPROVEN)
        return verdict


def _smaller(window: Mapping[int, str]) -> list[dict[int, str]]:
    """Split the contexts of a request into smaller groups.

    Each context that seems to instruct the judge gets its own group, and the others share one. If
    none or all contexts seem to instruct the judge, return two halves.
    """
    suspect = [number for number, text in window.items() if seems_to_instruct(text)]
    if suspect and len(suspect) < len(window):
        rest = {number: text for number, text in window.items() if number not in suspect}
        return [rest, *({number: window[number]} for number in suspect)]
    listed, half = list(window.items()), len(window) // 2
    return [dict(listed[:half]), dict(listed[half:])]


def _canaries(
    targets: Sequence[str], contexts: Sequence[str], aim: Aim, chance: random.Random
) -> tuple[Sequence[str], Sequence[str]]:
    """Return claims that no context supports, and sentences copied from the contexts.

    For questions, return one question that no context answers, and no sentences.
    """
    all_text = "\n".join([*targets, *contexts])
    if aim == "question":
        opener, canal = _invented_name(chance), _invented_name(chance)
        canary_question = f"In which year did {opener} open the {canal} canal?"
        return (canary_question,), ()
    return _altered(targets, all_text, chance), _copies(targets, contexts, chance)


def _most_altered(claims: int) -> int:
    """Return the maximum number of altered claims for a number of claims: a third, rounded up."""
    return max(1, -(-claims // _CLAIMS_A_TOPIC))


def _altered(targets: Sequence[str], all_text: str, chance: random.Random) -> tuple[str, ...]:
    """Return claims of the request, each with a number or name replaced by one that is in no text.

    An instruction in a context may change only the verdicts about one topic. So the altered claims
    are chosen to share names with as many claims as possible. There is at least one altered claim
    for every five claims, if enough claims can be changed. If no claim can be changed, return an
    invented one.
    """
    claims = chance.sample(targets, len(targets))
    named = {
        claim: frozenset(key for name in language().names(claim) for key in name.keys)
        for claim in claims
    }
    # Choose altered claims by their names, so that they have many topics. If they are chosen at
    # random, 11% of the instructions about one topic succeed: no altered claim has that topic.
    changed = [_changed(claim, all_text, named, chance) for claim in claims[:_MOST_CHANGED]]
    changed = sorted((each for each in changed if each.text), key=lambda each: not each.has_number)
    chosen: list[_AlteredClaim] = []
    uncovered = {claim for claim in claims if named[claim]}
    while changed and len(chosen) < _most_altered(len(targets)):
        best = max(changed, key=lambda each: sum(bool(named[c] & each.names) for c in uncovered))
        covered = {claim for claim in uncovered if named[claim] & best.names}
        if not covered and len(chosen) >= max(1, len(targets) // _CLAIMS_PER_ALTERED):
            break
        changed.remove(best)
        uncovered -= covered
        chosen.append(best)
    if not chosen:
        opened = _absent_number(1700, all_text, chance)
        first, last, canal = (_invented_name(chance) for _ in range(3))
        return (f"{first} {last} opened the {canal} canal in {opened}.",)
    return tuple(each.text for each in chosen)


class _AlteredClaim(NamedTuple):
    """A claim with one change ("" if none is possible), and the names that it keeps.

    `has_number` says that a number was changed, not a name.
    """

    text: str
    names: frozenset[str] = frozenset()
    has_number: bool = False


def _changed(
    claim: str, all_text: str, named: Mapping[str, frozenset[str]], chance: random.Random
) -> _AlteredClaim:
    """Return a claim with a changed number; without a number, with its rarest name changed."""
    for number in language().numbers(claim):
        if number.value is not None and not _INEXACT.search(claim[: number.start]):
            new = str(_absent_number(number.value, all_text, chance))
            # Keep signs and units: $49, 5:30 pm.
            changed = _DIGITS.sub(new, number.text, count=1) if number.in_digits else new
            text = claim[: number.start] + changed + claim[number.end :]
            return _AlteredClaim(text, named[claim], has_number=True)
    own = language().names(claim)
    if not own:
        return _AlteredClaim("")
    rarest = min(own, key=lambda name: sum(bool(keys & set(name.keys)) for keys in named.values()))
    text = claim[: rarest.start] + _invented_name(chance) + claim[rarest.end :]
    return _AlteredClaim(text, named[claim] - set(rarest.keys))


def _absent_number(value: float, all_text: str, chance: random.Random) -> int:
    """Return a number that occurs in no text, somewhat larger than `value` but of similar size."""
    least = max(3, int(value))
    while True:
        new = least + chance.randint(3, 30 + least // 10)
        if str(new) not in all_text:
            return new
        least = new


def _invented_name(chance: random.Random) -> str:
    return "".join(chance.choices(_SYLLABLES, k=3)).title()


def _copies(
    targets: Sequence[str], contexts: Sequence[str], chance: random.Random
) -> tuple[str, ...]:
    """Return up to two sentences from the contexts, if possible from different ones."""
    copies: list[str] = []
    for context in chance.sample(contexts, len(contexts)) * _COPIES:
        if len(copies) == _COPIES:
            break
        candidates = [
            sentence
            for sentence in language().statements(context[:_READ])
            if len(sentence.split()) in _COPIED_WORDS
            and sentence in context
            and not seems_to_instruct(sentence)
            and sentence not in (*targets, *copies)
        ]
        if candidates:
            copies.append(chance.choice(candidates))
    return tuple(copies)
