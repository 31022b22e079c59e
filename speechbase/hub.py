"""Locates a checkpoint: a directory, or a download from the hub."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from speechbase.errors import CheckpointError


def locate(path_or_repo: Any, files: Sequence[str]) -> tuple[Path, str | None]:
    """Returns the directory of a checkpoint, and its commit if it is downloaded by a hub id.

    A hub id is "owner/name" or "owner/name@revision"; `files` are patterns of the files to
    download. Raises CheckpointError.
    """
    if not isinstance(path_or_repo, str | Path):
        type_name = type(path_or_repo).__name__
        raise CheckpointError(f"a model is a directory or a hub id (owner/name), not {type_name}")
    path = Path(path_or_repo).expanduser()
    if path.is_dir():
        return path, None
    hub_id = re.fullmatch(r"(\w[\w.-]*/\w[\w.-]*)(?:@([\w./-]+))?", str(path_or_repo))
    if path.exists() or not isinstance(path_or_repo, str) or hub_id is None:
        raise CheckpointError(f"{path}: no such directory, and not a hub id (owner/name)")
    path = _download(hub_id[1], hub_id[2], files)
    return path, path.name  # snapshots are named by their commit


def _download(repo: str, revision: str | None, files: Sequence[str]) -> Path:
    """Downloads missing files to the hub's cache, with the hub's own progress bar."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        HFValidationError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    try:
        return Path(snapshot_download(repo, revision=revision, allow_patterns=list(files)))
    except GatedRepoError as error:
        raise CheckpointError(
            f"{repo}: this repository is gated; accept its terms on the hub, then `hf auth login`"
        ) from error
    except RevisionNotFoundError as error:
        raise CheckpointError(f"{repo}: the hub has no revision {revision!r}") from error
    except RepositoryNotFoundError as error:
        raise CheckpointError(
            f"{repo}: no such directory here, and no such repository on the hub (a private one "
            "needs `hf auth login`)"
        ) from error
    except HFValidationError as error:
        raise CheckpointError(f"{repo}: no such directory, and not a hub id: {error}") from error
    # What is left: no network, offline mode, or a server in trouble, with nothing in the cache.
    except (HfHubHTTPError, OSError) as error:
        reason = str(error).strip().splitlines()
        raise CheckpointError(
            f"{repo}: not in the cache, and the hub cannot be reached "
            f"({reason[0] if reason else type(error).__name__}). Go online once, unset "
            "HF_HUB_OFFLINE, or download the repository elsewhere and give its directory"
        ) from error
