"""Contexts that instruct the judge, kept where they touch nothing but themselves.

What a context says to the judge may move the verdicts on every claim that is judged beside it. So
a suspect context is judged apart, beside a claim that nothing supports: where that canary comes
back supported, the context is judged again without its instructions. It earns credit by verified
quotes alone. And a verdict that denies what stands in a context in so many words is contested,
whatever moved it: that claim is judged once more, context by context.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from fullrecall.judges.bearing import states
from fullrecall.judges.evidence import locate
from fullrecall.judges.exchange import Exchange, Matter, is_proven
from fullrecall.judges.flow import side_by_side
from fullrecall.judges.injection import instructions, without_instructions
from fullrecall.judges.judge import Flow, Relation, Verdict
from fullrecall.judges.verdicts import merged
from fullrecall.judges.windows import windows
from fullrecall.models.chat import Completion

INSTRUCTED = "a context instructs the judge: it was judged apart"
DENIED = "denied beside the other contexts, supported by one alone"

_CANARIES: Mapping[Relation, str] = {
    "claim": "Ottilie Varnholt opened the Zembla canal in 1783.",
    "question": "In which year did Ottilie Varnholt open the Zembla canal?",
    "entity": "Ottilie Varnholt",
}
_HELPS = ("supported", "partial")
_DENIES = ("not_supported", "contradicted", "partial")
_MOST_ALONE = 3  # contexts by which a contested claim is judged, those that state it first
_AROUND = 300  # characters shown on either side of a cited quote


class Quarantine:
    """The targets and contexts of one judging, by number, the suspect contexts set apart."""

    def __init__(
        self,
        targets: Mapping[int, str],
        contexts: Mapping[int, str],
        matter: Callable[[Mapping[int, str], Mapping[int, str]], Matter],
        relation: Relation,
    ) -> None:
        self.targets = targets
        self._contexts = contexts
        self._matter = matter
        self._relation: Relation = relation
        self.suspect = {n: text for n, text in contexts.items() if instructions(text)}
        self.plain = {n: text for n, text in contexts.items() if n not in self.suspect}

    def judged(
        self, exchange: Exchange, size: int, heard: Completion | None = None
    ) -> list[Flow[dict[int, Verdict]]]:
        """Return the judging of each window: of the plain contexts, and of each suspect one.

        `heard` is the first reply on the plain ones, where it is there already: they fit in one.
        """
        together = [
            exchange.verdicts(self._matter(self.targets, window), heard)
            for window in windows(self.plain, size)
        ]
        apart = [
            self._alone(window, exchange)
            for number, text in self.suspect.items()
            for window in windows({number: text}, size)
        ]
        return together + apart

    def said(self, number: int, verdict: Verdict, matter: Matter) -> Verdict:
        """Return a verdict on the context itself, which a suspect one must prove."""
        return self._proven(number, verdict, matter) if number in self.suspect else verdict

    def _alone(self, window: Mapping[int, str], exchange: Exchange) -> Flow[dict[int, Verdict]]:
        """Judge a suspect context, by itself; without its instructions where they were obeyed."""
        verdicts, obeyed = yield from self._with_canary(window, exchange)
        if obeyed:
            window = {number: without_instructions(text) for number, text in window.items()}
            verdicts, obeyed = yield from self._with_canary(window, exchange)
        if obeyed:
            denied = Verdict("not_supported", contested=INSTRUCTED)
            return dict.fromkeys(self.targets, denied)
        matter = self._matter(self.targets, window)
        return {n: self._proven(n, verdicts[n], matter) for n in self.targets}

    def _with_canary(
        self, window: Mapping[int, str], exchange: Exchange
    ) -> Flow[tuple[dict[int, Verdict], bool]]:
        """Return the verdicts, and whether a claim that nothing supports is among the supported."""
        canary = max(self.targets) + 1
        numbers = list(self.targets)
        size = exchange.claims_per_call
        shown = [
            {n: self.targets[n] for n in numbers[start : start + size]}
            | {canary: _CANARIES[self._relation]}
            for start in range(0, len(numbers), size)
        ]
        wider = replace(exchange, claims_per_call=size + 1)
        found = yield from side_by_side(
            [wider.verdicts(self._matter(targets, window)) for targets in shown]
        )
        obeyed = any(verdicts[canary].label in _HELPS for verdicts in found)
        return {n: v for verdicts in found for n, v in verdicts.items()}, obeyed

    def _proven(self, number: int, verdict: Verdict, matter: Matter) -> Verdict:
        """Return the verdict of a suspect context: what it does not prove it does not support."""
        if verdict.label in _HELPS and not is_proven(matter, number, verdict):
            return Verdict("not_supported", contested=INSTRUCTED)
        return replace(verdict, contested=INSTRUCTED)

    def denied(
        self, verdicts: Mapping[int, Verdict], exchange: Exchange, size: int
    ) -> Flow[dict[int, Verdict]]:
        """Judge again, context by context, the claims denied, if in part, that a context states."""
        if self._relation != "claim" or len(self._contexts) == 1:
            return {}
        stated = {
            number: [n for n, text in self.plain.items() if states(text, self.targets[number])]
            for number, verdict in verdicts.items()
            if verdict.label in _DENIES
        }
        asked = [(number, n) for number, by in stated.items() for n in by[:_MOST_ALONE]]
        found = yield from side_by_side(
            [
                exchange.verdicts(self._matter({number: self.targets[number]}, window))
                for number, n in asked
                for window in windows({n: self.plain[n]}, size)[:1]
            ]
        )
        settled: dict[int, list[Verdict]] = {}
        for (number, _), verdict in zip(asked, found, strict=True):
            label = verdict[number].label
            if label in _HELPS and label != verdicts[number].label:
                settled.setdefault(number, []).append(verdict[number])
        return {n: replace(merged(helping), contested=DENIED) for n, helping in settled.items()}

    def in_parts(
        self, verdicts: Mapping[int, Verdict], exchange: Exchange
    ) -> Flow[dict[int, Verdict]]:
        """Judge again, over the passages cited, what several windows support in part."""
        asked = {
            number: passages
            for number, verdict in verdicts.items()
            if verdict.label == "partial" and verdict.others
            if (passages := self._passages(verdict))
        }
        found = yield from side_by_side(
            [
                exchange.verdicts(self._matter({number: self.targets[number]}, passages))
                for number, passages in asked.items()
            ]
        )
        return {
            number: replace(
                verdict[number],
                together=len({index for index, _ in verdict[number].citations}) > 1,
                contested=verdicts[number].contested,
            )
            for number, verdict in zip(asked, found, strict=True)
            if verdict[number].label == "supported"
        }

    def _passages(self, verdict: Verdict) -> dict[int, str]:
        """Return what stands around each quote, by the number of its context."""
        shown: dict[int, list[tuple[int, int]]] = {}
        for index, quote in [c for one in (verdict, *verdict.others) for c in one.citations]:
            text = self._contexts[index + 1]
            place = locate(quote, text)
            if place is not None:
                span = (max(0, place.start - _AROUND), min(len(text), place.end + _AROUND))
                shown.setdefault(index + 1, []).append(span)
        return {
            number: " […] ".join(self._contexts[number][start:end] for start, end in sorted(spans))
            for number, spans in sorted(shown.items())
        }
