"""Documents of a session for others: what they hold, and what never leaves this computer."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.private_details import REMOVED, PrivateDetails
from helix_desktop.domain.store import Commit
from helix_desktop.services.sharing import SharedText, SharingService
from helix_desktop.store.memory import MemoryStore
from helix_desktop.words.session_markdown import markdown_page, stretch_markdown
from tests.support.store.builders import START_MS, make_content, make_summary

STORED = make_content(b"all of it")
KEY = "sk-proj-abcdefghijklmnop1234567890"
EVENTS: tuple[Event, ...] = (
    UserSpoke(f"Why does <b>{KEY}</b> fail? Ask ann@example.org", 1),
    AssistantSpoke(
        "See ![the plot](https://evil.example/p.png) and [this](javascript:alert(1)).\n\n"
        "<script>alert(2)</script>",
        "p/m",
        1,
        calls=(ToolCall("c1", "read_file", '{"path": "/home/ann/notes.md"}'),),
    ),
    ToolAnswered(
        "c1", "read_file", "my own key: quietly-kept-word\n\x1e\nrest", STORED.digest, 9, 1, 1, target="a.py"
    ),
)


class _Tags(HTMLParser):
    """Collects the tags of a page with their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


async def shared(suffix: str, *events: Event, upto: int = 0) -> SharedText:
    store = MemoryStore()
    recorded = [RecordedEvent(seq, START_MS, event) for seq, event in enumerate(events, 1)]
    await store.commit(Commit("s", recorded, [STORED], summary=make_summary("s", title=f"About {KEY}")))

    @asynccontextmanager
    async def borrow(_: str) -> AsyncIterator[MemoryStore]:
        yield store

    async def redaction() -> PrivateDetails:
        return PrivateDetails("/home/ann", ("quietly-kept-word",))

    return await SharingService(borrow, redaction).session_text("w", "s", suffix, upto)


@pytest.mark.parametrize("suffix", [".md", ".html", ".jsonl"])
async def test_no_secret_is_in_it(suffix: str) -> None:
    document = await shared(suffix, *EVENTS)
    for secret in (KEY, "ann@example.org", "quietly-kept-word", "/home/ann"):
        assert secret not in document.text
    assert document.removed >= 3
    assert "rest" in document.text
    assert document.removed_lines
    assert all(REMOVED in line for line in document.removed_lines)
    for secret in (KEY, "ann@example.org", "quietly-kept-word"):
        assert secret not in "\n".join(document.removed_lines)


async def test_of_a_long_line_with_a_secret_the_stretch_around_it_is_listed() -> None:
    words = "word " * 100
    document = await shared(".md", UserSpoke(f"{words}{KEY} {words}", 1))
    assert document.removed_lines
    assert all(len(line) < 200 for line in document.removed_lines)
    titled = await shared(".md", UserSpoke("nothing to hide", 1))
    assert (titled.removed, titled.removed_lines) == (1, (f"# About {REMOVED}",))


@pytest.mark.parametrize("suffix", [".md", ".html", ".jsonl"])
async def test_a_session_up_to_a_message_has_nothing_behind_it(suffix: str) -> None:
    said = (UserSpoke("first", 1), AssistantSpoke("second", "p/m", 1), UserSpoke("third", 1))
    document = await shared(suffix, *said, upto=2)
    assert "first" in document.text
    assert "second" in document.text
    assert "third" not in document.text


async def test_json_lines_have_every_event_whole() -> None:
    plain = (UserSpoke("Hello\n\x1e\n\x1e\x1e there", 1), AssistantSpoke("Ünd so weiter", "p/m", 1))
    lines = [json.loads(line) for line in (await shared(".jsonl", *plain)).text.splitlines()]
    assert [(line["session"], line["seq"], line["at"]) for line in lines] == [
        ("s", 1, START_MS),
        ("s", 2, START_MS),
    ]
    assert [line["event"]["text"] for line in lines] == [event.text for event in plain]


async def test_a_page_fetches_nothing_and_runs_nothing() -> None:
    page = (await shared(".html", *EVENTS)).text
    tags = _Tags(page).tags
    assert not {tag for tag, _ in tags} & {"script", "img", "iframe", "object", "link", "form", "b"}
    assert [attributes["href"] for tag, attributes in tags if tag == "a"] == ["https://evil.example/p.png"]
    assert "&lt;script&gt;alert(2)&lt;/script&gt;" in page
    assert "default-src 'none'" in page
    assert not re.search(r"url\(|@import", page)


@given(st.text())
def test_whatever_a_message_says_a_page_has_no_active_part(text: str) -> None:
    for tag, attributes in _Tags(markdown_page(text, f"{text}\n\n<{text}>\n\n![{text}]({text})")).tags:
        assert tag not in {"script", "img", "iframe", "object", "embed", "svg", "form", "base"}
        assert not any(name.startswith("on") or name in ("src", "srcdoc") for name in attributes)
        assert (
            not (attributes.get("href") or "")
            .lower()
            .lstrip()
            .startswith(("javascript:", "data:", "vbscript:"))
        )


def test_a_stretch_is_copied_exactly_whatever_it_says() -> None:
    """It stays with the user: no secret is taken out, and no message outside of it is in it."""
    log = [RecordedEvent(seq, START_MS, event) for seq, event in enumerate(EVENTS, 1)]
    heading, _, *message = stretch_markdown(log, 1, 1).splitlines()
    assert heading.startswith("## You · ")
    assert message == [f"Why does <b>{KEY}</b> fail? Ask ann@example.org"]
    assert "alert(2)" in stretch_markdown(log, 2, 2)
    assert KEY not in stretch_markdown(log, 2, 2)
