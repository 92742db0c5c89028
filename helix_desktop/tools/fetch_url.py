"""fetch_url: fetches one web page as plain text; each host needs approval, private networks are refused."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from html import unescape
from typing import Protocol
from urllib.parse import urljoin, urlsplit

import msgspec

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.text_format import format_bytes
from helix_desktop.domain.tool_arguments import Arguments
from helix_desktop.domain.tools import ApprovalRequest, OutputCallback, ToolResult, ignore_output
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.domain.unicode_safety import escape_hidden_name, first_hidden
from helix_desktop.permissions.rules import suggest_fetch_rules
from helix_desktop.system.ip_addresses import address_zone
from helix_desktop.tools.tool import CurrentGrants, Tool

_text = TextContext("Tools")

_HIDDEN_TAGS = frozenset({"script", "style", "template", "svg", "noscript", "iframe", "canvas", "object"})
_BLOCKS = frozenset({
    "address", "article", "aside", "blockquote", "dd", "details", "div", "dl", "dt", "fieldset", "figcaption",
    "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol",
    "p", "pre", "section", "summary", "table", "tr", "ul",
})  # fmt: skip
_SEPARATED_TAGS = frozenset(
    {"p", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "table", "ul", "ol", "blockquote"}
)
_SIGNS = {"br": "\n", "hr": "---\n", "pre": "```\n"} | {f"h{at}": "#" * at + " " for at in range(1, 7)}
_MAX_LINK = 300  # characters
_MAX_DEPTH = 20  # levels of lists that are told apart
_TAG = re.compile(r"<(/?[a-zA-Z][a-zA-Z0-9:-]*|[!?])")
_MAX_TAG = 16_384  # characters
_MAX_BRACKETS = 40  # inside the quotes of one tag
_MAX_TAGS = 200_000  # of a page that are read one by one, in about a second; a usual page has some thousands
_ANY_TAG = re.compile(r"<[^<>]{0,500}>")
_SCRIPT = re.compile(r"<(script|style)[\s>]", re.IGNORECASE)
_SPACES = re.compile(r"[ \t\r\n\f\u00a0]+")
_GAPS = re.compile(r"\n{3,}")


def html_to_text(html: str) -> str:
    """Return the text of a page in linear time; malformed markup is read as far as possible.

    Behind so many tags that reading each would take seconds, only the words are left.
    """
    reader = _Reader()
    for tag, attributes, words in _tokenize(html):
        if words:
            reader.add_text(unescape(words))
        elif tag.startswith("/"):
            reader.close_tag(tag[1:])
        elif tag:
            reader.open_tag(tag, attributes)
    return reader.text()


def _tokenize(html: str) -> Iterator[tuple[str, str, str]]:
    """Yield (tag, attributes, "") for each tag and ("", "", text) for the text between tags.

    The standard library's parser takes quadratic time on tags that are never closed.
    """
    at = 0
    close = -1
    tags = 0
    while at < len(html):
        if tags >= _MAX_TAGS:
            yield "", "", _without_tags(html, at)
            return
        tags += 1
        begin = html.find("<", at)
        if begin < 0:
            yield "", "", html[at:]
            return
        if begin > at:
            yield "", "", html[at:begin]
        if html.startswith("<!--", begin):
            end = html.find("-->", begin + 4)
            at = end + 3 if end >= 0 else len(html)
            continue
        if close < begin:
            close = html.find(">", begin)
            close = len(html) if close < 0 else close
        match = _TAG.match(html, begin) if close - begin <= _MAX_TAG else None
        if match is None:
            yield "", "", "<"
            at = begin + 1
            continue
        end = _end_of(html, begin, close)
        tags += html.count(">", begin, end)  # each of them was taken for the end first
        tag = match.group(1).lower()
        yield tag, html[match.end() : end], ""
        at = _skip_element(html, tag, end + 1) if tag in _HIDDEN_TAGS else end + 1


def _without_tags(html: str, at: int) -> str:
    """Return the words from an offset on, without scripts and styles."""
    parts = []
    while (script := _SCRIPT.search(html, at)) is not None:
        parts.append(html[at : script.start()])
        at = _skip_element(html, script.group(1), script.end())
    parts.append(html[at:])
    return _ANY_TAG.sub(" ", " ".join(parts))


def _end_of(html: str, begin: int, close: int) -> int:
    """Return the offset of a tag's end: the first bracket outside quotes, or the end of the page."""
    for _ in range(_MAX_BRACKETS):
        text = html[begin:close]
        if text.count('"') % 2 == 0:
            return close
        following = html.find(">", close + 1, begin + _MAX_TAG)
        if following < 0:
            break
        close = following
    first = html.find(">", begin)
    return len(html) if first < 0 else first


def _skip_element(html: str, tag: str, offset: int) -> int:
    """Return the offset after a hidden element; the end of the page if it is never closed."""
    match = re.compile(f"</{tag}[^>]{{0,100}}>", re.IGNORECASE).search(html, offset)
    return match.end() if match else len(html)


class _Reader:
    """Collects text tag by tag; tolerates unclosed tags."""

    def __init__(self) -> None:
        self._title = ""
        self._out: list[str] = []
        self._in_title = False
        self._pre = 0
        self._lists: list[int] = []  # number of the next item; -1: not numbered
        self._link = ""
        self._fresh = True  # whether the line is empty so far

    def text(self) -> str:
        """Return the collected text, with at most one empty line in a row."""
        lines = (line.rstrip() for line in "".join(self._out).split("\n"))
        body = _GAPS.sub("\n\n", "\n".join(lines)).strip("\n")
        title = _SPACES.sub(" ", self._title).strip()
        return f"{title}\n\n{body}\n" if title else f"{body}\n"

    def open_tag(self, tag: str, attributes: str) -> None:
        self._in_title = tag == "title"
        if tag in _BLOCKS:
            self._break(blank_line=tag in _SEPARATED_TAGS)
        self._write(_SIGNS.get(tag, ""))
        match tag:
            case "pre":
                self._pre += 1
            case "ul" | "ol":
                self._lists.append(1 if tag == "ol" else -1)
            case "li":
                self._item()
            case "td" | "th" if not self._fresh:
                self._write(" | ")
            case "a":
                self._link = _attribute("href", attributes)
            case "img":
                if alt_text := _attribute("alt", attributes).strip():
                    self._write(f"[image: {alt_text}]")

    def close_tag(self, tag: str) -> None:
        self._in_title = False
        if tag == "pre":
            self._write("```" if self._fresh else "\n```")
            self._pre = max(0, self._pre - 1)
        elif tag in ("ul", "ol") and self._lists:
            self._lists.pop()
        elif tag == "a":
            if self._link.startswith(("http://", "https://", "/")) and len(self._link) <= _MAX_LINK:
                self._write(f" ({self._link})")
            self._link = ""
        if tag in _BLOCKS:
            self._break(blank_line=tag in _SEPARATED_TAGS)

    def add_text(self, data: str) -> None:
        if self._in_title:
            self._title = self._title or data
        elif self._pre:
            self._write(data)
        else:
            words = _SPACES.sub(" ", data)
            self._write(words.lstrip() if self._fresh or self._out[-1].endswith(" ") else words)

    def _item(self) -> None:
        indent = "  " * min(max(0, len(self._lists) - 1), _MAX_DEPTH)
        number = self._lists[-1] if self._lists else -1
        if number >= 0:
            self._lists[-1] = number + 1
        self._write(f"{indent}{f'{number}.' if number >= 0 else '-'} ")

    def _break(self, blank_line: bool) -> None:
        if not self._fresh:
            self._write("\n")
        if blank_line:
            self._write("\n")

    def _write(self, text: str) -> None:
        if text:
            self._out.append(text)
            self._fresh = text.endswith("\n")


def _attribute(name: str, attributes: str) -> str:
    """Return the value of an attribute; empty if it is missing."""
    match = re.search(
        rf"""(?:^|\s){name}\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", attributes, re.IGNORECASE
    )
    return unescape(next((part for part in match.groups() if part), "")) if match else ""


_MAX_LENGTH = 2_000  # characters
_PORTS = {"http": 80, "https": 443}
_FIX = "Give a whole address such as https://example.org/page."


class CheckedUrl(msgspec.Struct, frozen=True):
    """A valid URL; `host` is in ASCII and lower case, so that look-alikes are visible."""

    url: str
    scheme: str
    host: str
    port: int


def parse_url(url: str) -> CheckedUrl:
    """Parse a URL. Raises ToolError if it is invalid, or of a kind that is not fetched."""
    if len(url) > _MAX_LENGTH or any(sign.isspace() for sign in url) or first_hidden(url):
        raise ToolError(
            "The address was refused: it is too long, or holds spaces or invisible signs.", fix=_FIX
        )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ToolError(f"{url!r} is not an address.", f"{error}.", _FIX) from error
    if parts.scheme not in _PORTS:
        raise ToolError(
            f"{parts.scheme or 'no'} addresses are not fetched.", "Only http and https are.", _FIX
        )
    if parts.username or parts.password:
        raise ToolError("The address was refused: it holds a user name or password.", fix=_FIX)
    try:
        name = (parts.hostname or "").rstrip(".").lower().encode("idna").decode()
    except UnicodeError:
        name = ""
    if not name:
        raise ToolError(f"{url!r} names no host.", fix=_FIX)
    return CheckedUrl(
        parts._replace(fragment="").geturl(),
        parts.scheme,
        name,
        port or _PORTS[parts.scheme],
    )


_MAX_BYTES = 5 * 1024 * 1024  # bytes of a page
_TIMEOUT_S = 30.0
_MAX_REDIRECTS = 5
_MAX_ADDRESSES = 4  # of one host that are tried
_SUCCESS = 2  # hundred
_REDIRECT_CODES = frozenset({301, 302, 303, 307, 308})
_TEXT_TYPES = re.compile(
    r"text/|application/(?:[\w.+-]*(?:json|xml|javascript|yaml|toml)|x-sh|sql)", re.IGNORECASE
)
_CHARSET = re.compile(r"charset=[\"']?([\w.:-]+)", re.IGNORECASE)
_SNIFF = 2_048  # bytes

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Return the numeric addresses of a host, for a port. Raises OSError."""


class HttpReply(msgspec.Struct, frozen=True):
    """A server's reply; header names are lower-case, the body is cut at the requested size."""

    status: int
    headers: dict[str, str]
    body: bytes
    is_complete: bool = True


class Fetcher(Protocol):
    """Fetches one page from one machine; follows no redirects, sends nothing that identifies the user."""

    async def get(self, url: str, address: str, max_bytes: int) -> HttpReply:
        """Return the reply of the machine at a numeric address. Raises OSError with a text for users."""
        ...


class FetchUrlArguments(Arguments, frozen=True):
    """The arguments of fetch_url; `raw` leaves HTML as it is."""

    url: str
    raw: bool = False


class FetchUrl(Tool[FetchUrlArguments]):
    name = "fetch_url"
    arguments_type = FetchUrlArguments

    def __init__(self, fetcher: Fetcher, resolve: Resolve, current_grants: CurrentGrants) -> None:
        self._fetcher = fetcher
        self._resolve = resolve
        self._current_grants = current_grants

    @property
    def is_offered(self) -> bool:
        """True if the user lets this workspace fetch pages."""
        return self._current_grants().fetch

    async def approval_request(self, call_id: str, args: FetchUrlArguments) -> ApprovalRequest:
        """Return the approval request for this host. Raises ToolError."""
        self._require_enabled()
        address = parse_url(args.url)
        rules = suggest_fetch_rules(self.name, address.url, address.host)
        visible_url = escape_hidden_name(address.url)
        return ApprovalRequest(
            call_id,
            self.name,
            address.url,
            _text("Fetch a page from {host}", host=address.host),
            visible_url,
            rules[0],
            kind="fetch",
            suggested_rules=rules,
            host=address.host,
        )

    async def run(
        self, call_id: str, args: FetchUrlArguments, on_output: OutputCallback = ignore_output
    ) -> ToolResult:
        self._require_enabled()
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                address, reply = await self._fetch_following_redirects(parse_url(args.url))
        except TimeoutError as error:
            raise ToolError(f"{args.url} took over {_TIMEOUT_S:.0f} s.", "It was given up.") from error
        content = await asyncio.to_thread(_result_text, address, reply, args.raw)
        return ToolResult(content.encode(), reply.status // 100 == _SUCCESS, target=address.url)

    def _require_enabled(self) -> None:
        if not self._current_grants().fetch:
            raise ToolError(
                "Fetching pages is off in this workspace.",
                fix="The user can turn it on in Settings, under Permissions.",
            )

    async def _fetch_following_redirects(self, address: CheckedUrl) -> tuple[CheckedUrl, HttpReply]:
        """Fetch a page, following redirects on the approved host."""
        for _ in range(_MAX_REDIRECTS + 1):
            reply = await self._fetch(address)
            location = reply.headers.get("location", "")
            if reply.status not in _REDIRECT_CODES or not location:
                return address, reply
            address = _checked_redirect(address, location)
        raise ToolError(f"{address.url} leads from one redirect to the next.", "It was given up.")

    async def _fetch(self, address: CheckedUrl) -> HttpReply:
        addresses = await self._public_addresses(address)
        failure = ""
        for numeric in addresses[:_MAX_ADDRESSES]:
            try:
                return await self._fetcher.get(address.url, numeric, _MAX_BYTES)
            except OSError as error:
                failure = str(error)
        raise ToolError(f"{address.host} could not be reached.", f"{failure}.")

    async def _public_addresses(self, address: CheckedUrl) -> Sequence[str]:
        """Return a host's addresses, all of them public; only these are contacted."""
        try:
            addresses = await self._resolve(address.host, address.port)
        except OSError as error:
            raise ToolError(f"There is no host {address.host}.", f"{error.strerror or error}.") from error
        private = next((numeric for numeric in addresses if address_zone(numeric) != "public"), "")
        if private or not addresses:
            raise ToolError(
                f"{address.host} was refused: it leads to {private or 'no address'}.",
                "Only machines on the open internet are spoken to.",
                "Use run_command for a server on this machine, if the user allows it.",
            )
        return addresses


def _checked_redirect(url: CheckedUrl, location: str) -> CheckedUrl:
    """Return the target of a redirect that may be followed without approval. Raises ToolError."""
    target = parse_url(urljoin(url.url, location))
    if target.host != url.host or target.port not in (url.port, 443):
        raise ToolError(
            f"{url.url} redirects to {target.url}, on another host.",
            fix="Call fetch_url with that address to ask for it.",
        )
    if (url.scheme, target.scheme) == ("https", "http"):
        raise ToolError(f"{url.url} redirects to an address without encryption.", "It was not followed.")
    return target


def _result_text(url: CheckedUrl, reply: HttpReply, raw: bool) -> str:
    kind = reply.headers.get("content-type", "").split(";")[0].strip() or "no content type"
    size = format_bytes(len(reply.body))
    head = f"{url.url}: status {reply.status}, {kind}, {size}"
    if b"\0" in reply.body[:_SNIFF] or (
        reply.body and not _TEXT_TYPES.match(kind) and kind != "no content type"
    ):
        return f"{head}. It is not text, so its content is not shown.\n"
    text = _decode(reply)
    is_page = kind in ("text/html", "application/xhtml+xml") and not raw
    cut = "" if reply.is_complete else f" (only the first {format_bytes(_MAX_BYTES)} of it)"
    return f"{head}{cut}{', as text' if is_page else ''}:\n\n{html_to_text(text) if is_page else text}"


def _decode(reply: HttpReply) -> str:
    start = reply.body[:_SNIFF].decode("ascii", "replace")
    charset = _CHARSET.search(reply.headers.get("content-type", "")) or _CHARSET.search(start)
    try:
        return reply.body.decode(charset.group(1) if charset else "utf-8", "replace")
    except LookupError:
        return reply.body.decode("utf-8", "replace")
