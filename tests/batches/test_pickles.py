"""Scorers go to workers and back."""

from __future__ import annotations

import pickle
from functools import partial
from typing import Any

import pytest
from tests.batches.made import ERRORS, EVERY_SCORER, FOUND, JUDGES, Scored, chat_model

import fullrecall
from fullrecall import BatchScorer, LLMJudge, errors, scorers
from fullrecall.errors import ParameterError
from fullrecall.judge.models import Completion


class TestPickling:
    """All objects that a job sends to its workers arrive there, and work."""

    def test_the_scorers_are_all_there(self) -> None:
        """The list of tested scorers has at least the scorers that the top level exports."""
        exported = {
            value
            for value in map(partial(getattr, fullrecall), fullrecall.__all__)
            if isinstance(value, type) and issubclass(value, scorers.FindingScorer)
        }
        assert {each.scorer for each in EVERY_SCORER} >= exported
        assert len(exported) > 2
        assert sum(each.takes_judge for each in EVERY_SCORER) == 3

    @pytest.mark.parametrize("judge", JUDGES)
    @pytest.mark.parametrize("each", EVERY_SCORER, ids=lambda each: each.scorer.__name__)
    def test_every_scorer_with_every_judge(self, each: Scored, judge: str) -> None:
        """A pickled copy of a used scorer has the same method, requests and scores."""
        if not each.takes_judge and judge != "none":
            with pytest.raises(ParameterError, match="judge"):
                each.scorer(judge=JUDGES[judge]())
            return
        scorer = each.scorer(judge=JUDGES[judge]()) if each.takes_judge else each.scorer()
        asks = judge in ("LLMJudge", "Panel")
        before = None if asks else scorer.score(FOUND)
        first = next(scorer.flow(FOUND)) if judge == "LLMJudge" else None
        copy = pickle.loads(pickle.dumps(BatchScorer(scorer)))  # noqa: S301
        (received,) = copy.scorers
        assert received == scorer
        assert received.method == scorer.method
        if not asks:
            assert received.score(FOUND) == before
        if first is not None:
            (again,) = next(received.flow(FOUND))
            assert again.request == first[0].request
            assert again.model.name == first[0].model.name

    def test_connections_stay_behind(self) -> None:
        """A model's copy opens its own connections, and the original keeps its own."""
        model = chat_model()
        (opened,) = model._clients.values()
        copy = pickle.loads(pickle.dumps(model))  # noqa: S301
        assert len(copy._clients) == 0
        assert list(model._clients.values()) == [opened]
        assert copy == model

    def test_what_a_judge_has_split_goes_along(self) -> None:
        """A worker does not ask again for the claims of a text that its driver has split."""
        judge = LLMJudge(chat_model())
        flow = judge.split("one and two", kind="claims")
        next(flow)
        with pytest.raises(StopIteration):
            flow.send([Completion('{"items": ["one", "two"]}')])
        (asked,) = next(pickle.loads(pickle.dumps(judge)).split("one and two", kind="claims"))  # noqa: S301
        assert asked.known is not None

    @pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
    def test_every_error_crosses_processes(self, error: Any) -> None:
        """An error that cannot be pickled would hide a worker's problem."""
        copy = pickle.loads(pickle.dumps(error))  # noqa: S301
        assert type(copy) is type(error)
        assert str(copy) == str(error)
        for name in ("path", "line", "field", "problem", "name"):
            assert getattr(copy, name, None) == getattr(error, name, None)
        report = getattr(error, "report", None)
        assert list(getattr(copy, "report", None) or ()) == list(report or ())

    def test_no_error_is_left_out(self) -> None:
        """The list of tested errors has every error of fullrecall."""
        own = {
            value
            for value in vars(errors).values()
            if isinstance(value, type) and value.__module__ == errors.__name__
        }
        assert {type(error) for error in ERRORS} == own
