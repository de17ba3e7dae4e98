"""How messages name parameters: `retriever=` in Python, `--retriever` on the command line.

The same code writes messages for Python and for the command line: the running program chooses one
form for all messages. The reasons in saved reports are an exception: they always name Python's
parameters, since `Report.load` computes them again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

_as_options = False
_typed: tuple[str, ...] = ()


def parameter(name: str, value: object = None) -> str:
    """Return a parameter as the user writes it, with its value unless that is None."""
    if not _as_options:
        return f"{name}=" if value is None else f"{name}={value!r}"
    option = f"--{name.replace('_', '-')}"
    if value is True:
        return option
    if isinstance(value, Mapping):
        value = ",".join(f"{old}={new or ''}" for old, new in value.items())
    return option if value is None else f"{option} {value}"


def typed() -> Sequence[str] | None:
    """Return the command words that the user typed; None in a Python program."""
    return _typed if _as_options else None


@contextmanager
def options(*words: str) -> Iterator[None]:
    """Name parameters as command-line options in this block, in all threads.

    `words` are the words of the command that the user typed.
    """
    global _as_options, _typed
    before = _as_options, _typed
    _as_options, _typed = True, words
    try:
        yield
    finally:
        _as_options, _typed = before
