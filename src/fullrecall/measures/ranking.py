"""Measures of the order: how far up the contexts stand that support a target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Self, get_args

from fullrecall.measures.measure import FindingsOf, GradedMeasure, Measure, check_choice

if TYPE_CHECKING:
    from fullrecall.table.found import FoundColumns
    from fullrecall.table.lists import Floats, Integers

Gain = Literal["linear", "exponential"]


class RRMeasure(GradedMeasure):
    """1 / the rank of the first relevant context among the first k, 0.0 if there is none.

    Its mean is MRR (Voorhees, TREC-8 Question Answering Track Report, 1999).
    """

    text = "rr"
    written = "RR"

    def column(self, found: FoundColumns, findings_of: FindingsOf) -> Floats:
        """Return the reciprocal of the first relevant rank."""
        from fullrecall.table.lists import ratio

        within = found.relevant_within(self.top) > 0
        return ratio(within, found.first_relevant)


class APMeasure(GradedMeasure):
    """The mean over targets of the precision at the rank where each was found.

    With one context for each target this is the average precision of Manning et al. (2008),
    eq. 8.8, over all targets, found or not; its mean is MAP. A target that earns its credit in
    steps contributes the precision at each in proportion.
    """

    text = "ap"
    written = "AP"

    def column(self, found: FoundColumns, findings_of: FindingsOf) -> Floats:
        """Return the mean precision at the ranks of the targets within the first k."""
        from fullrecall.table.lists import offsets_of, ratio, row_sums

        targets, places, gains = found.gains()
        rows = found.row_of_target[targets]
        within = places <= found.cut(self.top)[rows]
        rows, places, gains = rows[within], places[within], gains[within]
        relevant, contexts = found.relevant_above(rows, places)
        sums = row_sums(gains * relevant / contexts, offsets_of(_counts(rows, len(found))))
        return ratio(sums, found.targets).clip(max=1.0)


class ContextPrecisionMeasure(GradedMeasure):
    """The mean of the precision at the rank of each relevant context among the first k.

    Average precision over what was *retrieved*: it shows whether relevant contexts come first,
    and cannot see what is missing, so that it may rise when a relevant context falls below k.
    Source: ragas's context precision.
    """

    text = "context_precision"
    written = "ContextPrecision"

    def column(self, found: FoundColumns, findings_of: FindingsOf) -> Floats:
        """Return the mean precision at the relevant ranks within the first k."""
        from fullrecall.table.lists import ratio, row_sums

        seen = found.relevant.kept(
            found.relevant.values <= found.cut(self.top)[found.relevant.rows]
        )
        relevant, contexts = found.relevant_above(seen.rows, seen.values)
        sums = row_sums(relevant / contexts, seen.offsets)
        return ratio(sums, seen.counts)


class NDCGMeasure(Measure):
    """Normalized discounted cumulative gain, each target gaining by its grade.

    - `gain`: "linear" gains the grade, as in trec_eval (the default); "exponential" gains
      2^grade - 1, as in reval, and as ranx and ir_measures offer (Burges et al., "Learning to
      rank using gradient descent", ICML 2005).

    A context gains what the targets that it adds are worth, discounted by log2(rank + 1); the
    ideal is the best order of these gains, each missing target at a rank of its own, cut at k.
    Where several lists were united, each rank has as many places as there were lists. With one
    context for each target and one list this is nDCG of Järvelin and Kekäläinen, "Cumulated
    gain-based evaluation of IR techniques", TOIS 20(4), 2002.
    """

    gain: Gain = "linear"

    text = "ndcg"
    written = "nDCG"

    if TYPE_CHECKING:

        def __call__(  # type: ignore[override]  # noqa: D102 - its own parameters, for whoever checks types
            self, *, gain: Gain = ..., zero_division: float | None = ...
        ) -> Self: ...

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.gain, "gain", get_args(Gain))

    def column(self, found: FoundColumns, findings_of: FindingsOf) -> Floats:
        """Return the discounted gain over that of the ideal order."""
        from fullrecall.table.found import discounts
        from fullrecall.table.lists import offsets_of, ratio, row_sums

        rows, places, gains = self._gains(found)
        within = places <= found.cut(self.top)[rows]
        ranks = found.rank_of(rows[within], places[within])
        reached = row_sums(
            gains[within] / discounts(ranks), offsets_of(_counts(rows[within], len(found)))
        )
        return ratio(reached, self._best(found, rows, gains)).clip(max=1.0)

    def _worth(self, found: FoundColumns) -> Floats:
        """Return what each target gains."""
        import numpy as np

        grade = np.ones(len(found.first.values)) if found.grade is None else found.grade
        return grade if self.gain == "linear" else 2.0**grade - 1

    def _gains(self, found: FoundColumns) -> tuple[Integers, Integers, Floats]:
        """Return what each context adds, in order: its row, its place, and its gain."""
        import numpy as np

        from fullrecall.table.found import rises

        rising = found.rising
        targets, places = rising.places.rows, rising.places.values
        gains = self._worth(found)[targets] * rises(targets, rising.credits)
        rows = found.row_of_target[targets]
        width = int(places.max(initial=0)) + 1
        keys, which = np.unique(rows * width + places, return_inverse=True)
        return keys // width, keys % width, np.bincount(which, gains, len(keys)).astype(float)

    def _best(self, found: FoundColumns, rows: Integers, gains: Floats) -> Floats:
        """Return the gain of the ideal order: largest first, what is missing at its own rank."""
        import numpy as np

        from fullrecall.table.found import discounts
        from fullrecall.table.lists import offsets_of, row_maxima, row_sums

        rising = found.rising
        earned = row_maxima(rising.credits, rising.places.offsets)
        missing = self._worth(found) * (1.0 - earned)
        rows = np.concatenate([found.row_of_target, rows])
        gains = np.concatenate([missing, gains])
        order = np.lexsort((-gains, rows))
        rows, gains = rows[order], gains[order]
        offsets = offsets_of(_counts(rows, len(found)))
        nth = np.arange(len(rows)) - offsets[:-1][rows]
        if self.top is not None:
            within = nth < self.top * found.lists[rows]
            rows, gains, nth = rows[within], gains[within], nth[within]
        ranks = nth // found.lists[rows] + 1
        return row_sums(gains / discounts(ranks), offsets_of(_counts(rows, len(found))))


RR = RRMeasure()
AP = APMeasure()
ContextPrecision = ContextPrecisionMeasure()
nDCG = NDCGMeasure()  # noqa: N816 - the field's own spelling


def _counts(rows: Integers, count: int) -> Integers:
    """Return how often each row occurs."""
    import numpy as np

    return np.bincount(rows, minlength=count).astype(np.int64)
