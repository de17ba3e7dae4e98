"""Follow documents from step to step: which lists are created, passed on, and replaced.

Six rules decide. A list is in use until another list replaces it, or until a step drops it.

1. A document is recognized by its object, its ID and text, or its text (`documents`).
2. A list of documents is in use as soon as a step returns it (`returned`).
3. A list made from a step's input lists, or from lists made inside the step, replaces these lists
   (`given` when the step begins, `handing` when it ends).
4. A replaced list that is sent to a model is in use again (`prompts`).
5. Lists of failed steps (`failures`), and of tasks that started again later, are unused.
6. The lists in use at the end are the contexts of the call (`record`).
"""

from __future__ import annotations

from collections.abc import Collection, Hashable

from fullrecall.observe.given import GivenLists
from fullrecall.observe.handed import HandedList, OpenStep, Scope
from fullrecall.observe.handing import ListUpdate
from fullrecall.observe.prompts import ModelPrompts
from fullrecall.observe.returned import ReturnedLists
from fullrecall.observe.state import FlowState, LinksOf
from fullrecall.observe.step import Step
from fullrecall.observe.tree import Tree


def follow(
    tree: Tree, lost: frozenset[Hashable], idle: Collection[Hashable], links_of: LinksOf
) -> tuple[FlowState, ModelPrompts]:
    """Follow documents through all steps of a record; return the final state and the prompts.

    `lost` has the IDs of failed steps and of the steps below them. `idle` has the IDs of tools
    without results.
    """
    flow = _DocumentFlow(FlowState(tree, links_of), lost, idle)
    events = [(step.began, 0, step) for step in tree.steps]
    events += [(step.ended, 1, step) for step in tree.steps if step.ended is not None]
    for _, ends, step in sorted(events, key=lambda event: event[:2]):
        if ends:
            flow.end(step)
        else:
            flow.begin(step)
    flow.leave_open()
    return flow.state, flow.prompts


class _DocumentFlow:
    """Follows documents through the steps of a record, event by event."""

    def __init__(
        self, state: FlowState, lost: frozenset[Hashable], idle: Collection[Hashable]
    ) -> None:
        self.state = state
        self.prompts = ModelPrompts(state)
        self._lost = lost
        self._idle = idle
        self._opened: dict[Hashable, OpenStep] = {}
        self._attempts: dict[Hashable, list[HandedList]] = {}

    def begin(self, step: Step) -> None:
        """Process the beginning of a step."""
        if step.task is not None:
            # A task that stopped to ask a human starts again, without its earlier attempt's lists.
            if step.task in self._attempts:
                self.state.resumed.add(step.id)
            for handed in self._attempts.pop(step.task, ()):
                handed.replaced = True
        scope = self._scope(step)
        given = GivenLists(self.state, step, scope).lists(self._caller(step)) if step.given else []
        self._opened[step.id] = OpenStep(step, given)
        self.state.stores = self.state.stores or step.stores
        # A model inside a retriever or a reranker does not write the answer: skip its prompt.
        if step.prompt and not any(over.retrieves for over in self.state.tree.above(step)):
            self.prompts.read(step, scope)

    def end(self, step: Step) -> None:
        """Process the end of a step."""
        opened = self._opened.pop(step.id)
        scope = self._scope(step)
        if opened.lists:
            self.state.touched.add(step.id)
        if step.task is not None and step.id not in self._lost:
            self._attempts[step.task] = [
                handed for handed in opened.lists if not self._in_inner_task(handed, step)
            ]
        if step.id in self._lost:
            for handed in opened.lists:
                handed.replaced = True
        else:
            lists = []
            if step.returned:
                lists = [*ReturnedLists(self.state, opened, scope, self._idle).lists()]
            ListUpdate(self.state, opened, lists, scope).settle()
        (self._caller(step) or self.state.outermost).take_over(opened)

    def _in_inner_task(self, handed: HandedList, step: Step) -> bool:
        """Return whether an inner graph's task made a list; the step's retry keeps such lists."""
        makers = (handed.step, *self.state.tree.above(handed.step))
        return any(str(maker.task).startswith(f"{step.task}|") for maker in makers)

    def leave_open(self) -> None:
        """Add the lists of steps that never ended to the outermost lists of the record."""
        for opened in self._opened.values():
            self.state.outermost.take_over(opened)

    def _caller(self, step: Step) -> OpenStep | None:
        caller = self.state.tree.parent(step)
        return None if caller is None else self._opened.get(caller.id)

    def _scope(self, step: Step) -> Scope:
        opened = (self._opened.get(over.id) for over in self.state.tree.above(step))
        holders = [*(each for each in opened if each is not None), self.state.outermost]
        return Scope(holders, self.state.lists)
