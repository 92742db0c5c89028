"""Versions compare as Semantic Versioning says; what a server answers is a release or is refused."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop import __version__
from helix_desktop.domain.errors import HelixError
from helix_desktop.services import build_info
from helix_desktop.services.build_info import (
    BuildInfoService,
    Release,
    parse_release,
    update_status,
    version_key,
)
from tests.support.local_site import http_response, redirect, serve_site
from tests.support.tables import for_each

RISING = [
    "0.0.9", "0.1.0-alpha", "0.1.0-alpha.1", "0.1.0-alpha.beta", "0.1.0-beta", "0.1.0-beta.2",
    "0.1.0-beta.11", "0.1.0-rc.1", "0.1.0", "0.1.1", "0.2.0", "0.10.0", "1.0.0", "10.0.0",
]  # fmt: skip
NUMBER = st.integers(0, 999_999_999)


def test_the_order_is_that_of_semantic_versioning() -> None:
    orders = [version_key(version) for version in RISING]
    assert all(earlier < later for earlier, later in pairwise(orders))
    assert version_key("v1.2.3") == version_key("1.2.3+build.5")


@given(st.tuples(NUMBER, NUMBER, NUMBER), st.tuples(NUMBER, NUMBER, NUMBER))
def test_numbers_compare_as_numbers(first: tuple[int, int, int], other: tuple[int, int, int]) -> None:
    text = ".".join(map(str, first))
    against = ".".join(map(str, other))
    assert (version_key(text) < version_key(against)) == (first < other)


@for_each("text", ["", "1", "1.2", "01.2.3", "1.2.3-", "1.2.3.4", "latest", "1.2.٣", "1" * 99])
def test_other_texts_are_no_versions(text: str) -> None:
    with pytest.raises(ValueError, match="^" + text[:8]):
        version_key(text)


def test_an_answer_is_parsed() -> None:
    page = "https://helix-desktop.invalid/releases/v0.2.0"
    answer = {"tag_name": "v0.2.0", "html_url": page, "published_at": "2026-12-01T10:00:00Z", "more": [1]}
    assert parse_release(json.dumps(answer)) == Release("0.2.0", page, "2026-12-01")


@pytest.mark.parametrize(
    "page", ["http://a.b/c", "javascript:alert(1)", "https://a.b/\u202e", "https://me@a.b/", "file:///etc", 7]
)
def test_a_page_that_is_not_https_is_not_offered(page: object) -> None:
    assert parse_release(json.dumps({"tag_name": "0.2.0", "html_url": page})) == Release("0.2.0")


@pytest.mark.parametrize(
    "answer", ["", "[]", "null", "{}", '{"tag_name": "newest"}', "[" * 100_000, '"0.1.0"']
)
def test_an_answer_without_a_release_is_refused(answer: str) -> None:
    with pytest.raises(HelixError, match="doesn't name a release"):
        parse_release(answer)


def test_the_message_to_the_user() -> None:
    assert update_status(Release("0.1.0"), "0.1.0") == ("You're up to date (0.1.0).", False)
    assert update_status(Release("0.2.0", day="2026-12-01"), "0.1.0") == (
        "Version 0.2.0 from 2026-12-01 is available (you have 0.1.0).",
        True,
    )
    assert update_status(Release("0.1.0"), "0.2.0-rc.1")[1] is False


def _builds(address: str) -> BuildInfoService:
    builds = BuildInfoService()
    builds.build = msgspec.structs.replace(builds.build, releases=address)
    return builds


async def test_the_question_is_the_same_from_everybody() -> None:
    """It names neither version nor system, and carries no cookie of an earlier answer."""
    page = http_response(b'{"tag_name": "v9.1.0"}', extra_headers="Set-Cookie: who=you\r\n")
    async with serve_site({"/latest": page, "/moved": redirect("/latest")}) as site:
        builds = _builds(f"http://127.0.0.1:{site.port}/moved")
        for _ in range(2):
            assert await builds.check_for_updates() == Release("9.1.0")
    assert len(site.requests) == 4
    for request in site.requests:
        names = {line.partition(":")[0].lower() for line in request.splitlines()[1:] if line}
        assert names == {"host", "user-agent", "accept", "accept-encoding", "connection"}
        assert "user-agent: helixdesktop\r\n" in request.lower()
        assert __version__ not in request


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (redirect("http://localhost:1/latest"), "127.0.0.1 redirects to another server."),
        (redirect("/page"), "127.0.0.1 redirects too often."),
        (http_response(b'{"tag_name": "9.9.9"}' + b" " * 300_000), "The server's answer is too long."),
        (http_response(b"", status="404 Not Found"), "The server answered with status 404."),
    ],
)
async def test_a_server_that_names_no_release_is_refused(answer: bytes, words: str) -> None:
    async with serve_site({"/page": answer}) as site:
        with pytest.raises(HelixError, match=words):
            await _builds(f"http://127.0.0.1:{site.port}/page").check_for_updates()
        await asyncio.sleep(0)  # the loop closes the generator of a reply that was not read to its end


async def test_only_a_server_that_is_encrypted_and_answers_soon_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(HelixError, match="must be an https address"):
        await _builds("http://helix-desktop.invalid/latest").check_for_updates()

    async def be_silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    monkeypatch.setattr(build_info, "TIMEOUT_S", 0.3)
    async with await asyncio.start_server(be_silent, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(HelixError, match=r"didn't answer within 0\.3 s"):
            await _builds(f"http://127.0.0.1:{port}/latest").check_for_updates()
