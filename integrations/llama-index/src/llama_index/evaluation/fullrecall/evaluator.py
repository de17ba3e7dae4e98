"""fullrecall's scorers as a LlamaIndex evaluator."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from textwrap import shorten
from typing import Any, TypeAlias, get_args

from llama_index.core.evaluation.base import BaseEvaluator
from llama_index.core.prompts.mixin import PromptDictType
from llama_index.core.schema import MetadataMode, QueryBundle
from llama_index.core.storage.docstore.types import BaseDocumentStore

from fullrecall import Context, IdRecall, InputError, ParameterError, Result, Sample, Scorer, Status
from fullrecall.scorers.scorer import check_share
from llama_index.evaluation.fullrecall.attaching import Which
from llama_index.evaluation.fullrecall.inputs import Given, read_call, read_texts
from llama_index.evaluation.fullrecall.mismatch import mismatch
from llama_index.evaluation.fullrecall.nodes import IdKey, NodeReader
from llama_index.evaluation.fullrecall.prompts import templates, with_templates
from llama_index.evaluation.fullrecall.results import RecallEvaluationResult

_MOST_LISTED = 10
"""How many missed targets the feedback lists; the result has them all."""

_LABEL_WIDTH = 100
"""How much of a missed target's text the feedback shows."""


_Key: TypeAlias = tuple[tuple[str | None, str | None], ...] | None
"""What two lists of contexts have in common that are scored alike."""


class RecallEvaluator(BaseEvaluator):
    """Scores what a retriever, query engine or chat engine brought, with any fullrecall scorer.

    - `scorer`: by default `IdRecall()`, which compares IDs and asks no model.
    - `threshold`: the score from which on a result is `passing`; without one, it is None.
    - `which`: the list that is scored. "final" is what the answer was made from, after reranking
      and filtering; "retrieved" what the retrievers brought before, known of attached engines.
    - `stages`: whether the lists before that one are scored too, see below.
    - `id_key`, `metadata_mode`, `offsets`, `expand`: how nodes are read, as for `contexts`.

    `evaluate`, `evaluate_response` and their async forms take the same and return a
    `RecallEvaluationResult`:

    - `query`: the question.
    - `response`: what the engine returned, streams included (they are not read); a `Capture`; the
      list that `retriever.retrieve(…)` returned; or the text of the answer.
    - `contexts` or `retrieved_nodes`: what was retrieved, as texts or as nodes. It replaces what
      the response carries, as do `retrieved_ids`.
    - the references: `expected_ids` (or `reference_context_ids`), `reference_contexts`,
      `reference`, and every other field of a `Sample`, under its other names too.
    - Other keyword arguments are ignored, since LlamaIndex passes some to all evaluators.

    The response of an engine that was attached to (`attach`) carries what was seen of its call,
    and that is scored, not its source nodes: those may be rewritten, or the engine's own words.
    `answer.stages` then has the results of the lists before the final one, so that what a
    reranker lost is seen; a scorer that asks a model asks it once more for each list that
    differs. Without that, an empty list of source nodes is a retrieval that found nothing where
    LlamaIndex's own synthesizers and chat engines say so ("Empty Response"); from any other
    response it is unscored, since an engine that names no sources has the same empty list.

    None of the four raises for what cannot be measured, as one exception would cost
    `BatchEvalRunner` the whole batch: the result then has `score=None`, `invalid_result=True`
    and the reason, and `result.status` tells an undefined score from an unscored one.

    `get_prompts` shows the prompts of the scorer's judge, and `update_prompts` changes what is
    asked; without a judge that asks a model there are none.

    Raises `ParameterError`, naming the parameter, for a configuration that cannot work.
    """

    def __init__(
        self,
        scorer: Scorer | None = None,
        *,
        threshold: float | None = None,
        which: Which = "final",
        stages: bool = True,
        id_key: IdKey = "node_id",
        metadata_mode: MetadataMode | str = MetadataMode.NONE,
        offsets: bool = False,
        expand: BaseDocumentStore | None = None,
    ) -> None:
        scorer = IdRecall() if scorer is None else scorer
        if isinstance(scorer, type) or not isinstance(scorer, Scorer):
            raise ParameterError(f"scorer is a scorer such as IdRecall(), got {scorer!r}")
        self.scorer = scorer
        self.threshold = None if threshold is None else check_share(threshold, "threshold")
        if which not in get_args(Which):
            raise ParameterError(f'which is "final" or "retrieved", got {which!r}')
        self._which = which
        self._stages = stages
        self._reader = NodeReader(id_key, metadata_mode, offsets=offsets, expand=expand)

    def evaluate(
        self,
        query: str | QueryBundle | None = None,
        response: object = None,
        contexts: Sequence[object] | None = None,
        **fields: Any,
    ) -> RecallEvaluationResult:
        """Return the result; needs no event loop, and works inside a running one."""
        given, failed = self._read(query, response, contexts, fields)
        if failed is not None:
            return self._answer(given, {_key(given.sample.retrieved_contexts): failed})
        lists = self._lists(given.sample)
        return self._answer(given, {key: self._score(sample) for key, sample in lists.items()})

    async def aevaluate(
        self,
        query: str | QueryBundle | None = None,
        response: object = None,
        contexts: Sequence[object] | None = None,
        **fields: Any,
    ) -> RecallEvaluationResult:
        """Return the result; awaits the scorer's `ascore`, or runs its `score` in a thread."""
        given, failed = self._read(query, response, contexts, fields)
        if failed is not None:
            return self._answer(given, {_key(given.sample.retrieved_contexts): failed})
        lists = self._lists(given.sample)
        # One after the other: what the first has split into claims, the others take over.
        results = {key: await self._ascore(sample) for key, sample in lists.items()}
        return self._answer(given, results)

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
        return dict(templates(self.scorer))

    def _update_prompts(self, prompts_dict: PromptDictType) -> None:
        known = templates(self.scorer)
        unknown = sorted(prompts_dict.keys() - known.keys())
        if unknown:
            has = f"the prompts are {', '.join(known)}" if known else "its scorer asks no model"
            warnings.warn(f"no prompt {', '.join(map(repr, unknown))}: {has}", stacklevel=3)
        changed = {name: prompts_dict[name] for name in known if name in prompts_dict}
        self.scorer = with_templates(self.scorer, changed)

    def _lists(self, sample: Sample) -> dict[_Key, Sample]:
        """Return the sample, and as if it had ended at a stage, each list that differs once."""
        lists = {_key(sample.retrieved_contexts): sample}
        for stage in sample.stages if self._stages else ():
            if _key(stage.contexts) not in lists:
                lists[_key(stage.contexts)] = sample.at_stage(stage.name)
        return lists

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
            given = read_call(
                self._reader,
                self._which,
                query=query,
                response=response,
                contexts=contexts,
                named=named,
            )
        except InputError as error:
            problem = str(error)
        except Exception as error:  # noqa: BLE001 - nodes may be of the user's own class
            problem = f"{type(error).__name__}: {error}"
        else:
            return given, None
        return Given(read_texts(query, response)), self._unscored(f"invalid input: {problem}")

    def _answer(self, given: Given, results: Mapping[_Key, Result]) -> RecallEvaluationResult:
        """Return the results in LlamaIndex's form, with what may help in the note."""
        sample = given.sample
        contexts = sample.retrieved_contexts
        result = results[_key(contexts)]
        stages = {
            stage.name: results[_key(stage.contexts)]
            for stage in (sample.stages if self._stages else ())
            if _key(stage.contexts) in results
        }
        scored = result.status is Status.SCORED
        notes = [result.note]
        if given.nodes and not result.score:
            notes.append(mismatch(self._reader, given.sample, given.nodes))
        if given.unused and not scored:
            notes.append(f"not used: {', '.join(given.unused)}")
        result = replace(result, note="; ".join(filter(None, notes)))
        score = result.score
        return RecallEvaluationResult(
            query=sample.user_input,
            contexts=None if contexts is None else [context.text or "" for context in contexts],
            response=sample.response,
            passing=None if score is None or self.threshold is None else score >= self.threshold,
            feedback="; ".join((*_feedback(result), *_lost(result, stages))),
            score=score,
            invalid_result=not scored,
            invalid_reason=None if scored else result.reason,
            result=result,
            stages=stages,
        )


def _key(contexts: Sequence[Context] | None) -> _Key:
    """Return what tells lists apart: a reranker that only gives new scores changes no recall."""
    return None if contexts is None else tuple((one.id, one.text) for one in contexts)


def _feedback(result: Result) -> Iterator[str]:
    yield result.reason
    if result.status is Status.SCORED and result.missed:
        yield f"missed: {_listed(result.missed)}"


def _lost(result: Result, stages: Mapping[str, Result]) -> Iterator[str]:
    """Yield what was retrieved and did not stay to the end."""
    before = stages.get("retrieved")
    if before is None or {before.status, result.status} != {Status.SCORED}:
        return
    lost = [label for label in result.missed if label not in before.missed]
    if lost:
        yield f"retrieved, but lost on the way: {_listed(lost)}"


def _listed(labels: Sequence[str]) -> str:
    short = [shorten(label, _LABEL_WIDTH, placeholder="…") for label in labels[:_MOST_LISTED]]
    more = len(labels) - _MOST_LISTED
    return f"{', '.join(short)}{f' and {more} more' if more > 0 else ''}"
