"""The kernel works without its rooms: its tests pass in a copy of the package that lacks them.

Without any room, all tests of the kernel run. Without one room, only the tests run of kernel
packages that ask a port of this room; other packages do not depend on it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from tests.test_package import KERNEL, ROOMS

from fullrecall._util.ports import PORTS

ROOT = Path(__file__).parents[1]
ADAPTERS = ("tests/observe/test_fuzz.py", "tests/observe/test_instrumentors.py")
"""Tests that import the adapters, which use rooms."""


def asking(room: str) -> list[str]:
    """Return the packages of the kernel that ask a port which this room fills."""
    ports = [port for port, place in PORTS.items() if f"{place}:".startswith(f"fullrecall.{room}:")]
    asked = re.compile("|".join(rf'plugged\("{port}"\)' for port in ports) or r"(?!)")
    source = ROOT / "src" / "fullrecall"
    return [
        name
        for name in KERNEL
        if any(asked.search(path.read_text("utf-8")) for path in (source / name).rglob("*.py"))
    ]


def copy_without(folder: Path, rooms: tuple[str, ...]) -> None:
    """Copy the package into `folder`, without these rooms."""
    package = folder / "fullrecall"
    shutil.copytree(ROOT / "src" / "fullrecall", package)
    for room in rooms:
        if (package / room).is_dir():
            shutil.rmtree(package / room)
        else:
            (package / f"{room}.py").unlink()


def output_of(folder: Path, *arguments: str) -> str:
    """Return the output of Python with these arguments, which imports the copy in `folder`."""
    ran = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-4_000:] + ran.stderr[-2_000:]
    return ran.stdout


def kernel_tests(folder: Path, kinds: str, packages: Iterable[str] = KERNEL) -> str:
    """Return the output of the tests of `packages` with the copy in `folder`."""
    folders = [f"tests/{name}" for name in packages if (ROOT / "tests" / name).is_dir()]
    ignored = [f"--ignore={path}" for path in ADAPTERS]
    options = ["-q", "-p", "no:fullrecall", "-p", "no:cacheprovider", "-m", kinds, *ignored]
    return output_of(folder, "-m", "pytest", *options, *folders)


OPT_IN = "small_model or browser or engines or libraries or long or tools"


@pytest.mark.long
def test_the_kernel_needs_no_room(tmp_path: Path) -> None:
    """All tests of the kernel pass without any room, except those marked to use one."""
    copy_without(tmp_path, ROOMS)
    passed = kernel_tests(tmp_path, f"not (rooms or {OPT_IN})")
    left = re.search(r"(\d+) passed.*?(\d+) deselected", passed)
    assert left is not None
    assert int(left[1]) > 5 * int(left[2])


@pytest.mark.long
@pytest.mark.parametrize("room", ROOMS)
def test_a_room_needs_none_below_it(tmp_path: Path, room: str) -> None:
    """Without one room, the ports of the rooms above it still work."""
    copy_without(tmp_path, (room,))
    above = ROOMS[: ROOMS.index(room)]
    ports = [port for port, place in PORTS.items() if re.split("[.:]", place)[1] in above]
    opened = f"import fullrecall; from fullrecall._util.ports import plugged; ports = {ports}"
    opened += "; assert None not in [plugged(port) for port in ports]"
    output_of(tmp_path, "-c", opened)


@pytest.mark.long
@pytest.mark.parametrize("room", [room for room in ROOMS if asking(room)])
def test_the_kernel_works_without_each_room(tmp_path: Path, room: str) -> None:
    """The quick tests of the packages that ask a port of this room pass without it."""
    copy_without(tmp_path, (room,))
    kernel_tests(tmp_path, f"not (rooms or slow or {OPT_IN})", asking(room))


def test_every_port_is_asked() -> None:
    """Some kernel package asks each port, so the tests above cover every port."""
    source = "".join(
        path.read_text("utf-8")
        for name in KERNEL
        for path in (ROOT / "src" / "fullrecall" / name).rglob("*.py")
    )
    assert [port for port in PORTS if f'plugged("{port}")' not in source] == []
    assert {room: asking(room) for room in ROOMS if asking(room)} == {
        "lexical": ["judge", "scorers"],
        "diagnosis": ["stats"],
        "page": ["stats"],
        "batches": ["run"],
    }
