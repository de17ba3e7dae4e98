"""Replace a file as a whole: if the program is killed, the old or the new file is complete."""

from __future__ import annotations

import secrets
from pathlib import Path


def temporary_path(path: Path) -> Path:
    """Return a new name in the same folder that no other program uses or can guess."""
    return path.with_name(f".fullrecall-{secrets.token_hex(8)}.part")


def write_whole(path: str | Path, content: bytes) -> None:
    """Replace a file by one with this content, or write to the pipe or device at `path`.

    A link stays; its target is replaced. Raises `OSError` if the file cannot be written.
    """
    try:
        _write_whole(Path(path).resolve(), content)
    except OSError as error:
        # The error has the requested path, not the temporary file's.
        raise OSError(error.errno, error.strerror, str(path)) from None


def _write_whole(final: Path, content: bytes) -> None:
    if final.exists() and not final.is_file() and not final.is_dir():
        final.write_bytes(content)
        return
    part = temporary_path(final)
    # "x": never open an existing file or link.
    with part.open("xb") as file:
        try:
            file.write(content)
            file.close()  # a disk error may appear only here
            part.replace(final)
        except BaseException:
            file.close()
            part.unlink(missing_ok=True)
            raise
