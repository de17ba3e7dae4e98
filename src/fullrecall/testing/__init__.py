"""Contracts for scorers and adapters, and a double of a model, for those who write their own.

    @pytest.mark.parametrize("check", SCORER_CHECKS)
    def test_my_scorer_keeps_the_contract(check):
        check(MyRecall)

    def test_my_adapter_keeps_the_contract():
        check_adapter(through_my_framework)

A broken contract is an `AssertionError` that says which promise was broken and how.
"""

from fullrecall._util.parameters import all_public
from fullrecall.judge.models.scripted import ScriptedChatModel
from fullrecall.testing.adapters import (
    ADAPTER_CASES,
    AdapterCase,
    Through,
    check_adapter,
    check_adapter_case,
)
from fullrecall.testing.examination import Examination, Judgment, Pair, examine
from fullrecall.testing.letters import sample_of
from fullrecall.testing.scorers import SCORER_CHECKS, ScorerFactory

__all__ = [
    "ADAPTER_CASES",
    "SCORER_CHECKS",
    "AdapterCase",
    "Examination",
    "Judgment",
    "Pair",
    "ScorerFactory",
    "ScriptedChatModel",
    "Through",
    "check_adapter",
    "check_adapter_case",
    "examine",
    "sample_of",
]

all_public(__name__)
