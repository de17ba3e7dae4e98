"""What a scorer finds out: for each target, how much of it was retrieved, and at which ranks.

Every measure is computed from findings, and no measure knows which scorer made them. A run over
ten thousand samples reads the scores of all and the findings of few, so findings may be kept as
columns: measures read the columns, and a `Finding` is made for whoever asks for it.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from operator import length_hint
from typing import Any, NamedTuple, Protocol, TypeAlias, overload

from fullrecall.identifiers import GivenIds, as_texts
from fullrecall.sample import Reference


class Target(NamedTuple):
    """One thing that must be found: a reference ID, a reference context, a claim, an entity.

    `any_of` names it, more than once where alternatives serve. `grade` is its relevance, above
    0, and its gain in nDCG: 1.0 unless the references are graded. `size` is how much there is of
    it to find: the characters of a passage, else 1.0.
    """

    any_of: tuple[str, ...]
    grade: float = 1.0
    size: float = 1.0

    @property
    def label(self) -> str:
        """The target as a human reads it: its ID or text, alternatives with a bar between them."""
        return " | ".join(self.any_of)


class Evidence(NamedTuple):
    """Where a context supports a target.

    `rank` is 1-based. `start`, `end` are offsets in the context's text, `target_start`,
    `target_end` in the target's, half-open, None where the scorer has none. `similarity` is in
    [0, 1]. `quote` is what a judge says the context says, `verified` whether it was found there;
    None without a judge.
    """

    rank: int
    start: int | None = None
    end: int | None = None
    target_start: int | None = None
    target_end: int | None = None
    similarity: float | None = None
    quote: str | None = None
    verified: bool | None = None


class Step(NamedTuple):
    """From this 1-based `rank` on, a target has this cumulative `credit`, in (0, 1]."""

    rank: int
    credit: float


class Finding(NamedTuple):
    """How one target was found.

    `steps` is the cumulative credit by rank, both strictly increasing; empty when nothing was
    found. `ranks` are the 1-based ranks of all contexts that support the target, ascending,
    which may be more than those that raised its credit. `evidence` is in rank order. `verdict`
    is a judge's label, `agreement` the share of a panel that gave it; empty and None without.
    `judge` names the judge that settled it before the last of a cascade was asked, and is empty
    where none did. `unverified` is the credit, of all that was earned, that rests on quotes which
    were not verified, in [0, 1]; `contested` says why a verdict was judged apart from the others.
    """

    target: Target
    steps: tuple[Step, ...] = ()
    ranks: tuple[int, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    verdict: str = ""
    agreement: float | None = None
    judge: str = ""
    unverified: float = 0.0
    contested: str = ""

    def credit_at(self, k: int | None = None) -> float:
        """Return the credit earned within the first `k` ranks, in [0, 1]; None: within all."""
        credit = 0.0
        for rank, reached in self.steps:
            if k is not None and rank > k:
                break
            credit = reached
        return credit

    @property
    def rank(self) -> int | None:
        """The rank at which the target is found in full; None if it never is."""
        return self.steps[-1].rank if self.steps and self.steps[-1].credit >= 1.0 else None

    def found_at(self, k: int | None = None) -> bool:
        """Return whether the target is found in full within the first `k` ranks."""
        return self.rank is not None and (k is None or self.rank <= k)


Findings: TypeAlias = Sequence[Finding]


def unverified_share(findings: Findings) -> float | None:
    """Return the share of judged credit that rests on unverified quotes, in [0, 1].

    Credit is that earned over all ranks; None where no judge gave any.
    """
    judged = [finding for finding in findings if finding.verdict]
    credit = sum(finding.credit_at() for finding in judged)
    return sum(finding.unverified for finding in judged) / credit if credit else None


class ColumnFindings(Sequence[Finding]):
    """Base of both: a sequence of findings that equals, prints and pickles as a tuple of them."""

    __slots__ = ("_sorted",)

    _sorted: list[int] | None

    @property
    @abstractmethod
    def targets(self) -> Sequence[Target]:
        """What was to be found, in order."""

    @property
    @abstractmethod
    def relevant_ranks(self) -> Sequence[int]:
        """The ranks that support any target, ascending, each once."""

    @abstractmethod
    def _first_ranks(self) -> list[int]:
        """Return the rank at which each target that was found is found in full, in no order."""

    @abstractmethod
    def _ranks_in_order(self) -> Iterable[int | None]:
        """Return the rank at which each target is found in full, in order; None: never."""

    @abstractmethod
    def _finding(self, position: int) -> Finding:
        """Return the finding of one target."""

    @property
    def found_ranks(self) -> list[int]:
        """The rank at which each target that was found is found in full, ascending."""
        if self._sorted is None:
            self._sorted = sorted(self._first_ranks())
        return self._sorted

    def found_within(self, k: int | None) -> int:
        """Return how many targets are found in full within the first `k` ranks."""
        found = self._sorted
        if found is None:
            found = self.found_ranks
        return len(found) if k is None else bisect_right(found, k)

    def missed_within(self, k: int | None) -> Iterator[int]:
        """Yield the places of the targets that are not found in full within the first `k` ranks."""
        for place, rank in enumerate(self._ranks_in_order()):
            if rank is None or (k is not None and rank > k):
                yield place

    @overload
    def __getitem__(self, index: int) -> Finding: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Finding, ...]: ...
    def __getitem__(self, index: int | slice) -> Finding | tuple[Finding, ...]:
        positions = range(len(self))[index]
        if isinstance(positions, range):
            return tuple(map(self._finding, positions))
        return self._finding(positions)

    def __iter__(self) -> Iterator[Finding]:
        return map(self._finding, range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))

    def __reduce__(self) -> tuple[type, tuple[tuple[Finding, ...]]]:
        return tuple, (tuple(self),)


class WholeFindings(ColumnFindings):
    """Findings of targets that one context finds in full.

    `ranks[i]` holds the ranks that support `references[i]`, ascending.
    """

    __slots__ = ("_relevant", "ranks", "references")

    def __init__(self, references: Sequence[Reference], ranks: Sequence[tuple[int, ...]]) -> None:
        self.references = references
        self.ranks = tuple(ranks)
        self._relevant: tuple[int, ...] | None = None
        self._sorted = None

    def __len__(self) -> int:
        return len(self.references)

    @property
    def targets(self) -> Sequence[Target]:
        """What was to be found, in order."""
        return [Target(any_of, grade) for any_of, grade in self.references]

    @property
    def relevant_ranks(self) -> Sequence[int]:
        """The ranks that support any target, ascending, each once."""
        if self._relevant is None:
            self._relevant = tuple(sorted(set().union(*self.ranks)))
        return self._relevant

    def only(self, places: Sequence[int]) -> WholeFindings:
        """Return the findings at these places alone."""
        return WholeFindings([self.references[n] for n in places], [self.ranks[n] for n in places])

    def _first_ranks(self) -> list[int]:
        return [ranks[0] for ranks in self.ranks if ranks]

    def _ranks_in_order(self) -> Iterable[int | None]:
        return [ranks[0] if ranks else None for ranks in self.ranks]

    def _finding(self, position: int) -> Finding:
        (any_of, grade), ranks = self.references[position], self.ranks[position]
        return Finding(Target(any_of, grade), (Step(ranks[0], 1.0),) if ranks else (), ranks)


def ranks_of(retrieved: GivenIds, ids: tuple[str, ...] | tuple[int, ...]) -> tuple[list[int], bool]:
    """Return the first rank of each of the `ids` that was retrieved, ascending.

    And whether a context stands among them that has no ID: None, or a blank text.
    """
    sought: set[str | int | None] = {None, "", *ids}
    # Most of what was retrieved is not sought, and is passed over without a step of Python. The
    # iterator, of a list or a tuple, knows how much is left, and so where it stands.
    size, rest = len(retrieved), iter(retrieved)
    hits, some_without = [], False
    for one in filter(sought.__contains__, rest):
        sought.remove(one)  # of several equal IDs the first is the one that counts
        if one is None or one == "":
            some_without = True
        else:
            hits.append(size - length_hint(rest))
    if not hits and ids and retrieved and (type(retrieved[0]) is int) is not (type(ids[0]) is int):
        return ranks_of(as_texts(retrieved), as_texts(ids))  # type: ignore[arg-type] # no None
    return hits, some_without


class SingleFindings(WholeFindings):
    """Findings of single IDs: a run over ten thousand samples makes no object for any of them.

    `ids` are distinct, and are found at `hits`: ranks of `retrieved`, ascending, one for each ID
    that was found. `grades[i]` is that of `ids[i]`, all of them 1.0 if `grades` is None. Whole
    numbers among IDs stand for their texts.
    """

    __slots__ = ("grades", "hits", "ids", "retrieved")

    hits: list[int]
    references: Sequence[Reference]
    ranks: tuple[tuple[int, ...], ...]

    def __init__(
        self,
        ids: tuple[str, ...] | tuple[int, ...],
        hits: list[int],
        retrieved: GivenIds,
        grades: Sequence[float] | None,
    ) -> None:
        self.ids = ids
        self.hits = hits
        self.retrieved = retrieved
        self.grades = grades

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def names(self) -> Sequence[str]:
        """The IDs as texts."""
        return [f"{one}" for one in self.ids]

    def __getattr__(self, name: str) -> Any:
        # What is rarely read is made when it is.
        if name == "references":
            grades = repeat(1.0) if self.grades is None else self.grades
            pairs = zip(self.ids, grades, strict=False)
            self.references = [Reference((f"{one}",), grade) for one, grade in pairs]
        elif name == "ranks":
            self.ranks = tuple([() if rank is None else (rank,) for rank in self._ranks_in_order()])
        else:
            raise AttributeError(name)
        return getattr(self, name)

    @property
    def relevant_ranks(self) -> Sequence[int]:
        """The ranks that support any target, ascending, each once."""
        return self.hits

    @property
    def found_ranks(self) -> list[int]:
        """The rank at which each target that was found is found in full, ascending."""
        return self.hits

    def found_within(self, k: int | None) -> int:
        """Return how many targets are found in full within the first `k` ranks."""
        return len(self.hits) if k is None else bisect_right(self.hits, k)

    def _first_ranks(self) -> list[int]:
        return self.hits

    def _ranks_in_order(self) -> Iterable[int | None]:
        rank_of = {f"{self.retrieved[rank - 1]}": rank for rank in self.hits}
        return [rank_of.get(f"{one}") for one in self.ids]


class Criterion(Protocol):
    """What works out several matches together."""

    def settle(self, several: Any, cuts: Iterable[int | None], /) -> Iterator[None]:
        """Have them know what is found within each cut, None among them: at all; step by step."""
        ...


class Matches(Protocol):
    """Where the targets of one sample are found, worked out when it is asked; must not raise."""

    @property
    def criterion(self) -> Criterion:
        """What works out several of them together."""
        ...

    def work(self, *, whole: bool) -> int:
        """Return how long it may take to know the ranks, or else the whole, that is not known yet.

        In units of some 10 ps, during which other threads run.
        """
        ...

    def found_within(self, k: int | None, /) -> int:
        """Return how many targets are found whole within `k` ranks, or at all."""
        ...

    def first_ranks(self) -> list[int | None]:
        """Return the rank at which each target is found first; None if it is not found."""
        ...

    def finding(self, place: int, /) -> Finding:
        """Return the finding of the target at this place."""
        ...


class LateFindings(ColumnFindings):
    """Findings of which no more is worked out than what is read.

    Recall needs to know which targets are found, recall at k which of them within k; precision
    and evidence need to look at every context.
    """

    __slots__ = ("_made", "_targets", "matches")

    def __init__(self, targets: Sequence[Target], matches: Matches) -> None:
        self._targets = targets
        self.matches = matches
        self._made: dict[int, Finding] = {}
        self._sorted = None

    def __len__(self) -> int:
        return len(self._targets)

    @property
    def targets(self) -> Sequence[Target]:
        """What was to be found, in order."""
        return self._targets

    @property
    def relevant_ranks(self) -> Sequence[int]:
        """The ranks that support any target, ascending, each once: makes the findings."""
        return sorted({rank for finding in self for rank in finding.ranks})

    def work(self, *, whole: bool) -> int:
        """Return how long it may take to read ranks, or the whole findings; as `Matches.work`."""
        if whole and len(self._made) == len(self._targets):
            return 0
        return self.matches.work(whole=whole)

    def found_within(self, k: int | None) -> int:
        """Return how many targets are found in full within the first `k` ranks."""
        return self.matches.found_within(k)

    def _first_ranks(self) -> list[int]:
        return [first for first in self.matches.first_ranks() if first is not None]

    def _ranks_in_order(self) -> Iterable[int | None]:
        return self.matches.first_ranks()

    def _finding(self, position: int) -> Finding:
        if position not in self._made:
            self._made[position] = self.matches.finding(position)
        return self._made[position]


class RankedFindings(Sequence[Finding]):
    """Findings by the ranks of several united lists, made of findings by the place in their union.

    `ranks[i]` is the rank of the context at place i + 1 in its own list, ascending: several
    contexts may share one. Measures count contexts by place and cut and discount by rank.
    """

    __slots__ = ("placed", "ranks")

    def __init__(self, placed: Findings, ranks: tuple[int, ...]) -> None:
        self.placed = placed
        self.ranks = ranks

    def __len__(self) -> int:
        return len(self.placed)

    @overload
    def __getitem__(self, index: int) -> Finding: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Finding, ...]: ...
    def __getitem__(self, index: int | slice) -> Finding | tuple[Finding, ...]:
        if isinstance(index, slice):
            return tuple(map(self._ranked, self.placed[index]))
        return self._ranked(self.placed[index])

    @property
    def relevant_ranks(self) -> Sequence[int]:
        """The rank of each context that supports any target, ascending."""
        return [self.ranks[place - 1] for place in relevant_ranks(self.placed)]

    def _ranked(self, finding: Finding) -> Finding:
        credit = {self.ranks[place - 1]: credit for place, credit in finding.steps}
        return finding._replace(
            steps=tuple(Step(rank, reached) for rank, reached in credit.items()),
            ranks=tuple(dict.fromkeys(self.ranks[place - 1] for place in finding.ranks)),
            evidence=tuple(
                item._replace(rank=self.ranks[item.rank - 1]) for item in finding.evidence
            ),
        )


def contexts_within(findings: Findings, retrieved: int, k: int | None) -> int:
    """Return how many of the contexts stand at one of the first `k` ranks."""
    if k is None:
        return retrieved
    if type(findings) is RankedFindings:
        return bisect_right(findings.ranks, k)
    return min(retrieved, k)


def lists_of(findings: Findings) -> int:
    """Return how many lists were united: the most contexts that share a rank, at least 1."""
    if type(findings) is RankedFindings:
        return max(Counter(findings.ranks).values(), default=1)
    return 1


def targets_of(findings: Findings) -> Sequence[Target]:
    """Return the targets of findings, in order, without making findings that are not made yet."""
    if isinstance(findings, RankedFindings):
        return targets_of(findings.placed)
    if isinstance(findings, ColumnFindings):
        return findings.targets
    return [finding.target for finding in findings]


def same_targets(findings: Findings, others: Findings) -> bool:
    """Return whether both have the same targets in the same order, where that is seen at once."""
    if type(findings) is SingleFindings and type(others) is SingleFindings:
        return findings.ids == others.ids and findings.grades == others.grades
    if isinstance(findings, WholeFindings) and isinstance(others, WholeFindings):
        return findings.references == others.references
    if type(findings) is LateFindings and type(others) is LateFindings:
        return findings.targets == others.targets
    if type(findings) is tuple and type(others) is tuple:
        return [finding.target for finding in findings] == [finding.target for finding in others]
    return False


def relevant_ranks(findings: Findings) -> Sequence[int]:
    """Return the ranks of the contexts that support any target, ascending, each once.

    A duplicate of an earlier context is never relevant a second time.
    """
    known: Sequence[int] | None = getattr(findings, "relevant_ranks", None)
    if known is not None:
        return known
    return sorted({rank for finding in findings for rank in finding.ranks})


def gains(findings: Findings) -> list[tuple[int, float]]:
    """Return each rise of a target's credit: at which rank, and by how much; in no order."""
    if isinstance(findings, (WholeFindings, LateFindings)):
        return [(rank, 1.0) for rank in findings.found_ranks]
    found: list[tuple[int, float]] = []
    for finding in findings:
        before = 0.0
        for rank, credit in finding.steps:
            found.append((rank, credit - before))
            before = credit
    return found


def graded(findings: Findings, min_grade: float) -> Findings:
    """Return the findings of the targets whose grade is at least `min_grade`."""
    if isinstance(findings, RankedFindings):
        return RankedFindings(graded(findings.placed, min_grade), findings.ranks)
    if isinstance(findings, WholeFindings):
        kept = [n for n, (_, grade) in enumerate(findings.references) if grade >= min_grade]
        return findings if len(kept) == len(findings) else findings.only(kept)
    if all(target.grade >= min_grade for target in targets_of(findings)):
        return findings
    return tuple(finding for finding in findings if finding.target.grade >= min_grade)


def restricted(findings: Findings, targets: set[Target]) -> Findings:
    """Return the findings of these `targets` alone, in their order."""
    known = targets_of(findings)
    if targets.issuperset(known):
        return findings
    if isinstance(findings, WholeFindings):
        return findings.only([n for n, target in enumerate(known) if target in targets])
    return tuple(finding for finding in findings if finding.target in targets)
