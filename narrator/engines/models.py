"""Where a model's files are, whether they are whole, what names their bytes; fetched, made smaller.

Finding asks no network: a hub id is what lies in the hub's cache, so that a newer commit there
changes nobody's book until it is pulled. Which files a model has its engine says (`Family`); what
loads it converts it, too, in a process of its own.
"""

from __future__ import annotations

import contextlib
import errno
import json
import re
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from narrator import files, keys
from narrator.engines import machine
from narrator.errors import EngineUnavailable, StorageError, UsageError

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
"""What a language model may have beside its configuration and its weights; never code."""
LANGUAGE = (
    (30e9, "mlx-community/Qwen3-30B-A3B-Instruct-2507-4bit"),  # 17 GB
    (22e9, "mlx-community/Qwen3-14B-4bit"),  # 8 GB
    (0.0, "mlx-community/Qwen3-4B-Instruct-2507-4bit"),  # 2.3 GB
)
"""Bytes of memory from which a language model is what `auto` stands for: a third of them or more
is left to what else runs. All are under Apache-2.0."""

_HUB_ID = re.compile(r"(\w[\w.-]*/\w[\w.-]*)(?:@(\w[\w.-]*(?:/\w[\w.-]*)*))?")
LONGEST_ID = 200
"""Characters; the hub's own limit is 96 without the revision."""
ORIGIN = "converted.json"
_SHARD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,200}\.safetensors")
_HEADER_LIMIT, _CONFIG_LIMIT, _INDEX_LIMIT = 16 << 20, 1 << 20, 16 << 20
"""Bytes; those of the published model have 0.1, 0.01 and 0.1 million."""

Tell = Callable[[str], None]
"""Told what takes long."""
Progress = Callable[[int, int], None]
"""Told bytes done and bytes in all."""


def quiet(what: str) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model's files, and what names their bytes."""

    spec: str
    path: Path | None
    """The folder to load; None where the model is not here, or not whole."""
    weights: str
    """Names the bytes of all files that decide the sound, by SHA-256, wherever they lie and however
    they came there; "" where they are not here."""
    kind: Literal["hub", "folder"]
    revision: str | None
    """The hub's commit."""
    bytes: int
    """Of the files that are read; of those that are here, where not all are."""
    precision: str
    """For people: "bfloat16", "bfloat16, language models in 8 bits"."""
    note: str
    """For people: why it is not here and what to do, or ""."""


class NoModel(Exception):
    """A folder that is no whole model, and why."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How the files of one kind of model lie in a folder."""

    patterns: Sequence[str]
    """What is fetched of a hub repository, and counted."""
    read: Callable[[Path], list[Path]]
    """The files of a folder that decide the sound. Raises NoModel, OSError."""
    is_one: Callable[[Path], bool]
    """Whether a folder is such a model's, whole or not, by what it has."""


@dataclass(frozen=True, slots=True)
class Family(Layout):
    """The models that an engine speaks with."""

    engine: str
    """Its name."""
    package: str
    """What loads and converts them."""
    hub: str
    """The hub id that `auto` stands for, as it is or converted."""
    download: int
    """Bytes of it."""
    published: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of files that the hub has under `hub`, by their names."""
    assemble: Callable[[Path, Path, Tell], None] | None = None
    """Makes the model of packages that registries have, from a folder in a new one. Raises
    EngineUnavailable for what is missing or damaged."""
    packages: str = ""
    """For people: how these packages are fetched into the current folder."""
    pull: str = "narrator models pull"
    """What fetches it."""
    small: float = 0.0
    """Bytes of memory under which `auto` is the 8-bit conversion."""
    tuned: Layout | None = None
    """What may be loaded with them."""


# -- finding ---------------------------------------------------------------------------------------


def find(
    family: Family, spec: str = "auto", *, root: Path | None = None, tell: Tell = quiet
) -> Model:
    """Where a model is: "auto", a directory, or a hub id with or without @revision.

    A relative directory is looked for under `root`, then here, and comes before a hub id of the
    same name. Never fails and asks no network: what is missing has no path and a note. The first
    time that it sees a folder, it reads all of it to name the bytes (seconds for gigabytes).
    """
    if spec != "auto":
        return find_as(family, spec, root=root, tell=tell)
    spec = default(family)
    if spec == family.hub:
        return _hub(spec, family, tell)
    found = _folder(spec, Path(spec), family, tell)
    if found.path is None:
        note = f"{family.hub} in 8 bits is not here; `{family.pull}` fetches and converts it"
        return replace(found, note=note)
    return found


def find_language(spec: str = "auto", *, root: Path | None = None, tell: Tell = quiet) -> Model:
    """Likewise for a language model, which reads and speaks nothing."""
    if spec == "auto":
        total = machine.memory().total
        spec = next(repo for least, repo in LANGUAGE if total >= least)
    return find_as(LANGUAGE_LAYOUT, spec, root=root, tell=tell)


def default(family: Family, total: int | None = None) -> str:
    """What "auto" means on a machine of so many bytes of memory: a hub id, or a folder's path."""
    total = machine.memory().total if total is None else total
    less = converted(family.hub)
    repo, revision = hub_id(family.hub) or (family.hub, None)
    is_assembled = family.assemble is not None and less.is_dir() and not _snapshot(repo, revision)
    return str(less) if total < family.small or is_assembled else family.hub


def converted(spec: str) -> Path:
    """Where the 8-bit conversion of a hub repository is kept."""
    repo, _ = hub_id(spec) or (spec, None)
    return files.library() / "models" / f"{repo.replace('/', '--')}-8bit"


def hub_id(spec: str) -> tuple[str, str | None] | None:
    """(owner/name, revision or None) of a spec that reads as a hub id."""
    found = _HUB_ID.fullmatch(spec)
    fit = found is not None and ".." not in spec and len(spec) <= LONGEST_ID
    return (found[1], found[2]) if found and fit else None


def repository(spec: str) -> str:
    """The hub repository of a spec without its revision; "" of one that is no hub id."""
    return (hub_id(spec) or ("", None))[0]


def listed(families: Sequence[Family], tell: Tell = quiet) -> list[tuple[Family, Model]]:
    """Of each family the default, and every checkpoint in the library and in the hub's cache."""
    found = [(family, find(family, tell=tell)) for family in families]
    folder = files.library() / "models"
    made = sorted(p for p in folder.iterdir() if p.is_dir()) if folder.is_dir() else []
    for path in (path for path in made if path.name[0] != "."):
        family = family_of(path, families) or families[0]
        found.append((family, _folder(str(path), path, family, tell)))
    for path in _snapshots():
        if (of := family_of(path, families)) is not None:
            found.append((of, _cached(path, of, tell)))
    unique = {(model.path or model.spec): (family, model) for family, model in found}
    return list(unique.values())


def cached(layout: Layout, tell: Tell = quiet) -> list[Model]:
    """The models of a layout in the hub's cache."""
    return [_cached(path, layout, tell) for path in _snapshots() if layout.is_one(path)]


def _snapshots() -> list[Path]:
    """All that the hub's cache has."""
    return sorted(_cache().glob("models--*--*/snapshots/*"))


def family_of(path: Path, families: Sequence[Family]) -> Family | None:
    """Whose checkpoint a folder is, by what it has."""
    return next((family for family in families if family.is_one(path)), None)


def _cached(snapshot: Path, layout: Layout, tell: Tell) -> Model:
    """A model of the hub's cache, by its plain id where that is what the id means here."""
    repo = snapshot.parents[1].name.removeprefix("models--").replace("--", "/", 1)
    plain = _snapshot(repo, None) == snapshot
    return _hub(repo if plain else f"{repo}@{snapshot.name}", layout, tell)


def find_as(layout: Layout, spec: str, *, root: Path | None = None, tell: Tell = quiet) -> Model:
    """As `find`, of what lies as `layout` says; nothing is `auto`."""
    for place in _places(spec, root):
        if _exists(place) and place.is_dir():
            return _folder(spec, place, layout, tell)
    if _exists(_places(spec, None)[0]) or hub_id(spec) is None:
        note = f"{spec}: no such directory, and not a hub id (owner/name)"
        return Model(spec, None, "", "folder", None, 0, "", note)
    return _hub(spec, layout, tell)


def place_of(spec: str) -> Path | None:
    """The folder that a spec names, whole or not: a directory, or of the hub's cache."""
    found = next((path for path in _places(spec, None) if _exists(path) and path.is_dir()), None)
    hub = hub_id(spec)
    return found or (_snapshot(*hub) if hub else None)


def _places(spec: str, root: Path | None) -> Sequence[Path]:
    """Where a directory of that name would be, in order."""
    path = Path(spec)
    with contextlib.suppress(RuntimeError):  # no such user
        path = path.expanduser()
    return ((root / path,) if root else ()) + (path,)


def _exists(path: Path) -> bool:
    """Also of what can be no name: too long, or with a zero in it."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _folder(spec: str, path: Path, layout: Layout, tell: Tell) -> Model:
    path = path.resolve()
    try:
        return _whole(spec, path, "folder", layout.read(path), tell)
    except (NoModel, OSError) as error:
        size = _size(path, layout)
        return Model(spec, None, "", "folder", None, size, "", f"{path}: {error}")


def _hub(spec: str, layout: Layout, tell: Tell) -> Model:
    repo, revision = hub_id(spec) or (spec, None)
    pull, title = f"`narrator models pull {spec}`", spec
    if isinstance(layout, Family) and spec == layout.hub:
        pull, title = f"`{layout.pull}`" if revision else pull, repo
    snapshot = _snapshot(repo, revision)
    if snapshot is None:
        others = sorted(p.name for p in (_storage(repo) / "snapshots").glob("*") if p.is_dir())
        note = f"{title} is not here; {pull} fetches it"
        if others:
            note += f"; here are the commits {', '.join(name[:12] for name in others)}"
        return Model(spec, None, "", "hub", None, 0, "", note)
    try:
        return _whole(spec, snapshot, "hub", layout.read(snapshot), tell)
    except (NoModel, OSError) as error:
        note = f"{title}: {error}; {pull} fetches the rest"
        if any((_storage(repo) / "blobs").glob("*.incomplete")):
            note = f"{title}: its download was not finished ({error}); {pull} goes on with it"
        size = _size(snapshot, layout)
        return Model(spec, None, "", "hub", snapshot.name, size, "", note)


def _whole(
    spec: str, path: Path, kind: Literal["hub", "folder"], read: list[Path], tell: Tell
) -> Model:
    revision = path.name if kind == "hub" else None
    size = sum(file.stat().st_size for file in read)
    return Model(spec, path, weights_name(read, tell), kind, revision, size, _precision(path), "")


def _cache() -> Path:
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE)


def _storage(repo: str) -> Path:
    return _cache() / f"models--{repo.replace('/', '--')}"


def _reference(repo: str, revision: str | None) -> Path:
    """The file of the cache that says which commit a branch or tag is."""
    return _storage(repo) / "refs" / (revision or "main")


def _snapshot(repo: str, revision: str | None) -> Path | None:
    """The folder of a revision in the hub's cache, as the cache's own branch and tag names say."""
    reference = _reference(repo, revision)
    commit = _commit(reference) if reference.is_file() else revision
    if not commit or "/" in commit:  # a branch that is not here
        return None
    path = _storage(repo) / "snapshots" / commit
    return path if path.is_dir() else None


def _commit(reference: Path) -> str | None:
    """The commit that a branch or tag is; None where its file is damaged: a pull writes it anew."""
    try:
        said = reference.read_text("ascii").strip()
    except (OSError, ValueError):
        return None
    return said if re.fullmatch("[0-9a-f]{40}", said) else None


def _size(path: Path, layout: Layout) -> int:
    """Bytes of what a folder has of the files that matter."""
    if not path.is_dir():
        return 0
    found = {file for pattern in layout.patterns for file in path.glob(pattern) if file.is_file()}
    return sum(file.stat().st_size for file in found)


def damage(family: Family, path: Path, tell: Tell = quiet) -> Iterator[str]:
    """The files in a folder that should be those of `Family.hub` and are not. Each is read whole,
    once."""
    known = _Hashes.load(files.library() / "hashes.json")
    for name, published in family.published.items():
        if not (path / name).is_file():
            continue
        content = known.of(path / name, tell, trust_names=False)
        if content != published:
            yield f"{path / name}: SHA-256 {content[:12]}…, of the published file {published[:12]}…"
    known.save()


# -- what a folder holds ---------------------------------------------------------------------------


def weight_files(path: Path) -> list[Path]:
    index = path / "model.safetensors.index.json"
    for file in (path / "model.safetensors", index, path / "pytorch_model.bin"):
        if file.is_file():
            return _shards(index) if file == index else [file]
    raise NoModel("the weights are missing (model.safetensors)")


def _shards(index: Path) -> list[Path]:
    path, listed = index.parent, _object(index, _INDEX_LIMIT).get("weight_map")
    said = list(listed.values()) if isinstance(listed, dict) else []
    names = sorted({name for name in said if isinstance(name, str)})
    # one that leads elsewhere is none of the model's
    if not names or not all(isinstance(name, str) and _SHARD.fullmatch(name) for name in said):
        raise NoModel(f"{index.name} is not a list of shards")
    missing = [name for name in names if not (path / name).is_file()]
    if missing:
        some = ", ".join(missing[:8]) + (", …" if len(missing) > 8 else "")
        raise NoModel(f"{len(missing)} of {len(names)} shards are missing: {some}")
    return [path / name for name in names]


def _language_files(path: Path) -> list[Path]:
    facts = config(path)
    if not facts:
        raise NoModel("no config.json that can be read; is this a language model?")
    if not is_language(path):
        raise NoModel("is no language model: its config.json names no model_type")
    weight_files(path)
    weights = sorted(path.glob("model*.safetensors"))  # mlx-lm reads all that are called so
    if not weights:
        raise NoModel("its weights are no safetensors, which mlx-lm needs")
    for file in weights:
        tensors(file)
    if not any((path / name).is_file() for name in ("tokenizer.json", "tokenizer.model")):
        raise NoModel("tokenizer.json is missing")
    beside = [path / name for name in _LANGUAGE_FILES]
    return [path / "config.json", *(file for file in beside if file.is_file()), *weights]


def is_language(path: Path) -> bool:
    """Whether a checkpoint's config.json is a language model's: it has a type, and is none that
    speaks."""
    facts = config(path)
    kinds = (facts.get("model_type"), facts.get("architecture", ""))
    return isinstance(kinds[0], str) and not any(str(k).startswith(_SPEAKING) for k in kinds)


_SPEAKING = ("voxcpm", "cosyvoice")
"""How the names of architectures begin that speak."""


LANGUAGE_LAYOUT = Layout(
    ("config.json", "model*.safetensors", "model.safetensors.index.json", *_LANGUAGE_FILES),
    _language_files,
    is_language,
)


def tensors(file: Path) -> Mapping[str, Any]:
    """The header of a safetensors file, checked against its size; of others nothing."""
    if file.suffix != ".safetensors":
        return {}
    size = file.stat().st_size
    try:
        with file.open("rb") as opened:
            (length,) = struct.unpack("<Q", opened.read(8))
            if length > min(size, _HEADER_LIMIT):
                raise ValueError
            header = json.loads(opened.read(length))
        header.pop("__metadata__", None)
        ends = [e["data_offsets"][1] for e in header.values()]
        if not all(type(end) is int and 0 <= end < 2**60 for end in ends):
            raise ValueError
        end = 8 + length + max(ends, default=0)
    except (OSError, struct.error, ValueError, RecursionError, LookupError, TypeError,
            AttributeError):  # fmt: skip
        raise NoModel(f"{file.name} is damaged") from None
    if end != size:
        raise NoModel(f"{file.name} is not whole: {size} of {end} bytes")
    return dict(header)


def config(path: Path) -> Mapping[str, Any]:
    """A checkpoint's config.json; empty where there is none that can be read."""
    return _object(path / "config.json", _CONFIG_LIMIT)


def _object(path: Path, most: int) -> Mapping[str, Any]:
    """A JSON object of at most so many bytes; empty where the file is none."""
    try:
        if not path.is_file() or path.stat().st_size > most:
            return {}
        data = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _precision(path: Path) -> str:
    facts = config(path)
    dtype = facts.get("dtype") or facts.get("torch_dtype")
    scheme = facts.get("quantization") or facts.get("quantization_config")
    bits = scheme.get("bits") if isinstance(scheme, dict) else None
    known = isinstance(dtype, str) and re.fullmatch(r"\w{1,20}", dtype)
    said = f"language models in {bits} bits" if type(bits) is int and 0 < bits <= 16 else ""
    return ", ".join(filter(None, (str(dtype) if known else "", said)))


# -- what names the bytes --------------------------------------------------------------------------


def weights_name(read: list[Path], tell: Tell = quiet) -> str:
    """A name for the bytes of files, whole; what was hashed once is remembered by size and time.

    Unlike the `fingerprint` of `voxcpm2`, which looks at the first kilobyte of each tensor, it
    tells any two models apart; so this is what goes into keys.
    """
    known = _Hashes.load(files.library() / "hashes.json")
    root = read[0].parent
    name = keys.key({file.relative_to(root).as_posix(): known.of(file, tell) for file in read})
    known.save()
    return name


class _Hashes:
    """SHA-256 of large files that were read before."""

    def __init__(self, path: Path, rows: dict[str, Any]) -> None:
        self._path, self._rows, self._changed = path, rows, False

    @classmethod
    def load(cls, path: Path) -> _Hashes:
        """A table that is torn or gone costs the time to hash again."""
        rows = files.load_json(path, {})
        return cls(path, rows if isinstance(rows, dict) else {})

    def of(self, file: Path, tell: Tell, *, trust_names: bool = True) -> str:
        """Of a file's bytes. Raises OSError."""
        real = file.resolve()
        is_named = real.parent.name == "blobs" and re.fullmatch("[0-9a-f]{64}", real.name)
        if trust_names and is_named:
            return real.name  # the hub's cache names large files by their SHA-256
        stat = real.stat()
        row = self._rows.get(str(real))
        if isinstance(row, list) and row[:2] == [stat.st_size, stat.st_mtime_ns]:
            return str(row[-1])
        if stat.st_size > 200_000_000:
            tell(f"reading {file.name} ({stat.st_size / 1e9:.1f} GB) to know it by, once")
        found = keys.file_content(real)
        self._rows[str(real)] = [stat.st_size, stat.st_mtime_ns, found]
        self._changed = True
        return found

    def save(self) -> None:
        if self._changed:
            rows = {path: row for path, row in self._rows.items() if Path(path).exists()}
            with contextlib.suppress(StorageError):  # it costs the time to hash again
                files.save_json(self._path, rows)


# -- fetching --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Download:
    """What pulling a hub repository comes to."""

    repo: str
    revision: str | None
    commit: str
    bytes: int
    """Of all files."""
    missing: int
    """Bytes that are not here yet."""


def look_up(spec: str, families: Sequence[Family], others: Sequence[Layout] = ()) -> Download:
    """Ask the hub what a pull would fetch; auto is the first family's. `others` are models that do
    not speak. Raises UsageError, EngineUnavailable."""
    from huggingface_hub import snapshot_download

    repo, revision = _repository(families[0].hub if spec == "auto" else spec, families)
    wanted = _wanted(families, others)
    with _in_words(repo, revision), _same_reference(repo, revision):
        rows = snapshot_download(repo, revision=revision, allow_patterns=wanted, dry_run=True)
    if not rows:
        raise UsageError(f"{repo} has no checkpoint: no config.json, no weights")
    return Download(
        repo,
        revision,
        rows[0].commit_hash,
        sum(row.file_size or 0 for row in rows),
        sum(row.file_size or 0 for row in rows if row.will_download),
    )


def _wanted(families: Sequence[Family], others: Sequence[Layout]) -> list[str]:
    """What is fetched of any repository: what it is shows when it is here."""
    layouts = [LANGUAGE_LAYOUT, *others, *families, *(one.tuned for one in families if one.tuned)]
    return list(dict.fromkeys(pattern for layout in layouts for pattern in layout.patterns))


def pull(
    download: Download,
    families: Sequence[Family],
    tell: Progress = lambda done, total: None,
    others: Sequence[Layout] = (),
) -> Model:
    """Fetch what is missing; what an earlier try has fetched stays. From then on the id means it.

    Raises EngineUnavailable, UsageError, StorageError.
    """
    from huggingface_hub import snapshot_download

    repo, revision = download.repo, download.revision
    spec = f"{repo}@{revision}" if revision else repo
    _room(_cache(), download.missing)
    with (
        _in_words(repo, revision),
        _watched(_storage(repo) / "blobs", download, tell),
    ):
        # by its commit: what a branch means here changes when all is there, not before
        wanted = _wanted(families, others)
        path = Path(snapshot_download(repo, revision=download.commit, allow_patterns=wanted))
    tuned = [one.tuned for one in families if one.tuned]
    layouts = (*families, *others, LANGUAGE_LAYOUT, *tuned)
    layout = next((one for one in layouts if one.is_one(path)), families[0])
    try:
        layout.read(path)
    except NoModel as error:
        raise EngineUnavailable(f"{spec}: {error}, even after the download") from None
    if revision != download.commit:
        files.write(_reference(repo, revision), download.commit.encode())
    return find_as(layout, spec)


def _repository(spec: str, families: Sequence[Family]) -> tuple[str, str | None]:
    found = hub_id(spec)
    if found is None or Path(spec).expanduser().is_dir():
        own = " or ".join(family.engine for family in families)
        raise UsageError(
            f"{spec}: only a hub id (owner/name or owner/name@revision) or an engine's own model "
            f"({own}), or what listens by its own name (recogniser, small.en) can be pulled"
        )
    return found


@contextlib.contextmanager
def _same_reference(repo: str, revision: str | None) -> Iterator[None]:
    """What a branch means here stays what it is: the hub's library moves it when it only looks."""
    path = _reference(repo, revision)
    before = path.read_bytes() if path.is_file() else None
    try:
        yield
    finally:
        if before is not None:
            files.write(path, before)
        else:
            path.unlink(missing_ok=True)


@contextlib.contextmanager
def _watched(blobs: Path, download: Download, tell: Progress) -> Iterator[None]:
    """Tell how far a download is, twice a second, from the sizes of what it writes."""
    before = download.bytes - download.missing
    start = _weighed(blobs)
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(0.5):
            tell(min(download.bytes, before + max(0, _weighed(blobs) - start)), download.bytes)

    thread = threading.Thread(target=watch, name="narrator-pull", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    tell(download.bytes, download.bytes)


def _weighed(folder: Path) -> int:
    total = 0
    for path in folder.glob("*"):
        with contextlib.suppress(OSError):  # renamed meanwhile
            total += path.stat().st_size
    return total


def _room(folder: Path, wanted: int) -> None:
    with files.storage(folder):
        free = machine.free(folder)
    if wanted and free < 1.02 * wanted:
        raise StorageError(
            f"{folder}: needs {wanted / 1e9:.1f} GB, {free / 1e9:.1f} GB are free; make room, or "
            "set HF_HOME (downloads) or NARRATOR_HOME (conversions) to a folder on another disk"
        )


@contextlib.contextmanager
def _in_words(repo: str, revision: str | None) -> Iterator[None]:
    """The hub's exceptions become ours."""
    from huggingface_hub.errors import (
        DryRunError,
        GatedRepoError,
        HfHubHTTPError,
        HFValidationError,
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
                f"{_cache()}: the disk is full; what was fetched stays: make room and pull again"
            ) from error
        raise EngineUnavailable(
            f"{repo}: the hub cannot be reached ({_first_line(error)}). What was fetched stays: go "
            "online (and unset HF_HUB_OFFLINE) and pull again, or download the repository "
            "elsewhere and give its directory (`engine.model`, `--model`)"
        ) from error


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__


# -- converting ------------------------------------------------------------------------------------


def convert(
    family: Family, source: Path, target: Path, *, bits: int | None = 8, dtype: str | None = None
) -> Path:
    """Write a model anew with its language models in so many bits (None: as they are); `target`.

    Takes a minute or so, and as much memory as the source has bytes. Raises UsageError,
    EngineUnavailable, StorageError; the target is whole or not there.
    """
    if target.exists():
        raise UsageError(f"{target}: exists already; give a new directory")
    with files.storage(target):
        target.parent.mkdir(parents=True, exist_ok=True)
    _room(target.parent, _size(source, family))
    command = [sys.executable, "-m", family.package, "convert", str(source), str(target)]
    command += ["--quantize", str(bits)] if bits is not None else []
    command += ["--dtype", dtype] if dtype else []
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0 and target.is_dir():
        return target
    lines = done.stderr.strip().splitlines()
    why = lines[-1].removeprefix("error: ") if lines else f"it ended with {done.returncode}"
    raise EngineUnavailable(f"{source}: cannot be converted: {why}")


def assemble(family: Family, source: Path, tell: Tell = quiet) -> Model:
    """The model of a family made of packages in a folder, in the library: what `auto` means while
    the hub's own is not here. Raises UsageError, EngineUnavailable, StorageError."""
    if family.assemble is None:
        raise UsageError(f"{family.engine}: no package registry has its model; `{family.pull}`")
    if not source.is_dir():
        raise UsageError(f"{source}: no such folder")
    target = converted(family.hub)
    with files.storage(target), _scratch(target.parent) as scratch:
        family.assemble(source, scratch / target.name, tell)
        if target.exists():
            target.rename(scratch / "old")
        (scratch / target.name).rename(target)
    return find(family, str(target))


def shrink(family: Family, model: Model) -> Model:
    """The 8-bit conversion of a hub model in the library, made if it is not there or of another
    commit.

    Raises as `convert`.
    """
    repo, revision = hub_id(model.spec) or ("", None)
    if model.path is None or model.revision is None or not repo:
        raise UsageError(f"{model.spec}: only a model from the hub that is here; {model.note}")
    target = converted(repo)
    if revision is not None:  # what `auto` means follows the plain id alone
        target = target.with_name(f"{target.name}-{model.revision[:12]}")
    if not (origin(target) == model.revision and find(family, str(target)).path):
        with (
            files.storage(target),
            _scratch(target.parent) as scratch,
        ):
            made = convert(family, model.path, scratch / target.name)
            source = {"repository": repo, "commit": model.revision, "bits": 8}
            files.write(made / ORIGIN, json.dumps(source).encode())
            if target.exists():
                target.rename(scratch / "old")
            made.rename(target)
    return find(family, str(target))


@contextlib.contextmanager
def _scratch(parent: Path) -> Iterator[Path]:
    parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".making-", dir=parent) as name:
        yield Path(name)


def origin(path: Path) -> str | None:
    """The commit that a conversion was made from."""
    try:
        commit = json.loads((path / ORIGIN).read_bytes())["commit"]
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return None
    return str(commit)
