"""Recognises the language of a text by its letters and its small words, the same on every machine.

For whole books and long passages, where a hundred words decide. A library would recognise shorter
texts, but is a model of megabytes, or draws random numbers (langdetect). Knows nothing of books.
"""

from __future__ import annotations

import re
from collections import Counter

from textbase.alphabets import alphabet_of

_SAMPLE_LETTERS = 200_000
"""Maximum number of letters examined; more add no information."""
_FEW_LETTERS = 20
_FEW_WORDS = 12
"""Minimum number of small words in a text in the Latin alphabet."""

SMALL_WORDS = {
    "en": "the of and to in that was he it his with as had is for you not her she at on be him "
    "they which were have from by but this all there said what would been one out who them "
    "will when",
    "de": "der die und das den nicht sich von mit dem ein ich auf eine auch als an nach wie im "
    "für er sie es ist war zu hatte aber bei noch nur aus dass daß einen einer durch wenn "
    "was wir",
    "fr": "le la les de des et du un une est dans que qui il elle pas pour sur au avec ce se ne "
    "je plus par mais vous lui nous son sa ses était comme avait tout cette où nos vos mes aux "
    "leur leurs sous sans ils mon ma",
    "es": "el la los las de y que en un una se no con por su para es al lo como más pero sus le "
    "ya del había fue era muy sin sobre este cuando todo yo me si él dijo señor",
    "pt": "o a os as de e que em um uma não se com por para do da dos das no na ao mais como mas "
    "foi era ele ela seu sua lhe já quando muito são isso também eu à nos pelo pela disse",
    "it": "il la lo gli le di e che in un una non si con per è del della dei al da come ma era "
    "più suo sua nel alla sono ha anche questo mi io quando egli ed aveva così disse delle",
    "nl": "de het een en van in is dat op te niet zijn met voor die hij er aan als ook maar om "
    "was bij nog naar dan zij haar uit ik had door wat over zo heeft hem werd geen",
    "da": "og i at det en den til er som på de med han af for ikke der var jeg sig men et har om "
    "vi havde hun nu over da fra du ud sin dem os op man hans hvor eller hvad skulle selv "
    "blev meget noget efter mig",
    "no": "og i at det en den til er som på de med han av for ikke der var jeg seg men et har om "
    "vi hadde hun nå over da fra du ut sin dem oss opp man hans hvor eller hva skulle selv "
    "ble mye noe etter meg",
    "sv": "och i att det en den till är som på de med han av för inte där var jag sig men ett har "
    "om vi hade hon nu över då från du ut sin dem oss upp man hans hur eller vad skulle "
    "själv blev så mycket efter mig",
    "fi": "ja on ei se että hän oli en mutta kun niin kuin hänen ne joka myös mitä sen ovat tai "
    "vain sitten nyt minä sinä me te he olen hänet siitä jo vielä sanoi ole minun tämä",
    "pl": "i w nie na się z do to że jest jak a co po ale o tak za od już jego tylko był była "
    "przez czy było ja jej pan mnie dla go ten przy może jeszcze",
    "tr": "ve bir bu da de için o ne çok ama gibi daha ben sen kadar sonra var değil her şey olan "
    "diye mi onun dedi bana ise şu hiç ki ya",
    "id": "yang dan di itu dengan tidak dari ini untuk dia pada akan ke adalah oleh karena bahwa "
    "saya juga telah kami mereka ada seperti anda sudah bisa kepada aku kita",
    "ms": "yang dan di itu dengan tidak dari ini untuk dia pada akan ke ialah oleh kerana bahawa "
    "saya juga telah kami mereka ada seperti awak sudah boleh kepada aku kita",
    "vi": "và là của không một có những được trong cho người với này đã đến như khi các để tôi "
    "anh nó ra thì mà lại cũng ở nhưng về",
    "sw": "na ya wa kwa ni katika la za cha kuwa hii yake hiyo kama lakini ili hakuna watu wake "
    "alikuwa huo huyo hata sana mimi wewe yeye",
    "tl": "ang ng sa na mga at ay si ni kay ako ko siya niya hindi ito kung may para niyang din "
    "rin nang isang kaniyang o pa lamang kanyang",
    "la": "et in est non ad ut cum sed quod qui quae ex si atque enim nec per ab esse hoc ac quam "
    "autem etiam aut me te se sunt erat neque",
    "cs": "a v na se je že to do s z jsem by jako byl ale co jak za tak po když si o už jeho nebo "
    "byla které který před ještě jen ve",
    "hu": "a az és hogy nem is egy de ha csak meg volt mint már ez el én mi azt még ki van után "
    "fel s ezt vagy úgy mert kell",
    "ro": "și în de la nu o un cu pe că să din care mai este a pentru se ce era lui ca sau dar al "
    "au fost după i ei",
    "ca": "el la els les de i que en un una no es amb per del al més com però seu va era ha són "
    "aquest jo li mes això molt quan",
    "eo": "la kaj de en ne estas al mi li ke kiu por kun sed ĝi vi oni por el sia tiu ili ŝi "
    "estis tre nur pri",
}
"""The commonest small words of languages in the Latin alphabet."""

_CYRILLIC = {"uk": "іїєґ", "be": "ў", "bg": "", "sr": "ђћџљњј", "mk": "ѓќѕ", "kk": "әқңұһ"}
"""Language -> its letters that Russian lacks."""
_BY_SCRIPT = {
    "GREEK": "el", "ARABIC": "ar", "HEBREW": "he", "DEVANAGARI": "hi", "THAI": "th", "LAO": "lo",
    "KHMER": "km", "MYANMAR": "my", "HANGUL": "ko", "BENGALI": "bn", "TAMIL": "ta",
    "TELUGU": "te", "GUJARATI": "gu", "KANNADA": "kn", "MALAYALAM": "ml", "SINHALA": "si",
    "GEORGIAN": "ka", "ARMENIAN": "hy", "ETHIOPIC": "am", "TIBETAN": "bo", "MONGOLIAN": "mn",
    "GURMUKHI": "pa", "ORIYA": "or", "BOPOMOFO": "zh",
}  # fmt: skip


def language_of(text: str) -> str | None:
    """Return the tag of a text's language; None without enough evidence."""
    sample = _sample(text)
    scripts = Counter(filter(None, map(alphabet_of, filter(str.isalpha, sample))))
    letter_count = scripts.total()
    if letter_count < _FEW_LETTERS:
        return None
    kana_count = scripts["HIRAGANA"] + scripts["KATAKANA"]
    east_asian_count = scripts["CJK"] + kana_count + scripts["HANGUL"]
    if (
        3 * east_asian_count > letter_count
    ):  # one of their letters says what several of an alphabet do
        if 3 * scripts["HANGUL"] > east_asian_count:
            return "ko"
        return "ja" if 20 * kana_count > east_asian_count else "zh"
    script, count = scripts.most_common(1)[0]
    if 2 * count <= letter_count:
        return None
    match script:
        case "LATIN":
            return _by_small_words(sample)
        case "CYRILLIC":
            return _cyrillic_language(sample)
        case "ARABIC":
            return "fa" if 50 * sum(sample.count(c) for c in "پچژگ") > count else "ar"
    return _BY_SCRIPT.get(script)


def _sample(text: str) -> str:
    """Return a text, or pieces from all over it, since a book may begin with a notice in another
    language."""
    if len(text) <= _SAMPLE_LETTERS:
        return text
    step, size = len(text) // 10, _SAMPLE_LETTERS // 10
    return " ".join(text[offset : offset + size] for offset in range(0, 10 * step, step))


def _cyrillic_language(text: str) -> str:
    """Return the language of a Cyrillic text, by its letters."""
    text = text.casefold()
    letter_count = sum(map(str.isalpha, text))
    for language, own_letters in _CYRILLIC.items():
        if own_letters and 100 * sum(map(text.count, own_letters)) > letter_count:
            return language
    # the hard sign ends Russian words of before 1918; inside of words it is Bulgaria's vowel
    has_inner_hard_sign = len(re.findall(r"ъ(?![еёюя])\w", text)) * 100 > letter_count
    return "bg" if has_inner_hard_sign and not re.search("[ыэё]", text) else "ru"


def _by_small_words(text: str) -> str | None:
    """Return the language with most small words, if it leads clearly."""
    words = Counter(re.findall(r"[^\W\d_]+", text.casefold()))
    ranking = sorted(
        ((sum(words[word] for word in small_words.split()), language)
         for language, small_words in SMALL_WORDS.items()),
        reverse=True,
    )  # fmt: skip
    (count, language), (runner_up_count, runner_up) = ranking[:2]
    if count < _FEW_WORDS or 8 * count < words.total():
        return None
    are_close = {language, runner_up} in ({"da", "no"}, {"id", "ms"})
    is_ahead = count > runner_up_count if are_close else 10 * count >= 11 * runner_up_count
    return language if is_ahead else None
