"""Hints for extras name the way that this copy was installed, and never another program."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import yaml

from narrator import __version__, installation
from narrator.installation import (
    DISTRIBUTION,
    install_command,
    overwritten_backends,
    reinstall_command,
)

ROOT = Path(__file__).parents[1]


class Recorded:
    """The metadata of an installed distribution, as pip recorded its origin."""

    def __init__(self, record: str | None) -> None:
        self.record = record

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return self.record


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Pretends that narrator lies among site-packages, and was installed as a record says."""
    module = tmp_path / "site-packages" / "narrator" / "installation.py"
    monkeypatch.setattr(installation, "__file__", str(module))

    def install(record: str | None) -> None:
        monkeypatch.setattr(metadata, "distribution", lambda name: Recorded(record))

    return install


def test_a_clone_names_its_own_folder():
    assert re.search(r"pip install -e '?.*\[names,studio\]'?$", install_command("names", "studio"))
    assert str(ROOT) in install_command("names")


def test_a_wheel_names_its_file(installed, tmp_path):
    wheel = tmp_path / "ä wheel.whl"
    wheel.touch()
    installed(json.dumps({"url": wheel.as_uri(), "archive_info": {}}))
    assert install_command("draft").endswith(f"pip install '{wheel}[draft]'")


def test_a_wheel_that_is_gone_and_an_index_name_the_distribution(installed, tmp_path):
    installed(json.dumps({"url": (tmp_path / "gone.whl").as_uri(), "archive_info": {}}))
    assert install_command("draft").endswith(f"pip install '{DISTRIBUTION}[draft]'")
    installed(None)
    assert install_command("draft").endswith(f"pip install '{DISTRIBUTION}[draft]'")


@pytest.mark.parametrize(("own", "base"), [(True, "/base"), (False, "/base"), (True, "/env")])
def test_pip_is_named_by_its_interpreter_unless_it_is_the_first_on_the_path_of_an_environment(
    installed, monkeypatch, own, base
):
    """Beside python3.12 in /usr/bin, pip is that of Debian's Python 3.11."""
    installed(None)
    folder = Path(sys.executable).parent if own else Path("/elsewhere")
    monkeypatch.setattr(installation.shutil, "which", lambda name: str(folder / name))
    monkeypatch.setattr(sys, "prefix", "/env")
    monkeypatch.setattr(sys, "base_prefix", base)
    is_certain = own and base != "/env"
    assert install_command("draft").startswith(
        "pip install" if is_certain else shlex.quote(sys.executable)
    )


@pytest.mark.parametrize(
    ("name", "receipt"),
    [
        ("uv-receipt.toml", '[tool]\nrequirements = ["narrator-audiobook"]\n'),
        ("uv-receipt.toml", "[tool]\n"),
        ("uv-receipt.toml", "no TOML"),
        ("uv-receipt.toml", '[tool]\nrequirements = [{ name = "mine", path = "../mine" }]\n'),
        ("pipx_metadata.json", "{}"),
        ("pipx_metadata.json", '{"main_package": {"package_or_url": null}}'),
        ("pipx_metadata.json", "[1]"),
    ],
)
def test_a_receipt_of_another_form_leaves_the_environment_that_the_tool_made(
    tool, monkeypatch, name, receipt
):
    tool(name, receipt)
    monkeypatch.setattr(installation.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(installation.shutil, "which", lambda name: None)
    python = shlex.quote(sys.executable)
    assert install_command("draft") == f"uv pip install --python {python} '{DISTRIBUTION}[draft]'"


def test_an_environment_without_pip_is_installed_into_by_uv(installed, monkeypatch):
    installed(None)
    monkeypatch.setattr(installation.shutil, "which", lambda name: None)
    monkeypatch.setattr(installation.importlib.util, "find_spec", lambda name: None)
    python = shlex.quote(sys.executable)
    assert install_command("draft") == (f"uv pip install --python {python} '{DISTRIBUTION}[draft]'")


@pytest.fixture
def tool(installed, tmp_path, monkeypatch):
    """Pretends that a tool keeps narrator in an environment with this receipt."""

    def keep(name: str, receipt: str) -> None:
        installed(None)
        monkeypatch.setattr(sys, "prefix", str(tmp_path))
        (tmp_path / name).write_text(receipt, "utf-8")

    return keep


@pytest.mark.parametrize("extras", ["", ', extras = ["studio", "names"]'])
def test_a_tool_of_uv_keeps_its_extras(tool, extras):
    receipt = f'[tool]\nrequirements = [{{ name = "{DISTRIBUTION}"{extras} }}]\n'
    tool("uv-receipt.toml", receipt)
    names = "studio,names,draft" if extras else "draft"
    assert install_command("draft") == f"uv tool install '{DISTRIBUTION}[{names}]'"


@pytest.mark.parametrize(
    ("requirement", "option"),
    [
        ('name = "mine"', "--with mine"),
        ('name = "mine", specifier = ">=1,<2"', "--with 'mine>=1,<2'"),
        ('name = "mine", extras = ["x", "y"]', "--with 'mine[x,y]'"),
        (
            """name = "mine", marker = "python_full_version < '3.13'" """,
            "--with " + shlex.quote("mine ; python_full_version < '3.13'"),
        ),
        ('name = "mine", editable = "/my mine"', "--with-editable '/my mine'"),
        ('name = "mine", directory = "/my mine"', "--with 'mine @ file:///my%20mine'"),
        ('name = "mine", path = "/mine.whl"', "--with 'mine @ file:///mine.whl'"),
        ('name = "mine", url = "https://a/b.whl"', "--with 'mine @ https://a/b.whl'"),
        (
            'name = "mine", git = "https://a/b?subdirectory=c&rev=v1"',
            "--with 'mine @ git+https://a/b@v1#subdirectory=c'",
        ),
    ],
)
def test_a_tool_of_uv_keeps_what_was_installed_with_it(tool, requirement, option):
    receipt = f'[tool]\nrequirements = [{{ name = "{DISTRIBUTION}" }}, {{ {requirement} }}]\n'
    tool("uv-receipt.toml", receipt)
    assert install_command("draft") == f"uv tool install '{DISTRIBUTION}[draft]' {option}"


@pytest.mark.parametrize(
    ("spec", "names"),
    [
        (DISTRIBUTION, "draft"),
        (f"{DISTRIBUTION}[studio, draft]", "studio,draft"),
        (f"{DISTRIBUTION}[studio]==0.1.0", "studio,draft"),
        (f"{DISTRIBUTION}[studio,names]>=0.2", "studio,names,draft"),
        (f"{DISTRIBUTION}[studio] ~= 0.2; python_version > '3.10'", "studio,draft"),
        (f"{DISTRIBUTION}[studio] @ https://a/b.whl", "studio,draft"),
        ("/books/narrator_audiobook-0.1.0-py3-none-any.whl[studio]", "studio,draft"),
        ("/books[1]/narrator_audiobook-0.1.0-py3-none-any.whl", "draft"),
    ],
)
def test_a_tool_of_pipx_keeps_its_extras(tool, spec, names):
    receipt = {"main_package": {"package_or_url": spec}, "injected_packages": {}}
    tool("pipx_metadata.json", json.dumps(receipt))
    assert install_command("draft") == f"pipx install --force '{DISTRIBUTION}[{names}]'"


def test_a_tool_of_pipx_keeps_its_interpreter_and_what_was_injected(tool):
    receipt = {
        "main_package": {"package_or_url": DISTRIBUTION},
        "injected_packages": {"mine": {"package_or_url": "mine>=1"}},
        "source_interpreter": {"__type__": "Path", "__Path__": "/usr/bin/python3.13"},
    }
    tool("pipx_metadata.json", json.dumps(receipt))
    assert install_command("draft") == (
        f"pipx install --force --python /usr/bin/python3.13 '{DISTRIBUTION}[draft]' "
        f"&& pipx inject --force {DISTRIBUTION} 'mine>=1'"
    )
    receipt["main_package"]["suffix"] = "@2"
    tool("pipx_metadata.json", json.dumps(receipt))
    assert install_command("draft") == (
        "pipx install --force --python /usr/bin/python3.13 --suffix @2 "
        f"'{DISTRIBUTION}[draft]' && pipx inject --force {DISTRIBUTION}@2 'mine>=1'"
    )


@pytest.fixture
def mlx_backends(tmp_path, monkeypatch):
    """`mlx_backends(library, "mlx-cpu", …)`: MLX with these, and a library of so many bytes."""
    folder = tmp_path / "site-packages"
    monkeypatch.setattr(sys, "path", [str(folder)])

    def install(library_bytes: int, **sizes: int) -> None:
        for name, size in {"mlx": 0, **sizes}.items():
            record = folder / f"{name}-0.32.4.dist-info"
            record.mkdir(parents=True)
            fields = f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: 0.32.4\n"
            (record / "METADATA").write_text(fields)
            (record / "RECORD").write_text(f"mlx/lib/libmlx.so,sha256=x,{size}\n" if size else "")
        if library_bytes:
            library = folder / "mlx" / "lib" / "libmlx.so"
            library.parent.mkdir(parents=True)
            library.write_bytes(bytes(library_bytes))

    return install


@pytest.mark.parametrize(
    ("library_bytes", "sizes", "overwritten"),
    [
        (2, {"mlx_cpu": 2}, []),
        (2, {"mlx_cpu": 2, "mlx_cuda_13": 7}, ["mlx-cuda-13"]),
        (7, {"mlx_cpu": 2, "mlx_cuda_13": 7}, ["mlx-cpu"]),
        (0, {"mlx_cpu": 2}, ["mlx-cpu"]),
        (7, {"mlx_cpu": 2, "mlx_cuda_12": 6, "mlx_cuda_13": 7}, ["mlx-cpu", "mlx-cuda-12"]),
        (0, {}, []),
    ],
)
def test_mlx_has_the_library_that_was_installed_last(
    mlx_backends, library_bytes, sizes, overwritten
):
    mlx_backends(library_bytes, **sizes)
    assert overwritten_backends() == overwritten
    command = " --force-reinstall --no-deps mlx-cuda-13==0.32.4"
    assert reinstall_command("mlx-cuda-13").endswith(command)


def test_all_extras_but_those_with_a_reason_are_in_all():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]

    def named(extra: str) -> set[str]:
        names = re.findall(rf"{DISTRIBUTION}\[(.*)\]", " ".join(extras[extra]))
        return {name for text in names for name in text.split(",")}

    left_out = {"draft", "cuda", "cuda13", "dashboard", "test", "pages", "docs", "lint"}
    assert named("mac") | named("all") == extras.keys() - left_out - {"all"}
    assert "mac" in named("all")


def test_a_report_of_a_fault_names_the_releases_of_packages(narrator):
    code, said, _ = narrator("--version", "--verbose")
    assert code == 0
    assert said.startswith("narrator ")
    assert f"numpy {metadata.version('numpy')}\n" in said
    assert narrator("--version")[1].strip() == f"narrator {__version__}"


@pytest.mark.parametrize(("tag", "code"), [(f"v{__version__}", 0), ("v0.0.9", 2), ("", 2)])
def test_a_tag_names_the_version(tag, code):
    make = subprocess.run(
        ["make", "-s", "version", f"TAG={tag}", f"PYTHON={sys.executable}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert make.returncode == code, make.stderr
    assert (f"tag v{__version__}" in make.stdout) == bool(code)


def test_the_page_on_installing_names_every_extra():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    page = (ROOT / "docs" / "installing.md").read_text("utf-8")
    section = page.partition("## Extras\n")[2].partition("\n## ")[0]
    assert project["optional-dependencies"].keys() <= {*re.findall("`([a-z0-9]+)`", section)}


def test_a_release_is_held_against_its_tag_before_anything_is_built():
    workflow = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text("utf-8"))
    steps = [step.get("run") for step in workflow["jobs"]["build"]["steps"]]
    assert steps.index("make version") < steps.index("make wheel sdist")


def test_the_distribution_has_the_name_of_pyproject():
    assert f'\nname = "{DISTRIBUTION}"' in (ROOT / "pyproject.toml").read_text("utf-8")


def test_nobody_is_told_to_install_the_other_program():
    texts = [
        *(path for room in ("narrator", "voxcpm2", "cosyvoice2", "speechbase")
          for path in (ROOT / room).rglob("*.py")),
        *(ROOT / "docs").glob("*.md"), ROOT / "README.md",
    ]  # fmt: skip
    stranger = re.compile(r"""(?:install|inject)\s+(?:-\S+\s+)*["']?narrator\b(?!-)""")
    assert [str(path) for path in texts if stranger.search(path.read_text("utf-8"))] == []
