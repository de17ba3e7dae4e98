"""Two reports of which one at least is a directory, sample by sample."""

from __future__ import annotations

import random
import warnings
from pathlib import Path
from typing import Any

import pytest
from fullrecall.distributed.parquet import stored_rows
from fullrecall.distributed.parquet.keys import keys_of
from tests.distributed.parquet.made import RUNS, FirstLetter, again, run, said, samples, stored

from fullrecall import Gate, IdRecall, Report, Sample, compare, evaluate
from fullrecall.measures import Recall, nDCG

pa = pytest.importorskip("pyarrow", reason="needs the parquet extra")


@pytest.mark.parametrize("seed", range(RUNS))
@pytest.mark.parametrize(
    ("groups", "other_targets", "shuffled"),
    [(0, 0, False), (0, 0, True), (0.5, 0.3, True), (0.5, 0.3, False)],
)
def test_both_forms_compare_alike(
    tmp_path: Path, seed: int, groups: float, other_targets: float, *, shuffled: bool
) -> None:
    """A join says what the pairs in memory say, in any order, with targets that differ."""
    rng = random.Random(seed)
    given = samples(rng, 100, repeats=0, groups=groups)
    second = [again(rng, one, other_targets=other_targets) for one in given if rng.random() < 0.9]
    second += [Sample(**{**given[0].to_dict(), "id": f"new {n}"}) for n in range(3)]
    if shuffled:
        rng.shuffle(second)
    before, after = (evaluate(each, IdRecall(), progress=False) for each in (given, second))
    opened = stored(before, tmp_path / "before.parquet"), stored(after, tmp_path / "after.parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the new ones ask what another one asks
        for measures in ((), (nDCG @ 5, Recall(zero_division=0.0), FirstLetter())):
            small = compare(before, after, *measures, margin=0.05, resamples=199)
            for pair in (opened, (before, opened[1]), (opened[0], after))[: 3 if measures else 1]:
                large = compare(*pair, *measures, margin=0.05, resamples=199)
                assert large.to_dict() == small.to_dict()
                assert str(large) == str(small)
            assert list(large.rows) == list(small.rows)
            assert large.pairs[5] == small.pairs[5]
            assert list(large.only_after) == list(small.only_after)
        for gate in (
            Gate(Recall @ 3 >= 0.05, margin=0.1),
            Gate(nDCG @ 5, margin=0.02, min_coverage=0.3),
        ):
            assert gate.check(opened[1], opened[0]) == gate.check(after, before)


def test_samples_without_ids_are_paired_by_position(tmp_path: Path) -> None:
    """As in memory: other questions, other lengths and IDs on some of them are refused."""

    def made(count: int, question: str = "q", name: str | None = None) -> Report:
        given = [
            Sample(user_input=question, retrieved_context_ids=["a"], reference_context_ids=["a"])
            for _ in range(count)
        ]
        if name is not None:
            given += [Sample(id=name, retrieved_context_ids=["b"], reference_context_ids=["a"])]
        return evaluate(given, IdRecall(), progress=False)

    for nth, (before, after) in enumerate([
        (made(60), made(60)),
        (made(60), made(59)),
        (made(60), made(60, "other")),
        (made(60, name="x"), made(60)),
        (made(0, name="x"), made(0, name="y")),
    ]):  # fmt: skip
        opened = [
            stored(each, tmp_path / f"{nth}{which}.parquet")
            for which, each in (("b", before), ("a", after))
        ]
        assert said(compare, *opened) == said(compare, before, after)


def test_an_id_that_stands_twice_is_not_compared(tmp_path: Path) -> None:
    """A join over repeated IDs would pair what does not belong together."""
    report = run(samples(random.Random(1), 150, repeats=0.3, groups=0))
    opened = stored(report, tmp_path / "r.parquet")
    assert "appears twice" in said(compare, opened, opened)
    assert said(compare, opened, opened) == said(compare, report, report)


def test_keys_are_of_the_text_alone() -> None:
    """Whatever stands beside a text, long or short, it has one key; texts differ in theirs."""
    rng = random.Random(1)
    texts = ["", "a", "a\0", "a\0\0", "é" * 40, "x" * 64, "x" * 65, "x" * 63 + "\0", "x" * 500]
    texts += ["".join(rng.choices("ab", k=rng.randrange(30))) for _ in range(2_000)]
    distinct = list(dict.fromkeys(texts))
    together = keys_of(pa.array(distinct)).tolist()
    assert len(set(together)) == len(distinct)
    assert [int(keys_of(pa.array([text]))[0]) for text in distinct] == together
    assert keys_of(pa.array([None, *distinct])[1:]).tolist() == together
    assert int(keys_of(pa.array([None], pa.string()))[0]) == 0
    assert keys_of(pa.array(distinct), seed=1).tolist() != together


def test_ids_that_share_a_key_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys that collide are no IDs that repeat, and pair nothing that differs."""

    def few(texts: Any, seed: int = 0) -> Any:
        keys = keys_of(texts, seed)
        return keys if seed else keys % 40

    report = run(samples(random.Random(6), 80, repeats=0, groups=0))
    opened = stored(report, tmp_path / "r.parquet")
    monkeypatch.setattr(stored_rows, "keys_of", few)
    assert opened.groups == report.groups
    assert compare(opened, opened).to_dict() == compare(report, report).to_dict()
