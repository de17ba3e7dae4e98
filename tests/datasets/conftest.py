"""Files to read, and how far a reader gets with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from fullrecall import Sample
from fullrecall.errors import InputError

Write: TypeAlias = Callable[[str, str | bytes], Path]
UntilError: TypeAlias = Callable[[Iterator[Sample]], tuple[list[Sample], InputError]]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a file of the given name and content, and return its path."""

    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def until_error() -> UntilError:
    """Return the samples that a reader yields before its `InputError`, and that error."""

    def until_error(samples: Iterator[Sample]) -> tuple[list[Sample], InputError]:
        before: list[Sample] = []
        with pytest.raises(InputError) as caught:
            before.extend(samples)  # extend keeps what came before the error
        return before, caught.value

    return until_error
