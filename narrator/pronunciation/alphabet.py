"""Kokoro's alphabet: the symbols that its network has an embedding for, and the marks among them.

From `config.json` of hexgrad/Kokoro-82M (Apache-2.0). Knows no language.
"""

from __future__ import annotations

# Capitals are diphthongs: A eɪ, I aɪ, O oʊ (American), Q əʊ (British), W aʊ, Y ɔɪ; T is the
# American flap. ᵊ is a light ə, ᵻ the American weak vowel of "roses". S is ss in Italian.
SYMBOLS = frozenset(
    ';:,.!?—…"()“” '
    "\u0303ʣʥʦʨᵝꭧAIOQSTWYᵊabcdefhijklmnopqrstuvwxyzɑɐɒæβɔɕçɖðʤəɚɛɜɟɡɥɨɪʝɯɰŋɳɲɴøɸθœɹɾɻʁɽʂʃʈʧʊʋʌɣɤχʎʒʔˈˌːʰʲ↓→↗↘ᵻ"
)
STOPS = frozenset(";:,.!?—…")
"""Marks at which the voice stops; quotation marks and brackets are not among them."""
VOWELS = frozenset("AIOQWYaiuæɑɐɒɔəɛɜɪʊʌᵻoeɚøœyɨɯɤᵊ")
STRESSES = "ˈˌ"

MARKS = {
    **{mark: mark for mark in ';:,.!?—…"()“”'},
    "–": "—",
    "―": "—",
    "-": "—",
    **dict.fromkeys("[{（【〔［", "("),
    **dict.fromkeys("]}）】〕］", ")"),
    **dict.fromkeys("«„《「『〈", "“"),
    **dict.fromkeys("»‟》」』〉", "”"),
    **dict.fromkeys("，、､", ","),
    **dict.fromkeys("。．｡।॥", "."),
    "！": "!",
    "？": "?",
    "：": ":",
    "；": ";",
    "‥": "…",
    "⋯": "…",
}
"""Marks of texts in many scripts, and those that they are spoken as. A hyphen with a space on both
sides is a dash."""
SILENT = frozenset("'‘’‚‛`´·・¿¡")
"""Single quotation marks, apostrophes that belong to no word, dots between words, and Spanish marks
that open a sentence: without a sound, and not reported."""
