"""The kernel works without its rooms: its tests pass in a copy of the package that lacks them.

Without all rooms, all tests of the kernel run; without one room, those of the packages that ask a
port: the other packages cannot notice which rooms there are.
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

ROOT = Path(__file__).parents[1]
ADAPTERS = ("tests/observe/test_fuzz.py", "tests/observe/test_instrumentors.py")
"""Tests that import the adapters, which use rooms."""


def asking() -> list[str]:
    """Return the packages of the kernel that ask a port."""
    source = ROOT / "src" / "fullrecall"
    return [
        name
        for name in KERNEL
        if any("plugged(" in path.read_text("utf-8") for path in (source / name).rglob("*.py"))
        if name != "_util"  # it defines ports
    ]


def kernel_tests(
    folder: Path, without: tuple[str, ...], kinds: str, packages: Iterable[str] = KERNEL
) -> str:
    """Return the output of the tests of `packages` in a copy of the package without these rooms."""
    package = folder / "fullrecall"
    shutil.copytree(ROOT / "src" / "fullrecall", package)
    for room in without:
        if (package / room).is_dir():
            shutil.rmtree(package / room)
        else:
            (package / f"{room}.py").unlink()
    folders = [f"tests/{name}" for name in packages if (ROOT / "tests" / name).is_dir()]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:fullrecall",
        "-p",
        "no:cacheprovider",
    ]
    command += ["-m", kinds, *(f"--ignore={path}" for path in ADAPTERS), *folders]
    ran = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-4_000:] + ran.stderr[-2_000:]
    return ran.stdout


OPT_IN = "small_model or browser or engines or libraries or long or tools"


@pytest.mark.long
def test_the_kernel_needs_no_room(tmp_path: Path) -> None:
    """All tests of the kernel pass without any room, but for those that say they use one."""
    passed = kernel_tests(tmp_path, ROOMS, f"not (rooms or {OPT_IN})")
    left = re.search(r"(\d+) passed.*?(\d+) deselected", passed)
    assert left is not None
    assert int(left[1]) > 5 * int(left[2])


@pytest.mark.long
@pytest.mark.parametrize("room", ROOMS)
def test_the_kernel_works_without_each_room(tmp_path: Path, room: str) -> None:
    """The quick tests of the packages that ask a port pass without any one room."""
    packages = asking()
    assert {"judge", "run", "scorers", "stats"} <= {*packages}
    kernel_tests(tmp_path, (room,), f"not (rooms or slow or {OPT_IN})", packages)
