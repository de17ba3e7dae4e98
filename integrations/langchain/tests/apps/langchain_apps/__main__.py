"""Print the table of verdicts by door: `python -m langchain_apps`, in the folder above."""

from __future__ import annotations

import sys
import warnings

from langchain_apps.doors import table
from langchain_apps.suite import load

warnings.simplefilter("ignore")
load()
sys.stdout.write(f"{table()}\n")
