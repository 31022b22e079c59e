"""A browser that tests can drive: one that is there. As a program it sees to one, if none is.

    python -m tests.studio.browsers

Chromium by CHROMIUM, by its usual names, or the one that playwright has fetched. Firefox, for the
tests of the main road, by FIREFOX or its usual names: one that people have installed, or none.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
APPLICATIONS = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
FIREFOX_NAMES = (
    "firefox",
    "firefox-esr",
    "/Applications/Firefox.app/Contents/MacOS/firefox",
)
SWITCHES = """
    --disable-gpu --disable-quic --no-first-run --disable-background-networking
    --disable-component-update --disable-sync
""".split()


def browser() -> str | None:
    """The path of a browser; None where there is none."""
    if (named := os.environ.get("CHROMIUM")) and shutil.which(named):
        return shutil.which(named)
    paths = [shutil.which(name) for name in NAMES]
    paths += [path for path in APPLICATIONS if Path(path).exists()]
    return next((path for path in paths if path and _starts(path)), None) or _fetched()


def firefox() -> str | None:
    """The path of an installed Firefox; None where there is none."""
    names = (os.environ.get("FIREFOX", ""), *FIREFOX_NAMES)
    return next((path for path in map(shutil.which, names) if path and _starts(path)), None)


def _starts(path: str) -> bool:
    """Some systems have a program of the name that only says where to get one."""
    try:
        done = subprocess.run([path, "--version"], capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _fetched() -> str | None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


def switches() -> list[str]:
    """Root has no sandbox, nor have machines that forbid one to programs."""
    return [*SWITCHES, *(["--no-sandbox"] if hasattr(os, "geteuid") and not os.geteuid() else [])]


def main() -> None:
    if browser() is None and shutil.which("apt-get"):
        _from_debian()
    if browser() is None:
        subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=False)
    if (path := browser()) is None:
        sys.exit("no browser: install Chromium or Chrome, or name one by CHROMIUM=…")
    print(f"browser: {path}")


def _from_debian() -> None:
    """Where one may: as root, or with a sudo that asks nothing."""
    before: list[str] = []
    if os.geteuid():
        before = ["sudo", "-n"]
        if not shutil.which("sudo") or subprocess.run([*before, "true"], check=False).returncode:
            return
    apt = [*before, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"]
    subprocess.run([*apt, "update"], check=False)
    subprocess.run([*apt, "install", "-y", "--no-install-recommends", "chromium"], check=False)


if __name__ == "__main__":
    main()
