"""The prompts of a scorer's judge in LlamaIndex's form, and back.

LlamaIndex fills in `{name}` where it knows the name and leaves other braces as they are; in
`fullrecall`'s own templates those are doubled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from hashlib import sha256
from typing import Any

from llama_index.core.prompts import BasePromptTemplate, ChatPromptTemplate, PromptTemplate

from fullrecall.errors import ParameterError
from fullrecall.judges import Prompts

_VARIABLES: Mapping[str, tuple[str, ...]] = {
    "attribute": ("items", "item", "bears", "whole", "opposite"),
    "relevance": ("purpose",),
    "split_claims": (),
    "split_questions": (),
    "split_entities": (),
}
"""Each prompt with what is filled in, by its name in `fullrecall.judges.Prompts`."""


def templates(scorer: object) -> dict[str, PromptTemplate]:
    """Return the prompts of the judge in a scorer, of the first of several; {} without any."""
    prompts = _first(scorer)
    if prompts is None:
        return {}
    return {
        name: PromptTemplate(_single_braced(name, getattr(prompts, name))) for name in _VARIABLES
    }


def with_templates(scorer: Any, changed: Mapping[str, BasePromptTemplate | str]) -> Any:
    """Return a scorer like this one whose judges, all of them, ask by the changed templates.

    The prompts' version then tells their words, so that stores and reports keep them apart.
    Raises `ParameterError` for what is no template of one text, and for unfit braces.
    """
    texts = {name: _own(name, template) for name, template in changed.items()}

    def change(prompts: Prompts) -> Prompts:
        new = replace(prompts, **texts)
        return prompts if new == prompts else replace(new, version=_version(new))

    return _mapped(scorer, change)


def _first(holder: object) -> Prompts | None:
    if isinstance(holder, Prompts):
        return holder
    return next(
        (
            prompts
            for part in _parts(holder).values()
            for each in _each(part)
            if (prompts := _first(each))
        ),
        None,
    )


def _mapped(holder: Any, change: Callable[[Prompts], Prompts]) -> Any:
    """Return `thing` with every `Prompts` in its fields changed; the same one if nothing is."""
    if isinstance(holder, Prompts):
        return change(holder)
    if isinstance(holder, tuple) and not hasattr(holder, "_fields"):
        mapped = tuple(_mapped(each, change) for each in holder)
        return (
            mapped
            if any(new is not old for new, old in zip(mapped, holder, strict=True))
            else holder
        )
    new = {name: _mapped(part, change) for name, part in _parts(holder).items()}
    new = {name: part for name, part in new.items() if part is not getattr(holder, name)}
    return replace(holder, **new) if new else holder


def _parts(holder: object) -> dict[str, Any]:
    """Return the fields of a scorer or judge that may hold prompts, or what holds them."""
    if not is_dataclass(holder) or isinstance(holder, type):
        return {}
    values = {field.name: getattr(holder, field.name) for field in fields(holder) if field.init}
    return {
        name: value
        for name, value in values.items()
        if isinstance(value, tuple) or is_dataclass(value)
    }


def _each(part: object) -> tuple[object, ...]:
    return part if isinstance(part, tuple) else (part,)


def _single_braced(name: str, text: str) -> str:
    """Return a prompt with single braces around what is filled in, and as they are elsewhere."""
    variables = _VARIABLES[name]
    return (
        text.format(**{variable: f"{{{variable}}}" for variable in variables})
        if variables
        else text
    )


def _own(name: str, template: object) -> str:
    """Return the prompt that a template of LlamaIndex's makes, in `Prompts`' form."""
    if isinstance(template, str):
        template = PromptTemplate(template)
    if not isinstance(template, BasePromptTemplate) or isinstance(template, ChatPromptTemplate):
        raise ParameterError(
            f"the prompt {name!r} is one text, the model's instruction: pass a PromptTemplate, "
            f"got {type(template).__name__}"
        )
    # Filled in with marks, so that the template's partial variables and functions count too.
    marks: dict[str, Any] = {variable: f"\0{variable}\0" for variable in _VARIABLES[name]}
    text = template.format(**marks)
    if not marks:
        return text
    text = text.replace("{", "{{").replace("}", "}}")
    for variable, mark in marks.items():
        text = text.replace(mark, f"{{{variable}}}")
    return text


def _version(prompts: Prompts) -> str:
    """Return a version that tells the prompts' words, behind the version that they came from."""
    words = "\0".join(getattr(prompts, name) for name in _VARIABLES)
    return f"{prompts.version.partition('+')[0]}+{sha256(words.encode()).hexdigest()[:12]}"
