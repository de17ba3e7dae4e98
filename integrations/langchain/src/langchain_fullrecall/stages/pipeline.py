"""From the runs of one call to its stages: their order, their names, and what went into what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from fullrecall.retrieval import Stage
from langchain_fullrecall.documents import DocumentReader
from langchain_fullrecall.stages.run import Run

_SEQUENCE, _CHILD = "seq:step:", "retriever_"
"""Tags by which LangChain numbers the steps of a sequence and the children of an ensemble."""

_PASS_ON = ("RunnableWithFallbacks", "RunnableBranch")
"""Runs that return what one run below them returned."""


def stages_of(first: Run, reader: DocumentReader) -> list[Stage]:
    """Return the stages of the call whose outermost run is `first`, in the order of the pipeline.

    `RetrievalTrace.stages` says what a stage is, and how it is called.
    """
    plan = _Plan(_ends(first))
    plan.follow(first, _Place())
    return [
        Stage(name, tuple(_reader_of(run, reader).contexts(run.contexts or ())), into)
        for name, run, into in plan.named()
    ]


class _Place(NamedTuple):
    """Where a stage stands: below which retriever, as which of its children, as one of its queries.

    `above` is None below a chain that no retriever called.
    """

    above: Run | None = None
    number: int | None = None
    query: bool = False


class _Plan:
    """The stages of one call in the order of the pipeline, each with where its documents went."""

    def __init__(self, ends: Sequence[Run]) -> None:
        self._ends = ends
        self._order: list[tuple[Run, _Place]] = []
        self._into: dict[int, Run] = {}

    def follow(self, run: Run, place: _Place, *, after: bool = False) -> list[Run]:
        """Return the stages whose documents a run hands on: itself, or what stands open below it.

        `after` is whether the run follows a retriever in a sequence, so that a list of documents
        which it returns was made of documents.
        """
        below = _Place(run, query="MultiQuery" in run.name) if run.kind == "retriever" else place
        opened: list[Run] = []
        for child in _ordered(run):
            serial = child.kind == "step" or _step_number(run, child) is not None
            number = child.number(_CHILD)
            found = self.follow(
                child,
                below._replace(
                    number=below.number if number is None else number,
                    query=below.query or run.maps,
                ),
                after=serial and bool(opened),
            )
            if serial and found == [child]:
                self._hand_on(opened, child)
                opened = found
            else:
                opened += found
        if any(run is end for end in self._ends) or not _is_stage(run, after=after):
            return opened
        self._hand_on(opened, run)
        self._order.append((run, place))
        return [run]

    def named(self) -> list[tuple[str, Run, str | None]]:
        """Return each stage's name, run, and the name of the stage that its documents went into."""
        names: dict[int, str] = {}
        counts = Counter((id(place.above), run.name) for run, place in self._order)
        seen: Counter[tuple[int, str]] = Counter()
        for run, place in self._order:
            kind = (id(place.above), run.name)
            seen[kind] += 1
            name = run.name
            if place.query and run.kind == "retriever":
                name = f"{run.name} query {seen[kind]}"
            elif counts[kind] > 1 and place.number is not None and place.above is not None:
                name = f"{place.above.name}[{place.number - 1}]"
            elif seen[kind] > 1:
                name = f"{run.name} {seen[kind]}"
            names[id(run)] = name
        self._distinguish(names)
        return [
            (names[id(run)], run, names[id(self._into[id(run)])] if id(run) in self._into else None)
            for run, _ in self._order
        ]

    def _distinguish(self, names: dict[int, str]) -> None:
        """Put the name of what is around it before a name that two stages have."""
        taken: set[str] = set()
        for run, (above, *_) in self._order:
            name = names[id(run)]
            if name in taken and above is not None:
                name = f"{names.get(id(above), above.name)} / {name}"
            base, nth = name, 1
            while name in taken:
                nth += 1
                name = f"{base} {nth}"
            taken.add(name)
            names[id(run)] = name

    def _hand_on(self, opened: Sequence[Run], into: Run) -> None:
        for run in opened:
            self._into[id(run)] = into


def _is_stage(run: Run, *, after: bool) -> bool:
    if run.contexts is None:  # it failed, too
        return False
    return run.kind in ("retriever", "step") or (after and run.kind == "chain")


def _step_number(run: Run, child: Run) -> int | None:
    """Return which step of a sequence a run below `run` is, None where that is no sequence.

    A retriever in a sequence may hand its own tag on to what it asks.
    """
    return child.number(_SEQUENCE) if run.kind == "chain" else None


def _ordered(run: Run) -> list[Run]:
    """Return the runs below one that did not fail, in their order in the pipeline.

    That of their tags or questions, else that in which they started: children of an ensemble are
    asked at the same time.
    """

    def place(child: Run) -> int:
        numbers = (_step_number(run, child), child.number(_CHILD))
        asked = run.asked.index(child.asked) if run.maps and child.asked in run.asked else 0
        return next((n for n in numbers if n is not None), asked)

    return sorted((child for child in run.children if not child.failed), key=place)


def _ends(run: Run) -> list[Run]:
    """Return the runs whose output is the final list: the first, and what it passes on as it is."""
    ends = [run]
    while below := _ordered(ends[-1]):
        end, last = ends[-1], below[-1]
        sequence = all(_step_number(end, child) is not None for child in below)
        # A retry has the name of what it tries.
        passed_on = end.name in _PASS_ON or (end.kind == "chain" and end.name == last.name)
        if not (sequence or passed_on):
            break
        ends.append(last)
    return ends


def _reader_of(run: Run, reader: DocumentReader) -> DocumentReader:
    # The ID of a chunk is never that of its document: the key of the docstore is the nearest.
    if run.chunk_key is None or reader.id_key is not None:
        return reader
    return replace(reader, id_key=run.chunk_key)
