"""Every regular expression of the package and its adapters takes time linear in its text.

Texts are untrusted: they come from models, files, and web pages. The test finds all patterns in the
sources, builds hostile texts from each pattern's own parse tree, and lets the texts grow.
"""

from __future__ import annotations

import ast
import re
import re._constants as op
import re._parser as parser
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import fullrecall
import langchain_fullrecall
import llama_index.evaluation.fullrecall as llama_index_fullrecall
from fullrecall.judge.models.failures import _BY_NAME

PACKAGES = (fullrecall, langchain_fullrecall, llama_index_fullrecall)
SCANS = frozenset({"search", "finditer", "findall", "sub", "subn", "split"})
METHODS = SCANS | {"match", "fullmatch"}

AT_RUN_TIME: Mapping[str, Mapping[str, Any]] = {
    "fullrecall.lexical.falsification": {"former": "Ada  Lovelace (a+a+)+"},
    "fullrecall.judge.replies": {"name": "think"},
    "fullrecall.lexical.words.negations": {"sign": "不(a+a+)+"},
    "fullrecall.judge.models.failures": {"part": "|".join(part for _, part in _BY_NAME)},
    "fullrecall.judge.models.redaction": {"patterns": ["sk-12/3", "a+a+"]},
    "fullrecall.testset.alignment": {"letters": "(a+a+)+"},
    "fullrecall.scorers.entities": {
        "case": "(?i)", "before": "", "spaced": r"a\s++a\s++12", "after": r"(?![.,:/-]\d)",
    },
}  # fmt: skip
"""Values of local names, by module, for patterns that are made at run time."""


BOUNDED: Mapping[tuple[str, str], str] = {
    (
        "fullrecall.diagnosis.ids.words",
        r"[\W_]++",
    ): "is matched in full, over 512 characters at most",
}
"""Patterns that no stranger's text of any length reaches, by module and beginning."""


class Use(NamedTuple):
    """A pattern, the line that compiles it, and the methods that are called on it."""

    pattern: re.Pattern[str]
    where: str
    methods: frozenset[str]


def modules() -> Iterator[tuple[str, ast.Module]]:
    """Yield the name and syntax tree of each module of the packages."""
    for package in PACKAGES:
        root = Path(str(package.__file__)).parent
        for path in sorted(root.rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            name = ".".join((package.__name__, *(part for part in parts if part != "__init__")))
            yield name, ast.parse(path.read_text(encoding="utf-8"))


def method_on(node: ast.AST, holder: str) -> str | None:
    """Return the name of the method that a node calls on a name, or None."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)) if name == holder:
            return attr
    return None


def methods_of(name: str, tree: ast.Module) -> frozenset[str]:
    """Return the methods called on a module's own pattern; all methods if it is passed on."""
    nodes = list(ast.walk(tree))
    loads = sum(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) for n in nodes
    )
    calls = [(method, node) for node in nodes if (method := method_on(node, name))]
    # Matches at successive positions are a scan.
    called = {
        "finditer" if method == "match" and len(node.args) > 1 else method
        for method, node in calls
        if isinstance(node, ast.Call)
    }
    is_private = name.startswith("_")
    return frozenset(called) if is_private and 0 < loads == len(calls) else METHODS


def compiled(call: ast.Call, module: str) -> re.Pattern[str]:
    """Compile the pattern that a call makes, evaluated in its module."""
    names = {**vars(import_module(module)), **AT_RUN_TIME.get(module, {})}
    flags = [keyword.value for keyword in call.keywords if keyword.arg == "flags"]
    if method_on(call, "re") == "compile":
        flags += call.args[1:]
    assert flags or not call.keywords or method_on(call, "re") == "sub", ast.unparse(call)
    pattern, *flag = (
        eval(compile(ast.Expression(node), module, "eval"), names)  # noqa: S307 - our own source
        for node in (call.args[0], *flags)
    )
    return re.compile(pattern, *flag)


@cache
def uses() -> tuple[Use, ...]:
    """Return every pattern that the sources make."""
    collected: list[Use] = []
    for module, tree in modules():
        nodes = list(ast.walk(tree))
        holders = {
            id(node.value): target.id
            for node in nodes
            if isinstance(node, ast.Assign | ast.AnnAssign)
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name)
        }
        for node in nodes:
            method = method_on(node, "re")
            if isinstance(node, ast.Call) and method in METHODS | {"compile"}:
                methods = frozenset({str(method)})
                if method == "compile":
                    holder = holders.get(id(node))
                    methods = methods_of(holder, tree) if holder else METHODS
                collected.append(Use(compiled(node, module), f"{module}:{node.lineno}", methods))
    return tuple(collected)


# Hostile texts ------------------------------------------------------------------------------------

LETTERS = " \t\n\r.,;:!?-_'\"`()[]{}<>/\\@#=+*|~&0129aAzZéßЖ中。\x00\u200b"
REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)


def letters_of(item: tuple[Any, Any], alphabet: str, flags: int) -> str:
    """Return the letters of an alphabet that a node of one character matches, or ""."""
    kind, value = item
    if kind is op.ANY:
        return "".join(c for c in alphabet if c != "\n" or flags & re.DOTALL)
    if kind is op.LITERAL:
        return chr(value)
    if kind not in (op.IN, op.NOT_LITERAL):
        return ""
    node = parser.SubPattern(parser.State())
    node.state.flags = flags
    node.append(item)
    taken = re._compiler.compile(node).fullmatch
    return "".join(c for c in alphabet if taken(c))


class Hostile:
    """A generator of growing texts of the characters that a pattern's repeats match."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self.flags = pattern.flags
        self.tree = parser.parse(pattern.pattern, pattern.flags)
        literals = [chr(v) for k, v in self.nodes(self.tree) if k in (op.LITERAL, op.NOT_LITERAL)]
        self.alphabet = "".join(dict.fromkeys([*literals, *LETTERS]))
        # Each key has the text before a run, and the repeated text.
        self.runs: dict[tuple[str, str], None] = {}

    def nodes(self, tree: Any) -> Iterator[tuple[Any, Any]]:
        """Yield each node of a parse tree, at any depth."""
        pending: deque[Any] = deque([tree])
        while pending:
            value = pending.popleft()
            if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], type(op.ANY)):
                yield value
            if isinstance(value, tuple | list | parser.SubPattern):
                pending.extend(value)

    def sample(self, tree: Any, nth: int) -> str:
        """Return a text that a part of the pattern takes; another for another `nth`."""
        return "".join(self.sample_of(node, nth) for node in tree)

    def sample_of(self, node: tuple[Any, Any], nth: int) -> str:
        """Return a text that matches one node."""
        kind, value = node
        if kind is op.BRANCH:
            return self.sample(value[1][nth % len(value[1])], nth)
        if kind is op.SUBPATTERN:
            return self.sample(value[3], nth)
        if kind is op.ATOMIC_GROUP:
            return self.sample(value, nth)
        if kind in REPEATS:
            return self.sample(value[2], nth) * max(1, value[0])
        if kind is op.ASSERT and value[0] < 0:
            return self.sample(value[1], nth)
        taken = letters_of(node, self.alphabet, self.flags)
        return taken[nth % len(taken)] if taken else ""

    def walk(self, tree: Any, before: str, nth: int) -> None:
        """Collect the runs of each repeat, outer and inner."""
        for kind, value in tree:
            inner: Sequence[Any] = ()
            if kind in REPEATS:
                inner = (value[2],)
                once = self.sample(value[2], nth)
                self.runs[before, once] = self.runs["", before + once] = None
            elif kind is op.BRANCH:
                inner = value[1]
            elif kind is op.SUBPATTERN:
                inner = (value[3],)
            elif kind is op.ATOMIC_GROUP:
                inner = (value,)
            elif kind in (op.ASSERT, op.ASSERT_NOT):
                inner = (value[1],)
            for part in inner:
                self.walk(part, before, nth)
            before += self.sample_of((kind, value), nth)

    def texts(self) -> list[tuple[str, str, str]]:
        """Return the text before a run, the repeated text, and the text after it."""
        for nth in range(6):
            self.walk(self.tree, "", nth)
        sets = [
            frozenset(letters_of(value[2][0], self.alphabet, self.flags))
            for kind, value in self.nodes(self.tree)
            if kind in REPEATS and len(value[2]) == 1
        ]
        for one, other in combinations(sets, 2):  # These repeats can match the same letters.
            self.runs |= dict.fromkeys(("", letter) for letter in sorted(one & other)[:8])
        taken = frozenset().union(*sets)
        misses = [next((c for c in "\x00!aé\u2028" if c not in taken), "\x00"), "\n"]
        return [
            (before, run, after) for before, run in self.runs if run for after in ("", *misses)
        ] + [(before, run + miss, "") for before, run in self.runs if run for miss in misses]


# Growth -------------------------------------------------------------------------------------------

SUSPECT = 400  # µs of CPU for 2,000 characters, if that is 15 times the time for 300.


def spent(pattern: re.Pattern[str], method: str, text: str, tries: int = 3) -> float:
    """Return the µs of CPU that a method takes in this thread, the least of some tries."""
    call = getattr(pattern, method if method not in SCANS or method == "search" else "finditer")
    times = []
    for _ in range(tries):
        began = time.thread_time_ns()
        found = call(text)
        if method in SCANS and method != "search":
            deque(found, maxlen=0)
        times.append((time.thread_time_ns() - began) / 1000)
        if times[-1] > 1_000_000:
            break
    return min(times)


def grown(text: tuple[str, str, str], length: int) -> str:
    """Return a hostile text of about this length."""
    before, run, after = text
    return before + run * (length // len(run)) + after


def superlinear(pattern: re.Pattern[str], methods: frozenset[str]) -> str | None:
    """Return the proof that a pattern is slower than linear, or None.

    Short texts come first, so that an exponential pattern is found before it hangs.
    """
    ways = {"finditer" if method in SCANS else method for method in methods - {"search"}}
    ways |= {"search"} & methods if "finditer" not in ways else set()
    for text in Hostile(pattern).texts():
        for way in ways:
            for length in (18, 24, 30, 64, 300):
                short = spent(pattern, way, grown(text, length), 1)
                if short > 10_000 and (short := spent(pattern, way, grown(text, length))) > 10_000:
                    return f"{way} takes {short:.0f} µs for {length} characters of {text}"
            if spent(pattern, way, grown(text, 2_000), 1) < max(SUSPECT, 15 * short):
                continue
            few, many = (spent(pattern, way, grown(text, size)) for size in (500, 4_000))
            if many > 24 * few and many > 5_000:
                return (
                    f"{way}: 8 times the characters of {text} take {many / few:.0f} times as long"
                )
    return None


def test_every_pattern_is_linear() -> None:
    """Every pattern takes time at most proportional to the length of any text."""
    slow = {
        use.where: f"{use.pattern.pattern!r}: {seen}"
        for use in uses()
        if not any(
            use.where.startswith(f"{module}:") and start in use.pattern.pattern
            for module, start in BOUNDED
        )
        and (seen := superlinear(use.pattern, use.methods))
    }
    assert not slow, "\n".join(f"{where}: {seen}" for where, seen in slow.items())


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"(?:a+)+$", "match"),
        (r"(?:\w|\w\w)*!", "match"),
        (r"\s+$", "search"),
        (r"0*(\d+)x", "fullmatch"),
        (r"[\d.,]*\d", "finditer"),
        (r"<b>.*</b>", "sub"),
    ],
)
def test_slow_patterns_are_found(pattern: str, method: str) -> None:
    """The check finds exponential and quadratic patterns of each kind."""
    assert superlinear(re.compile(pattern), frozenset({method})) is not None


def test_linear_patterns_pass() -> None:
    """The check passes possessive repeats, and a scan that starts at a run."""
    for pattern in (
        r"(?<!a)(?:a++)++$",
        r"(?<!\s)\s++$",
        r"(?<!\d)\d++x",
        r"<b>[^<]*+</b>",
    ):
        assert superlinear(re.compile(pattern), frozenset({"search"})) is None


def test_no_exception_is_left_over() -> None:
    """Each listed exception is a pattern that exists."""
    for module, start in BOUNDED:
        assert any(u.where.startswith(f"{module}:") and start in u.pattern.pattern for u in uses())
    assert set(AT_RUN_TIME) <= {use.where.partition(":")[0] for use in uses()}
