"""Recall by the sub-questions of the user's question; it needs no reference."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar

from fullrecall.judge.judge import Flow
from fullrecall.measures.findings import Target
from fullrecall.samples.sample import Sample
from fullrecall.scorers.judged import JudgedScorer
from fullrecall.scorers.scorer import Found, require, require_retrieval


@dataclass(frozen=True, kw_only=True)
class QuestionRecall(JudgedScorer):
    """The share of the question's sub-questions that the retrieved contexts can answer.

    The judge splits `user_input` once, then decides for each sub-question whether the contexts
    answer it. No reference is needed or compared: the score measures whether the contexts *have* an
    answer, not whether it is the right one.
    """

    kind: ClassVar[str] = "question_recall"
    labels: ClassVar[Collection[str]] = ()

    def _judged(self, sample: Sample) -> Flow[Found]:
        require_retrieval(sample)
        question = require(sample.user_input, "user_input")
        if not question.strip():
            return Found((), 0)
        if self._contexts(sample).unique:
            parts = yield from self._asked_judge.split(question, kind="questions")
        else:
            parts = (question,)
        targets = [Target((part,)) for part in dict.fromkeys(parts)]
        return (yield from self._attributed(targets, sample, relation="question"))
