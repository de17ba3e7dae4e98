"""Values that are looked up by what names them: a score's name, a slice's value, a measure."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Protocol, TypeVar, overload

from fullrecall.errors import ParameterError
from fullrecall.measures import Measure, parse
from fullrecall.result import Method

T_co = TypeVar("T_co", covariant=True)


class ByName(Sequence[T_co]):
    """Values in their order, each also by its name: `summary["id_recall"]`.

    Raises `KeyError`, which has all names, for a name that none has.
    """

    kind: ClassVar[str] = "score"
    """What a name is of."""

    @property
    @abstractmethod
    def named(self) -> Mapping[str, T_co]:
        """The values by their names, in order."""

    @overload
    def __getitem__(self, key: int | str) -> T_co: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[T_co, ...]: ...
    def __getitem__(self, key: int | str | slice) -> T_co | tuple[T_co, ...]:
        if not isinstance(key, str):
            return tuple(self.named.values())[key]
        if key in self.named:
            return self.named[key]
        raise KeyError(f"no {self.kind} {key!r}: choose one of {', '.join(self.named)}")

    def __iter__(self) -> Iterator[T_co]:
        return iter(self.named.values())

    def __len__(self) -> int:
        return len(self.named)


class OfMeasure(Protocol):
    """What is known of one measure."""

    @property
    def measure(self) -> Measure:
        """The measure."""
        ...


M_co = TypeVar("M_co", bound=OfMeasure, covariant=True)


class ByMeasure(Mapping[Measure, M_co]):
    """What is known of one score, by measure or its text: `score[Recall @ 5]`, `score["recall@5"]`.

    `method` is how the score was made. Raises `KeyError`, which has all measures, for another.
    """

    kind: ClassVar[str]
    """What it is a part of."""

    method: Method

    @property
    @abstractmethod
    def measured(self) -> Mapping[Measure, M_co]:
        """The values by their measures, in order."""

    def __getitem__(self, measure: Measure | str) -> M_co:
        try:
            return self.measured[parse(measure) if isinstance(measure, str) else measure]
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
    def main(self) -> M_co:
        """The headline over all that was retrieved, or the first measure where that is not here."""
        return self.measured.get(self.method.headline) or next(iter(self.measured.values()))

    @property
    def at(self) -> dict[int, M_co]:
        """What is known of the headline by k, ascending."""
        cut = {measure.top: measure for measure in self if measure.whole == self.method.headline}
        return {k: self[cut[k]] for k in sorted(k for k in cut if k is not None)}
