"""A process that may open few files at a time loses no paid answer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fullrecall.run.limits import Limits

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


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
@pytest.mark.parametrize(
    ("limit", "asked", "in_flight"),
    [(64, 300, 30), (64, 8, 8), (40, 300, 6), (20, 300, 1), (-1, 300, 300), (-1, 10**6, 65_536)],
)
def test_requests_in_flight(
    limit: int, asked: int, in_flight: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the files that may be open, those that are open and 24 more are left free."""
    import resource

    most = resource.RLIM_INFINITY if limit < 0 else limit
    monkeypatch.setattr(resource, "getrlimit", lambda _: (most, most))
    monkeypatch.setattr(Path, "is_dir", lambda _: True)
    monkeypatch.setattr(Path, "iterdir", lambda _: iter([Path(str(n)) for n in range(10)]))
    assert Limits(max_concurrency=asked).in_flight == in_flight
    monkeypatch.setattr(Path, "is_dir", lambda _: False)
    assert Limits(max_concurrency=300).in_flight == min(
        300, max(1, most - 24) if limit > 0 else 300
    )


def test_windows_has_a_limit_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the module `resource`, the limit is that of the C library of Windows."""
    monkeypatch.setitem(sys.modules, "resource", None)
    assert Limits(max_concurrency=10**6).in_flight == 8_192
    assert Limits(max_concurrency=16).in_flight == 16
