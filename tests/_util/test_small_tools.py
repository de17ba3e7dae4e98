"""Small tools on both sides of their bounds: stems, secrets, paths, plain values, and names."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fullrecall
from fullrecall._util.caches import remembered_words
from fullrecall._util.dataframes import frame_of, plain_value
from fullrecall._util.lazy import missing
from fullrecall._util.parameters import as_path
from fullrecall._util.places import Place, _secrets
from fullrecall._util.vocabulary import content_words
from fullrecall.errors import InputError, MissingExtraError, ParameterError

STEMS = """baking baking, casting cast, bed bed, abed abed, faded fad, axes axe, boxes box, ins in,
    cars car, ply ply, early early, quickly quick, ages age, aged aged, gas ga, goes goe, uses use,
    cheese chees, tree tre, ice ice, lively liv, sing sing, singing sing"""


@pytest.mark.parametrize("pair", STEMS.split(","))
def test_the_stem_of_a_word(pair: str) -> None:
    """An ending is removed if enough letters are left, then a last e."""
    word, stem = pair.split()
    assert content_words(word) == [stem]


def test_the_secrets_of_an_address() -> None:
    """All parts that may be secret are found, as written and decoded, the longest first."""
    address = "s3://ab%3Acd:pass%20word@host/x?sig=a%2Fbc&k=v"
    found = _secrets(address)
    assert found == sorted(found, key=len, reverse=True)
    assert {*found} == {
        address, "s3://ab:cd:pass word@host/x?sig=a/bc&k=v", "ab%3Acd:pass%20word",
        "ab:cd:pass word", "sig=a%2Fbc&k=v", "sig=a/bc&k=v", "pass%20word", "pass word", "ab%3Acd",
        "ab:cd", "a%2Fbc", "a/bc",
    }  # fmt: skip
    assert _secrets("s3://[host") == ["s3://[host"]
    assert {*_secrets("x://abc@h?k=de")} == {"x://abc@h?k=de", "abc", "k=de"}


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ([1, 2], [1, 2]),
        ([np.int64(1), [np.array([1, 2])]], [1, [[1, 2]]]),
        ((np.float64(0.5),), [0.5]),
        ({"a": np.array([1])}, {"a": [1]}),
        (np.array([[1], [2]]), [[1], [2]]),
    ],
)
def test_arrays_inside_values_are_lists(value: Any, plain: Any) -> None:
    """Arrays and numbers of NumPy are plain at any depth."""
    assert repr(plain_value(value)) == repr(plain)


def test_the_length_of_a_path() -> None:
    """A path has fewer than 4,096 bytes, and each name in it at most 255."""
    longest = "a/" * 2047 + "b"
    assert as_path(longest) == Path(longest)
    assert as_path("a" * 255) == Path("a" * 255)
    assert as_path("é" * 127) == Path("é" * 127)
    for text in (f"{longest}b", "a" * 256, "é" * 128, "", "a\0"):
        with pytest.raises(ParameterError, match="which no file can have"):
            as_path(text)


def test_a_folder_is_made_with_those_above_it(tmp_path: Path) -> None:
    """A folder at an address is made at any depth, and made again without an error."""
    place = Place(f"file://{tmp_path}/a/b", InputError)
    for _ in range(2):
        place.make()
    assert (tmp_path / "a" / "b").is_dir()


def test_long_words_are_not_kept() -> None:
    """A word of 64 letters is remembered, and a longer one is computed each time."""
    asked: list[int] = []

    @remembered_words(10)
    def length(word: str) -> int:
        asked.append(len(word))
        return len(word)

    for count in (64, 64, 65, 65):
        assert length("a" * count) == count
    assert asked == [64, 65, 65]


def test_a_missing_name_has_a_suggestion() -> None:
    """A name that a package lacks is an error, with the nearest name if one is near."""
    names = ["IdRecall", "evaluate"]
    assert str(missing("p", "id_recal", names)) == (
        "module 'p' has no attribute 'id_recal': did you mean IdRecall?"
    )
    assert str(missing("p", "zzz", names)) == "module 'p' has no attribute 'zzz'"


def test_a_used_name_is_in_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """After its first use a name is an attribute of the package, so that it is found at once."""
    scorer = fullrecall.IdRecall
    monkeypatch.delitem(vars(fullrecall), "IdRecall")
    assert fullrecall.IdRecall is scorer
    assert vars(fullrecall)["IdRecall"] is scorer


def test_a_frame_needs_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """A frame of an unknown library, or of one that is missing, is an error that names it."""
    with pytest.raises(ParameterError) as raised:
        frame_of({"a": int}, [[1]], "spark", "a table")  # type: ignore[arg-type]
    assert (raised.value.parameter, "'spark'" in str(raised.value)) == ("backend", True)
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(MissingExtraError, match="a table needs polars"):
        frame_of({"a": int}, [[1]], "polars", "a table")
