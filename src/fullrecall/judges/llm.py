"""The judge that asks a model, held to the verdict contract."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

from fullrecall.errors import JudgeError, ParameterError
from fullrecall.judges.flow import side_by_side
from fullrecall.judges.prompts import Prompts
from fullrecall.judges.protocols import (
    Ask,
    ChatModel,
    ChatRequest,
    Completion,
    Flow,
    Kind,
    Relation,
    Verdict,
)
from fullrecall.judges.replies import text_items, verdict_objects
from fullrecall.judges.verdicts import checked, merged
from fullrecall.judges.windows import windows

_MOST_SPLITS = 10_000
"""Texts of which is remembered how they were split: the judge stays small, whatever it judged."""


@dataclass(frozen=True)
class LLMJudge:
    """Judges with a chat model: contexts first, targets numbered, one verdict for each.

    - `claims_per_call`: targets in one request; more are asked in several.
    - `window`: characters of contexts in one request; more are judged window by window, and any
      window supports.
    - `reasks`: how often targets without a valid verdict are asked for again. What is still
      wrong then is unscored.
    - `prompts`: the instructions, to reword or translate.
    - `sample`: tells apart several judgings by one model, for a panel.
    """

    model: ChatModel
    claims_per_call: int = 20
    window: int = 60_000
    reasks: int = 2
    prompts: Prompts = field(default_factory=Prompts)
    sample: int = 0
    _splits: dict[tuple[Kind, str], tuple[Completion, ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if not isinstance(self.model, ChatModel):
            raise ParameterError(
                "model is a ChatModel (name, complete, acomplete), such as OpenAIChatModel(…) of "
                f"fullrecall.judges.openai; got {type(self.model).__name__}"
            )
        for name, least in (("claims_per_call", 1), ("window", 100), ("reasks", 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or value < least:
                raise ParameterError(f"{name} is a whole number >= {least}, got {value!r}")

    @property
    def name(self) -> str:
        """Model and prompt version."""
        sampled = f",sample={self.sample}" if self.sample else ""
        how = f"{self.claims_per_call}/{self.window}/{self.reasks}"
        return f"llm:{self.model.name}:prompts-{self.prompts.name}:{how}{sampled}"

    def split(self, text: str, *, kind: Kind) -> Flow[Sequence[str]]:
        """Return the parts of `text`; each text is split once, and the parts are kept.

        Raises `JudgeError` where the model gives none, with the reason.
        """
        request = self.prompts.split(text, kind=kind)
        told = self._splits.get((kind, text), ())
        heard: list[Completion] = []
        problem = ""
        for again in range(self.reasks + 1):
            known = told[again] if again < len(told) else None
            (completion,) = yield [Ask(self.model, _asked(request, again), _lists_items, known)]
            heard.append(completion)
            items = None if completion.failure else text_items(completion.text)
            if items:
                # Two samples may have asked at the same time: the first answer is everyone's.
                first = self._remembered(kind, text, heard)[-1]
                return tuple(items if first is completion else text_items(first.text) or items)
            problem = completion.problem or (
                "the model's reply lists nothing"
                if items is not None
                else "the model's reply is no JSON list of items"
            )
            if completion.failure and completion.failure.is_final:
                break
        raise JudgeError(f"the text could not be split into {kind}: {problem}")

    def _remembered(
        self, kind: Kind, text: str, heard: Sequence[Completion]
    ) -> tuple[Completion, ...]:
        """Keep what the model made of a text; return what was kept first. The last texts stay."""
        told = self._splits.setdefault((kind, text), tuple(heard))
        with suppress(KeyError, RuntimeError, StopIteration):  # another thread does the same
            while len(self._splits) > _MOST_SPLITS:
                del self._splits[next(iter(self._splits))]
        return told

    def attribute(
        self,
        targets: Sequence[str],
        contexts: Sequence[str],
        *,
        question: str | None = None,
        relation: Relation = "claim",
    ) -> Flow[Sequence[Verdict]]:
        """Return one verdict per target, in order."""

        def request(numbers: Sequence[int], window: Mapping[int, str]) -> ChatRequest:
            asked = {number: targets[number - 1] for number in numbers}
            return self.prompts.attribution(asked, window, question=question, relation=relation)

        numbers = range(1, len(targets) + 1)
        found = yield from side_by_side(
            [self._judged(numbers, window, request) for window in windows(contexts, self.window)]
        )
        return [merged([verdicts[number] for verdicts in found]) for number in numbers]

    def relevance(
        self, contexts: Sequence[str], *, question: str | None, reference: str | None
    ) -> Flow[Sequence[Verdict]]:
        """Return one verdict per context, in order."""

        def request(numbers: Sequence[int], window: Mapping[int, str]) -> ChatRequest:
            asked = {number: window[number] for number in numbers}
            return self.prompts.relevance_of(asked, question=question, reference=reference)

        found = yield from side_by_side(
            [
                self._judged(list(window), window, request, on_itself=True)
                for window in windows(contexts, self.window)
            ]
        )
        return [
            merged([verdicts[number] for verdicts in found if number in verdicts])
            for number in range(1, len(contexts) + 1)
        ]

    def _judged(
        self,
        numbers: Sequence[int],
        window: Mapping[int, str],
        request: Callable[[Sequence[int], Mapping[int, str]], ChatRequest],
        *,
        on_itself: bool = False,
    ) -> Flow[dict[int, Verdict]]:
        """Ask about `numbers` until each has a valid verdict, or the re-asks are used up."""
        verdicts: dict[int, Verdict] = {}
        pending = list(numbers)
        for again in range(self.reasks + 1):
            groups = [
                pending[start : start + self.claims_per_call]
                for start in range(0, len(pending), self.claims_per_call)
            ]
            completions = yield [
                Ask(
                    self.model,
                    _asked(request(group, window), again, self.sample),
                    partial(_holds_a_verdict, asked=group, window=window, on_itself=on_itself),
                )
                for group in groups
            ]
            pending = []
            for group, completion in zip(groups, completions, strict=True):
                verdicts |= _read(completion, group, window, on_itself=on_itself)
                if not (completion.failure and completion.failure.is_final):
                    pending += [number for number in group if verdicts[number].label is None]
            if not pending:
                break
        return verdicts


def _asked(request: ChatRequest, again: int, sample: int = 0) -> ChatRequest:
    return replace(request, again=again, sample=sample) if again or sample else request


def _lists_items(completion: Completion) -> bool:
    return completion.failure is None and bool(text_items(completion.text))


def _holds_a_verdict(
    completion: Completion, *, asked: Sequence[int], window: Mapping[int, str], on_itself: bool
) -> bool:
    """Whether a reply has a valid verdict at all: what it lacks is asked for in other words."""
    verdicts = _read(completion, asked, window, on_itself=on_itself)
    return any(verdict.label for verdict in verdicts.values())


def _read(
    completion: Completion, asked: Sequence[int], window: Mapping[int, str], *, on_itself: bool
) -> dict[int, Verdict]:
    """Return a verdict for each number; a failed completion's reason where it holds none."""
    if completion.failure and completion.failure.is_final:
        return {number: Verdict(None, problem=completion.problem) for number in asked}
    objects = verdict_objects(completion.text)
    verdicts = checked(objects, asked, window, on_itself=on_itself)
    if completion.failure is None:
        return verdicts
    return {
        number: verdict if verdict.label else Verdict(None, problem=completion.problem)
        for number, verdict in verdicts.items()
    }
