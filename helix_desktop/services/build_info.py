"""What runs here, for About and bug reports: the build, what it stands on, and a newer release if asked."""

from __future__ import annotations

import asyncio
import json
import platform
import re
import sys
from urllib.parse import urljoin, urlsplit

import msgspec

from helix_desktop.config.build_info import Build, current_build
from helix_desktop.config.licenses import LicensedComponent, all_components
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.translatable_text import TextContext, join_sentences
from helix_desktop.domain.unicode_safety import first_hidden
from helix_desktop.providers.http import HttpClient, HttpError, HttpResponse, Timeouts, is_loopback
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
    page = str(data.get("html_url") or "")
    day = str(data.get("published_at") or "")[:10]
    shown_page = page if _PAGE.fullmatch(page) and not first_hidden(page) else ""
    return Release(version.removeprefix("v"), shown_page, day if _DAY.fullmatch(day) else "")


def update_status(release: Release, current_version: str) -> tuple[str, bool]:
    """Return the text on the newest release for the user, and whether it is newer than theirs."""
    newest = release.version
    current = current_version
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


TIMEOUT_S = 10.0
MAX_REPLY_BYTES = 256 * 1024  # bytes of an answer
_HOPS = 3
_HEADERS = {"User-Agent": "HelixDesktop", "Accept": "application/json", "Accept-Encoding": "identity"}
"""Neither version nor system: the question is the same from everybody."""
_OK = 200
_MOVED = frozenset({301, 302, 303, 307, 308})


class BuildInfoService:
    """The build that runs. Only `check_for_updates`, on the user's request, uses the network."""

    def __init__(self) -> None:
        self.problem = ""
        """Why the build's file of facts cannot be used; empty when it can."""
        self.build = Build()
        try:
            self.build = current_build()
        except HelixError as error:
            self.problem = join_sentences(error.what, error.why, error.fix)

    async def environment(self) -> tuple[tuple[str, str], ...]:
        return await asyncio.to_thread(_environment)

    async def licenses(self) -> list[LicensedComponent]:
        """Return the shipped components with their licenses. Raises HelixError."""
        return await asyncio.to_thread(all_components)

    async def check_for_updates(self) -> Release:
        """Fetch the newest release from the address in the build. Raises HelixError."""
        try:
            async with asyncio.timeout(TIMEOUT_S):
                return parse_release(await _fetch(self.build.releases))
        except TimeoutError as error:
            raise HelixError(
                text("The server didn't answer within {seconds} s.", seconds=f"{TIMEOUT_S:g}")
            ) from error
        except HttpError as fault:
            why = fault.why or text("No connection: {detail}.", detail=fault.detail)
            raise HelixError(why, "", fault.fix) from fault
        except ValueError as error:  # a redirect to something that is no address
            raise HelixError(text("The server redirects to an invalid address.")) from error


async def _fetch(address: str) -> str:
    """Fetch a page; follow redirects on the same host only. Raises HelixError, HttpError."""
    url = address
    for _ in range(_HOPS):
        if urlsplit(url).scheme != "https" and not is_loopback(url):
            raise HelixError(text("The update source must be an https address."))
        # Each its own, so that no cookie goes along.
        http = HttpClient(Timeouts(connect_s=TIMEOUT_S, read_s=TIMEOUT_S))
        try:
            async with http.send("GET", url, _HEADERS) as reply:
                if reply.status not in _MOVED:
                    return await _body(reply)
                target = urljoin(url, reply.headers.get("location", ""))
        finally:
            await http.aclose()
        if urlsplit(target)[:2] != urlsplit(url)[:2]:
            raise HelixError(text("{host} redirects to another server.", host=urlsplit(url).hostname))
        url = target
    raise HelixError(text("{host} redirects too often.", host=urlsplit(url).hostname))


async def _body(reply: HttpResponse) -> str:
    if reply.status != _OK:
        raise HelixError(text("The server answered with status {status}.", status=str(reply.status)))
    body = await reply.text(MAX_REPLY_BYTES + 1)
    if len(body.encode()) > MAX_REPLY_BYTES:
        raise HelixError(text("The server's answer is too long."))
    return body


def _environment() -> tuple[tuple[str, str], ...]:
    import sqlite3

    import plyvel

    return (
        ("Python", platform.python_version()),
        ("LevelDB", str(plyvel.__leveldb_version__)),
        ("SQLite", sqlite3.sqlite_version),
        (text("System"), _system()),
    )


def _system() -> str:
    if sys.platform == "linux":
        try:
            return f"{platform.freedesktop_os_release()['PRETTY_NAME']}, {platform.machine()}"
        except (OSError, KeyError):
            pass
    return f"{platform.system()} {platform.release()}, {platform.machine()}"
