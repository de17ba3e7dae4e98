"""Where parts wait before a manifest names them, and who may put them into a report's directory.

A run writes its parts into a folder of its own within the directory, whose name begins with a dot:
what reads the directory does not see them. At the end they are moved up, and the manifest is
replaced. Runs that end at the same time take turns, by a lock on the directory.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

from fullrecall.distributed.parquet.manifest import Manifest
from fullrecall.distributed.parquet.part import ENDING
from fullrecall.errors import ReportError
from fullrecall.report.signature import MANIFEST

_SAVING = ".saving-"
"""Folders of one process, which holds a lock on its own for as long as it lives."""

_JOB = ".job-"
"""Folders of the workers of a job, who may be anywhere."""

_PATIENCE = 5.0
"""Seconds to wait for another run that is putting its parts into the directory."""

_ABANDONED = 24 * 3600.0
"""Seconds after which a folder of workers is no one's, unless something was written to it."""


class Staging:
    """A folder of one process within the directory of a report; `close` lets go of it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.folder = directory / f"{_SAVING}{token_hex(6)}"
        with alone(directory):
            self.folder.mkdir()
            self._lock = _locked(self.folder)

    def close(self) -> None:
        """Remove the folder with what is left in it; remove the directory if it is empty."""
        shutil.rmtree(self.folder, ignore_errors=True)
        _unlock(self._lock)
        with suppress(OSError):  # not empty: there is a report
            self.directory.rmdir()


def job_folder(directory: Path, job: str) -> Path:
    """Return the folder of the workers of a job."""
    return directory / f"{_JOB}{job}"


def publish(
    directory: Path, made: Manifest, where: Mapping[str, Path], *, job: str | None = None
) -> None:
    """Put parts into the directory, and have the manifest name them: see `put_in_place`.

    Raises `ReportError` too where another run is writing to the directory.
    """
    with alone(directory):
        put_in_place(directory, made, where, job=job)


def put_in_place(
    directory: Path, made: Manifest, where: Mapping[str, Path], *, job: str | None = None
) -> None:
    """Move parts, by their file's name, from where they are; have the manifest name them.

    What no manifest names any more is removed, and so are folders of runs that were killed and
    that of the `job`. Raises `ReportError` where a part is not there; then the old report stays.
    """
    for part in made.parts:
        if not where[part.file].exists():
            raise ReportError(
                f"{where[part.file]} is missing, with {part.rows:,} samples: workers must write to "
                "a directory that the driver reaches by the same path; once a job's parts were "
                "made a report, Report.open reads it"
            )
    for part in made.parts:
        where[part.file].replace(directory / part.file)
    made.write(directory)
    kept = {part.file for part in made.parts}
    for file in directory.iterdir():
        if is_part(file) and file.name not in kept:
            file.unlink(missing_ok=True)
        elif _is_abandoned(file, job):
            shutil.rmtree(file, ignore_errors=True)


@contextmanager
def alone(directory: Path) -> Iterator[None]:
    """Let no other run write to a directory meanwhile.

    Raises `ReportError` where another one does for longer than takes to put parts in place. Where
    the system or the file system has no locks, nobody is kept out.
    """
    until = time.monotonic() + _PATIENCE
    while (lock := _locked(directory)) is None:
        if time.monotonic() > until:
            raise ReportError(
                f"{directory} is being written by another run: wait for its end, or name another "
                "directory"
            )
        time.sleep(0.05)
    try:
        yield
    finally:
        _unlock(lock)


def is_ours(file: Path) -> bool:
    """Whether a file or folder in the directory of a report is part of it."""
    return is_part(file) or file.name.startswith((MANIFEST, _SAVING, _JOB))


def is_part(file: Path) -> bool:
    """Whether a file is a part, or was to become one."""
    return file.name.startswith(("part-", ".part-")) and ENDING in file.name


def _is_abandoned(folder: Path, job: str | None) -> bool:
    """Whether a folder is of a run that was killed, or of the job that has ended."""
    if folder.name == f"{_JOB}{job}":
        return True
    if folder.name.startswith(_SAVING):
        lock = _locked(folder)
        if lock is not None:
            _unlock(lock)
        if lock != _NO_LOCK:
            return lock is not None
    elif not folder.name.startswith(_JOB):
        return False
    with suppress(OSError):
        return time.time() - folder.stat().st_mtime > _ABANDONED
    return False


_NO_LOCK = -1


def _locked(folder: Path) -> int | None:
    """Return a lock on a folder, held until `_unlock` or the end of the process.

    None where another process or call holds it, `_NO_LOCK` where there are no locks.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        return _NO_LOCK
    try:
        opened = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:
        raise
    except OSError:
        return _NO_LOCK
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(opened)
        return None
    except OSError:  # some network file systems
        os.close(opened)
        return _NO_LOCK
    return opened


def _unlock(lock: int | None) -> None:
    if lock is not None and lock != _NO_LOCK:
        os.close(lock)
