"""A language model at the command line: asked who speaks, and how voices and lines may sound."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from narrator.cli.models import progress_bar
from narrator.cli.shared import display_path, err, out, shorten
from narrator.quantities import pluralize

if TYPE_CHECKING:
    from narrator.engines.reader import LanguageModel
    from narrator.pipeline.attribution import Proposal
    from narrator.project.project import Project
    from narrator.text.speakers import Attribution
    from narrator.text.speakers.answers import Answers
    from narrator.text.speakers.proposing import Description, Style


@dataclass(slots=True)
class LanguageModelReader:
    """Asks a language model about a book, after rules have attributed its quotations."""

    model: LanguageModel
    answers: Answers
    """Answers on this project from earlier runs."""
    attribution: Attribution | None = None
    """The attribution after the model was asked."""
    texts: Sequence[Sequence[str]] = ()
    """The paragraphs of each chapter that it was asked about."""

    def __call__(self, attribution: Attribution, texts: Sequence[Sequence[str]]) -> Attribution:
        """Returns the attribution with the model's answers where rules are not sure."""
        from narrator.text.speakers import asking

        tokens_before = self.model.read
        with progress_bar(f"asking {self.model.name}") as tell:
            self.attribution = asking.ask(
                texts, attribution, self.model, answers=self.answers, on_progress=tell
            )
        self.texts = texts
        answers = self.attribution.said
        decided_count = sum(answer.by.startswith(asking.MODEL) for answer in answers)
        decided, tokens = pluralize(decided_count, "quotation"), self.model.read - tokens_before
        err.print(f"{self.model.name}: {decided}, {tokens:,} tokens read")
        return self.attribution

    def proposals(self, language: str) -> tuple[list[Description], list[Style]]:
        """Returns the model's proposals for voices, and for styles of lines."""
        from narrator.text.speakers import proposing

        if self.attribution is None:
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
def load_reader(spec: str, project: Project) -> Iterator[LanguageModelReader]:
    """Loads a language model by hub id, folder or "auto", to be asked about a project.

    Raises EngineUnavailable, StorageError.
    """
    from narrator.engines import models, reader
    from narrator.text.speakers.answers import Answers

    language_model = models.find_language(spec, root=project.root, tell=err.print)
    with reader.load(language_model, err.print) as model:
        yield LanguageModelReader(model, Answers(project.build / "cast" / "answers.jsonl"))


def proposals_json(voices: Sequence[Description], styles: Sequence[Style]) -> dict[str, object]:
    """Returns the proposals of a model as JSON."""
    return {
        "voices": [{"name": proposal.name, "description": proposal.line} for proposal in voices],
        "styles": [
            {
                "chapter": proposal.said.chapter + 1,
                "paragraph": proposal.said.quotation.paragraph + 1,
                "speaker": proposal.said.speaker,
                "style": proposal.style,
                "sure": round(proposal.sure, 4),
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
        place = style.said.quotation
        line = list_paragraphs(proposal.chapters[style.said.chapter])[place.paragraph]
        if line is None:
            continue
        words = shorten(line.text[place.start : place.stop])
        location = f"{display_path(line.path)}:{line.source_line_at(place.start)}"
        out.print(f"  {location}: {style.said.speaker} ({style.style}) {style.sure:.2f}: {words}")
    if not voices and not styles:
        out.print("the model proposes no voices and no styles")
