"""`fullrecall doctor`: working and broken parts are named, and absent ones are no fault.

Broken installations are played by metadata and modules on the path of a Python of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fullrecall

NO_SOCKETS = """\
import socket

def refuse(self, address):
    raise SystemExit(f"connected to {address!r}")

socket.socket.connect = socket.socket.connect_ex = refuse
"""
PROGRAM = f"{NO_SOCKETS}from fullrecall.cli import main; main()"


def doctor(folder: Path | None = None, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `fullrecall doctor` without a network, with a folder first on its path."""
    shown = {"PYTHONIOENCODING": "utf-8", "COLUMNS": "100", "NO_COLOR": "1"}
    path = {} if folder is None else {"PYTHONPATH": str(folder)}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, "doctor", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        env={**os.environ, **shown, **path},
    )


def checks(folder: Path | None = None) -> tuple[int, dict[str, dict[str, Any]]]:
    """Return the exit code and the checks by their names."""
    ended = doctor(folder, "--json")
    printed = json.loads(ended.stdout)
    assert printed["ok"] is (ended.returncode == 0), ended.stderr
    return ended.returncode, {check["name"]: check for check in printed["checks"]}


def install(folder: Path, name: str, version: str, *requires: str, module: str = "") -> None:
    """Install a distribution into the folder: its metadata, and the source of its one module."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    lines += [f"Provides-Extra: {extra}" for extra in ("plot", "redis", "all")]
    lines += [f"Requires-Dist: {wanted}" for wanted in requires]
    (info / "METADATA").write_text("\n".join(lines) + "\n", encoding="utf-8")
    if name != "fullrecall":
        (folder / f"{name.replace('-', '_')}.py").write_text(module, encoding="utf-8")


@pytest.mark.tools
def test_what_is_installed_here_works() -> None:
    """In the environment that runs the tests, no part is broken, and no request is sent."""
    code, by_name = checks()
    assert (code, [c for c in by_name.values() if c["state"] == "broken"]) == (0, [])
    assert by_name["fullrecall"]["version"] == fullrecall.__version__
    assert by_name["Python"]["version"] == ".".join(map(str, sys.version_info[:3]))
    assert "rapidfuzz" in by_name
    assert {"langchain-fullrecall", "llama-index-evaluation-fullrecall"} <= by_name.keys()
    absent = [check for check in by_name.values() if check["state"] == "not installed"]
    assert all(check["advice"].startswith("pip install ") for check in absent)


def test_each_package_is_said_to_work_to_be_broken_or_to_be_absent(tmp_path: Path) -> None:
    """A package is absent, works, or is broken: it raises, exits, or has a wrong version."""
    wanted = ("no-such>=2; extra == 'plot'", "there; extra == 'all'", "gone>=1", "too-old>=2,<3")
    install(tmp_path, "fullrecall", "0.1.0", *wanted, "sick-raises>=1", "sick-exits", "prints>=1")
    install(tmp_path, "there", "1.0")
    install(tmp_path, "too-old", "1.9")
    install(tmp_path, "sick-raises", "1.0", module="raise ImportError('libsick.so:\\n no file')")
    install(tmp_path, "sick-exits", "1.0", module="raise SystemExit(1)")
    install(tmp_path, "prints", "1.1b2", module="print('noise')")
    install(tmp_path, "langchain-fullrecall", "0.1.0", "fullrecall>=0.1,<0.2")
    (tmp_path / "langchain_fullrecall.py").write_text("import nowhere_at_all\n")
    code, by_name = checks(tmp_path)
    assert code == 1
    assert "there" not in by_name  # `all` lists the other extras again.
    for name, state, advice in (
        ("no-such", "not installed", "pip install 'no-such>=2'"),
        ("gone", "broken", "pip install 'gone>=1'"),
        ("too-old", "broken", "<3,>=2 is supported: pip install 'too-old<3,>=2'"),
        ("sick-exits", "broken", "SystemExit: 1: pip install sick-exits"),
        ("prints", "ok", ""),
    ):
        assert (by_name[name]["state"], by_name[name]["advice"]) == (state, advice)
    assert "ImportError: libsick.so: no file: pip" in by_name["sick-raises"]["advice"]
    assert "No module named 'nowhere_at_all'" in by_name["langchain-fullrecall"]["advice"]


@pytest.mark.frameworks
def test_the_table_says_the_same_as_the_json(tmp_path: Path) -> None:
    """The table lists the checks by group, with advice, and its last line names the broken parts.

    Advice is given for the missing parts of an extra only if one of its parts is installed. Any
    other extra is only named.
    """
    extras = ("there; extra == 'plot'", "no-such; extra == 'plot'", "nothing; extra == 'redis'")
    install(tmp_path, "fullrecall", "0.1.0", *extras)
    install(tmp_path, "there", "1.0", module="")
    install(tmp_path, "langchain-fullrecall", "0.1.0", module="")
    install(tmp_path, "llama-index-evaluation-fullrecall", "0.1.0")
    well = doctor(tmp_path)
    assert (well.returncode, well.stderr) == (0, "")
    lines = [" ".join(line.split()) for line in well.stdout.splitlines()]
    assert {"fullrecall 0.1.0 ok", "no-such - not installed", "pip install no-such"} <= {*lines}
    assert "Nothing is installed of: extra redis." in lines
    assert "pip install nothing" not in lines
    assert lines[-1] == "Every installed part works."
    (tmp_path / "langchain_fullrecall.py").write_text("1 / 0\n")
    sick = doctor(tmp_path)
    assert sick.returncode == 1
    lines = [" ".join(line.split()) for line in sick.stdout.splitlines()]
    assert "langchain-fullrecall 0.1.0 broken" in lines
    assert lines[-2].endswith(" fail:")
    assert lines[-1] == (
        "langchain-fullrecall: ZeroDivisionError: division by zero: "
        "install it from fullrecall's repository, as its README says"
    )
