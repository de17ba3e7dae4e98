"""The base of all measures: parameters, `@ k`, thresholds, and the text form."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self, dataclass_transform

from fullrecall._util.parameters import check_positive, check_share, no_parameter
from fullrecall._util.value_object import ValueObject
from fullrecall.errors import ParameterError
from fullrecall.measures.budgets import Cut, CutBudget, Unit, check_cut
from fullrecall.measures.findings import Findings

if TYPE_CHECKING:
    from fullrecall.measures.found import FoundColumns
    from fullrecall.measures.lists import Floats

_OWN = "fullrecall.measures"


@dataclass_transform(frozen_default=True, kw_only_default=True)
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Measure(ValueObject):
    """Base of all measures. A measure computes a number in [0, 1], or a count, from findings.

    To define a measure, subclass it with a `text` and a `count`. A subclass becomes a frozen
    dataclass, whose annotated fields are parameters.

        class FoundPerContext(Measure):
            text = "found_per_context"

            def count(self, findings, retrieved):
                return sum(finding.found_at() for finding in findings) / max(1, retrieved)

        result[FoundPerContext() @ 5]

    `count` receives the findings within the cut, as if the retriever had returned no more. If it
    has a third argument `sample`, it also receives the whole sample, with its retrieved IDs and its
    judgments of grade 0. Use `GradedMeasure` as the base to get `min_grade`, and `is_count = True`
    for a number above 1.

    - `k`: count the first `k` ranks only, or the contexts that a budget pays for, such as
      `calls(3)`; None counts all retrieved contexts.
    - `zero_division`: the value if there is nothing to count (no target); None: it is undefined.

    Raises `ParameterError`, naming the parameter, for a value out of range. The definition of a
    class raises it for a name that is missing, malformed or taken, and for a `count` with other
    arguments. Reading a value raises it for a value outside [0, 1] by more than rounding (1e-9).
    """

    k: Cut | None = None
    zero_division: float | None = None

    text: ClassVar[str]
    """The name in text form, as in files and on the command line."""

    of_sample: ClassVar[bool] = False
    """Whether it reads only the sample, so that an unscored sample has a value too."""

    is_count: ClassVar[bool] = False
    """Whether it is a count, not a share; the mean of a count has no interval."""

    needs_target: ClassVar[bool] = True
    """Whether it has a value only for samples with a target."""

    plain: ClassVar[bool] = False
    """Whether its formula accepts the plain numbers of one row (`FoundRow`) as well as columns."""

    lower_is_better: ClassVar[bool] = False
    """Whether a lower mean is better."""

    def __init_subclass__(cls) -> None:
        # Make a subclass a frozen dataclass too, so that its parameters are its fields. `eq=False`
        # keeps the `__eq__` and `__hash__` of `Measure`, which compare these parameters.
        dataclass(frozen=True, kw_only=True, eq=False, repr=False)(cls)
        if "__eq__" in vars(cls) and not vars(cls)["__hash__"]:
            cls.__hash__ = Measure.__hash__  # type: ignore[method-assign]
        if "count" in vars(cls) and not cls.__module__.startswith(_OWN):
            cls.plain = False
            from fullrecall.measures.own import check_class

            check_class(cls)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        # Compute the hash once, because dicts with measures as keys are read very often.
        return super().__hash__()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_hash"}

    def __post_init__(self) -> None:
        if self.k is not None:
            check_cut(self.k)
        if self.zero_division is not None:
            check_share(self.zero_division, "zero_division")

    def count(self, findings: Findings, retrieved: int) -> float:
        """Return the value of a sample with at least one finding and `retrieved` contexts.

        Measures that users define implement this; those of this package implement `formula`.
        """
        raise NotImplementedError

    def formula(self, outcomes: FoundColumns) -> Floats:
        """Return the value of each row; the caller may replace those of rows without a target."""
        from fullrecall.measures.own import values_of

        return values_of(self, outcomes)

    def values(self, outcomes: FoundColumns) -> Floats:
        """Return the value of each row, in [0, 1] unless the measure is a count.

        If the measure needs a target, a row without one has the value `zero_division`, or NaN. The
        value is also NaN if it is unknown which contexts are within a budget.
        """
        if isinstance(self.k, CutBudget):
            from fullrecall.measures.paid import within

            # Remove the contexts beyond the budget first, so that no formula depends on costs.
            left, is_known = within(outcomes, self.k)
            values: Floats = self.whole.values(left)
            values[~is_known] = float("nan")
            return values
        counted = self.counted(outcomes)
        values = self.formula(counted)
        return counted.defined(values, self.zero_division, needs_target=self.needs_target)

    def counted(self, outcomes: FoundColumns) -> FoundColumns:
        """Return the columns of the targets that count: all targets, unless `min_grade` is set."""
        return outcomes

    def countable(self, findings: Findings) -> Findings:
        """Return the findings of the targets that count: all, unless `min_grade` is set."""
        return findings

    def __matmul__(self, k: Cut) -> Self:
        return replace(self, k=check_cut(k))

    def __getitem__(self, k: object) -> NoReturn:
        raise ParameterError(f"{self.text} has no items: write {self!r} @ {k!r}")

    def __call__(self, *k: object, **parameters: Any) -> Self:
        """Return this measure with other parameters: `Recall(min_grade=2)`."""
        if k:
            raise ParameterError(f"{self.text} takes no k so: write {self!r} @ {k[0]!r}")
        names = [each.name for each in fields(self) if each.name != "k"]
        for name, value in parameters.items():
            if name == "k":
                raise ParameterError(f"{self.text} has no parameter 'k': write measure @ k")
            if name not in names:
                raise ParameterError(self.text + no_parameter(name, value, names))
        return replace(self, **parameters)

    def __ge__(self, least: float) -> Threshold:
        # `>=` and `<=` make thresholds, so measures have no order, and sorting them needs a key.
        return Threshold(self, least)

    def __le__(self, most: float) -> Threshold:
        return Threshold(self, most, at_most=True)

    def __gt__(self, least: object) -> NoReturn:
        raise ParameterError(f"{self!r} > {least} is not a threshold: write {self!r} >= {least}")

    def __lt__(self, most: object) -> NoReturn:
        raise ParameterError(f"{self!r} < {most} is not a threshold: write {self!r} <= {most}")

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that differ from their defaults, without `k`."""
        settings = ((each, getattr(self, each.name)) for each in fields(self) if each.name != "k")
        return {each.name: value for each, value in settings if value != each.default}

    @property
    def name(self) -> str:
        """The text form, which `parse` reads: `recall@5`, `ndcg(gain=exponential)@10`."""
        inside = ",".join(f"{name}={_as_text(value)}" for name, value in self.parameters.items())
        cut = "" if self.k is None else f"@{self.k}"
        return f"{self.text}({inside}){cut}" if inside else f"{self.text}{cut}"

    @cached_property
    def top(self) -> int | None:
        """The number of ranks within which targets count; None for a budget or for all ranks."""
        return self.k if isinstance(self.k, int) else None

    @property
    def unit(self) -> Unit | None:
        """The unit of the budget; None if the measure has no budget."""
        return self.k.unit if isinstance(self.k, CutBudget) else None

    @property
    def of_columns(self) -> bool:
        """Whether the measure reads only columns of findings, not samples or `Finding`s."""
        return self.plain and self.unit is None

    @property
    def amount(self) -> float | None:
        """The number of ranks, calls, tokens or seconds of the cut; None without a cut."""
        return self.k.amount if isinstance(self.k, CutBudget) else self.k

    @property
    def whole(self) -> Self:
        """This measure over all retrieved contexts."""
        return self if self.k is None else replace(self, k=None)

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        cut = "" if self.k is None else f" @ {self.k!r}"
        written = type(self).__name__.removesuffix("Measure")
        return f"{written}({inside}){cut}" if inside else f"{written}{cut}"


@dataclass(frozen=True, eq=False, repr=False)
class Threshold(ValueObject):
    """A bound that a mean must reach, such as `Recall @ 10 >= 0.9`, or not exceed (`<=`).

    `bool` raises `ParameterError`, since `and` would drop one of two thresholds.
    """

    measure: Measure
    bound: float
    at_most: bool = False

    def __post_init__(self) -> None:
        if self.measure.is_count:
            raise ParameterError(f"{self.measure!r} is a count, which has no threshold")
        check_share(self.bound, "a threshold")

    def __bool__(self) -> NoReturn:
        raise ParameterError(
            f"{self!r} has no truth value: pass each rule by itself, without `and`, `or`, `not`, "
            "or a chain: Gate(Recall @ 10 >= 0.9, RR >= 0.7)"
        )

    def __repr__(self) -> str:
        return f"{self.measure!r} {self.sign} {self.bound:g}"

    @property
    def sign(self) -> str:
        """`>=` or `<=`."""
        return "<=" if self.at_most else ">="


class GradedMeasure(Measure):
    """Base of the measures that treat a target as relevant or not, by its grade.

    - `min_grade`: only targets of at least this grade count; None counts all.
    """

    min_grade: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.min_grade is not None:
            check_positive(self.min_grade, "min_grade")

    def counted(self, outcomes: FoundColumns) -> FoundColumns:
        """Return the columns of the targets that have at least `min_grade`."""
        return outcomes if self.min_grade is None else outcomes.graded(self.min_grade)

    def countable(self, findings: Findings) -> Findings:
        """Return the findings whose target has at least `min_grade`."""
        least = self.min_grade
        if least is None:
            return findings
        return [finding for finding in findings if finding.target.grade >= least]


def _as_text(value: object) -> str:
    return str(value).removesuffix(".0")
