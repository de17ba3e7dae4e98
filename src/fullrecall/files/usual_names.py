"""Usual names of columns, and words in names, from which fields are guessed.

Each group, such as `usual.GOLD`, is a row of one of two tables. Names are listed in the order of
preference. Words are compared in the singular, and foreign words in their English translation.
"""

from __future__ import annotations

import re
from functools import cache
from types import SimpleNamespace
from unicodedata import combining, normalize

# QUESTIONS: the question.
# CLAIMS: the question, in a file without a column of QUESTIONS.
# VALUES: keys that hold the value of an object; the object's name tells the value's role.
# CLOSED: objects whose keys are not fields.
# TURNS: the turns of a conversation.
# ANSWERS: the reference answer.
# RESPONSES: the generated answer.
# IDS: the sample's ID.
# INPUTS: objects that hold the question.
# OUTPUTS: objects that hold expected values.
# REFUSALS: flags of questions without an answer.
# ANSWERABLE: flags of questions with an answer.
# KINDS: columns of labels; a label of NO_ANSWER marks a question without an answer.
# TEST_SETS: columns that only generators of test sets write; there `contexts` are references.
# ID_KEYS, TEXT_KEYS, GRADE_KEYS, STARTS, ENDS: keys of a document: its ID, its text, its grade,
#   and the start and end of the text in the document.
_NAMES = """
QUESTIONS: user_input question query user_query user_question question_text query_text prompt
  input request q utterance anchor turns messages conversation input_text
CLAIMS: claim statement user
VALUES: text value content items list
CLOSED: conversation history messages meta metadata turns
TURNS: turns messages conversation
ANSWERS: reference ground_truth ground_truths reference_answer expected_answer gold_answer
  golden_answer gt_answer correct_answer ideal_answer target_answer expected_output
  expected_response reference_response reference_output gold_answers expected generation_gt
  ideal answer answers answer_expected answer_correct answer_reference a solution resolution
  completion reply
RESPONSES: response actual_output prediction generated_answer model_answer output
IDS: id _id qid q_id query_id question_id sample_id case_id test_id task_id example_id item_id
  request_id span_id trace_id
INPUTS: inputs input vars query question request
OUTPUTS: outputs expected_output expected_outputs expectations expected expect ground_truth
  reference reference_outputs answer gold target
REFUSALS: expected_refusal is_impossible unanswerable is_unanswerable should_refuse refusal
  expect_refusal impossible no_answer
ANSWERABLE: answerable is_answerable has_answer
KINDS: type kind category question_type query_type
NO_ANSWER: not_found unanswerable no_answer not_answerable out_of_scope refusal
TEST_SETS: evolution_type synthesizer_name query_style persona_name
ID_KEYS: chunk_id doc_id docid document_id passage_id node_id corpus_id corpus-id doc_uri
  doc_name document_name file_name filename file_path filepath url uri link path file document
  doc _id id pid title source source_id name ref
TEXT_KEYS: text content quote fact passage passage_text evidence_text snippet sentence
  page_content paragraph_text answer
GRADE_KEYS: grade gain relevance rel relevance_grade query_relevance_label label rating
STARTS: start start_char start_index char_start begin start_offset
ENDS: end end_char end_index char_end stop end_offset
"""

# The meaning of a word in a column's name:
# ASKED: a question.
# GOLD: references, never retrieved contexts.
# DOCUMENTS: documents, perhaps references.
# OTHERS: data other than references, such as categories and scores.
# BARE: answers or reference IDs, if the name has only such words.
# PLACES: a place in a document, unless the name also has a word of OFFSETS.
# OFFSETS: a count, a length or an offset, not a place.
# CLAIM_WORDS: reference claims.
# TEXT_WORDS: texts of documents, not their IDs.
# ANSWER_WORDS: objects that hold answers, not documents.
# ROWS: a list of rows.
# PEOPLE: people, runs and other things whose IDs are not those of documents.
# NOUNS: references, like DOCUMENTS; with one of them, a name with a BARE word is clear.
# TITLES: documents that are named by a short text; this text is an ID, even with blanks.
_WORDS = """
ASKED: prompt query question
GOLD: answer citation cite cited correct evidence expect expected gold golden gt ideal
  judged judgement judgment nugget pos positive provenance qrel reference relevant required retrieve
  support supporting target truth
DOCUMENTS: article book chunk context ctx doc docid document faq file filename kb link node page
  paper paragraph passage path pdf quote section snippet source sourcefile src title url
OTHERS: adversarial ai alias aliases author behavior behaviour bot by category confidence contains
  count dataset date difficulty distractor excluded flag forbidden generated haystack idx index k
  keyword kind label lang language length llm max min model n neg negative note num number persona
  phrase plausible pred predicted prediction rank rater rating reason reasoning refusal retrieval
  retrieved score split status style subset term time tool topic total type wrong
BARE: correct expected gold golden ground gt relevant target truth
PLACES: chapter line page pagenum paragraph section slide
OFFSETS: begin count end length of offset size start total
CLAIM_WORDS: claim fact nugget point
TEXT_WORDS: content context excerpt passage quote sentence snippet text
ANSWER_WORDS: answer expectation input output target
ROWS: question query case test example item qa sample row
PEOPLE: annotation annotator author conversation query question run sample session user worker
NOUNS: citation claim evidence fact id ids judged judgement judgment node pos positive qrel
  reference retrieval session support supporting
TITLES: article doc document file filename id ids source sourcefile title url
"""


def singular(word: str) -> str:
    """Return a lower-case English word without its plural ending."""
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    is_plural = len(word) > len("ids") and re.search(r"[^aisu]s$", word)
    return word[:-1] if is_plural else word


def _rows(table: str) -> dict[str, list[str]]:
    rows = re.findall(r"^(\w+): ((?:.|\n  )+)", table, re.MULTILINE)
    return {name: words.split() for name, words in rows}


usual = SimpleNamespace(
    **{name: tuple(words) for name, words in _rows(_NAMES).items()},
    **{name: frozenset(map(singular, words)) for name, words in _rows(_WORDS).items()},
)
"""The groups by name: a group of names is a tuple, a group of words is a set."""


def words_of(name: str) -> list[str]:
    """Return the lower-case English words of a column's name: "gold", "chunk" for `goldChunk`."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return english_words(apart)


def roles_of(name: str) -> frozenset[str]:
    """Return the words of a column's name, in the singular and without the digits at their ends."""
    return frozenset(singular(word.rstrip("0123456789")) or word for word in words_of(name))


def snake(name: str) -> str:
    """Return a column's name in the style of fields: `expected_output`, `gold_chunk`.

    For a nested value, such as `inputs.question`, only the last part of the name is returned,
    unless the value is nested in metadata.
    """
    before, _, last = name.rpartition(".")
    if before and last and not before.lower().startswith("meta"):
        return snake(last)
    return "_" * name.startswith("_") + "_".join(words_of(name)) + "_" * name.endswith("_")


_FOREIGN = """
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
    pairs = re.findall(r"^(\w+): ((?:.|\n  )+)", _FOREIGN, re.MULTILINE)
    return {_bare(word): english for english, words in pairs for word in words.split()}


def _bare(text: str) -> str:
    """Return a text without its accents if it is then ASCII, else normalized by NFKC."""
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
    """Return the two parts of a compound (`musterantwort`), the second one translated to English.

    A word that does not end in a known foreign word is returned as the only part.
    """
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
