"""Signatures of saved reports: who has no key can change no byte unnoticed.

A signature is a file beside the report, `report.jsonl.hmac`: HMAC-SHA256 (RFC 2104) of the report's
bytes; of a directory, of its manifest, which has the digests of its files.
"""

from __future__ import annotations

import hmac
from functools import partial
from hashlib import file_digest
from pathlib import Path

from fullrecall.errors import ParameterError, ReportError
from fullrecall.files.reports.signature import MANIFEST

SUFFIX = ".hmac"
_FEWEST = 16
"""Bytes of a key: fewer could be guessed."""


def sign(path: Path, key_file: str | Path) -> None:
    """Write the signature of a saved report beside it."""
    _beside(path).write_text(_signature(path, key(key_file)) + "\n", "ascii")


def check_signature(path: Path, key_file: str | Path) -> None:
    """Raise `ReportError` for a report that was not signed with this key, or edited since."""
    secret = key(key_file)
    beside = _beside(path)
    try:
        signature = beside.read_bytes().strip()
    except OSError:
        raise ReportError(
            f"{path} has no signature {beside.name}: sign it where it is made, with "
            "evaluate --sign or Report.save(sign=…)"
        ) from None
    # Not ==, whose time tells how many characters of a guess are right.
    if not hmac.compare_digest(signature, _signature(path, secret).encode()):
        raise ReportError(
            f"{path} is not what was signed with the key in {key_file}: it was edited, or signed "
            "with another key"
        )


def remove(path: Path) -> None:
    """Remove the signature of what is replaced."""
    _beside(path).unlink(missing_ok=True)


def key(key_file: str | Path) -> bytes:
    """Return the key that a file has, without white space around it.

    Raises `ParameterError` for a file that cannot be read, or has too short a key.
    """
    path = Path(key_file)
    try:
        secret = path.read_bytes().strip()
    except OSError as error:
        raise ParameterError(f"the key file {path} cannot be read: {error.strerror}") from None
    if len(secret) < _FEWEST:
        raise ParameterError(
            f"the key in {path} must have at least {_FEWEST} bytes, got {len(secret)}: make one "
            "with `openssl rand -hex 32`"
        )
    return secret


def _signature(path: Path, secret: bytes) -> str:
    signed = path / MANIFEST if path.is_dir() else path
    try:
        with signed.open("rb") as file:
            digest = file_digest(file, partial(hmac.new, secret, digestmod="sha256"))
    except OSError as error:
        raise ReportError(f"{signed} cannot be read: {error.strerror}") from None
    return digest.hexdigest()


def _beside(path: Path) -> Path:
    return path.with_name(path.name + SUFFIX)
