"""Every error that fullrecall raises on purpose.

    FullrecallError
    ├── InputError         (ValueError)   data that cannot be read as samples
    ├── ParameterError     (ValueError)   a scorer's or function's argument out of its range
    ├── ReportError        (ValueError)   a file that is not a report; a question it cannot answer
    ├── StoreError         (ValueError)   a file that is not a store, or a damaged or newer store
    ├── RunStopped                        a run whose model answers no request, with its report
    ├── JudgeError                        a text that a judge could not split, or cannot judge
    └── MissingExtraError  (ImportError)  an optional dependency that is not installed

`Interrupted` is a `KeyboardInterrupt`, not an error: Ctrl-C, with the run's report so far.

A failure to *measure* is not an error: it is a `Result` with `status="unscored"` and a reason.

If an error carries a `report`, it is a `fullrecall.report.Report` with all results so far.
"""

from __future__ import annotations

from typing import Any


class FullrecallError(Exception):
    """Base of all errors below: `except FullrecallError` catches these and no others."""


class InputError(FullrecallError, ValueError):
    """Data that cannot be read as samples; says where the problem is and how to fix it.

    `path`, `line` and `field` are None if they do not apply. `line` is 1-based; in files without
    lines, and in other iterables, it is the number of the row. `report` holds the samples that
    `evaluate` had scored before the error; None outside `evaluate`.
    """

    def __init__(
        self,
        problem: str,
        *,
        path: str | None = None,
        line: int | None = None,
        field: str | None = None,
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.path = path
        self.line = line
        self.field = field
        self.report: Any = None

    def at(self, *, path: str | None = None, line: int | None = None) -> InputError:
        """Return a copy of this error, with `path` and `line` where it has none."""
        placed = InputError(
            self.problem,
            path=self.path or path,
            line=self.line if self.line is not None else line,
            field=self.field,
        )
        placed.report = self.report
        return placed

    def __str__(self) -> str:
        where = self.path or ""
        if self.line is not None:
            where = f"{where}:{self.line}" if where else f"sample {self.line}"
        return f"{where}: {self.problem}" if where else self.problem


class ParameterError(FullrecallError, ValueError):
    """An argument out of its range; the message names the parameter and the value.

    `parameter` is the name of the parameter, which the message begins with. It is None if the
    message is about several parameters, or about a value without a name.
    """

    def __init__(self, problem: str, parameter: str | None = None) -> None:
        self.problem = problem
        self.parameter = parameter

    def __str__(self) -> str:
        return self.problem if self.parameter is None else f"{self.parameter} {self.problem}"


class ReportError(FullrecallError, ValueError):
    """A file that is not a saved report, or a question that a report cannot answer."""


class StoreError(FullrecallError, ValueError):
    """A file that cannot serve as a store; the file is not changed."""


class RunStopped(FullrecallError):  # noqa: N818 - it says what happened, and to what
    """A model answers no request: no key, no such model, no endpoint, or it fails every time.

    `report` holds every sample that was read until then; samples that were not judged are
    "unscored" in it, with the reason. Paid answers are in it, and in the store if there is one.
    """

    report: Any = None


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during `evaluate`. `report` holds every sample that was read until then.

    Samples in flight are "unscored" in it, since the run was interrupted.
    """

    def __init__(self, report: Any) -> None:
        super().__init__(f"interrupted after {len(report):,} samples; error.report has them")
        self.report = report

    def __reduce__(self) -> tuple[type[Interrupted], tuple[Any]]:
        # A worker may send this exception to its driver; by default, unpickling would pass only the
        # message.
        return type(self), (self.report,)


class JudgeError(FullrecallError):
    """A text that a judge cannot split or judge; scorers turn it into an unscored result."""


class MissingExtraError(FullrecallError, ImportError):
    """An optional dependency is missing; the message ends with the command that installs it.

    `package` is the name that pip installs, or several names with spaces between them; `extra` is
    the extra of fullrecall that has the package. The command names the package, not the extra.
    """

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        named = " and ".join(package.split())
        super().__init__(
            f"{purpose} needs {named} (extra {extra}), not installed here: pip install {package}",
            name=package,
        )
        self._given = (package, extra, purpose)

    def __reduce__(self) -> tuple[type[MissingExtraError], tuple[str, str, str]]:
        # A worker that lacks the package sends this error to its driver; by default, unpickling
        # would pass only the message.
        return type(self), self._given
