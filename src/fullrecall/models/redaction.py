"""Secrets out of everything that is kept or shown: one layer, through which all passes.

A model registers its key and passwords when it is made (`hide`). What endpoints reply passes
`without_secrets`, what they and clients say of a failure passes `redacted`, and so does what HTTP
clients log. Both find a secret in any case, and percent-encoded, escaped, in Base64 and in hex too.
"""

from __future__ import annotations

import base64
import json
import re
import threading
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit, urlunsplit

if TYPE_CHECKING:
    import logging

REDACTED = "[redacted]"

_SHORTEST = 4
"""Characters of the shortest secret that is looked for: less occurs in any text."""

_WORD = re.compile(r"[A-Za-z]?[a-z]*([-_ ][a-z]+)*")
"""What may be a word of a reply ("ollama", "lm-studio") is taken out of messages alone."""

_PUBLIC = frozenset({"api-version", "version"})
"""Parameters of an address that say what is asked, and not who asks."""

_SECRET_NAME = re.compile(
    r"key|token(?!s)|secret|passw|auth|cookie|credential|signature", re.IGNORECASE
)

_PATTERNS = (
    (re.compile(r"(?i)\b([a-z][a-z0-9+.-]*://)[^\s/@\"'<>]+@"), rf"\1{REDACTED}@"),
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
"""What looks like a secret in a message, whoever it belongs to."""

_LOGGERS = (
    *(
        f"{package}{part}"
        for package in ("openai", "anthropic")
        for part in ("", "._base_client", "._response", "._legacy_response")
    ),
    *(
        f"{library}{part}"
        for library in ("httpcore", "httpcore2")
        for part in (".connection", ".http11", ".http2", ".proxy", ".socks")
    ),
    "httpx", "httpx2",
)  # fmt: skip
"""Filters of a logger do not hold for its children: each that logs is named."""


class _Filter:
    """Takes secrets out of what HTTP clients log."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Let every record pass, redacted where it has to be."""
        told = record.getMessage()
        clean = redacted(told)
        if clean != told:
            record.msg, record.args = clean, ()
        if record.exc_info:
            import logging

            trace = logging.Formatter().formatException(record.exc_info)
            record.exc_text, record.exc_info = redacted(trace), None
        return True


_LOCK = threading.Lock()
_FILTER = _Filter()
_known: tuple[str, ...] = ()  # in lower case, the longest first
_in_texts: tuple[str, ...] = ()  # those of them that are no words


def hide(*secrets: str | None) -> None:
    """Take these out of everything from here on, however they are written."""
    global _known, _in_texts  # noqa: PLW0603 - one process has one set of secrets
    import logging

    given = [secret.strip() for secret in secrets if secret]
    forms = {form.lower() for secret in given for form in _forms(secret)}
    with _LOCK:
        new = {form for form in forms if len(form) >= _SHORTEST} - {*_known, "none"}
        if not new:
            return
        _known = tuple(sorted({*_known, *new}, key=len, reverse=True))
        words = {secret.lower() for secret in given if _WORD.fullmatch(secret)}
        _in_texts = tuple(
            form for form in _known if form in _in_texts or (form in new and form not in words)
        )
        for name in _LOGGERS:
            logging.getLogger(name).addFilter(_FILTER)  # added once, however often it is asked


def hide_values(named: Mapping[str, object], *, all_of_them: bool = False) -> None:
    """Hide the values of headers, parameters or options: of all, or of those named as secrets."""
    for name, value in named.items():
        if isinstance(value, Mapping):
            hide_values(value, all_of_them=all_of_them)
        elif isinstance(value, str) and (all_of_them or _SECRET_NAME.search(name)):
            hide(value, value.split(" ")[-1])  # "Bearer …": the scheme is no secret


def hide_url(url: str) -> None:
    """Hide the password of an address, and the values of its parameters."""
    parts = urlsplit(url)
    if parts.password:
        user = unquote(parts.username or "")
        password = unquote(parts.password)
        basic = base64.b64encode(f"{user}:{password}".encode()).decode()
        hide(password, parts.password, basic.rstrip("="))
    hide(*(value for name, value in parse_qsl(parts.query) if name.lower() not in _PUBLIC))


def public_url(url: str) -> str:
    """Return an address without user, password and the values of its parameters."""
    parts = urlsplit(url)
    query = "&".join(
        f"{name}={value if name.lower() in _PUBLIC else REDACTED}"
        for name, value in parse_qsl(parts.query, keep_blank_values=True)
    )
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, query, ""))


def without_secrets(text: str) -> str:
    """Return a reply without the registered secrets; nothing else of it changes."""
    return _replaced(text, _in_texts)


def redacted(message: str) -> str:
    """Return a message without the registered secrets, and without what looks like one."""
    message = _replaced(message, _known)
    for pattern, instead in _PATTERNS:
        message = pattern.sub(instead, message)
    return message


def _replaced(text: str, secrets: tuple[str, ...]) -> str:
    if not secrets:
        return text
    lowered = text.lower()
    found = [re.escape(secret) for secret in secrets if secret in lowered]
    return re.sub("|".join(found), REDACTED, text, flags=re.IGNORECASE) if found else text


def _forms(secret: str) -> Iterator[str]:
    """Yield the ways in which a secret may come back."""
    from html import escape

    raw = secret.encode("utf-8", "surrogatepass")
    yield secret
    yield quote(secret, safe="", errors="surrogatepass")
    yield quote_plus(secret, errors="surrogatepass")
    yield escape(secret)
    yield json.dumps(secret)[1:-1]
    yield raw.hex()
    for encoded in (base64.b64encode(raw), base64.urlsafe_b64encode(raw)):
        yield encoded.decode().rstrip("=")
