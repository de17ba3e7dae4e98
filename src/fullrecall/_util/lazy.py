"""Names of a package that load their module when they are first used."""

from __future__ import annotations

import linecache
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any

_EXPORT = re.compile(r"^ *+from (\S++) import (?:\(\s++)?(\w++) as \2\b", re.MULTILINE)
"""An import under the same name, which says to type checkers that the name is public (PEP 484)."""


def missing(package: str, name: str, public_names: Iterable[str]) -> AttributeError:
    """Return the error for a name that a package does not have; it suggests a similar name."""
    from difflib import get_close_matches  # imported only for a mistake

    by_letters = {candidate.lower().replace("_", ""): candidate for candidate in public_names}
    near = get_close_matches(name.lower().replace("_", ""), by_letters, 1)
    way = f": did you mean {by_letters[near[0]]}?" if near else ""
    return AttributeError(f"module {package!r} has no attribute {name!r}{way}")


@cache
def exports(package: str) -> Mapping[str, str]:
    """Return the names that a package imports for type checkers, each with its module.

    The names are read from the package's source, so that its imports are the only list of names. In
    a program built without sources, they are read from the compiled code.
    """
    module = sys.modules[package]
    # Do not ask the loader for the source: pytest's loader, which loads this package as a plug-in,
    # has none.
    source = "".join(linecache.getlines(str(module.__file__), vars(module)))
    if source:
        return {name: where for where, name in _EXPORT.findall(source)}
    return dict(_compiled_exports(package))


def _compiled_exports(package: str) -> Iterator[tuple[str, str]]:
    from dis import get_instructions

    loader: Any = getattr(sys.modules[package], "__loader__", None)
    where = ""
    for step in get_instructions(loader.get_code(package)):
        if step.opname == "IMPORT_NAME":
            where = step.argval
        elif step.opname == "IMPORT_FROM" and where.startswith(package.partition(".")[0]):
            yield step.argval, where


def names(package: str, *own: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of `package`: it loads each export once, and returns `__all__`.

    `own` are the public names that the package defines itself.
    """

    def __getattr__(name: str) -> Any:  # noqa: N807 - the name that Python calls (PEP 562)
        modules = exports(package)
        if name == "__all__":
            return sorted([*modules, *own])
        if name not in modules:
            raise missing(package, name, modules)
        from fullrecall._util.garbage import age, uncollected
        from fullrecall._util.parameters import public

        with uncollected():
            value = public(getattr(import_module(modules[name]), name), package)
            age()  # before the block ends, since its end starts a collection
        # Python calls `__getattr__` only for missing names, so set this name: later reads are then
        # direct.
        setattr(sys.modules[package], name, value)
        return value

    return __getattr__
