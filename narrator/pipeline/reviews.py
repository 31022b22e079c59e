"""What somebody has heard and found good, by chunk and take: what is spoken anew is not reviewed.
(Signatures first.)
"""

from __future__ import annotations

from collections.abc import Collection

from narrator.pipeline.bookplan import BookPlan
from narrator.speech.plan import Step


def reviewed(book: BookPlan) -> set[str]:
    """The keys of the steps whose takes, as they are now, were reviewed."""
    raise NotImplementedError


def mark(book: BookPlan, steps: Collection[Step], yes: bool) -> None:
    """Mark takes as reviewed, or as not; chunks without a take stay as they are.

    Raises Locked, StorageError.
    """
    raise NotImplementedError
