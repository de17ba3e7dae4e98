"""Write values into a row at a path, the inverse of reading them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fullrecall.files.paths import Each, path_of


def place(row: dict[str, Any], text: str, value: Any) -> None:
    """Put a value into a row at a path, so that reading the path returns it.

    At `[]` the value must be a list, and each item gets its own object. A template of fields puts
    each field at its own path.
    """
    path = path_of(text)
    names = path.template if isinstance(path.template, Mapping) else None
    _put(row, path.steps, value, names)


def _put(at: Any, steps: Sequence[Any], value: Any, names: Mapping[str, Any] | None) -> None:
    """Put a value at the place to which steps lead from an object or a list.

    `names` has the path of each field, if the value is a context whose fields are put separately.
    """
    step, rest = steps[0], steps[1:]
    if isinstance(step, Each):
        values = value if isinstance(value, list) else [value]
        if not rest and names is None:
            at.extend(values)
            return
        for each in values:
            at.append(_of_condition(step))
            _end(at[-1], rest, each, names)
        return
    if not rest and names is None:
        _set(at, step, value)
        return
    held = _held(at, step)
    if held is None:
        held = [] if rest and not isinstance(rest[0], str) else {}
        _set(at, step, held)
    _end(held, rest, value, names)


def _end(at: Any, steps: Sequence[Any], value: Any, names: Mapping[str, Any] | None) -> None:
    if steps:
        _put(at, steps, value, names)
        return
    for name, path in (names or {}).items():
        if value.get(name) is not None:
            _put(at, path.steps, value[name], None)


def _held(at: Any, step: str | int) -> Any:
    if isinstance(at, dict):
        return at.get(str(step))
    return at[step] if isinstance(step, int) and step < len(at) else None


def _set(at: Any, step: str | int, value: Any) -> None:
    if isinstance(step, int):
        at.extend([None] * (step + 1 - len(at)))
        at[step] = value
    else:
        at[step] = value


def _of_condition(step: Each) -> dict[str, Any]:
    """Return an object that satisfies a condition on one column; {} without a condition."""
    condition = step.condition
    if condition is None or condition.path.column is None:
        return {}
    return {condition.path.column: True if condition.pattern is None else condition.pattern}
