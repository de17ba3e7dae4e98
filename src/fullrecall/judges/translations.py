"""One true and one false claim in each of thirteen languages, of one short text each.

Made for this project, to see whether a judge credits what is false in a language that it does not
read. Thirteen pairs tell which languages fail, not how often.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from fullrecall.judges.words.data import table


class Translation(NamedTuple):
    """A context in one language, a claim that it supports, and one that it contradicts."""

    context: str
    true: str
    false: str


TRANSLATIONS: Mapping[str, Translation] = {
    language: Translation(**texts) for language, texts in table("translations.json").items()
}
