"""An installed Firefox for playwright, which drives it by WebDriver BiDi.

Playwright expects the newest Firefox: its first requests are unknown to Firefox ESR 153. As a
program this stands between them, and answers requests to emulate what Firefox cannot emulate as
if that were done. The page is then shown as everybody sees it.
"""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Playwright
    from websockets.asyncio.connection import Connection

ROOT = Path(__file__).parents[2]
READY = "WebDriver BiDi listening on "


@contextmanager
def launched(playwright: Playwright, path: str, folder: Path) -> Iterator[Browser]:
    """Firefox at `path`; `folder` gets the program that playwright starts in its place."""
    program = folder / "firefox"
    command = shlex.join([sys.executable, "-m", "tests.studio.firefox", path])
    program.write_text(f'#!/bin/sh\ncd {shlex.quote(str(ROOT))} && exec {command} "$@"\n')
    program.chmod(0o755)
    preferences = {"media.cubeb.force_mock_context": True}  # where there is no sound card, too
    browser = playwright.firefox.launch(
        channel="moz-firefox", executable_path=program, firefox_user_prefs=preferences
    )
    try:
        yield browser
    finally:
        browser.close()


async def run(path: str, *arguments: str) -> None:
    """Runs Firefox until it ends."""
    from websockets.asyncio.client import connect
    from websockets.asyncio.server import serve

    firefox = await asyncio.create_subprocess_exec(
        path, *arguments, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    assert firefox.stderr is not None
    address = ""
    async for line in firefox.stderr:
        _, _, address = line.decode(errors="replace").partition(READY)
        if address:
            break
        sys.stderr.buffer.write(line)

    async def relay(client: Connection) -> None:
        uri = f"{address.strip()}/session"
        async with connect(uri, max_size=None, compression=None, ping_interval=None) as browser:
            requests: dict[int, str] = {}
            await asyncio.wait(
                [
                    asyncio.create_task(pass_requests(client, browser, requests)),
                    asyncio.create_task(pass_answers(browser, client, requests)),
                ],
                return_when=asyncio.FIRST_COMPLETED,
            )

    async with serve(relay, "127.0.0.1", 0, max_size=None, ping_interval=None) as server:
        print(f"{READY}ws://127.0.0.1:{server.sockets[0].getsockname()[1]}", file=sys.stderr)
        async for _ in firefox.stderr:
            pass


async def pass_requests(client: Connection, browser: Connection, methods: dict[int, str]) -> None:
    async for text in client:
        request = json.loads(text)
        methods[request["id"]] = request["method"]
        await browser.send(text)


async def pass_answers(browser: Connection, client: Connection, methods: dict[int, str]) -> None:
    async for text in browser:
        answer = json.loads(text)
        method = methods.pop(answer.get("id"), "")
        if answer.get("error") == "unknown command" and method.startswith("emulation."):
            text = json.dumps({"type": "success", "id": answer["id"], "result": {}})
        await client.send(text)


if __name__ == "__main__":
    asyncio.run(run(*sys.argv[1:]))
