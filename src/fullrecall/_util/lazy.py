"""Names of a package that load their module when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any


def missing(package: str, name: str, public_names: Iterable[str]) -> AttributeError:
    """Return the error for a name that a package does not have; it says which one is near."""
    from difflib import get_close_matches  # only a mistake is worth its import

    by_letters = {candidate.lower().replace("_", ""): candidate for candidate in public_names}
    near = get_close_matches(name.lower().replace("_", ""), by_letters, 1)
    way = f": did you mean {by_letters[near[0]]}?" if near else ""
    return AttributeError(f"module {package!r} has no attribute {name!r}{way}")


def names(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of `package`: each name is loaded from its module, once.

    `modules` gives each name the module that has it, relative to the package.
    """

    def __getattr__(name: str) -> Any:  # noqa: N807 - what Python calls it (PEP 562)
        if name not in modules:
            raise missing(package, name, modules)
        from fullrecall._util.parameters import public

        value = public(getattr(import_module(f".{modules[name]}", package), name), package)
        # Python asks `__getattr__` for what the module does not have: from now on not for this.
        setattr(sys.modules[package], name, value)
        return value

    return __getattr__
