"""Texts as numbers: a 64-bit key for each, so that millions are matched in eight bytes a row.

Two texts may share a key, once in some 10¹² pairs of reports of a million samples. Whoever uses
keys compares the texts themselves where keys agree, and takes other keys by another `seed`.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Keys = NDArray[np.uint64]

_LONGEST = 64
"""Bytes of a text that is keyed together with the others of its column."""

_FACTORS = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
"""Odd numbers that spread bits, those of splitmix64 (Steele, Lea, Flood, 2014)."""


def keys_of(texts: Any, seed: int = 0) -> Keys:
    """Return the key of each text of an Arrow array: the same in any batch; 0 for null."""
    import numpy as np

    known = texts.is_valid().to_numpy(zero_copy_only=False)
    starts, lengths, data = _spans(texts)
    short = np.where(lengths > _LONGEST, 0, lengths)
    words = _words(starts, short, data)
    keys = _mixed(short.astype(np.uint64) + np.uint64(seed * _FACTORS[0] % 2**64))
    for column in range(words.shape[1]):
        within = short > 8 * column
        keys[within] = _mixed(keys[within] ^ words[within, column])
    for row in np.flatnonzero(lengths > _LONGEST):
        text = f"{seed}:{texts[int(row)].as_py()}".encode("utf-8", "surrogatepass")
        keys[row] = int.from_bytes(blake2b(text, digest_size=8).digest(), "big")
    if not known.all():
        keys[~known] = 0
    return keys


def _spans(texts: Any) -> tuple[Any, Any, Any]:
    """Return where each text begins in the bytes of the column, how long it is, and the bytes."""
    import numpy as np

    _, offsets, data = texts.buffers()
    bounds = np.frombuffer(offsets, dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1]
    content = np.frombuffer(data, dtype=np.uint8) if data is not None else np.zeros(1, np.uint8)
    return bounds[:-1].astype(np.int64), np.diff(bounds).astype(np.int64), content


def _words(starts: Any, lengths: Any, data: Any) -> Any:
    """Return the bytes of each text as whole numbers of 8 bytes, filled up with zeros."""
    import numpy as np

    width = -(-int(lengths.max(initial=0)) // 8) * 8
    steps = np.arange(width)
    inside = steps < lengths[:, None]
    at = np.minimum(starts[:, None] + steps, len(data) - 1)
    return np.ascontiguousarray(np.where(inside, data[at], 0).astype(np.uint8)).view(np.uint64)


def _mixed(keys: Keys) -> Keys:
    import numpy as np

    first, second, third = map(np.uint64, _FACTORS)
    mixed = keys + first
    mixed = (mixed ^ (mixed >> np.uint64(30))) * second
    mixed = (mixed ^ (mixed >> np.uint64(27))) * third
    return mixed ^ (mixed >> np.uint64(31))
