"""What a request contains, one row each: its form, its tokens and why it is there."""

from __future__ import annotations

import json
from typing import Literal

import msgspec

from helix_desktop.context.log.message_log import FRAMING_TOKENS
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import (
    AddedInstructions,
    LogItem,
    PinnedCopy,
    SummaryBlock,
    WindowEntry,
)
from helix_desktop.context.summaries.handover import handover_counts
from helix_desktop.context.summaries.summary_names import handover_name, summary_name, turn_range
from helix_desktop.context.window.exclusions import can_exclude
from helix_desktop.context.window.message_states import is_repeated, sent_outputs
from helix_desktop.context.window.used_tokens import output_tokens
from helix_desktop.context.window.window import PromptFrame, Window
from helix_desktop.domain.choices import SentEffort
from helix_desktop.domain.digest import RECALL_TOOL
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.rewrite import Excluded, FoldMade, FormChosen
from helix_desktop.domain.events.session import InstructionsAdded, StandingKind, StandingProblem, StandingText
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.domain.identifiers import names_in_line
from helix_desktop.domain.request_extras import RequestExtras
from helix_desktop.domain.skills import SKILLS_SHARE
from helix_desktop.domain.text_format import ellipsize, plain_line
from helix_desktop.domain.translatable_text import (
    ByteSize,
    TextContext,
    TranslatableText,
    verbatim,
)
from helix_desktop.domain.typed_text import program_texts, typed_text

text = TextContext("Panel")

_NAME_CHARS = 90  # of a row's name

WindowItemKind = Literal[
    "system",
    "tools",
    "mcp",
    "fields",
    "environment",
    "instructions",
    "handover",
    "observations",
    "fold",
    "user",
    "assistant",
    "output",
    "recalled",
    "pinned",
    "provider_count",
]
WindowItemState = Literal[
    "fixed",
    "cut",
    "not_read",
    "full",
    "preview",
    "extract",
    "recalled",
    "pinned",
    "cached",
    "repeated",
    "arguments_cached",
    "images_cached",
    "noted",
    "removed",
    "summarized",
    "excluded",
]
"""In which form a part of the request is sent; `repeated` is cached, its content stands elsewhere, too."""


class WindowItem(msgspec.Struct, frozen=True):
    """A row of the panel: a part of the request, its event (0: none), its tokens, and why it is there.

    `changed_since` is the event that changed the file which an output shows (0: none). `text` is what it says
    where it is only a part of a message, `part` its place in the opening, from 1 (0: it is none of it).
    `digest` names what a row stands for in the cache. Caching it now saves `cachable` tokens (0: it can't
    be); `excluded` is the event by which the user excluded it. `tool` is what an output is of, `is_denied`
    says that it didn't run. An answer that only calls tools has no words. `question` is the event of the
    message with which the user began its turn (0: it is of none, or of all of one or more), `question_name`
    its words, `turn` the number of that turn.
    `whole` are the tokens of all of an output that is sent in part, or was sent whole before it was cached
    (0: neither, or they were never counted), `recalled` those in a message of outputs that the user recalled.
    """

    seq: int
    kind: WindowItemKind
    name: str
    tokens: int
    state: WindowItemState
    why: str
    changed_since: int = 0
    text: str = ""
    part: int = 0
    digest: str = ""
    cachable: int = 0
    can_exclude: bool = False
    excluded: int = 0
    tool: str = ""
    is_denied: bool = False
    has_words: bool = True
    question: int = 0
    question_name: str = ""
    turn: int = 0
    whole: int = 0
    recalled: int = 0


def break_down_window(
    window: Window, transcript: Transcript, frame: PromptFrame, effort: SentEffort = ""
) -> tuple[WindowItem, ...]:
    """Return the rows of a window in message order; their tokens add up to its estimate.

    `effort` is the level of reasoning that the request asks for.
    """
    rows = []
    if frame.system:
        tokens = frame.system_tokens + FRAMING_TOKENS
        why = text("First in every request")
        rows.append(WindowItem(0, "system", text("System prompt"), tokens, "fixed", why, text=frame.system))
    rows += _tool_items(frame)
    rows += _field_items(frame.info.extras, effort)
    rows += [
        _opening_item(standing, part, transcript) for part, standing in enumerate(transcript.opening or (), 1)
    ]
    turns = [_turn_of(entry, transcript) for entry in window.entries]
    questions = {turn: _question(turn, transcript) for turn in {*turns}}
    for entry, tokens, turn in zip(window.entries, window.entry_tokens, turns, strict=True):
        row = _with_actions(_entry_item(entry, tokens, transcript), entry, transcript)
        seq, name = questions[turn]
        rows.append(msgspec.structs.replace(row, question=seq, question_name=name, turn=turn))
    sent = sent_outputs(window.entries, transcript)
    why = text("A short description: the same content is in the context elsewhere")
    return tuple(
        msgspec.structs.replace(row, state="repeated", why=why)
        if row.state == "cached"
        and (item := transcript.messages.item(row.seq)) is not None
        and isinstance(item.event, ToolAnswered)
        and is_repeated(item.event, sent)
        else row
        for row in rows
    )


def _turn_of(entry: WindowEntry, transcript: Transcript) -> int:
    if isinstance(entry, SummaryBlock) and not getattr(entry.event, "kept", 0):
        first, last, is_part = turn_range(transcript, entry.after, entry.upto)
        return first if first == last and is_part else 0
    return entry.turn if isinstance(entry, LogItem) else 0


def _question(turn: int, transcript: Transcript) -> tuple[int, str]:
    first = transcript.messages.item(transcript.messages.first_seq(turn)) if turn else None
    if first is None or not isinstance(first.event, UserSpoke):
        return 0, ""
    return first.seq, _message_name(first.event)


def _field_items(extras: RequestExtras, effort: SentEffort) -> list[WindowItem]:
    """Return the row of what goes along beside the messages; a secret's value is in no text."""
    names = ", ".join([*extras.headers, *extras.secret_headers, *extras.body])
    if effort and names:
        why = text("Effort {effort}, {names}", effort=effort, names=names)
    elif effort:
        why = text("Effort {effort}", effort=effort)
    elif names:
        why = verbatim(names)
    else:
        return []
    lines = [
        *([f"effort: {effort}"] if effort else []),
        *(f"{name}: {value}" for name, value in extras.headers.items()),
        *(f"{name}: •••" for name in extras.secret_headers),
        *([json.dumps(extras.body, indent=2, ensure_ascii=False)] if extras.body else []),
    ]
    return [WindowItem(0, "fields", text("Also sent"), 0, "fixed", why, text="\n".join(lines))]


def _tool_items(frame: PromptFrame) -> list[WindowItem]:
    mcp_names = [spec.name for spec in frame.tools if spec.is_mcp] or frame.deferred_tools
    own = sum(not spec.is_for_mcp for spec in frame.tools)
    name = text.plural(own, "%n tool", "%n tools")
    why = text("Tool descriptions")
    rows = [WindowItem(0, "tools", name, frame.tools_tokens - frame.mcp_tokens, "fixed", why)]
    if mcp_names:
        name = text.plural(len(mcp_names), "%n MCP tool", "%n MCP tools")
        servers = len({name.split("__")[1] for name in mcp_names})
        why = text.plural(
            servers, "From %n server in Settings → MCP servers", "From %n servers in Settings → MCP servers"
        )
        if frame.deferred_tools:
            why = text.plural(
                servers,
                "Only named, from %n server: the agent looks up what it needs",
                "Only named, from %n servers: the agent looks up what it needs",
            )
        rows.append(WindowItem(0, "mcp", name, frame.mcp_tokens, "fixed", why))
    return rows


_STANDING_NAMES: dict[StandingKind, TranslatableText] = {
    "environment": text("Date, folder, system"),
    "skills": text("Skills"),
    "personal": text("For all workspaces"),
    "workspace": text("For this workspace"),
    "run": text("For this run"),
}
_STANDING_STATES: dict[StandingProblem, WindowItemState] = {"": "fixed", "cut": "cut", "gone": "fixed"}
_PROBLEMS: dict[StandingProblem, TranslatableText] = {
    "gone": text("The file was deleted"),
    "refused": text("A link leads out of the workspace, or the agent may not read it"),
    "no_room": text("The instructions before it take all the room there is for them"),
    "binary": text("It isn't text"),
    "unreadable": text("It can't be read"),
}


def _standing_item(
    standing: StandingText, seq: int = 0, event: InstructionsAdded | None = None, *, is_planned: bool = False
) -> WindowItem:
    kind: WindowItemKind = "environment" if standing.kind == "environment" else "instructions"
    state = _STANDING_STATES.get(standing.problem, "not_read")
    if standing.problem in _PROBLEMS:
        why = _PROBLEMS[standing.problem]
    elif event is None:
        why = text("Sent with the first message") if is_planned else text("Sent at the start")
    elif event.changed:
        why = text("Changed on disk")
    elif folder := standing.path.rpartition("/")[0]:
        why = text("The agent works in {folder}", folder=folder)
    else:
        why = text("New on disk")
    if standing.kind == "skills" and standing.problem != "gone":
        share = 100 // SKILLS_SHARE
        limit = text("at most {share} % of the context window", share=share)
        if standing.problem == "cut":
            limit = text("at most {share} % of the context window, so some are only named", share=share)
        why = text("{reason} · {limit}", reason=why, limit=limit)
    elif standing.problem == "cut":
        why = text("{reason} · the file has {size}", reason=why, size=ByteSize(standing.size))
    tokens = standing.tokens + (FRAMING_TOKENS if event is not None else 0)
    name = _STANDING_NAMES.get(standing.kind, standing.path)
    return WindowItem(seq, kind, name, tokens, state, why, text=standing.text)


def _opening_item(standing: StandingText, part: int, transcript: Transcript) -> WindowItem:
    row = _standing_item(standing, is_planned=not transcript.opening_seq)
    row = msgspec.structs.replace(row, part=part, can_exclude=bool(transcript.opening_seq))
    event = transcript.rewrites.excluded_texts.get(part)
    return _excluded_item(row, event, transcript) if event is not None else row


def _with_actions(item: WindowItem, entry: WindowEntry, transcript: Transcript) -> WindowItem:
    tool = entry.event.name if isinstance(entry.event, ToolAnswered) else ""
    is_excludable = can_exclude(entry, transcript)
    digest = _digest_of(entry)
    is_denied = isinstance(entry.event, ToolAnswered) and entry.event.outcome == "denied"
    item = msgspec.structs.replace(
        item, can_exclude=is_excludable, digest=digest, tool=tool, is_denied=is_denied
    )
    if exclusions := transcript.window.exclusions_of(entry):
        tokens = transcript.window.entry_tokens(entry)
        # Its message holds the line that stands for it, no longer its text.
        item = msgspec.structs.replace(
            _excluded_item(item, exclusions[-1], transcript), tokens=tokens, text=""
        )
        if isinstance(entry, LogItem) and _is_named_elsewhere(entry, transcript):
            why = text("Left out by you · some of its names stay in a list until that is rewritten")
            item = msgspec.structs.replace(item, why=why)
    elif isinstance(entry, LogItem) and entry.seq not in transcript.rewrites.pinned:
        item = msgspec.structs.replace(item, cachable=max(0, transcript.window.sweep_savings(entry)))
    return item


def _is_named_elsewhere(item: LogItem, transcript: Transcript) -> bool:
    """Return True if the line of an earlier sweep names what an excluded output says: it never changes."""
    names = {*item.event.identifiers} if isinstance(item.event, ToolAnswered) else set[str]()
    sweeps = transcript.rewrites.anchors.values()
    return any(item.seq in sweep.swept and names & {*names_in_line(sweep.anchors)} for sweep in sweeps)


def _excluded_item(item: WindowItem, event: Excluded, transcript: Transcript) -> WindowItem:
    by_seq = transcript.rewrites.by_seq
    seq = next((seq for seq in reversed(by_seq) if by_seq[seq] is event), 0)
    why = text("Left out by you")
    return msgspec.structs.replace(
        item, state="excluded", why=why, excluded=seq, digest=event.digest, can_exclude=False, recalled=0
    )


def _digest_of(entry: WindowEntry) -> str:
    event = entry.event
    return event.digest if isinstance(event, ToolAnswered) else getattr(event, "index", "")


def _entry_item(entry: WindowEntry, tokens: int, transcript: Transcript) -> WindowItem:
    match entry:
        case SummaryBlock(event=HandoverMade() as made):
            why = (
                text("From the session “{title}”", title=made.origin_title)
                if made.origin
                else text("Replaces {messages}", messages=handover_counts(transcript, made).text)
            )
            name = handover_name(transcript, made)
            return WindowItem(entry.seq, "handover", name, tokens, "summarized", why)
        case SummaryBlock(event=FoldMade() as fold):
            state: WindowItemState = "removed" if fold.how == "truncate" else "noted"
            counts = transcript.messages.counts(fold.after, fold.upto)
            why = text("Replaces {messages}", messages=counts.text)
            name = summary_name(transcript, fold.after, fold.upto)
            return WindowItem(entry.seq, "fold", name, tokens, state, why)
        case SummaryBlock(covers=covers):
            counts = transcript.messages.counts(covers[0].after, entry.upto)
            why = text("Replaces {messages}", messages=counts.text)
            name = summary_name(transcript, covers[0].after, entry.upto)
            return WindowItem(entry.seq, "observations", name, tokens, "noted", why)
        case PinnedCopy(item=item):
            return WindowItem(item.seq, "pinned", _call_text(item), tokens, "pinned", text("Pinned by you"))
        case AddedInstructions(seq=seq, event=event):
            return _standing_item(event.text, seq, event)
        case LogItem():
            return _message_item(entry, tokens, transcript)


def _message_item(item: LogItem, tokens: int, transcript: Transcript) -> WindowItem:
    swept = item.seq in transcript.window.swept
    match item.event:
        case UserSpoke() as message:
            name = _message_name(message)
            why = _message_text(message)
            recalled = sum(
                attached.marker_tokens if swept and attached.image else attached.tokens
                for attached in message.attachments
                if attached.kind == "cached"
            )
            state: WindowItemState = "images_cached" if swept else "full"
            whole = item.tokens if swept else 0
            return WindowItem(item.seq, "user", name, tokens, state, why, recalled=recalled, whole=whole)
        case AssistantSpoke() as response:
            has_words = len(response.text.strip()) >= sum(len(call.arguments) for call in response.calls)
            name = text.plural(len(response.calls), "Agent: %n tool call", "Agent: %n tool calls")
            if has_words:
                name = _plain(response.text)
            state = "arguments_cached" if swept else "full"
            why = _step_text(item, transcript)
            whole = item.tokens if swept else 0
            return WindowItem(
                item.seq, "assistant", name, tokens, state, why, has_words=has_words, whole=whole
            )
        case ToolAnswered() as output:
            row = _output_item(item, output, tokens, swept, transcript)
            since = transcript.stale_digests.get(output.recalled or output.digest, 0)
            return msgspec.structs.replace(row, changed_since=since)


def _message_name(message: UserSpoke) -> str:
    """Return the user's words in a message, else what a program put into it."""
    if words := _plain(typed_text(message.text)):
        return words
    programs = program_texts(message.text)
    return _plain(programs[0].line) if programs else _plain(message.text) or text("Images")


def _message_text(message: UserSpoke) -> TranslatableText:
    """Return what a message is, and what is sent in it."""
    attached = message.attachments
    if len(attached) == 1:
        return text("Your message, with {name}", name=_short(attached[0].label))
    if attached:
        return text.plural(
            len(attached), "Your message, with %n attachment", "Your message, with %n attachments"
        )
    return text("Your message")


def _output_item(
    item: LogItem, output: ToolAnswered, tokens: int, swept: bool, transcript: Transcript
) -> WindowItem:
    name = _call_text(item)
    counted = output.full_tokens or (output.tokens if output.form == "full" else 0)
    whole = output_tokens(counted) if counted else 0
    chosen_form = transcript.rewrites.chosen_forms.get(item.seq)
    form = chosen_form.form if chosen_form else output.form
    is_full = form == "full" and bool(output.whole or chosen_form or output.recalled)
    if swept:
        why = text("{size} stored", size=ByteSize(output.size))
        return WindowItem(item.seq, "output", name, tokens, "cached", why, whole=whole if is_full else 0)
    if item.seq in transcript.rewrites.pinned:
        return WindowItem(item.seq, "pinned", name, tokens, "pinned", text("Pinned by you"))
    if output.recalled or output.name == RECALL_TOOL:  # the latter of earlier messages, too
        return WindowItem(item.seq, "recalled", name, tokens, "recalled", text("Requested by the agent"))
    if is_full:
        return WindowItem(item.seq, "output", name, tokens, "full", _step_text(item, transcript))
    why = text("{reason} · full output stored", reason=_chooser_text(output, chosen_form))
    state: WindowItemState = "extract" if form == "compact" else "preview"
    return WindowItem(item.seq, "output", name, tokens, state, why, whole=whole)


def _chooser_text(output: ToolAnswered, chosen_form: FormChosen | None) -> TranslatableText:
    """Return who chose the form of an output not shown in full, and for what instructions."""
    instructions = _short(chosen_form.asked if chosen_form else output.asked)
    by_user = bool(chosen_form) or output.chosen == "user"
    if instructions and (chosen_form or output.form == "compact"):
        if by_user:
            return text("You asked for: {instructions}", instructions=instructions)
        return text("The agent asked for: {instructions}", instructions=instructions)
    if by_user:
        return text("Chosen by you")
    match output.chosen:
        case "agent":
            return text("Chosen by the agent")
        case "timeout":
            return text("The model was too slow to choose a part")
    slow = output.intake_slow_model
    return (
        text("{model} wasn't asked: it was too slow before", model=slow)
        if slow
        else text("Over the size limit")
    )


def _step_text(item: LogItem, transcript: Transcript) -> TranslatableText:
    return text("Turn {turn}, request {step}", turn=item.turn, step=transcript.messages.step_in_turn(item))


def _call_text(item: LogItem) -> str:
    """Return a call's tool and target; of a recall also which part of the content it brought."""
    event = item.event
    if not isinstance(event, ToolAnswered):
        return ""
    return _short(" · ".join(filter(None, (f"{event.name} {event.target}", event.recalled_part))))


def _plain(text: str) -> str:
    """Return the beginning of a message without Markdown's marks, or of marks alone."""
    lines = map(plain_line, text[: _NAME_CHARS * 4].splitlines())
    return _short(" ".join(lines)) or _short(text)


def _short(text: str) -> str:
    return ellipsize(" ".join(text[: _NAME_CHARS * 4].split()), _NAME_CHARS)
