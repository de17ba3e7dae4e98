"""Errors in the words of the command line."""

from __future__ import annotations

import re

from fullrecall.errors import InputError, MissingExtraError

_IN_PYTHON = (
    (re.compile(r"rename=\{'([^']+)': None\}"), r"--rename \1="),
    (re.compile(r"rename=\{…: None\}"), "--rename COLUMN="),
    (re.compile(r"read\(path, format='(\w+)'\)"), r"--format \1"),
    (re.compile(r"pass format="), "pass --format"),
    (re.compile(r"^target is"), "--smallest-k is"),
    (re.compile(r"read_trec\(qrels, run\)"), "--run"),
    (re.compile(r"or None to leave the column out"), "or leave the column out: OLD="),
    (re.compile(r", or give a callable"), ""),
    (
        re.compile(r"set OPENAI_API_KEY, give api_key=…, or give the base_url of"),
        "set OPENAI_API_KEY, or give with --base-url the address of",
    ),
)
"""What the library advises in Python, with the option that does the same."""


def explained(error: BaseException) -> tuple[str, ...]:
    """Return an error as a title and lines below it: where it stands, what it is, the way out."""
    if isinstance(error, InputError):
        lines = as_options(error.problem).splitlines()
        if error.field is not None:
            lines.append(f"field: {error.field}")
        return (_place(error), *lines)
    if isinstance(error, MissingExtraError):
        reason, _, command = str(error).rpartition(": ")
        return (reason, command)
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename is not None else ""
        return (f"{where}{error.strerror or error}",)
    return (as_options(str(error)),)


def _place(error: InputError) -> str:
    place = error.path or "the input"
    return place if error.line is None else f"{place}, line {error.line:,}"


def as_options(problem: str) -> str:
    """Return what a library function says of a problem, as the command line says it."""
    for pattern, option in _IN_PYTHON:
        problem = pattern.sub(option, problem)
    return problem
