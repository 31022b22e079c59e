"""The main road in an installed Firefox, by WebDriver BiDi. Skipped where there is none.

Run by `make pages`; `make test` leaves it out.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.studio.test_first_hour import first_hour
from tests.studio.test_page import SOON
from tests.studio.test_start_page import start_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def firefox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    sync = pytest.importorskip("playwright.sync_api", reason="playwright: make pages")
    from tests.studio import browsers
    from tests.studio.firefox import launched

    path = browsers.firefox()
    if path is None:
        pytest.skip("no Firefox here: install it, or name it by FIREFOX=…")
    sync.expect.set_options(timeout=SOON)
    with (
        sync.sync_playwright() as playwright,
        launched(playwright, path, tmp_path_factory.mktemp("firefox")) as browser,
    ):
        yield browser


def test_the_first_hour_in_firefox(firefox: Browser, tmp_path: Path) -> None:
    (tmp_path / "shelf").mkdir()
    with start_page(firefox, tmp_path / "shelf") as page:
        first_hour(page, tmp_path)
