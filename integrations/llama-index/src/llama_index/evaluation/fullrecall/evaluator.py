"""fullrecall's scorers as a LlamaIndex evaluator."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from textwrap import shorten
from typing import Any

from llama_index.core.evaluation.base import BaseEvaluator
from llama_index.core.prompts.mixin import PromptDictType
from llama_index.core.schema import MetadataMode, QueryBundle

from fullrecall import IdRecall, InputError, ParameterError, Result, Sample, Scorer, Status
from fullrecall.scorers.scorer import check_share
from llama_index.evaluation.fullrecall.inputs import Given, read_call, read_texts
from llama_index.evaluation.fullrecall.mismatch import mismatch
from llama_index.evaluation.fullrecall.nodes import IdKey, NodeReader
from llama_index.evaluation.fullrecall.results import RecallEvaluationResult

_MOST_LISTED = 10
"""How many missed targets the feedback lists; the result has them all."""

_LABEL_WIDTH = 100
"""How much of a missed target's text the feedback shows."""


class RecallEvaluator(BaseEvaluator):
    """Scores what a retriever, query engine or chat engine brought, with any fullrecall scorer.

    - `scorer`: by default `IdRecall()`, which compares IDs and asks no model.
    - `threshold`: the score from which on a result is `passing`; without one, it is None.
    - `id_key`, `metadata_mode`, `offsets`: how nodes are read, as for `contexts`.

    `evaluate`, `evaluate_response` and their async forms take the same and return a
    `RecallEvaluationResult`:

    - `query`: the question.
    - `response`: what the engine returned, streams included (they are not read); the list that
      `retriever.retrieve(…)` returned; or the text of the answer.
    - `contexts` or `retrieved_nodes`: what was retrieved, as texts or as nodes. It replaces the
      response's own source nodes, as do `retrieved_ids`: for measuring before a reranker, say.
    - the references: `expected_ids` (or `reference_context_ids`), `reference_contexts`,
      `reference`, and every other field of a `Sample`, under its other names too.
    - Other keyword arguments are ignored, since LlamaIndex passes some to all evaluators.

    None of the four raises for what cannot be measured, as one exception would cost
    `BatchEvalRunner` the whole batch: the result then has `score=None`, `invalid_result=True`
    and the reason, and `result.status` tells an undefined score from an unscored one. An empty
    list of source nodes is a retrieval that found nothing, and scores 0.0.

    Raises `ParameterError`, naming the parameter, for a configuration that cannot work.
    """

    def __init__(
        self,
        scorer: Scorer | None = None,
        *,
        threshold: float | None = None,
        id_key: IdKey = "node_id",
        metadata_mode: MetadataMode | str = MetadataMode.NONE,
        offsets: bool = False,
    ) -> None:
        scorer = IdRecall() if scorer is None else scorer
        if isinstance(scorer, type) or not isinstance(scorer, Scorer):
            raise ParameterError(f"scorer is a scorer such as IdRecall(), got {scorer!r}")
        self.scorer = scorer
        self.threshold = None if threshold is None else check_share(threshold, "threshold")
        self._reader = NodeReader(id_key, metadata_mode, offsets=offsets)

    def evaluate(
        self,
        query: str | QueryBundle | None = None,
        response: object = None,
        contexts: Sequence[object] | None = None,
        **fields: Any,
    ) -> RecallEvaluationResult:
        """Return the result; needs no event loop, and works inside a running one."""
        given, failed = self._read(query, response, contexts, fields)
        return self._answer(given, failed or self._score(given.sample))

    async def aevaluate(
        self,
        query: str | QueryBundle | None = None,
        response: object = None,
        contexts: Sequence[object] | None = None,
        **fields: Any,
    ) -> RecallEvaluationResult:
        """Return the result; awaits the scorer's `ascore`, or runs its `score` in a thread."""
        given, failed = self._read(query, response, contexts, fields)
        return self._answer(given, failed or await self._ascore(given.sample))

    def evaluate_response(
        self, query: str | QueryBundle | None = None, response: object = None, **fields: Any
    ) -> RecallEvaluationResult:
        """Return the result; the same as `evaluate`, which takes responses too."""
        return self.evaluate(query, response, **fields)

    async def aevaluate_response(
        self, query: str | QueryBundle | None = None, response: object = None, **fields: Any
    ) -> RecallEvaluationResult:
        """Return the result; the same as `aevaluate`, which takes responses too."""
        return await self.aevaluate(query, response, **fields)

    def _get_prompts(self) -> PromptDictType:
        return {}

    def _update_prompts(self, prompts_dict: PromptDictType) -> None:
        """Do nothing: there are no prompts."""

    def _score(self, sample: Sample) -> Result:
        try:
            return self.scorer.score(sample)
        except Exception as error:  # noqa: BLE001 - whatever a user's scorer raises
            return self._raised(error)

    async def _ascore(self, sample: Sample) -> Result:
        ascore = getattr(self.scorer, "ascore", None)
        try:
            # A scorer of the user's own may have `score` alone, and wait for a model in it.
            scoring = ascore(sample) if ascore else asyncio.to_thread(self.scorer.score, sample)
            result: Result = await scoring
        except Exception as error:  # noqa: BLE001 - whatever a user's scorer raises
            return self._raised(error)
        return result

    def _raised(self, error: Exception) -> Result:
        return self._unscored(f"{self.scorer.method.name} raised {type(error).__name__}: {error}")

    def _unscored(self, problem: str) -> Result:
        return Result(self.scorer.method, Status.UNSCORED, note=problem)

    def _read(
        self, query: object, response: object, contexts: object, named: dict[str, Any]
    ) -> tuple[Given, Result | None]:
        """Return what was given, and the result that says so where it is no sample."""
        try:
            return read_call(self._reader, query, response, contexts, named), None
        except InputError as error:
            problem = str(error)
        except Exception as error:  # noqa: BLE001 - nodes may be of the user's own class
            problem = f"{type(error).__name__}: {error}"
        return Given(read_texts(query, response)), self._unscored(f"invalid input: {problem}")

    def _answer(self, given: Given, result: Result) -> RecallEvaluationResult:
        """Return `result` in LlamaIndex's form, with what may help in its note."""
        scored = result.status is Status.SCORED
        notes = [result.note]
        if given.nodes and not result.score:
            notes.append(mismatch(self._reader, given.sample, given.nodes))
        if given.unused and not scored:
            notes.append(f"not used: {', '.join(given.unused)}")
        result = replace(result, note="; ".join(filter(None, notes)))
        score, sample = result.score, given.sample
        contexts = sample.retrieved_contexts
        return RecallEvaluationResult(
            query=sample.user_input,
            contexts=None if contexts is None else [context.text or "" for context in contexts],
            response=sample.response,
            passing=None if score is None or self.threshold is None else score >= self.threshold,
            feedback=_feedback(result),
            score=score,
            invalid_result=not scored,
            invalid_reason=None if scored else result.reason,
            result=result,
        )


def _feedback(result: Result) -> str:
    missed = [shorten(label, _LABEL_WIDTH, placeholder="…") for label in result.missed]
    if result.status is not Status.SCORED or not missed:
        return result.reason
    listed = ", ".join(missed[:_MOST_LISTED])
    more = len(missed) - _MOST_LISTED
    return f"{result.reason}; missed: {listed}{f' and {more} more' if more > 0 else ''}"
