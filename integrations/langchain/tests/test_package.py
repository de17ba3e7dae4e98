"""The package exports its public names, and loads modules when needed."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

import langchain_fullrecall

README = Path(__file__).parents[1] / "README.md"


def test_the_public_names_are_these() -> None:
    """The public names are listed here, so that each change of them is a decision."""
    assert langchain_fullrecall.__all__ == [
        "LangChainCapture",
        "LangChainChatModel",
        "ObservedLangChainRetriever",
        "RecallStringEvaluator",
        "RecallSummary",
        "capture_retrievals",
        "contexts",
        "observed",
        "offline_client",
        "report_of",
    ]
    assert len(langchain_fullrecall.__all__) <= 10
    for name in langchain_fullrecall.__all__:
        module = getattr(langchain_fullrecall, name).__module__
        assert module.partition(".")[0] == "langchain_fullrecall"
        assert name in dir(langchain_fullrecall)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    """A wrong name is an `AttributeError`, though names are loaded when used."""
    with pytest.raises(AttributeError, match="'langchain_fullrecall' has no attribute 'Recal'"):
        langchain_fullrecall.Recal  # type: ignore[attr-defined] # noqa: B018


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import langchain_fullrecall", ["langchain_classic", "langsmith.evaluation"]),
        ("from langchain_fullrecall import RecallStringEvaluator", ["langchain_classic"]),
    ],
)
def test_heavy_modules_are_imported_when_used(code: str, absent: list[str]) -> None:
    """`langchain_classic`, which takes seconds to import, is not loaded before it is used."""
    check = f"{code}; import sys; print([name for name in {absent!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_its_types_are_published() -> None:
    """`py.typed` is in the package, so that type checkers read its annotations."""
    assert resources.files(langchain_fullrecall).joinpath("py.typed").is_file()


def test_the_readme_is_right(capsys: pytest.CaptureFixture[str]) -> None:
    """The README's examples run unchanged, and print the shown output."""
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 1
    namespace: dict[str, object] = {}
    for block in blocks:
        exec(block, namespace)  # noqa: S102 - our own README
        promised = re.findall(r"print\(.*\)  # (.*)", block)
        assert capsys.readouterr().out.splitlines() == promised
