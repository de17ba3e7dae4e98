"""A process that may open few files at a time loses no paid answer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FaultyEndpoint = Any  # of conftest.py

PROGRAM = """
import sys
from resource import RLIMIT_NOFILE, getrlimit, setrlimit

setrlimit(RLIMIT_NOFILE, (int(sys.argv[2]), getrlimit(RLIMIT_NOFILE)[1]))

from fullrecall import ClaimRecall, LLMJudge, Sample, evaluate
from fullrecall.judge import OpenAIChatModel
from fullrecall.judge.models.retries import Retries

samples = [
    Sample(
        user_input=f"Question {number}?",
        retrieved_contexts=[f"This is what the context says of {number}.", "Nothing."],
        reference_claims=[f"Claim {number} is the first.", f"Claim {number} is the second."],
    )
    for number in range(160)
]
report = evaluate(
    samples,
    ClaimRecall(judge=LLMJudge(OpenAIChatModel("m", base_url=sys.argv[1]))),
    store=sys.argv[3],
    retries=Retries(0),
    max_concurrency=300,
    progress=False,
)
for row in report:
    if row.results[0].score is None:
        print(row.results[0].reason)
print(sum(row.results[0].score is not None for row in report))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
@pytest.mark.parametrize("limit", [64, 256])
def test_requests_stay_within_the_limit_of_open_files(
    faulty: FaultyEndpoint, tmp_path: Path, limit: int
) -> None:
    """All samples are scored, for any number of concurrent requests asked for."""
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, faulty.base_url, str(limit), str(tmp_path / "store")],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert ended.stdout.split("\n")[-2:] == ["160", ""], ended.stdout + ended.stderr
