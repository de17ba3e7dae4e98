"""IDs of every kind give the scores, findings, and errors that lists of texts give."""

from __future__ import annotations

import copy
import pickle
import uuid
from typing import Any

import pytest

from fullrecall import IdRecall, Reference, Sample, evaluate
from fullrecall.errors import InputError
from fullrecall.measures import AP, Precision, Recall, nDCG

FOUND, WANTED = [7, 3, 3, 9, 12], [3, 12, 5, 3]
READ = (Recall, Recall @ 2, Precision @ 4, AP, nDCG, Recall(weight="grade"), Recall(min_grade=2))


def texts(numbers: list[int]) -> list[str]:
    """Return numbers as texts."""
    return [str(number) for number in numbers]


def arrays(library: str, numbers: list[int]) -> list[Any]:
    """Return the numbers in every type of array that the library has."""
    module = pytest.importorskip(library)
    if library == "numpy":
        made = [module.array(numbers, kind) for kind in ("int64", "int32", "uint8", object)]
        return [*made, module.array(texts(numbers)), list(module.array(numbers))]
    if library == "polars":
        return [module.Series(numbers), module.Series(texts(numbers))]
    if library == "pandas":
        return [module.Series(numbers), module.Series(texts(numbers))]
    plain = [module.array(numbers), module.array(numbers, "uint64"), module.array(texts(numbers))]
    return [*plain, *(module.array([numbers])[0], plain[2].dictionary_encode())]


def kinds(numbers: list[int]) -> list[Any]:
    """Return the same IDs in each of Python's own forms."""
    mixed = [str(one) if place % 2 else one for place, one in enumerate(numbers)]
    return [numbers, tuple(numbers), texts(numbers), tuple(texts(numbers)), mixed, iter(numbers)]


def told(sample: Sample) -> list[Any]:
    """Return all values, findings, and reasons of a scored sample."""
    result = IdRecall().score(sample)
    return [
        *(result[measure] for measure in READ),
        result.missed,
        result.reason,
        tuple(result.findings),
        sample.to_dict(),
        sample.retrieved_context_ids,
        sample.reference_context_ids,
    ]


EXPECTED = told(Sample(retrieved_ids=texts(FOUND), expected_ids=texts(WANTED)))


@pytest.mark.parametrize("library", ["python", "numpy", "polars", "pandas", "pyarrow"])
def test_each_kind_tells_the_same(library: str) -> None:
    """Each kind of ID gives the same findings, reasons, texts, rows, summaries, and columns."""
    made = kinds if library == "python" else lambda numbers: arrays(library, numbers)
    size = len(made(FOUND))
    for place in range(size):
        for other in (place, (place + 1) % size):

            def sample() -> dict[str, Any]:
                return {
                    "retrieved_ids": made(FOUND)[place],  # noqa: B023 - called at once
                    "expected_ids": made(WANTED)[other],  # noqa: B023
                }

            assert told(Sample(**sample())) == EXPECTED
            report = evaluate([sample()], IdRecall(), progress=False)
            means = [report.summary(*READ)[0][measure].mean for measure in READ]
            assert means == EXPECTED[: len(READ)]
            assert tuple(report[0].results[0].findings) == EXPECTED[len(READ) + 2]


@pytest.mark.parametrize(
    "references",
    [
        {3, 12, 5},
        frozenset({"3", "12", "5"}),
        {3: 1, 12: 1, 5: 1},
        {"3": 1.0, "12": 1, "5": 1},
        dict.fromkeys(WANTED, 1).keys(),
        [[3], ["12"], 5],
        [Reference(("3",)), 12, "5"],
    ],
    ids=["set", "frozenset", "grades", "graded texts", "keys", "lists", "references"],
)
def test_references_without_an_order(references: Any) -> None:
    """References in sets, mappings, and groups of one give the same scores as lists."""
    sample = Sample(retrieved_ids=texts(FOUND), expected_ids=references)
    assert [IdRecall().score(sample)[measure] for measure in READ] == EXPECTED[: len(READ)]
    report = evaluate([sample, sample], IdRecall(), progress=False)
    assert [[row.results[0][one] for row in report] for one in READ] == [
        [value] * 2 for value in EXPECTED[: len(READ)]
    ]


def test_grades_count_where_a_measure_reads_them() -> None:
    """Recall of graded references reads only ranks; nDCG, weights, and `min_grade` read grades."""
    graded = {"retrieved_ids": [7, 3, 12], "expected_ids": {3: 3, 12: 1, 5: 2}}
    report = evaluate([graded, graded], IdRecall(), progress=False)
    result = IdRecall().score(**graded)
    for measures in (READ, READ[:4], (nDCG,)):
        score = report.summary(*measures)[0]
        assert [score[one].mean for one in measures] == [result[one] for one in measures]
    assert result[Recall(min_grade=2)] == 0.5
    assert result[Recall(weight="grade")] == pytest.approx(4 / 6)


@pytest.mark.parametrize(
    ("retrieved", "message"),
    [
        ([1, True], "True is not an ID"),
        ([1, 2.0], "2.0 is not an ID"),
        ({1, 2}, "no order"),
        ([10**5000], "integer string conversion"),
        ("ab", "expected a list, got the str"),
        (b"ab", "the bytes"),
        ({"a": 1}, "expected a list, got dict"),
        (7, "expected a list"),
    ],
)
def test_an_invalid_id_is_refused_at_once(retrieved: Any, message: str) -> None:
    """An invalid ID is an error, with the field's name, as soon as a sample is made."""
    with pytest.raises(InputError, match=message) as caught:
        Sample(retrieved_ids=retrieved)
    assert caught.value.field == "retrieved_context_ids"


def through_pickle(sample: Sample) -> Sample:
    """Return a pickled and unpickled sample."""
    loaded: Sample = pickle.loads(pickle.dumps(sample))  # noqa: S301 - its own
    return loaded


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, through_pickle])
def test_a_copied_sample_tells_the_same(copied: Any) -> None:
    """A copied sample gives the same results for any form of its IDs."""
    for numbers in (kinds(FOUND)[0], kinds(FOUND)[2]):
        assert told(copied(Sample(retrieved_ids=numbers, expected_ids=WANTED))) == EXPECTED
    sample = Sample(retrieved_ids=[uuid.UUID(int=3)], expected_ids=[str(uuid.UUID(int=3))])
    assert IdRecall().score(copied(sample)).score == 1.0
