"""Answers that have no truth value: `if` and `assert` on them raise."""

from __future__ import annotations

from typing import ClassVar, NoReturn

from fullrecall.errors import ParameterError


class NoTruth:
    """Base of answers without a truth value; `read` names the attribute that has the answer.

    By default any object is true: `assert gate.check(report)` would pass at recall 0.
    """

    __slots__ = ()

    read: ClassVar[str] = ".outcome"

    def __bool__(self) -> NoReturn:
        raise ParameterError(
            f"{type(self).__name__} has no truth value: read {self.read}, such as "
            f"`assert result{self.read} == …`"
        )
