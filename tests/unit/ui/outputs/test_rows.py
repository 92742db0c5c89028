"""What the rows of the cache say, and which of them are listed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import get_args

import pytest
from msgspec.structs import replace
from texts.build import product_files
from texts.extract import extract

import helix_desktop
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.context.summaries.index_entry import HEAD
from helix_desktop.context.window.message_states import MessageState
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.conversation import Attachment, MessageQueued, ToolAnswered, UserSpoke
from helix_desktop.domain.events.rewrite import Excluded, FoldMade, SweepMade, SweepReason, Undone
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.domain.image import identify_image
from helix_desktop.domain.store import Commit, Content, ContentKind, EntryFilter, SavedCondition
from helix_desktop.domain.text_format import FIRST_LINE_CAP, ellipsize
from helix_desktop.ui.outputs.filter_bar import restored_options
from helix_desktop.ui.outputs.rows import (
    COLUMN_BY_KEY,
    COLUMNS,
    COMPACTED_STATES,
    DIGEST_BYTES,
    SAME_STATES,
    STATE_LABELS,
    STATE_TIPS,
    CacheColumn,
    CacheFilter,
    CacheSort,
    CacheState,
    target_name,
    tool_name,
)
from helix_desktop.ui.outputs.source import OutputSource, content_states
from helix_desktop.words.state_words import STATE_WORDS
from helix_desktop.words.translation import translate
from tests.support import session_rewrites
from tests.support.agent_rig import AgentRig, GatedStore
from tests.support.galleries.panes_samples import cache_row
from tests.support.image_bytes import png
from tests.support.scripted_model import ScriptedModel, thinking_script
from tests.support.session_simulator import SessionSimulator


@pytest.mark.parametrize(
    ("maker", "name"),
    [
        ("fold", "List of compacted outputs"),
        ("handover", "List of compacted outputs"),
        ("observations", "List of compacted outputs"),
        ("other", "other"),
    ],
)
def test_an_index_is_named_after_what_it_lists(maker: str, name: str) -> None:
    """In the words of the timeline; a tool of the same name keeps its own."""
    row = replace(cache_row(1), tool=maker)
    index = replace(row, state="index")
    assert (tool_name(index), target_name(index)) == ("Compact", name)
    assert tool_name(replace(row, state="elsewhere")) == maker
    text = replace(row, tool="exclude", target="e232", first_line="Nothing else is odd:")
    assert (tool_name(text), target_name(text)) == ("Left out", "Nothing else is odd:")


def test_states_have_five_names_and_a_meaning_each() -> None:
    """The panel, the chat and the cache say the same of a message; a filter has each name once."""
    assert set(STATE_WORDS) == {*get_args(MessageState), "in_part"}
    for name, states in SAME_STATES.items():
        assert {STATE_LABELS[state] for state in states if state != "in_part"} == {STATE_LABELS[name]}
    assert {state for states in SAME_STATES.values() for state in states} == set(STATE_TIPS)
    assert {translate(STATE_LABELS[state]) for state in COMPACTED_STATES} == {"Compacted"}


def test_the_word_for_a_state_stands_in_one_file() -> None:
    package = Path(helix_desktop.__file__).parent
    words = {f'"{words.label}"' for words in STATE_WORDS.values()}
    files = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if any(word in path.read_text("utf-8") for word in words)
    }
    assert files == {"words/state_words.py"}


_STEMS = {
    "In context": r"in (?:the )?context",
    "In context in part": "in part|preview|extract|[Ss]horten",
    "Cached": "[Cc]ach",
    "Compacted": "[Cc]ompact",
    "Left out": "[Ll](?:ef|eave)",
}
"""How sentences say what became of a message, by the label of its state."""


def _sentences_with(stem: str) -> Iterator[str]:
    """Look through the product's sentences, one file after the other."""
    for file in product_files(Path(helix_desktop.__file__).parents[1]):
        entries, _ = extract([file])
        yield from (entry.source for entry in entries if re.search(stem, entry.source))


def test_sentences_say_of_a_state_what_its_label_says() -> None:
    """Where a label is another word, what is to be worded anew is what the sentences with the old one say."""
    labels = {str(words.label) for words in STATE_WORDS.values()}
    changed = {label: list(_sentences_with(stem)) for label, stem in _STEMS.items() if label not in labels}
    assert labels == _STEMS.keys(), changed
    assert [label for label, stem in _STEMS.items() if not any(_sentences_with(stem))] == []


@pytest.mark.parametrize("state", ["in_window", "cached", "handed_over", "elsewhere", "excluded"])
def test_a_stored_filter_of_a_state_opens(state: CacheState) -> None:
    assert [option.state for option in restored_options((SavedCondition("state", state),), 0)] == [state]
    assert restored_options((SavedCondition("state", "no such state"),), 0) == []


def test_an_output_that_left_is_cached_also_where_some_of_its_lines_were_recalled() -> None:
    """Outputs and panel say it with one word."""
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.send_message("Read it.")
    simulator.step("Reading.", 1)
    output = "some words\n" * 500
    simulator.answer_call(0, output)
    digest = digest_of(output.encode())
    simulator.record(SweepMade((simulator.transcript.last_seq,), 900, SweepReason.BATCH))
    simulator.recall(digest)
    state, _ = content_states(simulator.transcript)[digest]
    assert translate(STATE_LABELS[state]) == "Cached"
    (swept,) = simulator.transcript.window.swept
    simulator.record(FoldMade(0, swept, "A note.", 9, digest_of(b""), 1, 1, 900))
    state, _ = content_states(simulator.transcript)[digest]
    assert translate(STATE_LABELS[state]) == "Compacted", "with its messages, whatever was looked up since"
    lines = Attachment(digest, "a.log", "7:some words", 9, 12, lines=500, words="some")
    simulator.record(UserSpoke("What of these?", 3, (lines,)))
    state, _ = content_states(simulator.transcript)[digest]
    assert translate(STATE_LABELS[state]) == "Compacted", "also where the user attached lines of it"


@pytest.mark.parametrize(("words", "state"), [(20, "in_window"), (500, "in_part")])
def test_a_preview_of_which_some_lines_were_recalled_is_in_context_in_part(words: int, state: str) -> None:
    """A recall of its beginning shows all of a short output, and of a long one that: the rest is saved."""
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.send_message("Read it.")
    simulator.step("Reading.", 1)
    output = "some words\n" * words
    simulator.answer_call(0, output, form="preview")
    digest = digest_of(output.encode())
    simulator.recall(digest)
    found, saved = content_states(simulator.transcript)[digest]
    assert (found, saved > 0) == (state, state == "in_part")


def test_a_preview_saves_what_its_output_has_more_tokens_in_the_chat() -> None:
    """Both are messages: what frames one is no saving."""
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.send_message("Read it.")
    simulator.step("Reading.", 1)
    output = "some words\n" * 500
    simulator.answer_call(0, output, form="preview")
    answer = simulator.transcript.messages.items[-1].event
    assert isinstance(answer, ToolAnswered)
    _, saved = content_states(simulator.transcript)[digest_of(output.encode())]
    assert saved == answer.full_tokens - answer.tokens > 0


def test_the_index_of_a_note_is_of_its_session() -> None:
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.send_message("Begin.")
    note = FoldMade(0, simulator.transcript.last_seq, "A note.", 3, "d" * 64, 1, steps=1, saved=5)
    simulator.record(note)
    assert content_states(simulator.transcript)[note.index] == ("index", 0)


def test_a_message_that_is_left_out_is_left_out_until_that_is_undone() -> None:
    """It was called Not in session, before and after the undo."""
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.send_message("Read it.")
    simulator.step("A long answer. " * 30, 1)
    simulator.answer_call(0, "x\n" * 50)
    simulator.send_message("And now?")
    seqs = [seq for seq in (session_rewrites.exclude(simulator, index) for index in range(3)) if seq]
    events = map(simulator.transcript.rewrites.by_seq.get, seqs)
    digests = [event.digest for event in events if isinstance(event, Excluded)]
    assert {content_states(simulator.transcript)[digest][0] for digest in digests} == {"excluded"}
    for seq in seqs:
        simulator.record(Undone(seq))
    assert {content_states(simulator.transcript)[digest][0] for digest in digests} == {"in_window"}


def test_an_image_is_a_marker_to_a_model_that_sees_none() -> None:
    simulator = SessionSimulator(PROFILES["balanced"])
    image = identify_image(png(32, 20), "d" * 64, "lamp.png")
    assert image is not None
    simulator.send_message("What is this?", image=image)
    assert content_states(simulator.transcript)[image.digest] == ("in_window", 0)
    assert content_states(simulator.transcript, sees_images=False)[image.digest] == ("cached", 0)


def source_of(rig: AgentRig) -> OutputSource:
    return OutputSource(rig.workspace, lambda: rig.conversation)


async def first_line(rig: AgentRig, digest: str) -> str:
    """Return the first line that the table shows of a content."""
    (row,) = await source_of(rig).rows([digest])
    return row.first_line


async def test_the_line_of_an_index_ends_with_an_ellipsis() -> None:
    """As it is stored now, and as it was stored earlier."""
    rig = AgentRig(ScriptedModel(thinking_script(9)), PROFILES["classic"])
    assert await first_line(rig, await begin_with_handover(rig)) == ellipsize(HEAD, FIRST_LINE_CAP)
    kinds: tuple[tuple[str, ContentKind, str], ...] = (
        (HEAD[:FIRST_LINE_CAP], "index", HEAD[:FIRST_LINE_CAP] + "…"),
        ("x" * FIRST_LINE_CAP, "output", "x" * FIRST_LINE_CAP),
    )
    for line, kind, expected in kinds:
        data = kind.encode()
        old = digest_of(data)
        await rig.store.commit(
            Commit(rig.conversation.session.id, (), [Content(old, data, "t", "", line, 1, kind)])
        )
        assert await first_line(rig, old) == expected


@pytest.mark.parametrize("again", ["read", "recalled"])
async def test_what_was_read_again_or_recalled_stands_first(again: str) -> None:
    """By when it was first saved it stood below, while its state was that of its newest place."""
    rig = AgentRig(ScriptedModel(thinking_script(9)), store=GatedStore(count(1_000).__next__))
    session = (await rig.begin()).session.id
    first, second = (Content(digest_of(data), data, "t") for data in (b"first", b"second"))
    for content in (first, second):
        await rig.store.commit(Commit(session, (), [content]))
    is_read = again == "read"
    commit = Commit(session, (), [first] if is_read else [], recalls=[] if is_read else [first.digest])
    await rig.store.commit(commit)
    source = source_of(rig)
    listed = bytes.fromhex(first.digest + second.digest)
    assert (await source.ids(CacheFilter()), await source.first_ids(CacheFilter())) == (listed, listed)


_TEXTS = [column.key for column in COLUMNS if column.style in ("text", "path", "digest", "mono-muted")]


@pytest.mark.parametrize("key", _TEXTS)
async def test_a_column_of_texts_is_sorted_by_what_it_shows(key: CacheColumn) -> None:
    """Not by what stands for it in the store, as an id does for a title."""
    rig = AgentRig(ScriptedModel(thinking_script(9)), PROFILES["classic"])
    await rig.begin()
    sessions = sorted([(await rig.workspace.create_session()).session.id for _ in range(3)])
    for session, name in zip(sessions, ("gamma", "Beta", "alpha"), strict=True):
        await rig.workspace.rename(session, name)
        data = session.encode()
        content = Content(digest_of(data), data, f"{name.lower()}_tool", f"src/{name}.py", f"{name} line")
        await rig.store.commit(Commit(session, (), [content]))
    source = source_of(rig)
    ids = await source.ids(CacheFilter(sort=CacheSort(key, is_descending=False)))
    digests = [ids[at : at + DIGEST_BYTES].hex() for at in range(0, len(ids), DIGEST_BYTES)]
    rows = {row.digest: row for row in await source.rows(digests)}
    shown = [COLUMN_BY_KEY[key].text(rows[digest], 0).casefold() for digest in digests]
    assert shown == sorted(shown)
    assert len(set(shown)) == 3


THIS_SESSION = CacheFilter(session_only=True)


async def listed(rig: AgentRig, cache_filter: CacheFilter = THIS_SESSION) -> set[str]:
    ids = await source_of(rig).ids(cache_filter)
    return {ids[at : at + DIGEST_BYTES].hex() for at in range(0, len(ids), DIGEST_BYTES)}


async def begin_with_handover(rig: AgentRig) -> str:
    await rig.begin()
    for _ in range(2):
        await rig.conversation.run("Think.")
    rig.conversation.handovers.start()
    await rig.wait_until_idle()
    return str(rig.events(HandoverMade)[-1].index)


async def test_lists_of_other_sessions_are_left_out_and_those_of_a_branch_are_its_own() -> None:
    rig = AgentRig(ScriptedModel(thinking_script(40)), PROFILES["classic"])
    first_index = await begin_with_handover(rig)
    first = rig.conversation.session.id
    second_index = await begin_with_handover(rig)
    lists = replace(THIS_SESSION, entry_filter=EntryFilter(kinds=("index",)))
    assert second_index in await listed(rig, lists)
    assert first_index not in await listed(rig, lists)

    rig.switch_to(await rig.workspace.branches.open(first))
    assert first_index in await listed(rig, lists), "its log begins with it"
    await rig.begin()
    assert await listed(rig) == set()


async def test_the_list_of_what_was_compacted_is_listed_only_if_asked_for() -> None:
    rig = AgentRig(ScriptedModel(thinking_script(40)), PROFILES["classic"])
    index = await begin_with_handover(rig)
    (row,) = await source_of(rig).rows([index])
    assert translate(STATE_LABELS[row.state]) == "Compacted"
    lists = EntryFilter(kinds=("index",))
    for state in (None, *SAME_STATES):
        assert index not in await listed(rig, CacheFilter(state=state))
        is_same = state in (None, "handed_over")
        assert (index in await listed(rig, CacheFilter(state=state, entry_filter=lists))) == is_same
    found = await source_of(rig).search(CacheFilter(index))
    assert found.digests.hex() == index, "its SHA-256 finds it"


async def test_what_waits_in_a_message_belongs_to_its_session() -> None:
    """It stands in no window yet."""
    rig = AgentRig(ScriptedModel(thinking_script(1)))
    await rig.begin()
    attachment = await rig.workspace.contents.attach_paste(rig.conversation.session.id, "tide\n" * 50)
    await rig.conversation.session.record(MessageQueued("Read it.", (attachment,)))
    assert await listed(rig) == {digest_of(("tide\n" * 50).encode())}
