"""The scorer contract: what every scorer promises, checked on samples spelt in letters."""

from __future__ import annotations

import asyncio
import copy
import pickle
from collections.abc import Callable, Iterable
from itertools import combinations, pairwise, permutations, product
from math import isclose
from typing import Any, TypeAlias

from fullrecall.context import Context
from fullrecall.evaluation import aevaluate, evaluate
from fullrecall.measures import MEASURES
from fullrecall.result import Result, Status
from fullrecall.retrieval import Retrieval
from fullrecall.sample import Sample
from fullrecall.scorers import FindingScorer
from fullrecall.testing.expecting import expect
from fullrecall.testing.letters import WORDS, sample_of

ScorerFactory: TypeAlias = Callable[..., FindingScorer]
"""A scorer's class, or anything that takes the shared parameters and makes a scorer."""


def check_perfect_and_nothing(factory: ScorerFactory) -> None:
    """Everything retrieved scores 1.0 and misses nothing; nothing useful 0.0 and misses all."""
    scorer = factory()
    perfect = scorer.score(sample_of("abc", "abc"))
    expect(perfect.score == 1.0, f"all targets retrieved: score {perfect.score}, not 1.0")
    expect(perfect.missed == (), f"all targets retrieved, but missed is {perfect.missed}")
    nothing = scorer.score(sample_of("xyz", "abc"))
    expect(nothing.score == 0.0, f"no target retrieved: score {nothing.score}, not 0.0")
    expect(len(nothing.missed) == 3, f"no target of 3 retrieved, but missed {nothing.missed}")  # noqa: PLR2004


def check_one_finding_per_target(factory: ScorerFactory) -> None:
    """Each target has one finding, with the rank at which it stands."""
    result = factory().score(sample_of("xayb", "abc"))
    ranks = [finding.rank for finding in result.findings]
    expect(ranks == [2, 4, None], f"a at rank 2, b at 4, c nowhere; findings say {ranks}")


def check_recall_at_every_k(factory: ScorerFactory) -> None:
    """`value("recall", k)` is the share found in the first k, and `at` takes every k."""
    result = factory().score(sample_of("xayb", "abc"))
    expected = {1: 0.0, 2: 1 / 3, 3: 1 / 3, 4: 2 / 3, 5: 2 / 3, 100: 2 / 3}
    for k, share in expected.items():
        found = result.value("recall", k)
        expect(found is not None and isclose(found, share), f"recall@{k} is {found}, not {share}")
        expect(result.at[k] is not None, f"at[{k}] is None for a scored sample")


def check_degenerate_samples(factory: ScorerFactory) -> None:
    """Empty, missing and failed inputs each give their own status, never a silent number."""
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
            values = {name: result.value(name) for name in MEASURES}
            expect(set(values.values()) == {None}, f"{case}: measures are not None: {values}")
    why = factory().score(failed).reason
    expect("TimeoutError" in why, f"the retriever's error is not in the reason {why!r}")


def check_zero_division(factory: ScorerFactory) -> None:
    """`zero_division` is the score where there are no reference items, and nowhere else."""
    for value in (0.0, 1.0):
        result = factory(zero_division=value).score(sample_of("abc", ""))
        got = (result.status, result.score)
        expect(got == (Status.SCORED, value), f"zero_division={value} gives {got}")
        unseen = factory(zero_division=value).score(sample_of(None, ""))
        expect(
            unseen.status is Status.UNSCORED, f"zero_division={value} scores an unseen retrieval"
        )


def check_parameters(factory: ScorerFactory) -> None:
    """Parameters out of range raise `ValueError` that names them."""
    wrong: list[tuple[str, Any]] = [
        ("k", 0), ("k", -1), ("k", 2.5), ("k", True), ("ks", (3, 1)), ("ks", (1, 1)),
        ("ks", (0, 1)), ("ks", "15"), ("zero_division", 2), ("zero_division", -0.1),
        ("precision_denominator", "n"),
    ]  # fmt: skip
    for name, value in wrong:
        try:
            factory(**{name: value})
        except ValueError as error:
            expect(name in str(error), f"{name}={value!r}: the message {error} does not name it")
        else:
            expect(condition=False, promise=f"{name}={value!r} is accepted")
    for k in (0, -1, 1.5):
        try:
            factory().score(sample_of("a", "a")).at[k]  # type: ignore[index]
        except ValueError:
            continue
        expect(condition=False, promise=f"result.at[{k}] is accepted")


def check_bounds_and_monotony(factory: ScorerFactory) -> None:
    """Every measure is in [0, 1] at every k, and recall never falls as k grows."""
    for sample in _small_world():
        result = factory().score(sample)
        for name, k in product(MEASURES, (1, 2, 3, 4, None)):
            value = result.value(name, k)
            expect(
                value is not None and 0.0 <= value <= 1.0,
                f"{name}@{k} is {value} for {_letters(sample)}",
            )
        recalls = [result.value("recall", k) or 0.0 for k in (1, 2, 3, 4)]
        expect(
            all(later >= earlier for earlier, later in pairwise(recalls)),
            f"recall falls as k grows: {recalls} for {_letters(sample)}",
        )


def check_duplicates_never_raise(factory: ScorerFactory) -> None:
    """A context retrieved a second time raises no measure at any k."""
    for retrieved, references in (("ab", "ab"), ("xab", "abc"), ("axb", "abc"), ("xa", "a")):
        plain = factory().score(sample_of(retrieved, references))
        for letter, place in product(retrieved, range(len(retrieved) + 1)):
            if place <= retrieved.index(letter):
                continue  # a copy before the original would be an earlier find, not a duplicate
            doubled = retrieved[:place] + letter + retrieved[place:]
            again = factory().score(sample_of(doubled, references))
            for name, k in product(MEASURES, (1, 2, 3, 4, None)):
                if name == "context_precision" and k is not None:
                    continue  # a mean over the relevant *retrieved*: fewer of them may raise it
                before, after = plain.value(name, k) or 0.0, again.value(name, k) or 0.0
                expect(
                    after <= before + 1e-12,
                    f"{name}@{k} rises from {before} to {after}: {retrieved} → {doubled}",
                )


def check_strangers_change_no_recall(factory: ScorerFactory) -> None:
    """Contexts of no use, appended, leave recall as it was."""
    for retrieved in ("", "a", "ab", "xa"):
        for k in (None, 1, 2):
            before = factory().score(sample_of(retrieved, "ab")).value("recall", k)
            after = factory().score(sample_of(retrieved + "yz", "ab")).value("recall", k)
            if k is None or k <= len(retrieved):
                expect(before == after, f"recall@{k} of {retrieved!r} moves {before} → {after}")


def check_reference_order_and_duplicates(factory: ScorerFactory) -> None:
    """The references' order changes no measure, and a reference given twice is one target."""
    plain = factory().score(sample_of("xbza", "abc"))
    for order in permutations("abc"):
        other = factory().score(sample_of("xbza", order))
        for name, k in product(MEASURES, (1, 2, 4, None)):
            before, after = plain.value(name, k) or 0.0, other.value(name, k) or 0.0
            expect(isclose(before, after), f"{name}@{k} depends on the references' order {order}")
    doubled = factory().score(sample_of("xbza", "abcab"))
    expect(
        len(doubled.findings) == len(plain.findings),
        f"duplicate references make {len(doubled.findings)} targets of {len(plain.findings)}",
    )


def check_order_is_rank(factory: ScorerFactory) -> None:
    """The list's order is the rank, whatever the retriever's scores say."""
    contexts = [Context(WORDS["x"], id="x", score=0.1), Context(WORDS["a"], id="a", score=0.9)]
    result = factory().score(sample_of("", "a").with_retrieval(contexts))
    ranks = [finding.rank for finding in result.findings]
    expect(ranks == [2], f"the target stands at rank 2, findings say {ranks}")


def check_k_cuts(factory: ScorerFactory) -> None:
    """`k` cuts the score, the measures and `missed`; precision divides by what there was."""
    sample = sample_of("xab", "ab")
    result = factory(k=2).score(sample)
    expect(result.recall == 0.5, f"k=2: recall {result.recall}, not 0.5")  # noqa: PLR2004
    expect(result.precision == 0.5, f"k=2: precision {result.precision}, not 0.5")  # noqa: PLR2004
    expect(len(result.missed) == 1, f"k=2: missed {result.missed}, not one target")
    wide = factory(k=10).score(sample)
    expect(wide.precision == 2 / 3, f"k=10 of 3: precision {wide.precision}, not 2/3")
    trec = factory(k=10, precision_denominator="k").score(sample)
    expect(trec.precision == 0.2, f"precision_denominator='k': {trec.precision}, not 0.2")  # noqa: PLR2004


def check_async_agrees(factory: ScorerFactory) -> None:
    """`ascore`, `evaluate` and `aevaluate` give what `score` gives."""
    samples = [sample_of("xab", "ab"), sample_of("", "a"), sample_of(None, "a")]
    expected = [factory().score(sample) for sample in samples]
    later = [asyncio.run(factory().ascore(sample)) for sample in samples]
    expect(later == expected, "score and ascore disagree")
    report = evaluate(samples, factory(), progress=False)
    expect([row.results[0] for row in report] == expected, "score and evaluate disagree")
    report = asyncio.run(aevaluate(samples, factory(), progress=False))
    expect([row.results[0] for row in report] == expected, "score and aevaluate disagree")


def check_values_are_plain(factory: ScorerFactory) -> None:
    """Scorers and results pickle, results survive JSON form, and nothing can be changed."""
    scorer = factory(k=3)
    result = scorer.score(sample_of("xab", "abc"))
    expect(pickle.loads(pickle.dumps(scorer)) == scorer, "the scorer does not pickle")  # noqa: S301
    expect(copy.deepcopy(result) == result, "the result does not copy")
    expect(
        Result.from_dict(result.to_dict(), result.method) == result,
        "the result does not survive to_dict and from_dict",
    )
    for thing, name in ((scorer, "k"), (result, "note")):
        try:
            setattr(thing, name, 1)
        except AttributeError:
            continue
        expect(condition=False, promise=f"{type(thing).__name__}.{name} can be changed")


SCORER_CHECKS: tuple[Callable[[ScorerFactory], None], ...] = (
    check_perfect_and_nothing,
    check_one_finding_per_target,
    check_recall_at_every_k,
    check_degenerate_samples,
    check_zero_division,
    check_parameters,
    check_bounds_and_monotony,
    check_duplicates_never_raise,
    check_strangers_change_no_recall,
    check_reference_order_and_duplicates,
    check_order_is_rank,
    check_k_cuts,
    check_async_agrees,
    check_values_are_plain,
)
"""The scorer contract: call each with the scorer's class."""


def _small_world() -> Iterable[Sample]:
    for size in (1, 2, 3):
        for references in combinations("abc", size):
            for retrieved in product("abx", repeat=3):
                yield sample_of(retrieved, references)


def _letters(sample: Sample) -> str:
    wanted = [reference.any_of[0] for reference in sample.reference_context_ids or ()]
    return f"retrieved {list(sample.retrieved_context_ids or ())}, references {wanted}"
