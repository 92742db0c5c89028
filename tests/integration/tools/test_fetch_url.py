"""Fetching: only what the user allowed, whatever names and servers say; HTML as plain text."""

from __future__ import annotations

import gzip
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.tools import ANY, PermissionRule, ToolResult
from helix_desktop.permissions.rules import evaluate
from helix_desktop.services.tool_service import WebFetcher, resolve
from helix_desktop.system.ip_addresses import address_zone
from helix_desktop.tools import fetch_url
from helix_desktop.tools.fetch_url import html_to_text, parse_url
from helix_desktop.tools.tool import ToolGrants, ToolRegistry
from tests.support.call_count import calls_of
from tests.support.local_site import (
    FakeResolver,
    LocalSite,
    LoopbackFetcher,
    http_response,
    redirect,
    serve_site,
)
from tests.support.tables import for_each
from tests.support.tool_rig import make_call, make_tools, request_for

PUBLIC = "93.184.215.14"


class FetchRig:
    """The tool on names and a site of a test."""

    def __init__(self, root: Path, site: LocalSite, answers: Mapping[str, Sequence[Sequence[str]]]) -> None:
        self.names = FakeResolver(answers)
        self.client = LoopbackFetcher(site)
        self.grants = ToolGrants(fetch=True)
        self.box: ToolRegistry = make_tools(
            root, current_grants=lambda: self.grants, web=(self.client, self.names.resolve)
        )

    async def fetch(self, url: str, **more: object) -> ToolResult:
        return await self.box.run(make_call("fetch_url", url=url, **more))


async def test_a_page_is_returned_as_complete_text(tmp_path: Path) -> None:
    body = "<title>Tide</title><p>High at <b>3 o’clock</b>.</p>".encode()
    async with serve_site({"/tide?day=1": http_response(body)}) as site:
        web = FetchRig(tmp_path, site, {"example.org": [[PUBLIC]]})
        result = await web.fetch("http://example.org/tide?day=1#top")
        raw = await web.fetch("http://example.org/tide?day=1", raw=True)
    header = "http://example.org/tide?day=1: status 200, text/html, 53 B"
    assert result.content.decode() == f"{header}, as text:\n\nTide\n\nHigh at 3 o’clock.\n"
    assert raw.content == f"{header}:\n\n".encode() + body
    assert (result.ok, result.model_text, result.target) == (True, "", "http://example.org/tide?day=1")
    assert web.client.addresses == [PUBLIC, PUBLIC]
    request = site.requests[0].lower()
    assert f"host: example.org:{site.port}\r\n" in request
    assert "cookie" not in request
    assert "authorization" not in request


NOT_PUBLIC = (
    "127.0.0.1", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
    "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "ff02::1",
    "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "2002:c0a8:101::", "not an address",
    "fec0::1", "feff::1", "3fff::1", "5f00::1", "192.0.0.8", "192.0.0.9", "192.88.99.1",
    "::ffff:192.0.0.8", "64:ff9b::c058:6301", "2002:c058:6301::1",
)  # fmt: skip


async def test_private_networks_are_never_contacted(tmp_path: Path) -> None:
    async with serve_site({}) as site:
        for address in NOT_PUBLIC:
            assert address_zone(address) != "public", address
            for answers in ([address], [PUBLIC, address]):
                web = FetchRig(tmp_path, site, {"inside.example": [answers]})
                with pytest.raises(ToolError, match="was refused: it leads to"):
                    await web.fetch("http://inside.example/")
                assert web.client.addresses == [], address
    assert site.requests == []


def test_an_address_is_public_private_or_of_this_computer() -> None:
    zones = {
        "public": ("93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c", "1.1.1.1"),
        "loopback": ("127.3.2.1", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1"),
        "private": ("10.1.2.3", "192.168.1.1", "fd00::1", "::ffff:172.16.0.1", "100.64.0.1"),
        "special": ("169.254.169.254", "fe80::1%eth0", "0.0.0.0", "::", "224.0.0.1", "::ffff:169.254.1.1"),
    }
    assert {zone: {address_zone(each) for each in addresses} for zone, addresses in zones.items()} == {
        zone: {zone} for zone in zones
    }


async def test_a_name_that_resolves_differently_later_gains_nothing(tmp_path: Path) -> None:
    """A name that is public when it is checked and private when it is connected to (DNS rebinding)."""
    async with serve_site({"/": http_response(b"public", "text/plain")}) as site:
        web = FetchRig(tmp_path, site, {"rebind.example": [[PUBLIC], ["127.0.0.1"]]})
        assert b"public" in (await web.fetch("http://rebind.example/")).content
        assert (web.names.hosts, web.client.addresses) == (["rebind.example"], [PUBLIC])
        with pytest.raises(ToolError, match=r"leads to 127\.0\.0\.1"):
            await web.fetch("http://rebind.example/")


async def test_the_client_connects_only_to_the_checked_address() -> None:
    async with serve_site({"/x": http_response(b"mine", "text/plain")}) as site:
        reply = await WebFetcher().get(f"http://no-such-name.invalid:{site.port}/x", "127.0.0.1", 100)
        assert (reply.status, reply.body) == (200, b"mine")
        assert f"host: no-such-name.invalid:{site.port}\r\n" in site.requests[0].lower()


async def test_every_spelling_of_localhost_is_refused(tmp_path: Path) -> None:
    """The system reads the numeric ones all as 127.0.0.1: the resolved address counts."""
    async with serve_site({"/": http_response(b"inside")}) as site:
        box = make_tools(tmp_path, current_grants=lambda: ToolGrants(fetch=True), web=(WebFetcher(), resolve))
        for host in ("localhost", "[::1]", "127.0.0.1"):
            with pytest.raises(ToolError):
                await box.run(make_call("fetch_url", url=f"http://{host}:{site.port}/"))
        for host in ("127.1", "2130706433", "0x7f000001", "localhost.example"):
            web = FetchRig(tmp_path, site, {host: [["127.0.0.1"]]})
            with pytest.raises(ToolError, match=r"leads to 127\.0\.0\.1"):
                await web.fetch(f"http://{host}/")
        assert site.requests == []


async def test_redirects_on_the_same_host_are_followed_and_checked_each_time(tmp_path: Path) -> None:
    async with serve_site({"/a": redirect("/b"), "/b": http_response(b"there", "text/plain")}) as site:
        web = FetchRig(
            tmp_path, site, {"example.org": [[PUBLIC]], "turning.example": [[PUBLIC], ["10.0.0.1"]]}
        )
        assert (await web.fetch("http://example.org/a")).target == "http://example.org/b"
        with pytest.raises(ToolError, match=r"leads to 10\.0\.0\.1"):
            await web.fetch("http://turning.example/a")
    assert len(site.requests) == 3


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("http://other.example/", "on another host"),
        ("http://www.example.org/", "on another host"),
        ("http://169.254.169.254/latest/meta-data", "on another host"),
        ("//other.example/x", "on another host"),
        ("http://example.org:22/", "on another host"),
        ("file:///etc/passwd", "file addresses are not fetched"),
        ("http://user:word@example.org/", "holds a user name"),
        ("/a", "one redirect to the next"),
    ],
)
async def test_other_redirects_are_not_followed(tmp_path: Path, location: str, expected: str) -> None:
    async with serve_site({"/a": redirect(location)}) as site:
        web = FetchRig(tmp_path, site, {"example.org": [[PUBLIC]], "other.example": [[PUBLIC]]})
        with pytest.raises(ToolError, match=expected):
            await web.fetch("http://example.org/a")
    assert set(web.names.hosts) == {"example.org"}


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("ftp://example.org/", "ftp addresses"),
        ("file:///etc/passwd", "file addresses"),
        ("javascript:alert(1)", "javascript addresses"),
        ("example.org", "no addresses"),
        ("http://", "names no host"),
        ("http://user@example.org/", "user name"),
        ("http://exa mple.org/", "spaces"),
        ("http://example.org/\u202egpj", "invisible"),
        ("http://example.org:99999/", "not an address"),
        ("http://[::1/", "not an address"),
        ("http://example.org/" + "x" * 2_000, "too long"),
    ],
)
async def test_an_invalid_url_is_refused_before_approval(tmp_path: Path, url: str, expected: str) -> None:
    box = make_tools(tmp_path, current_grants=lambda: ToolGrants(fetch=True), web=(WebFetcher(), resolve))
    for method in (box.approval, box.run):
        with pytest.raises(ToolError, match=expected):
            await method(make_call("fetch_url", url=url))


async def test_each_host_needs_approval_and_is_displayed_verbatim(tmp_path: Path) -> None:
    async with serve_site({}) as site:
        box = FetchRig(tmp_path, site, {}).box
    ask = await request_for(box, make_call("fetch_url", url="https://EXAMPLE.org/a"))
    assert (ask.kind, ask.host, ask.confined, ask.summary) == (
        "fetch", "example.org", False, "Fetch a page from example.org",
    )  # fmt: skip
    rule = PermissionRule(ANY, "example.org", kind="host")
    assert ask.suggested_rules[-1] == rule
    assert evaluate((rule,), ask).effect == "allow"
    alike = await request_for(box, make_call("fetch_url", url="https://ex\u0430mple.org/a"))
    assert alike.host == "xn--exmple-4nf.org"
    assert evaluate((rule,), alike).effect == "ask"


async def test_it_is_off_until_the_user_turns_it_on(tmp_path: Path) -> None:
    async with serve_site({"/": http_response(b"x", "text/plain")}) as site:
        web = FetchRig(tmp_path, site, {"example.org": [[PUBLIC]]})
        assert "fetch_url" in [spec.name for spec in web.box.specs]
        web.grants = ToolGrants()
        assert "fetch_url" not in [spec.name for spec in web.box.specs]
        for method in (web.box.approval, web.box.run):
            with pytest.raises(ToolError, match="is off in this workspace"):
                await method(make_call("fetch_url", url="http://example.org/"))
    assert site.requests == []


async def test_large_pages_are_cut_and_binary_ones_described(tmp_path: Path) -> None:
    flood = http_response(
        gzip.compress(b"x" * 50_000_000), "text/plain", extra_headers="Content-Encoding: gzip\r\n"
    )
    pages = {
        "/big": flood,
        "/zstd": http_response(b"?", "text/plain", extra_headers="Content-Encoding: zstd\r\n"),
        "/bin": http_response(b"\x89PNG\0", "image/png"),
        "/latin": http_response(b"gr\xfc\xdf", "text/plain; charset=latin-1"),
    }
    async with serve_site(pages) as site:
        web = FetchRig(tmp_path, site, {"example.org": [[PUBLIC]]})
        big = (await web.fetch("http://example.org/big")).content
        assert (await web.fetch("http://example.org/latin")).content.decode().endswith("\n\ngrüß")
        binary = (await web.fetch("http://example.org/bin")).content.decode()
        missing = await web.fetch("http://example.org/none")
        with pytest.raises(ToolError, match="content encoding zstd"):
            await web.fetch("http://example.org/zstd")
    assert "accept-encoding: gzip, deflate\r\n" in site.requests[0].lower()
    assert big.count(b"x") < 5 * 1024 * 1024 + 100
    assert b"only the first 5.0 MB of it" in big[:200]
    assert binary.endswith("It is not text, so its content is not shown.\n")
    assert (missing.ok, b"status 404" in missing.content) == (False, True)


async def test_unreachable_hosts_are_named(tmp_path: Path) -> None:
    async with serve_site({}) as site:
        web = FetchRig(tmp_path, site, {})
        with pytest.raises(ToolError, match=r"There is no host nowhere\.example"):
            await web.fetch("http://nowhere.example/")
    web = FetchRig(tmp_path, site, {"example.org": [[PUBLIC]]})
    with pytest.raises(ToolError, match=r"example\.org could not be reached"):
        await web.fetch("http://example.org/")


def test_a_url_is_parsed_unchanged() -> None:
    parsed = parse_url("https://Example.ORG.:8443/a?b#c")
    assert (parsed.scheme, parsed.host, parsed.port) == ("https", "example.org", 8443)
    assert parsed.url == "https://Example.ORG.:8443/a?b"


PAGE = """<!doctype html><html><head><title>The  tide</title><style>p { color: red }</style>
<script>alert("no")</script></head><body><nav><a href="/">Home</a></nav>
<h1>High &amp; low</h1><p>Water   rises
twice <b>a day</b>.<br>See <a href="https://example.org/x">more</a>.</p>
<ul><li>one<ul><li>inner</li></ul></li><li>two</li></ul><ol><li>first<li>second</ol>
<pre>a  =  1
  b</pre><table><tr><th>at</th><th>m</th></tr><tr><td>03:12</td><td>4.1</td></tr></table>
<img src="t.png" alt="A gauge"><noscript>never</noscript></body></html>"""

TEXT = """The tide

Home (/)

# High & low

Water rises twice a day.
See more (https://example.org/x).

- one

  - inner

- two

1. first
2. second

```
a  =  1
  b
```

at | m
03:12 | 4.1

[image: A gauge]
"""


def test_a_page_reads_naturally() -> None:
    assert html_to_text(PAGE) == TEXT


@for_each("tag", ["script", "style", "template", "svg", "noscript", "iframe"])
def test_invisible_content_is_omitted(tag: str) -> None:
    assert "secret" not in html_to_text(f"<p>seen</p><{tag}>secret</{tag}><p>too</p>")


@given(st.text(alphabet="<>/abhlipre \n&;\"'=-!", max_size=400))
def test_any_input_is_handled(html: str) -> None:
    assert html_to_text(html).endswith("\n")


@pytest.mark.parametrize(
    "piece",
    ["<div>", "<ul><li>", "<a href='", "</p>", "<!--", "&amp", "<b ", '<a x="', '<a x=">', "<style>", "<"],
)
def test_very_deep_and_unclosed_pages_take_little_time(piece: str) -> None:
    started = time.process_time()
    html_to_text(piece * 50_000)
    assert time.process_time() - started < 20  # some 0.3 s; a quadratic reader takes an hour


@for_each("html", ['<a "', '<a href="x', '<p>words</p><a "'])
def test_an_unterminated_tag_ends_the_page(html: str) -> None:
    assert html_to_text(html).endswith("\n")


def test_brackets_inside_quotes_belong_to_the_tag() -> None:
    html = '<p class="[&>svg]:a" title="1 > 0">seen</p><a href="/x?a=1&amp;b=2" data-x="<b>">go</a>'
    assert html_to_text(html) == "seen\n\ngo (/x?a=1&b=2)\n"


def test_characters_that_only_resemble_tags_are_text() -> None:
    assert (
        html_to_text("a < b and 3 <4 but <b>c</b> <!doctype html> <?php x ?>&lt;i&gt;")
        == "a < b and 3 <4 but c <i>\n"
    )


UNITS = ("<", "<a", "<a>", "</", "<li>", "<ul><li>", "a <b> ", "<pre>", "<!x>", "<a href='x'>")


@pytest.mark.parametrize("unit", [*UNITS, '<a "' + ">" * 39 + '">'])
def test_tags_behind_very_many_take_no_work(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch_url, "_MAX_TAGS", 500)

    def work(size: int) -> int:
        page = unit * (size // len(unit)) + " the end"
        texts = list[str]()
        calls = calls_of(lambda: texts.append(html_to_text(page)))
        assert "the end" in texts[0]
        return calls

    assert work(80_000) < 1.5 * work(20_000) + 1_000


def test_behind_very_many_tags_the_words_are_left() -> None:
    page = (
        "<p>" * 200_000 + "<script>let a = 1 < 2</script>some <b>words</b> &amp; more<style>p{}</style> here"
    )
    text = html_to_text(page)
    assert "some words & more here" in " ".join(text.split())
    assert "let a" not in text
    assert "p{}" not in text
