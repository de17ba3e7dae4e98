"""A client's connections: verified certificates, and one loop for calls without a loop."""

from __future__ import annotations

import asyncio
import logging
import threading
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any

import pytest

from fullrecall import LLMJudge
from fullrecall.judge import OpenAIChatModel
from fullrecall.judge.models import remote_model, transport
from fullrecall.judge.models.redaction import hide_fields
from fullrecall.judge.models.scripted import ScriptedChatModel
from fullrecall.judge.models.transport import Portal, closed


@pytest.mark.parametrize(
    ("address", "proxies", "verified"),
    [
        ("https://example.com", {}, True),
        ("https://example.com", {"https": "proxy"}, True),
        (None, {}, True),
        ("http://127.0.0.1:1", {}, False),
        ("http://127.0.0.1:1", {"http": "https://proxy"}, True),
    ],
)
def test_certificates_are_verified(
    address: str | None, proxies: dict[str, str], *, verified: bool, monkeypatch: Any
) -> None:
    """Certificates are verified, except where no connection has one."""
    seen: list[Any] = []

    def made(_: str) -> Any:
        def client(**options: Any) -> None:
            seen.append(options["verify"])

        return client

    monkeypatch.setattr(remote_model, "bounded_client", made)
    monkeypatch.setattr(remote_model, "getproxies", lambda: proxies)
    model = OpenAIChatModel("m", base_url=address, api_key="k")
    asyncio.run(model._client())
    assert seen == [verified]


async def _thread() -> int:
    return threading.get_ident()


def test_a_portal_has_one_thread_until_it_is_closed() -> None:
    """All calls share one thread; after `close` the next call starts another one."""
    portal = Portal()
    first = portal.call(_thread)
    thread = portal._thread
    assert thread is not None
    assert thread.daemon, "a program that does not close the portal ends"
    assert (portal.call(_thread), portal._thread) == (first, thread)
    assert first != threading.get_ident()
    portal.close(5.0)
    assert not thread.is_alive()
    assert portal._thread is None
    assert portal.call(_thread) != threading.get_ident()
    assert portal._thread is not thread
    portal.close(5.0)


def test_a_fork_of_the_process_has_its_own_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that was forked uses no loop of its parent, whose threads it does not have."""
    portal = Portal()
    parents, end = portal.call(_thread), portal._ending
    assert end is not None
    with monkeypatch.context() as child:
        child.setattr("os.getpid", lambda: -1)
        assert portal.call(_thread) != parents
        portal.close(5.0)
    end()


def test_an_interrupted_call_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    """After Ctrl-C the coroutine does not run on in the portal's loop."""
    cancelled = threading.Event()

    class Interrupted(SimpleQueue[Any]):
        def get(self, *_: object, **__: object) -> Any:
            started.wait(5.0)
            raise KeyboardInterrupt

    async def wait() -> None:
        started.set()
        try:
            await asyncio.sleep(60.0)
        except asyncio.CancelledError:
            cancelled.set()

    portal, started = Portal(), threading.Event()
    monkeypatch.setattr(transport, "SimpleQueue", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        portal.call(wait)
    assert cancelled.wait(1.0)
    portal.close(5.0)


def test_a_connection_that_fails_to_close_leaves_no_other_open() -> None:
    """All connections are closed, also after one of them failed to close."""
    ended: list[str] = []

    async def fails() -> None:
        raise ConnectionResetError

    async def ends() -> None:
        await asyncio.sleep(0.001)
        ended.append("yes")

    asyncio.run(closed([fails, ends]))
    assert ended == ["yes"]


@pytest.mark.parametrize(("verify", "by_rules"), [("rules", True), ("model", False)])
def test_who_verifies_quotes(verify: Any, *, by_rules: bool) -> None:
    """A judge says whether rules alone verify its quotes."""
    assert LLMJudge(ScriptedChatModel(["{}"]), verify=verify).quotes_by_rules is by_rules


def test_the_logs_of_a_frameworks_model_have_no_secret(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """After a framework's model is read, its HTTP client logs no key of it."""
    logger = logging.getLogger("httpx")
    monkeypatch.setattr(logger, "filters", [])
    hide_fields(SimpleNamespace(api_key="secret-of-a-model"))
    with caplog.at_level(logging.INFO, "httpx"):
        logger.info("sent secret-of-a-model to %s", "an endpoint")
    assert len(caplog.records) == 1
    assert "secret-of-a-model" not in caplog.text
