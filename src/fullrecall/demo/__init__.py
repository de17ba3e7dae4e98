"""The demo: a real search with a defect, over the help pages of an invented town's library.

`fullrecall demo` needs no optional package, since it searches with SQLite. It makes no download and
writes no file. `library_pages` and `library_questions` return its data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall._util import lazy

if TYPE_CHECKING:  # the list of all exports: `lazy` reads it too
    from fullrecall.demo.demonstration import COPIES as COPIES
    from fullrecall.demo.demonstration import MARGIN as MARGIN
    from fullrecall.demo.demonstration import Demonstration as Demonstration
    from fullrecall.demo.demonstration import run as run
    from fullrecall.demo.library import FullTextSearch as FullTextSearch
    from fullrecall.demo.library import chunked as chunked
    from fullrecall.demo.library import library_pages as library_pages
    from fullrecall.demo.library import library_questions as library_questions
else:
    __getattr__ = lazy.names(__name__)
