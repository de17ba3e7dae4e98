"""Contracts for your own scorers and adapters, and a scripted chat model for their tests.

    @pytest.mark.parametrize("check", SCORER_CHECKS)
    def test_my_scorer_keeps_the_contract(check):
        check(MyRecall)

    def test_my_adapter_keeps_the_contract():
        check_adapter(through_my_framework)

A broken contract raises an `AssertionError` that says which promise was broken and how.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall._util import lazy

if TYPE_CHECKING:  # the list of all exports: `lazy` reads it too
    from fullrecall.judge.models.scripted import ScriptedChatModel as ScriptedChatModel
    from fullrecall.testing.adapters import ADAPTER_CASES as ADAPTER_CASES
    from fullrecall.testing.adapters import AdapterCase as AdapterCase
    from fullrecall.testing.adapters import Through as Through
    from fullrecall.testing.adapters import check_adapter as check_adapter
    from fullrecall.testing.adapters import check_adapter_case as check_adapter_case
    from fullrecall.testing.examination import Examination as Examination
    from fullrecall.testing.examination import Judgment as Judgment
    from fullrecall.testing.examination import Pair as Pair
    from fullrecall.testing.examination import examine as examine
    from fullrecall.testing.scorers import SCORER_CHECKS as SCORER_CHECKS
    from fullrecall.testing.scorers import ScorerFactory as ScorerFactory
    from fullrecall.testing.scorers import sample_of as sample_of
else:
    __getattr__ = lazy.names(__name__)
