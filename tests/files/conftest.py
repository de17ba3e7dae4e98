"""Fixtures that write a file, and that read one up to its error."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import psutil
import pytest

from fullrecall import Sample
from fullrecall.errors import InputError

Write: TypeAlias = Callable[[str, str | bytes], Path]
UntilError: TypeAlias = Callable[[Iterator[Sample]], tuple[list[Sample], InputError]]
LeastPeak: TypeAlias = Callable[[Callable[[], object]], int]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a file of the given name and content, and return its path."""

    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def until_error(tmp_path: Path) -> UntilError:
    """Return the samples that a reader yields before its `InputError`, and that error.

    The reader has closed the file by then, though the error and its traceback still exist.
    """

    def until_error(samples: Iterator[Sample]) -> tuple[list[Sample], InputError]:
        before: list[Sample] = []
        with pytest.raises(InputError) as caught:
            before.extend(samples)  # Extend keeps the samples before the error.
        opened = [Path(file.path) for file in psutil.Process().open_files()]
        assert not [path for path in opened if path.is_relative_to(tmp_path)]
        return before, caught.value

    return until_error


@pytest.fixture
def least_peak() -> LeastPeak:
    """Return the peak of the bytes that a call allocates, the smallest of three measurements.

    A first import and the other threads of the process only add to a measurement.
    """

    def least_peak(call: Callable[[], object]) -> int:
        peaks = []
        for _ in range(3):
            tracemalloc.start()
            try:
                call()
                peaks.append(tracemalloc.get_traced_memory()[1])
            finally:
                tracemalloc.stop()
        return min(peaks)

    return least_peak
