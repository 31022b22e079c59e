"""The language of a paragraph within a text of another one."""

from __future__ import annotations

import pytest

from textbase.recognise import foreign_language


@pytest.mark.parametrize(
    ("language", "paragraph", "expected"),
    [
        ("en", "Le 1er mai 1871, à 7 h 45, j’ai payé 3,50 F à Madame Dupont.", "fr"),
        ("en", "Ich weiß nicht, warum ich heute so traurig bin und nicht schlafen kann.", "de"),
        ("de", "To be, or not to be, that is the question: whether it is nobler to suffer", "en"),
        ("fr", "Dear Mr Dupont, I am very sorry to say that your letter did not reach us.", "en"),
        ("en", "Non so che cosa hanno fatto ieri sera, ma oggi sono andati via con lui.", "it"),
        # its own language, also with words of another
        ("en", "She said that the word for it was Weltschmerz, or je ne sais quoi.", None),
        ("fr", "Il a dit que le mot était mauvais et que les gens ne le disent pas.", None),
        # phrases, names, titles, songs
        ("en", "Je ne sais pas pourquoi il dort.", None),
        ("en", "Don Diego de la Vega y Santiago de la Cruz de los Santos, El Capitan", None),
        ("en", "Paris, Rue de la Paix, 12: Monsieur et Madame Dupont de Nemours et La Tour", None),
        ("en", "La, la, la, la, la, la, la, la, la, oh, la, la, la", None),
        ("en", "Et tu, Brute? Gallia est omnia divisa in partes tres, quarum unam", None),
        # old and dialect
        ("en", "Wee, sleekit, cow’rin, tim’rous beastie, O, what a panic’s in thy breastie!", None),
        ("en", "Whan that Aprille with his shoures soote, the droghte of March hath perced", None),
        ("de", "Ik weet nich, wat dat is, he hett dat nich seggt un ik heff em nich fraagt.", None),
        ("de", "I woaß net, wos er gsogt hot, aba es is ma a wurscht, host mi?", None),
        ("it", "Me par che el sia andà via co so mare, no so mia indove che i xe andai", None),
        ("fr", "Ch’est l’histoire d’un tchiot qu’i n’volot pon aller à l’école, pis s’mère", None),
        # a language of which too little is known here
        ("sk", "I do not know what they did yesterday, but today they have gone with him.", None),
    ],
)
def test_a_paragraph_is_foreign_only_if_it_surely_is(
    language: str, paragraph: str, expected: str | None
) -> None:
    assert foreign_language(paragraph, language) == expected
