"""A table of other tools' formats: the paths at which each has a sample's fields."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

RawRow: TypeAlias = Mapping[str, Any]


class Format(NamedTuple):
    """The columns in which a tool writes samples.

    - `needs`: the columns by which a row is recognized, separated by blanks. If names are joined by
      `|`, one of them is enough.
    - `fields`: the path of each field. If paths are joined by ` | `, the first path at which a row
      has a value is used.
    - `left_out`: columns that are not kept as metadata, such as all distractor paragraphs.
    - `writes`: the path at which `write` puts each field; None if `write` does not write the
      format.
    - `constants`: columns that each written row has, with their values.
    - `groups`: whether the format can hold reference IDs as lists of alternatives.
    """

    needs: str
    fields: Mapping[str, str] = MappingProxyType({})
    left_out: Sequence[str] = ()
    writes: Mapping[str, str] | None = None
    constants: RawRow = MappingProxyType({})
    groups: bool = False

    def knows(self, row: RawRow) -> bool:
        """Return whether a row is of this format, by its columns."""
        return all(any(name in row for name in each.split("|")) for each in self.needs.split())


_TABLE = """
hotpotqa: question supporting_facts context
  id < _id | id
  user_input < question
  reference < answer
  reference_context_ids < supporting_facts.title | supporting_facts[][0]
  left_out: context evidences
musique: question question_decomposition paragraphs
  id < id
  user_input < question
  reference < answer
  answerable < answerable
  reference_context_ids < paragraphs[is_supporting].title
  left_out: paragraphs
longmemeval: question answer_session_ids haystack_sessions
  id < question_id
  user_input < question
  reference < answer
  reference_context_ids < answer_session_ids
  answerable < question_id!=*_abs
  left_out: haystack_sessions haystack_session_ids haystack_dates
financebench: financebench_id question evidence
  id < financebench_id
  user_input < question
  reference < answer
  reference_context_ids < evidence[].{doc_name}#{evidence_page_num}
  reference_contexts < evidence[].evidence_text
legalbench_rag: query snippets
  user_input = query
  reference_contexts = snippets[].{text: answer, source: file_path, start: span[0], end: span[1]}
autorag: qid query retrieval_gt generation_gt
  id = qid
  user_input = query
  reference_context_ids = retrieval_gt
  reference = generation_gt[0]
  constants: {"generation_gt": []}
  groups: yes
ragas_0.1: question contexts ground_truth evolution_type
  user_input = question
  reference = ground_truth
  reference_contexts = contexts
  constants: {"evolution_type": "simple", "ground_truth": "", "contexts": []}
mlflow: inputs expectations
  user_input = inputs.question | inputs.query | inputs.messages | inputs
  reference = expectations.expected_response
  reference_claims = expectations.expected_facts
  reference_context_ids = expectations.expected_retrieved_context[].doc_uri
  constants: {"expectations": {}}
mlflow_requests: request expected_response|expected_retrieved_context|expected_facts
  user_input < request.messages | request
  user_input > request
  id = request_id
  reference = expected_response
  reference_claims = expected_facts
  reference_context_ids = expected_retrieved_context[].doc_uri
langfuse: input expectedOutput|expected_output datasetId|datasetName|sourceTraceId
  id > id
  user_input > input.question
  reference reference_contexts reference_context_ids reference_claims > expectedOutput.*
  reference_entities forbidden_ids superseded > expectedOutput.*
  metadata > metadata
  left_out: status datasetId datasetName sourceTraceId sourceObservationId createdAt updatedAt
  constants: {"datasetName": "fullrecall", "expectedOutput": {}}
  groups: yes
bedrock: conversationTurns
  user_input = conversationTurns[0].prompt.content[0].text
  reference = conversationTurns[0].referenceResponses[0].content[0].text
  response = conversationTurns[0].output.text
  retrieved_contexts = conversationTurns[0].output.retrievedPassages.retrievalResults[].content.text
  reference_contexts = conversationTurns[0].referenceContexts[].content[].text
azure: retrieval_ground_truth retrieved_documents
  user_input = query
  response = response
  reference = ground_truth
  reference_context_ids = retrieval_ground_truth[].{id: document_id, grade: query_relevance_label}
  retrieved_context_ids = retrieved_documents[].document_id
trulens: query expected_chunks
  id > query_id
  user_input > query
  reference > expected_response
  reference_contexts > expected_chunks[].text
  constants: {"expected_chunks": []}
promptfoo: vars assert
  user_input = vars.query | vars.question | vars.input | vars.prompt
  reference = assert[type=context-recall].value
  metadata > metadata
deepeval: input expected_output|actual_output context|retrieval_context|additional_metadata
  id = name
  user_input = input
  reference = expected_output
  response = actual_output
  reference_contexts = context
  retrieved_contexts = retrieval_context
  metadata < metadata | additional_metadata
  metadata > additional_metadata
  left_out: tools_called expected_tools comments custom_column_key_values source_file
  constants: {"expected_output": null, "context": []}
langsmith: inputs outputs
  user_input > inputs.question
  reference reference_contexts reference_context_ids reference_claims > outputs.*
  reference_entities forbidden_ids superseded > outputs.*
  metadata > metadata
  constants: {"outputs": {}}
  groups: yes
ragas: user_input synthesizer_name
  user_input reference reference_contexts reference_context_ids > *
  retrieved_contexts retrieved_context_ids response > *
"""
"""The formats, in the order in which they are tried.

The first line of a format has its name and its `needs`. Each line below it has fields and the path
at which they are read (`<`), written (`>`) or both (`=`); `*` in a path is the field's name. A line
with `:` has another part of `Format`.
"""


def _format(needs: str, lines: str) -> Format:
    """Return the format that some lines of `_TABLE` describe."""
    read: dict[str, str] = {}
    written: dict[str, str] = {}
    others: dict[str, str] = {}
    for names, kind, path in re.findall(r"^  ([\w ]+?) ?([<>=:]) (.+)$", lines, re.MULTILINE):
        for field in names.split():
            if kind in "<=":
                read[field] = path
            if kind in ">=":
                written[field] = path.partition(" | ")[0].replace("*", field)
            if kind == ":":
                others[field] = path
    return Format(
        needs,
        read,
        left_out=tuple(others.get("left_out", "").split()),
        writes=written or None,
        constants=json.loads(others.get("constants", "{}")),
        groups="groups" in others,
    )


FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        name: _format(needs, lines)
        for name, needs, lines in re.findall(r"^(\S+): (.+)\n((?:  .+\n)*)", _TABLE, re.MULTILINE)
    }
)
"""The formats by name, in the order in which they are tried."""


def format_of(row: RawRow) -> str | None:
    """Return the name of the format whose columns a row has; None for any other row."""
    return next((name for name, form in FORMATS.items() if form.knows(row)), None)
