"""Convert HTML to plain text: visible text with headings, lists, links and code blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

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
    at, close, tags = 0, -1, 0
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
        """Handle an opening tag."""
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
                self._image(_attribute("alt", attributes).strip())

    def close_tag(self, tag: str) -> None:
        """Handle a closing tag."""
        self._in_title = False
        if tag == "pre":
            self._write("```" if self._fresh else "\n```")
            self._pre = max(0, self._pre - 1)
        elif tag in ("ul", "ol") and self._lists:
            self._lists.pop()
        elif tag == "a":
            self._end_link()
        if tag in _BLOCKS:
            self._break(blank_line=tag in _SEPARATED_TAGS)

    def add_text(self, data: str) -> None:
        """Handle text between tags."""
        if self._in_title:
            self._title = self._title or data
        elif self._pre:
            self._write(data)
        else:
            words = _SPACES.sub(" ", data)
            self._write(words.lstrip() if self._fresh or self._out[-1].endswith(" ") else words)

    def _end_link(self) -> None:
        if self._link.startswith(("http://", "https://", "/")) and len(self._link) <= _MAX_LINK:
            self._write(f" ({self._link})")
        self._link = ""

    def _image(self, alt_text: str) -> None:
        if alt_text:
            self._write(f"[image: {alt_text}]")

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
