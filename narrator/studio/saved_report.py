"""The report as one file to hand on: the page's scripts and styles, and the numbers as JSON.

Needs no browser, no server and no extra. Doubtful takes are in the page itself. Finished files are
linked only where they lie below the page's own folder, with which they can be handed on: no path of
this machine is in the page.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from datetime import datetime
from importlib import resources
from pathlib import Path
from urllib.parse import quote

from narrator import files
from narrator.pipeline.book_plan import BookPlan
from narrator.report import data, facts
from narrator.report.facts import ProjectFacts
from narrator.report.sound import ReportObserver

MARK = '<meta name="generator" content="narrator">'
"""Mark of every page: only a page with it is overwritten."""
_MODULES = ("dom.js", "words.js", "charts.js", "report.js", "saved.js")
"""The page's scripts; each imports from those before it only."""
_STYLES = ("style.css", "report.css")
_IMPORT = re.compile(r"^import [^;]*;\n", re.MULTILINE)
_EXPORT = re.compile(r"^export ", re.MULTILINE)


def write(
    book: BookPlan, path: Path, on_progress: ReportObserver, now: datetime | None = None
) -> ProjectFacts:
    """Writes the page; returns the facts on it. Raises StorageError.

    `on_progress` receives the progress of measuring the finished files.
    """

    folder = path.parent.resolve()

    def link(file: Path) -> str:
        file = file.resolve()
        return quote(file.relative_to(folder).as_posix()) if file.is_relative_to(folder) else ""

    project_facts = facts.gather(book, now)
    row = data.report_row(book, project_facts, link=link, on_progress=on_progress)
    files.write(path, page(book, row))
    return project_facts


def page(book: BookPlan, row: data.Row) -> bytes:
    """Returns the page of a report, in UTF-8."""
    row = {**row, "clips": data.clips(book, row)}
    script = "".join(_EXPORT.sub("", _IMPORT.sub("", _static(name))) for name in _MODULES)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "media-src data: file: http: https:; base-uri 'none'; form-action 'none'"
    )
    text = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">{MARK}
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(row["title"])}: report</title>
<style>{"".join(map(_static, _STYLES))}</style>
</head>
<body class="saved">
<main id="report"></main>
<noscript>The report is drawn by the script in this page: allow JavaScript.</noscript>
<script type="application/json" id="report-data">{_escaped_json(row)}</script>
<script type="module">{script}</script>
</body>
</html>
"""
    return text.encode("utf-8", "replace")


def _static(name: str) -> str:
    return resources.files(__package__).joinpath("static", name).read_text("utf-8")


def _escaped_json(row: data.Row) -> str:
    """Returns JSON in which nothing ends an element or begins markup."""
    text = json.dumps(row, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
