"""What every store must do to redact, run on the durable store and on its in-memory twin."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import quote, quote_plus

import msgspec
import pytest

from helix_desktop.agent.ports import Store
from helix_desktop.context.intake.marker import sweep_arguments
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.context.rewrites.step_notes import render_condensed_note, render_fold_note
from helix_desktop.context.summaries.artifact_ledger import build_ledger
from helix_desktop.context.summaries.index_entry import index_text
from helix_desktop.domain.digest import bare_marker, digest_of
from helix_desktop.domain.errors import ContentRedacted, InvalidInput
from helix_desktop.domain.events.conversation import (
    AssistantSpoke,
    Attachment,
    SweptCall,
    ToolAnswered,
    UserSpoke,
)
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent, digests_in
from helix_desktop.domain.events.rewrite import FoldMade, FormChosen, HandoverTrigger, SweepMade, SweepReason
from helix_desktop.domain.events.session import SessionBranched
from helix_desktop.domain.events.summary import SUMMARY_TEXT_VERSION, Bullet, HandoverMade, Section
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.redaction import RedactionRequest
from helix_desktop.domain.store import Commit, Content, PartialOutput
from helix_desktop.words.store_reports import summary_lines
from tests.support.store.builders import (
    START_MS,
    TickingClock,
    make_content,
    make_summary,
    open_kind,
)

SECRET = 'sk-"live"\\häßlich'
ESCAPED = 'sk-\\"live\\"\\\\h\\u00e4\\u00dflich'
MARK = "[FORGOTTEN 2025-06-15]"


@pytest.fixture(params=["leveldb", "memory"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    async with open_kind(request.param, tmp_path / "store", TickingClock()) as store:
        yield store


def output(seq: int, data: bytes, text: str = "shown", **fields: object) -> RecordedEvent:
    """Return a tool answer that names the digest of `data` and shows `text`."""
    tool = str(fields.pop("name", "shell"))
    fact = ToolAnswered(f"call-{seq}", tool, text, digest_of(data), len(data), 10, 5, **fields)  # type: ignore[arg-type]  # any field of the event
    return RecordedEvent(seq, START_MS + seq, fact)


def fold(seq: int, index: bytes) -> RecordedEvent:
    """Return a fold whose index entry is `index`."""
    text = f"[Folded steps] {bare_marker(digest_of(index))} all of it"
    return RecordedEvent(seq, START_MS + seq, FoldMade(0, seq - 1, text, 9, digest_of(index), 1, 2, 3))


def recorded_at(seq: int, event: Event) -> RecordedEvent:
    return RecordedEvent(seq, START_MS + seq, event)


async def test_a_preview_finds_the_text_everywhere_and_changes_nothing(store: Store) -> None:
    leaky = f"key={SECRET}\n".encode()
    clean = b"clean"
    marked = msgspec.structs.replace(make_content(clean), target=f"curl -H {SECRET}")
    line = make_summary("s", title=f"about {SECRET}")
    message = UserSpoke(f"use {SECRET}, please", 3)
    await store.commit(
        Commit(
            "s",
            [recorded_at(1, message), output(2, leaky), output(3, clean)],
            [make_content(leaky), marked],
            summary=line,
        )
    )
    await store.save_draft("t", f"and {SECRET}")
    matches = await store.redaction.preview(RedactionRequest(SECRET))
    assert [content.digest for content in matches.contents] == [digest_of(leaky)]
    assert matches.labels == (digest_of(clean),)
    assert [(event.session, event.seq) for event in matches.events] == [("s", 1)]
    assert (matches.titles, matches.drafts, matches.sessions) == (("s",), ("t",), ("s", "t"))
    assert summary_lines(matches)[0] == "1 output: removed permanently"
    assert await store.get(digest_of(leaky)) == leaky
    assert (await store.events("s"))[0].event == message


async def test_redaction_removes_the_text_everywhere_and_leaves_a_marker(store: Store) -> None:
    leaky = f"key={SECRET}\n".encode()
    clean = b"clean"
    marked = msgspec.structs.replace(make_content(clean), target=f"curl -H {SECRET}", first_line=SECRET)
    await store.commit(
        Commit(
            "s",
            [
                recorded_at(1, UserSpoke(f"use {SECRET}!", 3)),
                output(2, leaky, f"key={SECRET}"),
                output(3, clean),
            ],
            [make_content(leaky), marked],
            summary=msgspec.structs.replace(
                make_summary("s", title=f"about {SECRET}"), failure=("Refused", SECRET)
            ),
        )
    )
    attached = Attachment(digest_of(clean), "notes", f"see {SECRET}", 3, 10)
    await store.save_draft("s", f"and {SECRET}", (attached,))
    await store.save_partial_answer("s", recorded_at(3, AssistantSpoke(f"It is {SECRET}", "m", 0)))
    await store.save_partial_outputs("s", [PartialOutput("c1", f"\n{SECRET}\n")])
    preview = await store.redaction.preview(RedactionRequest(SECRET))
    assert await store.redaction.redact(RedactionRequest(SECRET)) == preview
    assert (await store.redaction.preview(RedactionRequest(SECRET))).is_empty
    first, second, third = (event.event for event in await store.events("s"))
    assert isinstance(first, UserSpoke)
    assert first.text == f"use {MARK}!"
    assert isinstance(second, ToolAnswered)
    assert second.text == f"key={MARK}"
    assert isinstance(third, ToolAnswered)
    assert third.text == "shown"
    entry = await store.entry(digest_of(clean))
    assert (entry.target, entry.first_line, entry.references) == (f"curl -H {MARK}", MARK, 1)
    (summary,) = await store.sessions()
    assert (summary.title, summary.failure) == (f"about {MARK}", ("Refused", MARK))
    draft = await store.draft("s")
    assert (draft.text, draft.attachments[0].text) == (f"and {MARK}", f"see {MARK}")
    assert draft.partial_answer == recorded_at(3, AssistantSpoke(f"It is {MARK}", "m", 0))
    assert draft.partial_outputs == (PartialOutput("c1", f"\n{MARK}\n"),)
    totals = await store.totals()
    assert (totals.entries, totals.size) == (1, len(clean))


async def test_the_beginning_of_a_text_is_redacted_where_it_was_cut(store: Store) -> None:
    """A note, a title and a first line have no more of it; what only begins so stays."""
    key = "sk-" + "Ab3dEf6h" * 12
    block = "a line of a template that is pasted\n" * 12
    texts = (f"Fix a.\nexport API_KEY={key}\n{block}", f"Fix b.\nexport API_KEY={key}\n{block}", key[:40])
    events = [recorded_at(seq, UserSpoke(text, 150)) for seq, text in enumerate(texts, 1)]
    items = Transcript(events).messages.items
    note = render_condensed_note(items, "a" * 64, 1, 100, 4_000, PROFILES["balanced"])
    assert f"{key[:25]}" in note.replace(key, "")
    folded = recorded_at(4, FoldMade(0, 3, note, 9, digest_of(b"index"), 1, 2, 3, "condense"))
    clean = msgspec.structs.replace(make_content(b"clean"), first_line=f"{key[:30]}…")
    summary = make_summary("s", title=f"about {key[:16]}…")
    await store.commit(Commit("s", [*events, folded], [make_content(b"index"), clean], summary=summary))
    request = RedactionRequest(key)
    assert (await store.redaction.redact(request)).titles == ("s",)
    *_, begins_so, condensed = (event.event for event in await store.events("s"))
    assert isinstance(condensed, FoldMade)
    assert f'from "export API_KEY={MARK}…" on' in condensed.text
    assert condensed.text.count(key[:16]) == 1, "in the last message, which is not cut"
    assert begins_so == events[-1].event
    assert (await store.sessions())[0].title == f"about {MARK}…"
    assert (await store.entry(digest_of(b"clean"))).first_line == f"{MARK}…"
    assert (await store.redaction.preview(request)).is_empty


async def test_a_text_is_redacted_in_every_encoding_machines_use(store: Store) -> None:
    odd = f'{SECRET} "ä"/?'
    leaky = [
        b64encode(f"user:{odd}:x".encode()),
        f"GET /?key={quote(odd, safe='')}&q=1".encode(),
        json.dumps({"arguments": json.dumps({"key": odd})}).encode(),
        f"key={odd};".encode("utf-16"),
        f"key={odd};".encode("utf-16-be"),
        b64encode(f"curl {odd} x".encode("utf-16-le")),
    ]
    message = f"Authorization: Basic {b64encode(odd.encode()).decode()} and key={quote_plus(odd)}"
    await store.commit(
        Commit(
            "s", [recorded_at(1, UserSpoke(message, 3))], [make_content(data) for data in [*leaky, b"clean"]]
        )
    )
    await store.redaction.redact(RedactionRequest(odd))
    assert (await store.totals()).entries == 1
    (event,) = (event.event for event in await store.events("s"))
    assert isinstance(event, UserSpoke)
    assert event.text == f"Authorization: Basic {MARK} and key={MARK}"


async def test_redacted_content_raises_and_does_not_come_back(store: Store) -> None:
    leaky = f"key={SECRET}\n".encode()
    digest = digest_of(leaky)
    await store.commit(Commit("s", [output(1, leaky)], [make_content(leaky)]))
    assert await store.redaction.redacted_at(digest) == 0
    await store.redaction.redact(RedactionRequest(SECRET))
    assert await store.redaction.redacted_at(digest) > START_MS
    for read in (store.get, store.entry):
        with pytest.raises(ContentRedacted, match=r"user removed .* on 2025-06-15"):
            await read(digest)
    await store.commit(Commit("s", [output(2, leaky)], [make_content(leaky)], recalls=[digest]))
    with pytest.raises(ContentRedacted):
        await store.get(digest)
    assert (await store.totals()).entries == 0
    assert len(await store.retention.references(digest)) == 2
    assert await store.redaction.lift(digest)
    assert not await store.redaction.lift(digest)
    with pytest.raises(ContentRedacted):
        await store.get(digest)
    await store.commit(Commit("s", [output(3, leaky)], [make_content(leaky)]))
    assert await store.get(digest) == leaky
    assert (await store.entry(digest)).references == 3


async def test_the_path_back_to_other_contents_stays_intact(store: Store) -> None:
    remote = b"far away"
    first = f"head\n{digest_of(remote)} e1 shell\ne2 user: my key is {SECRET}\n".encode()
    second = f"head\n{digest_of(first)} the index of everything before this one\ne3 user: go on".encode()
    clean = f"head\n{digest_of(remote)} e1 shell".encode()
    log = [output(1, remote), fold(2, first), fold(3, second), fold(4, clean)]
    contents = [make_content(remote), *(make_content(data, kind="index") for data in (first, second, clean))]
    await store.commit(Commit("s", log, contents))
    matches = await store.redaction.redact(RedactionRequest(SECRET))
    assert {index.digest for index in matches.indexes} == {digest_of(first), digest_of(second)}
    assert matches.contents == ()
    events = await store.events("s")
    assert events[3] == log[3]
    newest = events[2].event
    assert isinstance(newest, FoldMade)
    assert newest.text == f"[Folded steps] {bare_marker(newest.index)} all of it"
    chain = (await store.get(newest.index)).decode()
    assert digest_of(first) not in chain
    old_digest = chain.splitlines()[1].split()[0]
    assert f"my key is {MARK}" in (await store.get(old_digest)).decode()
    assert digest_of(remote) in (await store.get(old_digest)).decode()
    with pytest.raises(ContentRedacted, match=newest.index):
        await store.get(digest_of(second))
    for recorded in events:
        for digest in digests_in(recorded.event):
            references = await store.retention.references(digest)
            assert recorded.seq in [reference.seq for reference in references]
            assert (await store.entry(digest)).references == len(references)
    assert await store.retention.references(digest_of(first)) == []
    assert (await store.entry(newest.index)).kind == "index"


async def test_json_with_the_text_stays_valid_json(store: Store) -> None:
    call = ToolCall("c", "shell", f'{{"command": "login {ESCAPED}", "n": 1}}')
    verbatim = {"content": [{"text": f"I use {SECRET}"}], SECRET: 1}
    await store.commit(
        Commit("s", [recorded_at(1, AssistantSpoke("ok", "m", 3, (call,), verbatim=verbatim))])
    )
    assert not (await store.redaction.redact(RedactionRequest(SECRET))).is_empty
    event = (await store.events("s"))[0].event
    assert isinstance(event, AssistantSpoke)
    assert msgspec.json.decode(event.calls[0].arguments) == {"command": f"login {MARK}", "n": 1}
    assert event.verbatim == {"content": [{"text": f"I use {MARK}"}], MARK: 1}


async def test_a_text_that_spans_json_syntax_leaves_valid_json(store: Store) -> None:
    call = ToolCall("c", "shell", '{"command": "ls", "key": "abcdef"}')
    await store.commit(Commit("s", [recorded_at(1, AssistantSpoke("ok", "m", 3, (call,)))]))
    await store.redaction.redact(RedactionRequest('"ls", "key"'))
    event = (await store.events("s"))[0].event
    assert isinstance(event, AssistantSpoke)
    assert msgspec.json.decode(event.calls[0].arguments) == {"forgotten": MARK}


async def test_a_selected_content_is_redacted_in_all_its_forms(store: Store) -> None:
    data = b"the whole output"
    large = "x" * 50
    digest = digest_of(data)
    argument = digest_of(large.encode())
    short = SweptCall("c", f'{{"path": "a", "text": "[CACHED] {argument}"}}', (argument,), (50,))
    call = ToolCall("c", "write_file", f'{{"path": "a", "text": "{large}"}}')
    log = [
        output(1, data, "the whole output", first_line="the whole"),
        recorded_at(2, FormChosen(1, "compact", "an extract of it", 3, asked="extract")),
        recorded_at(3, UserSpoke("see", 1, (Attachment(digest, "shell", "the whole output", 3, 9),))),
        output(4, data, "lines of it", recalled=digest),
        recorded_at(5, AssistantSpoke("ok", "m", 3, (call,), verbatim={"a": large}, short=(short,))),
        recorded_at(6, UserSpoke("untouched", 1)),
    ]
    await store.commit(
        Commit("s", log, [make_content(data), Content(argument, large.encode(), kind="argument")])
    )
    matches = await store.redaction.redact(RedactionRequest(digests=(digest, argument)))
    assert [event.seq for event in matches.events] == [1, 2, 3, 4, 5]
    events = await store.events("s")
    assert events[5] == log[5]
    plain = msgspec.json.encode(events).decode()
    for text in ("the whole", "extract of", "lines of", large):
        assert text not in plain
    event = events[4].event
    assert isinstance(event, AssistantSpoke)
    assert event.calls[0].arguments == short.arguments


CODE = "4711"  # too short to be looked for anywhere
SHORT = f"the safe opens with\n{CODE}"
RECORD = "   3: account  of Ada\u202e Lovelace opened\n"
NAMES = "[Names last seen in earlier entries] e4: northern_key c.txt; e5: other_name"
LONG = "the inventory of the northern warehouse, " * 5
PART = f"e2: [start_char=44] …{LONG[44:170]}"  # as a search shows a line, cut at both ends
REPEATED = f"e2: account of Ada Lovelace opened, e5: other text\n{PART}".encode()


def removed_outputs(text: str, short: str, test: str) -> list[Event]:
    """Return a user's message and the answers whose contents are removed."""
    failed = f"{test} failed in 3 s"
    return [
        UserSpoke(f"Is the code {CODE} or 4712?", 3),
        output(2, text.encode(), text, first_line=text[:20], target="a.txt").event,
        output(3, short.encode(), short, target="b.txt").event,
        output(
            4, b"x" * 9_000, "." * 300, name="run_command", target="pytest -q", about=f'exit 1, "{failed}"',
            identifiers=("northern_key",), ok=False, exit_code=1,
        ).event,
        output(5, b"other", "other text", target="c.txt").event,
    ]  # fmt: skip


def repeating_events(log: list[RecordedEvent], index: str) -> list[RecordedEvent]:
    """Return the events that repeat outputs of a log: notes, names, a handover, a recall, a sweep."""
    items = Transcript(log).messages.items
    digest = digest_of(index.encode())
    note = render_fold_note(items, digest, 4)
    brief = render_condensed_note(items, digest, 4, 500, 500, PROFILES["balanced"])
    bullet = Bullet(f"The file says: account of Ada Lovelace opened; it is {LONG[:60]}… and northern.", (2,))
    sections = (Section("Technical Details", (bullet,)),)
    ledger = build_ledger(items).text(500)
    handover = HandoverMade(
        *(5, 0, sections, ledger, digest, 4, 9, 9, 9, 9, "m", HandoverTrigger.MANUAL),
        text_version=SUMMARY_TEXT_VERSION,
    )
    return [
        recorded_at(6, FoldMade(0, 5, f"{note}\n{NAMES}", 9, digest, 4, 2, 3)),
        recorded_at(7, FoldMade(0, 5, brief, 9, digest, 4, 2, 3, "condense")),
        recorded_at(8, handover),
        output(9, REPEATED, REPEATED.decode(), name="recall_cached_content"),
        recorded_at(10, SweepMade((4,), 3, SweepReason.BATCH, anchors=NAMES)),
    ]


async def test_what_later_texts_repeat_of_a_selected_content_is_redacted(store: Store) -> None:
    events = removed_outputs(RECORD + LONG, SHORT, "test_a")
    log = [recorded_at(seq, event) for seq, event in enumerate(events, 1)]
    removed = tuple(event.digest for event in events[1:4] if isinstance(event, ToolAnswered))
    index, _ = index_text(Transcript(log).messages.items)
    log += repeating_events(log, index)
    data = [(RECORD + LONG).encode(), SHORT.encode(), b"x" * 9_000, b"other"]
    contents = [make_content(REPEATED, "recall_cached_content"), make_content(index.encode(), kind="index")]
    await store.commit(Commit("s", log, [*map(make_content, data), *contents]))
    message = UserSpoke("account of Ada Lovelace opened", 3)
    await store.commit(Commit("t", [recorded_at(1, message)]))
    repeated = ("| 4711", "e3: 4711", "failed in 3 s", "northern_key", "Ada", "inventory")
    before = msgspec.json.encode(log[5:]).decode() + index
    assert all(words in before for words in repeated)

    await store.redaction.redact(RedactionRequest(digests=removed))

    events_after = [recorded.event for recorded in await store.events("s")]
    fold_event = events_after[5]
    assert isinstance(fold_event, FoldMade)
    new_index = (await store.get(fold_event.index)).decode()
    after = msgspec.json.encode(events_after[1:]).decode() + new_index
    assert [words for words in repeated if words in after] == []
    assert f"user: Is the code {CODE} or 4712?" in fold_event.text
    assert "c.txt → other text" in fold_event.text
    assert fold_event.text.endswith("e4: c.txt; e5: other_name")
    assert re.search(rf"{removed[0]} e2 shell a.txt, \d+ B, {re.escape(MARK)}$", new_index, re.MULTILINE)
    with pytest.raises(ContentRedacted):
        await store.get(digest_of(REPEATED))
    assert (await store.events("t"))[0].event == message
    assert (await store.redaction.preview(RedactionRequest(digests=removed))).events == ()


async def test_what_a_branch_repeats_of_its_parents_output_is_redacted(store: Store) -> None:
    """Also of a form that only the branch has: what a parent shows as a preview, it has in full."""
    data = b"the first line\nthe second line"
    log = [recorded_at(1, UserSpoke("read", 1)), output(2, data, "the first line")]
    await store.commit(Commit("p", log, [make_content(data), make_content(b"index", kind="index")]))
    own: list[Event] = [
        SessionBranched("p", 2, "b"),
        FormChosen(2, "full", data.decode(), 3),
        FoldMade(0, 2, "read_file a.txt → the second line", 9, digest_of(b"index"), 2, 2, 3),
    ]
    await store.commit(Commit("b", [recorded_at(seq, event) for seq, event in enumerate(own, 3)]))
    await store.redaction.redact(RedactionRequest(digests=(digest_of(data),)))
    after = msgspec.json.encode(await store.events("b")).decode()
    assert "first line" not in after
    assert "second line" not in after


async def test_what_is_said_of_a_selected_argument_is_redacted(store: Store) -> None:
    """Its marker describes it, in an index too, and a search finds its lines."""
    text = "door = the yellow one\n" + "\n".join(f"row {row} of the plan" for row in range(60))
    call = ToolCall("c", "write_file", json.dumps({"path": "a.txt", "text": text, "rows": ["x" * 600]}))
    sweepable = sweep_arguments(call, 12)
    assert sweepable is not None
    log = [recorded_at(1, AssistantSpoke("ok", "m", 3, (call,), short=(sweepable.call,)))]
    index = index_text(Transcript(log).messages.items)[0]
    found = b"e1: row 7 of the plan"
    log += [
        recorded_at(2, FoldMade(0, 1, "did: write_file", 9, digest_of(index.encode()), 2, 2, 3)),
        output(3, found, found.decode(), name="search_cached_content"),
    ]
    arguments = [
        Content(digest_of(part.encode()), part.encode(), kind="argument") for part in sweepable.texts
    ]
    others = [make_content(index.encode(), kind="index"), make_content(found, "search_cached_content")]
    await store.commit(Commit("s", log, [*arguments, *others]))
    assert "yellow" in index
    request = RedactionRequest(digests=sweepable.call.digests[:1])
    await store.redaction.redact(request)
    events = [recorded.event for recorded in await store.events("s")]
    fold_event = events[1]
    assert isinstance(fold_event, FoldMade)
    after = msgspec.json.encode(events).decode() + (await store.get(fold_event.index)).decode()
    assert "yellow" not in after
    assert "of the plan" not in after
    assert "JSON: 1 item" in after, "of the other argument"
    assert (await store.redaction.preview(request)).is_empty


@pytest.mark.parametrize("text", ["abc", " ab ", "FORGOTTEN"])
async def test_an_unsuitable_text_is_refused(store: Store, text: str) -> None:
    with pytest.raises(InvalidInput):
        await store.redaction.preview(RedactionRequest(text))


async def test_a_request_without_targets_is_refused(store: Store) -> None:
    with pytest.raises(InvalidInput):
        await store.redaction.redact(RedactionRequest())


async def test_a_text_without_matches_changes_nothing(store: Store) -> None:
    await store.commit(Commit("s", [output(1, b"one")], [make_content(b"one")]))
    assert (await store.redaction.redact(RedactionRequest("nowhere at all"))).is_empty
    assert await store.events("s") == [output(1, b"one")]


async def test_ids_and_hashes_are_left_alone(store: Store) -> None:
    data = b"one"
    part = digest_of(data)[10:20]
    await store.commit(Commit("s", [output(1, data, f"part {part} of it")], [make_content(data)]))
    await store.redaction.redact(RedactionRequest(part))
    answer = (await store.events("s"))[0].event
    assert isinstance(answer, ToolAnswered)
    assert (answer.digest, answer.text) == (digest_of(data), f"part {MARK} of it")
    assert await store.get(digest_of(data)) == data
    await store.redaction.redact(RedactionRequest("call-1"))
    again = (await store.events("s"))[0].event
    assert isinstance(again, ToolAnswered)
    assert again.call_id == "call-1"
