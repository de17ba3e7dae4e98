"""Ask a model until each target has a valid verdict, or no attempts are left."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from typing import Literal, TypeAlias

from fullrecall.judge.judge import Ask, Citation, Flow, Verdict
from fullrecall.judge.language import Aim
from fullrecall.judge.models.chat import ChatModel, ChatRequest, Completion
from fullrecall.judge.prompts import Prompts
from fullrecall.judge.quotes import Quotes
from fullrecall.judge.replies import verdict_objects
from fullrecall.judge.verdicts import checked

Verification: TypeAlias = Literal["rules", "model"]

_BOUNDARIES = (re.compile(r"\n\s*\n"), re.compile(r"(?<=[.!?。！？])\s+|\n"), re.compile(r"\s+"))  # noqa: RUF001
"""The places at which a long context is cut: a paragraph, else a sentence, else a word."""

_TELLS = 3
"""The fewest words of a quote that identify its context; other contexts may have a shorter one."""


@dataclass(frozen=True)
class Matter:
    """The content of one request: numbered `targets`, and numbered contexts as `window`.

    `request` takes some of the targets and some of the contexts, and returns the request to the
    model. With the aim "context", the targets are contexts, and each verdict may cite only its own
    context. If a request has no contexts, its verdicts have no citations.
    """

    targets: Mapping[int, str]
    window: Mapping[int, str]
    request: Callable[[Mapping[int, str], Mapping[int, str]], ChatRequest]
    aim: Aim = "claim"

    @cached_property
    def _quotes(self) -> Quotes:
        return Quotes({number - 1: text for number, text in self.window.items()})

    def proves(self, number: int, verdict: Verdict) -> bool:
        """Return whether a quote proves a verdict; with `together`, whether all its quotes do."""
        return self._quotes.prove(verdict, self.targets[number], self.aim)

    def read(self, completion: Completion, numbers: Sequence[int]) -> dict[int, Verdict]:
        """Return a verdict for each number.

        If a failed reply has no valid verdict for a number, the failure is the verdict's problem.
        """
        if completion.failure and completion.failure.is_final:
            return {number: Verdict(None, problem=completion.problem) for number in numbers}
        verdicts = checked(
            verdict_objects(completion.text),
            {number: self.targets[number] for number in numbers},
            self.window or None,
            on_itself=self.aim == "context",
        )
        for number, verdict in verdicts.items():
            if verdict.label is None and completion.failure is not None:
                verdicts[number] = Verdict(None, problem=completion.problem)
            elif verdict.citations and (problem := self._misplaced(verdict)):
                verdicts[number] = Verdict(None, problem=problem)
        return verdicts

    def _misplaced(self, verdict: Verdict) -> str:
        """Return the problem of a citation that names the wrong context, or ""."""
        quotes = self._quotes
        if len(self.window) == 1 or self.aim == "context":
            return ""
        for citation in verdict.citations:
            index, quote = citation
            # First search for an exact copy: most quotes are exact, and no context must be folded.
            is_short = len(quote.split()) < _TELLS
            if is_short or quote in quotes.contexts[index] or quotes.located(citation):
                continue
            holding = (n for n in quotes.contexts if quotes.located(Citation(n, quote)))
            elsewhere = next(holding, None)
            if elsewhere is not None:
                return f"the judge's quote is in context {elsewhere + 1}, not in {index + 1}"
        return ""

    def unproven(self, number: int, verdict: Verdict) -> str:
        """Return the complaint about a supporting verdict without a verified quote, or ""."""
        if not verdict.helps or self.proves(number, verdict):
            return ""
        objections = [
            self._quotes.objection(citation, verdict, self.targets[number], self.aim)
            for citation in verdict.citations
        ]
        reason = next(filter(None, objections))
        index, quote = verdict.citations[objections.index(reason)]
        shown = f"the quote {quote[:60]!r}" if quote.strip() else "an empty quote"
        return (
            f"{shown} from context {index + 1} {reason}: replace it by other words of that "
            "context that state the claim, verbatim, or change the verdict"
        )


@dataclass(frozen=True)
class Exchange:
    """Asks a model for verdicts. `LLMJudge` documents the options."""

    model: ChatModel
    claims_per_call: int = 20
    window: int = 60_000
    reasks: int = 2
    prompts: Prompts = field(default_factory=Prompts)
    sample: int = 0
    requote: bool = False
    verify: Verification = "rules"

    def verdicts(
        self, matter: Matter, is_void: Callable[[Mapping[int, Verdict]], bool] = lambda _: False
    ) -> Flow[dict[int, Verdict]]:
        """Return a verdict for each target; without a valid reply, it has only a `problem`.

        After each round of requests, `is_void` gets the verdicts so far. If it returns True, the
        judge does not ask again about targets without a valid verdict.
        """
        verdicts: dict[int, Verdict] = {}
        problems = dict.fromkeys(matter.targets, "")
        requoted: set[int] = set()
        requotes = self.requote and self.verify == "rules"
        # `requote` is a separate option: it asks once more for a quote even if `reasks` is 0.
        for again in range(max(self.reasks, int(requotes)) + 1):
            groups = groups_of(list(problems), self.claims_per_call)
            # Read each reply once, both to accept it and to get its verdicts.
            readers = [lru_cache(maxsize=1)(partial(matter.read, numbers=g)) for g in groups]
            completions = yield [
                Ask(self.model, self._request(matter, group, problems, again), _accepting(read))
                for group, read in zip(groups, readers, strict=True)
            ]
            problems = {}
            for read, completion in zip(readers, completions, strict=True):
                is_final = completion.failure is not None and completion.failure.is_final
                for number, verdict in read(completion).items():
                    unproven = matter.unproven(number, verdict) if requotes else ""
                    if number in requoted:  # a valid new verdict counts, else the earlier one
                        if verdict.label is not None and not unproven:
                            verdicts[number] = verdict
                        continue
                    verdicts[number] = verdict
                    if not is_final and (verdict.label is None or unproven):
                        problems[number] = unproven or verdict.problem
                    if not is_final and unproven:
                        requoted.add(number)
            if not problems or is_void(verdicts):
                break
        return verdicts

    def _request(
        self, matter: Matter, group: Sequence[int], problems: Mapping[int, str], again: int
    ) -> ChatRequest:
        request = matter.request(
            {number: matter.targets[number] for number in group}, matter.window
        )
        known_problems = {number: problems[number] for number in group if problems[number]}
        if known_problems:
            request = self.prompts.asked_again(request, known_problems, items=f"{matter.aim}s")
        # `again` is part of the request's key, so that the store keeps the answer to each attempt.
        if again or self.sample:
            request = replace(request, again=again, sample=self.sample)
        return request


def _accepting(read: Callable[[Completion], Mapping[int, Verdict]]) -> Callable[[Completion], bool]:
    """Return a function that tells whether a reply has a valid verdict and should be stored."""
    return lambda completion: any(verdict.label for verdict in read(completion).values())


def groups_of(numbers: Sequence[int], size: int) -> list[Sequence[int]]:
    """Return the numbers in groups of at most `size`, in order."""
    return [numbers[start : start + size] for start in range(0, len(numbers), size)]


def windows(contexts: Mapping[int, str], size: int) -> list[dict[int, str]]:
    """Return windows of at most `size` characters, each `{number: text}`, in order.

    Each window has as many whole contexts as fit. A context that is longer than a window is cut
    after a paragraph, a sentence or a word. No window has two parts of the same context.
    """
    packed: list[dict[int, str]] = []
    room = 0
    for number, text in contexts.items():
        parts = [text] if len(text) <= size else _parts(text, size)
        for part in parts:
            # A second part of a context would replace the first part in the same window.
            if not packed or len(part) > room or number in packed[-1]:
                packed.append({})
                room = size
            packed[-1][number] = part
            room -= len(part)
    return packed


def _parts(text: str, size: int) -> list[str]:
    """Cut a text into windows, each at the best boundary in its second half."""
    parts = []
    while len(text) > size:
        # Search only the second half of each window, so that every window is at least half full.
        # Each pattern then reads each character about once.
        ends = (
            [match.end() for match in boundary.finditer(text, size // 2, size)]
            for boundary in _BOUNDARIES
        )
        cut = next(filter(None, ends), [size])[-1]
        parts.append(text[:cut])
        text = text[cut:]
    return [*parts, text] if text else parts
