"""Words that forms, lists, lessons and manuals set before a colon, and hardly any play.

In the languages of the documents that are imported most; see `evidence.py` for what they weigh.
"""

from __future__ import annotations

from manuscripts.book import word_set

FIELDS = word_set(
    "name address telephone phone email e-mail website url title author authors subject position "
    "employer duties achievements education skills languages references signed signature applicant "
    "referee client customer supplier contractor price cost amount total fee size weight colour "
    "color material dimensions quantity number version type default status state format files file "
    "license licence copyright upstream-name comment comments returns return parameters arguments "
    "args options usage synopsis description requires depends history stability extends see also "
    "overview purpose aim aims goal goals scope background location venue duration deadline "
    "availability features specification specifications habitat range voice diet food symptoms "
    "problem problems cause causes solution fix workaround tip tips hint reminder caution danger "
    "warning attention notice info debug error trace fatal critical exercise homework vocabulary "
    "grammar reading lesson activity task objective objectives materials procedure pros cons "
    "verdict rating score wrong right incorrect correct before after do don't dos don'ts good bad "
    "better worse answer given when then and but action actions decision decisions resolved motion "
    "amendment proposer seconder approved report added fixed changed removed deprecated security "
    "improved updated new feature bugfix bugfixes breaking performance docs english german french "
    "spanish italian latin russian chinese japanese translation pronunciation meaning origin "
    "etymology noun verb adjective adverb synonym synonyms antonym wanted lost found sale north "
    "south east west morning afternoon evening night lunch breakfast dinner break verse intro "
    "outro white black adresse telefon betreff datum preis preise menge größe gewicht farbe maße "
    "hinweis hinweise achtung vorsicht warnung tipp antwort beispiel ursache lösung bericht "
    "aussprache beschluss auftraggeber auftragnehmer leistung frist wert los bieter bieterfragen "
    "nebenangebote standort gießen düngen zutaten zubereitung arbeitgeber tätigkeit zeitraum "
    "ausbildung sprachen anlage montag dienstag mittwoch donnerstag freitag samstag sonntag "
    "richtig falsch vorher nachher deutsch englisch französisch remarque problème réponse exemple "
    "couleur poids prix objet lundi mardi mercredi jeudi vendredi samedi dimanche matin après-midi "
    "soir ingrédients préparation définition anglais français allemand nombre dirección teléfono "
    "fecha precio cantidad respuesta ejemplo solución ingredientes preparación arrendador "
    "arrendatario comprador vendedor lunes martes miércoles jueves viernes sábado domingo español "
    "inglés nome indirizzo telefono prezzo quantità risposta esempio soluzione ingredienti "
    "preparazione delibera discussione punto lunedì martedì mercoledì giovedì venerdì sabato "
    "domenica resposta exemplo preço modo naam adres prijs antwoord voorbeeld oplossing maandag "
    "dinsdag woensdag donderdag vrijdag zaterdag zondag ответ пример цена вес размер цвет продаю "
    "куплю сдаю меняю дата адрес телефон решение проблема внимание понедельник вторник среда "
    "четверг пятница суббота воскресенье odpowiedź przykład cena uwaga wskazówka 型号 尺寸 重量 "
    "注意 价格 例 例句 答案 名称 地址 电话 日期 材料 做法 说明 備考 価格 住所 電話 作り方 例文 "
    "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri "
    "sat week day step item section level lot "
    "top punkt schritt woche "
)
