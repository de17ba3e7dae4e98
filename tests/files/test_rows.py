"""Rows in memory are read from lists, Hugging Face, pandas, and ragas."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from fullrecall import Context, IdRecall, Reference, Sample, TextRecall, evaluate
from fullrecall._util.pieces import watched
from fullrecall.errors import InputError
from fullrecall.files.rows import PlannedRows, each_row
from fullrecall.read import from_rows
from fullrecall.samples.hits import contexts_of

if TYPE_CHECKING:
    from conftest import UntilError

ROWS = [
    {"question": "q", "contexts": ["a", "b"], "reference_ids": {"d1": 3}, "answer": "r"},
    {"question": "p", "contexts": [], "reference_ids": {"d2": 2}, "answer": None},
    {"question": "n", "contexts": None, "reference_ids": None, "answer": None},
]
SAMPLES = [
    Sample(
        user_input="q", retrieved_contexts=["a", "b"], reference_context_ids={"d1": 3}, response="r"
    ),
    Sample(user_input="p", retrieved_contexts=[], reference_context_ids={"d2": 2}),
    Sample(user_input="n"),
]


@pytest.fixture
def dataset() -> Any:
    """A Hugging Face data set whose mappings Arrow has filled with None."""
    dataset = pytest.importorskip("datasets", reason="needs the test extra").Dataset.from_list(ROWS)
    assert dataset[0]["reference_ids"] == {"d1": 3, "d2": None}
    return dataset


@pytest.fixture
def pandas() -> Any:
    """Return pandas, or skip the test if it is not installed."""
    return pytest.importorskip("pandas", reason="needs the pandas extra")


class Model:
    """A stand-in for a pydantic model, as ragas and LlamaIndex use them."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def model_dump(self) -> dict[str, Any]:
        """Return the fields, as pydantic 2 does."""
        return self.fields


class TestLists:
    """Mappings, samples and models are read from any iterable."""

    def test_mappings(self) -> None:
        """A list of dicts is read, and None counts as not given."""
        assert list(from_rows(ROWS)) == SAMPLES

    def test_samples_pass_through(self) -> None:
        """Samples among the rows are yielded as they are."""
        mixed = list(from_rows([SAMPLES[0], ROWS[1]]))
        assert mixed == SAMPLES[:2]
        assert mixed[0] is SAMPLES[0]

    def test_rows_are_taken_one_at_a_time(self) -> None:
        """A generator is not drained before the first sample comes."""
        taken = []

        def rows() -> Iterator[Any]:
            for row in ROWS:
                taken.append(row)
                yield row

        next(from_rows(rows()))
        assert len(taken) == 1

    def test_our_own_objects_stay_what_they_are(self) -> None:
        """`Context` and reference objects inside a row stay as they are."""
        row = {"contexts": [Context("a", id="d")], "reference_ids": [Reference(("a", "b"), 2.0)]}
        expected = Sample(
            retrieved_contexts=[Context("a", id="d")],
            reference_context_ids=[Reference(("a", "b"), 2.0)],
        )
        assert list(from_rows([row])) == [expected]

    def test_a_null_grade_in_plain_rows_is_an_error(self, until_error: UntilError) -> None:
        """A null grade in a dict is an error: the document may be relevant without a grade."""
        _, error = until_error(from_rows([{"reference_ids": {"d1": None}}]))
        assert error.field == "reference_context_ids"

    @pytest.mark.parametrize(
        ("rows", "says"),
        [
            ("a.jsonl", "read(path) reads a file"),
            (Path("a.jsonl"), "read(path) reads a file"),
            ({"question": ["q"]}, "wrap one row in a list"),
            (7, "expected an iterable of rows, got int 7"),
        ],
    )
    def test_arguments_that_are_not_rows_are_refused(self, rows: Any, says: str) -> None:
        """Arguments that are not rows are an error at the call, with the fix."""
        with pytest.raises(InputError) as caught:
            from_rows(rows)
        assert says in caught.value.problem

    @pytest.mark.parametrize(
        ("row", "says"),
        [
            ("abc", "a row must be an object with named fields, got str 'abc'"),
            (["q"], "a row must be an object with named fields, got list"),
            (Model, "a row must be an object with named fields, got type"),
            ({0: "q"}, "a column's name must be a str, got 0"),
            ({"question": "q", "context": "t"}, "context may be what was retrieved, or"),
        ],
    )
    def test_a_wrong_row_is_named_by_its_number(
        self, until_error: UntilError, row: Any, says: str
    ) -> None:
        """A wrong row is an error that names its number, after the rows before it are yielded."""
        before, error = until_error(from_rows([ROWS[0], row]))
        assert before == SAMPLES[:1]
        assert error.line == 2
        assert str(error).startswith("sample 2: ")
        assert says in error.problem


class TestRagas:
    """Objects of ragas are read by their attributes, with the columns of both its generations."""

    @pytest.mark.parametrize(
        "row",
        [
            {"question": "q", "contexts": ["c"], "ground_truths": ["r"], "answer": "a"},
            {"question": "q", "contexts": ["c"], "ground_truth": "r", "answer": "a"},
            {
                "user_input": "q", "retrieved_contexts": ["c"], "reference": "r", "response": "a",
                "reference_contexts": None, "retrieved_context_ids": None, "rubrics": None,
                "multi_responses": None, "persona_name": None,
            },
        ],
    )  # fmt: skip
    def test_columns_of_all_its_versions(self, row: Any) -> None:
        """Rows of old and new versions of ragas are read unchanged."""
        expected = Sample(user_input="q", retrieved_contexts=["c"], reference="r", response="a")
        assert list(from_rows([row])) == [expected]

    def test_evaluation_datasets(self) -> None:
        """The models in the `samples` of an EvaluationDataset are read."""
        dataset = SimpleNamespace(
            samples=[Model(user_input="q", retrieved_context_ids=[1], reference_context_ids=["1"])]
        )
        expected = Sample(user_input="q", retrieved_context_ids=["1"], reference_context_ids=["1"])
        assert list(from_rows(dataset)) == [expected]

    def test_test_sets(self) -> None:
        """A Testset is read by its own conversion."""
        inner = SimpleNamespace(samples=[Model(user_input="q")])
        testset = SimpleNamespace(
            samples=[Model(eval_sample={}, synthesizer_name="s")],
            to_evaluation_dataset=lambda: inner,
        )
        assert list(from_rows(testset)) == [Sample(user_input="q")]

    @pytest.mark.parametrize("method", ["to_dict", "dict"])
    def test_other_models(self, method: str) -> None:
        """The fields of pydantic 1 models and of similar objects are read."""
        row = SimpleNamespace(**{method: lambda: {"question": "q"}})
        assert list(from_rows([row])) == [Sample(user_input="q")]


class TestHuggingFace:
    """`datasets.Dataset` is read in each of its forms."""

    def test_streams(self, dataset: Any) -> None:
        """An IterableDataset is read like a Dataset."""
        assert list(from_rows(dataset.to_iterable_dataset())) == SAMPLES

    @pytest.mark.parametrize("form", ["numpy", "pandas", "arrow"])
    def test_formats(self, dataset: Any, form: str) -> None:
        """A format set for training does not change the rows that are read."""
        assert list(from_rows(dataset.with_format(form))) == SAMPLES

    def test_transforms_are_kept(self, dataset: Any) -> None:
        """A user's transform is applied, since it may make the columns that are read."""
        shouted = dataset.with_transform(
            lambda batch: {"question": [text.upper() for text in batch["question"]]}
        )
        assert [sample.user_input for sample in from_rows(shouted)] == ["Q", "P", "N"]

    def test_splits(self, dataset: Any) -> None:
        """A DatasetDict is refused, and the error names its splits."""
        datasets = pytest.importorskip("datasets", reason="needs the test extra")
        with pytest.raises(InputError, match="got the splits 'test': choose one"):
            from_rows(datasets.DatasetDict({"test": dataset}))


class TestPandas:
    """Pandas data frames are read."""

    def test_frames_that_came_through_arrow(self, pandas: Any) -> None:
        """Cells that are NumPy arrays, and mappings with gaps, read alike."""
        frame = (
            pytest.importorskip("datasets", reason="needs the test extra")
            .Dataset.from_list(ROWS)
            .to_pandas()
        )
        assert type(frame["contexts"][0]).__name__ == "ndarray"
        assert list(from_rows(frame)) == SAMPLES

    def test_every_missing_value_is_not_given(self, pandas: Any) -> None:
        """None, NaN, NA and NaT leave the field out."""
        answers = ["Ann", None, math.nan, pandas.NA, pandas.NaT]
        frame = pandas.DataFrame({"question": "q", "answer": pandas.Series(answers, dtype=object)})
        assert [sample.reference for sample in from_rows(frame)] == ["Ann", *[None] * 4]

    def test_an_int_column_with_gaps(self, pandas: Any, until_error: UntilError) -> None:
        """An int column that a frame turned into floats by its nulls is an error, not a 0."""
        _, error = until_error(from_rows(pandas.DataFrame({"id": [1, None]})))
        assert "astype('Int64')" in error.problem
        assert [
            sample.id for sample in from_rows(pandas.DataFrame({"id": [1, None]}, dtype="Int64"))
        ] == ["1", None]

    def test_a_column_twice(self, pandas: Any, until_error: UntilError) -> None:
        """Two columns with one name are an error: neither is dropped silently."""
        frame = pandas.DataFrame([["a", "b"]], columns=["question", "question"])
        _, error = until_error(from_rows(frame))
        assert "two columns 'question'" in error.problem


def _pandas() -> Any:
    import pandas as pd

    return pd.DataFrame(ROWS)


def _polars() -> Any:
    import polars as pl

    return pl.DataFrame(ROWS)


def _polars_lazy() -> Any:
    return _polars().lazy()


def _arrow() -> Any:
    import pyarrow as pa

    return pa.Table.from_pylist(ROWS)


def _arrow_batch() -> Any:
    return _arrow().to_batches()[0]


def _arrow_map() -> Any:
    import pyarrow as pa

    table = _arrow()
    pairs = [
        None if row["reference_ids"] is None else [*row["reference_ids"].items()] for row in ROWS
    ]
    column = pa.array(pairs, type=pa.map_(pa.string(), pa.int64()))
    return table.set_column(table.column_names.index("reference_ids"), "reference_ids", column)


def _narwhals() -> Any:
    import narwhals as nw

    return nw.from_native(_polars())


def _hugging_face() -> Any:
    datasets = pytest.importorskip("datasets", reason="needs the test extra")
    return datasets.Dataset.from_list(ROWS)


def test_lists_that_dask_made_texts_are_explained(until_error: UntilError) -> None:
    """The error for a list that is a text names the setting of Dask that keeps lists."""
    rows = type("Frame", (list,), {"__module__": "dask.dataframe"})([{"expected_ids": "a b; c"}])
    _, error = until_error(from_rows(rows))
    assert "Dask turns lists into texts unless dask.config.set(" in error.problem


class TestFrames:
    """Data frames of any library are read by narwhals, with equal results."""

    @pytest.mark.filterwarnings("error")
    @pytest.mark.parametrize(
        "made",
        [
            _pandas,
            _polars,
            _polars_lazy,
            _arrow,
            _arrow_batch,
            _arrow_map,
            _narwhals,
            _hugging_face,
        ],
    )
    def test_one_report(self, made: Callable[[], Any], tmp_path: Path) -> None:
        """A frame gives the samples and the report of the plain rows."""
        scorers = [IdRecall(), TextRecall()]
        assert list(from_rows(made())) == SAMPLES
        evaluate(from_rows(made()), scorers, progress=False).save(tmp_path / "frame.jsonl")
        evaluate(SAMPLES, scorers, progress=False).save(tmp_path / "plain.jsonl")
        assert (tmp_path / "frame.jsonl").read_bytes() == (tmp_path / "plain.jsonl").read_bytes()

    @pytest.mark.parametrize("made", [_pandas, _polars, _arrow])
    def test_renamed_columns(self, made: Callable[[], Any]) -> None:
        """Columns of frames are renamed as in rows."""
        samples = from_rows(made(), rename={"question": "reference", "answer": None})
        assert [one.reference for one in samples] == ["q", "p", "n"]

    def test_a_key_of_a_map_that_stands_twice(self) -> None:
        """A repeated key of a map is an error, because either value may be right."""
        import pyarrow as pa

        pairs = pa.array([[("d1", 3), ("d1", 1)]], type=pa.map_(pa.string(), pa.int64()))
        with pytest.raises(InputError, match="a key occurs twice"):
            list(from_rows(pa.table({"reference_ids": pairs})))

    def test_a_frame_that_has_a_column_of_samples(self) -> None:
        """A frame with a column named `samples` is read as a frame."""
        import pandas as pd

        frame = pd.DataFrame({"user_input": ["q"], "samples": [1]})
        (sample,) = from_rows(frame, rename={"samples": None})
        assert sample.user_input == "q"

    def test_a_retriever_may_return_one(self) -> None:
        """The rows of a data frame that a retriever returns, as LanceDB does, are its contexts."""
        import polars as pl

        for frame in (pl.DataFrame({"id": ["d1"], "text": ["t"]}), _pandas()[["question"]]):
            if "id" in frame.columns:
                assert contexts_of(frame) == (Context("t", id="d1"),)
            else:
                with pytest.raises(InputError, match="expected a text, a Context"):
                    contexts_of(frame)


HELD = {"retrieved_ids": ["a"], "expected_ids": ["a", "b"]}


@pytest.mark.parametrize(
    ("row", "fields"),
    [
        ({**HELD, "metadata": {"k": 1}}, {}),
        ({**HELD, "unanswerable": True}, {"answerable": "!unanswerable"}),
        ({**HELD, "kind": "no"}, {"answerable": "kind=no"}),
        (
            {"hits": {"ids": ["a"]}, "gold": {"ids": ["a"]}},
            {"retrieved_context_ids": "hits.ids", "reference_context_ids": "gold.ids"},
        ),
    ],
)
@pytest.mark.parametrize("form", [list, "DataFrame"])
def test_rows_that_are_scored_as_columns_are_the_samples(
    pandas: Any, row: dict[str, Any], fields: dict[str, str], form: Any
) -> None:
    """A run that scores rows as columns has the samples that are read one by one."""
    rows: Any = [row] if form is list else pandas.DataFrame([row])
    report = evaluate(from_rows(rows, fields=fields), IdRecall(), progress=False)
    assert [each.sample for each in report] == list(from_rows(rows, fields=fields))


def _broken() -> Iterator[dict[str, Any]]:
    yield HELD | {"note": "x"}
    raise InputError("broken")


@pytest.mark.parametrize(
    ("rows", "path"),
    [
        ([HELD | {"note": "x"}], "typo"),
        (_broken(), "typo"),
        ([{"question": "Who?", "context": "t"}], "typo"),
        ([HELD | {"notes": ["x"]}], "notes[].typo"),
    ],
)
def test_a_path_without_values_is_named_first(rows: Any, path: str) -> None:
    """A wrong path is an error before the first sample, and before doubts and later errors."""
    with pytest.raises(InputError) as caught:
        next(from_rows(rows, fields={"reference": path}))
    assert caught.value.field == path


def test_a_column_may_have_no_value() -> None:
    """A path to a column is right, even if the only column of the rows is empty."""
    assert list(from_rows([{"frage": None}], rename={"frage": "question"})) == [Sample()]


@pytest.mark.parametrize(
    ("problem", "field", "length", "shown"),
    [
        ("x" * 501, None, 502, None),
        ("x" * 501, "y" * 501, 502, "y" * 500),
        ("x" * 501 + "\n", None, 502, None),
    ],
)
def test_a_long_error_of_a_row_is_cut(
    problem: str, field: str | None, length: int, shown: str | None
) -> None:
    """A message of one line, and the field, have at most 500 characters; rows are closed."""
    closed = []

    def rows() -> Iterator[tuple[int, object]]:
        try:
            yield 1, {}
        finally:
            closed.append(True)

    def convert(_: object) -> None:
        raise InputError(problem, field=field)

    numbered = rows()
    with pytest.raises(InputError) as caught:
        list(each_row(numbered, convert))
    assert closed
    assert (len(caught.value.problem), caught.value.field) == (length, shown)


def test_the_rows_that_make_a_plan_are_bounded_by_their_characters() -> None:
    """A plan is made from a bounded number of characters: long rows end it early."""
    for body in ("x" * 2**21, ["x" * 100] * 20_000):
        taken: list[int] = []

        def rows(body: object = body, taken: list[int] = taken) -> Iterator[tuple[int, object]]:
            for number in range(1, 100):
                taken.append(number)
                yield number, {"question": "Who?", "gold_ids": ["a"], "body": body}

        plan, _ = PlannedRows().planned(rows())
        assert plan.fields["reference_context_ids"] == "gold_ids"
        assert len(taken) == 1


def test_a_watched_reader_ends_between_two_rows() -> None:
    """A reader that a run with a deadline watches ends between two rows."""
    seen: list[int] = []

    def check() -> None:
        if len(seen) > 3:
            raise TimeoutError

    rows = ((number, {"question": "Who?", "gold_ids": ["a"]}) for number in range(1000))
    with watched(check), pytest.raises(TimeoutError):
        list(_counted(PlannedRows().samples(rows), seen))
    assert len(seen) == 4


def _counted(samples: Iterator[Sample], seen: list[int]) -> Iterator[Sample]:
    for sample in samples:
        seen.append(len(seen))
        yield sample
