"""The score of one sample by one scorer, with all that explains it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from fullrecall.errors import ParameterError
from fullrecall.finding import Finding
from fullrecall.measures import MEASURES, PrecisionDenominator, recall_at
from fullrecall.usage import Usage


class Status(StrEnum):
    """Whether a sample has a score, and if not, whose the gap is."""

    SCORED = "scored"
    UNDEFINED = "undefined"
    """The sample has no reference items: there is nothing to recall."""
    UNSCORED = "unscored"
    """The sample could not be measured: no retrieval seen, a field missing, a failure."""


@dataclass(frozen=True)
class Method:
    """How a score was made: the scorer's name, its headline measure, and its parameters."""

    name: str
    measure: str = "recall"
    k: int | None = None
    ks: tuple[int, ...] = ()
    zero_division: float | None = None
    precision_denominator: PrecisionDenominator = "retrieved"
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """The score's name with its cut-off: `id_recall`, `id_recall@5`."""
        return self.name if self.k is None else f"{self.name}@{self.k}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values that `from_dict` reads back."""
        return {**self.__dict__, "ks": list(self.ks), "parameters": dict(self.parameters)}

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Method:
        """Return the method that `to_dict` wrote."""
        return cls(**{**plain, "ks": tuple(plain["ks"])})


@dataclass(frozen=True)
class Result:
    """The outcome of one scorer on one sample.

    `findings` has one item per target, `retrieved` counts the contexts (0 for none), `reason` is
    one sentence. Where several calls were united, `ranks` is the rank of each context in its own
    call, ascending, and findings name contexts by their 1-based place in that list; None: the
    place is the rank. `unmeasured` names targets that could not be judged, each with why, and
    `usage` is what the judging cost; an unscored result keeps the findings that were made. Every
    measure is a float in [0, 1], None unless `status` is "scored". Measures are cut at the
    scorer's `k`; `at` and `value` take any other.
    """

    method: Method
    status: Status
    findings: Sequence[Finding] = ()
    retrieved: int = 0
    note: str = ""
    unmeasured: tuple[tuple[str, str], ...] = ()
    usage: Usage = Usage()  # noqa: RUF009 - a tuple: it cannot be changed
    ranks: tuple[int, ...] | None = None

    def value(self, measure: str, k: int | None = None) -> float | None:
        """Return a measure by name, cut at `k`, None for the whole list.

        Names are those of `fullrecall.measures.MEASURES`. Raises `ParameterError` for another
        name, and for a `k` below 1.
        """
        if measure not in MEASURES:
            raise ParameterError(f"no measure {measure!r}: there are {', '.join(MEASURES)}")
        if k is not None:
            check_k(k)
        if self.status is not Status.SCORED:
            return None
        if not len(self.findings):
            return self.method.zero_division
        return MEASURES[measure](
            self.findings, self.retrieved, k, self.method.precision_denominator
        )

    @property
    def score(self) -> float | None:
        """The scorer's headline measure at its `k`."""
        return self.value(self.method.measure, self.method.k)

    @property
    def at(self) -> AtK:
        """The headline measure at every k: `result.at[5]`. Iterates over the scorer's `ks`."""
        return AtK(self)

    @property
    def recall(self) -> float | None:
        """Share of the targets' credit that was earned."""
        return self.value("recall", self.method.k)

    @property
    def precision(self) -> float | None:
        """Share of the retrieved contexts that support a target."""
        return self.value("precision", self.method.k)

    @property
    def f1(self) -> float | None:
        """Harmonic mean of precision and recall."""
        return self.value("f1", self.method.k)

    @property
    def hit(self) -> float | None:
        """1.0 if any retrieved context supports a target, else 0.0."""
        return self.value("hit", self.method.k)

    @property
    def all_found(self) -> float | None:
        """1.0 if every target was found in full, else 0.0."""
        return self.value("all_found", self.method.k)

    @property
    def reciprocal_rank(self) -> float | None:
        """1 / rank of the first context that supports a target, else 0.0."""
        return self.value("reciprocal_rank", self.method.k)

    @property
    def average_precision(self) -> float | None:
        """Mean over targets of the precision at the rank where each was found."""
        return self.value("average_precision", self.method.k)

    @property
    def ndcg(self) -> float | None:
        """Normalised discounted cumulative gain, by the targets' grades."""
        return self.value("ndcg", self.method.k)

    @property
    def missed(self) -> tuple[str, ...]:
        """The targets not found in full within the scorer's `k`, as text or IDs."""
        return tuple(
            finding.target.label for finding in self.findings if not finding.found_at(self.method.k)
        )

    @property
    def reason(self) -> str:
        """One sentence for a human: why there is no score, or what the score stands for."""
        if self.status is not Status.SCORED or not len(self.findings):
            return self.note
        k = self.method.k
        found = sum(finding.found_at(k) for finding in self.findings)
        seen = self.retrieved if k is None else min(k, self.retrieved)
        partly = any(0 < finding.credit_at(k) < 1 for finding in self.findings)
        sentence = (
            f"{found} of {len(self.findings)} found{' in full' if partly else ''} "
            f"in {seen} retrieved"
        )
        return f"{sentence}; {self.note}" if self.note else sentence

    def _repr_html_(self) -> str:
        from fullrecall.notebook import result_html

        return result_html(self)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values that `from_dict` reads back, without the method."""
        plain: dict[str, Any] = {"status": str(self.status)}
        if self.status is Status.SCORED:
            plain["score"] = self.score
        if self.status is Status.SCORED or len(self.findings):
            plain["retrieved"] = self.retrieved
            plain["findings"] = [finding.to_dict() for finding in self.findings]
        if self.ranks is not None:
            plain["ranks"] = list(self.ranks)
        if self.note:
            plain["note"] = self.note
        if self.unmeasured:
            plain["unmeasured"] = [list(item) for item in self.unmeasured]
        if any(self.usage):
            plain["usage"] = self.usage._asdict()
        return plain

    @classmethod
    def from_dict(cls, plain: dict[str, Any], method: Method) -> Result:
        """Return the result that `to_dict` wrote."""
        return cls(
            method,
            Status(plain["status"]),
            tuple(map(Finding.from_dict, plain.get("findings", ()))),
            plain.get("retrieved", 0),
            plain.get("note", ""),
            tuple((target, why) for target, why in plain.get("unmeasured", ())),
            Usage(**plain.get("usage", {})),
            None if plain.get("ranks") is None else tuple(plain["ranks"]),
        )


class AtK(Mapping[int, float | None]):
    """A result's headline measure by k: any k >= 1 can be asked for, the scorer's `ks` are listed.

    Raises `ParameterError` for a k below 1.
    """

    __slots__ = ("_result",)

    def __init__(self, result: Result) -> None:
        self._result = result

    def __getitem__(self, k: int) -> float | None:
        return self._result.value(self._result.method.measure, check_k(k))

    def __iter__(self) -> Iterator[int]:
        return iter(self._result.method.ks)

    def __len__(self) -> int:
        return len(self._result.method.ks)

    def values_at(self, ks: Sequence[int]) -> list[float | None]:
        """Return the measure at each of `ks`; recall takes one pass over the findings for all."""
        result = self._result
        if (
            result.method.measure == "recall"
            and result.status is Status.SCORED
            and len(result.findings)
        ):
            return list(recall_at(result.findings, ks))
        return [self[k] for k in ks]

    def __repr__(self) -> str:
        return repr(dict(self))


def check_k(k: object, name: str = "k") -> int:
    """Return `k` if it is an int >= 1; raise `ParameterError` naming the parameter otherwise."""
    if not isinstance(k, int) or isinstance(k, bool) or k < 1:
        raise ParameterError(f"{name} is a whole number >= 1, got {k!r}")
    return k
