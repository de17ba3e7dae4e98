"""`fullrecall summary` notes incomplete reports, and `evaluate` keeps to its budget."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.openai_protocol import Exchange, completion, serving
from tests.run.paid import VERDICTS
from typer.testing import CliRunner, Result

from fullrecall import IdRecall, Sample, evaluate
from fullrecall.judge.models import ChatRequest, Completion

SAMPLES = [
    Sample(user_input=f"q{n}", reference_claims=["Stands."], retrieved_contexts=[f"It stands {n}."])
    for n in range(3)
]


def answers(_: ChatRequest) -> Completion:
    """Return the verdict that no claim is supported."""
    return Completion(VERDICTS, 100, 20)


def run(*arguments: str | Path) -> Result:
    """Run the command line."""
    from fullrecall.cli import app

    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.mark.rooms
def test_a_report_that_was_cut_off_is_noted(tmp_path: Path) -> None:
    """After its writer was killed within a line, the whole rows are shown, with a note."""
    sample = Sample(retrieved_context_ids=["a"], reference_context_ids=["a", "b"])
    path = tmp_path / "report.jsonl"
    evaluate([sample] * 3, IdRecall(), progress=False).save(path)
    shown = run("summary", path)
    assert (shown.exit_code, "0.500" in shown.stdout, shown.stderr) == (0, True, "")
    head, first, second, third, *_ = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(head + first + second + third[:-20])
    cut = run("summary", path, "--json")
    assert json.loads(cut.stdout)["samples"] == 2
    assert cut.stderr.startswith("Note: ")


@pytest.mark.rooms
@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"question,answer\n", "not a saved report"),
        (None, "No such file"),
    ],
)
def test_a_file_that_is_not_a_report_is_refused(
    tmp_path: Path, content: bytes | None, problem: str
) -> None:
    """A file that is not a report exits with 2 and one sentence that names the file."""
    path = tmp_path / "thing"
    if content is not None:
        path.write_bytes(content)
    refused = run("summary", path)
    assert refused.exit_code == 2
    assert problem in " ".join(refused.output.split())
    assert "Traceback" not in refused.output


@pytest.fixture
def base_url() -> Iterator[str]:
    """Serve a model that supports no claim, on a free loopback port."""
    reply = completion(VERDICTS) | {
        "usage": {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
    }

    class Handler(Exchange):
        def respond(self, body: Any) -> None:
            self.send(200, json.dumps(reply).encode())

    with serving(Handler) as url:
        yield url


@pytest.mark.rooms
def test_evaluate_stops_at_its_budget_and_goes_on_from_the_store(
    tmp_path: Path, base_url: str
) -> None:
    """With a budget of two calls, the third sample is scored in the next run."""
    file = tmp_path / "samples.jsonl"
    file.write_text("".join(json.dumps(sample.to_dict()) + "\n" for sample in SAMPLES))

    def again(*options: str) -> dict[str, Any]:
        done = run(
            "evaluate",
            file,
            "-s",
            "claim_recall",
            "--judge",
            "openai:m",
            "--base-url",
            base_url,
            "--store",
            tmp_path / "runs.sqlite",
            "--json",
            *options,
        )
        assert done.exit_code == 0, done.output
        plain: dict[str, Any] = json.loads(done.output)
        return plain

    first = again("--budget-calls", "2", "--max-concurrency", "1")
    assert first["scores"][0]["reasons"] == {"the budget of 2 calls is used up": 1}
    assert first["spent"]["calls"] == 2
    second = again("--budget-calls", "2")
    assert (second["scores"][0]["scored"], second["spent"]["calls"]) == (3, 1)
    assert second["spent"]["reused"] == 2


@pytest.mark.rooms
@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--budget-calls", "3"], "openai:MODEL"),
        (["--judge", "openai:m", "--budget-calls", "0"], "calls"),
    ],
)
def test_a_wrong_budget_is_refused(tmp_path: Path, options: list[str], problem: str) -> None:
    """A wrong budget exits with 2 and the fix, before the file is read."""
    (tmp_path / "samples.jsonl").write_text("no JSON", "utf-8")
    refused = run("evaluate", tmp_path / "samples.jsonl", "-s", "claim_recall", *options)
    assert refused.exit_code == 2
    assert problem in refused.output
