"""Spans of each convention are read, and cut, hidden, or lost values are noticed."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.observe.spans import ROOT, documents, read, retriever, span

from fullrecall.observe.span import Span

CONVENTIONS: dict[str, Span] = {
    "GenAI, JSON": span(
        1,
        "retrieval",
        attributes={
            "gen_ai.operation.name": "retrieval",
            "gen_ai.retrieval.query.text": "q",
            "gen_ai.retrieval.documents": json.dumps([{"id": own, "score": None} for own in "ab"]),
        },
    ),
    "Langfuse": span(
        1,
        "search",
        attributes={
            "langfuse.observation.type": "retriever",
            "langfuse.observation.input": '{"query": "q"}',
            "langfuse.observation.output": json.dumps(
                [{"id": "a", "content": "t"}, {"id": "b", "content": "u"}]
            ),
        },
    ),
    "MLflow": span(
        1,
        "search",
        attributes={
            "mlflow.spanType": '"RETRIEVER"',
            "mlflow.spanInputs": '{"query": "q"}',
            "mlflow.spanOutputs": json.dumps([{"page_content": "t", "id": own} for own in "ab"]),
        },
    ),
    "OpenInference, IDs in the output": span(
        1,
        "search",
        attributes={
            "openinference.span.kind": "RETRIEVER",
            "input.value": "q",
            "output.value": json.dumps(
                {"documents": [{"page_content": "", "id": own, "type": "Document"} for own in "ab"]}
            ),
            **documents(None, None),
        },
    ),
    "OpenInference, an output of another length": span(
        1,
        "search",
        attributes={
            "openinference.span.kind": "RETRIEVER",
            "input.value": "q",
            "output.value": '{"documents": [{"page_content": "", "id": "z", "type": "Document"}]}',
            **documents("a", "b"),
        },
    ),
}


@pytest.mark.parametrize("name", CONVENTIONS)
def test_conventions(name: str) -> None:
    """Each convention's names for a retriever, its question and its documents are read."""
    sample = read(CONVENTIONS[name])
    assert sample.user_input == "q"
    assert sample.retrieved_context_ids == ("a", "b")
    assert all(each.score is None for each in sample.retrieved_contexts or ())


def test_a_later_reranker_has_the_final_list() -> None:
    """A reranker's documents are the final list; the retrieved lists are its stages."""
    reranker = span(
        5,
        "rerank",
        1,
        attributes={
            "openinference.span.kind": "RERANKER",
            **documents("c", "a", prefix="reranker.output_documents"),
            **documents("a", "b", "c", prefix="reranker.input_documents"),
        },
    )
    sample = read(ROOT, retriever(2, 1, "a", "b"), retriever(3, 1, "c"), reranker)
    assert sample.retrieved_context_ids == ("c", "a")
    assert [stage.name for stage in sample.stages] == ["search 2", "search 3", "rerank"]
    assert [context.id for context in sample.stages[-1].contexts] == ["a", "b", "c"]


def test_a_reranker_of_another_list_leaves_this_one() -> None:
    """A reranker of another list leaves this one, and the two lists are united."""
    reranker = span(
        5,
        "rerank",
        1,
        attributes={
            "openinference.span.kind": "RERANKER",
            **documents("a", prefix="reranker.output_documents"),
            **documents("a", "b", prefix="reranker.input_documents"),
        },
    )
    sample = read(ROOT, retriever(2, 1, "a", "b"), retriever(3, 1, "x"), reranker)
    assert sorted(sample.retrieved_context_ids or ()) == ["a", "x"]  # type: ignore[type-var]
    assert sample.ranks == (1, 1)


def test_an_outer_retriever_counts() -> None:
    """The list of the outer retriever counts, and the lists below it are its stages."""
    sample = read(retriever(1, None, "a", end=9), retriever(2, 1, "a", "b"), retriever(3, 1, "c"))
    assert sample.retrieved_context_ids == ("a",)
    assert [stage.name for stage in sample.stages] == ["search 2", "search 3"]


def test_a_span_that_is_exported_twice_counts_once() -> None:
    """A span that is exported twice, after a lost answer, counts once."""
    assert read(retriever(1, None, "a"), retriever(1, None, "a")).ranks is None


UNSCORED: dict[str, tuple[list[Span], str]] = {
    "failed": ([retriever(1, error="TimeoutError: 3 s")], "TimeoutError: 3 s"),
    "one of two failed": (
        [ROOT, retriever(2, 1, "a"), retriever(3, 1, error="TimeoutError")],
        "1 of 2 calls failed",
    ),
    "dropped attributes": (
        [retriever(1, None, "a", dropped=3)],
        "3 of its attributes were dropped: set OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT=10000",
    ),
    "a gap": (
        [retriever(1, attributes={"retrieval.documents.1.document.id": "b"})],
        "some of its 2 documents are missing",
    ),
    "a document without anything": (
        [retriever(1, None, "a", attributes={"retrieval.documents.1.document.score": 0.5})],
        "some of its 2 documents are missing",
    ),
    "hidden": (
        [
            span(
                1,
                "s",
                attributes={"openinference.span.kind": "RETRIEVER", "output.value": "__REDACTED__"},
            )
        ],
        "its documents were hidden",
    ),
    "hidden texts without IDs": (
        [
            span(
                1,
                "s",
                attributes={
                    "openinference.span.kind": "RETRIEVER",
                    "retrieval.documents.0.document.content": "__REDACTED__",
                },
            )
        ],
        "its documents were hidden",
    ),
    "cut values": (
        [
            span(
                1,
                "s",
                attributes={
                    "openinference.span.kind": "RETRIEVER",
                    "output.value": '{"documents": [{"id": "a", "page_con',
                    **documents(None),
                },
            )
        ],
        "its values were cut at 36 characters",
    ),
    "a lost parent": ([retriever(2, 1, "a")], "the trace is cut"),
    "a lost parent of a failure": ([retriever(2, 1, error="TimeoutError")], "the trace is cut"),
    "no retriever": ([ROOT], "no retriever was traced"),
    "a failed run": ([span(1, "run", error="ValueError: x")], "the run failed: ValueError: x"),
    "nothing readable": (
        [span(1, "s", attributes={"openinference.span.kind": "RETRIEVER", "output.value": "42"})],
        "s returned nothing that can be read as documents",
    ),
}


@pytest.mark.parametrize("name", UNSCORED)
def test_an_incomplete_trace_is_unscored(name: str) -> None:
    """A trace that is not whole is unscored with the fix, never an empty list."""
    spans, why = UNSCORED[name]
    sample = read(*spans)
    assert why in str(sample.retrieval_error)


def test_a_lost_parent_of_a_model_loses_no_retrieval() -> None:
    """A trace that is cut above a model, not above a retriever, is scored."""
    model = span(3, "model", 77, attributes={"openinference.span.kind": "LLM"})
    sample = read(retriever(1, None, "a"), model)
    assert (sample.retrieved_context_ids, sample.retrieval_error) == (("a",), None)


def tool(number: int, **given: Any) -> Span:
    """Return the span of a tool's call."""
    attributes = {"openinference.span.kind": "TOOL", "tool.name": "search", "input.value": "q"}
    return span(number, "call", 1, attributes=attributes, **given)


def test_a_tool_that_failed_and_was_called_again() -> None:
    """A tool that failed and was called again with the same arguments recovered."""
    sample = read(ROOT, tool(2, error="TimeoutError"), tool(4, end=9), retriever(5, 4, "a"))
    assert sample.retrieval_error is None
    assert sample.retrieved_context_ids == ("a",)


def test_a_retriever_that_failed_beside_one_of_its_name() -> None:
    """A failed retriever is not recovered by one of the same class, which may be another store."""
    failed = retriever(2, 1, error="TimeoutError", name="Store.retrieve")
    sample = read(ROOT, failed, retriever(3, 1, "a", name="Store.retrieve"))
    assert "1 of 2 calls failed (Store: TimeoutError)" in str(sample.retrieval_error)


@pytest.mark.parametrize("error", ["GeneratorExit()", "GraphInterrupt: (Interrupt(value='?'),)"])
def test_a_stream_or_a_graph_that_was_left_early(error: str) -> None:
    """Documents count if a stream was not read to its end, or if a graph asked a human."""
    kind = {"openinference.span.kind": "CHAIN", "input.value": "q"}
    graph = span(2, "graph", 1, end=9, error=error, attributes=kind)
    sample = read(ROOT, graph, retriever(3, 2, "a"))
    assert sample.retrieval_error is None
    assert sample.retrieved_context_ids == ("a",)


def test_a_tool_that_reports_its_failure() -> None:
    """The documents of a tool that raised, and whose failure a message reported, are discarded."""
    message = {"content": "Error: down", "type": "tool", "status": "error"}
    failed = span(
        2,
        "call",
        1,
        end=9,
        attributes={
            "openinference.span.kind": "TOOL",
            "output.value": json.dumps({"type": "tool", "data": message}),
        },
    )
    sample = read(ROOT, failed, retriever(3, 2, "a"))
    assert "Error: down" in str(sample.retrieval_error)
    assert sample.retrieved_contexts is None


@pytest.mark.parametrize("order", ["children first", "parents first"])
def test_times_of_a_coarse_clock(order: str) -> None:
    """Spans with equal times keep the order of their export below their parent."""
    spans = [
        span(1, "chain", start=5, end=5, attributes={"input.value": "q"}),
        retriever(2, 1, "a", "b", start=5, end=5, name="a search"),
        span(
            3,
            "rerank",
            1,
            start=5,
            end=5,
            attributes={
                "openinference.span.kind": "RERANKER",
                **documents("b", prefix="reranker.output_documents"),
                **documents("a", "b", prefix="reranker.input_documents"),
            },
        ),
    ]
    sample = read(*(spans if order == "parents first" else spans[::-1]))
    assert sample.retrieved_context_ids == ("b",)


def test_a_state_hands_on() -> None:
    """A list that a graph's node returned replaces the list under the same key of its input."""

    def state(*ids: str) -> str:
        listed = [{"page_content": f"text {own}", "id": own, "type": "Document"} for own in ids]
        return json.dumps({"documents": listed})

    grade = span(
        4, "grade", 1, attributes={"input.value": state("a", "b"), "output.value": state("a")}
    )
    answer = span(5, "generate", 1, attributes={"input.value": state("a"), "output.value": "42"})
    sample = read(ROOT, retriever(2, 1, "a", "b"), grade, answer)
    assert sample.retrieved_context_ids == ("a",)
    assert [context.id for context in sample.retrieval.retrieved or ()] == ["a", "b"]  # type: ignore[union-attr]


def test_failed_calls_may_be_left_out() -> None:
    """`failed_calls="score"` scores the results of the other calls."""
    spans = [ROOT, retriever(2, 1, "a"), retriever(3, 1, error="TimeoutError")]
    assert read(*spans, failed_calls="score").retrieval_error is None


def test_a_parent_in_another_process_is_no_cut() -> None:
    """A parent span in another service does not make a trace incomplete."""
    assert read(retriever(2, 1, "a", remote_parent=True)).retrieved_context_ids == ("a",)


def prompt(number: int, parent: int, *texts: str, **given: Any) -> Span:
    """Return a model's span with these messages."""
    messages = {f"llm.input_messages.{n}.message.content": text for n, text in enumerate(texts)}
    attributes = {"openinference.span.kind": "LLM", **messages}
    return span(number, "model", parent, attributes=attributes, **given)


def test_what_the_prompt_had() -> None:
    """The models' messages are the prompt, except those of a model inside a retriever."""
    search = retriever(2, 1, "a", "b")
    found = read(ROOT, search, prompt(3, 2, "text b"), prompt(4, 1, "… text a …"))
    assert found.retrieval.read == ("yes", "no")  # type: ignore[union-attr]


@pytest.mark.parametrize("given", [{"dropped": 1}, {}])
def test_a_prompt_that_is_not_whole_says_nothing(given: dict[str, Any]) -> None:
    """A prompt with dropped or hidden messages shows nothing, since it may have every context."""
    text = "text a" if given else "__REDACTED__"
    found = read(ROOT, retriever(2, 1, "a"), prompt(3, 1, text, **given))
    assert found.retrieval.read is None  # type: ignore[union-attr]


QUESTIONS = {
    "why?": "why?",
    '{"query": "why?"}': "why?",
    '{"query_bundle": {"query_str": "why?", "embedding": null}}': "why?",
    '{"messages": [["human", "before"], ["ai", "x"], ["human", "why?"]]}': "why?",
    '{"messages": [{"role": "user", "content": [{"type": "text", "text": "why?"}]}]}': "why?",
    '{"data": {"bm25": {"query": "why?"}, "dense": {"query": "why?"}}}': "why?",
    '{"data": {"bm25": {"query": "why?"}, "dense": {"query": "how?"}}}': None,
    '{"a": 1}': None,
    "__REDACTED__": None,
}


@pytest.mark.parametrize("value", QUESTIONS)
def test_questions(value: str) -> None:
    """The question is the outermost span's input, if that has only one possible question."""
    root = span(1, "chain", attributes={"input.value": value})
    assert read(root, retriever(2, 1, "a")).user_input in (QUESTIONS[value], "q")
    assert read(root).user_input == QUESTIONS[value]


ANSWERS = {
    "42": "42",
    '{"answer": "42", "context": []}': "42",
    '{"type": "ai", "data": {"content": "42", "type": "ai"}}': "42",
    '{"messages": [{"type": "human", "content": "q"}, {"type": "ai", "content": "42"}]}': "42",
    '{"llm": 1}': None,
}


@pytest.mark.parametrize("value", ANSWERS)
def test_answers(value: str) -> None:
    """The answer is the outermost span's output."""
    root = span(1, "chain", attributes={"output.value": value})
    assert read(root, retriever(2, 1, "a")).response == ANSWERS[value]


@pytest.mark.parametrize(("field", "reason"), [("input", "given"), ("output", "returned")])
def test_attributes_of_an_unknown_version(field: str, reason: str) -> None:
    """A trace whose chains all lack their inputs, or their outputs, is unscored."""
    values = {f"{name}.value": "q" for name in ("input", "output") if name != field}
    attributes = {"openinference.span.kind": "CHAIN", **values}
    chains = [span(n, "step", 1, attributes=attributes) for n in (4, 5)]
    sample = read(ROOT, retriever(2, 1, "a"), *chains)
    if field == "output":
        assert f"no span says what it {reason}" in str(sample.retrieval_error)
    else:
        assert f"no span says what it was {reason}" in str(sample.retrieval_error)


def test_tools_of_an_unknown_version() -> None:
    """A tool's span with an input and without an output may be of a failed call."""
    attributes = {"openinference.span.kind": "TOOL", "input.value": "q"}
    tool = span(4, "search", 1, attributes=attributes)
    sample = read(ROOT, retriever(2, 1, "a"), tool)
    assert "no tool says what it returned" in str(sample.retrieval_error)
    returned = span(4, "search", 1, attributes={**attributes, "output.value": "none"})
    assert read(ROOT, retriever(2, 1, "a"), returned).retrieved_context_ids == ("a",)


@pytest.mark.parametrize("name", [name for name in CONVENTIONS if "another" not in name])
def test_another_name_of_an_attribute(name: str) -> None:
    """A retriever's span with a renamed attribute gives the same documents, or is unscored."""
    whole = CONVENTIONS[name]
    names = {key for key in whole.attributes if not key.startswith("retrieval.documents.")}
    documents = ("retrieval.documents", "document.id", "document.content")
    for old in (*names, *documents):
        attributes = {key.replace(old, "new"): value for key, value in whole.attributes.items()}
        sample = read(replace(whole, attributes=attributes))
        unknown = sample.retrieval_error is not None or sample.retrieved_contexts is None
        ids = sample.retrieved_context_ids
        assert unknown or ids in (("a", "b"), (None, None)), (old, ids)


def test_documents_without_new_texts_or_known_ids() -> None:
    """If a step returns documents under new IDs alone, they are unknown."""
    attributes = {
        "input.value": json.dumps([{"page_content": "text a", "id": "a"}]),
        "output.value": "Document(id=new, content=...)",
    }
    nodes = ["<NodeWithScore(node=TextNode(id_=new), score=0.5)>"]
    changed = span(4, "rank", 1, attributes={**attributes, "output.value": json.dumps(nodes)})
    sample = read(ROOT, retriever(2, 1, "a"), changed)
    assert "rank returned documents under new IDs and without texts" in str(sample.retrieval_error)


@pytest.mark.parametrize(
    ("chains", "why"),
    [
        ([{}], None),
        ([{}, {}], "no span says what it was given"),
        ([{}, {}, {}], "no span says what it was given"),
        ([{"input.value": "q"}, {}], "no span says what it returned"),
        ([{"input.value": "q", "output.value": "x"}, {}], None),
        ([{}, {"input.value": "q", "output.value": "x"}], None),
    ],
)
def test_spans_without_inputs_or_outputs(chains: list[dict[str, str]], why: str | None) -> None:
    """Two steps of an instrumentor say what they were given; one of an application need not."""
    kind = {"openinference.span.kind": "CHAIN"}
    spans = [
        span(number, f"step {number}", number - 1 or None, attributes={**kind, **own})
        for number, own in enumerate(chains, start=1)
    ]
    error = read(*spans, retriever(9, len(chains), "a")).retrieval_error
    assert error is None if why is None else why in str(error)
