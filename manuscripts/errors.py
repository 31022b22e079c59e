"""The errors of manuscripts that cannot be read."""

from __future__ import annotations

from textbase.errors import UserError


class ImportFailed(UserError):
    """A manuscript cannot be read as a book."""


class ImportStopped(ImportFailed):
    """Reading was stopped by the user."""
