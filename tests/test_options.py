"""Every option of a public callable is checked, and an unknown one is refused with the fix."""

from __future__ import annotations

import inspect
import pickle
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from importlib import import_module
from types import FunctionType
from typing import Any, NamedTuple

import pytest
from tests.adapters import DISTRIBUTIONS, installed

import fullrecall
from fullrecall import IdRecall, Sample
from fullrecall.errors import InputError, ParameterError
from fullrecall.measures import Measure

ADAPTERS = installed()
CONSTRUCTORS = {"__init__", "__new__"}


class Called(NamedTuple):
    """A public callable: its name in messages, a way to call it, and its named options."""

    name: str
    call: Callable[..., Any]
    options: tuple[str, ...]
    takes_any: bool


def faces() -> Iterator[str]:
    """Yield every package and module of the project that lists its public names."""
    yield from ("fullrecall", *ADAPTERS)
    for module in pkgutil.iter_modules(fullrecall.__path__, "fullrecall."):
        is_program = module.name in {"fullrecall.__main__", "fullrecall.cli"}
        if not is_program and hasattr(import_module(module.name), "__all__"):
            yield module.name


def public() -> Iterator[Called]:
    """Yield every public function, constructor and method, each once."""
    met: set[str] = set()
    for face in faces():
        for name in import_module(face).__all__:
            value = getattr(import_module(face), name)
            for called in called_of(name, value):
                key = f"{face if face in ADAPTERS else ''} {called.name}"
                if key not in met:
                    met.add(key)
                    yield called


def called_of(name: str, value: Any) -> Iterator[Called]:
    """Yield the callables of a public value."""
    if isinstance(value, type):
        if not issubclass(value, (Enum, BaseException)) and not getattr(value, "_is_protocol", 0):
            yield from called_of_class(value)
    elif isinstance(value, Measure):
        options = [each for each in inspect.signature(type(value)).parameters if each != "k"]
        yield Called(value.text, value, tuple(options), takes_any=False)
    elif inspect.isroutine(inspect.unwrap(value)):
        yield called(name, value)


def called_of_class(kind: type) -> Iterator[Called]:
    """Yield the constructor and the public methods of a class that this project defines."""
    some_object = type(kind.__name__, (), {})()  # Calls with wrong arguments do not use it.
    for name, member in inspect.getmembers_static(kind):
        owner = next(each for each in kind.__mro__ if name in vars(each))
        is_function = isinstance(member, (classmethod, staticmethod, FunctionType))
        if "fullrecall" not in owner.__module__ or not is_function:
            continue
        if name in CONSTRUCTORS:
            if not inspect.isabstract(kind):
                yield called(kind.__name__, kind)
        elif not name.startswith("_"):
            unbound = isinstance(member, FunctionType)
            function = member.__get__(some_object) if unbound else getattr(kind, name)
            is_static = isinstance(member, staticmethod)
            own_name = function.__name__ if is_static else f"{kind.__name__}.{name}"
            yield called(own_name, function)


def called(name: str, call: Callable[..., Any]) -> Called:
    """Return a callable with the options of its signature."""
    parameters = inspect.signature(call).parameters.values()
    named = [p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)]
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters)
    return Called(name, call, tuple(named), takes_any)


@pytest.mark.frameworks
def test_the_adapters_are_among_the_faces() -> None:
    """The adapters are among the checked packages."""
    assert set(ADAPTERS) == set(DISTRIBUTIONS)


PUBLIC = [*public()]
REFUSING = [each for each in PUBLIC if not each.takes_any]


def outcome(call: Callable[..., Any], **options: object) -> Any:
    """Call, and run a coroutine function's coroutine until it fails."""
    result = call(**options)
    return result.send(None) if inspect.iscoroutine(result) else result


@pytest.mark.parametrize("each", REFUSING, ids=lambda each: each.name)
def test_an_unknown_option_is_refused_by_name(each: Called) -> None:
    """The error names the public callable, and the nearest option or all options."""
    with pytest.raises(ParameterError) as raised:
        outcome(each.call, zzz=1)
    message = str(raised.value)
    assert message.startswith(f"{each.name} has no parameter 'zzz': ")
    assert all(option in message for option in each.options)
    for option in each.options[:1]:
        with pytest.raises(ParameterError) as raised:
            outcome(each.call, **{f"{option}_": 1})
        assert str(raised.value).endswith(f"has no parameter '{option}_': did you mean {option}?")


@pytest.mark.frameworks
def test_options_are_written_out() -> None:
    """No public callable takes options that its signature does not show, with exceptions.

    The exceptions are fields of a sample, under the names of other tools too, and of a step; values
    of a template; and the arguments that a framework passes to all evaluators and metrics.
    """
    taking_any = {each.name for each in PUBLIC if each.takes_any}
    of_samples = {name for name in taking_any if name.endswith((".score", ".ascore", ".sample"))}
    assert taking_any - of_samples == {
        "Sample",
        "RecallEvaluator.aevaluate",
        "RecallEvaluator.aevaluate_response",
        "RecallEvaluator.evaluate",
        "RecallEvaluator.evaluate_response",
        "RecallMetric.compute",
        "StepLog.begin",
        "document",
    }


@pytest.mark.parametrize("call", [Sample, IdRecall().score], ids=["Sample", "score"])
def test_an_unknown_field_of_a_sample_is_refused(call: Callable[..., Any]) -> None:
    """An unknown field of a sample is an `InputError`, as in a row of a file."""
    with pytest.raises(InputError, match=r"unknown field 'zzz'\. A sample takes id, user_input, "):
        call(zzz=1)
    with pytest.raises(InputError, match=r"did you mean 'user_input'\?"):
        call(user_inputs="q")


RUN = {"max_concurrency": 16, "timeout": 60.0, "retries": 4, "progress": True}
TOKENS = {"prompt_tokens": 0, "completion_tokens": 0}
JUDGED = {"judge": None, "partial_credit": 0.0, "require_evidence": False, "min_measured": 1.0}
DEFAULTS: dict[str, dict[str, Any]] = {
    "evaluate": {**RUN, "replace": False, "view": "contexts", "collapse": False},
    "aevaluate": {**RUN, "replace": False, "view": "contexts", "collapse": False},
    "choose": {**RUN, "within": 0.0, "confidence": 0.95},
    "compare": {"confidence": 0.95},
    "calibrate": {"confidence": 0.95},
    "diagnose": {"deep_k": 100},
    "examine": {**RUN, "details": True, "seed": 0},
    "check": RUN,
    "complete": {**RUN, "depth": 20, "seed": 0},
    "follow": {"accept_changed": False},
    "generate": {
        **RUN,
        "n": 100,
        "kinds": {"one_fact": 0.7, "several_facts": 0.2, "across_documents": 0.1},
        "seed": 0,
    },
    "reviews_needed": {"allowed": 2},
    "to_review": {"seed": 0, "title": "Review of a test set"},
    "CompletedSet.to_label": {"n": 300, "second": False},
    "CompletedSet.with_labels": {"error": 0.05},
    "run": {"k": 5, "depth": 20},
    "read_trec": {"ties": "trec"},
    "BatchScorer": {"max_concurrency": 16, "timeout": 60.0, "retries": 4, "view": "contexts"},
    "Gate": {"confidence": 0.95, "scores": ()},
    "ClaimRecall": {**JUDGED, "split": "judge"},
    "ContextPrecision": JUDGED,
    "QuestionRecall": JUDGED,
    "SpanRecall": {"min_run": 32},
    "TextRecall": {"similarity": "levenshtein", "threshold": 0.5, "comparison": "ge"},
    "Cascade": {"unsure": (0.3, 0.65)},
    "LexicalJudge": {"threshold": 0.5},
    "CrossEncoderJudge": {"threshold": 0.5, "window": 3, "batch_size": 32, "max_length": 512},
    "LLMJudge": {
        "claims_per_call": 20,
        "window": 60_000,
        "reasks": 2,
        "sample": 0,
        "requote": False,
        "verify": "rules",
        "guard": "hints",
    },
    "OpenAIChatModel": {"temperature": 0.0, "schema": True, "timeout": 60.0},
    "AnthropicChatModel": {"temperature": 0.0, "schema": True, "timeout": 60.0},
    "Retries": {"most": 4, "first_wait": 0.5, "longest_wait": 60.0},
    "StepReading": {"failed_calls": "unscored"},
    "ValueReader": {"limit": 64_000_000},
    "Report.save": {"replace": False},
    "Report.slices": {"confidence": 0.95},
    "Report.smallest_k": {"confidence": 0.95},
    "Report.to_label": {"seed": 0, "show_verdicts": False},
    "Report.drawn": {"seed": 0},
    "Report.plot": {"ks": (1, 3, 5, 10)},
    "Report.to_frame": {"backend": "pandas"},
    "Comparison.to_markdown": {"flips": 5},
    "Diagnosis.to_markdown": {"misses": 3},
    "Call": {"recovered": False, "reorders": False},
    "CalibrationEstimate": {"clipped": False},
    "ChatRequest": {"sample": 0, "again": 0},
    "Check": {"samples": 0},
    "Claim": {"vital": True},
    "Comparison": {"confidence": 0.95},
    "Comparisons": {"confidence": 0.95},
    "CompletedSet": {"seed": 0, "error": 0.0},
    "CompletenessEstimate": {"needed": 0},
    "Completion": {"prompt_tokens": 0, "completion_tokens": 0, "requests": 1},
    "DocumentList": {"certain": True, "hits": False},
    "Finding": {"unverified": 0.0, "referred": False},
    "FollowedLabel": {"together": False},
    "Interval": {"confidence": 0.95},
    "Ledger.stop": {"is_final": False},
    "Method": {"quotes_by_rules": False},
    "RecallEvaluator": {"score_stages": True},
    "RecallStringEvaluator": {"keep": True, "collapse": False},
    "RecallStringEvaluator.aevaluate_strings": {"include_run_info": False},
    "RecallStringEvaluator.evaluate_strings": {"include_run_info": False},
    "RedisLedger.stop": {"is_final": False},
    "Reference": {"grade": 1.0},
    "ScoreSummary": {"unjudged": 0},
    "ScriptedChatModel": {"echo": True},
    "Spent": {"calls": 0, "retries": 0, **TOKENS, "cost": None, "seconds": 0.0, "reused": 0},
    "SQLiteLedger.stop": {"is_final": False},
    "Step": {
        **dict.fromkeys(("closed", "tries", "answers", "stores", "reorders"), False),
        "began": 0,
    },
    "Target": {"grade": 1.0, "size": 1.0},
    "Threshold": {"at_most": False},
    "Usage": {"calls": 0, **TOKENS},
    "Verdict": {"together": False, "referred": False},
    "brief": {"limit": 200},
    "capture_retrievals": {"collapse": False},
    "contexts": {"collapse": False},
    "falsified": {"seed": 0},
    "observed": {"collapse": False},
    "to_label": {"seed": 0, "show_verdicts": False},
}
"""Defaults that decide results, costs, or files; all that are numbers or truth values."""


@pytest.mark.parametrize("each", PUBLIC, ids=lambda each: each.name)
def test_defaults_are_a_promise(each: Called) -> None:
    """Defaults do not change, since another default changes the results of users' programs."""
    parameters = inspect.signature(each.call).parameters
    defaults = {option: parameter.default for option, parameter in parameters.items()}
    promised = DEFAULTS.get(each.name, {})
    plain = {o: value for o, value in defaults.items() if type(value) in (bool, int, float)}
    # Only one of the adapters may have an option.
    assert {**plain, **{o: defaults.get(o, value) for o, value in promised.items()}} == promised


CHANGING = {"AnthropicChatModel", "OpenAIChatModel", "Spent", "Step"}
"""Public dataclasses that are not frozen."""


def test_values_cannot_be_changed() -> None:
    """Scorers, samples and results are immutable and hashable."""
    exported = [
        getattr(import_module(face), n) for face in faces() for n in import_module(face).__all__
    ]
    data = [each for each in exported if isinstance(each, type) and is_dataclass(each)]
    assert {each.__name__ for each in data if each.__setattr__ is object.__setattr__} == CHANGING


LEFT_OUT = {
    "Address": {"job"},
    "Diagnosis": {"of"},
    "Difference": {"pairs", "totals"},
    "Estimate": {"totals"},
    "Examination": {"report"},
    "LLMJudge": {"_splits"},
    "RemoteModel": {"_clients", "_instead_of", "_portal", "_rejected", "_takes_schemas"},
    "Result": {"_row", "_sample", "_source"},
    "Retrieval": {"seconds"},
}
"""Fields that are left out when two values are compared: caches, times, and origins."""
UNSHOWN = {"Address", "Difference", "Estimate", "Examination", "LLMJudge"}
"""Classes whose fields that are left out are not printed at a prompt either."""
LARGE = {"CorpusIndex": {"texts"}, "TestSet": {"texts"}}
"""Fields that are compared, and too large to be printed."""


def test_equal_values_have_equal_fields_but_caches_times_and_origins() -> None:
    """Equality of any dataclass is that of its fields, with the listed exceptions."""
    uncompared: dict[str, set[str]] = {}
    unshown: dict[str, set[str]] = {}
    for module in pkgutil.walk_packages(fullrecall.__path__, "fullrecall."):
        values = [] if "__main__" in module.name else vars(import_module(module.name)).values()
        for kind in (each for each in values if isinstance(each, type) and is_dataclass(each)):
            name = "RemoteModel" if kind.__name__.endswith("ChatModel") else kind.__name__
            for field in fields(kind):
                for found, is_kept in ((uncompared, field.compare), (unshown, field.repr)):
                    if not is_kept:
                        found.setdefault(name, set()).add(field.name)
    assert uncompared == LEFT_OUT
    assert unshown == {**{name: LEFT_OUT[name] for name in UNSHOWN}, **LARGE}


def test_results_print_themselves_at_a_prompt_too() -> None:
    """A result with its own text, such as a table, prints it at a prompt."""
    exported = [
        getattr(import_module(f), name) for f in faces() for name in import_module(f).__all__
    ]
    kinds = [each for each in exported if isinstance(each, type) and is_dataclass(each)]
    printing = [each for each in kinds if each.__str__ is not object.__str__]
    by_fields = {each.__name__ for each in printing if hasattr(each.__repr__, "__wrapped__")}
    assert by_fields == {"Written", "Audit", "CompletedSet", "Followed", "Review", "TestSet"}


def test_public_names_can_be_pickled() -> None:
    """Public functions and classes pickle by the names from which users import."""
    for face in faces():
        for name in import_module(face).__all__:
            value = getattr(import_module(face), name)
            if inspect.isroutine(value) or inspect.isclass(value):
                assert pickle.loads(pickle.dumps(value)) is value  # noqa: S301 - our own
