"""Read YAML like JSON: dates and `no` are texts; repeated keys and huge aliases are errors."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, ClassVar

from fullrecall.errors import InputError

_MOST_VALUES = 10_000_000
"""The most values of a file after its aliases are expanded."""


def yaml_value(text: str) -> object:
    """Return the value of a YAML text; an empty list for a blank text.

    Raises `InputError` for a text that is not YAML, has two documents or repeated keys, or has too
    many values once its aliases are expanded.
    """
    import yaml

    try:
        value = yaml.load(text, Loader=_loader())  # noqa: S506 - a subclass of the safe one
        _check_size(value)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = None if mark is None else mark.line + 1
        raise InputError(f"not YAML: {error.problem or error.context}", line=line) from None
    except (yaml.YAMLError, ValueError, TypeError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"not YAML that can be read: {error}") from None
    except RecursionError:
        raise InputError("the YAML is nested too deeply") from None
    return [] if value is None else value


_PLAIN = (
    ("bool", re.compile(r"(?:true|false|True|False)$"), "tfTF"),
    ("int", re.compile(r"^-?(?:0|[1-9][0-9]*)$"), "-0123456789"),
    ("float", re.compile(r"^-?[0-9]+\.[0-9]+(?:[eE][-+]?[0-9]+)?$"), "-0123456789"),
    ("null", re.compile(r"(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""]),
    ("merge", re.compile(r"<<$"), "<"),
)
"""The only texts without quotes that are not strings: JSON's values, and YAML's merge key `<<`.

PyYAML's own rules would read 12:30 as 750.
"""


@cache
def _loader() -> Any:
    """Return a safe YAML loader that refuses repeated keys and reads no dates."""
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc]
        yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}

    def mapping(loader: Any, node: Any) -> dict[Any, Any]:
        own = [key for key, _ in node.value if not key.tag.endswith(":merge")]
        loader.flatten_mapping(node)
        values = {
            loader.construct_object(key): loader.construct_object(value)
            for key, value in node.value
        }
        names = [loader.construct_object(key) for key in own]
        twice = next((name for n, name in enumerate(names) if name in names[:n]), None)
        if twice is not None:
            raise InputError(f"the key {twice!r} occurs twice in one object: keep one",
                             line=node.start_mark.line + 1)  # fmt: skip
        return values

    for tag, form, first in _PLAIN:
        Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", form, list(first))
    Loader.add_constructor("tag:yaml.org,2002:map", mapping)
    return Loader


def _check_size(value: object) -> None:
    """Raise `InputError` for a value that is endless or too large once its aliases are expanded."""
    sizes: dict[int, int] = {}

    def size(part: Any) -> int:
        if not isinstance(part, (dict, list)):
            return 1
        if id(part) not in sizes:
            # While the parts of a value are counted, assume a size above the limit. A value that
            # contains itself meets this size in one of its parts, and so is too large.
            sizes[id(part)] = _MOST_VALUES + 1
            inner = part.values() if isinstance(part, dict) else part
            sizes[id(part)] = 1 + sum(map(size, inner))
        return sizes[id(part)]

    if size(value) > _MOST_VALUES:
        raise InputError("aliases make this YAML too large: write the values out")
