"""fullrecall's scorers as a LlamaIndex evaluator."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from llama_index.core.evaluation.base import BaseEvaluator
from llama_index.core.prompts.mixin import PromptDictType
from llama_index.core.schema import MetadataMode, QueryBundle
from llama_index.core.storage.docstore.types import BaseDocumentStore

from fullrecall import Context, Sample
from fullrecall._util.parameters import check_share
from fullrecall.diagnosis import id_hint
from fullrecall.errors import InputError
from fullrecall.measures import Measure
from fullrecall.observe import ToolDocuments, brief
from fullrecall.run.alone import SingleScoring
from fullrecall.run.evaluate import CorpusLike
from fullrecall.samples.id_keys import IdKey
from fullrecall.samples.retrieval import FailedCalls, View
from fullrecall.scorers import Result, Scorer, Status
from fullrecall.show.text import first_of
from llama_index.evaluation.fullrecall.inputs import CallInput, read_call, read_texts
from llama_index.evaluation.fullrecall.record import LlamaIndexReading
from llama_index.evaluation.fullrecall.results import RecallEvaluationResult

_LISTED = 10, 100, ", "
"""The most missed targets that the feedback lists, the most characters of each, and the separator.

The result has all missed targets.
"""

_ContextsKey: TypeAlias = tuple[tuple[str | None, str | None], ...] | None
"""The IDs and texts of a list of contexts: lists with the same key have the same score."""


class RecallEvaluator(BaseEvaluator):
    """Score the contexts retrieved by a retriever, an engine or an agent, with any scorer.

        RecallEvaluator(IdRecall(), Recall @ 5, nDCG @ 10)

    - `scorer`: by default `IdRecall()`, which compares IDs and asks no model.
    - `measures`: the measures to report. The first is the `score` of the results, and all are in
      their `scores`. Default: the scorer's own, recall over all retrieved contexts.
    - `threshold`: the lowest score that is `passing`; without one, `passing` is None.
    - `score_stages`: whether the lists before the scored one are scored too, see below.
    - `view`: the scored list of a call's record: "contexts", the final one; "retrieved", which
      includes contexts that a later step dropped; or "read", the contexts in the model's prompt.
    - `corpus`: the corpus that the retriever searches, as for `fullrecall.evaluate`: a sample
      whose label is stale in it is unscored.
    - `id_key`, `metadata_mode`, `expand`: those of `contexts`. `failed_calls`, `other_tools`,
      `tool_documents`: those of `observed`.

    `evaluate`, `evaluate_response` and their async forms take the same and return a
    `RecallEvaluationResult`:

    - `query`: the question.
    - `response`: the response of an engine or an agent, streams included (they are not read); a
      `LlamaIndexCapture`; the list that `retriever.retrieve(…)` returned; or the answer's text.
    - `contexts` or `retrieved_nodes`: the retrieved contexts, as texts or as nodes. They replace
      those of the response, as do `retrieved_ids`.
    - the references: `expected_ids` (or `reference_context_ids`), `reference_contexts`,
      `reference`, and every other field of a `Sample`, under its other names too.
    - Other keyword arguments are ignored, since LlamaIndex passes some to all evaluators.

    The response of an engine that was asked in `with capture_retrievals():` carries the record of
    its call. The record is scored, not the source nodes, which may be rewritten or written by the
    engine. `answer.stages` then has the results of the lists before the final one, so that targets
    dropped by a reranker are seen; a judge is asked once more for each different list.

    Without a record, an empty list of source nodes counts as an empty retrieval only if
    LlamaIndex's own synthesizers and chat engines say so ("Empty Response"). Any other response
    with an empty list is unscored, since an engine that names no sources has the same empty list.
    For an agent's output, the nodes that its tools returned are scored.

    None of the four methods raises for a sample that cannot be measured, because one exception
    would make `BatchEvalRunner` lose the whole batch. The result then has `score=None`,
    `invalid_result=True` and the reason, and `result.status` distinguishes an undefined score from
    an unscored one.

    LlamaIndex's `get_prompts` returns no prompts. `LLMJudge(…, prompts=…)` sets a judge's prompts.

    Raises `ParameterError`, naming the parameter, for a configuration that cannot work.
    """

    def __init__(
        self,
        scorer: Scorer | None = None,
        /,
        *measures: Measure,
        threshold: float | None = None,
        score_stages: bool = True,
        view: View = "contexts",
        corpus: CorpusLike | None = None,
        id_key: IdKey = "node_id",
        metadata_mode: MetadataMode | str = MetadataMode.NONE,
        expand: BaseDocumentStore | None = None,
        failed_calls: FailedCalls = "unscored",
        other_tools: Collection[str] = (),
        tool_documents: ToolDocuments = None,
    ) -> None:
        self._scoring = SingleScoring.of(scorer, measures, view, corpus)
        self.scorer, self.measures = self._scoring.scorer, self._scoring.measures
        self.threshold = None if threshold is None else check_share(threshold, "threshold")
        self._score_stages = score_stages
        self._reading = LlamaIndexReading(
            id_key=id_key,
            metadata_mode=metadata_mode,
            expand=expand,
            failed_calls=failed_calls,
            other_tools=other_tools,
            tool_documents=tool_documents,
        )

    def evaluate(
        self,
        query: str | QueryBundle | None = None,
        response: object = None,
        contexts: Sequence[object] | None = None,
        **fields: Any,
    ) -> RecallEvaluationResult:
        """Return the result; needs no event loop, and works inside a running one."""
        call_input = self._input(query, response, contexts, fields)
        lists = self._lists(call_input)
        results = {key: self._scoring.score(sample) for key, sample in lists.items()}
        return self._answer(call_input, results)

    async def aevaluate(
        self,
        query: str | QueryBundle | None = None,
        response: object = None,
        contexts: Sequence[object] | None = None,
        **fields: Any,
    ) -> RecallEvaluationResult:
        """Return the result; awaits the scorer's `ascore`, or runs its `score` in a thread."""
        call_input = self._input(query, response, contexts, fields)
        # Score the lists in sequence: the first request splits the reference into claims, which
        # later lists reuse.
        lists = self._lists(call_input)
        results = {key: await self._scoring.ascore(sample) for key, sample in lists.items()}
        return self._answer(call_input, results)

    evaluate_response = evaluate
    aevaluate_response = aevaluate

    def _get_prompts(self) -> PromptDictType:
        return {}

    def _update_prompts(self, prompts_dict: PromptDictType) -> None:
        """Change nothing: a judge's prompts are set by `LLMJudge(…, prompts=…)`."""

    def _input(
        self, query: object, response: object, contexts: object, named: dict[str, Any]
    ) -> CallInput:
        """Return the sample of one evaluation, or the reason why its input is not a sample."""
        try:
            call_input = read_call(
                self._reading, query=query, response=response, contexts=contexts, named=named
            )
        except Exception as error:  # noqa: BLE001 - nodes may be of the user's own class
            problem = str(error) if isinstance(error, InputError) else brief(error)
            return CallInput(read_texts(query, response), problem=f"invalid input: {problem}")
        return call_input._replace(sample=self._scoring.viewed(call_input.sample))

    def _lists(self, call_input: CallInput) -> dict[_ContextsKey, Sample]:
        """Return the samples to score, by `_key` of their contexts.

        They are the sample itself, and the sample at each stage that has other contexts.
        """
        sample = call_input.sample
        if call_input.problem is not None:
            return {}
        lists = {_key(sample.retrieved_contexts): sample}
        for stage in sample.stages if self._score_stages else ():
            if _key(stage.contexts) not in lists:
                lists[_key(stage.contexts)] = sample.at_stage(stage.name)
        return lists

    def _answer(
        self, call_input: CallInput, results: Mapping[_ContextsKey, Result]
    ) -> RecallEvaluationResult:
        """Return the results in LlamaIndex's form, with hints on the sample in the note."""
        sample = call_input.sample
        contexts = sample.retrieved_contexts
        unscored = Result(self.scorer.method, Status.UNSCORED, note=call_input.problem or "")
        result = results.get(_key(contexts), unscored)
        stages = {
            stage.name: results[_key(stage.contexts)]
            for stage in (sample.stages if self._score_stages else ())
            if _key(stage.contexts) in results
        }
        score = result[self.measures[0]]
        scored = score is not None
        notes = [result.note]
        if call_input.nodes and not result.score:
            other_ids = self._reading.other_ids(call_input.nodes)
            notes.append(id_hint(sample, other_ids) or "")
        if not call_input.is_recorded and result.status is Status.SCORED and result.missed:
            notes.append("read from the response's nodes, not recorded")
        if call_input.unused and not scored:
            notes.append(f"not used: {', '.join(call_input.unused)}")
        result = replace(result, note="; ".join(filter(None, notes)))
        return RecallEvaluationResult(
            query=sample.user_input,
            contexts=None if contexts is None else [context.text or "" for context in contexts],
            response=sample.response,
            passing=None if score is None or self.threshold is None else score >= self.threshold,
            feedback="; ".join(_feedback(result, stages)),
            score=score,
            invalid_result=not scored,
            invalid_reason=None if scored else result.reason or "the measure is undefined",
            result=result,
            sample=sample,
            scores={self.scorer.method.label(each): result[each] for each in self.measures},
            stages=stages,
        )


def _key(contexts: Sequence[Context] | None) -> _ContextsKey:
    """Return the IDs and texts of contexts, but not the scores, which do not change recall."""
    return None if contexts is None else tuple((each.id, each.text) for each in contexts)


def _feedback(result: Result, stages: Mapping[str, Result]) -> Iterator[str]:
    """Yield the reason, the missed targets, and the missed targets that an earlier stage found."""
    yield result.reason
    if result.status is not Status.SCORED or not result.missed:
        return
    yield f"missed: {first_of(result.missed, *_LISTED)}"
    before = [each for each in stages.values() if each.status is Status.SCORED]
    lost = [label for label in result.missed if any(label not in each.missed for each in before)]
    if lost:
        yield f"retrieved, then dropped: {first_of(lost, *_LISTED)}"
