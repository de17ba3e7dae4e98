"""Names of a package that load their module when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def names(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of `package`: each name is loaded from its module, once.

    `modules` gives each name the module that has it, relative to the package.
    """

    def __getattr__(name: str) -> Any:  # noqa: N807 - what Python calls it (PEP 562)
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f".{modules[name]}", package), name)
        setattr(sys.modules[package], name, value)
        return value

    return __getattr__
