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
from helix_desktop.domain.events.foreign import SessionImported
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.private_details import REMOVED, PrivateDetails
from helix_desktop.domain.store import Commit
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.services.sharing import SharedSession, SharingService
from helix_desktop.store.memory import MemoryStore
from helix_desktop.words.private_values import kind_text
from helix_desktop.words.session_markdown import markdown_page, stretch_markdown
from tests.support.planted_secrets import Planted, planted_secrets
from tests.support.store.builders import START_MS, make_content, make_summary

STORED = make_content(b"all of it")
SUFFIXES = (".md", ".html", ".jsonl")
PLANTED = planted_secrets()
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


async def shared(*events: Event, upto: int = 0, title: str = f"About {KEY}") -> SharedSession:
    store = MemoryStore()
    recorded = [RecordedEvent(seq, START_MS, event) for seq, event in enumerate(events, 1)]
    await store.commit(Commit("s", recorded, [STORED], summary=make_summary("s", title=title)))

    @asynccontextmanager
    async def borrow(_: str) -> AsyncIterator[MemoryStore]:
        yield store

    async def redaction() -> PrivateDetails:
        return PrivateDetails("/home/ann", ("quietly-kept-word",))

    return await SharingService(borrow, redaction).session("w", "s", upto)


@pytest.mark.parametrize("suffix", SUFFIXES)
async def test_no_secret_is_in_it(suffix: str) -> None:
    session = await shared(*EVENTS)
    document = session.document(suffix)
    for secret in (KEY, "ann@example.org", "quietly-kept-word", "/home/ann"):
        assert secret not in document
    assert "rest" in document
    assert {removal.kind for removal in session.removals} == {"configured", "key", "email", "home"}
    for removal in session.removals:
        assert REMOVED in removal.line or "~" in removal.line
        assert removal.value not in removal.line


def _around(planted: Planted) -> tuple[Event, ...]:
    """Return a session that has a secret in a message, an answer, an argument, an output and what follows."""
    command = json.dumps({"command": f"echo start\n{planted.text}\n", "note": "x"})
    names = tuple(re.findall(r"[A-Za-z0-9_-]{6,}", planted.secret))
    return (
        UserSpoke(f"Look at this:\n{planted.text}\nand go on.", 1),
        AssistantSpoke(
            f"I will use it: {planted.text}",
            "p/m",
            1,
            calls=(ToolCall("c1", "run_command", command),),
            identifiers=(planted.secret, *names),
        ),
        ToolAnswered(
            "c1",
            "run_command",
            f"{planted.text}\nand alone {planted.secret} again",
            STORED.digest,
            9,
            1,
            1,
            target=planted.text,
            first_line=planted.text[:120],
            about=f"holds {planted.secret}",
            identifiers=(planted.secret, *names),
        ),
    )


@pytest.mark.parametrize("planted", PLANTED, ids=[planted.kind for planted in PLANTED])
async def test_a_secret_of_each_kind_is_in_no_format(planted: Planted) -> None:
    """Also where it stands alone, in lists of names, and in the title; the rest of the session stays."""
    session = await shared(*_around(planted), title=planted.text)
    for suffix in SUFFIXES:
        document = session.document(suffix)
        assert planted.secret not in document
        parts = re.findall(r"[A-Za-z0-9_]{8,}", planted.secret)
        assert not [part for part in parts if part in document]
        assert "and go on." in document
        assert "and alone" in document
    assert any(removal.value in planted.text for removal in session.removals)


async def test_no_secret_of_all_kinds_together_is_in_any_format() -> None:
    events = [event for planted in PLANTED for event in _around(planted)]
    session = await shared(*events)
    for suffix in SUFFIXES:
        document = session.document(suffix)
        assert not [planted.kind for planted in PLANTED if planted.secret in document]
    assert len(session.removals) >= len(PLANTED)


async def test_versions_and_counts_stay_however_often_they_stand_there() -> None:
    lines = "Original token count: 10\ngithub.com/go-git/go-git@v5.17.2\n" * 400
    session = await shared(
        UserSpoke(lines, 1),
        AssistantSpoke(lines, "p/m", 1, calls=(ToolCall("c1", "read_file", json.dumps({"x": lines})),)),
        ToolAnswered("c1", "read_file", lines, STORED.digest, 9, 1, 1),
        title="nothing to hide",
    )
    assert session.removals == ()
    events = [json.loads(line)["event"] for line in session.document(".jsonl").splitlines()]
    assert events[0]["text"] == lines
    assert events[2]["text"] == lines


@pytest.mark.parametrize("suffix", SUFFIXES)
async def test_what_was_taken_out_can_be_put_back_one_by_one(suffix: str) -> None:
    session = await shared(*EVENTS)
    for removal in session.removals:
        document = session.document(suffix, {removal.value})
        assert removal.value in document
        others = [other.value for other in session.removals if other is not removal]
        assert not [value for value in others if value in document]
    everything = session.document(suffix, {removal.value for removal in session.removals})
    assert REMOVED not in everything


@pytest.mark.parametrize("suffix", SUFFIXES)
async def test_a_part_of_a_secret_comes_back_with_it(suffix: str) -> None:
    """It is not listed: a login is one value, also where its password stands alone."""
    words = "postgres://app:Tr0ub4dor-a4bkJg@db/app and alone Tr0ub4dor-a4bkJg, or bob-Tr0ub4dor-a4bkJg."
    session = await shared(UserSpoke(words, 1), title="nothing to hide")
    (removal,) = session.removals
    assert (removal.value, removal.count) == ("app:Tr0ub4dor-a4bkJg@", 3)
    assert "Tr0ub4dor" not in session.document(suffix)
    assert words in session.document(suffix, {removal.value})


async def test_a_private_key_is_listed_once_however_it_is_written() -> None:
    (planted,) = (planted for planted in PLANTED if planted.kind == "private key")
    session = await shared(*_around(planted), title="nothing to hide")
    assert [removal.kind for removal in session.removals] == ["private-key"]


async def test_each_removal_has_its_kind_and_place() -> None:
    session = await shared(*EVENTS)
    by_kind = {removal.kind: removal for removal in session.removals}
    assert by_kind["key"].place == "Title"
    assert by_kind["key"].count == 2
    assert by_kind["email"].place == "Your message"
    assert by_kind["home"].place == "Call of a tool"
    assert by_kind["configured"].place == "Output of read_file"
    assert kind_text("named", "DB_PASSWORD") == "Value of DB_PASSWORD"


async def test_the_home_folder_of_an_imported_session_goes_as_well() -> None:
    folder = "/Users/grace/code/app"
    session = await shared(
        SessionImported("claude-code", "x", folder),
        UserSpoke("Look into /Users/grace/notes.md and -Users-grace-code-app", 1),
    )
    for suffix in SUFFIXES:
        assert "grace" not in session.document(suffix)
    assert "~/notes.md" in session.document(".md")


async def test_of_a_long_line_with_a_secret_the_stretch_around_it_is_listed() -> None:
    words = "word " * 100
    session = await shared(UserSpoke(f"{words}{KEY} {words}", 1), title="nothing to hide")
    (removal,) = session.removals
    assert len(removal.line) < 200
    titled = await shared(UserSpoke("nothing to hide", 1))
    assert [removal.line for removal in titled.removals] == [f"About {REMOVED}"]


@pytest.mark.parametrize("suffix", SUFFIXES)
async def test_a_session_up_to_a_message_has_nothing_behind_it(suffix: str) -> None:
    said = (UserSpoke("first", 1), AssistantSpoke("second", "p/m", 1), UserSpoke("third", 1))
    document = (await shared(*said, upto=2)).document(suffix)
    assert "first" in document
    assert "second" in document
    assert "third" not in document


@pytest.mark.parametrize("suffix", SUFFIXES)
async def test_an_answer_of_the_app_that_is_open_still_can_be_shared(suffix: str) -> None:
    """Its words know their translation until the session is read again."""
    answer = ToolAnswered("c1", "read_file", verbatim("No such file."), STORED.digest, 9, 1, 1)
    session = await shared(EVENTS[0], EVENTS[1], answer)
    assert "No such file." in session.document(suffix)


async def test_json_lines_have_every_event_whole() -> None:
    plain = (UserSpoke("Hello\n\x1e\n\x1e\x1e there", 1), AssistantSpoke("Ünd so weiter", "p/m", 1))
    lines = [json.loads(line) for line in (await shared(*plain)).document(".jsonl").splitlines()]
    assert [(line["session"], line["seq"], line["at"]) for line in lines] == [
        ("s", 1, START_MS),
        ("s", 2, START_MS),
    ]
    assert [line["event"]["text"] for line in lines] == [event.text for event in plain]


async def test_a_page_fetches_nothing_and_runs_nothing() -> None:
    page = (await shared(*EVENTS)).document(".html")
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
