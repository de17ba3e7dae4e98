"""Mistakes in a job, and the errors that name them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.batches.made import arrow_table, frame, rows

from fullrecall import BatchScorer, Budget, IdRecall
from fullrecall.batches.redis import _client
from fullrecall.errors import InputError, ParameterError
from fullrecall.run.sqlite import SQLiteLedger

pa = pytest.importorskip("pyarrow", reason="needs the parquet extra")
pd = pytest.importorskip("pandas", reason="needs the pandas extra")


def score_batch(batch: Any, scorer: Any, **options: Any) -> Any:
    """Return a batch with its scores."""
    return BatchScorer(scorer, **options)(batch)


class TestMistakes:
    """Each mistake in a job is an error that names the mistake and its fix."""

    @pytest.mark.parametrize(
        ("batch", "problem"),
        [
            ([1, 2], r"expected one batch, a data frame or an Arrow table, got list"),
            ("rows", "a data frame or an Arrow table"),
            ({"id": ["a"]}, "got dict .*: call the scorer by Ray's .* batch_format='pyarrow'"),
        ],
    )
    def test_what_is_no_batch(self, batch: Any, problem: str) -> None:
        """A sample is not a batch, and neither is a list."""
        with pytest.raises(InputError, match=problem):
            score_batch(batch, IdRecall())

    @pytest.mark.parametrize("package", ["ray", "pyspark", "dask"])
    def test_an_engine_s_own_table(self, package: str) -> None:
        """An engine's whole table is an error that names its method for batches."""
        dataset = type("Dataset", (), {"__module__": f"{package}.data", "columns": ()})()
        with pytest.raises(InputError, match=r"expected one batch, .* got Dataset.*map_partitions"):
            score_batch(dataset, IdRecall())

    @pytest.mark.parametrize("kind", [arrow_table, frame])
    def test_two_columns_of_one_name(self, kind: Any) -> None:
        """Two columns of one name are an error: neither column is dropped silently."""
        batch = kind(rows())
        if kind is frame:
            batch = pd.concat([batch, batch[["id"]]], axis=1)
        else:
            batch = batch.append_column("id", batch.column("id"))
        with pytest.raises(InputError, match="two columns 'id'"):
            score_batch(batch, IdRecall(), position="place")

    @pytest.mark.parametrize("name", ["id_recall_first", "contexts_", "references", "row"])
    def test_a_column_of_a_score_s_name(self, name: str) -> None:
        """A column with the name of a score's column is an error; any other column is kept."""
        batch = arrow_table(rows()).append_column(name, [[7] * 24])
        if name == "contexts_":
            assert score_batch(batch, IdRecall(), position="place")[name].to_pylist() == [7] * 24
            return
        with pytest.raises(InputError, match=f"column '{name}' has the name of one of a report's"):
            score_batch(batch, IdRecall(), position="place")

    @pytest.mark.parametrize(
        ("name", "meant"),
        [("retrived_ids", "retrieved_ids"), ("ExpectdIds", "expected_ids"), ("groups", "group")],
    )
    def test_a_column_that_looks_like_a_misspelled_field(self, name: str, meant: str) -> None:
        """A column that looks like a misspelled field is an error; `rename` leaves it out."""
        batch = pa.Table.from_pylist([{"qid": "a", "question": "q", name: ["x"]}])
        with pytest.raises(InputError, match=f"'{name}' is not a field: did you mean '{meant}'"):
            score_batch(batch, IdRecall())
        kept = score_batch(batch, IdRecall(), rename={name: None})
        assert kept[name].to_pylist() == [["x"]]

    @pytest.mark.parametrize("name", ["question_id", "reference_doc_ids", "tenant", "grades"])
    def test_a_users_own_column_is_kept(self, name: str) -> None:
        """A user's own column is kept, unless its name looks like that of a missing field."""
        batch = pa.Table.from_pylist([{"id": "a", "question": "q", "questions": 2, name: ["x"]}])
        assert score_batch(batch, IdRecall())[name].to_pylist() == [["x"]]

    @pytest.mark.parametrize("missing", [None, float("nan")])
    def test_a_row_without_a_position_is_a_bad_row(self, missing: Any) -> None:
        """A row without a position is unscored; the other rows of its batch are scored."""
        batch = pd.DataFrame(
            {"n": [0, missing], "expected_ids": [["x"]] * 2, "retrieved_ids": [["x"]] * 2}
        )
        scored = score_batch(batch, IdRecall(), position="n")
        assert scored["id_recall"].tolist()[0] == 1.0
        assert scored["id_recall_reason"].tolist()[1] == "bad row: n is missing: number each row"
        assert scored["row"].isna().tolist() == [False, True]

    @pytest.mark.parametrize("value", [1.5, "1", -1])
    def test_a_position_is_a_whole_number(self, value: Any) -> None:
        """A position that is not a whole number of at least 0 is an error."""
        batch = pd.DataFrame({"n": [0, value], "id": ["a", "b"]}, dtype="object")
        with pytest.raises(InputError, match=r"n must hold whole numbers >= 0, got") as met:
            score_batch(batch, IdRecall(), position="n")
        assert met.value.line == 2

    def test_no_column_of_that_name(self) -> None:
        """A mistyped position is an error before a row is scored."""
        with pytest.raises(InputError, match=r"no column 'n', which position names: .* 'place'"):
            score_batch(arrow_table(rows()), IdRecall(), position="n")

    @pytest.mark.parametrize(
        ("options", "problem"),
        [
            ({"max_concurrency": 0}, "max_concurrency"),
            ({"timeout": -1}, "timeout"),
            ({"retries": -1}, "retries must be a whole number of at least 0"),
            ({"rename": {"a": "no_field"}}, "no_field"),
            ({"store": 7}, "store must be a path, got 7"),
            ({"store": "redis://:pw@host/0"}, "URL without a password.*set REDIS_PASSWORD"),
            ({"budget": Budget(calls=5)}, "budget needs store=…"),
            ({"budget": Budget(rate=5)}, "budget needs store=…"),
            ({"store": "redis://host/0", "budget": 5}, "budget must be a Budget"),
        ],
    )
    def test_options_are_checked_at_once(self, options: Any, problem: str) -> None:
        """Wrong options are refused by the constructor, not by the first worker an hour later."""
        with pytest.raises(ParameterError, match=problem):
            BatchScorer(IdRecall(), **options)

    def test_an_open_store_is_no_path(self, tmp_path: Path) -> None:
        """`store` refuses an open store, which belongs to this process."""
        with (
            SQLiteLedger(tmp_path / "answers.sqlite") as store,
            pytest.raises(ParameterError, match="store must be a path, got SQLiteLedger"),
        ):
            BatchScorer(IdRecall(), store=store)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [None, "", "ann"])
def test_a_server_takes_its_user_from_the_environment(
    name: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty name or password counts as missing; a probe does not retry."""
    pytest.importorskip("redis", reason="needs the redis extra")
    for variable in ("REDIS_USERNAME", "REDIS_PASSWORD"):
        if name is None:
            monkeypatch.delenv(variable, raising=False)
        else:
            monkeypatch.setenv(variable, name)
    _client.cache_clear()
    options = _client("redis://localhost:1/0", 0).connection_pool.connection_kwargs
    assert (options["username"], options["password"]) == (name or None, name or None)
    probing = _client("redis://localhost:1/0", 0, probes=True).connection_pool.connection_kwargs
    assert probing["retry"].get_retries() == 0 < options["retry"].get_retries()
    assert probing["socket_timeout"] < options["socket_timeout"]
    _client.cache_clear()
