"""What a completion found: pairs in strata, people's labels of some, and what follows from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from fullrecall.calibration import sheet
from fullrecall.errors import InputError, ParameterError
from fullrecall.parameters import check_k
from fullrecall.read.sheets import sheet_rows
from fullrecall.sample import Sample
from fullrecall.testset.additions import RecallAtK, extended, recall_of
from fullrecall.testset.completeness import (
    KINDS,
    WIDTH,
    Share,
    Stratum,
    Total,
    completeness,
    drawn,
    labels_needed,
    missing,
    share_of,
    strata_of,
    with_textless,
)
from fullrecall.testset.pool import Pair, Pool
from fullrecall.usage import Spent

RIGHT = 0.8
"""Fewer right finds than this, by people's labels, and only confirmed ones are added."""

_K = 10
_WORDS = {"relevant": True, "not_relevant": False}


class PairToLabel(NamedTuple):
    """One question and one context; `label` is to be filled in with `relevant` or `not_relevant`.

    A context is relevant if it states what the question needs, with claims: at least one of them.
    `item` identifies the pair.
    """

    label: str
    question: str
    claims: str
    context: str
    item: str


PairLabels: TypeAlias = str | Path | Mapping[str, Any] | Iterable[PairToLabel]
"""The file that `CompletedSet.to_label` wrote, a mapping from items to labels, or pairs."""


class Estimate(NamedTuple):
    """How complete the references are, among each retriever's first `depth`.

    `complete` is of the references as they were, None where the labels do not carry a figure, and
    `refused` says why. `confirmed` is of them with what people found relevant. `needed` is about
    how many labels make the interval 0.2 wide. `right` is the share of the judge's finds that
    people confirm.
    """

    complete: Share | None
    confirmed: Share | None = None
    refused: str = ""
    needed: int = 0
    right: Share | None = None


@dataclass(frozen=True)
class CompletedSet:
    """What was found beyond the references, and what that says of them.

    Without people's labels nothing is added and nothing is claimed: `to_label` draws what people
    should look at, `with_labels` takes it. `error` is the share of one person's labels that may
    be wrong.
    """

    parsed: Sequence[Sample]
    pool: Pool
    depth: int
    names: Sequence[str]
    seed: int = 0
    labels: Mapping[str, bool] = field(default_factory=dict)
    second: Mapping[str, bool] = field(default_factory=dict)
    error: float = 0.0
    spent: Spent = field(default_factory=Spent)

    @cached_property
    def judged(self) -> list[Pair]:
        """All pairs of the frame that the references do not name."""
        return [pair for pairs in self.pool.pairs for pair in pairs if not pair.named]

    @property
    def problems(self) -> dict[str, int]:
        """How many contexts the judge gave no verdict on, by the reason."""
        silent = [pair for pair in self.judged if pair.is_open and pair.relevant is None]
        return dict(Counter(pair.problem for pair in silent))

    def to_label(
        self, n: int = 300, path: str | Path | None = None, *, second: bool = False
    ) -> list[PairToLabel]:
        """Draw pairs for people to label, and write them to a new `.csv` or `.jsonl` file.

        `n` are drawn by stratum, at least ten of each: what the judge found relevant, what it did
        not, and what it gave no verdict on, nearest to the top first. Verdicts are hidden. Label
        all of them; labels that this completion has are filled in. `second` draws instead what
        one person found relevant and the judge did not, for another person to confirm. Raises
        `ParameterError` for arguments out of range, and for a file that exists.
        """
        check_k(n, "n")
        if second:
            chosen = [
                pair for pair in self._labeled if self.labels[pair.item] and not pair.relevant
            ]
        else:
            chosen = [self._with_text[at] for at in drawn(self._members, n, self.seed)]
        labels = self.second if second else self.labels
        pairs = [
            PairToLabel(
                _word_of(labels.get(pair.item)),
                self.parsed[pair.question].user_input or "",
                "\n".join(f"- {claim}" for claim in self.pool.targets[pair.question].claims),
                pair.context.label,
                pair.item,
            )
            for pair in sorted(chosen, key=lambda pair: pair.item)  # which tells no verdict
        ]
        if path is not None:
            sheet.write(path, [PairToLabel._fields, *pairs], (pair._asdict() for pair in pairs))
        return pairs

    def with_labels(
        self, labels: PairLabels, *, second: PairLabels = (), error: float = 0.05
    ) -> CompletedSet:
        """Return this completion with people's labels: files of `to_label`, or pairs.

        `second` are another person's labels of what the first found relevant and the judge did
        not: only what both say counts. Without them the interval allows for `error` there, and is
        wide. `error` is the share of one person's labels that may be wrong, at most: the interval
        holds for all shares up to it; 0 for labels beyond doubt. Raises `InputError` for an
        unknown label, and for labels of another completion, and `ParameterError` for an error
        that is not from 0 to 0.3.
        """
        if not isinstance(error, (int, float)) or not 0 <= error <= 0.3:  # noqa: PLR2004 - f < g
            raise ParameterError(f"error must be from 0 to 0.3, got {error!r}")
        both = [_read(labels), _read(second)]
        for read in both:
            foreign = read.keys() - {pair.item for pair in self.judged}
            if foreign:
                raise InputError(
                    f"{len(foreign):,} of {len(read):,} labels are of pairs that this completion "
                    "does not have: use the same samples, retrievers, depth and seed"
                )
        first, other = {**self.labels, **both[0]}, {**self.second, **both[1]}
        return replace(self, labels=first, second=other, error=float(error))

    @cached_property
    def samples(self) -> list[Sample]:
        """The samples with what was accepted, and with the IDs of all that was judged.

        What supports a claim joins its any-of group; what does not is a reference of its own.
        """
        known = [p for p in self.judged if p.relevant is not None or p.item in self.labels]
        return extended(self.parsed, self.pool, self.accepted, known, self.labels)

    @cached_property
    def accepted(self) -> list[Pair]:
        """What is added: nothing without labels; else what people or a judge that is right say."""
        if not self.labels:
            return []
        right = self.estimate.right
        trusted = right is not None and right.value >= RIGHT
        accepted = []
        for pair in self.judged:
            relevant = self.says(pair) if pair.item in self.labels else trusted and pair.relevant
            targets = self.pool.targets[pair.question]
            if relevant and (not targets.are_claims or targets.joined_by(pair)):
                accepted.append(pair)
        return accepted

    def says(self, pair: Pair) -> bool | None:
        """Return what people say of a pair; None where nobody looked at it."""
        first = self.labels.get(pair.item)
        if not first or pair.relevant:
            return first
        return self.second.get(pair.item, True)

    @cached_property
    def estimate(self) -> Estimate:
        """How complete the references are, or why that cannot be said."""
        named, named_textless = self._named
        needed = labels_needed([len(members) for members in self._members], named)
        missed = self._missing(lambda _: True)
        if isinstance(missed, str):
            return Estimate(None, refused=missed, needed=needed)
        known = named + named_textless
        relevant = sum(bool(self.says(pair)) for pair in self._labeled)
        both = completeness(known, missed)
        rest = Total(*(max(0.0, count - relevant) for count in missed))
        if both.width > WIDTH:
            needed = max(needed, round(len(self._labeled) * (both.width / WIDTH) ** 2))
        needed = min(needed, len(self._with_text))
        finds = [s for s in self._strata(lambda _: True) if s.kind == "yes" and s.size]
        hits, size = missing(finds, self.error), sum(s.size for s in finds)
        right = Share(*(count / size for count in hits)) if hits and size else None
        return Estimate(both, completeness(known + relevant, rest), "", needed, right)

    def recall(self, k: int) -> list[RecallAtK]:
        """Return each retriever's recall at `k` over all targets, before and after, and corrected.

        Raises `ParameterError` for a k beyond `depth`: what lies deeper was not judged.
        """
        if not isinstance(k, int) or isinstance(k, bool) or not 1 <= k <= self.depth:
            raise ParameterError(f"k must be from 1 to the depth of {self.depth}, got {k!r}")
        estimates = []
        for which, name in enumerate(self.names):
            both = recall_of(self.pool, self.accepted, which, k)
            if both is not None:
                estimates.append(RecallAtK(name, k, *both, self._corrected(which, k)))
        return estimates

    def __str__(self) -> str:
        return "\n".join(self._lines())

    @cached_property
    def _with_text(self) -> list[Pair]:
        return [pair for pair in self.judged if pair.is_open]

    @cached_property
    def _members(self) -> list[list[int]]:
        """The numbers of the pairs with a text that are in each stratum."""
        pairs = self._with_text
        return strata_of([pair.kind for pair in pairs], [pair.nearness for pair in pairs])

    @cached_property
    def _labeled(self) -> list[Pair]:
        return [pair for pair in self._with_text if pair.item in self.labels]

    @cached_property
    def _named(self) -> tuple[int, int]:
        """How many pairs with a text the references name, and how many without."""
        named = [pair for pairs in self.pool.pairs for pair in pairs if pair.named]
        with_text = sum(bool(pair.context.text) for pair in named)
        return with_text, len(named) - with_text

    def _strata(self, within: Callable[[Pair], bool]) -> list[Stratum]:
        """Return the strata of those pairs that `within` takes.

        A part of a stratum in which nobody labeled anything is taken to be like the whole.
        """
        strata = []
        for kind, members in zip(KINDS, self._members, strict=True):
            whole = [self._with_text[at] for at in members]
            part = [pair for pair in whole if within(pair)]
            labeled = [pair for pair in part if pair.item in self.labels]
            labeled = labeled or [pair for pair in whole if pair.item in self.labels]
            relevant = sum(bool(self.says(pair)) for pair in labeled)
            twice = all(pair.item in self.second for pair in labeled if self.labels[pair.item])
            count = min(len(labeled), len(part))
            hits = round(relevant * count / len(labeled)) if labeled else 0
            strata.append(Stratum(kind, len(part), count, hits, twice))
        return strata

    def _missing(self, within: Callable[[Pair], bool]) -> Total | str:
        """Return the relevant pairs that the references lack, or why that cannot be said."""
        if not any(self.pool.pairs):
            return "no retriever returned anything"
        if self._with_text and not self.labels:
            return "nobody labeled anything"
        if not self._with_text and self.judged:
            return "no context has a text that could be judged"
        strata = self._strata(within)
        total = missing(strata, self.error)
        if total is None:
            empty = next(s for s in strata if s.size and not s.labeled)
            return f"nobody labeled any of what the judge said {empty.kind!r} of: use to_label"
        without = sum(not pair.is_open and within(pair) for pair in self.judged)
        return with_textless(total, *self._named, without) if without else total

    def _corrected(self, which: int, k: int) -> Share | None:
        """Return relevant pairs within k / relevant pairs of the frame, from labels alone.

        The interval is of these questions. None where additions join claims, for then nothing is
        missing from the targets.
        """
        if self.estimate.complete is None or any(t.are_claims for t in self.pool.targets):
            return None
        named = [pair for pairs in self.pool.pairs for pair in pairs if pair.named]
        named_near = sum(pair.is_within(which, k) for pair in named)
        inside = self._missing(lambda pair: pair.is_within(which, k))
        outside = self._missing(lambda pair: not pair.is_within(which, k))
        if isinstance(inside, str) or isinstance(outside, str):
            return None
        rest = len(named) - named_near
        return share_of(
            Total(*(count + named_near for count in inside)),
            Total(*(count + rest for count in outside)),
        )

    def _lines(self) -> Iterator[str]:
        """Yield what the completion says, each figure with what it stands on."""
        counts = Counter(pair.kind if pair.is_open else "no text" for pair in self.judged)
        summary = ", ".join(f"{counts[kind]:,} {kind}" for kind in counts)
        yield (
            f"{len(self.parsed):,} questions, {len(self.names)} retrievers: "
            f"{len(self.judged):,} contexts among their first {self.depth} that nobody had labeled"
            f"{summary and f': {summary}'}"
        )
        if self.pool.problems:
            yield f"  {len(self.pool.problems):,} questions on which a retriever failed"
        for why, count in self.problems.items():
            yield f"  {count:,} contexts without a verdict: {why}"
        yield from self._of_completeness()
        k = min(_K, self.depth)
        for estimate in self.recall(k):
            change = f"{estimate.before:.3f} → {estimate.after:.3f}"
            line = f"  {estimate.retriever}: recall@{k} per target {change}"
            if estimate.corrected is not None:
                line += f" → {estimate.corrected.value:.3f} {_range(estimate.corrected)} corrected"
            elif self.accepted and not all(t.are_claims for t in self.pool.targets):
                line += ", at most"
            yield line

    def _of_completeness(self) -> Iterator[str]:
        estimate = self.estimate
        advice = f"about {estimate.needed:,} labels make the interval {WIDTH:g} wide"
        if estimate.complete is None:
            yield f"  completeness: not known: {estimate.refused}; {advice}"
        else:
            share = estimate.complete
            yield (
                f"  references {share.value:.0%} complete {_range(share)} among each retriever's "
                f"first {self.depth}, by {len(self._labeled):,} labels"
                f"{f'; {advice}' if share.width > WIDTH else ''}"
            )
            if estimate.confirmed is not None and self.accepted:
                confirmed = estimate.confirmed
                yield f"  with what people confirmed: {confirmed.value:.0%} {_range(confirmed)}"
        if not self.labels:
            yield "  nothing is added without labels"
            return
        count = sum(pair.item in self.labels for pair in self.accepted)
        yield f"  {len(self.accepted):,} added, {count:,} of them confirmed by people"
        lonely = len(self.to_label(1, second=True)) - len(self.second)
        if lonely > 0 and self.error:
            yield f"  {lonely:,} need a second label: to_label(second=True) draws them"
        if estimate.right is not None:
            right = estimate.right
            few = ": only confirmed ones are added" if right.value < RIGHT else ""
            yield f"  {right.value:.0%} {_range(right)} of the judge's finds are right{few}"


def _range(share: Share) -> str:
    return f"[{share.low:.0%}, {share.high:.0%}]"


def _word_of(label: bool | None) -> str:  # noqa: FBT001 - a label
    """Return a label as people write it; None is one that is not filled in."""
    return next((word for word, relevant in _WORDS.items() if relevant is label), "")


def _read(labels: PairLabels) -> dict[str, bool]:
    """Return labels by their item: True for relevant. Pairs without a label are left out.

    Raises `InputError` for a label that is neither, with its line.
    """
    label_by_item: dict[str, bool] = {}
    for line, item, label in _rows(labels):
        verdict = _label(label, line)
        if verdict is not None and label_by_item.setdefault(item, verdict) != verdict:
            raise InputError(f"item {item} has two labels: keep one", line=line)
    return label_by_item


def _rows(labels: PairLabels) -> Iterator[tuple[int, str, Any]]:
    if isinstance(labels, Mapping):
        for line, (item, label) in enumerate(labels.items(), start=1):
            yield line, str(item), label
    elif isinstance(labels, (str, Path)):
        try:
            for line, row in sheet_rows(labels, (("label",), ("item",))):
                yield line, str(row.get("item")), row.get("label")
        except InputError as error:
            raise error.at(path=str(labels)) from None
    else:
        for line, pair in enumerate(labels, start=1):
            yield line, pair.item, pair.label


def _label(label: Any, line: int) -> bool | None:
    if isinstance(label, bool) or label is None:
        return label
    normalized = str(label).strip().lower().replace(" ", "_")
    if not normalized:
        return None
    if normalized not in _WORDS:
        raise InputError(f"unknown label {label!r}: choose one of {', '.join(_WORDS)}", line=line)
    return _WORDS[normalized]
