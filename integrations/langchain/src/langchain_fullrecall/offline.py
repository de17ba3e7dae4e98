"""Run LangSmith's `evaluate` without sending requests to LangSmith."""

from __future__ import annotations

from typing import Any, NoReturn

from langsmith import Client
from langsmith.utils import LangSmithError
from requests.adapters import BaseAdapter


class _NoTransport(BaseAdapter):
    """Refuses requests, in place of the adapter that would send them."""

    def send(self, request: Any, *_settings: Any, **_options: Any) -> NoReturn:
        raise LangSmithError(
            f"offline_client() sends nothing, also not {request.method} {request.path_url}: "
            "pass data=, examples and experiments themselves instead of their names"
        )

    def close(self) -> None:
        """Do nothing: no connection is open."""


class _OfflineClient(Client):
    """A client that keeps runs and feedback in the process."""

    # Runs stay in memory, where evaluators find them in `child_runs`. A sampling rate of 0 has the
    # same effect in current versions, but not in langsmith 0.4.

    def create_run(self, *_args: Any, **_fields: Any) -> None:
        """Send nothing."""

    update_run = batch_ingest_runs = multipart_ingest = create_run


def offline_client() -> Client:
    """Return a LangSmith client that sends no requests, for local eval runs.

        langsmith.evaluate(target, data=examples, evaluators=[RecallStringEvaluator()],
                           client=offline_client(), upload_results=False)

    `upload_results=False` alone keeps the experiment back, but not the runs of LangChain objects
    in it: questions, documents and a judge's prompts are sent even with tracing switched off. This
    client sends none of them, and evaluators still see `child_runs`. `data` are `Example`s; a call
    that needs LangSmith, such as loading a data set by name, raises `LangSmithError`.
    """
    client = _OfflineClient(
        api_url="https://offline.invalid", api_key="offline", info={}, auto_batch_tracing=False
    )
    for scheme in ("https://", "http://"):
        client.session.mount(scheme, _NoTransport())
    return client
