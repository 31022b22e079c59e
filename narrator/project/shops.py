"""Terms of shops for narration by synthetic voices, as data with their sources.

`check` warns by it, and docs/delivery.md has the same table. It was read on `READ_ON`, in stored
copies of the pages that are named; shops change their terms. Knows nothing of manifests.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

READ_ON = "2026-11-27"
"""The day on which all sources were read."""


@dataclass(frozen=True, slots=True)
class Shop:
    """What a shop asks of narration by synthetic voices."""

    name: str
    takes: Literal["yes", "no", "by invitation", "declared", "unclear"]
    """"yes": no terms for a voice that is nobody else's were found; "declared": only where it is
    said to be synthetic, as `terms` tell; "no": not, or from named makers alone."""
    terms: str
    """What the shop does, to be read after its name."""
    source: str
    """Address of the page that was read."""
    is_secondary: bool = False
    """True where that page is not the shop's own."""
    original: str = ""
    """Address of the shop's page that a secondary source quotes."""
    as_of: str = ""
    """The date that the source bears."""
    profiles: tuple[str, ...] = ()
    """Names of the profiles that are made for it."""


SHOPS = (
    Shop(
        "ACX (Audible)",
        "by invitation",
        "takes narration by people only, and synthetic voices only where it has authorised them",
        "https://chapterpass.com/learn/acx-human-narration-policy",
        is_secondary=True,
        original="https://help.acx.com/s/article/what-are-the-acx-audio-submission-requirements",
        as_of="2026-06",
        profiles=("acx",),
    ),
    Shop(
        "Spotify for Authors",
        "declared",
        "takes audiobooks with digital voice narration that is declared at the upload, adds a "
        "sentence on it, and does not pass them on to other shops",
        "https://www.midsummerr.com/blog/does-audible-accept-ai-narration",
        is_secondary=True,
        original="https://support.spotify.com/us/authors/article/digital-voice-narration/",
        as_of="2026-06-14",
        profiles=("spotify",),
    ),
    Shop(
        "Spotify (podcasts)",
        "yes",
        "removes shows with the cloned voice of another creator who has not agreed",
        "https://support.spotify.com/us/creators/article/impersonation-policy/",
        profiles=("spotify",),
    ),
    Shop(
        "Apple Podcasts",
        "declared",
        "wants it disclosed prominently, in the sound and in the metadata, where AI makes a "
        "material part of the sound",
        "https://radiotoday.com.au/apple-podcasts-and-youtube-update-content-guidelines-on-ai/",
        is_secondary=True,
        original="https://podcasters.apple.com/support/891-content-and-subscription-guidelines",
        profiles=("apple-podcasts",),
    ),
    Shop(
        "Google Play Books",
        "declared",
        "takes files of one's own with synthetic narration that is disclosed in the listing",
        "https://tomevox.com/blog-publish-audiobook-google-play.html",
        is_secondary=True,
    ),
    Shop(
        "Kobo Writing Life",
        "declared",
        "takes it where the narrator is named as a synthesized voice",
        "https://tomevox.com/blog-publish-on-audible",
        is_secondary=True,
        as_of="2026",
    ),
    Shop(
        "Apple Books",
        "unclear",
        "makes digital narration with voices of its own, through partners; what it asks of "
        "files with other voices was not found",
        "https://draft2digital.com/audiobook-terms-of-service",
        is_secondary=True,
    ),
    Shop(
        "Draft2Digital",
        "no",
        "has audiobooks spoken from the text, by the voices of Apple Books",
        "https://draft2digital.com/audiobook-terms-of-service",
    ),
    Shop(
        "Voices by INaudio (Findaway Voices until 2025)",
        "no",
        "takes digital narration of Google Play Books, ElevenLabs and Spoken Press alone",
        "https://tomevox.com/blog-inaudio-findaway-guide.html",
        is_secondary=True,
    ),
    Shop(
        "Author's Republic",
        "unclear",
        "is said to take it, and elsewhere to refuse it: ask there first",
        "https://tomevox.com/blog-where-to-sell-ai-audiobook",
        is_secondary=True,
        as_of="2026",
    ),
    Shop(
        "YouTube",
        "yes",
        "wants realistic synthetic sound declared that makes a real person appear to say what "
        "they did not say",
        "https://google-support.mirrorblogs.com/youtube/answer/14328491",
        is_secondary=True,
        original="https://support.google.com/youtube/answer/14328491",
    ),
    Shop(
        "RSS.com",
        "declared",
        "wants its AI tag on episodes that a synthetic voice narrates",
        "https://help.rss.com/en/support/solutions/articles/44002773969-guidelines-for-labeling-ai-generated-content",
        as_of="2026-03-05",
    ),
    Shop(
        "Acast",
        "declared",
        "wants it disclosed prominently, in the sound and in the description, where AI makes a "
        "material part of a podcast",
        "https://learn.acast.com/en/articles/9528133-update-to-community-guidelines-use-of-ai",
        as_of="2024-06-28",
    ),
)


def reserved_shops(profiles: Iterable[str]) -> list[Shop]:
    """Returns the shops of these profiles that do not take synthetic narration as it is."""
    names = set(profiles)
    return [shop for shop in SHOPS if shop.takes != "yes" and names.intersection(shop.profiles)]
