"""Messages name parameters as Python does, or as options while a command runs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from fullrecall._util.naming import options, parameter


@pytest.mark.parametrize(
    ("name", "value", "in_python", "as_option"),
    [
        ("retriever", None, "retriever=", "--retriever"),
        ("id_key", "metadata.doc", "id_key='metadata.doc'", "--id-key metadata.doc"),
        ("rename", {"a": "id", "b": None}, "rename={'a': 'id', 'b': None}", "--rename a=id,b="),
    ],
)
def test_a_parameter_is_named_as_it_is_written(
    name: str, value: Any, in_python: str, as_option: str
) -> None:
    """A message names a parameter as it is written, with its value if it has one."""
    assert parameter(name, value) == in_python
    with options():
        assert parameter(name, value) == as_option
        with options():
            pass
        assert parameter(name, value) == as_option
    assert parameter(name, value) == in_python


def test_threads_of_a_command_name_options() -> None:
    """Threads that a command did not start itself name options in their messages, too."""
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(parameter, "corpus").result() == "corpus="
        with options():
            assert pool.submit(parameter, "corpus").result() == "--corpus"


def test_an_error_ends_it() -> None:
    """After a command fails, messages of the same process name Python parameters again."""
    with pytest.raises(ValueError, match="--old"), options():
        raise ValueError(parameter("old"))
    assert parameter("old") == "old="
