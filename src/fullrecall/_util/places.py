"""Files at addresses such as s3://bucket/name; a path without a scheme is a local file.

Addresses are read and written by Arrow's file systems, or by fsspec's if Arrow does not know the
scheme.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fullrecall._util.extras import imported, pyarrow
from fullrecall.errors import FullrecallError, MissingExtraError

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+")
_OF_ARROW = frozenset({"abfs", "abfss", "file", "gcs", "gs", "hdfs", "s3"})
_SHORTEST = 3
"""The fewest characters of a secret; replacing shorter texts would hide half of a message."""

_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


def address_of(path: object) -> str | None:
    """Return an address as a text, even if it became a `Path`; None for a local path."""
    text = os.fsdecode(path).lstrip() if isinstance(path, (str, bytes, os.PathLike)) else ""
    scheme = _SCHEME.match(text)
    if scheme is None or "://" in text:
        return None if scheme is None else text
    # `Path` collapses the slashes of an address to one, so restore them.
    slashes = ":///" if scheme[1] == "file" else "://"
    return f"{scheme[1]}{slashes}{text[scheme.end() :]}"


def shown_path(path: object) -> str:
    """Return a path as messages show it: an address without its user, password and query."""
    address = address_of(path)
    if address is None:
        # A URL with a mistake before its scheme may have a password too, so leave out everything up
        # to the "@".
        scheme, slash, rest = os.fsdecode(path).partition(":/")  # type: ignore[arg-type] # a path
        is_url = bool(slash) and len(scheme) > 1
        return scheme + slash + (rest.rpartition("@")[2] if is_url else rest)
    scheme, _, rest = address.partition("://")
    authority, slash, key = rest.partition("?")[0].partition("#")[0].partition("/")
    host = authority.rpartition("@")[2]
    before, colon, port = host.rpartition(":")
    # A text in the place of a port may be a password, so it is left out. The colons of an IPv6 host
    # are in brackets.
    is_plain = not colon or port.isdigit() or host.endswith("]")
    return f"{scheme.lower()}://{host if is_plain else before}{slash}{key}"


def partitions_of(path: str) -> dict[str, str | None]:
    """Return the columns in the folder names of a path, such as kind=faq/part-0.parquet."""
    from urllib.parse import unquote

    pairs = (folder.partition("=") for folder in path.split("/")[:-1] if "=" in folder)
    return {unquote(k): None if v == _NO_VALUE else unquote(v) for k, _, v in pairs if k}


class Place:
    """A file or folder at an address; failures raise `error` with the address."""

    def __init__(self, address: str, error: type[FullrecallError]) -> None:
        self.shown = shown_path(address)
        self._secrets = _secrets(address)
        self._error = error
        pyarrow(f"reading or writing {self.shown}")
        with self.reached():
            self.filesystem, self.path = _filesystem(address)

    @contextmanager
    def reached(self) -> Iterator[None]:
        """Convert file system errors to `error`, with the address, but without credentials."""
        try:
            yield
        except FullrecallError:
            raise
        except FileNotFoundError:
            raise self._error(f"{self.shown} does not exist") from None
        except (OSError, ValueError, ImportError, RuntimeError, LookupError) as error:
            lines = str(error).splitlines() or [type(error).__name__]
            problem = lines[0]
            for secret in self._secrets:
                problem = problem.replace(secret, "…")
            raise self._error(
                f"{self.shown} cannot be reached: {problem}: check the address, its credentials "
                "(by the provider's environment variables or files), and the network"
            ) from None

    @property
    def kind(self) -> str | None:
        """The kind, "file" or "folder"; None if neither exists."""
        with self.reached():
            name = self.filesystem.get_file_info(self.path).type.name
        return {"File": "file", "Directory": "folder"}.get(name)

    def files(self) -> list[str]:
        """Return the paths of all files in a folder, at any depth, relative to it and in order."""
        import pyarrow.fs as pafs

        with self.reached():
            selector = pafs.FileSelector(self.path, recursive=True)
            entries = self.filesystem.get_file_info(selector)
        start = len(self.path.rstrip("/")) + 1
        return sorted(each.path[start:] for each in entries if each.type == pafs.FileType.File)

    def open(self, name: str = "") -> Any:
        """Open the file, or the file of this name in the folder, in binary mode."""
        with self.reached():
            return self.filesystem.open_input_file(self._inside(name))

    def read(self, name: str = "") -> bytes:
        """Return the content of the file, or of the file of this name in the folder."""
        with self.open(name) as file, self.reached():
            content: bytes = file.read()
            return content

    def write(self, content: Any, name: str = "") -> None:
        """Write this content to the file, or to the file of this name in the folder."""
        with self.reached(), self.filesystem.open_output_stream(self._inside(name)) as file:
            file.write(content)

    def remove(self, name: str = "") -> None:
        """Remove the file, or the file of this name in the folder."""
        with self.reached():
            self.filesystem.delete_file(self._inside(name))

    def make(self) -> None:
        """Make the folder."""
        with self.reached():
            self.filesystem.create_dir(self.path, recursive=True)

    def _inside(self, name: str) -> str:
        return f"{self.path.rstrip('/')}/{name}" if name else self.path


def _secrets(address: str) -> list[str]:
    """Return the parts of an address that no message may show, the longest first."""
    from urllib.parse import unquote, urlsplit

    try:
        parts = urlsplit(address)
    except ValueError:
        return [address]
    user = parts.netloc.rpartition("@")[0]
    values = [address, parts.query, user, *user.split(":")]
    values += re.findall(r"=([^&]*)", parts.query)
    values += [unquote(value) for value in values]
    return sorted({value for value in values if len(value) >= _SHORTEST}, key=len, reverse=True)


def _filesystem(address: str) -> tuple[Any, str]:
    """Return Arrow's file system for an address, and the path in it."""
    import pyarrow.fs as pafs

    scheme = address.partition("://")[0]
    if scheme in _OF_ARROW:
        return pafs.FileSystem.from_uri(address)
    fsspec = imported("fsspec", "fsspec", "remote", f"{scheme}:// addresses")
    try:
        filesystem, path = fsspec.core.url_to_fs(address)
    except ImportError as error:  # a missing package such as s3fs, gcsfs, adlfs
        raise MissingExtraError(
            getattr(error, "name", None) or "fsspec", "remote", f"{scheme}:// ({error})"
        ) from None
    handler: Any = pafs.FSSpecHandler
    return pafs.PyFileSystem(handler(filesystem)), path
