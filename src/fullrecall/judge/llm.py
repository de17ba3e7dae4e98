"""The judge that asks a model and checks each verdict of its replies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, repeat
from typing import Literal, TypeAlias, get_args

from fullrecall._util.parameters import check_choice, check_k
from fullrecall.errors import JudgeError, ParameterError
from fullrecall.judge.exchange import Exchange, Matter, Verification, windows
from fullrecall.judge.flow import side_by_side
from fullrecall.judge.guard import Guard
from fullrecall.judge.hints import seems_to_instruct, without_hints
from fullrecall.judge.judge import Ask, FactByFact, Flow, JudgeRequest, SplitKind, Verdict
from fullrecall.judge.models.chat import ChatModel, ChatRequest, Completion
from fullrecall.judge.replies import text_items
from fullrecall.judge.reviews import rejudged, verified
from fullrecall.judge.verdicts import merged

GuardMode: TypeAlias = Literal["hints", "canaries"]

_SplitKey = tuple[str, str, str | None]

INSTRUCTED = "a context seems to instruct the judge, and no other words of it help"

_MOST_SPLITS = 10_000
"""The most texts whose splits are kept, to limit memory."""


@dataclass(frozen=True)
class LLMJudge(Exchange, FactByFact):
    """Judges with a chat model, which returns one verdict for each numbered target.

    - `claims_per_call`: the most targets in one request; more targets take several requests.
    - `window`: the most characters of contexts in one request; longer contexts are judged window by
      window. Any window can support a target; partial support in two windows remains partial.
    - `reasks`: how often the judge asks again about targets without a valid verdict, naming the
      problem. A target that still has none is unscored.
    - `prompts`: the instructions to the model; replace them to reword or translate.
    - `sample`: the number of a repeated judgment, if one model is several members of a panel.
      Raises `ParameterError` if the model's temperature is 0, since all samples would be the same.
    - `requote`: asks once more for a quote that is not verified. `require_evidence` sets this.
    - `verify`: how quotes are checked. "rules" compares each quote with its claim by rules. "model"
      sends one more request for each sample, which shows only credited claims and their quotes.
    - `guard`: "canaries" adds claims with a known verdict to every request for claims. If a context
      changes these verdicts, the contexts are judged in smaller groups, and contexts that change
      every verdict are left out. "hints" does so only for contexts that seem to address the judge,
      which are judged separately.

    If the model denies a claim that a context states word for word, it is asked again about each
    such context. `Verdict.contested` reports contexts left out and a claim judged again.
    """

    guard: GuardMode = "hints"
    _splits: dict[_SplitKey, tuple[Completion, ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if not isinstance(self.model, ChatModel):
            raise ParameterError(
                "must be a ChatModel (name, complete, acomplete), such as "
                "OpenAIChatModel(…) of fullrecall.judge.models.openai, got "
                f"{type(self.model).__name__}",
                "model",
            )
        check_choice(self.verify, "verify", get_args(Verification))
        check_choice(self.guard, "guard", get_args(GuardMode))
        for name, least in (("claims_per_call", 1), ("window", 100), ("reasks", 0), ("sample", 0)):
            check_k(getattr(self, name), name, least=least)
        if self.sample and getattr(self.model, "temperature", None) == 0:
            raise ParameterError(
                f"must be 0 for a model at temperature 0, got {self.sample}: every sample "
                "is the same there; set the model's temperature above 0",
                "sample",
            )

    @property
    def name(self) -> str:
        """The model's name, the version of the prompts, and the options that affect verdicts."""
        options = (
            f",sample={self.sample}" if self.sample else "",
            ",requote" if self.requote else "",
            ",verify=model" if self.verify == "model" else "",
            ",guard=canaries" if self.guard == "canaries" else "",
        )
        how = f"{self.claims_per_call}/{self.window}/{self.reasks}{''.join(options)}"
        return f"llm:{self.model.name}:prompts-{self.prompts.name}:{how}"

    @property
    def quotes_by_rules(self) -> bool:
        """Whether rules alone decide if a quote is verified."""
        return self.verify == "rules"

    def __dask_tokenize__(self) -> tuple[str, str]:
        return type(self).__qualname__, self.name

    def requiring_quotes(self) -> LLMJudge:
        """Return this judge with `requote`, which asks once more for unverified quotes."""
        if self.requote:
            return self
        strict = replace(self, requote=True)
        # share the splits, so that each text is split once
        object.__setattr__(strict, "_splits", self._splits)
        return strict

    def split(
        self, text: str, *, kind: SplitKind, question: str | None = None
    ) -> Flow[Sequence[str]]:
        """Return the parts of `text`; each text is split once, and the parts are kept.

        Raises `JudgeError`, with the reason, if the model returns no parts.
        """
        request = self.prompts.split(text, kind=kind, question=question)
        key = (kind, text, question)
        # Reuse the first split: a second one may give other claims, and two reports by one judge
        # would then differ in their targets, not only in their retrieved contexts.
        past = self._splits.get(key, ())
        heard: list[Completion] = []
        problem = ""
        for again, known in zip(range(self.reasks + 1), chain(past, repeat(None)), strict=False):
            attempt = replace(request, again=again)
            (completion,) = yield [Ask(self.model, attempt, _lists_items, known)]
            heard.append(completion)
            items = None if completion.failure else text_items(completion.text)
            if items:
                # If two samples asked at the same time, both use the first answer.
                first = self._remembered(key, heard)[-1]
                return tuple(items if first is completion else text_items(first.text) or items)
            problem = completion.problem or (
                "the model's reply lists nothing"
                if items is not None
                else "the model's reply is not a JSON list of items"
            )
            if completion.failure and completion.failure.is_final:
                break
        raise JudgeError(f"the text could not be split into {kind}: {problem}")

    def _remembered(self, key: _SplitKey, heard: Sequence[Completion]) -> tuple[Completion, ...]:
        """Keep the first completions for a text and return them; drop old texts over the limit."""
        first = self._splits.setdefault(key, tuple(heard))
        with suppress(KeyError, RuntimeError, StopIteration):  # another thread may drop it first
            while len(self._splits) > _MOST_SPLITS:
                del self._splits[next(iter(self._splits))]
        return first

    def _judged(self, asked: JudgeRequest) -> Flow[Sequence[Verdict]]:
        targets, contexts, question, relation = asked
        matter = Matter(
            dict(enumerate(targets, start=1)),
            dict(enumerate(contexts, start=1)),
            partial(self.prompts.attribution, question=question, relation=relation),
            relation,
        )
        guard = Guard(self, matter, apart=self.guard == "hints")
        together, apart = self._windows(matter.window, hints=self.guard == "hints")
        by_window = yield from side_by_side(
            [
                guard.verdicts(window)
                if self.guard == "canaries"
                else self.verdicts(replace(matter, window=window))
                for window in together
            ]
            + [guard.verdicts(window) for window in apart]
        )
        verdicts = {n: merged([each[n] for each in by_window]) for n in matter.targets}
        heeded = {n: text for n, text in matter.window.items() if n not in guard.left_out}
        # A review finds claims that one context states, but that another context made the judge
        # deny. A single context needs no review.
        if relation == "claim" and len(contexts) > 1:
            heeding = replace(matter, window=heeded)
            verdicts |= yield from rejudged(verdicts, heeding, self)
        judged = list(verdicts.values())
        if self.verify == "rules":
            return judged
        return (yield from verified(judged, targets, contexts, self))

    def _windows(
        self, contexts: Mapping[int, str], *, hints: bool = True
    ) -> tuple[list[dict[int, str]], list[dict[int, str]]]:
        """Return the windows of ordinary contexts, and those of contexts that seem to instruct.

        Each such context has windows of its own. Without `hints`, all contexts are ordinary.
        """
        suspect = [n for n, text in contexts.items() if hints and seems_to_instruct(text)]
        together = {n: text for n, text in contexts.items() if n not in suspect}
        apart = [window for n in suspect for window in windows({n: contexts[n]}, self.window)]
        return windows(together, self.window), apart

    def relevance(
        self, contexts: Sequence[str], *, question: str | None, reference: str | None
    ) -> Flow[Sequence[Verdict]]:
        """Return one verdict per context, in order."""

        def request(shown: Mapping[int, str], _: Mapping[int, str]) -> ChatRequest:
            return self.prompts.relevance_of(shown, question=question, reference=reference)

        def matter(window: Mapping[int, str]) -> Matter:
            return Matter(window, window, request, "context")

        numbered = dict(enumerate(contexts, start=1))
        together, apart = self._windows(numbered)
        judged = yield from side_by_side(
            [self.verdicts(matter(window)) for window in (*together, *apart)]
        )
        verdicts = {n: merged([each[n] for each in judged if n in each]) for n in numbered}
        for number in {number for window in apart for number in window}:
            verdict = verdicts[number]
            shown_alone = matter({number: without_hints(numbered[number])})
            if verdict.helps and not shown_alone.proves(number, verdict):
                verdicts[number] = Verdict("not_supported", contested=INSTRUCTED)
        return list(verdicts.values())


def _lists_items(completion: Completion) -> bool:
    return completion.failure is None and bool(text_items(completion.text))
