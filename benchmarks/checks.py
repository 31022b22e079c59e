"""How often the checks of takes cry wolf, and what they find: the draft voice, faults put into it.

    python -m benchmarks.checks [BOOK.epub] [--chunks 900] [--every 6] [--latents CHECKPOINT]
    python -m benchmarks.checks --leaks BOOK.yaml [--engine kokoro] [--every 12]

Speech: chunks of the book, of projects/, and of a few sentences in a dozen languages, by 24
speakers whose variant, pitch, rate and level stay theirs. Each chunk is judged three ways: bare (as
the draft voice ends it), between silences, and in a room (reverberation, noise, breaths at its
pauses). Every n-th chunk is spoiled in each way of `faults`. With a checkpoint, repeats are also
looked for in the latents of its encoder.

With `--leaks`, the takes of a rendered book are judged as if each continued the take of its speaker
before, and as if each sentence after a pause continued the one before; every n-th take begins with
the end of the take before, in 60 ways.

Prints tables, then one line of JSON. Synthetic speech is cleaner and steadier than people's.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from narrator.engines import Request
from narrator.engines.draft.espeak import TAIL_SECONDS, VARIANTS, DraftEngine
from narrator.engines.draft.settings import DraftVoice
from narrator.engines.voice import Voice
from narrator.importing import import_book
from narrator.pipeline import book_engines, book_plan
from narrator.pipeline.book_plan import Selection
from narrator.pipeline.manuscript import read_manuscript
from narrator.sound import audio
from narrator.speech.checks import Verdict, examine
from narrator.speech.frames import HOP_SECONDS, analyse_frames
from narrator.speech.leaks import PromptSound
from narrator.text.chunks import cut_scene
from narrator.text.labels import Roles
from narrator.text.normalize import Lexicon, normalize
from narrator.text.pace import expected_seconds
from narrator.text.script import read_chapter

Samples = NDArray[np.float32]
ROOT = Path(__file__).parents[1]
RATE = 48_000
SPEAKERS = 24
KNOWN = 5
"""Takes of a speaker before there is a median."""

LANGUAGES: Mapping[str, str] = {
    "de": """Der Zug fuhr pünktlich um sieben, wie an jedem Morgen, an den sich jemand im Dorf
        erinnern konnte. | Niemand hatte ihn je gebeten zu warten, und er hatte es auch nie getan. |
        Sie öffnete das Fenster, sah hinunter auf die nasse Straße und schwieg eine Weile. |
        Schließlich sagte er, dass es spät geworden sei und dass er gehen müsse. | Stell dir vor,
        das Schiff ist gestern schon ausgelaufen!""",
    "es": """El tren salía a las siete, como todas las mañanas que alguien en el pueblo podía
        recordar. | Nadie le había pedido nunca que esperase, y nunca lo había hecho. | Abrió la
        ventana, miró la calle mojada y guardó silencio durante un buen rato. | ¿Has visto al gato
        de la vecina, el que duerme siempre sobre el muro?""",
    "fi": """Juna lähti seitsemältä, kuten joka aamu, jonka joku kylässä saattoi muistaa. | Kukaan
        ei ollut koskaan pyytänyt sitä odottamaan. | Hän avasi ikkunan, katsoi märkää katua ja oli
        pitkään hiljaa.""",
    "fr": """Le train partait à sept heures, comme chaque matin, et personne ne lui avait jamais
        demandé d'attendre. | Elle ouvrit la fenêtre, regarda la rue mouillée et resta longtemps
        silencieuse. | Il finit par dire qu'il se faisait tard et qu'il devait rentrer. | Est-ce que
        tu as vu le chat de la voisine, celui qui dort toujours sur le mur?""",
    "hi": """रेलगाड़ी सात बजे चलती थी, जैसे हर सुबह चलती आई थी। | किसी ने उससे कभी रुकने को नहीं
        कहा था। | उसने खिड़की खोली, गीली सड़क को देखा और देर तक चुप रही। | घरों के बीच चेरी का एक
        पुराना पेड़ खड़ा था।""",
    "it": """Il treno partiva alle sette, come ogni mattina di cui qualcuno in paese avesse memoria.
        | Nessuno gli aveva mai chiesto di aspettare, e non l'aveva mai fatto. | Aprì la finestra,
        guardò la strada bagnata e rimase a lungo in silenzio. | Hai visto il gatto della vicina,
        quello che dorme sempre sul muro?""",
    "nl": """De trein vertrok om zeven uur, zoals elke ochtend die iemand in het dorp zich kon
        herinneren. | Niemand had hem ooit gevraagd te wachten, en dat had hij ook nooit gedaan. |
        Ze opende het raam, keek naar de natte straat en zweeg een tijdje.""",
    "pl": """Pociąg odjeżdżał o siódmej, jak każdego ranka, który ktokolwiek w wiosce pamiętał. |
        Nikt nigdy nie prosił go, żeby poczekał, i nigdy tego nie zrobił. | Otworzyła okno,
        spojrzała na mokrą ulicę i przez chwilę milczała. | Szczęśliwie deszcz przestał padać, zanim
        doszliśmy do brzegu rzeki.""",
    "ru": """Поезд уходил в семь часов, как каждое утро, которое помнили в деревне. | Никто никогда
        не просил его подождать, и он никогда не ждал. | Она открыла окно, посмотрела на мокрую
        улицу и долго молчала. | Между домами стояла старая вишня, на которой уже много лет не было
        ягод.""",
    "sv": """Tåget gick klockan sju, som varje morgon som någon i byn kunde minnas. | Ingen hade
        någonsin bett det att vänta, och det hade det heller aldrig gjort. | Hon öppnade fönstret,
        såg ner på den våta gatan och teg en stund. | Sju sjösjuka sjömän sköttes av sköna
        sjuksköterskor.""",
    "tr": """Tren, köyde herkesin hatırladığı her sabah olduğu gibi yedide kalkıyordu. | Kimse ondan
        beklemesini istememişti, o da hiç beklememişti. | Pencereyi açtı, ıslak sokağa baktı ve uzun
        süre sustu.""",
    "zh": """火车每天早上七点准时出发，村里的人都记得。 | 从来没有人请它等一等，它也从来没有等过。 |
        她打开窗户，看着下面湿漉漉的街道，很久没有说话。 | 房子之间有一棵老樱桃树。 |
        最后他说时间不早了，他该走了。""",
}
HARD = """No, no, no, no. I will not have it, I will not have it, and that is the end of it. |
    Row, row, row your boat, gently down the stream. Merrily, merrily, merrily, merrily. |
    Never more, said the raven. Never more, said the raven. And once again: never more, he said. |
    One potato, two potato, three potato, four. Five potato, six potato, seven potato, more. |
    She sells sea shells on the sea shore; the shells she sells are sea shells, I am sure. |
    Yes. Stop. Speak! School starts at six. Spit it out, Steve. Shh! Statistics, please. |
    I, for one, am tired. A, b, c. Oh, it is you. Ah! Who would have thought of it? |
    And he knocked, and he knocked, and he knocked, and nobody came, and he knocked again."""


@dataclass(frozen=True)
class SpokenChunk:
    """A chunk as the draft voice said it, at `RATE`, without silence around it."""

    text: str
    language: str
    speaker: str
    samples: Samples
    expected: float


# -- speech ----------------------------------------------------------------------------------------


def texts(book: Path | None, chunks: int, draw: random.Random) -> list[tuple[str, str]]:
    """Texts as they are spoken, with their languages."""
    spoken_texts_of_book: list[tuple[str, str]] = []
    sources = [chapter.markdown for chapter in import_book(book).chapters] if book else []
    sources += [file.read_text("utf-8") for file in sorted(ROOT.glob("projects/*/text/*.md"))]
    for source in sources:
        spoken_texts_of_book += [
            (text, draw.choice(["en-GB", "en-US"])) for text in spoken_texts(source)
        ]
    draw.shuffle(spoken_texts_of_book)
    del spoken_texts_of_book[chunks:]
    for language, joined_sentences in LANGUAGES.items():
        sentences = [" ".join(sentence.split()) for sentence in joined_sentences.split("|")]
        joint = "" if language == "zh" else " "
        for _ in range(max(1, chunks // 25)):
            spoken_texts_of_book.append(
                (joint.join(draw.sample(sentences, draw.choice([1, 2, 2, 3]))), language)
            )
    hard = [" ".join(text.split()) for text in HARD.split("|")]
    return spoken_texts_of_book + [
        (text, "en-GB") for text in hard for _ in range(max(1, chunks // 200))
    ]


def spoken_texts(markdown: str) -> Iterator[str]:
    labels = {
        line.split(":")[0].split("(")[0].strip(" *").casefold() for line in markdown.split("\n")
    }
    roles = Roles({label: "narrator" for label in labels if label}, "narrator")
    chapter = read_chapter(
        markdown, path=Path("text.md"), title="", language="en-GB", roles=roles, speaker="narrator"
    )
    for scene in chapter.scenes:
        for chunk in cut_scene(scene):
            says = [(say.start, say.stop, say.spoken) for say in chunk.spoken_forms]
            spoken_text = normalize(
                chunk.text, language="en-GB", speaker="narrator", lexicon=Lexicon([]), says=says
            )
            if any(map(str.isalnum, spoken_text.text)):
                yield spoken_text.text


def speak(texts: Sequence[tuple[str, str]], draw: random.Random) -> Iterator[SpokenChunk]:
    """Yields the draft voice's speech of the texts, in any order."""
    gains: dict[str, float] = {}
    pending: list[Request] = []
    for number, (text, language) in enumerate(texts):
        speaker_draw = random.Random(number % SPEAKERS)
        name = f"speaker {number % SPEAKERS}"
        gains[name] = speaker_draw.uniform(-8, 0)
        variant = speaker_draw.choice(sorted(VARIANTS))
        voice = Voice(
            name,
            own={
                "draft": DraftVoice(
                    variant=variant,
                    pitch=speaker_draw.randint(*VARIANTS[variant]),
                    rate=speaker_draw.randint(150, 185),
                )
            },
        )
        expected = expected_seconds(text, language)
        pending.append(Request(str(number), text, language, voice, None, {}, 0, 0, expected))
    requests = {request.key: request for request in pending}
    draw.shuffle(pending)
    session = DraftEngine().start()
    busy = 0
    while pending or busy:
        while pending and busy < session.slots:
            session.add(pending.pop())
            busy += 1
        for outcome in session.advance():
            busy -= 1
            request = requests[outcome.key]
            if outcome.speech is None:
                continue
            rate = DraftEngine.sample_rate
            samples_at_engine_rate = outcome.speech.samples[: -round(TAIL_SECONDS * rate)]
            samples_at_engine_rate = samples_at_engine_rate * np.float32(
                audio.amplitude(gains[request.voice.speaker])
            )
            # espeak's level depends on the language: a speaker's does not
            speaker = f"{request.voice.speaker}, {request.language.split('-')[0]}"
            samples = audio.resample(samples_at_engine_rate, rate, RATE)
            yield SpokenChunk(request.text, request.language, speaker, samples, request.expected)
    session.close()


def silence(seconds: float) -> Samples:
    return np.zeros(round(seconds * RATE), np.float32)


def bare(speech: Samples, _: np.random.Generator) -> Samples:
    """With the silence that the draft engine puts after it."""
    return np.concatenate([speech, silence(TAIL_SECONDS)])


def plain(speech: Samples, draw: np.random.Generator) -> Samples:
    return np.concatenate([silence(draw.uniform(0.02, 0.3)), speech, silence(0.15)])


def room(speech: Samples, draw: np.random.Generator) -> Samples:
    """Reverberation of a quarter second, noise at -70 to -55 dB, breaths into half the pauses."""
    count = round(0.25 * RATE)
    decay = 10 ** (-3 * np.arange(count) / count)
    answer = 0.005 * draw.standard_normal(count) * decay
    answer[0] = 1
    dry = plain(speech, draw)
    breaths = np.zeros_like(dry)
    step = RATE // 100
    is_quiet = np.abs(dry[: len(dry) // step * step]).reshape(-1, step).max(axis=1) < 0.003
    edges = np.flatnonzero(np.diff(np.concatenate(([0], is_quiet.view(np.int8), [0]))))
    for start, stop in zip(edges[::2], edges[1::2], strict=True):
        if stop - start > 15 and draw.random() < 0.5:
            length = min(stop - start - 4, 40) * step
            shape = np.hanning(length) * 10 ** (draw.uniform(-44, -34) / 20)
            hiss = np.convolve(draw.standard_normal(length), [0.5, 0, -0.5], "same")
            breaths[(start + 2) * step :][:length] += (shape * hiss).astype(np.float32)
    size = 1 << (len(dry) + count).bit_length()
    wet = np.fft.irfft(np.fft.rfft(dry + breaths, size) * np.fft.rfft(answer, size), size)
    wet = wet[: len(dry) + count // 2]
    wet = wet + draw.standard_normal(len(wet)) * 10 ** (draw.uniform(-70, -55) / 20)
    return (wet / max(1.0, np.abs(wet).max() / 0.98)).astype(np.float32)


# -- faults ----------------------------------------------------------------------------------------

Spoil = Callable[[Samples, Samples, np.random.Generator], Samples | None]
"""Speech, speech of another chunk -> speech with the fault, or None where it has no room."""


def loudness(speech: Samples) -> float:
    """RMS of the louder half of the frames."""
    frames = speech[: len(speech) // 480 * 480].reshape(-1, 480)
    rms = np.sqrt(np.mean(frames.astype(np.float64) ** 2, axis=1))
    return float(np.sqrt(np.mean(rms[rms >= np.median(rms)] ** 2)))


def tone(speech: Samples, seconds: float, hertz: float, to: float, decibels: float) -> Samples:
    """A tone or sweep at a level against the speech, with soft edges."""
    pitch = np.linspace(hertz, to, round(seconds * RATE))
    wave = np.sin(2 * np.pi * np.cumsum(pitch) / RATE) * loudness(speech) * 2**0.5
    return audio.fade((wave * 10 ** (decibels / 20)).astype(np.float32), RATE, 0.01)


def hiss(speech: Samples, seconds: float, decibels: float, draw: np.random.Generator) -> Samples:
    wave = draw.standard_normal(round(seconds * RATE)) * loudness(speech)
    return audio.fade((wave * 10 ** (decibels / 20)).astype(np.float32), RATE, 0.01)


def repeated(seconds: float, pitch: float = 1.0, pace: float = 1.0) -> Spoil:
    def spoil(speech: Samples, _: Samples, draw: np.random.Generator) -> Samples | None:
        count = round(seconds * RATE)
        if len(speech) < 2 * count + RATE:
            return None
        start = int(draw.integers(0, len(speech) - count))
        part = speech[start : start + count]
        if pitch != 1:
            part = audio.resample(part, RATE, round(RATE / pitch))
        part = audio.stretch(part, RATE, pace)
        return np.concatenate([speech[: start + count], part, speech[start + count :]])

    return spoil


def before(*parts: Callable[[Samples, Samples, np.random.Generator], Samples]) -> Spoil:
    return lambda s, o, d: np.concatenate([*(part(s, o, d) for part in parts), s])


def after(*parts: Callable[[Samples, Samples, np.random.Generator], Samples]) -> Spoil:
    return lambda s, o, d: np.concatenate([s, *(part(s, o, d) for part in parts)])


def pause_part(seconds: float) -> Spoil:
    return lambda s, o, d: silence(seconds)


def over(seconds: float, hertz: float, decibels: float) -> Spoil:
    def spoil(speech: Samples, _: Samples, draw: np.random.Generator) -> Samples | None:
        wave = tone(speech, seconds, hertz, hertz, decibels)
        if len(speech) < len(wave) + RATE:
            return None
        start = int(draw.integers(0, len(speech) - len(wave)))
        spoiled = speech.copy()
        spoiled[start : start + len(wave)] += wave
        return spoiled

    return spoil


def inserted(seconds: float) -> Spoil:
    def spoil(speech: Samples, _: Samples, draw: np.random.Generator) -> Samples:
        cut = int(draw.integers(len(speech) // 5, 4 * len(speech) // 5))
        return np.concatenate([speech[:cut], silence(seconds), speech[cut:]])

    return spoil


def stepped(decibels: float) -> Spoil:
    """Louder or softer from a point in the middle third on."""

    def spoil(speech: Samples, _: Samples, draw: np.random.Generator) -> Samples | None:
        if len(speech) < 6 * RATE:
            return None
        spoiled = speech.copy()
        start = int(draw.integers(len(speech) // 3, 2 * len(speech) // 3))
        spoiled[start:] *= audio.amplitude(decibels)
        return spoiled

    return spoil


def babble(seconds: float, decibels: float) -> Callable[..., Samples]:
    """Another chunk, backwards."""

    def part(speech: Samples, other_speech: Samples, draw: np.random.Generator) -> Samples:
        wave = other_speech[::-1][: round(seconds * RATE)] * audio.amplitude(decibels)
        return audio.fade(wave * np.float32(loudness(speech) / loudness(other_speech)), RATE)

    return part


def leftover(speech: Samples, other_speech: Samples, draw: np.random.Generator) -> Samples:
    """The last 160 ms of another chunk, from the middle of a sound on."""
    return other_speech[-round(0.16 * RATE) :].copy()


def paced(speech: Samples, speed: float) -> Samples:
    if speed < 0.5:  # which one filter does not do
        speech, speed = audio.stretch(speech, RATE, 0.6), speed / 0.6
    return audio.stretch(speech, RATE, speed)


def truncated(share: float) -> Spoil:
    """The beginning, with an end that fades."""
    return lambda s, o, d: audio.fade(s[: round(share * len(s))], RATE, 0.05)


def faults() -> Mapping[str, tuple[str, Spoil]]:
    """Name -> the kinds of fault that should be found, and how to spoil."""
    faults_by_name: dict[str, tuple[str, Spoil]] = {}
    for seconds in (0.8, 1.2, 1.6, 2.4, 4.0):
        faults_by_name[f"repeat, spliced, {seconds} s"] = ("repeat", repeated(seconds))
    for seconds in (1.6, 2.4, 4.0):
        faults_by_name[f"repeat, 5 % higher, {seconds} s"] = (
            "repeat",
            repeated(seconds, pitch=1.05),
        )
        faults_by_name[f"repeat, 15 % slower, {seconds} s"] = (
            "repeat",
            repeated(seconds, pace=1 / 1.15),
        )
    for hertz in (800, 1500, 3000, 6000):
        for level in (0, -12, -20):
            chirp = before(
                lambda s, o, d, h=hertz, v=level: tone(s, 0.08, h, h, v), pause_part(0.06)
            )
            faults_by_name[f"chirp, {hertz} Hz, {level} dB"] = ("chirp", chirp)
    faults_by_name["chirp, sweep 2 to 5 kHz, -6 dB"] = (
        "chirp",
        before(lambda s, o, d: tone(s, 0.1, 2000, 5000, -6), pause_part(0.06)),
    )
    faults_by_name["burst of noise, -6 dB, 0.2 s before"] = (
        "chirp",
        before(lambda s, o, d: hiss(s, 0.08, -6, d), pause_part(0.2)),
    )
    faults_by_name["leftover syllable, 0.2 s before"] = ("chirp", before(leftover, pause_part(0.2)))
    faults_by_name["leftover syllable, 0.05 s before"] = (
        "chirp",
        before(leftover, pause_part(0.05)),
    )
    for level in (-6, -15, -25):
        whistle = over(1.0, 3150, level)
        faults_by_name[f"whistle over speech, 1 s, {level} dB"] = ("whistle", whistle)
    faults_by_name["beep, 0.4 s, -10 dB, at the end"] = (
        "whistle tail",
        after(pause_part(0.2), lambda s, o, d: tone(s, 0.4, 1400, 1400, -10)),
    )
    for level in (0, -12, -24):
        faults_by_name[f"noise at the end, 1 s, {level} dB"] = (
            "noise tail",
            after(lambda s, o, d, v=level: hiss(s, 1, v, d)),
        )
        faults_by_name[f"noise after a rest, 0.6 s, {level} dB"] = (
            "noise tail",
            after(pause_part(0.3), lambda s, o, d, v=level: hiss(s, 0.6, v, d)),
        )
    for level in (0, -10, -16):
        faults_by_name[f"babble after a rest, 1 s, {level} dB"] = (
            "tail long",
            after(pause_part(0.4), babble(1.0, level)),
        )
    for seconds in (0.03, 0.06, 0.09, 0.12):
        faults_by_name[f"first sound cut by {seconds} s"] = ("onset chirp", without_onset(seconds))
    for level in (-6, -12, -20):
        faults_by_name[f"click, {level} dB, before"] = ("click", clicked(level, end=False))
        faults_by_name[f"click, {level} dB, after"] = ("click", clicked(level, end=True))
    faults_by_name["click, a step, -12 dB, after"] = ("click", clicked(-12, end=True, step=True))
    for level in (-18, -25, -32):
        faults_by_name[f"half a breath, {level} dB, before"] = ("torn", torn(level, end=False))
        faults_by_name[f"half a breath, {level} dB, after"] = ("torn cut", torn(level, end=True))
    faults_by_name["silence inside, 2.5 s"] = ("gap", inserted(2.5))
    faults_by_name["cut anywhere"] = (
        "cut short",
        lambda s, o, d: s[: int(d.integers(len(s) // 3, len(s)))],
    )
    for level in (6, 12, 18):
        faults_by_name[f"louder by {level} dB half way"] = ("swing level", stepped(level))
    for level in (-6, -10, -14):
        faults_by_name[f"all of it {level} dB"] = (
            "level",
            lambda s, o, d, v=level: s * np.float32(audio.amplitude(v)),
        )
    for share in (0.2, 0.4, 0.6):
        faults_by_name[f"only the first {share:.0%}"] = ("short", truncated(share))
    for speed in (0.33, 0.4, 0.5, 0.67, 1.6, 2.0):
        kind = "long" if speed < 1 else "short"
        faults_by_name[f"{speed} times as fast"] = (kind, lambda s, o, d, v=speed: paced(s, v))
    return faults_by_name


def without_onset(seconds: float) -> Spoil:
    """The first sound is cut into; a draft chunk begins with it."""
    return lambda s, o, d: np.concatenate(
        [s[int(np.flatnonzero(s)[0]) + round(seconds * RATE) :], silence(TAIL_SECONDS)]
    )


def clicked(decibels: float, *, end: bool, step: bool = False) -> Spoil:
    """A lone impulse, or a step that decays, in the 20 ms of quiet before or the 60 after."""

    def spoil(speech: Samples, _: Samples, draw: np.random.Generator) -> Samples:
        room = silence(0.06 if end else 0.02)
        wave = np.linspace(1, 0, round(0.02 * RATE)) if step else np.array([1.0])
        start = int(draw.integers(0, len(room)))
        wave = wave[: len(room) - start] * np.abs(speech).max() * audio.amplitude(decibels)
        room[start : start + len(wave)] += wave.astype(np.float32)
        return np.concatenate([speech, room] if end else [room, speech, silence(TAIL_SECONDS)])

    return spoil


def breath(seconds: float, decibels: float, speech: Samples, draw: np.random.Generator) -> Samples:
    """Noise like one: from 300 Hz to 3 kHz, rising and falling."""
    count = round(seconds * RATE)
    spectrum = np.fft.rfft(draw.standard_normal(count))
    hertz = np.fft.rfftfreq(count, 1 / RATE)
    spectrum *= (hertz > 200) / (1 + np.square((hertz - 1500) / 1200))
    wave = np.fft.irfft(spectrum, count)
    wave *= np.sin(np.pi * np.linspace(0, 1, count)) ** 0.7 / np.sqrt(np.mean(wave**2))
    return (wave * loudness(speech) * audio.amplitude(decibels)).astype(np.float32)


def torn(decibels: float, *, end: bool) -> Spoil:
    """Half a breath, a short rest away from the speech."""

    def spoil(speech: Samples, _: Samples, draw: np.random.Generator) -> Samples:
        breath_samples = breath(float(draw.uniform(0.25, 0.4)), decibels, speech, draw)
        gap, half = silence(float(draw.uniform(0.03, 0.09))), len(breath_samples) // 2
        return np.concatenate(
            [speech, gap, breath_samples[:half]]
            if end
            else [breath_samples[half:], gap, speech, silence(TAIL_SECONDS)]
        )

    return spoil


EDGED = ("first sound", "click", "half a breath")
"""Faults of the edges: whole takes, to which no silence is put."""


MEASURED = (
    *("swing", "gap", "onset", "click", "torn"),
    *("chirp", "whistle", "noise", "tail", "repeat"),
)


def is_relative(name: str) -> bool:
    """Returns True for a fault that is found by the speaker's other takes: counted only where there
    are some."""
    return name.startswith(("all of it", "only the first")) or name.endswith("times as fast")


# -- the run ---------------------------------------------------------------------------------------


@dataclass
class Speaker:
    """Figures of a speaker's good takes."""

    levels: list[float] = field(default_factory=list)
    paces: list[float] = field(default_factory=list)

    def median(self) -> float | None:
        return statistics.median(self.levels) if len(self.levels) >= KNOWN else None

    def pace(self) -> float | None:
        return statistics.median(self.paces) if len(self.paces) >= KNOWN else None


class Judge:
    """Counts and times examinations."""

    def __init__(self) -> None:
        self.speakers: dict[str, Speaker] = defaultdict(Speaker)
        self.cost = 0.0
        self.seconds = 0.0

    def __call__(
        self,
        take: Samples,
        chunk: SpokenChunk,
        latents: Samples | None = None,
        text: str | None = None,
    ) -> Verdict:
        speaker = self.speakers[chunk.speaker]
        began = time.process_time()
        verdict = examine(
            take,
            RATE,
            chunk.expected,
            latents=latents,
            median_level=speaker.median(),
            median_ratio=speaker.pace(),
            text=chunk.text if text is None else text,
        )
        self.cost += time.process_time() - began
        self.seconds += len(take) / RATE
        return verdict


Encoder = Callable[[Samples], Samples]


def encoder(checkpoint: Path) -> Encoder:
    import voxcpm2

    model = voxcpm2.load(checkpoint)
    return lambda samples: model.encode(samples, sample_rate=RATE)


@dataclass
class CleanFigures:
    """What the checks found in takes without faults."""

    kinds: dict[str, Counter[str]] = field(
        default_factory=lambda: {dress.__name__: Counter() for dress in DRESSES}
    )
    """Takes with each kind of fault, and with any, by the dress of the take."""
    alarms: list[str] = field(default_factory=list)
    highest: dict[str, float] = field(default_factory=dict)

    def add(self, dress: str, chunk: SpokenChunk, verdict: Verdict) -> None:
        self.kinds[dress].update({fault.kind for fault in verdict.faults})
        self.kinds[dress]["any"] += not verdict
        self.alarms += [
            f"{dress} {chunk.language} {fault}: {chunk.text[:90]}" for fault in verdict.faults
        ]
        for name in MEASURED:
            figure = getattr(verdict.figures, name)
            self.highest[name] = max(self.highest.get(name, -math.inf), figure)

    def show(self, takes: int) -> None:
        print(f"{takes} clean chunks, each three ways; alarms:")
        for name, counts in self.kinds.items():
            rate = 100 * counts.pop("any", 0) / takes
            print(f"  {name:6} {rate:5.2f} %  {dict(counts)}")
        for alarm in self.alarms[:40]:
            print(f"    {alarm}")
        highest = ", ".join(f"{name} {figure:.2f}" for name, figure in self.highest.items())
        print(f"highest figures of clean takes: {highest}")


DRESSES = (bare, plain, room)
Detections = dict[str, list[tuple[bool, bool]]]
"""By fault, for each take: its kind was found, and any was."""


def examine_clean(
    chunk: SpokenChunk, judge: Judge, encode: Encoder | None, rng: np.random.Generator,
    figures: CleanFigures,
) -> None:  # fmt: skip
    speaker = judge.speakers[chunk.speaker]
    for dress in DRESSES:
        take = dress(chunk.samples, rng)
        verdict = judge(take, chunk, encode(take) if encode and dress is plain else None)
        figures.add(dress.__name__, chunk, verdict)
        if dress is plain:
            speaker.levels.append(verdict.figures.level)
            speaker.paces.append(verdict.figures.ratio)


def examine_faulty(
    chunk: SpokenChunk, other_speech: Samples, judge: Judge, encode: Encoder | None,
    rng: np.random.Generator, dress: Callable[[Samples, np.random.Generator], Samples],
    detections: Detections,
) -> None:  # fmt: skip
    for name, (kinds, spoil) in faults().items():
        if is_relative(name) and judge.speakers[chunk.speaker].median() is None:
            continue
        spoiled = spoil(chunk.samples, other_speech, rng)
        if spoiled is None:
            continue
        if name.startswith("leftover"):
            take = np.concatenate([spoiled, silence(0.15)])
        else:
            take = spoiled if name.startswith(("cut", *EDGED)) else dress(spoiled, rng)
        latents = encode(take) if encode and name.startswith("repeat") else None
        verdict = judge(take, chunk, latents)
        is_named = any(fault.kind in kinds.split() for fault in verdict.faults)
        detections[name].append((is_named, not verdict))


def show_detections(detections: Detections) -> dict[str, dict[str, float]]:
    """Prints the share of each fault that was found, and returns it."""
    print(f"\n{'fault':38} {'takes':>6} {'named':>7} {'any':>7}")
    table: dict[str, dict[str, float]] = {}
    for name, rows in detections.items():
        named, any_kind = (100 * statistics.mean(column) for column in zip(*rows, strict=True))
        table[name] = {"takes": len(rows), "named": round(named, 1), "any": round(any_kind, 1)}
        print(f"{name:38} {len(rows):6} {named:6.1f}% {any_kind:6.1f}%")
    return table


# -- leaks -----------------------------------------------------------------------------------------

COMPARED_SECONDS = 6
"""Of a take, from its start; of the sound before, from its end."""
PAUSE_SECONDS = 0.2
"""Seconds of silence in a take from which on what follows is a neighbour of what was before."""
LEAK_SECONDS = (0.06, 0.1, 0.15, 0.2, 0.3)
REST_SECONDS = (0.0, 0.05, 0.2)
LEAK_KINDS = (
    ("as it was", 0, 1.0, 1.0),
    ("6 dB softer", -6, 1.0, 1.0),
    ("12 dB softer", -12, 1.0, 1.0),
    ("4 % higher, 8 % faster, 3 dB softer", -3, 1.04, 1.08),
)
"""Names, dB, and ratios of pitch and pace."""


@dataclass(frozen=True)
class Neighbours:
    """Two passages of one speaker, one after the other."""

    before: Samples
    after: Samples
    rate: int
    texts: tuple[str, str] = ("", "")
    """Empty for passages of one take."""

    def leaks(self, samples: Samples | None = None) -> tuple[bool, bool]:
        """Returns whether the second passage, or another sound in its place, is said to begin with
        the end of the first; and whether any check of starts finds something."""
        samples = self.after if samples is None else samples
        samples = samples[: COMPARED_SECONDS * self.rate]
        prompt = PromptSound("the line before", self.texts[0], lambda: self.before)
        seconds = len(samples) / self.rate
        verdict = examine(samples, self.rate, seconds, text=self.texts[1], prompt=prompt)
        kinds = {fault.kind for fault in verdict.faults}
        return "leak" in kinds, bool(kinds & {"leak", "chirp", "onset"})

    def leaked(self, seconds: float, rest: float, kind: tuple[str, float, float, float]) -> Samples:
        """Returns the second passage after the end of the first, and a rest."""
        _, decibels, pitch, pace = kind
        _, stop = audio.speech_bounds(self.before, self.rate)
        last_sound = int(analyse_frames(self.before[:stop], self.rate).sounds[-1, 1])
        stop = min(stop, round(last_sound * HOP_SECONDS * self.rate))
        leak = self.before[max(0, stop - round(seconds * self.rate)) : stop]
        if pitch != 1:
            leak = audio.resample(leak, self.rate, round(self.rate / pitch))
        leak = audio.fade(audio.stretch(leak, self.rate, pace), self.rate, 0.005)
        start, _ = audio.speech_bounds(self.after, self.rate)
        parts = [0.05, rest]
        edge, pause = (np.zeros(round(part * self.rate), np.float32) for part in parts)
        leak = leak * np.float32(audio.amplitude(decibels))
        return np.concatenate([edge, leak, pause, self.after[start:]])


def neighbours_of(path: Path, engine: str) -> tuple[list[Neighbours], list[Neighbours]]:
    """Returns the takes of a book, each with that of its speaker before; and what lies before and
    after each pause in a take."""
    manuscript = read_manuscript(path).spoken_by(engine)
    engines = book_engines.engines_for(manuscript.project)
    book = book_plan.plan(manuscript, engines.main, Selection(), engines=engines.by_speaker)
    takes: list[Neighbours] = []
    passages: list[Neighbours] = []
    last: dict[str, tuple[Samples, str]] = {}
    for step in book.steps:
        record = book.takes.current(step)
        if record is None:
            continue
        samples, rate = book.store.read(step.key)
        samples = samples[: record.stop + round(PAUSE_SECONDS * rate)]
        if step.chunk.speaker in last:
            before, text = last[step.chunk.speaker]
            takes.append(Neighbours(before, samples, rate, (text, record.text)))
        last[step.chunk.speaker] = samples[-COMPARED_SECONDS * rate :], record.text
        sounds = analyse_frames(samples, rate).sounds
        for stop, start in zip(sounds[:-1, 1], sounds[1:, 0], strict=True):
            if (start - stop) * HOP_SECONDS >= PAUSE_SECONDS:
                middle = round((stop + start) / 2 * HOP_SECONDS * rate)
                passages.append(Neighbours(samples[:middle], samples[middle:], rate))
    return takes, passages


def examine_leaks(path: Path, engine: str, every: int) -> None:
    """Prints how often leaks are found where there are none, and where some were put."""
    takes, passages = neighbours_of(path, engine)
    alarms = [sum(pair.leaks()[0] for pair in pairs) for pairs in (takes, passages)]
    print(
        f"{alarms[0]} false alarms in {len(takes)} takes, {alarms[1]} in {len(passages)} passages"
    )
    table: dict[str, list[float]] = {}
    for kind in LEAK_KINDS:
        for rest in REST_SECONDS:
            row: list[float] = []
            for seconds in LEAK_SECONDS:
                found = [pair.leaks(pair.leaked(seconds, rest, kind)) for pair in takes[::every]]
                row += [
                    round(100 * statistics.mean(column), 1) for column in zip(*found, strict=True)
                ]
            name = f"{kind[0]}, a rest of {rest} s"
            table[name] = row
            print(
                f"{name:55}"
                + "".join(
                    f"{named:7.0f} ({some:3.0f})"
                    for named, some in zip(row[::2], row[1::2], strict=True)
                )
            )
    report = {
        "bench": "leaks", "takes": len(takes), "passages": len(passages), "alarms": alarms,
        "planted": len(takes[::every]), "found": table,
    }  # fmt: skip
    print(json.dumps(report))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("book", nargs="?", type=Path)
    parser.add_argument("--chunks", type=int, default=900)
    parser.add_argument("--every", type=int, default=6)
    parser.add_argument("--latents", type=Path, help="a checkpoint whose encoder is used")
    parser.add_argument("--leaks", type=Path, metavar="BOOK.yaml", help="a rendered book")
    parser.add_argument("--engine", default="kokoro", help="of the book")
    options = parser.parse_args()
    if options.leaks:
        examine_leaks(options.leaks, options.engine, options.every)
        return

    encode = encoder(options.latents) if options.latents else None
    judge, figures = Judge(), CleanFigures()
    detections: Detections = defaultdict(list)
    other_speech = np.zeros(0, np.float32)
    draw = random.Random(1)
    takes = 0
    for number, chunk in enumerate(speak(texts(options.book, options.chunks, draw), draw)):
        rng = np.random.default_rng(number)
        takes += 1
        examine_clean(chunk, judge, encode, rng, figures)
        if number % options.every == 0 and len(other_speech):
            dress = room if number % 2 else plain
            examine_faulty(chunk, other_speech, judge, encode, rng, dress, detections)
        other_speech = chunk.samples if len(chunk.samples) > 2 * RATE else other_speech

    figures.show(takes)
    table = show_detections(detections)
    cost = 1000 * judge.cost / judge.seconds * 15
    print(f"\n{cost:.0f} ms of processor time for 15 s at 48 kHz")
    report = {
        "bench": "checks",
        "chunks": takes,
        "alarms": len(figures.alarms),
        "false_alarms_percent": round(100 * len(figures.alarms) / (3 * takes), 3),
        "found": table,
        "ms_per_15_s": round(cost, 1),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
