"""Remove secrets from all text that is kept or shown.

A model registers its key and its passwords when it is created (`hide`). Replies of endpoints pass
`without_secrets`; messages about failures and the logs of HTTP clients pass `redacted`. Both find a
secret in any letter case, percent-encoded, JSON-escaped and in Base64. Texts are shortened only
afterwards, because a truncated secret would not be found.
"""

from __future__ import annotations

import base64
import json
import re
import threading
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, unquote, urlsplit, urlunsplit
from urllib.request import getproxies

if TYPE_CHECKING:
    import logging

REDACTED = "[redacted]"

_SHORTEST = 4
"""The fewest characters of a secret that is removed; shorter texts occur everywhere."""

_PATTERN_BETWEEN = r"\\*+"
"""Backslashes that may occur between a secret's characters, since JSON in JSON is escaped twice."""

_WORD = re.compile(r"[A-Za-z]?[a-z]*([-_ ][a-z]+)*")
"""Secrets that may be ordinary words ("ollama", "lm-studio"); they are removed only from messages.
"""

_HEADERS = frozenset({"default_headers", "default_query", "extra_headers", "extra_query"})
"""Options of a model in which any value may identify the user."""

_SECRET_NAME = re.compile(
    r"key|token(?!s|iz)|secret|passw|auth|cookie|credential|signature", re.IGNORECASE
)

_PATTERNS = (
    (re.compile(r"(?i)\b([a-z][a-z0-9+.-]{0,20}://)[^\s/@\"'<>]+@"), rf"\1{REDACTED}@"),
    (re.compile(r"(?i)\b(bearer|basic)(\s+)[a-z0-9._~+/=-]{6,}"), rf"\1\2{REDACTED}"),
    (
        re.compile(
            r"(?i)((?:api[-_]?key|access[-_]?key|(?:access[-_]?|auth[-_]?)?token|client[-_]?secret"
            r"|secret|password|passwd|authorization|signature|sig)[\"']?\s*[=:]\s*[\"']?)"
            r"(?!\[redacted|basic\b|bearer\b)[^\s\"'&,;<>{}\[\]]{4,}"
        ),
        rf"\1{REDACTED}",
    ),
    (re.compile(r"\b(?:sk|pk|rk|gsk|hf|xai|ghp|key)[-_][A-Za-z0-9_*-]{8,}"), REDACTED),
)
"""Patterns of secrets in messages, each with its replacement."""

_LOGGERS = frozenset(
    "openai anthropic httpx httpx2 httpcore httpcore2 h11 h2 hpack anyio asyncio".split()
)
"""The packages whose loggers are filtered, with their child loggers, which do not inherit filters.
asyncio is included because event loops log exceptions that were never retrieved.
"""


def _redact_record(record: logging.LogRecord) -> bool:
    """Redact the secrets in a log record; accept every record."""
    message = record.getMessage()
    clean = redacted(message)
    if clean != message:
        record.msg, record.args = clean, ()
    if record.exc_info:
        import logging

        trace = logging.Formatter().formatException(record.exc_info)
        # logging prints `exc_text` if it is set. Clear `exc_info`: other formatters would print it,
        # with the secrets.
        record.exc_text, record.exc_info = redacted(trace), None
    return True


_LOCK = threading.Lock()
_secrets: tuple[str, ...] = ()  # lower case, without backslashes, the longest first
_in_texts: tuple[str, ...] = ()  # the secrets that are not ordinary words


def hide(*secrets: str | None) -> None:
    """Register secrets, which are then removed from texts in every form that `_forms` yields."""
    global _secrets, _in_texts  # noqa: PLW0603 - one process has one set of secrets

    stripped = [secret.strip() for secret in secrets if secret]
    forms = {form.lower().replace("\\", "") for secret in stripped for form in _forms(secret)}
    with _LOCK:
        new = {form for form in forms if len(form) >= _SHORTEST} - {*_secrets, "none"}
        if not new:
            return
        # Remove the longest first: a secret that begins a longer one would leave the rest of it.
        _secrets = tuple(sorted({*_secrets, *new}, key=len, reverse=True))
        words = {secret.lower() for secret in stripped if _WORD.fullmatch(secret)}
        _in_texts = tuple(
            form for form in _secrets if form in _in_texts or (form in new and form not in words)
        )


def watch_logs() -> None:
    """Redact the logs of HTTP clients; call this after they are imported."""
    import logging

    loggers = list(logging.root.manager.loggerDict.items())
    for name in {*_LOGGERS, *(name for name, _ in loggers)}:
        if name.partition(".")[0] in _LOGGERS:
            # Several calls add the filter only once.
            logging.getLogger(name).addFilter(_redact_record)


def hide_values(value: object, *, is_secret: bool = False) -> None:
    """Hide a value that is secret, the secret fields of a mapping, and the secrets in addresses."""
    reveal = getattr(value, "get_secret_value", None)
    if callable(reveal):
        hide_values(reveal(), is_secret=True)
    elif isinstance(value, Mapping):
        for name, named_value in value.items():
            is_named = name in _HEADERS or names_secret(str(name))
            hide_values(named_value, is_secret=is_secret or is_named)
    elif isinstance(value, (list, tuple)):
        for element in value:
            hide_values(element, is_secret=is_secret)
    elif isinstance(value, bytes):
        hide_values(value.decode(errors="replace"), is_secret=is_secret)
    elif isinstance(value, str) and is_secret:
        hide(value, value.split(" ")[-1])  # hide the token of "Bearer …" also without its scheme
    elif isinstance(value, str) and "://" in value:
        hide_url(value)


def hide_fields(model: object) -> None:
    """Hide the keys, headers and addresses in the fields of a framework's model."""
    hide_values(getattr(model, "__dict__", {}))
    watch_logs()


def names_secret(name: str) -> bool:
    """Return whether the value of an option or header with this name is a secret."""
    return _SECRET_NAME.search(name) is not None


def hide_environment(package: str, environment: Mapping[str, str]) -> None:
    """Hide a client's secrets in environment variables, and the passwords of proxies."""
    own = f"{package.upper()}_"
    hide_values({name: value for name, value in environment.items() if name.startswith(own)})
    for proxy in getproxies().values():
        hide_url(proxy if "://" in proxy else f"http://{proxy}")


def hide_url(url: str) -> None:
    """Hide the password of an address and the values of its parameters.

    Without a password, hide the user; without a value, hide the name of the parameter.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return
    user, password = parts.username or "", parts.password or ""
    if user or password:
        credentials = f"{unquote(user)}:{unquote(password)}"
        basic = base64.b64encode(credentials.encode("utf-8", "surrogatepass")).decode()
        _hide_unless_word(password, user)
        hide(basic.rstrip("="))
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        _hide_unless_word(value, name)


def _hide_unless_word(value: str, name: str) -> None:
    """Hide a value; without a value, hide the name if it cannot be an ordinary word."""
    if value or not _WORD.fullmatch(name):
        hide(unquote(value or name), value or name)


def public_url(url: str) -> str:
    """Return an address without its user, password and parameters."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def public_options(options: Mapping[str, object]) -> str:
    """Return the options that identify a model as ",name=value", sorted, without secrets.

    Values whose text may differ between processes are left out.
    """
    parts = (
        f",{name}={value!r}"
        for name, value in sorted(options.items())
        if _is_plain(value) and not names_secret(name) and not _PRIVATE.search(name)
    )
    return redacted("".join(parts))


_PRIVATE = re.compile("header|extra_", re.IGNORECASE)
"""Options that may hold any value that a user sends."""


def _is_plain(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(map(_is_plain, value.values()))
    return isinstance(value, (str, int, float))


def without_secrets(text: str) -> str:
    """Return a reply without the registered secrets that cannot be ordinary words."""
    return _replaced(text, _in_texts)


def redacted(message: str) -> str:
    """Return a message without registered secrets, and without texts that look like secrets."""
    message = _replaced(message, _secrets)
    for pattern, instead in _PATTERNS:
        message = pattern.sub(instead, message)
    return message


def _replaced(text: str, secrets: tuple[str, ...]) -> str:
    if not secrets:
        return text
    # Few texts have a secret, and a plain search for each secret is faster than one pattern.
    bare = text.lower().replace("\\", "")
    patterns = [
        _PATTERN_BETWEEN.join(map(re.escape, secret)) for secret in secrets if secret in bare
    ]
    return re.sub("|".join(patterns), REDACTED, text, flags=re.IGNORECASE) if patterns else text


def _forms(secret: str) -> Iterator[str]:
    """Yield the forms in which a secret may occur, without backslashes."""
    yield secret
    yield quote(secret, safe="", errors="surrogatepass")
    yield quote(secret, errors="surrogatepass")
    yield json.dumps(secret)[1:-1]
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        yield encode(secret.encode("utf-8", "surrogatepass")).decode().rstrip("=")
