"""What views read of a diagnosis, which is built on reports as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class Diagnosed(Protocol):
    """Why one target was missed, as a diagnosis says it."""

    @property
    def sample(self) -> str:
        """The label of the row."""
        ...

    @property
    def score(self) -> str:
        """The name of the score, with or without its k."""
        ...

    @property
    def target(self) -> str:
        """The label of the target."""
        ...

    @property
    def cause(self) -> str:
        """Why it was missed, in one of few words."""
        ...

    @property
    def detail(self) -> str:
        """The same in a sentence."""
        ...

    @property
    def rank(self) -> int | None:
        """Where it stands beyond what was counted."""
        ...


class Cost(Protocol):
    """What a change costs."""

    @property
    def text(self) -> str:
        """The cost in words, empty where it costs nothing."""
        ...


class Change(Protocol):
    """A change with the recall that it would bring."""

    @property
    def action(self) -> str:
        """What to do."""
        ...

    @property
    def score(self) -> str:
        """The label of the score that gains."""
        ...

    @property
    def gain(self) -> float:
        """Mean recall after less that before."""
        ...

    @property
    def gain_text(self) -> str:
        """The gain with its interval, as text."""
        ...

    @property
    def measured_text(self) -> str:
        """The measured gain with its interval; empty where the change was not tried."""
        ...

    @property
    def cost(self) -> Cost | None:
        """What it costs; None where it is not one of how much is retrieved."""
        ...


class Diagnosis(Protocol):
    """The causes of all misses of a report."""

    @property
    def misses(self) -> Sequence[Diagnosed]:
        """One for each target that was missed."""
        ...

    @property
    def samples(self) -> int:
        """How many samples were diagnosed."""
        ...

    @property
    def changes(self) -> Sequence[Change]:
        """What to change, the largest gain first."""
        ...

    @property
    def fixes(self) -> Mapping[Any, str]:
        """What each cause suggests to do."""
        ...
