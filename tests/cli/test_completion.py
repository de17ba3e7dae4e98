"""Completion of the command line in a real shell, by the script that `--show-completion` prints."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

# What bash does when the tab key is pressed, without a terminal: it fills these variables and
# calls the function that is registered for the command.
PRESS_TAB = """
eval "$(fullrecall --show-completion; true)"
COMP_WORDS=(%s)
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
function=$(complete -p fullrecall | sed 's/.*-F \\([^ ]*\\).*/\\1/')
"$function" fullrecall
printf '%%s\\n' "${COMPREPLY[@]}"
"""


@pytest.mark.skipif(sys.platform == "win32", reason="bash is not the shell of Windows")
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("fullrecall ev", {"evaluate"}),
        ("fullrecall evaluate --sc", {"--scorer"}),
        ("fullrecall evaluate --scorer cl", {"claim_recall"}),
        ("fullrecall no-such-command-", {""}),
    ],
)
def test_bash_completes_commands_options_and_values(
    typed: str, offered: set[str], tmp_path: Path
) -> None:
    """Typed words are completed only to words that the command line takes."""
    bash = shutil.which("bash")
    assert bash is not None
    command = tmp_path / "fullrecall"
    command.write_text(f"#!{sys.executable}\nfrom fullrecall.cli import main\n\nmain()\n")
    command.chmod(0o755)
    pressed = subprocess.run(
        [bash, "--norc", "-c", PRESS_TAB % typed],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
    )
    assert set(pressed.stdout.splitlines()) == offered, pressed.stderr
