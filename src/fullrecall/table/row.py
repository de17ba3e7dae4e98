"""Views of a table's rows: one sample with its results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

from fullrecall._util.value_object import ValueObject
from fullrecall.errors import ParameterError
from fullrecall.samples.sample import Sample
from fullrecall.scorers.result import Result

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fullrecall.table.part import Part


class RowResults(tuple[Result, ...]):
    """The results of a row, by index in the order of the scorers, or by the name of a score."""

    __slots__ = ()

    @overload
    def __getitem__(self, key: SupportsIndex | str) -> Result: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[Result, ...]: ...
    def __getitem__(self, key: SupportsIndex | slice | str) -> Result | tuple[Result, ...]:
        """Return a result or a slice; raise `ParameterError` for an unknown name of a score."""
        try:  # a test of the key's type takes longer
            return _at(self, key)  # type: ignore[arg-type]
        except TypeError:
            if not isinstance(key, str):
                raise
        by_name = {result.method.name: result for result in self}
        if key not in by_name:
            raise ParameterError(f"no score {key!r}: choose one of {', '.join(by_name)}")
        return by_name[key]


_at = tuple.__getitem__  # `super()` takes twice the time


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Row(ValueObject):
    """One sample with the results of all scorers. `position` counts from 1.

    `results` are in the order of the scorers: `row.results[0]`, or `row.results["id_recall"]`.
    """

    position: int
    sample: Sample
    results: RowResults

    def __init__(self, position: int, sample: Sample, results: Iterable[Result]) -> None:
        self.__dict__.update(position=position, sample=sample, results=RowResults(results))

    if not TYPE_CHECKING:  # Type checkers would accept any attribute.

        def __getattr__(self, name: str) -> Any:
            """Create the sample when it is first read."""
            if name != "sample" or "_part" not in vars(self):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            sample = self.__dict__["sample"] = self._part.sample(self._index)
            return sample

    def __getstate__(self) -> dict[str, Any]:
        # Leave out the part: otherwise, pickling one row would pickle all of them.
        return {"position": self.position, "sample": self.sample, "results": self.results}

    @property
    def label(self) -> str:
        """The sample's ID, or `#position` if it has none."""
        return self.sample.id or f"#{self.position}"

    def __repr__(self) -> str:
        return f"Row({self.label}: {', '.join(each.named_score for each in self.results)})"

    def __str__(self) -> str:
        question = [] if self.sample.user_input is None else [self.sample.user_input]
        return "\n".join([self.label, *question, *map(str, self.results)])


def row_view(position: int, results: Iterable[Result], part: Part, index: int) -> Row:
    """Return a row of a part; its sample is created when it is first read."""
    row = object.__new__(Row)
    own = row.__dict__
    own["position"], own["results"] = position, RowResults(results)
    own["_part"], own["_index"] = part, index
    return row
