"""The scorer contract: promises of every scorer, checked on samples whose contexts are letters.

Letters such as "xab" name three retrieved contexts, so that the right score is easy to see.
"""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import FrozenInstanceError
from itertools import combinations, pairwise, permutations, product
from math import isclose
from typing import Any, TypeAlias

from fullrecall.files.reports.records import plain_row, row_of
from fullrecall.measures import MEASURES, Judged, Measure, Recall
from fullrecall.measures.findings import Finding
from fullrecall.report import aevaluate, evaluate
from fullrecall.samples.context import Context
from fullrecall.samples.retrieval import Retrieval
from fullrecall.samples.sample import Sample
from fullrecall.scorers import FindingScorer
from fullrecall.scorers.result import Status

WORDS = {
    "a": "amber anchors about Arles, all afloat and answering",
    "b": "Beside Bruges, bronze bells bang below broad bridges",
    "c": "calm canals carry Cork's copper coins coldly closer",
    "x": "Xylophones exit luxurious Xanthi, taxing exact boxes",
    "y": "yellow yaks yodel by your Yalta yards, yawning yearly",
    "z": "zinc zebras zigzag; Zug's zealous zoo zooms the zenith",
}
NAMES = {"a": "Arles", "b": "Bruges", "c": "Cork", "x": "Xanthi", "y": "Yalta", "z": "Zug"}


def sample_of(retrieved: Iterable[str] | None, references: Iterable[str] | None) -> Sample:
    """Return a sample of letters; for every deterministic scorer, only equal letters match.

    The letters are `abcxyz`. Each gives an ID, a text unlike that of any other letter, and an
    entity that occurs only in this text. None leaves out the contexts or the references.
    """
    fields: dict[str, Any] = {}
    if retrieved is not None:
        fields["retrieved_contexts"] = [Context(WORDS[c], id=c) for c in retrieved]
    if references is not None:
        letters = list(references)
        fields["reference_context_ids"] = letters
        fields["reference_contexts"] = [WORDS[letter] for letter in letters]
        fields["reference_entities"] = [NAMES[letter] for letter in letters]
        fields["reference_claims"] = fields["reference_contexts"]
    return Sample(user_input="which letters?", **fields)


def expect(condition: bool, promise: str) -> None:  # noqa: FBT001 - reads as assert does
    """Raise `AssertionError` with the promise unless the condition holds."""
    if not condition:
        raise AssertionError(promise)


ScorerFactory: TypeAlias = Callable[..., FindingScorer]
"""A scorer's class, or anything that takes `name` and makes a scorer."""

_KS = (1, 2, 3, 4, 10)


def check_perfect_and_nothing(factory: ScorerFactory) -> None:
    """Check that complete retrievals score 1.0, and irrelevant ones 0.0 with all missed."""
    scorer = factory()
    perfect = scorer.score(sample_of("abc", "abc"))
    expect(perfect.score == 1.0, f"all targets retrieved: score {perfect.score}, not 1.0")
    expect(perfect.missed == (), f"all targets retrieved, but missed is {perfect.missed}")
    nothing = scorer.score(sample_of("xyz", "abc"))
    expect(nothing.score == 0.0, f"no target retrieved: score {nothing.score}, not 0.0")
    expect(len(nothing.missed) == 3, f"no target of 3 retrieved, but missed {nothing.missed}")  # noqa: PLR2004


def check_one_finding_per_target(factory: ScorerFactory) -> None:
    """Check that each target has one finding, with its rank, and that contexts are counted."""
    result = factory().score(sample_of("xayb", "abc"))
    ranks = [finding.rank for finding in result.findings]
    expect(ranks == [2, 4, None], f"a at rank 2, b at 4, c nowhere; findings have {ranks}")
    expect(result.retrieved == 4, f"4 contexts, but retrieved is {result.retrieved}")  # noqa: PLR2004


def check_findings_are_well_formed(factory: ScorerFactory) -> None:
    """Check that ranks ascend within the list, credits ascend up to 1.0, grades are above 0."""
    for sample in _small_world():
        result = factory().score(sample)
        for finding in result.findings:
            problems = [*_problems(finding, result.retrieved)]
            expect(not problems, f"{problems}: {finding} for {_letters(sample)}")


def check_degenerate_samples(factory: ScorerFactory) -> None:
    """Check that empty, missing and failed inputs get the right status, and no wrong score."""
    failed = sample_of("a", "a").with_retrieval(Retrieval(error="TimeoutError: 30 s"))
    table: list[tuple[str, Sample, Status, float | None]] = [
        ("nothing retrieved", sample_of("", "abc"), Status.SCORED, 0.0),
        ("no reference items", sample_of("abc", ""), Status.UNDEFINED, None),
        ("neither", sample_of("", ""), Status.UNDEFINED, None),
        ("no retrieval observed", sample_of(None, "abc"), Status.UNSCORED, None),
        ("references missing", sample_of("abc", None), Status.UNSCORED, None),
        ("all fields missing", Sample(), Status.UNSCORED, None),
        ("the retriever failed", failed, Status.UNSCORED, None),
    ]
    for case, sample, status, score in table:
        result = factory().score(sample)
        expect(result.status is status, f"{case}: status {result.status}, not {status}")
        expect(result.score == score, f"{case}: score {result.score}, not {score}")
        expect(bool(result.reason), f"{case}: no reason given")
        if status is not Status.SCORED:
            values = {measure: result[measure] for measure in _measures()}
            expect(set(values.values()) == {None}, f"{case}: measures are not None: {values}")
    why = factory().score(failed).reason
    expect("TimeoutError" in why, f"the retriever's error is not in the reason {why!r}")


def check_name(factory: ScorerFactory) -> None:
    """Check that a scorer's name is `name` or else its kind, and that results have its method."""
    unnamed, named = factory(), factory(name="mine")
    expect(unnamed.method.name == unnamed.kind, f"without a name it is {unnamed.method.name!r}")
    expect(named.method.name == "mine", f"name='mine' makes it {named.method.name!r}")
    result = named.score(sample_of("a", "a"))
    expect(result.method == named.method, "a result has another method than its scorer")


def check_duplicates_never_raise(factory: ScorerFactory) -> None:
    """Check that repeating a context increases no measure at any k."""
    for retrieved, references in (("ab", "ab"), ("xab", "abc"), ("axb", "abc"), ("xa", "a")):
        original = factory().score(sample_of(retrieved, references))
        for letter in retrieved:
            doubled = retrieved + letter
            again = factory().score(sample_of(doubled, references))
            for measure in _measures():
                before, after = original[measure] or 0.0, again[measure] or 0.0
                expect(
                    after <= before + 1e-12,
                    f"{measure!r} rises from {before} to {after}: {retrieved} → {doubled}",
                )


def check_strangers_change_no_recall(factory: ScorerFactory) -> None:
    """Check that appended irrelevant contexts do not change recall."""
    for retrieved in ("", "a", "ab", "xa"):
        original = factory().score(sample_of(retrieved, "ab"))
        longer = factory().score(sample_of(retrieved + "yz", "ab"))
        for measure in (Recall, *(Recall @ k for k in _KS)):
            before, after = original[measure], longer[measure]
            expect(before == after, f"{measure!r} of {retrieved!r} moves {before} → {after}")


def check_reference_order_and_duplicates(factory: ScorerFactory) -> None:
    """Check that references' order changes no measure, and that repeated references count once."""
    original = factory().score(sample_of("xbza", "abc"))
    for order, measure in product(permutations("abc"), _measures()):
        before = original[measure] or 0.0
        after = factory().score(sample_of("xbza", order))[measure] or 0.0
        expect(isclose(before, after), f"{measure!r} depends on the references' order {order}")
    doubled = factory().score(sample_of("xbza", "abcab"))
    expect(
        len(doubled.findings) == len(original.findings),
        f"duplicate references make {len(doubled.findings)} targets of {len(original.findings)}",
    )


def check_order_is_rank(factory: ScorerFactory) -> None:
    """Check that ranks follow the order of the list, not the retriever's scores."""
    contexts = [Context(WORDS["x"], id="x", score=0.1), Context(WORDS["a"], id="a", score=0.9)]
    result = factory().score(sample_of("", "a").with_retrieval(contexts))
    ranks = [finding.rank for finding in result.findings]
    expect(ranks == [2], f"the target is at rank 2, findings have {ranks}")


def check_identity_of_targets(factory: ScorerFactory) -> None:
    """Check that a result's targets are exactly those of its sample, for any retrieved contexts."""
    targets = set(factory().score(sample_of("xab", "ab")).targets)
    same = set(factory().score(sample_of("y", "ba")).targets)
    expect(targets == same, "the same targets differ between retrievals")
    other = set(factory().score(sample_of("xab", "abc")).targets)
    expect(targets != other, "other references have the same targets")


def check_async_agrees(factory: ScorerFactory) -> None:
    """Check that `ascore`, `evaluate` and `aevaluate` give the same results as `score`."""
    samples = [sample_of("xab", "ab"), sample_of("", "a"), sample_of(None, "a")]
    expected = [factory().score(sample) for sample in samples]
    later = [asyncio.run(factory().ascore(sample)) for sample in samples]
    expect(later == expected, "score and ascore disagree")
    report = evaluate(samples, factory(), progress=False)
    expect([row.results[0] for row in report] == expected, "score and evaluate disagree")
    report = asyncio.run(aevaluate(samples, factory(), progress=False))
    expect([row.results[0] for row in report] == expected, "score and aevaluate disagree")


def check_values_are_plain(factory: ScorerFactory) -> None:
    """Check that scorers and results can be pickled and copied, and are immutable."""
    scorer = factory()
    result = scorer.score(sample_of("xab", "abc"))
    expect(pickle.loads(pickle.dumps(scorer)) == scorer, "the scorer does not pickle")  # noqa: S301
    expect(pickle.loads(pickle.dumps(result)) == result, "the result does not pickle")  # noqa: S301
    expect(copy.deepcopy(result) == result, "the result does not copy")
    for frozen, name in ((scorer, "name"), (result, "note")):
        try:
            setattr(frozen, name, "changed")
        except FrozenInstanceError:
            continue
        expect(condition=False, promise=f"{type(frozen).__name__}.{name} can be changed")


def check_results_are_saved_whole(factory: ScorerFactory) -> None:
    """Check that a result is the same after saving and loading."""
    for sample in (sample_of("xab", "abc"), sample_of("a", ""), sample_of(None, "a")):
        result = factory().score(sample)
        saved = json.loads(json.dumps(plain_row(sample, [result])))
        _, (read,) = row_of(saved, [result.method])
        expect(read == result, f"saved and read, {result!r} becomes {read!r}")


SCORER_CHECKS: tuple[Callable[[ScorerFactory], None], ...] = (
    check_perfect_and_nothing,
    check_one_finding_per_target,
    check_findings_are_well_formed,
    check_degenerate_samples,
    check_name,
    check_duplicates_never_raise,
    check_strangers_change_no_recall,
    check_reference_order_and_duplicates,
    check_order_is_rank,
    check_identity_of_targets,
    check_async_agrees,
    check_values_are_plain,
    check_results_are_saved_whole,
)
"""The scorer contract: call each with the scorer's class."""


def _measures() -> Iterator[Measure]:
    """Yield each measure of targets except counts and `Judged`, over all contexts and at each k."""
    for measure in MEASURES.values():
        if not (measure.of_sample or measure.is_count or measure == Judged):
            yield measure
            yield from (measure @ k for k in _KS)


def _problems(finding: Finding, retrieved: int) -> Iterator[str]:
    """Yield the problems of a finding among `retrieved` contexts."""
    target, steps, ranks, evidence, *_ = finding
    if list(ranks) != sorted({rank for rank in ranks if 1 <= rank <= retrieved}):
        yield "ranks do not rise within the list"
    if not {step.rank for step in steps} | {cited.rank for cited in evidence} <= set(ranks):
        yield "credit or evidence is at a rank that is not among the ranks"
    if any(a.rank >= b.rank or a.credit >= b.credit for a, b in pairwise(steps)):
        yield "steps do not rise"
    if not all(0 < step.credit <= 1 for step in steps):
        yield "a credit is not in (0, 1]"
    if not (target.any_of and target.grade > 0 and target.size > 0):
        yield "the target has no name, grade, or size"


def _small_world() -> Iterable[Sample]:
    for size in (1, 2, 3):
        for references in combinations("abc", size):
            for retrieved in product("abx", repeat=3):
                yield sample_of(retrieved, references)


def _letters(sample: Sample) -> str:
    references = [reference.any_of[0] for reference in sample.reference_context_ids or ()]
    return f"retrieved {list(sample.retrieved_context_ids or ())}, references {references}"
