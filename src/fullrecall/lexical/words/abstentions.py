"""Detect answers that state that there is no answer."""

from __future__ import annotations

import re

_ABSTENTION = re.compile(
    r"^(?:[\w ,]* )?(?:documents?|contexts?|passages?|texts?|sources?|excerpts?)"
    r"(?: provided| given)? "
    r"(?:do|does|did) ?(?:not|n['\u2019]t) (?:say|state|mention|specify|answer|address|"
    r"(?:contain|provide|include|give) (?:an |any |the |enough |sufficient )*"
    r"(?:answer|information))"
    r"|\b(?:i|we) (?:do not|don['\u2019]t|cannot|can['\u2019]t) (?:know|answer|say|determine)\b"
    r"|\b(?:cannot|can['\u2019]t|could not) be (?:answered|determined)\b"
    r"|\bno (?:answer|information|mention)\b[^.]{0,30}\b(?:available|given|found|provided|of)\b"
    r"|\b(?:not enough|insufficient) information\b|\bunanswerable\b"
    r"|\bkeine (?:Antwort|Angaben?|Informationen)\b|\bnicht (?:erwähnt|angegeben|beantworten)\b"
    r"|\baucune (?:réponse|information)\b|\bno hay (?:respuesta|información)\b",
    re.IGNORECASE,
)


def abstains(text: str) -> bool:
    """Return whether a text states that there is no answer."""
    return _ABSTENTION.search(text) is not None
