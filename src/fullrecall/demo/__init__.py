"""What `fullrecall demo` runs: three real retrievers over the standard library's documentation.

The one place in this distribution that imports the frameworks, and only when the demo runs.
Nothing is downloaded and nothing is written to disk.
"""

from fullrecall.demo.demonstration import Demonstration, install_command, run

__all__ = ["Demonstration", "install_command", "run"]
