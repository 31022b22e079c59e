"""Makes the dictionaries in narrator/pronunciation/data from misaki's and CMUdict.

    python -m benchmarks.dictionaries MISAKI_WHEEL CMUDICT

MISAKI_WHEEL is PyPI's misaki 0.9.4 (Apache-2.0): {us,gb}_{gold,silver}.json, an entry a string or
{tag: string}. CMUDICT is cmudict.dict of github.com/cmusphinx/cmudict (BSD-2-Clause): 65,000 words
more, most of them names, in ARPAbet. Their American phonemes are written in misaki's way, the
British ones are derived: on 3,000 words that both of misaki's dictionaries have, 9 of 100 symbols
come out otherwise (13 of 100 in names), mostly ə for ɪ.

Symbols are those that the official program sends to Kokoro 1.0: T for the flap that misaki writes
ɾ, t for its ʔ. The output is the same on every run.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import zipfile
from collections.abc import Iterator, Mapping, Set
from pathlib import Path

from narrator.pronunciation import english

DATA = Path(__file__).resolve().parents[1] / "narrator/pronunciation/data"
VOWELS = "AIOQWYaiuæɑɒɔəɛɜɪʊʌᵻᵊ"
Entries = dict[str, dict[str, str]]

ARPABET = dict(
    pair.split("=")
    for pair in (
        "AA=ɑ AE=æ AH=ʌ AO=ɔ AW=W AY=I EH=ɛ ER=ɜɹ EY=A IH=ɪ IY=i OW=O OY=Y UH=ʊ UW=u B=b CH=ʧ D=d "
        "DH=ð F=f G=ɡ HH=h JH=ʤ K=k L=l M=m N=n NG=ŋ P=p R=ɹ S=s SH=ʃ T=t TH=θ V=v W=w Y=j Z=z ZH=ʒ"
    ).split()
)

# Where misaki has nothing, or what a narrator would not say: American, British.
OWN = {
    "US": ("jˌuˈɛs", "jˌuːˈɛs"),
    "th'": ("ð", "ð"),
    "o'": ("ə", "ə"),
    "o": ("ˈO", "ˈQ"),
    "an'": ("ən", "ən"),
    "wi'": ("wɪ", "wɪ"),
    "ha'": ("hə", "hə"),
    "t'": ("t", "t"),
    "y'": ("j", "j"),
    "d'": ("d", "d"),
    "ol'": ("ˈOl", "ˈQl"),
    "lil'": ("lˈɪl", "lˈɪl"),
    "'bout": ("bˈWt", "bˈWt"),
    "'round": ("ɹˈWnd", "ɹˈWnd"),
    "'cos": ("kəz", "kəz"),
    "'til": ("tˈɪl", "tˈɪl"),
    "'d": ("d", "d"),
    "an't": ("ˈAnt", "ˈAnt"),
    "a'n't": ("ˈAnt", "ˈAnt"),
    "ye": ("ji", "jiː"),
    "live": ("lˈɪv", "lˈɪv"),
    "pst": ("pst", "pst"),
    "tsk": ("tˈɪsk", "tˈɪsk"),
    "grr": ("ɡˈɜɹ", "ɡˈɜː"),
    "brr": ("bˈɜɹ", "bˈɜː"),
    "sh": ("ʃ", "ʃ"),
    "shh": ("ʃ", "ʃ"),
    "aah": ("ˈɑ", "ˈɑː"),
    "ooh": ("ˈu", "ˈuː"),
    "zzz": ("zzz", "zzz"),
}


def misaki(wheel: Path, country: str) -> Entries:
    """Words -> tags -> phonemes; the word's own is under ""."""
    entries: Entries = {}
    with zipfile.ZipFile(wheel) as archive:
        for kind in ("silver", "gold"):  # gold is surer
            for word, entry in json.loads(
                archive.read(f"misaki/data/{country}_{kind}.json")
            ).items():
                by_tag = {"DEFAULT": entry} if isinstance(entry, str) else entry
                entries[word] = {
                    "" if tag == "DEFAULT" else tag: phonemes.replace("ɾ", "T").replace("ʔ", "t")
                    for tag, phonemes in by_tag.items()
                    if phonemes
                }
    return entries


def cmudict(path: Path) -> Iterator[tuple[str, str]]:
    """Words in small letters and their American phonemes, the first of each."""
    for line in path.read_text("utf-8").splitlines():
        word, *symbols = line.split("#")[0].split()
        if re.fullmatch(r"[a-z]{2,}(?:'[a-z]+)?", word) and not word.endswith("'s"):
            yield word, from_arpabet(symbols)


def from_arpabet(symbols: list[str]) -> str:
    phonemes = ""
    for symbol in symbols:
        name, stress = symbol.rstrip("012"), {"1": "ˈ", "2": "ˌ"}.get(symbol[-1], "")
        vowel = ARPABET[name]
        if symbol.endswith("0"):
            vowel = {"AH": "ə", "ER": "əɹ"}.get(name, vowel)
        phonemes += stress + vowel
    phonemes = re.sub(rf"(?<=[{VOWELS}ɹ])t(?=[{VOWELS}])", "T", phonemes)
    phonemes = re.sub(rf"(?<=[tTd])ə(?=[ln](?![{VOWELS}ˈˌ]))", "ᵊ", phonemes)
    phonemes = re.sub(rf"(?<=[szfvpbkɡʃʒʧʤθðmn])ə(?=l(?![{VOWELS}ˈˌ]))", "ᵊ", phonemes)
    return re.sub(r"(?<=[szʃʒʧʤ])[ɪə](?=z$)|(?<=[tTd])[ɪə](?=d$)", "ᵻ", phonemes)


def british(word: str, american: str) -> str:
    """British phonemes of a word from its American ones and its letters."""
    word = word.lower()
    phonemes = american.replace("T", "t").replace("O", "Q").replace("ᵻ", "ɪ").replace("æ", "a")
    phonemes = re.sub(r"(?<=[ˈˌ])i", "iː", phonemes)
    phonemes = re.sub(r"(?<!ː)i(?=[lnmvszdtpkfθʧʃʤbɡ]+$)", "iː", phonemes)
    phonemes = phonemes.replace("u", "uː").replace("ɜɹ", "ɜː")
    phonemes = re.sub(r"(?<=[ɔɑɛ])(?=ɹ)|(?<=ɔ)(?!ɹ)", "ː", phonemes)
    phonemes = re.sub(r"(?<=[ɪʊ])(?=ɹ)", "ə", phonemes)
    phonemes = re.sub(r"ɑ(?!ː)", "ɒ" if re.search("o|wa|qua", word) else "ɑː", phonemes)
    phonemes = re.sub(rf"ɹ(?![{VOWELS}ˈˌ])", "", phonemes)  # r before vowels alone
    if not re.search("are|air|ear|eir", word):  # merry, marry
        phonemes = re.sub(rf"ɛːɹ(?=[{VOWELS}ˈˌ])", "aɹ" if "ar" in word else "ɛɹ", phonemes)
    if re.search("[iy]r", word):
        phonemes = re.sub(rf"ɪəɹ(?=[{VOWELS}ˈˌ])", "ɪɹ", phonemes)
    first, mark, remainder = phonemes.partition("ˈ")
    return first + mark + remainder.replace("ˌ", "")


def is_derived(word: str, others: Set[str], phonemes: str, entries: Entries) -> bool:
    """Returns True if the rules find a word without the dictionary, by its ending or letters."""
    if phonemes == "".join(entries[letter][""] for letter in word.upper() if letter != "'"):
        return True
    return any(
        stem in others
        for stem, ending in english._stems(word)
        if ending in ("s", "ed", "ing", "in'")
    )


def dictionary_bytes(entries: Mapping[str, Mapping[str, str]]) -> bytes:
    lines = []
    for word, by_tag in entries.items():
        others = [f"{tag}={phonemes}" for tag, phonemes in sorted(by_tag.items()) if tag]
        lines.append("\t".join((word, by_tag[""], *others)).encode())
    return b"\n".join(sorted(lines)) + b"\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("misaki", type=Path)
    parser.add_argument("cmudict", type=Path)
    arguments = parser.parse_args()
    us, gb = (misaki(arguments.misaki, country) for country in ("us", "gb"))
    in_us, in_gb = ({word.lower() for word in entries} for entries in (us, gb))
    for word, entry in us.items():
        if word.lower() not in in_gb:
            gb[word] = {"": british(word, entry[""])}
    for word, phonemes in cmudict(arguments.cmudict):
        if word not in in_us and not is_derived(word, in_us, phonemes, us):
            us[word.capitalize()] = {"": phonemes}
            if word not in in_gb:
                gb[word.capitalize()] = {"": british(word, phonemes)}
    for word, (american, briton) in OWN.items():
        us[word], gb[word] = {"": american}, {"": briton}
    for language, entries in (("en-us", us), ("en-gb", gb)):
        file = DATA / f"{language}.txt.gz"
        file.write_bytes(gzip.compress(dictionary_bytes(entries), 9, mtime=0))
        print(f"{file.name}: {len(entries)} words, {file.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
