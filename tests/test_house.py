"""The rooms of the house: imports run downwards only, and what only one room may do."""

from __future__ import annotations

import ast
import gc
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# From the cellar up. A room imports from the floors below its own, never from its own floor.
FLOORS = (
    {
        "decoding",
        "errors",
        "installation",
        "keys",
        "progress",
        "quantities",
        "settings",
        "templates",
    },
    {"files"},
    {"pronunciation", "sound", "web"},
    {"engines", "text"},
    {"project"},
    {"importing", "speech"},
    {"cast"},
    {"delivery"},
    {"pipeline"},
    {"report"},
    {"serve", "studio"},
    {"cli"},
    {"__main__"},
)
MODELS = ("voxcpm2", "cosyvoice2", "kokoro82m", "speechbase")
BELOW = {
    "textbase": frozenset[str](),
    "manuscripts": {"textbase"},
    **{model: {"speechbase"} for model in MODELS},
    "narrator": {"textbase", "manuscripts", *MODELS},
}
"""Package -> others of ours that it may import."""
PACKAGES = tuple(BELOW)
MODEL_ENGINES = ("mlx", "voxcpm2", "cosyvoice2", "kokoro")
"""Folders of narrator/engines/ that may load a model."""
FLOOR = {room: height for height, rooms in enumerate(FLOORS) for room in rooms}

# What an import is called, where that is not the name it is installed by.
DISTRIBUTION = {
    "axe_playwright_python": "axe-playwright-python",
    "c2pa": "c2pa-python",
    "pydantic_core": "pydantic-core",
    "espeakng_loader": "espeakng-loader",
    "faster_whisper": "faster-whisper",
    "huggingface_hub": "huggingface-hub",
    "markdown_it": "markdown-it-py",
    "kaldi_native_fbank": "kaldi-native-fbank",
    "mlx_lm": "mlx-lm",
    "resvg_py": "resvg-py",
    "unicode_rbnf": "unicode-rbnf",
    "webvtt": "webvtt-py",
    "yaml": "pyyaml",
}


@pytest.fixture(scope="module", autouse=True)
def trees_are_not_searched_for_circles() -> Iterator[None]:
    """They hold none, are kept to the end, and are most of what the collector would look at."""
    gc.disable()
    yield
    gc.enable()


@cache
def syntax(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(syntax(path)))


@cache
def calls(path: Path) -> frozenset[str]:
    """What is called in a file, as it is written there."""
    return frozenset(ast.unparse(node.func) for node in nodes(path) if isinstance(node, ast.Call))


@cache
def sources(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def every_source() -> list[Path]:
    return [path for package in PACKAGES for path in sources(package)]


def room_of(path: Path) -> str:
    """The module of narrator/, or the folder within it, that a file belongs to."""
    return path.relative_to(ROOT / "narrator").parts[0].removesuffix(".py")


def module_of(path: Path) -> str:
    """Its dotted name."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> Iterator[str]:
    """Every module a file imports, dotted, wherever in the file the import stands."""
    yield from imported(path, nodes(path))


def loaded_with(path: Path) -> Iterator[str]:
    """What a file imports when it is loaded: what stands outside of its functions."""

    def outside(node: ast.AST) -> Iterator[ast.AST]:
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                yield child
                yield from outside(child)

    yield from imported(path, outside(syntax(path)))


def imported(path: Path, nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = ".".join(path.relative_to(ROOT).parts[: -node.level]) if node.level else ""
            module = ".".join(filter(None, (package, node.module)))
            yield from (f"{module}.{alias.name}" for alias in node.names)


def rooms_imported(path: Path) -> set[str]:
    dotted = (name.split(".") for name in imports(path))
    return {parts[1] for parts in dotted if parts[0] == "narrator" and len(parts) > 1}


def declared(*extras: str) -> set[str]:
    """Names of the distributions that pyproject.toml asks for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = list(project["dependencies"])
    for extra in extras:
        wanted += project["optional-dependencies"][extra]
    return {re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower() for requirement in wanted}


def distributions(paths: list[Path]) -> set[str]:
    """Distributions that files import, apart from the standard library and ourselves."""
    tops = {name.split(".")[0] for path in paths for name in imports(path)}
    ours = {path.stem for path in sources("tests")}
    ours |= {*PACKAGES, "tests", "benchmarks", "docs", *sys.stdlib_module_names}
    return {DISTRIBUTION.get(top, top) for top in tops - ours}


@pytest.mark.parametrize("path", sources("narrator"), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_run_downwards_only(path):
    room = room_of(path)
    if room == "__init__":
        assert not rooms_imported(path)
        return
    assert room in FLOOR, f"{room} has no floor yet: give it one in FLOORS"
    below = {other for other, height in FLOOR.items() if height < FLOOR[room]}
    names = {name for name in rooms_imported(path) if name in FLOOR}
    assert names - {room} <= below


def test_no_modules_import_each_other_in_a_circle():
    """As they are loaded: an import within a function comes later."""
    modules = {module_of(path): path for path in every_source()}
    below = {
        module: {
            name if name in modules else name.rpartition(".")[0] for name in loaded_with(path)
        } & modules.keys()
        for module, path in modules.items()
    }  # fmt: skip
    try:
        TopologicalSorter(below).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(reversed(error.args[1])))


def test_rooms_that_are_gone_have_no_floor():
    # only of the rooms we list; a new one is found by the test above
    there = {room_of(path) for path in sources("narrator")}
    assert set(FLOOR) - {"__main__"} <= there


def test_the_drawing_of_the_house_has_these_floors():
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    drawn = re.findall(r"^ {4,5}(\d+)  (\w+) ", page, re.MULTILINE)
    assert {room: int(height) for height, room in drawn} == FLOOR
    assert drawn == sorted(drawn, key=lambda row: -int(row[0]))


def test_every_room_says_what_belongs_there():
    for folder in (ROOT / "narrator").glob("*/__init__.py"):
        said = ast.get_docstring(syntax(folder))
        assert said is not None, folder
        assert re.search(r"belongs? here", " ".join(said.split())), folder


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_imports_only_those_below(package):
    others = {*PACKAGES} - {package, *BELOW[package]}
    for path in sources(package):
        assert not {name.split(".")[0] for name in imports(path)} & others, path


def test_only_their_engines_and_what_reads_load_a_model():
    users = {
        path.relative_to(ROOT).as_posix()
        for path in sources("narrator")
        if any(name.split(".")[0] in (*MODELS, "mlx", "mlx_lm") for name in imports(path))
    }
    homes = tuple(f"narrator/engines/{name}/" for name in MODEL_ENGINES)
    others = {user for user in users if not user.startswith(homes)}
    # models.py reads headers of files of tensors, which loads no MLX
    assert others == {"narrator/engines/models.py", "narrator/engines/reader.py"}


def test_only_the_draft_voice_touches_its_gpl_library():
    for path in every_source():
        if any(name.split(".")[0] == "espeakng_loader" for name in imports(path)):
            assert path.parent == ROOT / "narrator/engines/draft", path


def test_only_the_cluster_touches_dask():
    for path in every_source():
        if any(name.split(".")[0] in ("dask", "distributed") for name in imports(path)):
            assert path.parent == ROOT / "narrator/engines/cluster", path


@pytest.mark.slow
def test_importing_narrator_loads_no_model_no_dask_and_no_gpl_library():
    script = (
        "import sys, narrator, narrator.cli, narrator.pipeline.book_engines\n"
        "rest = {'mlx', 'mlx_lm', 'voxcpm2', 'cosyvoice2', 'kokoro82m'}\n"
        "rest |= {'onnxruntime', 'espeakng_loader', 'distributed'}\n"
        "print(*sorted(rest & set(sys.modules)))"
    )
    found = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == ""


@pytest.mark.parametrize("package", PACKAGES)
def test_only_the_command_line_prints(package):
    for path in sources(package):
        if "cli" in path.parts or path.name == "__main__.py":
            continue
        assert not calls(path) & {"print", "sys.stdout.write", "typer.echo"}, path


@pytest.mark.parametrize("package", PACKAGES)
def test_only_the_command_line_and_who_loads_foreign_code_catch_everything(package):
    broad = {"Exception", "BaseException"}
    for path in sources(package):
        if "cli" in path.parts or path.name in ("__main__.py", "extensions.py"):
            continue
        for node in nodes(path):
            if isinstance(node, ast.ExceptHandler) and not _passes_on(node):
                caught = {ast.unparse(kind) for kind in _kinds(node)}
                assert caught, f"{path}:{node.lineno}: bare except"
                assert not caught & broad, f"{path}:{node.lineno}: broad except"


def _passes_on(handler: ast.ExceptHandler) -> bool:
    """Whether what was caught is raised again, as it was, at the end."""
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def _kinds(handler: ast.ExceptHandler) -> list[ast.expr]:
    if isinstance(handler.type, ast.Tuple):
        return handler.type.elts
    return [handler.type] if handler.type else []


def test_only_one_room_has_ffmpeg_read_a_file():
    users = {
        path.relative_to(ROOT).as_posix()
        for path in (*sources("narrator"), *sources("manuscripts"))
        if calls(path) & {"av.open", "av.container.open"}
    }
    # two more: what is written, and a picture's bytes in a process of their own
    assert users == {
        "narrator/sound/media.py",
        "narrator/delivery/export/encode.py",
        "manuscripts/readers/ebook/raster.py",
    }


EXTRAS = (
    "align",
    "casting",
    "chinese",
    "cluster",
    "cosyvoice2",
    "credentials",
    "dashboard",
    "draft",
    "figures",
    "japanese",
    "names",
    "recognition",
    "studio",
)


def test_what_is_imported_is_declared():
    found = distributions(every_source())
    assert found <= declared(*EXTRAS)


def test_what_is_declared_is_imported():
    imported = distributions(every_source())
    loaded = {"sudachidict-core"}  # by sudachipy
    assert declared(*EXTRAS) - loaded <= imported


def test_what_tests_import_is_declared():
    # what is not collected (`make parity`, benchmarks) has an environment of its own
    collected = [p for p in sources("tests") if p.stem.startswith("test_") or p.stem == "conftest"]
    assert distributions(collected) <= declared(*EXTRAS, "test", "pages")


def test_no_call_takes_whatever_it_is_given():
    for path in every_source():
        for node in nodes(path):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                assert node.args.kwarg is None, f"{path}:{node.lineno}: **{node.args.kwarg}"


_RAW = re.compile(
    r"""(?i:\b(?:r[fb]?|[fb]r))("{3}(?:\\.|.)*?"{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')""",
    re.DOTALL,
)
"""A raw literal, as all patterns are, and what it holds."""
_CLASS_OR_ESCAPE = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_POSSESSIVE = re.compile(r"(?:[*+?]|\{\d*,?\d*\})\+|\(\?>")


def is_possessive(pattern: str) -> bool:
    """Whether a pattern has a possessive quantifier or an atomic group."""
    return _POSSESSIVE.search(_CLASS_OR_ESCAPE.sub("x", pattern)) is not None


@pytest.mark.parametrize("pattern", ["a++", r"(?:ab)*" "+", "w?+", "a{2}+", "(?>a)"])
def test_a_possessive_pattern_is_recognised(pattern):
    assert is_possessive(pattern)


@pytest.mark.parametrize("pattern", [r"\++", r"[*+]+", r"[]*+]", r"[^]+*+]x+", r"(a+)+", r"a+\+"])
def test_other_patterns_are_not_possessive(pattern):
    assert not is_possessive(pattern)


def test_no_pattern_is_possessive():
    """CPython matches them wrongly before 3.11.5 (Debian 12 had 3.11.2): where a repeated group
    fails halfway, what it has read is not given back (gh-100061, gh-106052). Write a pattern that
    matches in one way alone, which no backtracking prolongs."""
    for path in (*every_source(), *sources("tests"), *sources("benchmarks"), *sources("docs")):
        for literal in _RAW.findall(path.read_text("utf-8")):
            assert not is_possessive(literal), f"{path}: {literal}"
