"""Recall as a string evaluator of `langchain-classic`, which takes two seconds to import."""

from __future__ import annotations

from typing import Any

from langchain_classic.evaluation import StringEvaluator

from langchain_fullrecall.evaluator import RecallStringEvaluator


class ClassicStringEvaluator(RecallStringEvaluator, StringEvaluator):
    """A `RecallStringEvaluator` that is also an instance of LangChain's `StringEvaluator`.

    For programs that check this type. All other programs take a `RecallStringEvaluator`.
    """

    def evaluate_strings(
        self,
        *,
        prediction: object = None,
        reference: object = None,
        input: object = None,  # noqa: A002 - LangChain's name
        **options: Any,
    ) -> dict[str, Any]:
        """Return the score of a prediction; `options` are those of `RecallStringEvaluator`."""
        return super().evaluate_strings(
            prediction=prediction, reference=reference, input=input, **options
        )

    async def aevaluate_strings(
        self,
        *,
        prediction: object = None,
        reference: object = None,
        input: object = None,  # noqa: A002
        **options: Any,
    ) -> dict[str, Any]:
        """Return the same as `evaluate_strings`, without blocking."""
        return await super().aevaluate_strings(
            prediction=prediction, reference=reference, input=input, **options
        )

    def _evaluate_strings(self, **arguments: Any) -> dict[str, Any]:
        return self.evaluate_strings(**arguments)
