"""A store, a budget and a rate on a server hold for all workers, as they do in one process.

Opt-in, `-m engines`: it needs `pip install redis` and Debian's redis-server.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.batches.dropping import Dropping
from tests.batches.redis_server import RedisServer
from tests.run.stored import CALLS, answers, run

from fullrecall import BatchScorer, Budget, ClaimRecall, LLMJudge, Report, evaluate
from fullrecall.batches import redis
from fullrecall.batches.redis import RedisLedger, name_of
from fullrecall.errors import ParameterError, StoreError
from fullrecall.judge import OpenAIChatModel
from fullrecall.run import ledger
from fullrecall.scorers.result import Status

if TYPE_CHECKING:
    from tests.batches.loopback import Endpoint

    from fullrecall.judge.models import ChatRequest

pytestmark = pytest.mark.engines

KEY = "answer:00"


def batch(first: int, count: int, texts: int = 10_000) -> Any:
    """Return a batch of judged samples; `texts` of them differ."""
    import pyarrow as pa

    lines = [[f"The tower {n % texts} is high."] for n in range(first, first + count)]
    places = list(range(first, first + count))
    return pa.table({"place": places, "retrieved_contexts": lines, "reference_claims": lines})


def scorer(endpoint: Endpoint, url: str, **options: Any) -> BatchScorer:
    """Return a scorer whose workers share a store on the server."""
    model = OpenAIChatModel("m", base_url=endpoint.base_url)
    return BatchScorer(ClaimRecall(judge=LLMJudge(model)), position="place", store=url, **options)


class TestStore:
    """A store on a server works as one in a file."""

    def test_a_lease_outlives_its_seconds_and_not_its_owner(
        self, redis_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A lease is renewed while its owner lives; a dead worker's expires."""
        monkeypatch.setattr(ledger, "LEASE_SECONDS", 4.0)
        owner, other = RedisLedger(redis_url), RedisLedger(redis_url)
        assert owner.lease(KEY)[1].result()
        name = f"{name_of(KEY)}:lease"
        left = other._client.pttl(name)
        while (renewed := other._client.pttl(name)) <= left:
            left = renewed
            time.sleep(0.05)
        assert not other.lease(KEY)[1].result()
        owner._ended.set()  # Stop renewing leases, as if the owner were killed.
        assert owner._renewing is not None
        owner._renewing.join()
        while not other.lease(KEY)[1].result():
            time.sleep(0.05)
        other.close()
        owner.close()

    def test_a_lease_whose_answer_was_lost(self, redis_url: str) -> None:
        """A client whose lease answer was lost sends the request again, and gets the lease."""
        with Dropping(int(redis_url.rpartition(":")[2].split("/")[0])) as way:
            with RedisLedger(way.url) as store:
                # From here on the server has the script.
                assert store.lease("answer:01")[1].result()
                way.drop()
                assert store.lease(KEY)[1].result()
            assert way.dropped == 1

    def test_a_server_that_forgets_its_scripts(
        self, redis_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The client works with a server that forgets its scripts before each command."""
        with RedisLedger(redis_url) as store:
            execute = store._client.execute_command

            def forgetful(*command: Any, **options: Any) -> Any:
                execute("SCRIPT FLUSH")
                return execute(*command, **options)

            monkeypatch.setattr(store._client, "execute_command", forgetful)
            token, granted = store.lease(KEY)
            assert granted.result()
            assert store.put(KEY, "an answer", token).result() == "an answer"
            assert store.get(KEY) == "an answer"
            assert not store.problem

    def test_a_missing_server_is_an_error_at_once(self) -> None:
        """A missing server is an error at once, without a password in its text."""
        with pytest.raises(StoreError, match=r"redis://127.0.0.1:9/0 cannot be reached"):
            RedisLedger("redis://127.0.0.1:9/0")

    @pytest.mark.parametrize("url", ["a", "redis://h:S3CRET/0", "redis://:S3CRET@h/0"])
    def test_addresses_are_checked_as_a_store_s(self, url: str) -> None:
        """An address with a password, or of no server, is refused without its text."""
        with pytest.raises(ParameterError) as raised:
            RedisLedger(url)
        assert "S3CRET" not in str(raised.value)

    def test_evaluate_takes_it(self, endpoint: Endpoint, redis_url: str) -> None:
        """`evaluate` takes a served store: a second run sends no request."""
        samples = batch(0, 5).drop_columns("place").to_pylist()
        how = ClaimRecall(judge=LLMJudge(OpenAIChatModel("m", base_url=endpoint.base_url)))
        first, again = (evaluate(samples, how, store=redis_url, progress=False) for _ in range(2))
        assert endpoint.asked.total() == 5
        assert list(first) == list(again)
        assert again.spent is not None
        assert again.spent.calls == 0


def opened(folder: Path, tables: Sequence[Any], rows: int) -> Report:
    """Return the report of the workers' tables, each written to its own file."""
    import pyarrow.parquet as pq

    paths = [folder / f"{number}.parquet" for number in range(len(tables))]
    for path, table in zip(paths, tables, strict=True):
        pq.write_table(table, path)
    return Report.open(paths, rows=rows)


def score(how: bytes, first: int, count: int, texts: int) -> Any:
    """Score a batch in a worker process."""
    return pickle.loads(how)(batch(first, count, texts))  # noqa: S301


def score_briefly_leased(how: bytes) -> Any:
    """Score a batch with leases that end soon, to be killed."""
    ledger.LEASE_SECONDS = 2.0
    return score(how, 0, 40, 1_000)


@pytest.fixture(scope="module")
def workers() -> Iterator[ProcessPoolExecutor]:
    """Start three worker processes by spawning, so that they share no state with this one."""
    with ProcessPoolExecutor(3, multiprocessing.get_context("spawn")) as pool:
        yield pool


def in_processes(
    workers: ProcessPoolExecutor, how: BatchScorer, count: int, *, texts: int
) -> list[Any]:
    """Return the scores of three workers, each of its own batch, at the same time."""
    sent = pickle.dumps(how)
    made = [workers.submit(score, sent, worker * count, count, texts) for worker in range(3)]
    return [each.result() for each in made]


class TestWorkers:
    """Several processes of one job share a store."""

    def test_each_answer_is_paid_once(
        self, workers: ProcessPoolExecutor, endpoint: Endpoint, redis_url: str, tmp_path: Path
    ) -> None:
        """Three workers with the same 20 asks send 20 requests in total."""
        endpoint.seconds = 0.01
        how = scorer(endpoint, redis_url)
        report = opened(tmp_path, in_processes(workers, how, 60, texts=20), rows=180)
        assert report.complete
        assert {row.results[0].status for row in report} == {Status.SCORED}
        assert set(endpoint.asked.values()) == {1}
        assert endpoint.asked.total() == 20

    def test_a_budget_of_calls_holds_for_all(
        self, workers: ProcessPoolExecutor, endpoint: Endpoint, redis_url: str, tmp_path: Path
    ) -> None:
        """Exactly 30 requests are sent; the remaining claims are unscored with the reason."""
        how = scorer(endpoint, redis_url, budget=Budget(calls=30))
        report = opened(tmp_path, in_processes(workers, how, 40, texts=1_000), rows=120)
        assert endpoint.asked.total() == 30
        assert how.spent is not None
        assert how.spent.calls == 30
        assert report.summary()[0].scored == 30
        assert report.summary()[0].reasons == {"the budget of 30 calls is used up": 90}

    def test_a_budget_of_tokens_and_cost(self, endpoint: Endpoint, redis_url: str) -> None:
        """Spending exceeds the budget by one request at most, counting all workers' requests."""
        for budget in (Budget(tokens=1_600), Budget(cost=0.0016, prices={"m": (1.0, 1.0)})):
            before = endpoint.asked.total()
            how = scorer(endpoint, redis_url, budget=budget)
            with ThreadPoolExecutor(2) as threads:
                list(threads.map(how, [batch(n, 120, 10**6) for n in (9_000 * before, 10**5)]))
            spent = how.spent
            assert spent is not None
            assert spent.tokens == 16 * (endpoint.asked.total() - before)
            assert 1_200 < spent.tokens <= 1_616
            if budget.cost:
                assert spent.cost == pytest.approx(spent.tokens / 1e6)

    def test_a_rate_holds_for_all(self, endpoint: Endpoint, redis_url: str) -> None:
        """The requests of two threads take at least the gaps between them."""
        came: list[float] = []
        endpoint.on_request = lambda _: came.append(time.monotonic())
        how = scorer(endpoint, redis_url, budget=Budget(rate=50.0))
        began = time.monotonic()
        with ThreadPoolExecutor(2) as threads:
            list(threads.map(how, [batch(0, 20), batch(20, 20)]))
        assert len(came) == 40
        assert came[-1] - began >= 0.9 * 39 / 50

    def test_turns_by_the_rate_are_given_out_once(self, endpoint: Endpoint, redis_url: str) -> None:
        """Eight workers wait for their turns, without asking for them again and again."""
        from redis import Redis

        how = scorer(endpoint, redis_url, budget=Budget(rate=40.0))
        with Redis.from_url(redis_url) as client:
            client.config_resetstat()
            with ThreadPoolExecutor(8) as threads:
                list(threads.map(how, [batch(12 * n, 12) for n in range(8)]))
            stats = client.info("commandstats")
        assert endpoint.asked.total() == 96
        scripts = sum(stats[each]["calls"] for each in stats if each.startswith("cmdstat_eval"))
        # Each request has its turn, settlement, lease, and answer, and each worker sends a few
        # more; polling would make ten thousand.
        assert scripts <= 5 * 96
        # Each of the eight workers sends some commands when it begins; requests send none of these.
        assert stats["cmdstat_info"]["calls"] < 96

    def test_a_server_that_is_lost(
        self, tmp_path: Path, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The run ends at once with the reason and the paid answers, not after every sample."""
        monkeypatch.setattr(redis, "_RETRIES", 1)
        server = RedisServer(tmp_path)
        server.start()
        with Dropping(server.port) as way:
            how = scorer(endpoint, way.url, budget=Budget(calls=1_000), max_concurrency=4)
            endpoint.on_request = lambda number: server.stop() if number == 9 else None
            with pytest.warns(UserWarning, match="keeps nothing from here on"):
                made = how(batch(0, 300))
            tried = way.accepted
        report = opened(tmp_path, [made], rows=300)
        summary = report.summary()[0]
        assert summary.scored == endpoint.asked.total()
        lost = "the budget cannot be counted, and nothing more is sent: the store"
        assert all(reason.startswith(lost) for reason in summary.reasons)
        assert sum(summary.reasons.values()) == 300 - summary.scored
        assert 9 <= summary.scored <= 9 + 4
        assert tried < 100  # The error occurs once, not several times for each sample.

    @pytest.mark.parametrize("back", [6, 9])
    def test_answers_of_a_lost_server_are_written_when_it_is_back(
        self, redis_url: str, monkeypatch: pytest.MonkeyPatch, back: int
    ) -> None:
        """Answers that a lost server missed are written at the end, and not paid again."""
        monkeypatch.setattr(redis, "_RETRIES", 1)
        sent = []
        with Dropping(int(redis_url.rpartition(":")[2].partition("/")[0])) as way:

            def script(request: ChatRequest) -> str:
                sent.append(request)
                if len(sent) == 3:
                    way.drop(10**9)
                if len(sent) == back:
                    way.calm()
                return answers(request)

            with pytest.warns(UserWarning, match="unless they can be written later"):
                report = run(way.url, script)
        assert report.spent is not None
        assert report.spent.calls == CALLS
        later = run(redis_url)
        assert later.spent is not None
        assert later.spent.calls == 0

    def test_a_worker_that_is_killed(
        self, endpoint: Endpoint, redis_url: str, tmp_path: Path
    ) -> None:
        """The answers of a killed worker are kept, and the next worker gets its leases."""
        reached = threading.Event()

        def at(number: int) -> None:
            if number == 10:
                reached.set()

        endpoint.on_request = at
        endpoint.seconds = 0.05
        how = scorer(endpoint, redis_url, max_concurrency=2, budget=Budget(calls=45))
        context = multiprocessing.get_context("spawn")
        victim = context.Process(target=score_briefly_leased, args=(pickle.dumps(how),))
        victim.start()
        assert reached.wait(600)
        assert victim.pid is not None
        os.kill(victim.pid, signal.SIGKILL)
        victim.join()
        report = opened(tmp_path, [how(batch(0, 40))], rows=40)
        assert report.summary()[0].scored == 40
        assert endpoint.asked.total() <= 42  # The two requests in flight are sent again.


class TestSecrets:
    """Keys are in the workers' environment only."""

    def test_no_message_has_a_key(
        self, tmp_path: Path, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """No key is in pickles, tables, commands to the server, or the server's data."""
        server = RedisServer(tmp_path)
        server.start()
        client = server.client()
        client.config_set("requirepass", "redis-secret")
        client.close()
        monkeypatch.setenv("OPENAI_API_KEY", "sk-endpoint-secret")
        monkeypatch.setenv("REDIS_PASSWORD", "redis-secret")
        seen: list[bytes] = []
        try:
            with socket.create_connection(("127.0.0.1", server.port)) as monitor:
                monitor.sendall(b"AUTH redis-secret\r\nMONITOR\r\n")
                reading = threading.Thread(target=_drain, args=(monitor, seen))
                reading.start()
                how = scorer(endpoint, server.url, budget=Budget(calls=25, rate=500.0))
                made = how(batch(0, 40))
                with pytest.raises(StoreError) as lost:
                    RedisLedger("redis://127.0.0.1:9/0")
                report = opened(tmp_path, [made], rows=40)
                monitor.shutdown(socket.SHUT_RDWR)
                reading.join()
            from redis import Redis

            with Redis(port=server.port, password="redis-secret") as client:  # noqa: S106
                kept = [(key, client.dump(key)) for key in client.keys("*")]
        finally:
            server.stop()
        assert report.summary()[0].scored == 25
        assert endpoint.keys == {"Bearer sk-endpoint-secret"}
        assert len(kept) > 25
        assert any(b"fullrecall:{answer:" in each for each in seen)
        told = [str(seen), str(kept), str(made), str(report.summary()), str(lost.value), repr(how)]
        told += [str(pickle.dumps(each)) for each in (how, how.over, made)]
        assert not [text for text in told if "-secret" in text]


def _drain(monitor: socket.socket, seen: list[bytes]) -> None:
    with contextlib.suppress(OSError):
        while told := monitor.recv(1 << 20):
            seen.append(told)
