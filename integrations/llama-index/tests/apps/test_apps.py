"""Each application gives the right recall through every door, or no number for a reason."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from llama_apps.application import APPLICATIONS
from llama_apps.contract import CONTRACT
from llama_apps.doors import answer_of, verdict_of
from llama_apps.parts import mock_settings
from llama_apps.table import AGREEMENT, FAILURES, Check, agree, checks, known_failures

# These warnings are LlamaIndex's own, about agents and old engines.
pytestmark = pytest.mark.filterwarnings("ignore")

_KNOWN = known_failures()


@pytest.fixture(autouse=True, scope="module")
def mock_models() -> Iterator[None]:
    """Set mock models, since some engines take their model from LlamaIndex's settings."""
    with mock_settings():
        yield


def _marks(check: Check) -> list[pytest.MarkDecorator]:
    known = _KNOWN.get(check)
    return [] if known is None else [pytest.mark.xfail(strict=True, reason=f"{known} today")]


@pytest.mark.parametrize(
    ("name", "door"),
    [pytest.param(*each, marks=_marks(each), id=f"{each.name}-{each.door}") for each in checks()],
)
def test_the_answer_is_right(name: str, door: str) -> None:
    """Each door gives the application's stated recall, or no number for a reason."""
    verdict, stated = verdict_of(name, door), APPLICATIONS[name]
    if verdict in FAILURES:
        said = answer_of(name, door)
        # The message has no traceback, which takes longer than the application.
        pytest.fail(f"{verdict}: {said} for {stated.recall}, {stated.first}", pytrace=False)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=_marks(Check(name, AGREEMENT)), id=name) for name in CONTRACT]
)
def test_the_doors_agree(name: str) -> None:
    """Every door that records an application of the contract gives the same number."""
    if not agree(name):
        pytest.fail("the doors do not agree", pytrace=False)


def test_the_known_failures_are_of_applications_and_doors_that_exist() -> None:
    """Each line of the list of known failures names an existing check."""
    every = {*checks(), *(Check(name, AGREEMENT) for name in CONTRACT)}
    assert not _KNOWN.keys() - every
