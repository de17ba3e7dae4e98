"""Foreign words in column names, each with its English word."""

from __future__ import annotations

import re
from functools import cache
from unicodedata import combining, normalize

_MEANT = """
question: pregunta preguntas frage fragen domanda domande pergunta perguntas vraag pytanie вопрос
  вопросы 问题 問題 提问 質問 질문 سؤال प्रश्न soru fraga sporsmal otazka kysymys kerdes
query: requete consulta anfrage suchanfrage richiesta zapytanie запрос 查询 検索 クエリ 쿼리 sorgu
answer: respuesta respuestas antwort antworten reponse reponses risposta risposte resposta
  respostas antwoord odpowiedz ответ ответы 答案 回答 答え 正解 답변 정답 إجابة
  उत्तर cevap svar odpoved
reference: referencia referencias referenz riferimento riferimenti referenties эталон эталонный
  参考 標準 标准 参照 참조 مرجع
expected: esperado esperada esperados esperadas erwartet erwartete erwartetes erwarteter attendu
  attendue attendus attendues atteso attesa attesi attese verwacht verwachte oczekiwana oczekiwany
  ожидаемый ожидаемые ожидаемая 期望 预期 期待 예상
correct: correcta correcto richtig richtige corretta corretto 正确 правильный правильный
relevant: relevante relevantes pertinent pertinents rilevante rilevanti 相关 関連 관련
  релевантный релевантные
document: documento documentos dokument dokumente documenti документ документы 文档 文件 文書 문서
  dokumen belge مستند
citation: fundstelle fundstellen
source: fuente fuentes quelle quellen fonte fonti fontes bron bronnen zrodlo источник
  источники 来源 出处 出典 출처 kaynak مصدر
file: archivo archivos datei dateien fichier fichiers ficheiro ficheiros bestand plik файл файлы
  ファイル 파일
page: pagina paginas seite seiten pagine 页 页码 ページ 페이지 страница
passage: pasaje pasajes abschnitt passaggio passaggi fragmento fragmentos 段落 片段 фрагмент
  фрагменты
evidence: evidencia beleg belege preuve preuves prova evidenza 证据 根拠 근거 доказательство
context: contexto contextos kontext contexte contextes contesto contesti 上下文 文脈 контекст
difficulty: dificultad schwierigkeit difficulte difficolta dificuldade 难度 難易度 난이도 сложность
type: tipo typ art typen 类型 種類 유형 тип
category: categoria kategorie categorie 类别 カテゴリ 카테고리 категория
language: idioma sprache langue lingua 语言 言語 언어 язык
note: nota notas bemerkung bemerkungen remarque 备注 備考 비고 примечание
number: numero nummer nr 编号 番号 번호 номер
"""


@cache
def _english() -> dict[str, str]:
    pairs = re.findall(r"^(\w+): ((?:.|\n  )+)", _MEANT, re.MULTILINE)
    return {_bare(word): english for english, words in pairs for word in words.split()}


def _bare(text: str) -> str:
    """Remove the accents of a text if it is then ASCII; otherwise normalize it by NFKC."""
    plain = "".join(mark for mark in normalize("NFKD", text) if not combining(mark))
    return plain if plain.isascii() else normalize("NFKC", text)


def english_words(name: str) -> list[str]:
    """Return the words of a name in lower case; known foreign words are translated.

    Chinese and Japanese have no blanks between words. They are split at the longest known words,
    and the text between two known words is also a word.
    """
    words = re.findall(r"[0-9a-z]+|[^\W_0-9a-z]+", _bare(name.lower()))
    return [part for word in words for part in _parts(word)]


def _compound(word: str) -> list[str]:
    """Return a compound, such as `musterantwort`, with its last word translated to English."""
    ends = (n for n in range(3, len(word) - 4) if word[n:] in _english())
    return next(([word[:n], _english()[word[n:]]] for n in ends), [word])


def _parts(word: str) -> list[str]:
    known = _english()
    if word in known or word.isascii():
        return [known[word]] if word in known else _compound(word)
    found: list[str] = []
    rest = ""
    while word:
        sizes = range(len(word), 1, -1)
        size = next((n for n in sizes if word[:n] in known), 0)
        if size:
            found += [rest] if rest else []
            found.append(known[word[:size]])
            rest, word = "", word[size:]
        else:
            rest, word = rest + word[0], word[1:]
    return found + ([rest] if rest else [])
