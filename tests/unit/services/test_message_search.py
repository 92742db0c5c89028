"""Messages found by their words: what a plain scan of all logs finds, newest session first."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.errors import StoreUnreadable
from helix_desktop.domain.events.conversation import AssistantSpoke, UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.session import SessionStarted
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.store import SessionSummary
from helix_desktop.domain.text_search import ExcerptSize, normalize, parse_query
from helix_desktop.domain.translatable_text import TranslatableText
from helix_desktop.services.message_search import MessageHit, MessageSearch, SearchedSession

WORDS = st.sampled_from(("Lexer", "parser", "Straße", "数据", "fix", "\u202etrap", "line\nbreak"))
TEXTS = st.lists(WORDS, max_size=4).map(" ".join)
LOGS = st.lists(st.lists(st.tuples(st.booleans(), TEXTS), max_size=6), max_size=4)


def make_log(messages: Sequence[tuple[bool, str]]) -> list[RecordedEvent]:
    """A log that begins with an event that says nothing."""
    events = [
        SessionStarted("A"),
        *(UserSpoke(text, 1) if own else AssistantSpoke(text, "m", 1) for own, text in messages),
    ]
    return [RecordedEvent(seq, 1_000 * seq, event) for seq, event in enumerate(events, 1)]


def searched(
    name: str, log: Sequence[RecordedEvent], updated: int = 0, branch_of: str = "", branch_seq: int = 0
) -> SearchedSession:
    """A session of one workspace with this log."""

    async def read_log() -> list[RecordedEvent]:
        return [*log]

    summary = SessionSummary(name, name, 0, updated, branch_of=branch_of, branch_seq=branch_seq)
    return SearchedSession("w", summary, read_log)


async def find(search: MessageSearch, query: str, limit: int = 100) -> list[MessageHit]:
    """Return all hits."""
    return [hit async for hits in search.find(parse_query(query), limit) for hit in hits]


@given(LOGS, st.lists(WORDS, min_size=1, max_size=2), st.integers(1, 5))
async def test_it_finds_what_a_plain_scan_finds(
    logs: list[list[tuple[bool, str]]], words: list[str], limit: int
) -> None:
    search = MessageSearch(
        searched(str(at), make_log(messages), updated=at) for at, messages in enumerate(logs)
    )
    terms = parse_query(" ".join(words))
    expected = [
        (str(at), place + 2, "user" if own else "agent")
        for at, messages in reversed(list(enumerate(logs)))
        for place, (own, text) in reversed(list(enumerate(messages)))
        if all(term in normalize(text) for term in terms)
    ]
    for _ in range(2):  # read, then remembered
        hits = await find(search, " ".join(words), limit)
        assert [(hit.session_id, hit.seq, hit.speaker) for hit in hits] == expected[:limit]
        assert all("\n" not in hit.excerpt and "\u202e" not in hit.excerpt for hit in hits)


async def test_a_session_that_changed_is_read_again() -> None:
    search = MessageSearch([searched("a", make_log([(True, "Lexer")]), updated=1)])
    assert await find(search, "parser") == []
    changed = searched("a", make_log([(True, "Lexer"), (False, "parser")]), updated=2)
    search.set_sessions([changed, searched("b", make_log([(True, "parser")]))])
    assert [(hit.session_id, hit.seq) for hit in await find(search, "parser")] == [("a", 3), ("b", 2)]


async def test_a_branch_does_not_repeat_its_parent_and_damage_hides_nothing_else() -> None:
    log = make_log([(True, "fix the lexer"), (False, "fixed")])
    branch = [*log, RecordedEvent(4, 9_000, UserSpoke("fix the parser", 1))]

    async def fail() -> list[RecordedEvent]:
        raise StoreUnreadable(TranslatableText("The log is damaged."))

    damaged = SearchedSession("w", SessionSummary(id="c", title="", created=0, updated=9), fail)
    below = searched("b", branch, updated=5, branch_of="a", branch_seq=3)
    search = MessageSearch([searched("a", log), below, damaged])
    assert [(hit.session_id, hit.seq) for hit in await find(search, "fix")] == [("b", 4), ("a", 3), ("a", 2)]
    assert search.unread == {"c"}
    # Its parent is gone: what it has of it is found there.
    assert [hit.seq for hit in await find(MessageSearch([below]), "lexer")] == [2]


@pytest.mark.parametrize("query", ["lexer", "LEXER", '"the lexer"'])
async def test_the_excerpt_is_the_line_with_the_words(query: str) -> None:
    log = make_log([(True, "first\n" * 3_000 + "then fix the Lexer\nlast")])
    (hit,) = await find(MessageSearch([searched("a", log)]), query)
    assert hit.excerpt == "then fix the Lexer"


async def test_the_excerpt_begins_shortly_before_its_first_word() -> None:
    """A list shows the beginning of it: a word behind 70 characters would be out of sight."""
    log = make_log([(True, "some words of a long line " * 4 + "and then the lexer is fixed, and so on")])
    (hit,) = await find(MessageSearch([searched("a", log)]), "lexer")
    assert hit.excerpt.startswith("…")
    assert 0 < hit.excerpt.index("lexer") <= 31
    (hit,) = await find(MessageSearch([searched("a", log)], excerpt_size=ExcerptSize(80, 10)), "lexer")
    assert 0 < hit.excerpt.index("lexer") <= 11


async def test_the_excerpt_is_the_line_with_most_words() -> None:
    log = make_log([(True, "What the waters of the sea did\nthe test of the gale at noon\nat last")])
    (hit,) = await find(MessageSearch([searched("a", log)], excerpt_size=ExcerptSize(80, 4)), "at gale")
    assert hit.excerpt == "…gale at noon"


@pytest.mark.parametrize(
    ("text", "excerpt"),
    [
        ("Fix the lexer.\nThen\nuse it in the parser.", "Fix the lexer. … use it in the parser."),
        (
            "The lexer, " + "and more " * 30 + "a parser, too",
            "The lexer, and more and more and more … and more a parser, too",
        ),
        (
            "Parsers first. " + "words " * 40 + "the lexer or parser",
            "…words words words words the lexer or parser",
        ),
        ("- Straße: Lexer\n" + "- und so weiter\n" * 9 + "- der Parser", "Straße: Lexer … der Parser"),
    ],
)
async def test_the_excerpt_shows_every_word(text: str, excerpt: str) -> None:
    """From one place with all of them, if they are near each other; else from several."""
    (hit,) = await find(MessageSearch([searched("a", make_log([(True, text)]))]), "lexer parser")
    assert hit.excerpt == excerpt


@given(
    st.lists(st.sampled_from(("lexer", "parser", "Straße", "and", "words")), max_size=80).flatmap(
        lambda words: st.lists(st.sampled_from(" \n\t"), min_size=len(words), max_size=len(words)).map(
            lambda gaps: "".join(word + gap for word, gap in zip(words, gaps, strict=True))
        )
    ),
    st.sampled_from(("lexer", "lexer parser", "strasse parser", "parser lexer words")),
)
async def test_every_word_is_where_the_list_has_room(text: str, query: str) -> None:
    for hit in await find(MessageSearch([searched("a", make_log([(True, text)]))]), query):
        folded = normalize(hit.excerpt)[:85]
        assert all(term in folded for term in parse_query(query))


async def test_a_list_of_sessions_asks_for_the_newest_message_of_each() -> None:
    log = make_log([(True, "fix the lexer"), (False, "the lexer is fixed")])
    sessions = [searched("a", log, updated=2), searched("b", log, updated=1)]
    search = MessageSearch(sessions, per_session=1)
    assert [(hit.session_id, hit.seq) for hit in await find(search, "lexer")] == [("a", 3), ("b", 3)]


async def test_commands_and_paths_of_calls_are_found_at_their_answer() -> None:
    calls = (
        ToolCall("a", "run_command", '{"command": "cd src && pytest -q tests"}'),
        ToolCall("b", "read_file", '{"path": "src/lexer.py"}'),
    )
    log = [*make_log([(True, "go")]), RecordedEvent(3, 9_000, AssistantSpoke("", "m", 1, calls))]
    search = MessageSearch([searched("a", log)])
    for words, line in (("pytest", "cd src && pytest -q tests"), ("lexer", "src/lexer.py")):
        (hit,) = await find(search, words)
        assert (hit.seq, hit.speaker, hit.excerpt) == (3, "agent", line)
