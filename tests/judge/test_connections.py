"""A client's connections: verified certificates, and one loop for calls without a loop."""

from __future__ import annotations

import asyncio
import logging
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from fullrecall import LLMJudge
from fullrecall.judge import OpenAIChatModel
from fullrecall.judge.models import remote_model
from fullrecall.judge.models.redaction import hide_fields
from fullrecall.judge.models.scripted import ScriptedChatModel
from fullrecall.judge.models.transport import Portal


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
    assert (portal.call(_thread), portal._thread) == (first, thread)
    assert first != threading.get_ident()
    portal.close(5.0)
    assert not thread.is_alive()
    assert portal._thread is None
    assert portal.call(_thread) != threading.get_ident()
    assert portal._thread is not thread
    portal.close(5.0)


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
