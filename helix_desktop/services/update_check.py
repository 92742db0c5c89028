"""Releases: what a place that is asked says of the newest one, and how versions compare."""

from __future__ import annotations

import json
import re

import msgspec

from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.domain.unicode_safety import first_hidden
from helix_desktop.words.translation import Translator

tr = Translator("About")
text = TextContext("About")
_NUMBER = r"(0|[1-9][0-9]{0,8})"
_VERSION = re.compile(
    rf"v?{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z.-]+)?"
)
_LONGEST = 64  # characters of a version
_PAGE = re.compile(r"https://[a-z0-9.-]{1,253}(?:/[!-~]{0,1000})?")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")

VersionKey = tuple[tuple[int, int, int], int, tuple[tuple[int, int, str], ...]]


class Release(msgspec.Struct, frozen=True):
    """A release: its version, the page that offers it, and the day it came out; both empty when not said."""

    version: str
    page: str = ""
    day: str = ""


def version_key(version: str) -> VersionKey:
    """Return the sort key of a semantic version. Raises ValueError for any other text."""
    match = _VERSION.fullmatch(version) if len(version) <= _LONGEST else None
    if match is None:
        raise ValueError(version[:_LONGEST])
    major, minor, patch, prerelease = match.groups()
    parts = tuple(
        (0, int(part), "") if part.isdigit() else (1, 0, part)
        for part in (prerelease or "").split(".")
        if part
    )
    return (int(major), int(minor), int(patch)), 0 if prerelease else 1, parts


def parse_release(answer: str) -> Release:
    """Parse an answer in JSON with `tag_name`, `html_url`, `published_at`. Raises HelixError."""
    try:
        data = json.loads(answer)
        version = str(data["tag_name"])
        version_key(version)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise HelixError(text("The server's answer doesn't name a release.")) from error
    page, day = str(data.get("html_url") or ""), str(data.get("published_at") or "")[:10]
    shown_page = page if _PAGE.fullmatch(page) and not first_hidden(page) else ""
    return Release(version.removeprefix("v"), shown_page, day if _DAY.fullmatch(day) else "")


def update_status(release: Release, current_version: str) -> tuple[str, bool]:
    """Return the text on the newest release for the user, and whether it is newer than theirs."""
    newest, current = release.version, current_version
    if version_key(newest) > version_key(current):
        if not release.day:
            return tr(
                "Version {newest} is available (you have {current}).", newest=newest, current=current
            ), True
        status = tr(
            "Version {newest} from {day} is available (you have {current}).",
            newest=newest,
            day=release.day,
            current=current,
        )
        return status, True
    if version_key(newest) < version_key(current):
        status = tr(
            "Your version ({current}) is newer than the newest release ({newest}).",
            current=current,
            newest=newest,
        )
        return status, False
    return tr("You're up to date ({current}).", current=current), False
