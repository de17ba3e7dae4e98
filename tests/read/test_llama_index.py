"""LlamaIndex's EmbeddingQA and LabelledRag formats, as files and as objects."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from fullrecall import Context, Sample
from fullrecall.read import from_rows, read

if TYPE_CHECKING:
    from conftest import UntilError, Write

EMBEDDING_QA = {
    "queries": {"q1": "first?", "q2": "second?", "q3": "third?"},
    "corpus": {"n1": "one", "n2": "two"},
    "relevant_docs": {"q1": ["n2", "n1"], "q2": []},
    "mode": "text",
}
LABELLED_RAG = {
    "examples": [
        {
            "query": "q",
            "query_by": {"model_name": "m", "type": "ai"},
            "reference_contexts": ["c1", "c2"],
            "reference_answer": "r",
            "reference_answer_by": {"model_name": None, "type": "human"},
        },
        {"query": "p", "query_by": None, "reference_contexts": None, "reference_answer": "r"},
    ]
}


class TestEmbeddingQA:
    """`{"queries", "corpus", "relevant_docs"}`."""

    EXPECTED = (
        Sample(
            id="q1",
            user_input="first?",
            reference_context_ids=["n2", "n1"],
            reference_contexts=[Context("two", id="n2"), Context("one", id="n1")],
        ),
        Sample(id="q2", user_input="second?", reference_context_ids=[], reference_contexts=[]),
        Sample(id="q3", user_input="third?", reference_context_ids=[], reference_contexts=[]),
    )

    def test_files(self, write: Write) -> None:
        """IDs and texts of the relevant documents, in their order; none is an empty list."""
        path = write("a.json", json.dumps(EMBEDDING_QA))
        assert tuple(read(path)) == self.EXPECTED

    def test_objects(self) -> None:
        """An EmbeddingQAFinetuneDataset of any version is read by its attributes."""
        assert tuple(from_rows(SimpleNamespace(**EMBEDDING_QA))) == self.EXPECTED

    @pytest.mark.parametrize(
        ("change", "field", "says"),
        [
            (
                {"relevant_docs": {"q2": ["n9"]}},
                "relevant_docs",
                "'n9', which has no text in the corpus",
            ),
            ({"relevant_docs": {"q2": "n1"}}, "relevant_docs", "expected a list, got the str 'n1'"),
            ({"relevant_docs": {"q2": [1.5]}}, "relevant_docs", "1.5 is not an ID"),
            ({"queries": {"q1": "a", "q2": 3}}, "user_input", "got int 3"),
            (
                {"relevant_docs": {"q2": ["n1"]}, "corpus": {"n1": {"text": "t"}}},
                "relevant_docs",
                "relevant_docs: a context's text must be a str",
            ),
        ],
    )
    def test_errors_name_the_query(
        self,
        write: Write,
        until_error: UntilError,
        change: dict[str, object],
        field: str | None,
        says: str,
    ) -> None:
        """A set that contradicts itself is an error at that query, after those before it."""
        path = write("a.json", json.dumps({**EMBEDDING_QA, "relevant_docs": {}, **change}))
        before, error = until_error(read(path))
        assert [sample.id for sample in before] == ["q1"]
        assert (error.path, error.field) == (str(path), field)
        assert error.problem.startswith("query 'q2': ")
        assert says in error.problem

    def test_a_query_twice(self, write: Write, until_error: UntilError) -> None:
        """A key that stands twice would lose a query in silence."""
        text = '{"queries": {"q1": "a",\n "q1": "b"}, "corpus": {}, "relevant_docs": {}}'
        _, error = until_error(read(write("a.json", text)))
        assert "'q1' occurs twice" in error.problem


class TestLabelledRag:
    """`{"examples": [...]}`."""

    EXPECTED = (
        Sample(
            user_input="q",
            reference_contexts=["c1", "c2"],
            reference="r",
            metadata={
                "query_by": {"model_name": "m", "type": "ai"},
                "reference_answer_by": {"model_name": None, "type": "human"},
            },
        ),
        Sample(user_input="p", reference="r"),
    )

    def test_files(self, write: Write) -> None:
        """Texts and answers; the authors go into the metadata."""
        path = write("a.json", json.dumps(LABELLED_RAG))
        assert tuple(read(path)) == self.EXPECTED

    def test_objects(self) -> None:
        """A LabelledRagDataset's examples are models: they are dumped."""
        examples = [
            SimpleNamespace(model_dump=lambda row=row: row) for row in LABELLED_RAG["examples"]
        ]
        assert tuple(from_rows(SimpleNamespace(examples=examples))) == self.EXPECTED

    def test_errors_name_the_example(self, write: Write, until_error: UntilError) -> None:
        """An example of another form is named by its number."""
        found = {"examples": [{"query": "q"}, {"query": "q", "reference_contexts": "c"}]}
        before, error = until_error(read(write("a.json", json.dumps(found))))
        assert before == [Sample(user_input="q")]
        assert error.field == "reference_contexts"
        assert error.problem.startswith("example 2: ")


@pytest.mark.parametrize(
    ("found", "says"),
    [
        ({"queries": {}, "corpus": {}}, "unknown field 'corpus', 'queries'"),
        ({**EMBEDDING_QA, "corpus": ["one"]}, "unknown field 'corpus', 'mode', 'queries'"),
        ({"example": []}, "unknown field 'example'"),
        ({"examples": {"query": "q"}}, "unknown field 'examples'"),
        ({"examples": []}, "holds no samples"),
        ({**EMBEDDING_QA, "queries": {}}, "holds no samples"),
    ],
)
def test_what_is_no_such_set(
    write: Write, until_error: UntilError, found: object, says: str
) -> None:
    """The missing or misshapen part is named."""
    _, error = until_error(read(write("a.json", json.dumps(found))))
    assert says in error.problem
