"""One true and one false claim in each of thirteen languages, of one short text each.

Made for this project, to see whether a judge credits what is false in a language that it does not
read. Thirteen pairs tell which languages fail, not how often.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Translation(NamedTuple):
    """A context in one language, a claim that it supports, and one that it contradicts."""

    context: str
    true: str
    false: str


TRANSLATIONS: Mapping[str, Translation] = {
    "de": Translation(
        "Der Turm steht in Paris und wurde im Jahr 1889 eröffnet. Er ist 330 Meter hoch.",
        "Der Turm steht in Paris.", "Der Turm steht in Rom."),
    "fr": Translation(
        "La tour se trouve à Paris et a été ouverte en 1889. Elle mesure 330 mètres.",
        "La tour se trouve à Paris.", "La tour ne se trouve pas à Paris."),
    "es": Translation(
        "La torre está en París y fue inaugurada en 1889. Mide 330 metros de altura.",
        "La torre fue inaugurada en 1889.", "La torre fue inaugurada en 1923."),
    "it": Translation(
        "La torre si trova a Parigi ed è stata aperta nel 1889. È alta 330 metri.",
        "La torre si trova a Parigi.", "La torre si trova a Roma."),
    "pt": Translation(
        "A torre fica em Paris e foi inaugurada em 1889. Ela tem 330 metros de altura.",
        "A torre fica em Paris.", "A torre não fica em Paris."),
    "nl": Translation(
        "De toren staat in Parijs en werd in 1889 geopend. Hij is 330 meter hoog.",
        "De toren staat in Parijs.", "De toren staat niet in Parijs."),
    "pl": Translation(
        "Wieża znajduje się w Paryżu i została otwarta w 1889 roku. Ma 330 metrów wysokości.",
        "Wieża znajduje się w Paryżu.", "Wieża znajduje się w Rzymie."),
    "ru": Translation(
        "Башня стоит в Париже и была открыта в 1889 году. Её высота 330 метров.",
        "Башня стоит в Париже.", "Башня стоит в Риме."),
    "tr": Translation(
        "Kule Paris'te bulunur ve 1889 yılında açıldı. Kulenin yüksekliği 330 metredir.",
        "Kule 1889 yılında açıldı.", "Kule 1889 yılında bir yangın ile açılmadı."),
    "sv": Translation(
        "Tornet ligger i Paris och öppnades år 1889. Det är 330 meter högt.",
        "Tornet ligger i Paris.", "Tornet ligger inte i Paris."),
    "zh": Translation(
        "铁塔位于巴黎，于1889年开放。它的高度是330米。",
        "铁塔位于巴黎。", "铁塔位于罗马。"),
    "ja": Translation(
        "塔はパリにあり、1889年に公開された。高さは330メートルである。",
        "塔はパリにある。", "塔はローマにある。"),
    "ar": Translation(
        "يقع البرج في باريس وافتتح عام 1889. ويبلغ ارتفاعه 330 مترا.",
        "يقع البرج في باريس.", "يقع البرج في روما."),
}  # fmt: skip
