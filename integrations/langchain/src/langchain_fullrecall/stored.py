"""Convert a LangSmith trace to the steps that a recorder would have recorded."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from fullrecall.observe import DocumentList, Step, StepKind, brief
from fullrecall.observe.conventions import FALLBACKS
from fullrecall.observe.messages import question_of, users_in
from fullrecall.observe.span import left_early
from fullrecall.observe.translation import TracedStep, number_events
from langchain_fullrecall.outputs import DOCUMENT_KEYS, held, tool_query, unwrapped
from langchain_fullrecall.reader import LangChainReader
from langchain_fullrecall.recorder import RETRIED, branch_of, graph_task, is_closed

if TYPE_CHECKING:
    from langsmith.schemas import Run

_KINDS: dict[str, StepKind] = {"retriever": "retriever", "tool": "tool", "llm": "llm"}

_MAP = "RunnableEach"
"""The start of the name that LangChain gives to a run of `Runnable.map()`."""


class StoredRun:
    """The steps of a stored run and of all runs below it.

    `partial` is the reason why the steps are incomplete, or None. If a run's caller is not stored,
    it is found by the times, tags and documents of the runs.
    """

    def __init__(self, run: Run) -> None:
        self.partial: str | None = None
        self.root: Hashable = run.id
        self._reader = LangChainReader()
        self._at: dict[Hashable | None, Step] = {}
        self._inputs: dict[Hashable, int] = {}
        """The number of inputs of each run of `Runnable.map()`."""
        runs = []
        for each, parent in _walk(run):
            self._at[each.id] = self._step(each, parent)
            runs.append(each)
        self.steps = [*self._at.values()]
        runs.sort(key=lambda each: (_nanoseconds(each.start_time), each.dotted_order))
        number_events([_timed(self._at[each.id], each) for each in runs])
        self._find_callers()

    def _step(self, run: Run, parent: Hashable | None) -> Step:
        kind = _KINDS.get(run.run_type, "chain")
        inputs, outputs = run.inputs or {}, run.outputs or {}
        metadata = dict((run.extra or {}).get("metadata") or {})
        tags = tuple(run.tags or ())
        given = unwrapped(inputs, "input")
        contents_in = self._reader.read(given)
        name = run.name or kind
        group, branch = branch_of(tags, metadata, self._at.get(parent))
        if name.startswith(_MAP) and isinstance(given, list):
            self._inputs[run.id] = len(given)
        step = Step(
            run.id,
            parent,
            kind,
            name,
            given=contents_in.lists,
            prompt=contents_in.texts if kind == "llm" else None,
            asked=users_in(inputs.get("messages")) if kind == "llm" else (),
            query=tool_query(inputs.get("input", inputs))
            if kind == "tool"
            else question_of(inputs),
            error=brief(run.error) if run.error else None,
            callee=name if kind == "tool" else None,
            task=graph_task(tags, metadata),
            closed=is_closed(tags, metadata),
            tries=name == FALLBACKS,
            group=group,
            branch=branch,
            labels=(tags, metadata),
        )
        output = unwrapped(outputs)
        if run.error and left_early(run.error):
            step.error, output = None, run.error  # The error's text contains the output.
        if step.error is None:
            if kind == "retriever":
                # In a trace, the documents of a retriever may be under "documents" instead of
                # "output".
                output = outputs.get("documents", output)
            self._reader.end(step, output, ends_call=parent is None and kind != "retriever")
            if kind == "retriever":
                step.returned = tuple(
                    DocumentList((), each.documents) for each in step.returned[:1]
                )
        return step

    def _find_callers(self) -> None:
        """Find the runs that are stored beside their callers, and move them below their callers.

        Such callers are retrievers, and runnables with fallbacks or retries.
        """
        siblings: dict[Hashable, list[Step]] = {}
        for step in sorted(self.steps, key=lambda each: each.began):
            retried = any(str(tag).startswith(RETRIED) for tag in step.labels[0])
            if retried and step.parent in self._at:
                self._at[step.parent].tries = True
            siblings.setdefault(step.parent, []).append(step)
        for parent, beside in siblings.items():
            are_mapped = self._are_one_for_each_input(beside, parent)
            for caller in beside:
                if caller.tries or (caller.kind == "retriever" and not are_mapped):
                    self._adopt(caller, [each for each in beside if _inside(each, caller)])

    def _are_one_for_each_input(self, beside: list[Step], parent: Hashable) -> bool:
        """Return whether `map()` called all retrievers in `beside`, so that none called another."""
        names = [each.name for each in beside if each.kind == "retriever"]
        if parent not in self._inputs or len(names) != self._inputs[parent]:
            return False
        return all(self._at[parent].name == f"{_MAP}<{name}>" for name in names)

    def _adopt(self, caller: Step, inside: list[Step]) -> None:
        own, _ = caller.labels
        for step in inside:
            if step.parent != caller.parent:
                continue  # Another caller has adopted the step.
            tags, _ = step.labels
            searches = caller.kind == step.kind == "retriever" and _share(caller, step)
            if own and set(own) <= set(tags) and (caller.tries or searches):
                step.parent = caller.id
            elif searches and not own and not tags:
                self.partial = (
                    f"the trace does not tell whether {caller.name!r} called {step.name!r} "
                    "or ran beside it: evaluate in the process that runs the application"
                )


def unseen_in(run: Run) -> str:
    """Return the reason why a trace shows no retrieval."""
    if run.error:
        return f"the run failed, and no retriever was traced in it: {brief(run.error)}"
    if run.child_runs is None:
        return "the run was loaded without its child runs: load_nested=True loads them"
    return (
        f"the trace has no retriever run, and the output holds no documents "
        f"({held(run.outputs or {})}): pass documents_key= to name the key, or return them under "
        f"{DOCUMENT_KEYS[0]!r}"
    )


def _walk(run: Run) -> Iterator[tuple[Run, Hashable | None]]:
    """Yield a run and all runs below it, each once, with its parent's ID."""
    stack: list[tuple[Run, Hashable | None]] = [(run, None)]
    visited: set[Hashable] = set()
    while stack:
        current, parent = stack.pop()
        if current.id in visited:
            continue  # A run that reported two callers occurs twice in the tree.
        visited.add(current.id)
        yield current, parent
        stack.extend((child, current.id) for child in reversed(current.child_runs or ()))


def _timed(step: Step, run: Run) -> TracedStep:
    """Return a step with the times of its run."""
    is_open = run.end_time is None and not (run.error or run.outputs)
    start, end = _nanoseconds(run.start_time), _nanoseconds(run.end_time)
    return TracedStep(step, start, end, remote_parent=False, is_open=is_open)


def _nanoseconds(moment: datetime | None) -> float:
    if moment is None:
        return 0
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp() * 1e9


def _inside(step: Step, other: Step) -> bool:
    """Return whether a step began after another step and ended before it."""
    if step is other or step.ended is None or other.ended is None:
        return False
    return other.began < step.began and step.ended < other.ended


def _share(first: Step, second: Step) -> bool:
    def texts(step: Step) -> set[str]:
        return {copy.text for listed in step.returned for copy in listed.documents}

    return not texts(first).isdisjoint(texts(second))
