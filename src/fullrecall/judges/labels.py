"""The words that models use for a verdict, and the label that each means."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

from fullrecall.judges.judge import Label

_WORDS: Mapping[Label, str] = {
    "supported": "supported; supports; support; is supported; fully supported; full support; full; "
    "fully; completely supported; totally supported; entailed; entailment; entails; attributable; "
    "attributed; yes; true; verified; confirmed; unterstützt; vollständig unterstützt; gestützt; "
    "belegt; bestätigt; soutenu; soutenue; étayé; étayée; confirmé; appuyé; soportado; "
    "soportada; respaldado; respaldada; apoyado; apoyada; confirmado; confirmada; supportato; "
    "supportata; sostenuto; sostenuta; confermato; suportado; suportada; apoiado; apoiada; "
    "ondersteund; gesteund; onderbouwd; bevestigd; stöds; understøttet; støttet; poparte; "
    "potwierdzone; подтверждено; подтверждается; поддерживается; поддержано; desteklenen; "
    "destekleniyor; desteklendi; podporováno; tuettu; támogatott; susținut; 支持; 完全支持; "
    "支持されている; 支持される; 裏付けられている; サポートされている; "
    "지지됨; 지원됨; مدعوم; مؤيد; समर्थित",
    "partial": "partial; partially; partly; partially supported; partly supported; "
    "partial support; partially entailed; supported in part; in part; somewhat supported; "
    "incomplete; teilweise; teilweise unterstützt; teilweise gestützt; teilweise belegt; partiel; "
    "partiellement; partiellement soutenu; partiellement étayé; parcial; parcialmente; "
    "parcialmente respaldado; parcialmente apoyado; parcialmente apoiado; parziale; parzialmente; "
    "parzialmente supportato; gedeeltelijk; gedeeltelijk ondersteund; deels; delvis; częściowo; "
    "częściowo poparte; частично; частично подтверждено; kısmen; kısmen destekleniyor; částečně; "
    "osittain; részben; parțial; 部分; 部分支持; 部分的; 部分的に支持; "
    "一部支持; 부분; 부분적; 부분 지지; جزئي; "
    "مدعوم جزئيا; आंशिक",
    "not_supported": "not supported; unsupported; not support; no support; does not support; "
    "is not supported; unsupportable; not entailed; neutral; not attributable; unattributable; "
    "unverified; not verified; unverifiable; not mentioned; not stated; not found; "
    "not enough info; "
    "not enough information; insufficient; insufficient information; no evidence; none; no; "
    "nicht unterstützt; nicht gestützt; nicht belegt; unbelegt; non soutenu; non étayé; "
    "pas soutenu; no respaldado; no respaldada; no apoyado; no soportado; non supportato; "
    "non supportata; non sostenuto; não suportado; não apoiado; niet ondersteund; niet gesteund; "
    "stöds inte; ikke understøttet; ikke støttet; niepoparte; nie poparte; не подтверждено; "
    "не подтверждается; не поддерживается; desteklenmiyor; desteklenmedi; nepodporováno; "
    "ei tuettu; nem támogatott; nesusținut; 不支持; 未支持; 无支持; "
    "支持されていない; 支持されない; "
    "裏付けられていない; サポートされていない; 지지되지 않음; 지원되지 않음; غير مدعوم; असमर्थित",
    "contradicted": "contradicted; contradicts; contradict; contradiction; contradictory; "
    "is contradicted; refuted; refutes; refute; disproved; disproven; conflicts; conflicting; "
    "widersprochen; widerlegt; widerspruch; contredit; contredite; réfuté; contradicho; "
    "contradicha; refutado; contraddetto; contraddetta; smentito; contradito; contradita; "
    "tegengesproken; weerlegd; motsägs; modsagt; motsagt; zaprzeczone; sprzeczne; опровергнуто; "
    "опровергается; противоречит; çelişiyor; çürütüldü; vyvráceno; ristiriidassa; cáfolt; "
    "contrazis; 矛盾; 反驳; 被反驳; 反駁; 矛盾している; 反する; 모순; 반박됨; متناقض; منفي; खंडित",
}


def _plain(word: str) -> str:
    folded = unicodedata.normalize("NFC", word).casefold()
    return re.sub(r"[\s_-]+", " ", folded).strip(" .,;:!*\"'`。")


_LABELS: Mapping[str, Label] = {
    _plain(word): label for label, words in _WORDS.items() for word in words.split(";")
}


def label_of(word: object) -> Label | None:
    """Return the label that a word means, letter case and marks aside; None where it is unclear.

    The word "false" is not read: it may say that a claim is contradicted, or that it is not
    supported. A boolean has two values alone, so false is all that is not supported.
    """
    if isinstance(word, bool):
        return "supported" if word else "not_supported"
    return _LABELS.get(_plain(word)) if isinstance(word, str) else None
