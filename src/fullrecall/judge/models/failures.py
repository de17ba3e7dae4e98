"""Convert any client's exception to a kind of failure, and the seconds to wait.

Clients name their exceptions differently, but all have an HTTP status (on the exception, its
response or its cause) or a class name that shows the failure. No client is imported.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from math import inf
from typing import Any

from fullrecall.judge.models.chat import Completion, Failure

_BY_STATUS = {
    401: Failure.DENIED,
    402: Failure.DENIED,
    403: Failure.DENIED,
    404: Failure.UNKNOWN,
    408: Failure.TIMEOUT,
    409: Failure.SERVER,  # clients retry 409, since a lock may not be available yet
    425: Failure.RATE_LIMIT,
    429: Failure.RATE_LIMIT,
}
_BY_CODE = {
    "insufficient_quota": Failure.DENIED,  # sent as 429, but waiting does not help
    "model_not_found": Failure.UNKNOWN,
    "content_filter": Failure.REFUSED,
}
"""Failures for which the `code` in the body is more precise than the status."""

_BY_NAME = (
    (Failure.RATE_LIMIT, r"ratelimit|toomanyrequests|throttl|resourceexhausted"),
    (Failure.TIMEOUT, r"timeout|timedout|deadlineexceeded"),
    (Failure.DENIED, r"authenticationerror|permissiondenied|unauthenticated"),
    (Failure.UNKNOWN, r"notfounderror|modelnotfound"),
    (Failure.INVALID, r"badrequest|unprocessableentity|invalidrequest"),
    (Failure.SERVER, r"internalservererror|serviceunavailable|overloaded"),
    (Failure.MALFORMED, r"jsondecodeerror|decodingerror|responsevalidationerror"),
    (
        Failure.CONNECTION,
        r"connect|network|protocolerror|readerror|writeerror|incompleteread|payloaderror|clientos",
    ),
)
"""Patterns of class names, the most precise first.

In many clients, the class of timeouts derives from that of connection errors.
"""

_MENTION = re.compile(r"([\"'`]|: |(?:^| - )(?=\w++:))?\b(\w++)")
"""A word of a message, and the mark before it.

Without a mark, a common word such as "stop" or "user" does not name a field.
"""
_TOO_LONG = re.compile("context (?:length|window|size)", re.IGNORECASE)
_GRAMMAR = re.compile("grammar|schema|response_format|guided|structured", re.IGNORECASE)

_DEEPEST = 8
"""The most links of an exception's chain of causes that are examined."""

_READ = 8_192
"""The characters of a client's message that are searched for secrets. They are many more than are
shown, so that a secret that is cut at this limit is never shown.
"""

_LONGEST = 300
"""The most characters of a failure's message, which each sample's reason repeats."""


def failed(error: Exception) -> Completion:
    """Return a completion with the failure that a client's exception means."""
    failure, wait = Failure.TRANSPORT, None
    for link in links(error):
        link_failure = _failure(link)
        if link_failure is not None:
            failure, wait = link_failure, _wait(link)
            break
    detail = shortened(f"{type(error).__name__}: {error}")
    return Completion("", failure=failure, detail=detail, wait=wait)


def shortened(detail: str) -> str:
    """Return a failure's message without secrets, cut to 300 characters."""
    from fullrecall.judge.models.redaction import redacted  # compiling its patterns takes long

    detail = redacted(detail[:_READ])
    return detail if len(detail) <= _LONGEST else f"{detail[: _LONGEST - 1]}…"


def links(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and its causes, the outermost first."""
    for _ in range(_DEEPEST):
        if error is None:
            return
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _failure(error: BaseException) -> Failure | None:
    code = getattr(error, "code", None)
    if isinstance(code, str) and code in _BY_CODE:
        return _BY_CODE[code]
    status = _status(error)
    if status is not None:
        if status >= 500:  # noqa: PLR2004 - HTTP's own classes
            return Failure.SERVER
        if status < 400:  # noqa: PLR2004 - as above
            return Failure.MOVED
        return _BY_STATUS.get(status, Failure.INVALID)
    # Include base classes, since clients derive exceptions from those of their HTTP library.
    names = " ".join(kind.__name__ for kind in type(error).__mro__)
    for failure, part in _BY_NAME:
        if re.search(part, names, re.IGNORECASE):
            return failure
    return None


def named_field(error: BaseException, fields: Collection[str]) -> str:
    """Return the first field of a request that an error names; empty if it names no field."""
    param = re.split(r"[.\[]", str(getattr(error, "param", None)))[0]
    if param in fields:
        return param
    message = f"{error} {getattr(error, 'body', '')}"[:_READ]  # not every client shows the body
    if _TOO_LONG.search(message):  # no field is at fault
        return ""
    mentioned = (
        word
        for mark, word in _MENTION.findall(message)
        if word in fields and (mark or not word.isalpha() or word == "temperature")
    )
    return next(mentioned, "")


def failed_grammar(error: BaseException) -> bool:
    """Return whether a server failed to build the grammar for a schema."""
    return is_server_error(error) and _GRAMMAR.search(str(error)) is not None


def is_server_error(error: BaseException) -> bool:
    """Return whether a server failed with status 500.

    A server that is overloaded or still starting answers with another status.
    """
    return any(_status(link) == 500 for link in links(error))  # noqa: PLR2004 - HTTP's own


def _status(error: BaseException) -> int | None:
    """Return the HTTP status of an error, 300 to 599, wherever a client keeps it.

    Returns None if the error has no such status.
    """
    response = getattr(error, "response", None)
    if isinstance(response, Mapping):  # botocore's
        response = response.get("ResponseMetadata")
        candidates = [response.get("HTTPStatusCode")] if isinstance(response, Mapping) else []
    else:
        candidates = [getattr(response, name, None) for name in ("status_code", "status")]
    names = ("status_code", "http_status", "status", "code")
    candidates += [getattr(error, name, None) for name in names]
    for candidate in candidates:
        if isinstance(candidate, int) and 300 <= candidate < 600:  # noqa: PLR2004 - as above
            return int(candidate)
    return None


def _wait(error: BaseException) -> float | None:
    """Return the seconds to wait that `Retry-After` gives, as a number or a date, or None."""
    places = (getattr(error, "response", None), error)
    headers: Any = next(filter(None, (getattr(place, "headers", None) for place in places)), {})
    found = {str(name).lower(): headers[name] for name in headers}
    # OpenAI's own header is more precise than the standard one, which has whole seconds.
    for name, per_second in (("retry-after-ms", 1000), ("retry-after", 1)):
        with suppress(ValueError):
            number = float(str(found.get(name)))
            if 0 <= number < inf:
                return number / per_second
    until, sent = (_date(found.get(name)) for name in ("retry-after", "date"))
    if until is None:
        return None
    # Count from the endpoint's date, since the local clock may differ.
    seconds = (until - (sent or datetime.now(UTC))).total_seconds()
    return seconds if seconds > 0 else None


def _date(value: object) -> datetime | None:
    """Parse an HTTP date in any of its three forms (RFC 9110, 5.6.7).

    Return None for other values.
    """
    # This module imports sockets and codecs, and is rarely needed.
    from email.utils import parsedate_to_datetime

    with suppress(ValueError, TypeError, OverflowError):
        date = parsedate_to_datetime(str(value))
        return date if date.tzinfo is not None else date.replace(tzinfo=UTC)
    return None
