"""Check with one tiny run that a framework still reports its calls as an adapter expects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version

from fullrecall.observe.failures import brief
from fullrecall.observe.log import ROOT
from fullrecall.observe.reading import StepReading
from fullrecall.observe.step import Step


def incompatible(run: Callable[[], Sequence[Step]], adapter: str, *packages: str) -> str | None:
    """Return why an adapter cannot record the installed packages; None if it can.

    `run` makes a tiny call and returns its steps. In the call, one retriever calls another, which
    returns documents 1 and 2. The call keeps document 1, and may send it to a model. If the
    framework behaves differently in a way that the steps do not show, `run` raises an exception.
    """
    try:
        difference = _difference(run())
    except Exception as error:  # noqa: BLE001 - whatever it is, this version cannot be recorded
        difference = brief(error)
    if difference is None:
        return None
    versions = " and ".join(f"{name} {version(name)}" for name in packages)
    return f"{versions} cannot be recorded by {adapter} {version(adapter)}: {difference}"


def _difference(steps: Sequence[Step]) -> str | None:
    found = [step for step in steps if step.kind == "retriever" and not step.error]
    if [step.parent for step in found[1:]] != [step.id for step in found[:1]]:
        return "a retriever inside of a retriever is not reported as such"
    record = StepReading().record_of(steps, root=ROOT)
    if [each.id for each in record.contexts or ()] != ["1"] or record.read == (None,):
        return record.error or "the record of a tiny run is wrong"
    return None
