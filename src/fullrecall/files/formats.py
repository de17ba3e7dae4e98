"""A table of other tools' formats: the paths at which each has a sample's fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from fullrecall.errors import InputError

RawRow: TypeAlias = Mapping[str, Any]


class Format(NamedTuple):
    """How a tool writes samples.

    - `needs`: the columns by which a row is known: of names with bars between them, one is enough.
    - `fields`: the path of each field; of several with ` | ` between them, the first in the row.
    - `left_out`: columns that are not kept as metadata, such as all paragraphs of a haystack.
    - `rows`: the path of the rows, if they are not the file's own rows.
    - `spread`: returns the rows of a record, for a file that paths cannot describe.
    - `writes`: the path at which `write` puts each field; None where the tool reads no such file.
    - `constants`: columns that each written row has.
    - `groups`: whether `writes` puts reference IDs as lists of alternatives.
    """

    needs: str
    fields: Mapping[str, str] = MappingProxyType({})
    left_out: Sequence[str] = ()
    rows: str | None = None
    spread: Callable[[RawRow], Iterator[RawRow]] | None = None
    writes: Mapping[str, str] | None = None
    constants: RawRow = MappingProxyType({})
    groups: bool = False

    def knows(self, row: RawRow) -> bool:
        """Return whether a row is of this format, by its columns."""
        return all(any(name in row for name in each.split("|")) for each in self.needs.split())


def _pairs(record: RawRow) -> Iterator[RawRow]:
    """Yield the questions of mappings by ID: those of LlamaIndex's pairs, or of BEIR's loader."""
    queries, judged = record["queries"], record.get("relevant_docs", record.get("qrels"))
    if not isinstance(queries, Mapping) or not isinstance(judged, Mapping):
        raise InputError("queries and their documents must be objects by ID", field="queries")
    for name, question in queries.items():
        yield {"id": name, "user_input": question, "expected_ids": judged.get(name, [])}


_CONVERSATION = "conversationTurns[0]"
_PASSAGES = f"{_CONVERSATION}.output.retrievedPassages"
_JUDGED = "{id: document_id, grade: query_relevance_label}"
_BEDROCK = {
    "user_input": f"{_CONVERSATION}.prompt.content[0].text",
    "reference": f"{_CONVERSATION}.referenceResponses[0].content[0].text",
    "response": f"{_CONVERSATION}.output.text",
    "retrieved_contexts": f"{_PASSAGES}.retrievalResults[].content.text",
    "reference_contexts": f"{_CONVERSATION}.referenceContexts[].content[].text",
}
_AUTORAG = {"id": "qid", "user_input": "query", "reference_context_ids": "retrieval_gt"}
_RAGAS_01 = {
    "user_input": "question",
    "reference": "ground_truth",
    "reference_contexts": "contexts",
}
_RAGAS = (
    *("user_input", "reference", "reference_contexts", "reference_context_ids"),
    *("retrieved_contexts", "retrieved_context_ids", "response"),
)
_OWN = (*_RAGAS[1:4], "reference_claims", "reference_entities", "forbidden_ids", "superseded")
_MLFLOW = {
    "reference": "expectations.expected_response",
    "reference_claims": "expectations.expected_facts",
    "reference_context_ids": "expectations.expected_retrieved_context[].doc_uri",
}
_REQUESTS = {
    "id": "request_id",
    "reference": "expected_response",
    "reference_claims": "expected_facts",
    "reference_context_ids": "expected_retrieved_context[].doc_uri",
}
_AZURE = {
    "user_input": "query",
    "response": "response",
    "reference": "ground_truth",
    "reference_context_ids": f"retrieval_ground_truth[].{_JUDGED}",
    "retrieved_context_ids": "retrieved_documents[].document_id",
}
_TRULENS = {"id": "query_id", "user_input": "query", "reference": "expected_response"}
_DEEPEVAL = {
    "id": "name",
    "user_input": "input",
    "reference": "expected_output",
    "response": "actual_output",
    "reference_contexts": "context",
    "retrieved_contexts": "retrieval_context",
}
_SPAN = "{text: answer, source: file_path, start: span[0], end: span[1]}"

FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "hotpotqa": Format(
            "question supporting_facts context",
            {
                "id": "_id | id",
                "user_input": "question",
                "reference": "answer",
                "reference_context_ids": "supporting_facts.title | supporting_facts[][0]",
            },
            left_out=("context", "evidences"),
        ),
        "musique": Format(
            "question question_decomposition paragraphs",
            {
                "id": "id",
                "user_input": "question",
                "reference": "answer",
                "answerable": "answerable",
                "reference_context_ids": "paragraphs[is_supporting].title",
            },
            left_out=("paragraphs",),
        ),
        "locomo": Format(
            "sample_id conversation qa",
            {"user_input": "question", "reference": "answer", "reference_context_ids": "evidence"},
            rows="qa[]",
        ),
        "longmemeval": Format(
            "question answer_session_ids haystack_sessions",
            {
                "id": "question_id",
                "user_input": "question",
                "reference": "answer",
                "reference_context_ids": "answer_session_ids",
                "answerable": "question_id!=*_abs",
            },
            left_out=("haystack_sessions", "haystack_session_ids", "haystack_dates"),
        ),
        "financebench": Format(
            "financebench_id question evidence",
            {
                "id": "financebench_id",
                "user_input": "question",
                "reference": "answer",
                "reference_context_ids": "evidence[].{doc_name}#{evidence_page_num}",
                "reference_contexts": "evidence[].evidence_text",
            },
        ),
        "multihop_rag": Format(
            "query evidence_list question_type",
            {
                "user_input": "query",
                "reference": "answer",
                "reference_context_ids": "evidence_list[].url",
                "reference_contexts": "evidence_list[].fact",
            },
        ),
        "legalbench_rag": Format(
            "query snippets",
            {"user_input": "query", "reference_contexts": f"snippets[].{_SPAN}"},
            writes={"user_input": "query", "reference_contexts": f"snippets[].{_SPAN}"},
        ),
        "autorag": Format(
            "qid query retrieval_gt generation_gt",
            {**_AUTORAG, "reference": "generation_gt[0]"},
            writes={**_AUTORAG, "reference": "generation_gt[0]"},
            constants={"generation_gt": []},
            groups=True,
        ),
        "ragas_0.1": Format(  # generated test sets: there `contexts` are the references
            "question contexts ground_truth evolution_type",
            _RAGAS_01,
            writes=_RAGAS_01,
            constants={"evolution_type": "simple", "ground_truth": "", "contexts": []},
        ),
        "mlflow": Format(
            "inputs expectations",
            {
                "user_input": "inputs.question | inputs.query | inputs.messages | inputs",
                **_MLFLOW,
            },
            writes={"user_input": "inputs.question", **_MLFLOW},
            constants={"expectations": {}},
        ),
        "mlflow_requests": Format(
            "request expected_response|expected_retrieved_context|expected_facts",
            {"user_input": "request.messages | request", **_REQUESTS},
            writes={"user_input": "request", **_REQUESTS},
        ),
        "langfuse": Format(
            "input expectedOutput|expected_output datasetId|datasetName|sourceTraceId",
            left_out=(
                *("status", "datasetId", "datasetName", "sourceTraceId"),
                *("sourceObservationId", "createdAt", "updatedAt"),
            ),
            writes={
                "id": "id",
                "user_input": "input.question",
                **{name: f"expectedOutput.{name}" for name in _OWN},
                "metadata": "metadata",
            },
            constants={"datasetName": "fullrecall", "expectedOutput": {}},
            groups=True,
        ),
        "bedrock": Format("conversationTurns", _BEDROCK, writes=_BEDROCK),
        "azure": Format("retrieval_ground_truth retrieved_documents", _AZURE, writes=_AZURE),
        "trulens": Format(
            "query expected_chunks",
            {**_TRULENS, "reference_contexts": "expected_chunks[].text | expected_chunks"},
            writes={**_TRULENS, "reference_contexts": "expected_chunks[].text"},
            constants={"expected_chunks": []},
        ),
        "promptfoo": Format(
            "vars assert",
            {
                "user_input": "vars.query | vars.question | vars.input | vars.prompt",
                "reference": "assert[type=context-recall].value",
            },
            writes={
                "user_input": "vars.query",
                "reference": "assert[type=context-recall].value",
                "metadata": "metadata",
            },
        ),
        "deepeval": Format(
            "input expected_output|actual_output context|retrieval_context|additional_metadata",
            {**_DEEPEVAL, "metadata": "metadata | additional_metadata"},
            left_out=(
                "tools_called",
                "expected_tools",
                "comments",
                "custom_column_key_values",
                "source_file",
            ),
            writes={**_DEEPEVAL, "metadata": "additional_metadata"},
            constants={"expected_output": None, "context": []},
        ),
        "langsmith": Format(
            "inputs outputs",
            writes={
                "user_input": "inputs.question",
                **{name: f"outputs.{name}" for name in _OWN},
                "metadata": "metadata",
            },
            constants={"outputs": {}},
            groups=True,
        ),
        "ragas": Format("user_input synthesizer_name", writes={name: name for name in _RAGAS}),
        "llama_index_pairs": Format("queries corpus relevant_docs|qrels", spread=_pairs),
    }
)
"""The formats by name, in the order in which a row is looked at."""


def format_of(row: RawRow) -> str | None:
    """Return the name of the format whose columns a row has; None for any other row."""
    return next((name for name, form in FORMATS.items() if form.knows(row)), None)
