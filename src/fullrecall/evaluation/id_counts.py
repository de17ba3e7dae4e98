"""ID recall of which only the totals are kept: counted by ranks, without a result for any sample.

Where a sample is a mapping of plain lists, there is no `Sample` either. Whatever is not plain
(any-of groups, grades, contexts without an ID, recorded retrievals, values of the wrong form) is
scored as ever, with the same errors.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from fullrecall.findings import ranks_of
from fullrecall.identifiers import is_texts
from fullrecall.report.tally import Tallies
from fullrecall.sample import Sample
from fullrecall.scorers.ids import IdRecall

if TYPE_CHECKING:
    from fullrecall.evaluation.drivers import Run

_FIELDS = {name: field for field, names in Sample.names().items() for name in (field, *names)}
_LISTS = ("retrieved_context_ids", "reference_context_ids")
_TEXTS = frozenset({"id", "user_input", "reference", "response", "group"})


def only_ids(run: Run, tallies: Tallies) -> bool:
    """Return whether a run totals nothing but what ranks of IDs tell."""
    return (
        run.asks_nobody
        and run.limits.deadline is None
        and all(type(scorer) is IdRecall for scorer in run.scorers)
        and tallies.counts_ranks
    )


class IdCounts:
    """Counts samples in tallies, those that are plain."""

    def __init__(self, tallies: Tallies) -> None:
        self._tallies = tallies
        self._layouts: dict[tuple[Any, ...], _Layout | None] = {}

    def add(self, item: object) -> bool | None:
        """Count a sample; return whether it has a score, or None, uncounted, if it is not plain."""
        if type(item) is Sample:
            plain = _of_sample(item)
        elif type(item) is dict:
            plain = self._of_mapping(item)
        else:
            return None
        if plain is None:
            return None
        hits, some_without = ranks_of(plain.retrieved, plain.references)
        if some_without:
            return None
        targets = len(plain.references)
        self._tallies.add_ranks(hits, targets, len(plain.retrieved), plain.name, plain.group)
        return targets > 0

    def _of_mapping(self, row: Mapping[Any, Any]) -> _Plain | None:
        names = tuple(row)
        try:
            layout = self._layouts[names]
        except KeyError:
            if len(self._layouts) > _MOST_LAYOUTS:
                self._layouts.clear()
            layout = self._layouts[names] = _layout(names)
        if layout is None:
            return None
        retrieved, references = row[layout.retrieved], row[layout.references]
        if type(retrieved) is not list or type(references) is not list:
            return None
        for text in layout.texts:
            value = row[text]
            if value is not None and type(value) is not str:
                return None
        if not (is_texts(retrieved) and is_texts(references)):
            return None
        distinct = dict.fromkeys(references)
        distinct.pop("", None)
        name = None if layout.name is None else row[layout.name]
        group = None if layout.group is None else row[layout.group]
        return _Plain(retrieved, tuple(distinct), name, group)


_MOST_LAYOUTS = 100


class _Plain(NamedTuple):
    retrieved: tuple[str | None, ...] | list[str]
    references: tuple[str, ...]
    name: str | None
    group: str | None


class _Layout(NamedTuple):
    """Under which names a mapping has the fields of a sample."""

    retrieved: str
    references: str
    name: str | None
    group: str | None
    texts: tuple[str, ...]


def _layout(names: tuple[Any, ...]) -> _Layout | None:
    """Return where a plain mapping of these names has what; None if others may matter."""
    if not all(type(name) is str for name in names):
        return None
    fields = {_FIELDS.get(name): name for name in names}
    if len(fields) < len(names) or not fields.keys() <= {*_LISTS, *_TEXTS}:
        return None
    if not fields.keys() >= set(_LISTS):
        return None
    return _Layout(
        fields["retrieved_context_ids"],
        fields["reference_context_ids"],
        fields.get("id"),
        fields.get("group"),
        tuple(name for field, name in fields.items() if field in _TEXTS),
    )


def _of_sample(sample: Sample) -> _Plain | None:
    retrieved, single = sample.listed_ids, sample.single_ids
    if sample.retrieval is not None or retrieved is None:
        return None
    if single is None or single.grades is not None:
        return None
    return _Plain(retrieved, single.ids, sample.id, sample.group)


def uncounted(
    samples: Iterable[Any], counts: IdCounts, run: Run, as_sample: Callable[[object, int], Sample]
) -> Generator[Sample]:
    """Count all samples that are plain, and yield the others to be scored; ends at Ctrl-C."""
    scores = len(run.scorers)
    for position, item in enumerate(samples, start=1):
        scored = counts.add(item)
        if scored is None:
            yield as_sample(item, position)
        else:
            run.count(scores if scored else 0)
        if run.interruption.asked:
            return
