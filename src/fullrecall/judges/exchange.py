"""One matter put to a model until each target has a valid verdict, or the re-asks are used up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from fullrecall.judges.bearing import Aim
from fullrecall.judges.evidence import locate
from fullrecall.judges.judge import Ask, Flow, Verdict
from fullrecall.judges.prompts import Prompts
from fullrecall.judges.quotes import Quotes
from fullrecall.judges.replies import verdict_objects
from fullrecall.judges.verdicts import checked
from fullrecall.models.chat import ChatModel, ChatRequest, Completion

_TELLS = 3
"""Words of a quote that stands in another context than the one cited, to be no accident."""


class Matter(NamedTuple):
    """What is asked: numbered targets, the numbered contexts shown, and the words for it.

    With `on_itself` a verdict is on a context, and may cite that one only. Without contexts it
    cites none.
    """

    targets: Mapping[int, str]
    window: Mapping[int, str]
    request: Callable[[Mapping[int, str], Mapping[int, str]], ChatRequest]
    items: str
    aim: Aim = "claim"
    on_itself: bool = False


@dataclass(frozen=True)
class Exchange:
    """How a model is asked; `requote` asks once more for a replacement of a quote that is none."""

    model: ChatModel
    prompts: Prompts
    claims_per_call: int
    reasks: int
    sample: int = 0
    requote: bool = False

    def verdicts(
        self,
        matter: Matter,
        heard: Completion | None = None,
        is_void: Callable[[Mapping[int, Verdict]], bool] = lambda _: False,
    ) -> Flow[dict[int, Verdict]]:
        """Return a verdict for each target; one without a valid verdict has a problem.

        `heard` is the first reply, on all targets, where it is there already. Nothing is asked
        again of verdicts that are void.
        """
        window = _Window(matter)
        verdicts: dict[int, Verdict] = {}
        problems = dict.fromkeys(matter.targets, "")
        requoted: set[int] = set()
        for again in range(max(self.reasks, int(self.requote)) + 1):
            groups = groups_of(list(problems), self.claims_per_call)
            if heard is not None and not again:
                completions: Sequence[Completion] = [heard]
            else:
                completions = yield [self._ask(window, group, problems, again) for group in groups]
            problems = {}
            for group, completion in zip(groups, completions, strict=True):
                read = window.read(completion, group)
                verdicts |= {
                    n: v for n, v in read.items() if n not in requoted or window.mends(n, v)
                }
                if completion.failure and completion.failure.is_final:
                    continue
                fresh = {n: v for n, v in read.items() if n not in requoted}
                problems |= {n: v.problem for n, v in fresh.items() if v.label is None}
                if self.requote:
                    unproven = {n: window.unproven(n, v) for n, v in fresh.items()}
                    problems |= {n: reason for n, reason in unproven.items() if reason}
                    requoted |= {n for n, reason in unproven.items() if reason}
            if not problems or is_void(verdicts):
                break
        return verdicts

    def _ask(
        self, window: _Window, group: Sequence[int], problems: Mapping[int, str], again: int
    ) -> Ask:
        matter = window.matter
        targets = {number: matter.targets[number] for number in group}
        request = matter.request(targets, matter.window)
        known_problems = {number: problems[number] for number in group if problems[number]}
        if known_problems:
            request = self.prompts.asked_again(request, known_problems, items=matter.items)
        if again or self.sample:
            request = replace(request, again=again, sample=self.sample)
        holds = partial(_holds_a_verdict, numbers=tuple(group), window=window)
        return Ask(self.model, request, holds)


class _Window:
    """The contexts of a matter, each prepared once to look quotes up in, and its replies."""

    def __init__(self, matter: Matter) -> None:
        self.matter = matter
        self.quotes = _quotes(matter)
        self._heard: dict[tuple[int, ...], tuple[Completion, dict[int, Verdict]]] = {}

    def read(self, completion: Completion, numbers: Sequence[int]) -> dict[int, Verdict]:
        """Return a verdict for each number; a failed completion's reason where it holds none.

        A reply is read once, by whoever asks first: whether it is accepted, or what it says.
        """
        heard, verdicts = self._heard.get(tuple(numbers), (None, {}))
        if heard != completion:
            verdicts = self._verdicts(completion, numbers)
            self._heard[tuple(numbers)] = completion, verdicts
        return verdicts

    def _verdicts(self, completion: Completion, numbers: Sequence[int]) -> dict[int, Verdict]:
        if completion.failure and completion.failure.is_final:
            return {number: Verdict(None, problem=completion.problem) for number in numbers}
        matter = self.matter
        verdicts = checked(
            verdict_objects(completion.text),
            {number: matter.targets[number] for number in numbers},
            matter.window or None,
            on_itself=matter.on_itself,
        )
        for number, verdict in verdicts.items():
            if verdict.label is None and completion.failure is not None:
                verdicts[number] = Verdict(None, problem=completion.problem)
            elif verdict.citations and (problem := self.misplaced(verdict)):
                verdicts[number] = Verdict(None, problem=problem)
        return verdicts

    def misplaced(self, verdict: Verdict) -> str:
        """Return what shows that a citation names the wrong context; empty where nothing does."""
        if len(self.matter.window) == 1 or self.matter.on_itself:
            return ""
        for index, quote in verdict.citations:
            if quote in self.quotes.contexts[index] or len(quote.split()) < _TELLS:
                continue
            others = (other for other in self.quotes.contexts if other != index)
            stands = (n for n in others if locate(quote, self.quotes.folded(n), least=1.0))
            elsewhere = next(stands, None)
            if elsewhere is not None and locate(quote, self.quotes.folded(index)) is None:
                return f"the judge's quote stands in context {elsewhere + 1}, not in {index + 1}"
        return ""

    def mends(self, number: int, verdict: Verdict) -> bool:
        """Whether the answer to a request for a quote is one: the quote, or another verdict."""
        return verdict.label is not None and not self.unproven(number, verdict)

    def unproven(self, number: int, verdict: Verdict) -> str:
        """Return what to say of a verdict that lacks a verified quote; empty where it has one."""
        target, aim = self.matter.targets[number], self.matter.aim
        if not verdict.helps or self.quotes.prove(verdict, target, aim):
            return ""
        objections = [self.quotes.objection(c, verdict, target, aim) for c in verdict.citations]
        reason = next(filter(None, objections))
        index, quote = verdict.citations[objections.index(reason)]
        shown = f"the quote {quote[:60]!r}" if quote.strip() else "an empty quote"
        return (
            f"{shown} from context {index + 1} {reason}: replace it by other words of that "
            "context that state the claim, verbatim, or change the verdict"
        )


def is_proven(matter: Matter, number: int, verdict: Verdict) -> bool:
    """Whether a verdict rests on a verified quote, or on all of its quotes if it needs them all."""
    return _quotes(matter).prove(verdict, matter.targets[number], matter.aim)


def _quotes(matter: Matter) -> Quotes:
    return Quotes({number - 1: text for number, text in matter.window.items()})


def groups_of(numbers: Sequence[int], size: int) -> list[Sequence[int]]:
    """Return numbers in groups of at most `size`, in order."""
    return [numbers[start : start + size] for start in range(0, len(numbers), size)]


def _holds_a_verdict(completion: Completion, *, numbers: Sequence[int], window: _Window) -> bool:
    """Whether a reply has a valid verdict at all: what it lacks is asked for in other words."""
    return any(verdict.label for verdict in window.read(completion, numbers).values())
