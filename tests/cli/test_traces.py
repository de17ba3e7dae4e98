"""`evaluate` reads traces whose tools return documents in their own form, or no documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command_line import run

from fullrecall import read as datasets
from fullrecall.errors import InputError, ParameterError

WORDS = "The opening hours of the tower. "


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a trace, its labels, and a module that reads the tool's result."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "traces.jsonl").write_text("\n".join(map(json.dumps, spans())))
    label = {"user_input": "q", "reference_context_ids": ["d1", "d2"]}
    (tmp_path / "labels.jsonl").write_text(json.dumps(label))
    (tmp_path / "kb.py").write_text("def hits(text):\n    return text.split('\\n')[0].split(';')\n")
    return tmp_path


def spans() -> list[dict[str, Any]]:
    """Return the spans of an agent, of its search, and of a tool that does not search."""
    tools = {"search_kb": f"d1;d3\n{WORDS * 9}", "weather": "Sunny and mild all day long. " * 9}
    rows = [
        {"context.span_id": "1", "name": "agent", "parent_id": None, "attributes.input.value": "q"}
    ]
    rows += [
        {
            "context.span_id": name,
            "name": name,
            "parent_id": "1",
            "attributes.openinference.span.kind": "TOOL",
            "attributes.input.value": name,
            "attributes.output.value": output,
        }
        for name, output in tools.items()
    ]
    times = {"start_time": "2026-01-01T00:00:00Z", "end_time": "2026-01-01T00:00:01Z"}
    return [{"context.trace_id": "t", **row, **times} for row in rows]


SCORE = ("evaluate", "traces.jsonl", "--references", "labels.jsonl", "--json")


def test_a_function_reads_the_documents_of_a_tool(folder: Path) -> None:
    """`--tool-documents` names a tool's function, `--other-tools` tools that do not search."""
    assert folder.exists()
    read = ("--tool-documents", "search_kb=kb.py:hits", "--other-tools", "weather")
    (score,) = json.loads(run(*SCORE, *read).stdout)["scores"]
    assert score["measures"]["recall"]["mean"] == 0.5
    assert "unscored" in run(*SCORE, *read[:2]).output


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("search_kb", "must be TOOL=MODULE:NAME, got 'search_kb'"),
        ("search_kb=kb.py:no", "cannot load 'kb.py:no'"),
    ],
)
def test_a_wrong_function_of_a_tool(folder: Path, text: str, problem: str) -> None:
    """A wrong function is an error that names the option and how to write it."""
    assert folder.exists()
    result = run(*SCORE, "--tool-documents", text)
    assert result.exit_code == 2
    assert "--tool-documents" in result.output
    assert problem in " ".join(result.output.replace("│", " ").split())


def test_tools_are_for_traces(folder: Path) -> None:
    """`--tool-documents` is an error for a file of samples."""
    with pytest.raises(ParameterError, match="other_tools= is for traces"):
        list(datasets.read(folder / "labels.jsonl", other_tools=["weather"]))
    with pytest.raises(InputError, match=r"tool_documents\['search_kb'\]: ZeroDivisionError"):
        list(datasets.read(folder / "traces.jsonl", tool_documents={"search_kb": lambda _: 1 / 0}))
