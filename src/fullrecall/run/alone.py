"""Score samples one at a time, outside a run; the evaluators of frameworks use this."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from fullrecall._util.parameters import check_choice
from fullrecall.errors import ParameterError
from fullrecall.measures.measure import Measure
from fullrecall.run.evaluate import CorpusLike, check_scorers, corpus_index
from fullrecall.run.work import raised, score_one, stale_result
from fullrecall.samples.corpus import CorpusIndex
from fullrecall.samples.retrieval import View
from fullrecall.samples.sample import Sample
from fullrecall.scorers.ids import IdRecall
from fullrecall.scorers.result import Result
from fullrecall.scorers.scorer import Scorer


@dataclass(frozen=True)
class SingleScoring:
    """How an evaluator scores each sample: the options that the adapters' evaluators share."""

    scorer: Scorer
    measures: tuple[Measure, ...]
    view: View = "contexts"
    corpus: CorpusIndex | None = None

    @classmethod
    def of(
        cls,
        scorer: Scorer | None,
        measures: Sequence[Measure],
        view: View,
        corpus: CorpusLike | None,
    ) -> SingleScoring:
        """Return checked options.

        The default scorer is `IdRecall()`; the default measure is the scorer's headline. Raises
        `ParameterError` for a value that is not allowed.
        """
        (scorer,) = check_scorers([IdRecall() if scorer is None else scorer])
        for each in measures:
            if not isinstance(each, Measure):
                raise ParameterError(f"expected a measure such as Recall @ 5, got {each!r}")
        check_choice(view, "view", get_args(View))
        measures = tuple(measures) or (scorer.method.headline,)
        return cls(scorer, measures, view, corpus_index(corpus))

    def viewed(self, sample: Sample) -> Sample:
        """Return the sample with the contexts that `view` selects from its retrieval record."""
        return sample.in_view(self.view)

    def score(self, sample: Sample) -> Result:
        """Return the result of a sample; an exception of the scorer gives an unscored result."""
        stale = stale_result(self.scorer, sample, self.corpus)
        return stale or score_one(self.scorer, sample)

    async def ascore(self, sample: Sample) -> Result:
        """Return the result of the scorer's `ascore`, or else of its `score` in a thread."""
        stale = stale_result(self.scorer, sample, self.corpus)
        if stale is not None:
            return stale
        ascore = getattr(self.scorer, "ascore", None)
        try:
            # A user's own scorer may have only `score`, which may wait for a model.
            scoring = ascore(sample) if ascore else asyncio.to_thread(self.scorer.score, sample)
            result: Result = await scoring
        except Exception as error:  # noqa: BLE001 - whatever a user's judge or scorer raises
            return raised(self.scorer, error)
        return result
