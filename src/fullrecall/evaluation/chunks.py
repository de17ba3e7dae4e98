"""Samples scored many at a time, as columns: what asks nobody makes no object for a row."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

from fullrecall.evaluation.work import score_one
from fullrecall.sample import Sample
from fullrecall.scorers.ids import IdRecall
from fullrecall.scorers.scorer import Scorer
from fullrecall.scorers.text import TextRecall

if TYPE_CHECKING:
    from fullrecall.table.ids import IdColumns
    from fullrecall.table.part import MemoryPart, Results, ScoreColumns

SampleLike: TypeAlias = Sample | Mapping[str, Any]

_LARGEST = 16_384
_SECONDS = 0.05
"""Samples in a chunk at most, and how long reading may take before they are scored."""

_OFTEN = 16
"""Samples that are read between two looks at the clock."""

_MOST_IDS = 2_000_000
"""Distinct IDs that chunks share."""

_PLAIN = {"id", "user_input", "retrieved_context_ids", "reference_context_ids", "group"}
"""The fields of samples that are scored without an object for each."""


def takes_chunks(scorers: Sequence[Scorer]) -> bool:
    """Return whether all of these fill columns, and none of them may raise."""
    return all(
        type(scorer) is IdRecall or (type(scorer) is TextRecall and scorer.bounded.pure)
        for scorer in scorers
    )


def chunks(items: Iterable[SampleLike]) -> Iterator[list[SampleLike]]:
    """Yield what `items` yields, some at a time; what it raises comes after what it yielded."""
    chunk: list[SampleLike] = []
    began = time.monotonic()
    try:
        for item in items:
            chunk.append(item)
            late = len(chunk) % _OFTEN == 0 and time.monotonic() - began > _SECONDS
            if late or len(chunk) >= _LARGEST:
                yield chunk
                chunk, began = [], time.monotonic()
    except Exception:
        if chunk:
            yield chunk
        raise
    if chunk:
        yield chunk


class ChunkScorer:
    """Scores chunks of samples; all share one vocabulary of IDs."""

    def __init__(
        self,
        scorers: Sequence[Scorer],
        as_sample: Callable[[object, int], Sample],
        *,
        to_arrow: bool = False,
    ) -> None:
        """Score by `scorers`; `to_arrow` where nothing stays in memory, but goes to Parquet."""
        from fullrecall.table.ids import Vocabulary

        self._scorers = scorers
        self._as_sample = as_sample
        self._to_arrow = to_arrow
        self._vocabulary = Vocabulary()
        self._only_ids = all(type(scorer) is IdRecall for scorer in scorers)

    def part(self, chunk: Sequence[SampleLike], first: int) -> MemoryPart:
        """Return the scores of samples, of which the first stands at position `first`.

        Raises `InputError`, naming the position, for an item that is not a sample.
        """
        from fullrecall.table.ids import Vocabulary
        from fullrecall.table.part import MemoryPart, SampleObjects

        if len(self._vocabulary) > _MOST_IDS:  # in a stream there is no end of them
            self._vocabulary = Vocabulary()
        if self._only_ids:
            part = self._of_mappings(chunk) if not self._to_arrow else self._as_arrow(chunk)
            if part is not None:
                return part
        samples = [self._as_sample(item, first + nth) for nth, item in enumerate(chunk)]
        ids = self._id_columns(samples) if any(self._is_by_id(s) for s in self._scorers) else None
        columns = [self._columns(scorer, samples, ids) for scorer in self._scorers]
        return MemoryPart(
            SampleObjects(samples),
            tuple(columns),
            tuple(
                self._later(scorer, follows=ids is not None and self._is_by_id(scorer))
                for scorer in self._scorers
            ),
        )

    @staticmethod
    def _is_by_id(scorer: Scorer) -> bool:
        return type(scorer) is IdRecall

    @staticmethod
    def _later(scorer: Scorer, *, follows: bool) -> Results:
        from fullrecall.table.part import Rescored

        return Rescored(lambda sample: score_one(scorer, sample), follows)

    def _columns(
        self, scorer: Scorer, samples: Sequence[Sample], ids: IdColumns | None
    ) -> ScoreColumns:
        from fullrecall.table.part import ScoreColumns

        if isinstance(scorer, TextRecall) and all(s.retrieval is None for s in samples):
            return scorer.columns(samples)
        if ids is not None and self._is_by_id(scorer):
            return ids.scores
        return ScoreColumns.of([score_one(scorer, sample) for sample in samples])

    def _id_columns(self, samples: Sequence[Sample]) -> IdColumns | None:
        """Return the IDs of samples as columns; None where a row has to be looked at by itself."""
        import numpy as np

        from fullrecall.table.ids import IdColumns

        if any(sample.retrieval is not None for sample in samples):
            return None
        retrieved = [sample.listed_ids for sample in samples]
        single = [sample.single_ids for sample in samples]
        if None in retrieved or None in single:
            return None
        lists = [_as_texts(ids) for ids in retrieved]
        references = [_as_texts(wanted.ids) for wanted in single]
        if not all(chain.from_iterable(lists)):
            return None
        grades = None
        if any(wanted.grades is not None for wanted in single):
            grades = np.fromiter(
                chain.from_iterable(w.grades or [1.0] * len(w.ids) for w in single), np.float64
            )
        return IdColumns.of(self._vocabulary, lists, references, grades)

    def _as_arrow(self, chunk: Sequence[SampleLike]) -> MemoryPart | None:
        """Return the part of mappings as Arrow arrays; None for any others."""
        from fullrecall.table.arrow_ids import ArrowSamples, id_lists
        from fullrecall.table.part import MemoryPart

        fields = _columns_of(chunk)
        if fields is None:
            return None
        retrieved = id_lists(fields.pop("retrieved_context_ids"))
        references = id_lists(fields.pop("reference_context_ids"))
        if retrieved is None or references is None:
            return None
        try:
            samples = ArrowSamples.of(retrieved, references, **fields)
        except UnicodeEncodeError:  # half an emoji
            return None
        scores = samples.codes.scores
        return MemoryPart(
            samples,
            tuple(scores for _ in self._scorers),
            tuple(self._later(scorer, follows=True) for scorer in self._scorers),
        )

    def _of_mappings(self, chunk: Sequence[SampleLike]) -> MemoryPart | None:
        """Return the part of mappings of texts and lists of texts; None for any others."""
        from fullrecall.table.ids import IdColumns, IdSamples
        from fullrecall.table.part import MemoryPart

        fields = _columns_of(chunk)
        if fields is None:
            return None
        retrieved = _texts(fields["retrieved_context_ids"])
        references = _texts(fields["reference_context_ids"])
        if retrieved is None or references is None:
            return None
        ids = IdColumns.of(self._vocabulary, retrieved, references)
        samples = IdSamples(
            self._vocabulary,
            ids.retrieved,
            ids.references,
            fields.get("id") or [None] * len(chunk),
            fields.get("user_input", ()),
            fields.get("group", ()),
        )
        scores = ids.scores
        return MemoryPart(
            samples,
            tuple(scores for _ in self._scorers),
            tuple(self._later(scorer, follows=True) for scorer in self._scorers),
        )


def _columns_of(chunk: Sequence[SampleLike]) -> dict[str, list[Any]] | None:
    """Return the columns of mappings that have the same plain fields; None for any others."""
    first = chunk[0]
    if type(first) is not dict:
        return None
    keys = first.keys()
    other = Sample.names()
    by_name = {name: field for field, names in other.items() for name in (field, *names)}
    fields = [by_name.get(key) for key in keys]
    if not {"retrieved_context_ids", "reference_context_ids"} <= set(fields) <= _PLAIN:
        return None
    if len(set(fields)) < len(fields):
        return None
    if any(type(row) is not dict or row.keys() != keys for row in chunk):
        return None
    columns = {
        field: [row[key] for row in chunk]  # type: ignore[index]
        for field, key in zip(fields, keys, strict=True)
        if field is not None
    }
    texts = frozenset({str, type(None)})
    plain = all(texts.issuperset(map(type, columns.get(name, ()))) for name in _TEXT_FIELDS)
    return columns if plain else None


_TEXT_FIELDS = ("id", "user_input", "group")


def _texts(column: Sequence[Any]) -> Sequence[Sequence[str]] | None:
    """Return lists of IDs as texts; None where one is of another form, or an ID is blank."""
    if not frozenset({list, tuple}).issuperset(map(type, column)):
        return None
    kinds = set(map(type, chain.from_iterable(column)))
    if kinds == {int}:
        return [[str(number) for number in row] for row in column]
    if not kinds <= {str} or not all(chain.from_iterable(column)):
        return None
    return column


def _as_texts(ids: Sequence[Any]) -> Sequence[str]:
    return [str(number) for number in ids] if ids and type(ids[0]) is int else ids
