"""How the steps of a call are nested, and which step took over the nodes of which."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from llama_index.evaluation.fullrecall.observation.selection import are_no_contexts
from llama_index.evaluation.fullrecall.observation.snapshots import Nodes
from llama_index.evaluation.fullrecall.observation.steps import INNER, Kind, Prompt, Step

_INDEX_OF_TEXTS = "SummaryIndexRetriever"
"""What LlamaIndex's evaluators read contexts with that they got as texts."""

_RETRYING = ("RetryQueryEngine", "RetrySourceQueryEngine", "RetryGuidelineQueryEngine")
"""The engines that evaluate their answers."""


class Evidence(NamedTuple):
    """What a recording has when it ends: steps, in the order in which they began, and prompts.

    `choosers` are the identities of the retrievers that find something else than contexts, `root`
    is that of the object that was called, None for a block.
    """

    steps: Sequence[Step]
    prompts: Sequence[Prompt]
    choosers: frozenset[int] = frozenset()
    root: int | None = None


class Trace:
    """The steps of a call in the order in which they began; nothing changes it, or its steps.

    Steps that find tools, engines or earlier messages are left out, unless they are the call
    itself.

    - `taker`: which step took over the list of which.
    - `ends`: of each scope, the steps whose lists nobody took but a synthesizer.
    - `sources`: the steps in its scope whose nodes a synthesizer or a tool was seen to have.
    - `sent`: what models were sent, in order; `prompts`: those of them that are to be answered
      from what was retrieved.
    """

    def __init__(self, evidence: Evidence) -> None:
        steps = evidence.steps
        self._by_key = {step.key: step for step in steps}
        chosen = self._selections(evidence)
        self.steps = [step for step in steps if step.kind is not Kind.OTHER and step not in chosen]
        self._scopes = {step: self._enclosing(step.parent) for step in steps}
        self.own = {s for s in self.steps if self._is_own(s)}
        self.echoes = self._find_echoes()
        self.taker: dict[Step, Step] = {}
        self.taken: dict[Step, list[Step]] = {}
        self.ends: dict[Step | None, list[Step]] = {}
        self.sources: dict[Step, list[Step]] = {}
        self._follow()
        self.sent = sorted(evidence.prompts, key=lambda prompt: prompt.at)
        self.prompts = self._read_prompts(self.sent)

    def scope(self, step: Step) -> Step | None:
        """Return the step that `step` is part of, None for one that stands alone."""
        return self._scopes[step]

    def scopes(self, step: Step) -> Iterator[Step]:
        """Yield the step that `step` is part of, the step which that is part of, and so on."""
        scope = self._scopes[step]
        while scope is not None:
            yield scope
            scope = self._scopes[scope]

    def is_inside(self, step: Step, outer: Step | None) -> bool:
        """Return whether `step` is a part of `outer`, or of a part of it; None has all inside."""
        return outer is None or any(scope is outer for scope in self.scopes(step))

    def around(self, prompt: Prompt) -> list[Step]:
        """Return the steps in which a model was sent a prompt, the innermost first."""
        scope = self._enclosing(prompt.parent)
        return [] if scope is None else [scope, *self.scopes(scope)]

    @property
    def retrievals(self) -> list[Step]:
        """The retrievals that ended, without those that read again what had been retrieved."""
        return [
            step
            for step in self.steps
            if step.kind is Kind.RETRIEVAL and step.handed is not None and step not in self.echoes
        ]

    def _selections(self, evidence: Evidence) -> set[Step]:
        """Return the steps that find something else than contexts, with all their parts."""
        chosen: set[Step] = set()
        for step in evidence.steps:
            parent = self._by_key.get(step.parent or "")
            if parent in chosen:
                chosen.add(step)
            elif step.kind in INNER and (step.owner != evidence.root or evidence.root is None):
                lists = [nodes.items for nodes in (step.given, step.handed) if nodes is not None]
                if step.owner in evidence.choosers or any(map(are_no_contexts, lists)):
                    chosen.add(step)
        return chosen

    def _enclosing(self, key: str | None) -> Step | None:
        parent = self._by_key.get(key or "")
        while parent is not None and parent.kind is Kind.OTHER:
            parent = self._by_key.get(parent.parent or "")
        return parent

    def _is_own(self, step: Step) -> bool:
        """Return whether a step is its object's own call of itself, as by `super()`."""
        scope = self._scopes[step]
        return (
            scope is not None
            and scope.kind is step.kind
            and scope.owner == step.owner
            and step.owner is not None
        )

    def _find_echoes(self) -> set[Step]:
        """Return the retrievals from an index made of texts that were retrieved before.

        Evaluators make one, with nodes of its own, to read them together with the answer.
        """
        suspects = [step for step in self.steps if self._may_evaluate(step)]
        if not suspects:
            return set()
        echoes: set[Step] = set()
        ids: set[str] = set()
        texts: list[str] = []
        for step in self.steps:
            nodes = step.given if step.kind is Kind.SYNTHESIS else step.handed
            if nodes is None or step.kind in (Kind.ENGINE, Kind.TOOL):
                continue
            read = [item.text for item in nodes.items]
            if (
                step in suspects
                and read
                and ids.isdisjoint(nodes.ids)
                and all(any(text in known for known in texts) for text in read)
            ):
                echoes.add(step)
                continue
            ids |= nodes.ids
            texts += read
        return echoes

    def _may_evaluate(self, step: Step) -> bool:
        if step.name != _INDEX_OF_TEXTS:
            return False
        answers = (other.answer for other in self.steps if other.kind is Kind.ENGINE)
        return any(scope.name in _RETRYING for scope in self.scopes(step)) or any(
            answer and answer in (step.question or "") for answer in answers
        )

    def _follow(self) -> None:
        """Find which step took over each list, and which lists are left at the end of a scope."""
        known: dict[Step | None, dict[int, Step]] = {}
        for step in sorted(self.steps, key=_happened):
            scope = self._scopes[step]
            if step in self.echoes:
                continue
            if step.kind is Kind.SYNTHESIS and step.given is not None:
                left = self.ends.get(scope, [])
                before = [one for one in left if _ended(one) <= step.began]
                self.sources[step] = _found(step.given, before, known.get(scope, {}))
            elif step.kind is Kind.TOOL and step.handed is not None:
                left = self.ends.get(step, [])
                self.sources[step] = _found(step.handed, left, known.get(step, {}))
            if step.kind not in INNER or (step.handed is None and step.error is None):
                continue
            left, objects = self.ends.setdefault(scope, []), known.setdefault(scope, {})
            self.taken[step] = list(self.ends.get(step, []))
            if step.given is not None:
                before = [one for one in left if _ended(one) <= step.began]
                taken = _found(step.given, before, objects)
                self.taken[step] += taken
                for one in taken:
                    left.remove(one)
            self.taker.update(dict.fromkeys(self.taken[step], step))
            left.append(step)
            if step.handed is not None:
                objects.update(dict.fromkeys(step.handed.objects, step))

    def _read_prompts(self, prompts: Sequence[Prompt]) -> tuple[Prompt, ...]:
        """Return the prompts to answer from: not those of retrievers, rerankers and evaluators."""
        evaluating = {self._scopes[echo] for echo in self.echoes} - {None}
        return tuple(
            prompt
            for prompt in prompts
            if not any(
                step.kind in INNER or step in evaluating or step in self.echoes
                for step in self.around(prompt)
            )
        )


def _happened(step: Step) -> tuple[int, int]:
    """Return when a list came to be; for a synthesizer, when it was given one."""
    if step.kind is Kind.SYNTHESIS:
        return step.began, step.began
    return _ended(step), step.began


def _ended(step: Step) -> int:
    return step.began if step.ended is None else step.ended


def _found(given: Nodes, left: Sequence[Step], objects: dict[int, Step]) -> list[Step]:
    """Return the steps whose nodes these are: the same objects, or else nodes of the same ID."""
    if not given.items:
        return [one for one in left if one.handed is not None and not one.handed.items]
    known = [one for one in left if one.handed is not None]
    same = {objects.get(own) for own in given.objects}
    exact = [one for one in known if one in same]
    missing = given.ids - {own for one in exact for own in (one.handed or Nodes(())).ids}
    if exact and not missing:
        return exact
    by_id = [
        one
        for one in known
        if one not in exact and not (missing or given.ids).isdisjoint((one.handed or Nodes(())).ids)
    ]
    return [one for one in known if one in exact or one in by_id]


def joined(lists: Iterable[Sequence[Any]]) -> tuple[Any, ...]:
    """Return lists of snapshots one after the other; a node of several stands where it came first.

    One list alone stays as it is.
    """
    several = list(lists)
    if len(several) == 1:
        return tuple(several[0])
    first: dict[str, Any] = {}
    for items in several:
        for item in items:
            first.setdefault(item.id, item)
    return tuple(first.values())
