"""Fold: replace old closed steps by one note, without a model and without loss; and the text of that note."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from helix_desktop.context.intake.descriptions import find_error
from helix_desktop.context.log.file_and_mode_notes import newest_mode_note, revert_lines
from helix_desktop.context.log.file_changes import FileRevert
from helix_desktop.context.log.message_log import FRAMING_TOKENS, user_decision
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_entries import PINNED_LABEL_TOKENS
from helix_desktop.context.log.window_layout import (
    AddedInstructions,
    LogItem,
    PinnedCopy,
    SummaryBlock,
    WindowEntry,
    crosses_edge,
    edges_of,
    newest_instructions,
)
from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.context.rewrites.caching import (
    PROVIDER_CACHED_PRICE,
    SweepPlan,
    WorkingSet,
    names_line_tokens,
    rewrite_price,
    whole_from,
)
from helix_desktop.context.summaries.artifact_ledger import (
    build_ledger,
    described_result,
    legend_of,
    short_command,
    short_text,
)
from helix_desktop.context.summaries.handover import (
    QuotedBlocks,
    RepeatedBlock,
    newest_texts_tokens,
    quoted_tokens,
    user_text_budget,
)
from helix_desktop.context.summaries.message_facts import cut_between_words
from helix_desktop.context.window.used_tokens import UsageGauge
from helix_desktop.domain.digest import HEX_DIGITS, bare_marker
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.rewrite import FoldKind, FoldMade
from helix_desktop.domain.files.file_use import is_symbol_lookup, is_test_command, tool_kind
from helix_desktop.domain.private_details import has_form_of_secret
from helix_desktop.domain.text_format import ellipsize, pluralize
from helix_desktop.domain.todo import NO_LIST, TodoList
from helix_desktop.domain.unicode_safety import without_direction_signs

# As measured on 2,399 folds of recorded sessions, in Balanced and Lean together.
PHRASE_TOKENS = 17  # tokens that a call takes in a note, its short result included
HEADER_TOKENS = 31  # tokens of a note's first line
NOTE_CALLS = 44  # model calls that a note stands in the window until it is condensed with others
_LEAST_RUN = 60  # tokens that a note of its own has to free


class FoldPlan(msgspec.Struct, frozen=True):
    """A range to fold: events after `after` up to and including `upto`; `gain` is about the tokens freed."""

    after: int
    upto: int
    gain: int
    how: FoldKind = "fold"


class _Run(msgspec.Struct):
    """Messages that may be folded together, each with the tokens this frees; `gain` is that of all."""

    items: list[tuple[LogItem, int]] = []
    gain: int = -HEADER_TOKENS

    def add(self, item: LogItem, gain: int) -> None:
        self.items.append((item, gain))
        self.gain += gain


def due_folds(
    transcript: Transcript,
    policy: ContextPolicy,
    gauge: UsageGauge,
    sweep_plan: SweepPlan | None = None,
    rewritten_from_seq: int = 0,
    is_cold: bool = False,
    edges: Sequence[int] = (),
) -> list[FoldPlan]:
    """Return the ranges that are worth folding now, oldest first; empty while none are.

    Closed steps older than `fold_after_steps` calls and farther back than `protect_tokens` are folded. Steps
    that sweeps spare because the running turn works on them stay, as the user's newest message does, so there
    may be several ranges: else nothing behind a file that is edited for long would be folded. Waiting costs
    rent, as for a sweep, and the sweep that would share the rewrite (`sweep_plan`) adds its savings; a note
    costs what it adds to the window for as long as it stands. What sending again costs depends on how full a
    window of so many tokens is. From `rewritten_from_seq` on (0: nothing) the request is resent anyway. No
    fold crosses one of the `edges`, where observations will begin or end.
    """
    if not (policy.enabled and policy.fold_after_steps):
        return []
    least = policy.fold_least // 4 if is_cold else policy.fold_least
    # The last model call, and the last token of the log, that lie before the protected tail.
    messages = transcript.messages
    whole = messages.tokens_before(whole_from(transcript, policy, gauge))
    tail = (
        messages.steps - policy.fold_after_steps,
        min(messages.total_tokens - policy.protect_tokens, whole),
    )
    if transcript.window.wordless_tokens(*tail) < least:  # no fold frees more
        return []
    runs = _foldable_runs(transcript, policy, gauge, tail, edges)
    names = sum(names_line_tokens(policy, run.gain) for run in runs)
    gain = sum(run.gain for run in runs) - names
    if not runs or gain < least:
        return []
    if not is_cold and not _pays_off(transcript, policy, gauge, runs, names, sweep_plan, rewritten_from_seq):
        return []
    return [FoldPlan(run.items[0][0].after, run.items[-1][0].seq, run.gain) for run in runs]


def _pays_off(
    transcript: Transcript,
    policy: ContextPolicy,
    gauge: UsageGauge,
    runs: list[_Run],
    names: int,
    sweep_plan: SweepPlan | None,
    rewritten_from_seq: int,
) -> bool:
    waited = sum(freed * _waited_steps(transcript, policy, item) for run in runs for item, freed in run.items)
    rent = PROVIDER_CACHED_PRICE * (waited - NOTE_CALLS * (HEADER_TOKENS * len(runs) + names))
    behind = transcript.window.tokens_from(runs[0].items[0][0].seq) - sum(run.gain for run in runs) + names
    price = rewrite_price(transcript.window.tokens[0], gauge.window)
    if rewritten_from_seq:
        return rent >= price * (behind - transcript.window.tokens_from(rewritten_from_seq))
    if sweep_plan is not None:
        rent += sweep_plan.rent
        behind -= sweep_plan.saved
    return rent >= price * behind


def _foldable_runs(
    transcript: Transcript,
    policy: ContextPolicy,
    gauge: UsageGauge,
    tail: tuple[int, int],
    edges: Sequence[int],
) -> list[_Run]:
    """Return the runs of old closed steps shown raw in the window, split at entries of other kinds."""
    newest = _newest_user_seq(transcript)
    staying = _places_in_work(transcript, policy, gauge) | _restored_places(transcript)
    edges = sorted({*edges, *edges_of(transcript.window.covers)})
    runs = [_Run()]
    for entry in _old_entries(transcript, tail):
        stays = isinstance(entry, LogItem) and (entry.seq == newest or _place(entry) in staying)
        if isinstance(entry, LogItem) and not stays:
            while edges and runs[-1].items and edges[0] < runs[-1].items[-1][0].seq:
                del edges[0]
            if edges and runs[-1].items and edges[0] < entry.seq:
                runs.append(_Run())
            runs[-1].add(entry, _item_gain(transcript, entry))
        elif runs[-1].items and not isinstance(entry, AddedInstructions):  # which outlast notes
            runs.append(_Run())
    return [run for run in runs if run.gain > _LEAST_RUN]


def _old_entries(transcript: Transcript, tail: tuple[int, int]) -> list[WindowEntry]:
    """Return the entries before the protected tail, in closed steps."""
    last_step, last_cumulative = tail
    live = transcript.window.entries()
    end = len(live)
    for position in range(len(live) - 1, -1, -1):  # what is protected is the shorter part
        entry = live[position]
        if isinstance(entry, LogItem):
            if entry.step <= last_step and entry.cumulative_tokens <= last_cumulative:
                break
            end = position
    while end and end < len(live) and _is_answer(live[end]):
        end -= 1
    return live[:end]


def _place(item: LogItem) -> tuple[int, bool]:
    """Return the step of a message, and whether it is the user's: these stay and go for themselves."""
    return item.step, isinstance(item.event, UserSpoke)


def _places_in_work(
    transcript: Transcript, policy: ContextPolicy, gauge: UsageGauge
) -> set[tuple[int, bool]]:
    in_work = WorkingSet.of(transcript, policy, gauge)
    items = (transcript.messages.item(seq) for seq in in_work.seqs.keys() - transcript.window.masked)
    return {
        _place(item)
        for item in items
        if item is not None and in_work.protected_until(item, transcript, policy) > transcript.messages.steps
    }


def _restored_places(transcript: Transcript) -> set[tuple[int, bool]]:
    restored = transcript.rewrites.restored
    entries = transcript.window.entries() if restored else ()
    return {_place(entry) for entry in entries if isinstance(entry, LogItem) and entry.seq in restored}


def _is_answer(entry: WindowEntry) -> bool:
    return isinstance(entry, LogItem) and isinstance(entry.event, ToolAnswered)


def _waited_steps(transcript: Transcript, policy: ContextPolicy, item: LogItem) -> int:
    by_distance = transcript.messages.step_beyond(item, policy.protect_tokens) or transcript.messages.steps
    since = max(item.step + policy.fold_after_steps, by_distance)
    return transcript.messages.steps - since + 1


def _newest_user_seq(transcript: Transcript) -> int:
    return transcript.messages.user_items[-1].seq if transcript.messages.user_items else 0


def _item_gain(transcript: Transcript, item: LogItem) -> int:
    if isinstance(item.event, UserSpoke):
        return FRAMING_TOKENS
    if item.seq in transcript.rewrites.pinned:
        return -PINNED_LABEL_TOKENS
    line = PHRASE_TOKENS if isinstance(item.event, ToolAnswered) else 2
    return max(0, transcript.window.entry_tokens(item) - item.word_tokens - line)


def tokens_freed(transcript: Transcript, plan: FoldPlan, tokens: int) -> int:
    """Return the tokens freed by replacing a range with a note of `tokens` tokens; pinned outputs stay."""
    stood, newest = 0, newest_instructions(transcript.window.added_instructions)
    for entry in transcript.window.entries():
        if isinstance(entry, AddedInstructions):
            leaves = plan.after < entry.seq <= plan.upto and entry.seq not in newest
            stood += transcript.window.entry_tokens(entry) if leaves else 0
        elif isinstance(entry, LogItem) and plan.after < entry.seq <= plan.upto:
            pinned = entry.seq in transcript.rewrites.pinned
            stood += -PINNED_LABEL_TOKENS if pinned else transcript.window.entry_tokens(entry)
        elif isinstance(entry, SummaryBlock) and plan.after < entry.upto <= plan.upto:
            stood += transcript.window.entry_tokens(entry)
    return stood - tokens - FRAMING_TOKENS


def due_condensation(
    transcript: Transcript, policy: ContextPolicy, gauge: UsageGauge, edges: Sequence[int] = ()
) -> FoldPlan | None:
    """Return the older notes to condense into one, once all notes outgrow their share of the window.

    Never those with words of the newest complete turn, which stay as they are.
    """
    if not (policy.enabled and policy.fold_after_steps and policy.condense_at):
        return None
    notes = _notes_and_user_messages(transcript)
    cap, tokens = (
        policy.condense_at * gauge.window,
        [transcript.window.entry_tokens(entry) for entry in notes],
    )
    if sum(tokens) <= cap:
        return None
    kept_tokens, count = 0, len(notes)
    while count and kept_tokens + tokens[count - 1] <= policy.condense_keep * cap:
        count -= 1
        kept_tokens += tokens[count]
    old = {
        note.seq
        for note in notes[:count]
        if isinstance(note, SummaryBlock) and note.upto not in transcript.rewrites.restored
    }
    segments = _segments(transcript, policy, gauge, old, edges)
    plans = [_condensation(transcript, policy, segment, gauge.window) for segment in segments]
    best = max(plans, key=lambda plan: plan.gain, default=None)
    return best if best is not None and best.gain >= policy.fold_least else None


def condensed_tokens(policy: ContextPolicy, window_size: int) -> int:
    """Return the tokens the agent's own text may take in a condensed note."""
    return int(policy.condense_at * policy.condense_keep * 0.5 * window_size)


def _notes_and_user_messages(transcript: Transcript) -> list[WindowEntry]:
    """Return the notes of folds and, up to the last of them, the user's messages but their newest one.

    The newest one is the running turn's instruction, and stays a message.
    """
    newest, last = (
        _newest_user_seq(transcript),
        transcript.window.covers[-1].upto if transcript.window.covers else 0,
    )
    found: list[WindowEntry] = []
    for entry in transcript.window.entries():
        if isinstance(entry, LogItem):
            if entry.seq > last:
                break
            if isinstance(entry.event, UserSpoke) and entry.seq != newest:
                found.append(entry)
        elif is_fold_note(entry):
            found.append(entry)
    while found and isinstance(found[-1], LogItem):
        found.pop()
    return found


def _segments(
    transcript: Transcript, policy: ContextPolicy, gauge: UsageGauge, old: set[int], edges: Sequence[int]
) -> list[list[LogItem | SummaryBlock]]:
    """Return the runs of these notes, with the messages between them that were too few for their own note."""
    newest, first_kept = _newest_user_seq(transcript), whole_from(transcript, policy, gauge)
    spared = _places_in_work(transcript, policy, gauge) | _restored_places(transcript)
    turn = transcript.complete_turn
    turn_first, turn_end = transcript.messages.first_seq(turn), transcript.messages.first_seq(turn + 1)
    edges = (*edges, *edges_of(transcript.window.covers))
    segments: list[list[LogItem | SummaryBlock]] = [[]]
    for entry in transcript.window.entries():
        if isinstance(entry, PinnedCopy | AddedInstructions):
            continue
        is_of_turn = entry.upto >= turn_first and entry.after < turn_end - 1
        is_old = isinstance(entry, SummaryBlock) and entry.seq in old and not is_of_turn
        if not is_old and (
            isinstance(entry, SummaryBlock)
            or is_of_turn
            or entry.seq == newest
            or entry.seq >= first_kept
            or _place(entry) in spared
        ):
            segments.append([])
            continue
        if segments[-1] and crosses_edge(segments[-1][-1].upto, entry.upto, edges):
            segments.append([])
        if is_old or segments[-1]:
            segments[-1].append(entry)
    for segment in segments:
        while segment and isinstance(segment[-1], LogItem):
            segment.pop()
    return [segment for segment in segments if segment]


def _condensation(
    transcript: Transcript, policy: ContextPolicy, segment: list[LogItem | SummaryBlock], window_size: int
) -> FoldPlan:
    first, last = segment[0], segment[-1]
    assert isinstance(first, SummaryBlock)  # a segment begins and ends with a note
    assert isinstance(last, SummaryBlock)
    after, upto = first.after, last.upto
    budget = user_text_budget(policy.user_text_tokens, window_size)
    new = newest_texts_tokens(transcript.messages.users_between(after, upto), budget)
    new += condensed_tokens(policy, window_size) + policy.ledger_tokens
    return FoldPlan(
        after, upto, sum(transcript.window.entry_tokens(item) for item in segment) - new, "condense"
    )


def is_fold_note(entry: WindowEntry) -> bool:
    return isinstance(entry, SummaryBlock) and isinstance(entry.event, FoldMade)


TITLE = "[Summary of older steps]"
_CHARS_PER_TOKEN = 3.5
_LEDGER_MESSAGES = 800  # newest messages that the ledger of a condensed note is made from: more than fill it
_MIN_CHARS, _MAX_CHARS = 60, 400  # characters of one message in a condensed note
_TARGET_CAP, _COMMAND_CAP, _READ_CHARS = 160, 80, 400  # characters
_SHORT_RESULT = 100  # characters
_RESULT = " → "
_LARGE_BYTES = 4096  # bytes; the size of a smaller result says nothing
_KILO = 1024
_REMEMBERED_TARGETS = 2_048  # of calls: made when the answer comes, for its names, and again for its note
_RESULT_END = re.compile(r"[→;“”]|, ")  # what separates a result from the next call, and what quotes it
_PLAIN_QUOTES = str.maketrans({"“": '"', "”": '"'})
_NOTE_LINE = re.compile(
    r"\s*(?:user(?: e\d+)?:|agent:|e\d+(?: user| agent)?:|did(?: e\d+(?:-e\d+)?)?:|todo list \("
    r"|\[[\W_]*(?:user|did|folded|names|cached|artifacts|helix|observations|conversation|summary|paths"
    r"|pinned|recalled|where to recall|attached|pasted|image|extract|project|instructions|environment|mode"
    r"|the user|system|tool|assistant))",
    re.IGNORECASE,
)
"""How a line of the note's own begins, or another of the program's or of who speaks."""


class _Call(NamedTuple):
    """A call in a note: its output's entry, the tool, a few words; and True if these leave something out."""

    seq: int
    tool: str
    phrase: str
    has_more: bool


def render_fold_note(
    items: Sequence[LogItem],
    index: str,
    entries: int,
    digits: int = HEX_DIGITS,
    todo_list: TodoList = NO_LIST,
) -> str:
    """Return a fold's note: messages verbatim, each call in a few words, the rest through the index.

    Of the present `todo_list`, if it is in one of the messages, what is left to do stands at the end.
    """
    lines = [*note_lines(items), *_todo_lines(todo_list), *_mode_lines(items)]
    return "\n".join([_header("Earlier steps", index, entries, digits, items), *lines])


def render_condensed_note(
    items: Sequence[LogItem],
    index: str,
    entries: int,
    agent_tokens: int,
    user_tokens: int,
    policy: ContextPolicy,
    user_words: Sequence[LogItem] = (),
    todo_list: TodoList = NO_LIST,
    reverts: Mapping[str, FileRevert] = MappingProxyType({}),
) -> str:
    """Return the note that replaces older notes: user messages, what the agent's name, and a ledger.

    `agent_tokens` bounds the agent's text, the policy the other two; the newest of each are kept. The user's
    messages stay whole up to `user_tokens` together, a long block of lines once; beyond them each keeps its
    beginning and its end, up to half as many more. `user_words` are the items with words of the user; without
    it they are looked for among all, of the whole session. The present `todo_list` stands behind them, as in
    a fold's note. What is cut has the number of its entry. `reverts` are the user's of what the agent changed
    in files, by path: the ledger says it of them.
    """
    lines = _agent_lines(items, int(agent_tokens * _CHARS_PER_TOKEN))
    lines |= _words_of_user(user_words or items, user_tokens, policy.condense_message)
    facts = build_ledger(items[-_LEDGER_MESSAGES:])
    facts.mark_reverted(reverts)
    ledger = facts.text(policy.ledger_tokens)
    header = _header("Earlier steps, in brief", index, entries, policy.handle_digits, items)
    ends = [*_todo_lines(todo_list), *_mode_lines(user_words or items)]
    parts = [header, *(line for _, line in sorted(lines.items())), *ends]
    return "\n".join([*parts, f"[Artifacts: {legend_of(ledger)}]", ledger] if ledger else parts)


def _todo_lines(todo_list: TodoList) -> list[str]:
    return todo_list.open_lines if todo_list.is_open else []


def _mode_lines(items: Sequence[LogItem]) -> list[str]:
    note = newest_mode_note(items)
    return [note] if note else []


def _words_of_user(items: Sequence[LogItem], user_tokens: int, cut_tokens: int) -> dict[int, str]:
    """Return what the user wrote and replied to questions, in lines by their seqs."""
    lines = _user_lines(items, user_tokens, cut_tokens)
    for item in items:
        if isinstance(item.event, ToolAnswered) and (decision := user_decision(item.event)) is not None:
            lines[item.seq] = _reply_line(item.event, decision)
    return lines


def _user_lines(items: Sequence[LogItem], user_tokens: int, cut_tokens: int) -> dict[int, str]:
    lines: dict[int, str] = {}
    blocks, left = QuotedBlocks(), user_tokens
    for item in reversed(items):
        if not isinstance(item.event, UserSpoke):
            continue
        if left <= -user_tokens // 2:
            break
        parts = blocks.split(item.event.text)
        tokens = quoted_tokens(parts, item.event.tokens)
        cap = tokens if tokens <= left else cut_tokens
        left -= min(tokens, cap)
        by = "user" if tokens <= cap else f"user e{item.seq}"
        lines[item.seq] = f"{by}: {_head_and_tail(_quoted_parts(parts), tokens, cap)}"
        if tokens <= cap:
            blocks.add(item.seq, parts)
    return lines


def _quoted_parts(parts: Sequence[str | RepeatedBlock]) -> str:
    """Return a message of the user, each of its repeats as a line of the note's own."""
    texts = (part.mark if isinstance(part, RepeatedBlock) else _quote_lookalikes(part) for part in parts)
    return "\n".join(filter(None, texts))


def render_truncation_note(
    index: str,
    entries: int,
    messages: int,
    digits: int = HEX_DIGITS,
    user_words: Sequence[LogItem] = (),
    user_tokens: int = 0,
    cut_tokens: int = 0,
    todo_list: TodoList = NO_LIST,
) -> str:
    """Return the note that replaces messages for want of room: the user's own words and what is to do stay.

    The words are bounded by `user_tokens` as in a condensed note; a longer message keeps `cut_tokens`.
    """
    header = _header(
        f"{pluralize(messages, 'earlier message')}, left out for want of room", index, entries, digits
    )
    lines = _words_of_user(user_words, user_tokens, cut_tokens) if user_tokens else {}
    ends = [*_todo_lines(todo_list), *_mode_lines(user_words)]
    return "\n".join([header, *(line for _, line in sorted(lines.items())), *ends])


def _header(what: str, index: str, entries: int, digits: int, items: Sequence[LogItem] = ()) -> str:
    """Return the first line of a note: what it stands for, and which entries its index covers."""
    covers = f", covers entries e{items[0].seq}-e{items[-1].seq}" if items else ""
    outputs = pluralize(entries, "output")
    return f"{TITLE} {what}, for reference; {outputs} in {bare_marker(index, digits)}{covers}"


def note_lines(items: Iterable[LogItem]) -> list[str]:
    """Return the lines of a fold's note, but for its header; what follows calls is said by who made them."""
    lines: list[str] = []
    done: list[_Call] = []
    paths: set[str] = set()
    for item in items:
        text_line = ""
        match item.event:
            case UserSpoke(text=text, note=note):
                text_line = "\n".join([*revert_lines(note), f"user: {_quote_lookalikes(text)}"])
            case AssistantSpoke(text=text) if text.strip():
                by = "" if done or (lines and lines[-1].startswith("did")) else "agent: "
                text_line = f"{by}{_quote_lookalikes(text)}"
            case ToolAnswered() as output if (decision := user_decision(output)) is not None:
                text_line = _reply_line(output, decision)
            case ToolAnswered() as output:
                phrase = _call_phrase(output, paths)
                done.append(_Call(item.seq, " ".join(output.name.split()), phrase, _has_more(output, phrase)))
            case _:
                pass
        if text_line:
            lines += _call_lines(done)
            done = []
            lines.append(text_line)
    return lines + _call_lines(done)


def _reply_line(output: ToolAnswered, decision: str) -> str:
    """Return a question and the user's reply: what the user decided stays, as their messages do."""
    return f"user: {decision or f'{ellipsize(output.target, _TARGET_CAP)} – skipped'}"


def _call_lines(calls: Sequence[_Call]) -> list[str]:
    """Return one line for a run of calls; consecutive calls of one tool share its name.

    Each has its entry, to recall that output alone, unless the line says all there is to recall.
    """
    if not calls:
        return []
    parts: list[str] = []
    previous = ""
    for call in calls:
        phrase = f"e{call.seq} {call.phrase}".rstrip() if call.has_more else call.phrase
        parts.append(f", {phrase}" if call.tool == previous else f"; {call.tool} {phrase}".rstrip())
        previous = call.tool
    return [f"did: {''.join(parts).lstrip('; ')}"]


def _has_more(output: ToolAnswered, phrase: str) -> bool:
    """Return True if a call's output says more than the note: it is large, or its result is not there."""
    is_change = output.ok and tool_kind(output.name) in ("write", "edit")
    has_result = _RESULT in phrase.removeprefix(target_in_note(output))
    return bool(output.digest) and (output.size >= _LARGE_BYTES or not (is_change or has_result))


def target_in_note(output: ToolAnswered) -> str:
    """Return what a note says of what a call was about, where it says most."""
    return _target_in_note(output.target, output.name)


@lru_cache(maxsize=_REMEMBERED_TARGETS)
def _target_in_note(target: str, tool: str) -> str:
    if tool_kind(tool) == "command":
        return short_command(target[:_READ_CHARS], _COMMAND_CAP)
    return ellipsize(" ".join(target[:_READ_CHARS].split()), _TARGET_CAP)


def _call_phrase(output: ToolAnswered, paths: set[str]) -> str:
    """Return a call in a few words: a path stands whole the first time, then by its last part."""
    target = target_in_note(output)
    if target in paths and " " not in target:
        target = target.rstrip("/").rpartition("/")[2]
    elif tool_kind(output.name) != "command":
        paths.add(target)
    size = f" {output.size // _KILO}K" if output.size >= _LARGE_BYTES else ""
    failed = f" exit {output.exit_code}" if output.exit_code else "" if output.ok else " failed"
    return f"{target}{size}{failed}{_short_result(output)}".strip()


def _short_result(output: ToolAnswered) -> str:
    """Return what a call gave in a few words, a test's last informative line, or how much a lookup found.

    Of a change of a file only an error says something. What looks like a secret stays in its output alone,
    which the user can have forgotten.
    """
    source = output.text
    result = short_text(output.text, _SHORT_RESULT) if output.text.strip() else "nothing"
    result = result if output.size < _LARGE_BYTES else ""  # of a large one the text is a part
    if tool_kind(output.name) in ("write", "edit") and find_error(result) is None:
        return ""
    if not result and _has_result_in_description(output):
        about = without_direction_signs(output.about)
        source, result = about, ellipsize(described_result(about, output.exit_code), _SHORT_RESULT)
    return f"{_RESULT}{_quote_result(result)}" if result and not _has_secret(source) else ""


def _has_result_in_description(output: ToolAnswered) -> bool:
    """Return True if the description of an output is its result: of tests, a symbol, or a recall."""
    is_test = tool_kind(output.name) == "command" and is_test_command(output.target)
    return is_test or is_symbol_lookup(output.name) or bool(output.recalled)


# Asked when the answer comes, and again for its note.
_has_secret = lru_cache(maxsize=_REMEMBERED_TARGETS)(has_form_of_secret)


def _quote_result(result: str) -> str:
    """Return a result in quotes if something in it could pass for its end and the next call."""
    if _RESULT_END.search(result) is None:
        return result
    return f"“{result.translate(_PLAIN_QUOTES)}”"


def _agent_lines(items: Sequence[LogItem], max_chars: int) -> dict[int, str]:
    """Return what a condensed note says of the agent's messages, by their seqs: the beginning of each.

    Together they take the characters of an even share for each. First come those that ended their turns, of
    both the newest. One that is cut has its entry.
    """
    said = [
        (item.seq, bool(item.event.calls), " ".join(item.event.text.split()))
        for item in reversed(items)
        if isinstance(item.event, AssistantSpoke) and item.event.text.strip()
    ]
    newest = [
        len(text) for _, _, text in said[: max_chars // _MIN_CHARS + 1]
    ]  # more would have less than that
    even = min(max(max_chars // max(1, len(newest)), _MIN_CHARS), _MAX_CHARS)
    max_chars = min(max_chars, sum(min(size, even) for size in newest))
    lines: dict[int, str] = {}
    for seq, _, text in sorted(said, key=itemgetter(1)):
        room = min(max_chars, _MAX_CHARS)
        if room < min(_MIN_CHARS, len(text)):
            break
        line = _quote_lookalikes(cut_between_words(text, room))
        lines[seq] = f"e{seq}: {line}" if len(text) > room else line
        max_chars -= len(line)
    return lines


def _head_and_tail(text: str, tokens: int, cap: int) -> str:
    """Return a message, or head and tail of a longer one in about `cap` tokens; the index has all of it."""
    if tokens <= cap:
        return text
    chars = max(40, len(text) * cap // tokens)
    return f"{text[: chars * 3 // 4]} […] {text[-chars // 4 :]}"


def _quote_lookalikes(text: str) -> str:
    """Return text for a note, with lines that look like the note's own marked as quoted."""
    lines = text.strip().splitlines(keepends=True)
    return "".join(f"| {line}" if _NOTE_LINE.match(line) else line for line in lines)
