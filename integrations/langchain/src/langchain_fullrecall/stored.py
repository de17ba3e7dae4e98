"""A LangSmith trace as the steps that a recorder would have written down."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from fullrecall.observe import Contents, DocumentList, Step, StepKind, brief
from fullrecall.observe.messages import hands_over, message_of, question_of, users_in
from fullrecall.observe.span import left_early
from langchain_fullrecall.outputs import DOCUMENT_KEYS, held, tool_query, unwrapped
from langchain_fullrecall.reader import LangChainReader, stored_update
from langchain_fullrecall.recorder import FALLBACKS, RETRIED, branch_of, graph_task, is_closed

if TYPE_CHECKING:
    from langsmith.schemas import Run

_KINDS: dict[str, StepKind] = {"retriever": "retriever", "tool": "tool", "llm": "llm"}


class StoredRun:
    """The steps of a stored run and of all runs below it.

    `partial` says why they are known to be partial. A run's caller is not always stored.
    """

    def __init__(self, run: Run) -> None:
        self.partial: str | None = None
        self.root: Hashable = run.id
        self._reader = LangChainReader()
        walked = list(_walk(run))
        self._at: dict[Hashable | None, Step] = {}
        for each, parent, _ in walked:
            self._at[each.id] = self._step(each, parent)
        self.steps = [*self._at.values()]
        self._order([(each, depth) for each, _, depth in walked])
        self._find_callers()

    def _step(self, run: Run, parent: Hashable | None) -> Step:
        kind = _KINDS.get(run.run_type, "chain")
        inputs, outputs = run.inputs or {}, run.outputs or {}
        metadata = dict((run.extra or {}).get("metadata") or {})
        tags = tuple(run.tags or ())
        output = stored_update(unwrapped(outputs))
        contents_in = self._reader.read(unwrapped(inputs, "input"))
        message = message_of(output) if kind == "tool" else None
        failed = brief(run.error) if run.error else message and message.failure
        if message is not None:
            output = {"content": message.text, "artifact": message.artifact}
        if run.error and left_early(run.error):
            failed, output = None, run.error  # The error prints its output.
        if kind == "tool" and hands_over(unwrapped(outputs)):
            kind = "chain"  # The tool does not search.
        contents = Contents((), ()) if failed else self._returned(kind, outputs, output, parent)
        name = run.name or kind
        group, branch = branch_of(tags, metadata, self._at.get(parent))
        return Step(
            run.id,
            parent,
            kind,
            name,
            given=contents_in.lists,
            returned=contents.lists,
            texts=contents.texts,
            prompt=contents_in.texts if kind == "llm" else None,
            asked=users_in(inputs.get("messages")) if kind == "llm" else (),
            query=tool_query(inputs.get("input", inputs))
            if kind == "tool"
            else question_of(inputs),
            result=self._reader.result_of(unwrapped(outputs)) if kind == "tool" else None,
            error=failed,
            outputs=self._reader.identities(output),
            callee=name if kind == "tool" else None,
            task=graph_task(tags, metadata),
            closed=is_closed(tags, metadata),
            tries=name == FALLBACKS,
            group=group,
            branch=branch,
            labels=(tags, metadata),
        )

    def _returned(
        self, kind: StepKind, outputs: Mapping[str, Any], output: Any, parent: Hashable | None
    ) -> Contents:
        if kind != "retriever":
            read = self._reader.read_result if parent is None else self._reader.read
            contents = read(output)
            return self._reader.with_hits(contents, output) if kind == "tool" else contents
        # A retriever's output is documents, under any key in the trace.
        documents = outputs.get("documents", output)
        contents = self._reader.read(documents)
        lists = tuple(DocumentList((), each.documents) for each in contents.lists[:1])
        return Contents(lists, contents.texts)

    def _order(self, runs: Sequence[tuple[Run, int]]) -> None:
        """Number the beginnings and ends by time, a caller's around those of its callees.

        `runs` are those of the steps, each with its depth.
        """
        events = []
        start = min(_aware(run.start_time) for run, _ in runs)
        for step, (run, depth) in zip(self.steps, runs, strict=True):
            began, ended = _aware(run.start_time), _aware(run.end_time or run.start_time)
            events.append(((began, 1, depth, run.dotted_order), step, "began"))
            if run.end_time is not None or run.error or run.outputs:
                phase = 0 if ended > began else 2
                events.append(((ended, phase, -depth, run.dotted_order), step, "ended"))
            step.seconds = None if run.end_time is None else (ended - start).total_seconds()
        for moment, (_, step, name) in enumerate(sorted(events, key=itemgetter(0)), start=1):
            setattr(step, name, moment)

    def _find_callers(self) -> None:
        """Move runs that are stored beside their callers (fallbacks, retrievers) below them."""
        siblings: dict[Hashable, list[Step]] = {}
        for step in sorted(self.steps, key=lambda each: each.began):
            if any(str(tag).startswith(RETRIED) for tag in step.labels[0]):
                for each in self.steps:
                    each.tries = each.tries or each.id == step.parent
            siblings.setdefault(step.parent, []).append(step)
        for beside in siblings.values():
            for caller in beside:
                if caller.tries or caller.kind == "retriever":
                    self._adopt(caller, [each for each in beside if _inside(each, caller)])

    def _adopt(self, caller: Step, inside: list[Step]) -> None:
        own, _ = caller.labels
        for step in inside:
            if step.parent != caller.parent:
                continue  # Another caller inside has it already.
            tags, _ = step.labels
            if caller.tries and own and set(own) <= set(tags):
                step.parent = caller.id
            elif caller.kind == step.kind == "retriever" and _share(caller, step):
                if own and set(own) <= set(tags):
                    step.parent = caller.id
                elif not own and not tags:
                    self.partial = (
                        f"the trace does not tell whether {caller.name!r} called {step.name!r} "
                        "or ran beside it: evaluate in the process that runs the application"
                    )


def unseen_in(run: Run) -> str:
    """Return why no retrieval is seen in a trace."""
    if run.error:
        return f"the run failed, and no retriever was traced in it: {brief(run.error)}"
    if run.child_runs is None:
        return "the run was loaded without its child runs: load_nested=True loads them"
    return (
        f"the trace has no retriever run, and the output holds no documents "
        f"({held(run.outputs or {})}): pass documents_key= to name the key, or return them under "
        f"{DOCUMENT_KEYS[0]!r}"
    )


def _walk(run: Run) -> Iterator[tuple[Run, Hashable | None, int]]:
    """Yield a run and all runs below it, each once, with its parent's ID and its depth."""
    stack: list[tuple[Run, Hashable | None, int]] = [(run, None, 0)]
    visited: set[Hashable] = set()
    while stack:
        current, parent, depth = stack.pop()
        if current.id in visited:
            continue  # A run that reported two callers occurs twice in the tree.
        visited.add(current.id)
        yield current, parent, depth
        stack.extend((child, current.id, depth + 1) for child in reversed(current.child_runs or ()))


def _aware(moment: datetime | None) -> datetime:
    if moment is None:
        return datetime.min.replace(tzinfo=UTC)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _inside(step: Step, other: Step) -> bool:
    """Return whether a step ran within the time of another step."""
    if step is other or step.ended is None or other.ended is None:
        return False
    return other.began < step.began and step.ended < other.ended


def _share(first: Step, second: Step) -> bool:
    def texts(step: Step) -> set[str]:
        return {copy.text for listed in step.returned for copy in listed.documents}

    return not texts(first).isdisjoint(texts(second))
