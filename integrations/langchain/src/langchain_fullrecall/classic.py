"""Recall as a string evaluator of `langchain-classic`.

It has its own module, since `langchain-classic` takes two seconds to import.
"""

from __future__ import annotations

from typing import Any

from langchain_classic.evaluation import StringEvaluator

from langchain_fullrecall.evaluator import RecallStringEvaluator


class ClassicStringEvaluator(RecallStringEvaluator, StringEvaluator):  # type: ignore[misc]
    """A `RecallStringEvaluator` that is also an instance of LangChain's `StringEvaluator`.

    Use it in programs that check this type. All other programs take a `RecallStringEvaluator`.
    """

    def _evaluate_strings(self, **arguments: Any) -> dict[str, Any]:
        return self.evaluate_strings(**arguments)
