"""`fullrecall doctor`: what works is called so, what is broken too, and what is absent is no fault.

Installations that are broken in one way or another are played by metadata and modules on the path
of a Python of its own; nothing that is installed here is touched.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
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
PROGRAM = "from fullrecall.cli import main; main()"


class Played:
    """A folder that Python looks into first, with what is installed in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def install(
        self,
        name: str,
        version: str = "1.0",
        *requires: str,
        module: str = "",
        extras: tuple[str, ...] = (),
        python: str = ">=3.11",
    ) -> None:
        """Put a distribution there: its metadata, and the source of its one module."""
        info = self.folder / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
        lines += [f"Requires-Python: {python}"]
        lines += [f"Provides-Extra: {extra}" for extra in extras]
        lines += [f"Requires-Dist: {wanted}" for wanted in requires]
        (info / "METADATA").write_text("\n".join(lines) + "\n", encoding="utf-8")
        if name != "fullrecall":
            source = self.folder / f"{name.replace('-', '_')}.py"
            source.write_text(module, encoding="utf-8")

    def doctor(
        self, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run `fullrecall doctor`, with this folder first on its path and without a network."""
        (self.folder / "sitecustomize.py").write_text(
            NO_SOCKETS if "--base-url" not in arguments else "", encoding="utf-8"
        )
        return subprocess.run(
            [sys.executable, "-c", PROGRAM, "doctor", *arguments],
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            env={
                **os.environ,
                "PYTHONPATH": str(self.folder),
                "PYTHONIOENCODING": "utf-8",
                "COLUMNS": "100",
                "NO_COLOR": "1",
                **(environment or {}),
            },
        )

    def checks(self, *arguments: str) -> tuple[int, dict[str, dict[str, Any]]]:
        """Return the exit code and the checks by their names."""
        ended = self.doctor("--json", *arguments)
        told = json.loads(ended.stdout)
        assert told["ok"] is (ended.returncode == 0), ended.stderr
        return ended.returncode, {check["name"]: check for check in told["checks"]}


@pytest.fixture
def played(tmp_path: Path) -> Played:
    """Return an installation in which all that fullrecall needs is there, and is small."""
    folder = tmp_path / "site"
    folder.mkdir()
    place = Played(folder)
    place.install("langchain-fullrecall", "0.1.0", module="")
    deep = folder / "llama_index" / "evaluation"
    deep.mkdir(parents=True)
    (deep / "fullrecall.py").write_text("", encoding="utf-8")
    place.install("llama-index-evaluation-fullrecall", "0.1.0")
    return place


@pytest.mark.tools
def test_what_is_installed_here_works() -> None:
    """In the environment that runs the tests, nothing is broken, and nothing is sent anywhere."""
    ended = subprocess.run(
        [sys.executable, "-c", NO_SOCKETS + PROGRAM, "doctor", "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    told = json.loads(ended.stdout)
    broken = [check for check in told["checks"] if check["state"] == "broken"]
    assert (broken, told["ok"], ended.returncode) == ([], True, 0)
    by_name = {check["name"]: check for check in told["checks"]}
    assert by_name["fullrecall"]["found"] == fullrecall.__version__
    assert by_name["Python"]["found"] == ".".join(map(str, sys.version_info[:3]))
    assert {"rapidfuzz", "built-in judge", "store in a temporary directory"} <= by_name.keys()
    assert {"langchain-fullrecall", "llama-index-evaluation-fullrecall"} <= by_name.keys()
    absent = [check for check in told["checks"] if check["state"] == "absent"]
    assert all(check["advice"].startswith("pip install ") for check in absent)


def test_what_is_not_installed_is_no_fault(played: Played) -> None:
    """An extra that is absent is listed with the command that brings it; the exit code is 0."""
    played.install(
        "fullrecall",
        "0.1.0",
        "no-such-package>=2; extra == 'plot'",
        "there; extra == 'all'",
        extras=("plot", "all"),
    )
    played.install("there")
    code, checks = played.checks()
    assert code == 0
    assert checks["no-such-package"] == {
        "group": "extra plot",
        "name": "no-such-package",
        "state": "absent",
        "found": "",
        "advice": "pip install 'no-such-package>=2'",
    }
    assert "there" not in checks  # `all` lists the other extras again


BROKEN = {
    "raises": ("raise ImportError('libsick.so: no such file')", "libsick.so: no such file"),
    "dies": ("import os; os._exit(3)", "its import ends Python (exit code 3)"),
    "exits": ("raise SystemExit(1)", "SystemExit: 1"),
    "prints": ("import os; print('hello'); os.write(1, b'noise\\n')", ""),
}


def test_a_package_that_does_not_import_is_broken_whatever_it_does(played: Played) -> None:
    """One that raises, exits or takes Python down is told of; the others are tried all the same."""
    names = [f"sick-{how}" for how in BROKEN]
    played.install(
        "fullrecall", "0.1.0", *(f"{name}>=1; extra == 'sick'" for name in names), extras=("sick",)
    )
    for how, (module, _) in BROKEN.items():
        played.install(f"sick-{how}", module=module)
    code, checks = played.checks()
    assert code == 1
    for how, (_, problem) in BROKEN.items():
        check = checks[f"sick-{how}"]
        assert check["state"] == ("broken" if problem else "ok"), check
        assert problem in check["advice"]
        assert not problem or check["advice"].endswith(
            f"pip install --force-reinstall 'sick-{how}>=1'"
        )


def test_versions_out_of_range_are_broken(played: Played) -> None:
    """A framework older than its adapter supports, a newer one, a package that is gone, Python."""
    played.install("fullrecall", "0.1.0", "gone>=1", python=">=9")
    for path in played.folder.glob("langchain_fullrecall*"):
        path.rename(path.with_name(f"{path.name}.old"))
    played.install(
        "langchain-fullrecall", "0.1.0", "fullrecall>=0.1,<0.2", "too-old>=2,<3", "too-new>=1,<2"
    )
    played.install("too-old", "1.9")
    played.install("too-new", "2.0")
    code, checks = played.checks()
    assert code == 1
    for name, advice in {
        "Python": "fullrecall needs Python >=9",
        "gone": "not installed: pip install 'gone>=1'",
        "too-old": "<3,>=2 is supported: pip install 'too-old<3,>=2'",
        "too-new": "<2,>=1 is supported: pip install 'too-new<2,>=1'",
    }.items():
        assert (checks[name]["state"], checks[name]["advice"]) == ("broken", advice)


def test_an_adapter_that_does_not_import_is_broken(played: Played) -> None:
    """Whatever its framework's metadata says."""
    played.install("fullrecall", "0.1.0")
    (played.folder / "langchain_fullrecall.py").write_text("import nowhere_at_all\n")
    code, checks = played.checks()
    assert code == 1
    assert checks["langchain-fullrecall"]["advice"] == (
        "ModuleNotFoundError: No module named 'nowhere_at_all': "
        "pip install integrations/langchain, in fullrecall's repository"
    )
    assert checks["llama-index-evaluation-fullrecall"]["state"] == "ok"


def test_the_table_says_the_same_as_the_json(played: Played) -> None:
    """Group by group, with what to do, and a last line that names what is broken."""
    played.install("fullrecall", "0.1.0", "no-such-package; extra == 'plot'", extras=("plot",))
    well = played.doctor()
    assert (well.returncode, well.stderr) == (0, "")
    lines = [" ".join(line.split()) for line in well.stdout.splitlines()]
    assert "fullrecall 0.1.0 ok" in lines
    assert "no-such-package - not installed" in lines
    assert "pip install no-such-package" in lines
    assert lines[-1] == "Every installed part works."
    (played.folder / "langchain_fullrecall.py").write_text("1 / 0\n")
    sick = played.doctor()
    assert sick.returncode == 1
    lines = [" ".join(line.split()) for line in sick.stdout.splitlines()]
    assert "langchain-fullrecall 0.1.0 BROKEN" in lines
    assert lines[-2].endswith(" fail:")
    # One line, however narrow the terminal is: it is to be copied.
    assert lines[-1] == (
        "langchain-fullrecall: ZeroDivisionError: division by zero: "
        "pip install integrations/langchain, in fullrecall's repository"
    )


def test_a_store_is_tried_where_it_is_to_be(played: Played, tmp_path: Path) -> None:
    """In the directory named, and nothing is left there; a directory that is none is an error."""
    played.install("fullrecall", "0.1.0")
    place = tmp_path / "runs"
    place.mkdir()
    code, checks = played.checks("--directory", str(place))
    assert (code, checks[f"store in {place}"]["found"]) == (0, "journal WAL")
    assert list(place.iterdir()) == []
    wrong = played.doctor("--directory", str(tmp_path / "nowhere"))
    assert wrong.returncode == 2
    assert "no directory" in " ".join(wrong.stderr.replace("│", " ").split())  # folded anywhere


def test_a_store_that_keeps_nothing_is_broken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A place where SQLite cannot write is told of, with the way out."""
    import sqlite3

    from fullrecall.cli import installation
    from fullrecall.run import sqlite

    def full(path: Path) -> sqlite3.Connection:
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(sqlite, "writing", full)
    check = installation._store_in(tmp_path)
    assert check.state is installation.State.BROKEN
    assert "disk I/O error" in check.advice
    assert "--directory" in check.advice


def test_a_judge_without_its_tables_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is missing in the installation shows, with the way out."""
    from fullrecall.cli import installation
    from fullrecall.judges.local import judge as local

    def incomplete() -> None:
        raise FileNotFoundError(2, "No such file or directory", "weights.json")

    monkeypatch.setattr(local, "weights", incomplete)
    check = installation._judge_built_in()
    assert check.state is installation.State.BROKEN
    assert "weights.json" in check.advice
    assert check.advice.endswith("pip install ., in fullrecall's repository")


@pytest.fixture
def endpoint() -> Iterator[Callable[[int, str], str]]:
    """Return what starts a model on loopback that says the same always, and gives its address."""
    servers: list[tuple[ThreadingHTTPServer, threading.Thread]] = []

    def start(status: int, content: str) -> str:
        message = {"role": "assistant", "content": content}
        body = json.dumps(
            {
                "id": "c",
                "object": "chat.completion",
                "created": 0,
                "model": "m",
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
            }
        ).encode()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        servers.append((server, thread))
        return f"http://127.0.0.1:{server.server_port}/v1"

    yield start
    for server, thread in servers:
        server.shutdown()
        server.server_close()
        thread.join()


VERDICT = {
    "id": 1,
    "verdict": "supported",
    "citations": [{"context": 1, "quote": "The Eiffel Tower is in Paris."}],
    "together": False,
}


ANSWERS = json.dumps({"verdicts": [VERDICT]})


def test_a_model_is_asked_for_one_verdict(
    played: Played, endpoint: Callable[[int, str], str]
) -> None:
    """One that gives it, as it should be, works."""
    played.install("fullrecall", "0.1.0")
    code, checks = played.checks("--judge", "openai:m", "--base-url", endpoint(200, ANSWERS))
    assert (code, checks["the judge asked"]["state"]) == (0, "ok")
    assert checks["the judge asked"]["found"].endswith(" s")


@pytest.mark.parametrize(
    ("status", "content", "problem"),
    [
        (200, json.dumps({"verdicts": [{**VERDICT, "verdict": "not_supported"}]}), "unsupported"),
        (200, "I am a teapot.", "no verdict"),
        (401, "", "denied access"),
        (404, "", "does not know the model"),
    ],
    ids=["errs", "chatters", "denies", "unknown"],
)
def test_a_model_that_gives_none_is_broken(
    endpoint: Callable[[int, str], str], status: int, content: str, problem: str
) -> None:
    """One that errs, chatters or turns us away: what it did, and what to look at."""
    from fullrecall.cli import installation
    from fullrecall.judges import LLMJudge
    from fullrecall.models.openai import OpenAIChatModel

    model = OpenAIChatModel("m", base_url=endpoint(status, content))
    check = installation._asked(LLMJudge(model))
    assert check.state is installation.State.BROKEN
    assert problem in check.advice
    assert check.advice.endswith("check --judge, --base-url and OPENAI_API_KEY")


def test_a_judge_that_is_none_is_wrong_usage(played: Played) -> None:
    """As in `fullrecall evaluate`: exit code 2, and what is meant."""
    wrong = played.doctor("--judge", "gpt-9")
    assert wrong.returncode == 2
    assert "openai:MODEL" in wrong.stderr
