"""The documentation of the running Python's standard library, with judged questions.

Every machine with Python has this collection: its documents are the docstrings of the standard
library's public modules, classes, functions and methods, read with `inspect`. The texts differ
slightly between Python versions; the questions, kept next to this file, name only documents that
Python 3.11, 3.12 and 3.13 all have.
"""

from __future__ import annotations

import concurrent.futures
import functools
import importlib
import inspect
import json
import re
import sys
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from fullrecall.samples.corpus import Document

if TYPE_CHECKING:
    from fullrecall.samples.sample import Sample

FOLDER: Final = Path(__file__).parent
"""The names of the documents, and the questions. The names are chosen by `bench/stdlib_names.py`:
most modules, except those that print, open a window, or change the process when imported."""

_QUESTIONS_FILES: Final = {"plain": "plain_questions.jsonl", "hard": "questions.jsonl"}
# A default that lists live objects of the process, such as its logging handlers.
_LIVE_LIST: Final = re.compile(r"\[<weakref[^\]]*\]")
_MEMORY_ADDRESS: Final = re.compile(r" at 0x[0-9A-Fa-f]+")


@functools.cache
def documents() -> tuple[Document, ...]:
    """Return the collection, sorted by ID; each object once, under its most public name.

    An ID is the qualified name under which users reach the object (`pathlib.Path.rglob`; for
    builtins without a prefix, `str.split`). A text is that name with the call signature if Python
    knows it, an empty line, and the docstring.
    """
    return tuple(
        Document(name, f"{name}{_signature(documented)}\n\n{docstring(documented)}")
        for name, documented in _documented_objects().items()
    )


def questions(wording: Literal["plain", "hard"] = "hard") -> tuple[Sample, ...]:
    """Return the judged questions as samples, in the order of the file.

    `plain` questions are worded as people ask, with words of the answer. `hard` ones describe the
    problem and share almost no word with the answer; they have claims and a reference answer.

    Each sample's `reference_contexts` holds one entry per group of `reference_context_ids`: the
    list of the docstrings (without the line with the name) of that group's alternatives, as the
    running Python has them. Raises `LookupError` when a referenced document does not exist.
    """
    from fullrecall.samples.sample import Sample

    rows = map(json.loads, _lines(_QUESTIONS_FILES[wording]))
    return tuple(Sample(**row, reference_contexts=_reference_texts(row)) for row in rows)


@functools.cache
def _documented_objects() -> dict[str, object]:
    """Return documented objects by the IDs of their documents, except those this Python lacks."""
    # The module has this class in its namespace only after the first access.
    _ = concurrent.futures.ProcessPoolExecutor
    objects: dict[str, object] = {}
    for line in _lines("names.txt"):
        module_name, _, name = line.partition(":")
        documented = _member(importlib.import_module(module_name), name)
        if documented is not None:
            is_bare = module_name == "builtins" or not name
            objects[name or module_name if is_bare else f"{module_name}.{name}"] = documented
    return objects


def _member(module: types.ModuleType, name: str) -> object | None:
    """Return a module's member by its dotted name, the module for ""; None without it."""
    member: object = module
    for part in filter(None, name.split(".")):
        # Asking a module for a deprecated attribute may warn, and a class binds methods.
        member = inspect.getattr_static(member, part, None)
    return member


def underlying(documented: object) -> object:
    """Return the object behind several names, such as the function of a bound method.

    `random.choice`, for example, is the method `random.Random.choice` of a hidden instance.
    """
    bound_to = getattr(documented, "__self__", None)
    if inspect.isbuiltin(documented) and not isinstance(bound_to, types.ModuleType | type | None):
        return getattr(type(bound_to), documented.__name__, documented)
    if isinstance(documented, property):
        return documented.fget or documented
    return getattr(documented, "__func__", documented)


def docstring(documented: object) -> str:
    """Return the object's own docstring without its indentation; empty when it has none."""
    if inspect.isclass(documented):
        text = vars(documented).get("__doc__")
    elif isinstance(documented, classmethod | staticmethod):
        # The wrapper has the function's docstring only if that is a Python function.
        text = documented.__func__.__doc__
    else:
        text = getattr(documented, "__doc__", None)
    return inspect.cleandoc(text).strip() if isinstance(text, str) else ""


def _signature(documented: object) -> str:
    """Return the call signature such as `(obj, *, indent=None)`; empty without one."""
    function = underlying(documented)
    if isinstance(documented, property) or not callable(function):
        return ""
    try:
        signature = str(inspect.signature(function))
    except (AttributeError, TypeError, ValueError):
        # Some C functions raise AttributeError: their default values name constants of their
        # module, which `inspect` cannot resolve.
        return ""
    # Default values may differ between processes and between machines.
    signature = signature.replace(repr(sys.executable), "sys.executable")
    return _LIVE_LIST.sub("[...]", _MEMORY_ADDRESS.sub("", signature))


def _reference_texts(row: dict[str, Any]) -> list[list[str]]:
    objects = _documented_objects()
    return [
        [docstring(objects[document_id]) for document_id in group["any_of"]]
        for group in row["reference_context_ids"]
    ]


def _lines(name: str) -> list[str]:
    return (FOLDER / name).read_text(encoding="utf-8").splitlines()
