"""Collections of values by a score's name, a slice's value, or a measure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import ClassVar, Generic, TypeVar

from fullrecall._util.naming import parameter
from fullrecall._util.values import shown
from fullrecall.errors import ParameterError, ReportError
from fullrecall.measures import Measure, Recall, as_measures
from fullrecall.scorers.result import Method

T = TypeVar("T")


class ByName(Collection[T], Generic[T]):
    """A collection of values in order, in which each also has a name: `summary["id_recall"]`.

    Raises `KeyError`, which lists all names, for an unknown name.
    """

    kind: ClassVar[str] = "score"
    """The word for one value in errors."""

    named: Mapping[str, T]
    """The values by their names, in order."""

    def __getitem__(self, key: int | str) -> T:
        if hasattr(key, "__index__"):
            values = list(self.named.values())
            if not -len(values) <= key < len(values):  # type: ignore[operator] # a number
                raise IndexError(f"no {self.kind} {shown(key)}: there are {len(values)}")
            return values[key]
        if isinstance(key, str) and key in self.named:
            return self.named[key]
        raise KeyError(f"no {self.kind} {key!r}: choose one of {', '.join(self.named)}")

    def __iter__(self) -> Iterator[T]:
        return iter(self.named.values())

    def __len__(self) -> int:
        return len(self.named)

    def __contains__(self, value: object) -> bool:
        return value in self.named.values()


class ByMeasure(Mapping[Measure, T], Generic[T]):
    """The values of one score, by measure or its text: `score[Recall @ 5]`, `score["recall@5"]`.

    `method` describes how the score was computed. Raises `KeyError`, which lists all measures, for
    any other measure.
    """

    kind: ClassVar[str]
    """The word for the collection in errors."""

    method: Method
    measured: Mapping[Measure, T]

    def __getitem__(self, measure: Measure | str) -> T:
        try:
            return self.measured[as_measures([measure])[0] if isinstance(measure, str) else measure]
        except (KeyError, ParameterError):
            names = ", ".join(map(repr, self.measured))
            raise KeyError(f"no measure {measure!r} in this {self.kind}: it has {names}") from None

    def __iter__(self) -> Iterator[Measure]:
        return iter(self.measured)

    def __len__(self) -> int:
        return len(self.measured)

    @property
    def name(self) -> str:
        """The score's name."""
        return self.method.name

    @property
    def main(self) -> T:
        """The value of the headline measure or, if it was not measured, of the first measure."""
        headline = self.method.headline
        return self.measured[headline if headline in self.measured else next(iter(self.measured))]


def index_of(methods: Sequence[Method], score: str | None) -> int:
    """Return the index of a score among those of a report, by its name.

    None selects the only score, or the only recall among several scores. Raises `ReportError` for a
    name that the report does not have, and for None if several scores qualify.
    """
    names = [method.name for method in methods]
    if score is None:
        recalls = [n for n, method in enumerate(methods) if method.headline == Recall]
        for indices in (range(len(names)), recalls):
            if len(indices) == 1:
                return indices[0]
        raise ReportError(
            f"the report has {len(names)} scores ({', '.join(names)}): choose one by its name, "
            f"with {parameter('score')}"
        )
    if score in names:
        return names.index(score)
    raise ReportError(f"no score {score!r} in the report: choose one of {', '.join(names)}")
