"""Does a text seem to speak to whoever judges it? A hint, and no proof of an attack.

Contexts are data. What holds an attack off is its structure: quotes that bear, and canaries
(`guard`). A hint only says where canaries are worth their tokens by default, and which context to
judge alone first where they fail. Pages about evaluation look the same; most new wordings do not.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from fullrecall.judges.sentences import sentences

_SEGMENTS = re.compile(r"[\n.!?。！？]")  # noqa: RUF001
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064]")

_VERDICTS = (
    "supported entailed entails contradicted attributable belegt gestützt "
    "unterstützt étayé soutenu respald apoyad supportat sostenut suportad "
    "apoiad ondersteund onderbouwd подтвержд поддерж poparte potwierdz "
    "destekl styrkta underbygge 支持 サポート 裏付 지지 مدعوم مؤيد समर्थित"
).split()
_THINGS = (
    "claim statement verdict assertion proposition behauptung aussage "
    "affirmation déclaration afirmacion declaracion affermazion afirmaç "
    "bewering утвержден stwierdze iddia 声明 主张 断言 陈述 主張 진술 주장 ادعاء دعاوى "
    "दाव mark label rate answer reply respond output return marqu marca "
    "контра отмет ответ oznacz işaretle 标记 判定 回答 マーク 표시"
).split()
_ORDERS = (
    "ignore disregard forget override bypass vergiss missacht oubli olvid "
    "dimentic esque negeer игнор забуд zignoruj 忽略 无视 無視 忘记 무시 تجاهل अनदेखा"
).split()
_ORDERED = (
    "instruct prompt rule guideline above previous prior earlier order "
    "anweisung regel instrucci istruzion instruç consigne инструкц правил "
    "指示 指令 说明 命令 规则 上述 ルール 지시 명령 تعليمات निर्देश"
).split()
_JUDGES = "judge evaluator grader annotator fact-check rater reviewer assessor assistant".split()
_ADDRESSES = "you note attention message reminder notice warning dear hey".split()
_MARKS = (
    "<|im_", "[inst]", "[/inst]", "<<sys", "not_supported", '"verdict', "'verdict", "<system",
    "</system", "</context", "</claim", "system:", "assistant:", "### instruction",
)  # fmt: skip
_TRUTHS = ["true", "false", "correct"]
_LISTED = [f"{every} {thing}" for every in ("all", "every", "each", "all the")
           for thing in ("claim", "statement")]  # fmt: skip
_TOGETHER = (
    (_VERDICTS, _THINGS), (_ORDERS, _ORDERED), (_JUDGES, _ADDRESSES), (_TRUTHS, _LISTED),
)  # fmt: skip
"""Words of which one of each kind stands in a sentence that speaks to a judge."""


@lru_cache(maxsize=4_096)
def seems_to_instruct(text: str) -> bool:
    """Whether a sentence of a text may be meant for whoever judges it. Time is linear."""
    plain = text.lower() if text.isascii() else _plain(text)
    if any(mark in plain for mark in _MARKS):
        return True
    kinds = [(one, other) for one, other in _TOGETHER if _has(plain, one) and _has(plain, other)]
    return bool(kinds) and any(
        _has(segment, one) and _has(segment, other)
        for segment in _SEGMENTS.split(plain)
        for one, other in kinds
    )


def without_hints(text: str) -> str:
    """Return a text without the sentences that seem to instruct whoever judges it."""
    return " ".join(part for part in sentences(text) if not seems_to_instruct(part))


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)).casefold()


def _has(text: str, words: list[str]) -> bool:
    return any(word in text for word in words)
