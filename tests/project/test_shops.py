"""Terms of shops for synthetic narration: a table with sources, which the docs have as well."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from narrator.project.profiles import PROFILES
from narrator.project.shops import READ_ON, SHOPS, Shop, reserved_shops

PAGE = Path(__file__).parents[2] / "docs" / "delivery.md"


def table() -> str:
    """The table of docs/delivery.md."""
    rows = ["| shop | takes it | terms | source |", "|---|---|---|---|", *map(row, SHOPS)]
    return "\n".join(rows) + "\n"


def row(shop: Shop) -> str:
    links = [f"[{urlsplit(shop.source).hostname}]({shop.source})"]
    if shop.is_secondary:
        links.append("secondary")
    if shop.original:
        links.append(f"quotes [{urlsplit(shop.original).hostname}]({shop.original})")
    if shop.as_of:
        links.append(f"of {shop.as_of}")
    return f"| {shop.name} | {shop.takes} | {shop.terms} | {', '.join(links)} |"


def test_the_docs_have_the_same_table():
    page = PAGE.read_text("utf-8")
    assert table() in page, f"docs/delivery.md needs this table:\n{table()}"
    assert READ_ON in page


@pytest.mark.parametrize("shop", SHOPS, ids=lambda shop: shop.name)
def test_every_shop_has_a_source_and_profiles_that_are(shop):
    assert urlsplit(shop.source).scheme == "https"
    assert not shop.original or shop.is_secondary
    assert set(shop.profiles) <= PROFILES.keys()
    assert date.fromisoformat(READ_ON) >= date.fromisoformat((shop.as_of or "2000")[:4] + "-01-01")


def test_every_platform_that_publishes_has_a_shop_and_no_other_profile():
    with_shops = {name for shop in SHOPS for name in shop.profiles}
    assert with_shops == {"acx", "apple-podcasts", "spotify"}


def test_shops_are_found_by_profile():
    assert [shop.name for shop in reserved_shops(["acx", "archive"])] == ["ACX (Audible)"]
    assert [shop.name for shop in reserved_shops(["spotify"])] == ["Spotify for Authors"]
    assert reserved_shops(["audiobookshelf", "ebu-r128", "archive", ""]) == []
