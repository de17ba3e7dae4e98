"""Long computations stop between two pieces, and rows come in chunks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fullrecall._util import pieces
from fullrecall._util.allocation import allocation
from fullrecall._util.pieces import chunked, pause, paused, watch, watched


@pytest.mark.parametrize(
    ("count", "each", "pauses"), [(0, 2, 0), (1, 2, 1), (2, 2, 1), (3, 2, 2), (1000, 1000, 1)]
)
def test_a_pause_before_every_piece(count: int, each: int, pauses: int) -> None:
    """`paused` yields all elements, and pauses before each piece of them."""
    times: list[int] = []
    with watched(lambda: times.append(1)):
        assert list(paused(range(count), each)) == list(range(count))
    assert len(times) == pauses
    pause()  # Outside the block nothing is called.
    assert len(times) == pauses


def test_a_piece_has_a_thousand_elements() -> None:
    """By default a computation pauses before each thousand elements, also nested ones."""
    times: list[str] = []
    with watched(lambda: times.append("outer")):
        with watched(lambda: times.append("inner")):
            assert len(list(paused(range(1001)))) == 1001
        assert times == ["inner"] * 2
        watch(lambda: times.append("again"))
        pause()
    assert times[2:] == ["again"]


@pytest.mark.parametrize("kind", [list, tuple, iter])
@pytest.mark.parametrize(
    ("count", "sizes"), [(0, []), (3, [3]), (8192, [8192]), (8193, [8192, 1]), (16384, [8192] * 2)]
)
def test_chunks(kind: type, count: int, sizes: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """A chunk has at most 8,192 items, all in their order."""
    monkeypatch.setattr(pieces, "_SECONDS", 60.0)
    chunks = list(chunked(kind(range(count))))
    assert list(map(len, chunks)) == sizes
    assert [item for chunk in chunks for item in chunk] == list(range(count))


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_items_before_an_error_are_a_chunk(error: type[BaseException]) -> None:
    """The exception of the items comes after the items before it."""

    def failing(good: int) -> Iterator[int]:
        yield from range(good)
        raise error

    chunks = chunked(failing(3))
    assert next(chunks) == [0, 1, 2]
    with pytest.raises(error):
        next(chunks)
    with pytest.raises(error):
        next(chunked(failing(0)))


@pytest.mark.parametrize(("seconds", "sizes"), [(1 / 16, [16, 16, 8]), (0.96875 / 16, [32, 8])])
def test_slow_items_come_in_smaller_chunks(
    seconds: float, sizes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After more than the time of a chunk, it ends at the next sixteenth item."""
    clock = [0.0]
    monkeypatch.setattr(pieces.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(pieces, "_SECONDS", 1.0 - 1 / 32)

    def slow() -> Iterator[int]:
        for number in range(40):
            clock[0] += seconds
            yield number

    assert list(map(len, chunked(slow()))) == sizes


@pytest.mark.parametrize(
    ("weights", "most", "n", "fewest", "counts"),
    [
        ([1.0, 1.0], [9, 9], 4, 0, [2, 2]),
        ([3.0, 1.0], [9, 9], 4, 0, [3, 1]),
        ([3.0, 1.0], [9, 9], 4, 2, [2, 2]),
        ([3.0, 1.0], [2, 9], 5, 1, [2, 3]),
        ([3.0, 1.0], [1, 9], 1, 2, [1, 2]),
        ([3.0, 1.0], [2, 3], 99, 0, [2, 3]),
        ([0.0, 1.0], [9, 9], 3, 0, [0, 3]),
        ([5.0, 3.0, 1.0], [9, 9, 9], 8, 0, [5, 3, 0]),
    ],
)
def test_labels_of_strata(
    weights: list[float], most: list[int], n: int, fewest: int, counts: list[int]
) -> None:
    """Each stratum gets its fewest, then by Jefferson's rule, and never more than it has."""
    assert allocation(weights, most, n, fewest=fewest) == counts
