"""Samples take the usual forms of rows, and name the fields that they cannot take."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from types import MappingProxyType
from typing import Any
from uuid import UUID

import pytest

from fullrecall import Context, Reference, Retrieval, Sample
from fullrecall.errors import InputError
from fullrecall.samples.calls import Call


class TestNamesOfOtherTools:
    """Field names of other tools are accepted unchanged."""

    @pytest.mark.parametrize(
        ("tool", "row"),
        [
            (
                "ragas, old",
                {"question": "q", "contexts": ["c"], "ground_truth": "r", "answer": "a"},
            ),
            (
                "ragas, oldest",
                {"question": "q", "contexts": ["c"], "ground_truths": ["r"], "answer": "a"},
            ),
            (
                "ragas, new",
                {
                    "user_input": "q", "retrieved_contexts": ["c"], "reference": "r",
                    "response": "a", "multi_responses": None, "rubrics": None,
                    "synthesizer_name": "single_hop",
                },
            ),
            ("LangChain", {"input": "q", "documents": ["c"], "reference": "r", "output": "a"}),
            (
                "LangChain evaluator",
                {"input": "q", "retrieved_documents": ["c"], "reference": "r", "prediction": "a"},
            ),
            (
                "LlamaIndex",
                {"query": "q", "contexts": ["c"], "reference_answer": "r", "response": "a"},
            ),
            (
                "deepeval",
                {
                    "input": "q", "retrieval_context": ["c"], "expected_output": "r",
                    "actual_output": "a",
                },
            ),
        ],
    )  # fmt: skip
    def test_rows_go_in_unchanged(self, tool: str, row: dict[str, object]) -> None:
        """Rows of every tool give the same sample."""
        sample = Sample(**row)  # type: ignore[arg-type]
        own = Sample(user_input="q", retrieved_contexts=["c"], reference="r", response="a")
        assert dataclasses.replace(sample, metadata={}) == own, tool

    def test_llama_index_expected_ids(self) -> None:
        """`expected_ids` are reference IDs, `expected_texts` reference contexts."""
        sample = Sample(query="q", expected_ids=["n1"], expected_texts=["t"])
        assert sample.reference_context_ids == (Reference(("n1",)),)
        assert sample.reference_contexts == ((Context("t"),),)

    def test_columns_that_no_scorer_uses_are_kept(self) -> None:
        """Other columns of known data sets are kept in `metadata`."""
        sample = Sample(question="q", evolution_type="simple", metadata={"mine": 1})
        assert sample.metadata == {"mine": 1, "evolution_type": "simple"}

    def test_metadata_that_get_another_key_later_change_no_sample(self) -> None:
        """A sample copies the metadata mapping, so that later keys do not change the sample."""
        tags = ["a"]
        metadata: dict[str, Any] = {"tags": tags}
        sample = Sample(user_input="q", metadata=metadata)
        metadata["more"] = 1
        assert sample.metadata == {"tags": ["a"]}
        assert sample.metadata["tags"] is tags
        assert sample.with_retrieval(["t"]).metadata is not sample.metadata

    def test_names_lists_them(self) -> None:
        """`Sample.names()` returns the accepted names of every field."""
        names = Sample.names()
        assert set(names["user_input"]) == {"question", "query", "input"}
        assert set(names) == {field.name for field in dataclasses.fields(Sample)}

    def test_two_names_for_one_field(self) -> None:
        """One value under two names is accepted; two values are an error that names both."""
        assert Sample(question="q", user_input="q").user_input == "q"
        with pytest.raises(InputError, match="question means user_input"):
            Sample(question="q", user_input="other")


class TestErrors:
    """Errors of wrong values name the field, the value, and a fix."""

    @pytest.mark.parametrize(
        ("fields", "field", "message"),
        [
            ({"contxts": ["c"]}, "contxts", r"did you mean 'contexts'.*It takes|A sample takes"),
            ({"topic": "x"}, "topic", r"unknown field 'topic'.*user_input.*metadata"),
            ({"contexts": "text"}, "retrieved_contexts", r"\['text'\]"),
            ({"contexts": {"a": "b"}}, "retrieved_contexts", "list of texts.*got dict"),
            ({"contexts": None, "retrieved_ids": {1, 2}}, "retrieved_context_ids", "no order"),
            ({"contexts": ["a", 3]}, "retrieved_contexts", "item 1: .*got 3"),
            ({"contexts": [{"txt": "a"}]}, "retrieved_contexts", "a dict with 'txt': return"),
            ({"contexts": [{"score": 1}]}, "retrieved_contexts", "needs an id or a text"),
            (
                {"contexts": [{"text": "a", "score": "x"}]},
                "retrieved_contexts",
                "score must be a num",
            ),
            ({"contexts": [{"text": "a", "start": 3}]}, "retrieved_contexts", "start and end"),
            ({"contexts": [{"text": 3}]}, "retrieved_contexts", "text must be a str, got 3"),
            ({"expected_ids": [1.0]}, "reference_context_ids", r"item 0: 1\.0.*Int64"),
            ({"expected_ids": [True]}, "reference_context_ids", "True is not an ID"),
            ({"expected_ids": ["a", None]}, "reference_context_ids", "item 1: None is not an ID"),
            ({"expected_ids": {"a": "high"}}, "reference_context_ids", "a grade must be a number"),
            ({"expected_ids": {"a": float("nan")}}, "reference_context_ids", "finite"),
            ({"expected_ids": [{"ids": ["a"]}]}, "reference_context_ids", '"any_of"'),
            ({"expected_ids": 7.5}, "reference_context_ids", "expected a list, got float 7.5"),
            ({"expected_ids": [["a.pdf", 3]]}, "reference_context_ids", "mixes texts and numbers"),
            ({"question": ["q", "r"]}, "user_input", "expected one str, got list"),
            ({"question": ["q", "r"]}, "user_input", "by columns, are one Sample for each row"),
            ({"question": 7}, "user_input", "expected one str, got int 7"),
            (
                {"reference_claims": ["a", 1]},
                "reference_claims",
                "item 1: expected a claim, a str or .* got 1",
            ),
            ({"reference_claims": "['a']"}, "reference_claims", "pass its items as a list"),
            ({"metadata": "x"}, "metadata", "expected a mapping"),
            ({"self": 1}, "self", "unknown field 'self'"),
            ({"contexts": [{"text": "a", "metadata": 5}]}, "retrieved_contexts", "a mapping"),
            (
                {"contexts": [{"text": "a", "start": "0", "end": 2}]},
                "retrieved_contexts",
                "whole numbers",
            ),
            ({"expected_ids": {"a": True}}, "reference_context_ids", "a grade must be a number"),
            ({"contexts": ["a"], "retrieved_ids": [1, 2]}, "retrieved_context_ids", "1 .* but 2"),
            (
                {"contexts": [{"id": "a"}], "retrieved_ids": ["b"]},
                "retrieved_context_ids",
                "rank 1: the context's id is 'a', retrieved_context_ids says 'b'",
            ),
        ],
    )
    def test_message(self, fields: dict[str, object], field: str, message: str) -> None:
        """The error is an `InputError` with its field, and its text has a fix."""
        with pytest.raises(InputError, match=message) as caught:
            Sample(**fields)  # type: ignore[arg-type]
        assert caught.value.field == field

    def test_all_wrong_fields_are_named_at_once(self) -> None:
        """All wrong fields are named in one message."""
        with pytest.raises(InputError, match=r"retrieved_context_ids: .*; reference_claims: "):
            Sample(retrieved_context_ids="abc", reference_claims=5)

    def test_long_values_are_cut(self) -> None:
        """The message for a 10 MB string in place of a list is one readable line."""
        with pytest.raises(InputError) as caught:
            Sample(contexts="x" * 10_000_000)
        assert len(str(caught.value)) < 300

    def test_framework_objects_name_their_converter(self) -> None:
        """The error for a LangChain document in place of a context names the adapter."""
        document = type("Document", (), {"__module__": "langchain_core.documents.base"})()
        with pytest.raises(InputError, match=r"langchain_fullrecall\.contexts"):
            Sample(retrieved_contexts=[document])

    def test_the_place_is_part_of_the_message(self) -> None:
        """The path and the line in `at` are part of the message."""
        error = InputError("bad", field="x").at(path="f.jsonl", line=3)
        assert (str(error), error.field) == ("f.jsonl:3: bad", "x")
        assert str(InputError("bad").at(line=3)) == "sample 3: bad"


class TestForms:
    """Values may have several forms."""

    def test_contexts(self) -> None:
        """Contexts may be texts, `Context` objects, mappings, or LangChain's dumped documents."""
        sample = Sample(
            retrieved_contexts=[
                "bare",
                Context("own", id=3),
                {"page_content": "lc", "id": "d", "metadata": {"k": 1}, "type": "Document"},
                MappingProxyType({"text": "m", "source": "s", "start_index": 0, "end": 4}),
            ]
        )
        assert sample.retrieved_contexts is not None
        assert [c.text for c in sample.retrieved_contexts] == ["bare", "own", "lc", "m"]
        assert sample.retrieved_context_ids == (None, "3", "d", None)
        assert (sample.retrieved_contexts[3].start, sample.retrieved_contexts[3].source) == (0, "s")

    def test_ids_beside_texts_join_them(self) -> None:
        """Texts and IDs in two columns of a ragas row are joined into the same contexts."""
        sample = Sample(retrieved_contexts=["a", "b"], retrieved_context_ids=[1, None])
        assert sample.retrieved_contexts == (Context("a", id="1"), Context("b"))

    def test_reference_ids(self) -> None:
        """Reference IDs may be plain, graded, any-of groups, or graded groups."""
        for given, meant in (
            (["a", 2], [(("a",), 1.0), (("2",), 1.0)]),
            ("a", [(("a",), 1.0)]),
            (7, [(("7",), 1.0)]),
            ({"a": 3, 4: 1}, [(("a",), 3.0), (("4",), 1.0)]),
            ([["a", "b"], "c"], [(("a", "b"), 1.0), (("c",), 1.0)]),
            ([{"any_of": ["a", 1], "grade": 2}], [(("a", "1"), 2.0)]),
            ({UUID(int=1): 1}, [((str(UUID(int=1)),), 1.0)]),
        ):
            assert list(Sample(reference_context_ids=given).reference_context_ids or ()) == [
                Reference(ids, grade) for ids, grade in meant
            ]

    @pytest.mark.parametrize(
        "field",
        [
            "reference_context_ids",
            "reference_contexts",
            "reference_claims",
            "reference_entities",
            "forbidden_ids",
            "forbidden_contexts",
        ],
    )
    def test_references_may_be_a_set(self, field: str) -> None:
        """References may be a set, since their order means nothing, unlike that of contexts."""
        assert Sample(**{field: {"a"}}) == Sample(**{field: ["a"]})  # type: ignore[arg-type]

    def test_numpy_and_tuples_are_lists_too(self) -> None:
        """NumPy arrays and tuples, as in data frames, are read as lists."""
        numpy = pytest.importorskip("numpy", reason="needs the demo extra, which brings numpy")
        sample = Sample(retrieved_context_ids=numpy.array([1, 2]), reference_context_ids=("1", "3"))
        assert sample.retrieved_context_ids == ("1", "2")

    @pytest.mark.parametrize(
        "fields",
        [
            {},
            {"retrieved_context_ids": ["a", None], "reference_context_ids": {"a": 2, "b": 1}},
            {"retrieved_contexts": [], "reference_context_ids": []},
            {
                "id": 7,
                "user_input": "q",
                "reference_contexts": ["x", ["y", "z"]],
                "retrieved_contexts": [Context("t", id="i", score=0.5, metadata={"a": [1]})],
                "reference_context_ids": [["a", "b"], "c"],
                "reference_claims": ["k"],
                "reference_entities": ["E"],
                "group": "g",
                "response": "r",
                "metadata": {"m": 1},
            },
            {"retrieval": {"error": "boom"}},
            {
                "retrieved_contexts": ["t"],
                "retrieval": {"calls": [{"source": "bm25", "contexts": ["t", {"id": "a"}]}]},
            },
            {
                "response": "other",
                "retrieval": Retrieval(
                    ["t"], calls=[Call("q", contexts=(Context("t"),))], response="said"
                ),
            },
        ],
    )
    def test_round_trip(self, fields: dict[str, object]) -> None:
        """`Sample(**sample.to_dict())` is equal, and so is a pickled copy."""
        sample = Sample(**fields)  # type: ignore[arg-type]
        assert Sample(**sample.to_dict()) == sample
        assert pickle.loads(pickle.dumps(sample)) == sample  # noqa: S301

    def test_with_retrieval_keeps_everything_else(self) -> None:
        """`with_retrieval` changes only the retrieval."""
        sample = Sample(id=1, user_input="q", expected_ids=[["a", "b"]], reference_claims=["k"])
        filled = sample.with_retrieval([Context(id="a")])
        assert filled.retrieved_context_ids == ("a",)
        assert filled.with_retrieval(Retrieval()).retrieved_contexts is None
        failed = filled.with_retrieval(Retrieval(error="boom", response="sorry"))
        assert (failed.response, failed.reference_claims) == ("sorry", sample.reference_claims)
        assert (failed.has_retrieval, failed.retrieval_error) == (False, "boom")

    def test_at_stage(self) -> None:
        """A sample at a stage has that stage's contexts; at one it lacks, no retrieval."""
        call = Call("first", contexts=(Context("a"), Context("b")))
        sample = Sample(id=1, retrieval=Retrieval(["b"], calls=[call]))
        first = sample.at_stage("first")
        assert first.retrieved_contexts == (Context("a"), Context("b"))
        assert (first.id, first.stages) == ("1", ())
        assert "no stage 'other'" in str(sample.at_stage("other").retrieval_error)

    @pytest.mark.parametrize(
        ("fields", "why"),
        [
            ({"retrieval": "a"}, "retrieval: expected a Retrieval or a mapping"),
            ({"retrieval": {"contexts": [1]}}, "retrieval: item 0: expected a str, a Context"),
            (
                {"retrieval": {"contexts": ["a"]}, "retrieved_contexts": ["b"]},
                "retrieved_contexts and retrieval differ",
            ),
        ],
    )
    def test_wrong_retrieval(self, fields: dict[str, object], why: str) -> None:
        """A record that contradicts the sample is refused, with the reason."""
        with pytest.raises(InputError, match=why):
            Sample(**fields)  # type: ignore[arg-type]

    def test_immutable(self) -> None:
        """A sample is immutable, so that its score stays true."""
        sample = Sample(user_input="q")
        with pytest.raises(AttributeError):
            sample.user_input = "other"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("name", "items"),
    [
        ("retrieved_contexts", [{"text": "x", "id": "a", "metadata": {"page": 1}}]),
        ("retrieved_context_ids", ["a"]),
        ("reference_contexts", ["x"]),
        ("reference_context_ids", [["a", "b"], "c"]),
        ("reference_claims", ["Paris is large."]),
        ("reference_entities", ["Paris"]),
        ("forbidden_ids", ["a"]),
        ("forbidden_contexts", ["x"]),
        ("metadata", {"page": 1}),
    ],
)
def test_what_a_sample_was_made_of_may_change_afterwards(name: str, items: object) -> None:
    """A sample keeps its content if a pipeline clears or reuses the lists it was made of."""
    sample = Sample(**{name: items})
    before = copy.deepcopy(sample.to_dict()[name])
    assert before

    def empty(value: object) -> None:
        if isinstance(value, (list, dict)):
            for item in value.values() if isinstance(value, dict) else value:
                empty(item)
            value.clear()

    empty(items)
    assert items in ([], {})
    assert sample.to_dict()[name] == before
    assert Sample(**{name: before}) == sample
