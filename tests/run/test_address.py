"""Stores have one parser of addresses, for Python and the CLI, which shows no credential."""

from __future__ import annotations

import pickle
import random
import secrets
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fullrecall import IdRecall, Sample, evaluate
from fullrecall.errors import ParameterError
from fullrecall.run import address as addresses
from fullrecall.run.address import Address

SECRET = "s3cr3tW0rd"  # noqa: S105 - what must not be shown

WITH_CREDENTIALS = [
    f"redis://:{SECRET}@host:6379/0",
    f"REDIS://:{SECRET}@host/0",
    f"  redis://user:{SECRET}@host/0\n",
    f"rediss://{SECRET}@host/0",
    f"redis://host/0?password={SECRET}",
    f"redis://host/0?db=1&PASSWORD={SECRET}",
    f"rediss://host/0?ssl_password={SECRET}",
    f"redis://host/0?%70assword={SECRET}",
    f"unix:///run/redis.sock?password={SECRET}",
    f"unix://{SECRET}@/run/redis.sock",
    f"redis://host/0?username={SECRET}",
    f"redis://:{SECRET}",
    f"redis://:a/{SECRET}@host/0",
    f"redis://:a?{SECRET}@host/0",
    f"redis://:a#{SECRET}@host/0",
    f"redis://:a@{SECRET}@host/0",
    f"redis://host/0?password=a@{SECRET}",
    f"valkey://:{SECRET}@host/0",
    f"valkeys://:{SECRET}@host/0",
    f"postgresql://user:{SECRET}@host/db",
    f"https://user:{SECRET}@host/",
    f"file:///home/{SECRET}",
]


@pytest.mark.parametrize("url", WITH_CREDENTIALS)
@pytest.mark.parametrize("of", [str, Path], ids=["text", "path"])
def test_no_message_shows_a_credential(url: str, of: Any) -> None:
    """A URL with a password, a user, or of another server is refused and not repeated."""
    sample = Sample(user_input="q", retrieved_context_ids=["1"], reference_context_ids=["1"])
    with pytest.raises(ParameterError, match="store must be a") as caught:
        evaluate([sample], IdRecall(), store=of(url), progress=False)
    assert SECRET.lower() not in str(caught.value).lower()
    assert caught.value.__cause__ is None


@pytest.mark.rooms
@pytest.mark.parametrize("url", WITH_CREDENTIALS)
def test_the_command_line_says_the_same(url: str, tmp_path: Path) -> None:
    """The exit code is 2, the message names --store, and no part of the secret is shown."""
    from fullrecall.cli import app

    golden = tmp_path / "golden.jsonl"
    golden.write_text(
        '{"user_input": "q", "retrieved_context_ids": ["1"], "reference_context_ids": ["1"]}\n'
    )
    done = CliRunner().invoke(app, ["evaluate", str(golden), "--store", url])
    assert done.exit_code == 2, done.output
    assert "store" in done.output
    assert SECRET.lower() not in done.output.lower()


@pytest.mark.rooms
@pytest.mark.parametrize("url", WITH_CREDENTIALS)
def test_workers_get_no_credential(url: str) -> None:
    """A batch scorer refuses a URL with a credential, too."""
    from fullrecall.batches import BatchScorer

    with pytest.raises(ParameterError, match="store must be a") as caught:
        BatchScorer(IdRecall(), store=url)
    assert SECRET.lower() not in str(caught.value).lower()


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("redis://host:6379/0", "redis://host:6379/0"),
        (" Redis://host/0 ", "redis://host/0"),
        ("redis:/host/0", "redis://host/0"),
        (str(Path("rediss://host:1/2")), "rediss://host:1/2"),
        ("unix:///run/a@b.sock", "unix:///run/a@b.sock"),
        (str(Path("unix:///run/r.sock")), "unix:///run/r.sock"),
        ("redis://host/0?db=3&ssl_cert_reqs=none", "redis://host/0?db=3&ssl_cert_reqs=none"),
        ("redis://[::1]:6379/0", "redis://[::1]:6379/0"),
    ],
)
def test_urls_of_servers(given: str, url: str) -> None:
    """A server's URL is read in any case, with blanks around it, and from a `Path`."""
    address = Address(given, "job")
    assert address.is_server
    assert address.url == url
    assert pickle.loads(pickle.dumps(address)) == address  # noqa: S301 - our own


@pytest.mark.parametrize(
    "path",
    ["answers.sqlite", "C:/runs/a.sqlite", "C:\\runs\\a.sqlite", "a:b/c.sqlite", " a ", "redis"],
)
def test_paths_stay_paths(path: str) -> None:
    """A path with a drive, a blank or a colon stays a path."""
    address = Address(path, "")
    assert not address.is_server
    assert address.url == path


@pytest.mark.parametrize("store", ["a\0b", "redis://h\0/0", "\ud800"])
def test_a_nul_is_an_error_of_ours(store: str) -> None:
    """A path with a NUL character is refused with an error of fullrecall."""
    with pytest.raises(ParameterError, match="which no file can have"):
        Address(store, "")


def test_random_passwords_anywhere() -> None:
    """Passwords of any printable characters are in no message and no repr."""
    draw = random.Random(51)
    marks = "@:/?#&=%[]. \\'\""
    for _ in range(100):  # Every message is searched for all secrets so far.
        secret = secrets.token_hex(6)
        password = "".join(draw.sample(marks, draw.randint(0, 4))) + secret
        password += "".join(draw.sample(marks, draw.randint(0, 3)))
        url = draw.choice(
            ["redis://:{}@host/0", "rediss://u:{}@h:1/0", "redis://h/0?password={}"]
        ).format(password)
        with pytest.raises(ParameterError) as caught:
            Address(url, "")
        assert secret not in str(caught.value)


def test_a_server_without_its_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store on a server is refused by name if the package has no client for it."""
    monkeypatch.setattr(addresses, "plugged", lambda _: None)
    with pytest.raises(ParameterError, match=r"store must be a path: .* no client for Redis"):
        Address("redis://host/0").open()
