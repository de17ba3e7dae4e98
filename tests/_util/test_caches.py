"""Caches of values computed from texts are bounded by characters and shared by threads."""

import ast
import random
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

import fullrecall
from fullrecall import ClaimRecall, Sample
from fullrecall._util.caches import Cache, remembered, remembered_words

SOURCE = Path(fullrecall.__file__).parent
FEW = 64
"""As many texts of any length as a cache may keep by their number."""


@pytest.mark.rooms
def test_texts_of_any_length_stay_within_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache stays within its bound while eight threads read 80 long texts."""
    from fullrecall.lexical.matching import read_passage

    cache: Cache = read_passage.cache
    monkeypatch.setattr(cache, "most", 50_000)
    read_passage("What was kept before goes.")

    def read(seed: int) -> None:
        draw = random.Random(seed)
        for _ in range(10):
            read_passage(f"Word {draw.random()} stands here. " * draw.randrange(1, 200))
            assert cache.size <= cache.most

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(read, range(8)))
    assert 0 < cache.size <= cache.most


@pytest.mark.rooms
def test_a_judge_keeps_no_more_of_long_contexts_than_its_caches_hold(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A judge's caches hold fewer characters than the judge was shown."""
    from fullrecall.lexical.matching import read_passage

    monkeypatch.setattr(read_passage.cache, "most", 100_000)
    texts = [f"The river {number} is {number} km long. " * 400 for number in range(12)]
    for text in texts:
        sample = Sample(
            user_input="How long?", retrieved_contexts=[text], reference_claims=["It is 7 km long."]
        )
        ClaimRecall().score(sample)
    assert read_passage.cache.size <= read_passage.cache.most
    assert sum(map(len, texts)) > read_passage.cache.most  # Else the cache had nothing to drop.


def test_size_is_the_sum_of_what_is_kept_in_any_order() -> None:
    """The cache's size is the sum of its values, after random reads of 50 caches."""
    draw = random.Random(1)
    for _ in range(50):
        cache = Cache(draw.randrange(1, 60))

        for _ in range(draw.randrange(1, 80)):
            key = draw.randrange(20)
            assert cache.get(key, partial(str.__mul__, "x", key), len) == "x" * key
            kept = [value for value, _ in cache._kept.values()]
            assert cache.size == sum(map(len, kept))
            assert cache.size <= cache.most or len(kept) == 1


def test_a_function_runs_once_for_what_is_remembered() -> None:
    """A cached function runs once for the same arguments, and again for other options."""
    texts: list[str] = []

    @remembered(10_000)
    def length(text: str, *, extra: int = 0) -> int:
        texts.append(text)
        return len(text) + extra

    assert [length("ab"), length("ab"), length("ab", extra=1), length("abc")] == [2, 2, 3, 3]
    assert texts == ["ab", "ab", "abc"]


def test_a_long_word_is_not_kept() -> None:
    """A long word, such as encoded data, is not cached."""
    words: list[str] = []

    @remembered_words(100)
    def upper(word: str) -> str:
        words.append(word)
        return word.upper()

    encoded = "x" * 65
    assert [upper("a"), upper("a"), upper(encoded), upper(encoded)] == ["A", "A", *2 * ["X" * 65]]
    assert words == ["a", encoded, encoded]


@pytest.mark.rooms
def test_no_judge_keeps_texts_by_their_number() -> None:
    """A cache bounded by its number of entries holds short entries only."""
    large: list[tuple[str, int | None]] = []
    for path in [
        path
        for folder in ("judge", "lexical", "diagnosis")
        for path in SOURCE.glob(f"{folder}/**/*.py")
    ]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "lru_cache":
                size = next(word.value.value for word in node.keywords if word.arg == "maxsize")
                if size is None or size > FEW:
                    large.append((path.name, size))
    # These caches keep folded characters, scripts of characters, and the words of IDs.
    assert large == [("evidence.py", 4_096), ("languages.py", 4_096), ("words.py", 65_536)]
