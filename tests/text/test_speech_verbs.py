"""Tags in the languages of `speech_words.txt`: whom they name, and the pronoun that they imply."""

from __future__ import annotations

import pytest

from narrator.text.speech_verbs import named_in_tag

# language, narration beside a quotation, its subject, the implied pronoun (* if the subject is one)
TAGS = [
    ("en", " said Ada.", "Ada", ""), ("en", " she whispered. ", "she", "*she"),
    ("en", " said the old man, ", "the old man", ""),
    ("en", " Mr. Bennet replied, ", "Mr. Bennet", "he"), ("en", "He rose. Ada said: ", "Ada", ""),
    ("de", " sagte Anna, ", "Anna", ""), ("de", ", fragte sie leise.", "sie", "*she"),
    ("de", " sagte der alte Mann.", "der alte Mann", "he"),
    ("de", "Der alte Mann rief: ", "Der alte Mann", "he"), ("de", "Dann sagte er: ", "er", "*he"),
    ("de", " rief Herr von Gontard aus.", "Herr von Gontard", "he"),
    ("fr", " dit-elle, ", "elle", "*she"), ("fr", " cria-t-il.", "il", "*he"),
    ("fr", "s’écria la vieille dame.", "la vieille dame", "she"),
    ("fr", " dit M. de Rênal en se levant.", "M. de Rênal", "he"),
    ("fr", "Anna lui demanda : ", "Anna", ""), ("es", "—dijo Ana—", "Ana", ""),
    ("es", " respondió él.", "él", "*he"), ("es", " preguntó la mujer.", "la mujer", "she"),
    ("es", " dijo.", "", "*"), ("it", " disse Anna", "Anna", ""),
    ("it", " chiese lui.", "lui", "*he"),
    ("it", " rispose la signora Rossi.", "la signora Rossi", "she"),
    ("pt", "— disse-lhe o velho. ", "o velho", "he"), ("pt", " perguntou ela.", "ela", "*she"),
    ("pl", " — rzekł pan Skrzetuski ", "pan Skrzetuski", "he"),
    ("pl", " — zapytała Stefcia.", "Stefcia", "she"),
    ("pl", " — odparł rycerz.", "rycerz", "he"),
    ("pl", " — szeptała mrużąc oczy.", "", "*she"),
    ("cs", "“ řekla babička.", "babička", "she"),
    ("cs", " zeptal se Jan.", "Jan", "he"),
    ("uk", " — сказав Іван.", "Іван", "he"),
    ("sk", " — povedala Anna.", "Anna", "she"),
    ("hr", " — reče Ivan.", "Ivan", ""),
    ("sv", " sade gumman,", "gumman", "she"),
    ("sv", " svarade han.", "han", "*he"),
    ("da", " sagde moderen.", "moderen", "she"),
    ("no", " spurte Per.", "Per", ""),
    ("nl", " zei de oude man.", "de oude man", "he"),
    ("nl", " vroeg zij.", "zij", "*she"),
    ("ca", " digué el senyor Pere.", "el senyor Pere", "he"),
    ("ro", " zise domnul Popescu.", "domnul Popescu", "he"),
    ("el", " είπε ο Γιάννης.", "ο Γιάννης", "he"),
    ("hu", " mondta Péter.", "Péter", ""),
    ("fi", " sanoi Matti.", "Matti", ""),
    ("tr", " dedi Ali.", "Ali", ""),
    ("zh", "宋江笑道：", "宋江", ""),
    ("zh", "她低声说，", "她", "*she"),
    ("ja", "と太郎は言った。", "太郎", ""),
    ("ja", "と彼女が答えた。", "彼女", "*she"),
    ("ru", ", — сказал Иван. ", "Иван", "he"), ("ru", " спросила она.", "она", "*she"),
    ("ru", " сказал старик.", "старик", "he"),
    ("ru", " прошептала Анна Павловна, ", "Анна Павловна", "she"), ("ru", " ответила.", "", "*she"),
    ("ru", " говорит Маша.", "Маша", ""),
]  # fmt: skip


@pytest.mark.parametrize(("language", "beside", "name", "told"), TAGS)
def test_a_tag_names_its_subject(language: str, beside: str, name: str, told: str) -> None:
    subject = named_in_tag(beside, language)
    assert subject is not None
    assert beside[subject.start : subject.stop] == name
    assert "*" * subject.is_pronoun + (subject.pronoun or "") == told


@pytest.mark.parametrize(
    ("language", "beside"),
    [
        ("en", " The door opened."), ("de", " Er ging hinaus."), ("fr", " Il se leva."),
        ("es", " Se levantó."), ("ru", " Он встал."), ("ko", "그가 말했다."), ("en", ""),
    ],
)  # fmt: skip
def test_narration_without_a_verb_of_speech_names_nobody(language: str, beside: str) -> None:
    assert named_in_tag(beside, language) is None
