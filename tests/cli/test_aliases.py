"""Names that others give to measures, on the command line."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from fullrecall.cli import app
from fullrecall.errors import ParameterError
from fullrecall.measures import MEASURES, parse, unaliased
from fullrecall.measures.text import ALIASES


@pytest.mark.parametrize(("alias", "ours"), ALIASES.items())
def test_every_alias_is_told_with_our_name(alias: str, ours: str) -> None:
    """An alias stands for a measure; Python's parser says which."""
    assert ours in MEASURES
    assert alias not in MEASURES
    assert unaliased(f"{alias.upper()}@5 >= 0.9") == (f"{ours}@5 >= 0.9", alias.upper())
    assert unaliased(f"{ours}@5") == (f"{ours}@5", None)
    with pytest.raises(ParameterError, match=f"it is {ours} here"):
        parse(f"{alias}@5")


def test_a_command_takes_it_and_says_so(tmp_path: Path) -> None:
    """`--measure mrr@5` shows rr@5, and names it on standard error."""
    samples = tmp_path / "samples.jsonl"
    samples.write_text('{"retrieved_context_ids": ["a"], "reference_context_ids": ["a"]}\n')
    report = tmp_path / "report.jsonl"
    run = CliRunner().invoke(
        app, ["evaluate", str(samples), "--output", str(report), "--measure", "mrr@5"]
    )
    assert run.exit_code == 0, run.output
    assert "mrr is rr here" in run.stderr
    assert "rr@5" in run.stdout
