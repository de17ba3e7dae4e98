"""Convert results to plain JSON values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from fullrecall.measures import CutBudget, Measure


def plain_of(result: Any, *names: str) -> dict[str, Any]:
    """Return attributes of a result by their names; without names, the fields of a data class."""
    chosen = names or [each.name for each in fields(result)]
    return {name: plain(getattr(result, name)) for name in chosen}


def plain(value: Any) -> Any:
    """Convert a value to plain JSON values."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(value) and not isinstance(value, Measure | CutBudget):
        return plain_of(value)
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {plain(name): plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, Measure):
        return value.name
    return str(value) if isinstance(value, (CutBudget, Enum)) else value
