"""Measures that depend on the order: how high the relevant contexts rank."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

from fullrecall._util.parameters import check_choice, check_positive, check_share
from fullrecall.errors import ParameterError
from fullrecall.measures.measure import GradedMeasure, Measure
from fullrecall.measures.recall_measure import RecallDenominator
from fullrecall.measures.row import FoundRow

if TYPE_CHECKING:
    from fullrecall.measures.found import FoundColumns
    from fullrecall.measures.lists import Floats

Gain = Literal["linear", "exponential"]


class RRMeasure(GradedMeasure):
    """1 / the rank of the first relevant context among the first k; 0.0 if there is none.

    The mean is MRR (Voorhees, TREC-8 Question Answering Track Report, 1999).
    """

    text = "rr"
    plain = True

    def formula(self, outcomes: FoundColumns) -> Floats:
        """Return the reciprocal of the first relevant rank within k, else 0.0."""
        within = 1.0 * (outcomes.relevant_count(self.top) > 0)
        return outcomes.share(within, outcomes.first_relevant)


class APMeasure(GradedMeasure):
    """The mean over targets of the precision at the rank where each was found.

    A target that is not found within k contributes 0. With one context for each target this is the
    average precision of Manning et al. (2008), eq. 8.8; its mean is MAP. If a target earns its
    credit in several steps, each step contributes the precision at its rank, times the credit that
    it adds.

    - `denominator`: "targets" divides by all targets, as trec_eval's map_cut does; "k" divides by
      the number of targets that k contexts can hold, if that is smaller, as Spark's
      meanAveragePrecisionAt does.
    """

    denominator: RecallDenominator = "targets"

    text = "ap"
    plain = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.denominator, "denominator", get_args(RecallDenominator))

    def formula(self, outcomes: FoundColumns) -> Floats:
        """Return the mean precision at the ranks of the targets within the first k."""
        most = outcomes.attainable(self.top if self.denominator == "k" else None)
        return outcomes.share(outcomes.rising_precisions(self.top).sums, most)


class MeanPrecisionMeasure(GradedMeasure):
    """The mean of the precision at the rank of each relevant context among the first k.

    This is average precision over the *retrieved* contexts. It shows whether relevant contexts come
    first, but ignores missing ones, so it may rise when a relevant context falls below k. Source:
    ragas's context precision.
    """

    text = "mean_precision"
    plain = True

    def formula(self, outcomes: FoundColumns) -> Floats:
        """Return the mean precision at the relevant ranks within the first k."""
        precisions = outcomes.precisions(self.top)
        return outcomes.share(precisions.sums, precisions.counts)


class nDCGMeasure(Measure):  # noqa: N801 - the field's own spelling
    """Normalized discounted cumulative gain; the gain of a target depends on its grade.

    - `gain`: "linear" gains the grade, as in trec_eval (the default); "exponential" gains
      2^grade - 1, as in reval, and as ranx and ir_measures offer (Burges et al., "Learning to
      rank using gradient descent", ICML 2005).

    For each target whose credit a context raises, the context adds the target's gain times the
    rise, divided by log2(rank + 1). The sum within k is divided by that of an ideal ranking, which
    has these gains in descending order; each target that was not found has a rank of its own. If
    several lists were merged, each rank of the ideal ranking has as many places as there were
    lists.

    With one context for each target and one list, this is nDCG of Järvelin and Kekäläinen,
    "Cumulated gain-based evaluation of IR techniques", TOIS 20(4), 2002.
    """

    gain: Gain = "linear"

    text = "ndcg"
    plain = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.gain, "gain", get_args(Gain))

    def formula(self, outcomes: FoundColumns) -> Floats:
        """Return the discounted gain, divided by the gain of the ideal order."""
        # The ideal orders contexts, not targets: two targets of one context share one rank.
        row: Any = outcomes
        if isinstance(row, FoundRow):
            added, ideal = row.discounted_gains(self.top)
        else:
            from fullrecall.measures.gains import discounted_gains

            added, ideal = discounted_gains(row, self.top, self.gain)  # type: ignore[assignment]
        share: Floats = row.share(added.sums, ideal.sums)
        return share


class RPrecisionMeasure(GradedMeasure):
    """The share of relevant contexts among the first R, where R is the number of targets.

    If k is set, ranks beyond k are misses. Source: Buckley and Voorhees, "Retrieval system
    evaluation", in "TREC: Experiment and evaluation in information retrieval" (2005); trec_eval's
    Rprec.
    """

    text = "r_precision"
    plain = True

    def formula(self, outcomes: FoundColumns) -> Floats:
        """Return the number of relevant contexts within rank R, divided by R."""
        most = outcomes.attainable(self.top)
        return outcomes.share(outcomes.relevant_count(most), outcomes.targets)


class RBPMeasure(GradedMeasure):
    """Rank-biased precision: (1 - p) times the sum of p^(rank - 1) over relevant contexts within k.

    - `p`: the probability that a reader goes on to the next context.

    Source: Moffat and Zobel, "Rank-biased precision for measurement of retrieval effectiveness",
    TOIS 27(1), 2008.
    """

    p: float = 0.8

    text = "rbp"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share(self.p, "p", whole=False)

    def formula(self, outcomes: FoundColumns) -> Floats:
        """Return the share of relevant contexts among those that a reader is expected to read."""
        weights = outcomes.rank_weights(self.top, lambda rank: self.p ** (rank - 1))
        return ((1 - self.p) * weights.sums).clip(max=1.0)


class ERRMeasure(Measure):
    """The expected reciprocal rank of the context at which a reader stops.

    - `max_grade`: the highest grade on the scale. A reader stops at a context of grade g with the
      probability (2^g - 1) / 2^max_grade.

    Source: Chapelle et al., "Expected reciprocal rank for graded relevance", CIKM 2009; gdeval's
    err with the scale of 0 to 4. Reading a value raises `ParameterError` if a target has a grade
    above `max_grade`.
    """

    max_grade: float = 4.0

    text = "err"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self.max_grade, "max_grade")

    def formula(self, outcomes: FoundColumns) -> Floats:
        """Return the sum over contexts of P(the reader stops at the context) / rank."""
        from fullrecall.measures.gains import added_gains, exponential_grades

        highest = outcomes.weights("grade").max(initial=0.0)
        if highest > self.max_grade:
            raise ParameterError(
                f"{self!r} reads a target of grade {highest:g}: write ERR(max_grade={highest:g})"
            )
        worths = exponential_grades(outcomes, self.max_grade)
        stops, ranks = added_gains(outcomes, self.top, worths)
        chances = stops._replace(values=stops.values.clip(max=1.0))
        return chances._replace(values=chances.values * chances.passed / ranks).sums


class InterpolatedPrecisionMeasure(GradedMeasure):
    """The highest precision at any rank within k at which recall is at least the given share.

    - `recall`: the share. The recall at a rank is the number of relevant contexts up to that rank,
      divided by the number of targets. The share is rounded to a whole number of targets, as in
      trec_eval's iprec_at_recall.
    """

    recall: float = 0.0

    text = "interpolated_precision"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share(self.recall, "recall")

    def formula(self, outcomes: FoundColumns) -> Floats:
        """Return the highest precision at or after the rank where recall reaches the share."""
        needed = (self.recall * outcomes.targets + 0.9).astype(int)
        precisions = outcomes.precisions(self.top)
        return precisions.kept(precisions.nth >= needed[precisions.rows]).maxima


class BPrefMeasure(GradedMeasure):
    """How rarely contexts judged irrelevant rank above relevant ones, in [0, 1].

    Unjudged contexts are ignored. A document is judged irrelevant if its grade is at least 0 and
    below `min_grade`. Let R be the number of targets, N the number of documents judged irrelevant,
    and n the number of these that rank above a relevant context. Each relevant context within k
    adds (1 - min(n, R) / min(N, R)) / R. If N is 0, the value is the share of targets that are
    retrieved. Source: Buckley and Voorhees, "Retrieval evaluation with incomplete information",
    SIGIR 2004, as in trec_eval's bpref.
    """

    text = "bpref"

    def formula(self, outcomes: FoundColumns) -> Floats:
        """Return the mean over targets of the share of judged pairs in the right order."""
        relevant, targets = outcomes.relevant_within(self.top), outcomes.targets
        irrelevant, all_irrelevant = outcomes.judgments.irrelevant(self.min_grade)
        rows = relevant.rows
        above = irrelevant.up_to(rows, outcomes.level(rows, relevant.values))
        most = all_irrelevant.counts.clip(max=targets)[rows]
        # Without contexts judged irrelevant, `most` and `above` are 0, so divide by 1 instead.
        pairs = above.clip(max=targets[rows]) / most.clip(min=1)
        return outcomes.share(relevant._replace(values=1.0 - pairs).sums, targets)


RR = RRMeasure()
AP = APMeasure()
nDCG = nDCGMeasure()  # noqa: N816 - as above
RPrecision = RPrecisionMeasure()
RBP = RBPMeasure()
ERR = ERRMeasure()
BPref = BPrefMeasure()
InterpolatedPrecision = InterpolatedPrecisionMeasure()
MeanPrecision = MeanPrecisionMeasure()
