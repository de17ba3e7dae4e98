"""Jobs for real engines: a Parquet file of samples, the plain run's report, a judge's endpoint."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.batches.engines import DOCS, documented
from tests.batches.loopback import Endpoint, served
from tests.batches.redis_server import RedisServer

from fullrecall import ClaimRecall, IdRecall, Report, TextRecall, evaluate
from fullrecall.read import read
from fullrecall.scorers import Scorer

SAMPLES = 240


@dataclass(frozen=True)
class Job:
    """A file of samples, numbered by `row`, and the report of `evaluate` over it, the plain one."""

    path: Path
    scorers: Sequence[Scorer] = (IdRecall(), TextRecall(), ClaimRecall())
    plain: list[Report] = field(default_factory=list)

    def evaluated(self, scorers: Sequence[Scorer] | Scorer | None = None) -> Report:
        """Return the report of `evaluate`, in this process and without any engine."""
        samples = read(self.path, rename={"row": None})
        if scorers is not None:
            return evaluate(samples, scorers, progress=False)
        if not self.plain:
            self.plain.append(evaluate(samples, self.scorers, progress=False))
        return self.plain[0]

    def check(self, report: Report, scorers: Sequence[Scorer] | Scorer | None = None) -> None:
        """Fail unless the report is the plain one, byte for byte when saved."""
        expected = self.evaluated(scorers)
        assert len(report) == SAMPLES
        assert report.complete
        assert saved(report, self.path.parent) == saved(expected, self.path.parent)
        assert str(report.summary()) == str(expected.summary())

    def check_saved(self, path: Path) -> None:
        """Fail unless the saved report is the plain one, byte for byte."""
        assert path.read_bytes() == saved(self.evaluated(), self.path.parent)

    def run(self, code: str) -> dict[str, Any]:
        """Run an example as a separate script; return its names."""
        names: dict[str, Any] = {"__name__": "__main__"}
        exec(compile(code, str(DOCS), "exec"), names)  # noqa: S102
        return names

    def documented(self, heading: str, **replaced: str) -> str:
        """Return the example under a heading of docs/scale.md, changed to read this job's file."""
        scores = repr(str(self.path.with_name(f"scores by {heading}")))
        own = {"samples.parquet": str(self.path), '"scores"': scores}
        return documented(heading, {**own, **replaced})


def saved(report: Report, folder: Path) -> bytes:
    """Return the bytes of a report's file."""
    report.save(folder / "report.jsonl", replace=True)
    return (folder / "report.jsonl").read_bytes()


@pytest.fixture(scope="session")
def installed() -> Callable[..., None]:
    """Return a function that fails, with the command to install it, if a package is missing."""

    def check(package: str, requirement: str) -> None:
        if find_spec(package) is None:
            pytest.fail(f'-m engines needs {package}: pip install "{requirement}"')

    return check


@pytest.fixture(scope="session")
def job(tmp_path_factory: pytest.TempPathFactory, installed: Callable[..., None]) -> Job:
    """Write samples with IDs, texts and claims: gaps, nested contexts, groups, all statuses."""
    installed("pyarrow", "fullrecall[parquet]")
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = random.Random(11)
    texts = [f"The tower number {n} was finished in {1500 + n}, says guide {n}." for n in range(60)]
    rows: list[dict[str, Any]] = []
    for row in range(SAMPLES):
        ranked = rng.sample(range(60), 4)
        wanted = rng.choice(ranked)
        rows.append(
            {
                "row": row,
                "id": f"q{row}" if row % 3 else None,
                "user_input": f"Question “{row}”: when was it finished?",
                "retrieved_contexts": [
                    {
                        "id": f"d{n}",
                        "text": texts[n],
                        "score": 0.5 if row % 2 else None,
                        "metadata": {"page": f"p. {n}"} if n % 2 else None,
                    }
                    for n in ranked
                ]
                if row % 11
                else None,
                "reference_context_ids": [f"d{wanted}", f"d{rng.randrange(60)}"],
                "reference_contexts": [texts[wanted], texts[rng.randrange(60)]],
                "reference_claims": [texts[wanted], f"Claim {row} is red."] if row % 7 else [],
                "group": f"g{row % 40}" if row % 2 else None,
                "metadata": {"lang": "en", "seen": ["a", "b"][: row % 3]} if row % 5 else None,
                "retrieval": None if row % 11 else {"error": "TimeoutError: 30 s"},
            }
        )
    path = tmp_path_factory.mktemp("job") / "samples.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=SAMPLES // 4)
    return Job(path)


@pytest.fixture
def endpoint(installed: Callable[..., None]) -> Iterator[Endpoint]:
    """Serve on a free loopback port until the test ends."""
    installed("openai", "fullrecall[openai]")
    with served() as started:
        yield started


@pytest.fixture(scope="session")
def redis_server(
    installed: Callable[..., None], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """Start a Redis server on a free loopback port, without a file on the disk."""
    installed("redis", "fullrecall[redis]")
    try:
        server = RedisServer(tmp_path_factory.mktemp("redis"))
    except FileNotFoundError as error:
        pytest.fail(str(error))
    try:
        server.start()
        yield server.url
    finally:
        server.stop()


@pytest.fixture
def redis_url(redis_server: str) -> str:
    """Return the address of an empty server."""
    import redis

    with redis.Redis.from_url(redis_server) as client:
        client.flushall()
    return redis_server
