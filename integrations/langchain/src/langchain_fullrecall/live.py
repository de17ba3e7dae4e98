"""Record the runs of an experiment while they run, as long as evaluators exist.

A trace in the same process holds the application's own lists, which may change before an evaluator
reads them. So the runs of an experiment are recorded as `observed` records them. Runs without an
evaluator, or outside an experiment, are not recorded.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID
from weakref import WeakSet

from langchain_core.tracers.context import register_configure_hook
from langsmith.run_helpers import get_current_run_tree

from fullrecall.observe import ROOT, Step, brief
from langchain_fullrecall.outputs import unwrapped
from langchain_fullrecall.recorder import LangChainRecorder, hooks

if TYPE_CHECKING:
    from langsmith.schemas import Run

_MOST_BYTES = 256_000_000
"""The most bytes of all kept recorders; beyond them, the oldest recorder is dropped."""

_MOST_EVALUATED = 64
"""The most evaluated runs whose recorders are kept for further evaluators. Beyond them, the
recorder of the run whose last evaluation is the oldest is dropped.

The evaluators of an experiment read a run one after another, in one of the experiment's threads:
at any time, only as many recorders are needed as it has threads.
"""


class _Experiments:
    """Stands in for a context variable, from which LangChain gets a callback for each call."""

    def __init__(self) -> None:
        self.evaluators: WeakSet[Any] = WeakSet()
        self._recorders: OrderedDict[UUID, LangChainRecorder] = OrderedDict()
        self._evaluated: OrderedDict[UUID, None] = OrderedDict()
        self._lock = Lock()

    def get(self) -> LangChainRecorder | None:
        """Return the recorder of the experiment's run in this context, or None."""
        if not self.evaluators:
            self._recorders.clear()
            self._evaluated.clear()
            return None
        tree = get_current_run_tree()
        if tree is None:
            return None
        recorder = self._recorders.get(tree.trace_id)
        if recorder is not None:
            return recorder
        root = tree
        while root.parent_run is not None:
            root = root.parent_run
        if root.reference_example_id is None or root.id != tree.trace_id:
            return None
        return self._recorder(root.id)

    def _recorder(self, trace: UUID) -> LangChainRecorder:
        with self._lock:
            recorder = self._recorders.get(trace)
            if recorder is None:
                recorder = self._recorders[trace] = LangChainRecorder()
                recorder.log.begin_call(None)
            size = sum(each.log.reader.size for each in self._recorders.values())
            while size > _MOST_BYTES and len(self._recorders) > 1:
                _, oldest = self._recorders.popitem(last=False)
                size -= oldest.log.reader.size
        return recorder

    def recorder(self, trace: UUID) -> LangChainRecorder | None:
        """Return the recorder of a trace for an evaluator.

        Returns None if the trace was not recorded, or if its recorder was dropped to save memory.
        """
        with self._lock:
            recorder = self._recorders.get(trace)
            if recorder is not None:
                self._evaluated[trace] = None
                self._evaluated.move_to_end(trace)
            while len(self._evaluated) > _MOST_EVALUATED:
                self._recorders.pop(self._evaluated.popitem(last=False)[0], None)
        return recorder


_experiments = _Experiments()
register_configure_hook(_experiments, inheritable=True)  # type: ignore[arg-type]
hooks.append(_experiments)


def watch(evaluator: object) -> None:
    """Record the runs of experiments for as long as this evaluator exists."""
    _experiments.evaluators.add(evaluator)


class LiveRun(NamedTuple):
    """The steps of a recorded run, and the ID of its root.

    `partial` is the reason why the steps are incomplete; None if they are complete.
    """

    steps: list[Step]
    root: Hashable
    partial: str | None


def live_run(run: Run) -> LiveRun | None:
    """Return a run's recorded steps, or None if its recorder is not kept."""
    recorder = _experiments.recorder(run.id)
    if recorder is None:
        return None
    log = recorder.log
    own_step = log.step(run.id.int)  # The step of a target that is a LangChain object.
    if own_step is not None:
        steps = [step for step in log.steps if step.id != ROOT]
        return LiveRun(steps, own_step.id, recorder.partial)
    log.end_call(unwrapped(run.outputs or {}), brief(run.error) if run.error else None)
    return LiveRun(log.steps, ROOT, recorder.partial)
