"""A language model at the command line: asked who speaks, and how voices and lines may sound."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from narrator.cli.models import progress_bar
from narrator.cli.shared import display_path, err, out, shorten
from narrator.errors import UsageError
from narrator.quantities import pluralize

if TYPE_CHECKING:
    from narrator.engines.chat import ChatModel
    from narrator.engines.reader import LanguageModel
    from narrator.pipeline.attribution import Proposal
    from narrator.project.project import Project
    from narrator.text.speakers import Attribution
    from narrator.text.speakers.answers import Answers
    from narrator.text.speakers.proposing import Description, Style


@dataclass(frozen=True, slots=True)
class ChatServer:
    """A server on the command line that has the language model."""

    url: str
    key_name: str | None
    """Environment variable with its key."""
    price: str | None
    """Price of a million tokens, with its currency."""
    is_agreed: bool
    """True if the text may be sent without asking."""


@dataclass(slots=True)
class LanguageModelReader:
    """Asks a language model about a book, after rules have attributed its quotations."""

    model: LanguageModel | ChatModel
    answers: Answers
    """Answers on this project from earlier runs."""
    descriptions: Mapping[str, str]
    """Descriptions of characters."""
    server: ChatServer | None = None
    """The server that has the model; None if this program has it."""
    attribution: Attribution | None = None
    """The attribution after the model was asked."""
    texts: Sequence[Sequence[str]] = ()
    """The paragraphs of each chapter that it was asked about."""

    def __call__(self, attribution: Attribution, texts: Sequence[Sequence[str]]) -> Attribution:
        """Returns the attribution with the model's answers where rules are not sure.

        Raises UsageError or Abort if the text may not be sent to a server.
        """
        from narrator.text.speakers import asking

        limits = asking.DEFAULT_LIMITS if self.server is None else asking.EXCHANGE_LIMITS
        if self.server is not None:
            windows = asking.build_windows(
                texts, attribution, self.model, limits, self.descriptions
            )
            self._agree(self.server, asking.pending_requests(windows, self.model, self.answers))
        tokens_before = self.model.tokens_read
        with progress_bar(f"asking {self.model.name}") as tell:
            self.attribution = asking.ask(
                texts,
                attribution,
                self.model,
                limits=limits,
                descriptions=self.descriptions,
                answers=self.answers,
                on_progress=tell,
            )
        self.texts = texts
        answers = self.attribution.quotations
        decided_count = sum(answer.by.startswith(asking.MODEL) for answer in answers)
        decided, tokens = (
            pluralize(decided_count, "quotation"),
            self.model.tokens_read - tokens_before,
        )
        err.print(f"{self.model.name}: {decided}, {tokens:,} tokens read{self._unanswered_note()}")
        return self.attribution

    def _agree(self, server: ChatServer, requests: Sequence[tuple[str, Sequence[str]]]) -> None:
        """Shows what would be sent to a server, and asks whether it may be.

        Raises Abort if not, UsageError if nobody can be asked.
        """
        from narrator.engines.chat import ChatModel, describe_price

        assert isinstance(self.model, ChatModel)
        messages = [self.model.message(*request) for request in requests]
        token_count = sum(map(self.model.count_tokens, messages))
        price = f", {describe_price(server.price, token_count)}" if server.price else ""
        if not messages:
            return
        questions = pluralize(sum(len(questions) for _, questions in requests), "quotation")
        words = pluralize(sum(len(message.split()) for message in messages), "word")
        err.print(
            f"to send to {self.model.wire.address} for {self.model.name}: {words} in "
            f"{pluralize(len(messages), 'request')} about {questions}, some "
            f"{token_count:,} tokens{price}; replies are extra"
        )
        if server.is_agreed:
            return
        if not sys.stdin.isatty():
            raise UsageError("nothing was sent: --yes agrees where nobody can be asked")
        typer.confirm("Send this?", abort=True, err=True)

    def _unanswered_note(self) -> str:
        """Returns a note on the questions that a server did not answer; "" if there are none."""
        from narrator.engines.chat import ChatModel

        if not isinstance(self.model, ChatModel) or not self.model.unanswered_count:
            return ""
        count = pluralize(self.model.unanswered_count, "quotation")
        return f"; no valid answer about {count}, left to the rules"

    def proposals(self, language: str) -> tuple[list[Description], list[Style]]:
        """Returns the model's proposals for voices, and for styles of lines."""
        from narrator.engines.chat import ChatModel
        from narrator.text.speakers import proposing

        if self.attribution is None or isinstance(self.model, ChatModel):
            return [], []
        with progress_bar("describing voices") as tell:
            voices = proposing.propose_descriptions(
                self.texts,
                self.attribution,
                self.model,
                self.answers,
                language=language,
                on_progress=tell,
            )
        with progress_bar("styles of lines") as tell:
            styles = proposing.propose_styles(
                self.texts, self.attribution, self.model, self.answers, on_progress=tell
            )
        return voices, styles


@contextlib.contextmanager
def load_reader(
    spec: str, project: Project, server: ChatServer | None = None
) -> Iterator[LanguageModelReader]:
    """Loads a language model by hub id, folder or "auto", or by its name on a server, to be asked
    about a project.

    Raises EngineUnavailable, StorageError, UsageError.
    """
    from narrator.engines import chat, models, reader
    from narrator.text.speakers.answers import Answers

    answers = Answers(project.build / "cast" / "answers.jsonl")
    descriptions = _descriptions(project)
    if server is not None:
        if server.price is not None:
            chat.describe_price(server.price, 0)  # an invalid one, before anything else is done
        chat_model = chat.connect(server.url, spec, key_name=server.key_name)
        yield LanguageModelReader(chat_model, answers, descriptions, server)
        return
    language_model = models.find_language(spec, root=project.root, tell=err.print)
    with reader.load(language_model, err.print) as model:
        yield LanguageModelReader(model, answers, descriptions)


def _descriptions(project: Project) -> dict[str, str]:
    """Returns the descriptions of characters' own voices; none while the cast is marked as found,
    since they were proposed then."""
    from narrator.project.schema import VoiceSettings

    if project.manifest.dialogue.cast == "found":
        return {}
    return {
        name: voice.description
        for name, speaker in project.manifest.speakers.items()
        if isinstance(voice := speaker.voice, VoiceSettings) and voice.description is not None
    }


def proposals_json(voices: Sequence[Description], styles: Sequence[Style]) -> dict[str, object]:
    """Returns the proposals of a model as JSON."""
    return {
        "voices": [{"name": proposal.name, "description": proposal.line} for proposal in voices],
        "styles": [
            {
                "chapter": proposal.quotation.chapter + 1,
                "paragraph": proposal.quotation.quotation.paragraph + 1,
                "speaker": proposal.quotation.speaker,
                "style": proposal.style,
                "sure": round(proposal.certainty, 4),
            }
            for proposal in styles
        ],
    }


def print_proposals(
    proposal: Proposal, voices: Sequence[Description], styles: Sequence[Style]
) -> None:
    """Prints the proposals of a model, as they may be put into book.yaml and the texts."""
    from narrator.pipeline.attribution import list_paragraphs

    if voices:
        out.print("voices as the model would describe them, for book.yaml; nothing is written:")
    for voice in voices:
        quoted = voice.line.replace("'", "''")
        out.print(f"  {voice.name}: {{voice: {{description: '{quoted}'}}}}")
    if styles:
        out.print("styles that the narration tells of, as in “{Ada (softly): …}”:")
    for style in styles:
        speaker, place = style.quotation.speaker, style.quotation.quotation
        line = list_paragraphs(proposal.chapters[style.quotation.chapter])[place.paragraph]
        if line is None:
            continue
        words = shorten(line.text[place.start : place.stop])
        location = f"{display_path(line.path)}:{line.source_line_at(place.start)}"
        out.print(f"  {location}: {speaker} ({style.style}) {style.certainty:.2f}: {words}")
    if not voices and not styles:
        out.print("the model proposes no voices and no styles")
