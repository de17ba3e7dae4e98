"""The user's own objects that the command line names: `app:search`, `path/app.py:search`."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

import typer

if TYPE_CHECKING:
    from fullrecall.run.retrievers import RetrieverLike


def retriever_of(address: str) -> RetrieverLike:
    """Return the retriever that `app:search` names.

    Raises `typer.BadParameter` if it cannot be loaded.
    """
    return cast("RetrieverLike", loaded(address, "--retriever"))


def loaded(address: str, option: str) -> Any:
    """Return the object that the value of an option names, such as `app:search`.

    Raises `typer.BadParameter` if it cannot be loaded.
    """
    source, _, name = address.rpartition(":")
    if not source or not name:
        problem = f"expected MODULE:NAME, such as app.py:search, got {address!r}"
        raise typer.BadParameter(problem, param_hint=option)
    try:
        # The prints of a module go elsewhere, so that --json prints only JSON.
        with redirect_stdout(sys.stderr):
            return attrgetter(name)(_module(source))
    except (Exception, SystemExit) as error:  # A script may call sys.exit() while it is loaded.
        text = f"{type(error).__name__}: {error}".removesuffix(": ").replace("\n", " ")
        problem = f"cannot load {address!r}: {text}"
        raise typer.BadParameter(problem, param_hint=option) from error


def _module(source: str) -> ModuleType:
    """Return a module, also one in a file; like a script, it imports modules beside it."""
    if not source.endswith(".py"):
        # An installed command has its own folder on the path, but not the working directory.
        sys.path.insert(0, str(Path.cwd()))
        return import_module(source)
    path = Path(source)
    if not path.is_file():
        raise FileNotFoundError(f"no file {path}")
    sys.path.insert(0, str(path.resolve().parent))
    spec = spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = module_from_spec(spec)
    # Pickle and dataclasses look up a class's module there.
    sys.modules.setdefault(path.stem, module)
    spec.loader.exec_module(module)
    return module
