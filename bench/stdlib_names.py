"""Choose the documents of `tests/stdlib_docs`: write the names in `names.txt`.

The names have each documented object of the standard library once, under its most public name. The
file was written with Python 3.11; later versions leave out the few names that they no longer have.

    python bench/stdlib_names.py
"""

from __future__ import annotations

import builtins
import functools
import importlib
import inspect
import io
import re
import sys
import types
from collections.abc import Callable, Hashable, Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

sys.path.append(str(Path(__file__).parents[1]))

from tests.stdlib_docs.collection import FOLDER, docstring, underlying

_NAMES = FOLDER / "names.txt"

# Written out instead of discovered, since some modules of the standard library print, open a
# window, change the process or warn of their removal as soon as they are imported. Each of these
# exists on Python 3.11 to 3.13, on Linux, macOS and Windows. Rarely used modules are left out to
# keep the collection small.
MODULES: Final = tuple(
    """
    abc argparse array ast asyncio atexit base64 binascii bisect builtins bz2 cProfile calendar
    codecs collections collections.abc colorsys compileall concurrent.futures configparser
    contextlib contextvars copy csv dataclasses datetime dbm decimal difflib dis doctest email
    email.generator email.message email.parser email.utils enum errno filecmp fileinput fnmatch
    fractions functools gc getpass gettext glob graphlib gzip hashlib heapq hmac html html.parser
    http http.client http.cookies http.server importlib importlib.machinery importlib.metadata
    importlib.resources importlib.util inspect io ipaddress itertools json keyword linecache locale
    logging logging.config logging.handlers lzma math mimetypes multiprocessing
    multiprocessing.connection multiprocessing.pool multiprocessing.shared_memory operator os
    os.path pathlib pickle platform plistlib pprint profile pstats queue random re reprlib sched
    secrets select selectors shelve shlex shutil signal smtplib socket socketserver sqlite3 ssl stat
    statistics string struct subprocess sys tarfile tempfile textwrap threading time timeit tokenize
    tomllib traceback tracemalloc types typing unicodedata unittest unittest.mock urllib.error
    urllib.parse urllib.request uuid warnings wave weakref xml.etree.ElementTree zipfile zlib
    zoneinfo
    """.split()
)

# Shorter docstrings ("Append value.") and those which are only a signature add little to the name.
_FEWEST_WORDS: Final = 4
_SIGNATURE_ONLY: Final = re.compile(r"\w+\([^()]*\)")
# Functions which `sys`, `threading` and `warnings` offer for replacement: they depend on the
# program that runs Python (a test runner, a notebook).
_HOOKS: Final = frozenset(
    {"breakpointhook", "displayhook", "excepthook", "showwarning", "unraisablehook"}
)
_MODULE_RANK: Final = (False, False, False, 0)
_LOADED_WHEN_ASKED: Final = ("ProcessPoolExecutor", "ThreadPoolExecutor")


class _Candidate(NamedTuple):
    """One way to reach a documented object: a name, and its rank (less is better)."""

    module: str
    name: str
    rank: tuple[bool, bool, bool, int]
    documented: object


def lines() -> list[str]:
    """Return the collection's names, `module:name`, sorted by the ID of their documents."""
    objects = _best(_candidates(), lambda candidate: id(underlying(candidate.documented)))
    # Similar classes have methods with the same documentation, such as `bytes.find` and
    # `bytearray.find`. No question could have only one of them as its answer.
    distinct = _best(objects, _what_the_reader_sees)
    return [
        f"{each.module}:{each.name.removeprefix(each.module).removeprefix('.')}"
        for each in sorted(distinct, key=lambda each: each.name)
    ]


def _best(
    candidates: Iterable[_Candidate], key: Callable[[_Candidate], Hashable]
) -> list[_Candidate]:
    """Return the best-named candidate for each key."""
    best: dict[Hashable, _Candidate] = {}
    for candidate in sorted(candidates, key=lambda each: (each.rank, len(each.name), each.name)):
        best.setdefault(key(candidate), candidate)
    return list(best.values())


def _what_the_reader_sees(candidate: _Candidate) -> tuple[str, str, str]:
    final_name = candidate.name.rpartition(".")[2]
    return candidate.module, final_name, docstring(candidate.documented)


def _candidates() -> Iterator[_Candidate]:
    """Yield every public name of every documented object; an object may have several names."""
    modules = {name: importlib.import_module(name) for name in MODULES}
    for name in _LOADED_WHEN_ASKED:
        # An attribute may enter the module's namespace only when it is first read, so read it
        # first.
        getattr(modules["concurrent.futures"], name)
    public_classes = {
        id(member)
        for module in modules.values()
        for name, member in _public_members(module)
        if inspect.isclass(member) and member.__name__ == name
    }
    for module_name, module in modules.items():
        yield from _documented(_Candidate(module_name, module_name, _MODULE_RANK, module))
        for name, member in _public_members(module):
            qualified_name = name if module_name == "builtins" else f"{module_name}.{name}"
            rank = _rank(module_name, name, member)
            yield from _documented(_Candidate(module_name, qualified_name, rank, member))
            if inspect.isclass(member):
                method_rank = (*rank[:3], rank[3] + 1)
                for method_name, method in _own_methods(member, public_classes):
                    full_name = f"{qualified_name}.{method_name}"
                    yield from _documented(_Candidate(module_name, full_name, method_rank, method))


def _documented(candidate: _Candidate) -> Iterator[_Candidate]:
    """Yield the candidate if its docstring is worth a document of its own."""
    text = docstring(candidate.documented)
    if text.startswith("Deprecated AST node class"):
        return  # The attribute is in the namespace of `ast` only after its first access.
    if len(text.split()) >= _FEWEST_WORDS and not _SIGNATURE_ONLY.fullmatch(text):
        yield candidate


def _rank(module_name: str, name: str, member: object) -> tuple[bool, bool, bool, int]:
    """Return the rank of `member`'s name in `module_name`; less is better.

    A builtin's name is best; then a name in the module which the object states as its own; then the
    name under which the object was defined, not an alias; then the name with the fewest dots.
    """
    own = underlying(member)
    return (
        module_name != "builtins",
        getattr(own, "__module__", None) != module_name,
        getattr(own, "__name__", None) != name,
        module_name.count("."),
    )


def _public_members(module: types.ModuleType) -> Iterator[tuple[str, object]]:
    """Yield the names and objects of a module's public classes and functions."""
    # The namespace is read instead of the attributes, since asking a module for a deprecated
    # attribute may warn.
    namespace = vars(module)
    declared = namespace.get("__all__")
    for name in sorted(namespace):
        member = namespace[name]
        if name.startswith("_") or name in _HOOKS:
            continue
        if not (inspect.isclass(member) or inspect.isroutine(member)):
            continue
        if name in declared if declared is not None else _is_at_home(member, module):
            yield name, member


def _is_at_home(member: object, module: types.ModuleType) -> bool:
    """Return whether `member` belongs to `module`, as opposed to being imported there.

    A module implemented in private or C companions (`_sqlite3`, `sqlite3.dbapi2`) is the home of
    their objects, too; so is `builtins` for `open`, which comes from `io`. Names that a notebook
    adds to `builtins` do not belong to it.
    """
    home = getattr(underlying(member), "__module__", None)
    if home is None:
        return False
    name = module.__name__
    if home == name or home.startswith(f"{name}.") or home.lstrip("_") == name:
        return True
    return module is builtins and member is io.open


def _own_methods(documented_class: type, public_classes: set[int]) -> Iterator[tuple[str, object]]:
    """Yield a class's documented public methods and properties that no public base has.

    Methods of a private base class are the class's own, since users cannot reach them through
    another class. A method with a public base's docstring is left out, inherited or overridden.
    """
    public_bases = {
        ancestor
        for base in documented_class.__mro__[1:]
        if id(base) in public_classes
        for ancestor in base.__mro__
    }
    names_seen: set[str] = set()
    for owner in documented_class.__mro__:
        for name, member in vars(owner).items():
            if name.startswith("_") or name in names_seen or not _is_method(member):
                continue
            inherited = {docstring(vars(base)[name]) for base in public_bases if name in vars(base)}
            if docstring(member) not in inherited:
                yield name, member
        names_seen.update(vars(owner))


def _is_method(member: object) -> bool:
    return inspect.isroutine(member) or isinstance(
        member, classmethod | staticmethod | property | functools.cached_property
    )


if __name__ == "__main__":
    _NAMES.write_text("".join(f"{line}\n" for line in lines()), encoding="utf-8")
