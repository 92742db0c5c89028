"""What the context panel shows: the rows of a request, their groups, the bar; plain facts, no Qt."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from helix_desktop.context.window.message_states import MessageState
from helix_desktop.context.window.used_tokens import UsageGauge
from helix_desktop.context.window.window_breakdown import WindowItem, WindowItemKind, WindowItemState
from helix_desktop.domain.digest import RECALL_TOOL
from helix_desktop.domain.files.file_use import tool_kind
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.ui.design.viewer.paged_content import PagedContent
from helix_desktop.words.call_targets import call_title, call_verb, shown_target
from helix_desktop.words.numbers import format_integer, format_tokens
from helix_desktop.words.state_words import OUTDATED, REPEATED, STATE_WORDS, explain_outdated
from helix_desktop.words.translation import Translator, translate

tr = Translator("Panel")
text = TextContext("Panel")

_FOLDERS = re.compile(r"^((?:[a-z_]+ )?)(?:[\w.@+-]+/)+")  # of a recalled file, behind the tool that read it

RowAction: TypeAlias = Literal[
    "show", "cache", "send_full", "undo", "open", "pin", "unpin", "exclude", "include"
]
"""What the user can do with a row: find it in the chat, replace it by a marker, send all of it where less is
sent, open the content in the cache (to recall lines of it), pin, unpin, exclude, bring back."""

_CACHED: tuple[WindowItemState, ...] = ("cached", "repeated", "arguments_cached", "images_cached")

SegmentKind: TypeAlias = WindowItemKind | Literal["reserve", "free"]


class SegmentLook(NamedTuple):
    """A part of the window in bar, legend and list: its name, the token of its color, and what it is.

    There are three colors: what is always sent, summaries, and turns, each the dot of its rows in the list.
    """

    label: TranslatableText
    color: str
    tip: str = ""


SEGMENT_LOOKS: dict[SegmentKind, SegmentLook] = {
    "system": SegmentLook(text("System prompt"), "seg_fixed"),
    "tools": SegmentLook(text("Tools"), "seg_fixed"),
    "mcp": SegmentLook(text("MCP tools"), "seg_fixed"),
    "fields": SegmentLook(text("Also sent"), "seg_fixed"),
    "environment": SegmentLook(text("Date, folder, system"), "seg_fixed"),
    "instructions": SegmentLook(text("Instructions"), "seg_fixed"),
    "handover": SegmentLook(
        STATE_WORDS["folded"].label,
        STATE_WORDS["folded"].color,
        text("Older messages in a shorter form. The agent can recall all of them."),
    ),
    "pinned": SegmentLook(text("Pinned"), "seg_turn"),
    "user": SegmentLook(text("You"), "seg_turn", text("Your messages, with the files that you attached.")),
    "assistant": SegmentLook(text("Agent"), "seg_turn"),
    "output": SegmentLook(text("Tool outputs"), "seg_turn"),
    "recalled": SegmentLook(
        text("Recalled"),
        "seg_turn",
        text("Outputs that the agent recalled, or you into your messages."),
    ),
    "provider_count": SegmentLook(text("Your provider counts more"), "seg_fixed"),
    "reserve": SegmentLook(text("Room for the answer"), "scrollbar"),
    "free": SegmentLook(text("Free", "of the context window"), "seg_free"),
}


class Segment(msgspec.Struct, frozen=True):
    kind: SegmentKind
    label: str
    tokens: int


class WindowRow(WindowItem, frozen=True):
    """A part of the next request, in words.

    After a change of it, `resent` tokens that the provider has cached are read again. Its own `tokens` have
    their share of what the provider counts a little more or less; all others are by Helix's count. A heading
    is no part of the request: it stands for what is always sent, or for a turn, whose question below it
    `is_in_turn`. `room` is how many tokens fit before older parts leave, which they
    only do while the context `is_managed`. The undo of a summary adds `undo_tokens` to the context, and
    restores `undo_parts`, in words. `undo_refused` says why its way back can't be taken.
    """

    resent: int = 0
    room: int | None = None
    is_managed: bool = True
    is_heading: bool = False
    is_in_turn: bool = False
    undo_tokens: int = 0
    undo_parts: tuple[str, ...] = ()
    undo_refused: str = ""

    @property
    def label(self) -> str:
        """Return what it is, in a few words; `name` has all of it. A question has its turn's number."""
        if self.is_in_turn:
            return tr("Your message")
        if self.turn and self.seq == self.question:
            return tr("Turn {number} · {question}", number=format_integer(self.turn), question=self.name)
        if self.tool:
            target = self.name.removeprefix(f"{self.tool} ")
            if tool_kind(self.tool) in ("read", "write", "edit"):
                target = ", ".join(path.rpartition("/")[2] or path for path in target.split(", "))
            elif self.tool == RECALL_TOOL:  # in a narrow list its name says most
                target = _FOLDERS.sub(r"\1", target)
                verb = tr("Denied") if self.is_denied else call_verb(self.tool, "done", target)
                return f"{verb} {shown_target(self.tool, target, is_attached=True)}"
            return call_title(self.tool, target, tr("Denied") if self.is_denied else "")
        return tr("Answer") if self.kind == "assistant" and self.has_words else self.name

    @property
    def actions(self) -> tuple[RowAction, ...]:
        is_output = self.kind in ("output", "recalled")
        possible: dict[RowAction, bool] = {
            "show": bool(self.seq),
            "include": bool(self.excluded),
            "cache": self.cachable > 0,
            "send_full": self.state in _CACHED or (self.state in ("preview", "extract") and is_output),
            "undo": self.is_summary,
            "open": bool(self.digest) and not self.is_summary,
            "pin": is_output and not self.excluded,
            "unpin": self.kind == "pinned",
            "exclude": self.can_exclude,
        }
        return tuple(action for action, is_possible in possible.items() if is_possible)

    @property
    def way_back(self) -> RowAction | None:
        """Return what brings back all of what left; None if nothing did."""
        return next((action for action in self.actions if action in ("include", "send_full", "undo")), None)

    def can_act(self, action: RowAction) -> bool:
        return action not in ("send_full", "undo") or not self.undo_refused

    @property
    def missing(self) -> int:
        """Return how many tokens its way back adds to the context."""
        return self.undo_tokens if self.way_back == "undo" else self.whole - self.tokens

    @property
    def is_summary(self) -> bool:
        return self.kind == "handover" and not self.excluded

    @property
    def has_more_stored(self) -> bool:
        """Return True if less is sent of it than what its stored output has."""
        return bool(self.tool and self.digest) and self.state not in ("full", "recalled", "pinned")

    @property
    def is_sent_in_part(self) -> bool:
        """Return True if a part of an output is sent, of which it is known how much that is."""
        return self.whole > 0 and self.state not in _CACHED

    @property
    def was_sent_whole(self) -> bool:
        return self.whole > 0 and not self.is_sent_in_part

    @property
    def tokens_text(self) -> str:
        """Return how much of it is sent: `701 of 6.4k` of what is sent in part."""
        tokens = format_tokens(self.tokens)
        if not self.is_sent_in_part:
            return tokens
        return tr("{part} of {whole}", part=tokens, whole=format_tokens(self.whole))

    @property
    def state_text(self) -> str:
        """Return in which form it is sent, in a word or two; empty where there is nothing to say."""
        return "" if self.is_heading and not self.seq else _state_words(self.state)[0]

    @property
    def unusual_state(self) -> str:
        """Return its state; nothing for what is sent as it is, or of which the tokens say how much is."""
        is_usual = self.state in ("fixed", "full", "recalled")
        return "" if self.is_summary or self.is_sent_in_part or is_usual else self.state_text

    @property
    def counts_in_group(self) -> bool:
        """Return True if its group says its state; the name of a summary says that in its own row."""
        return not self.is_heading and bool(self.unusual_state or self.is_summary)

    @property
    def state_color(self) -> str:
        """Return the token of the color of the state that is said of it; empty where it has none."""
        state = _STATES.get(self.state)
        return STATE_WORDS[state].color if state and self.counts_in_group and not self.is_outdated else ""

    @property
    def is_outdated(self) -> bool:
        """Return True if it is sent, and shows a file that has changed since."""
        return self.changed_since > 0 and self.state not in ("cached", "repeated", "excluded")

    @property
    def shown_states(self) -> list[str]:
        """Return the states that its row shows, at most one: a second one leaves no room for the name."""
        if self.is_heading:
            return []
        state = translate(OUTDATED) if self.is_outdated else self.unusual_state
        return [state] if state else []

    @property
    def explanation(self) -> str:
        """Return what its state means where that is unusual."""
        outdated = explain_outdated() if self.is_outdated else ""
        if self.changed_since and self.state in ("cached", "repeated"):
            outdated = tr("The file has changed since it was read.")
        explained = "" if self.is_heading else _state_words(self.state)[1]
        back = tr("Undo restores {parts}.", parts=self.undo_parts) if self.undo_parts else ""
        return "\n".join(filter(None, (explained, outdated, back, self.undo_refused, self.room_text)))

    @property
    def room_text(self) -> str:
        """Return that there is too little room for all of it, and what follows; empty if there is enough."""
        if self.room is None or self.missing <= self.room or self.undo_refused:
            return ""
        tokens = format_tokens(self.missing)
        room = format_tokens(self.room)
        if tokens == room:
            tokens = format_integer(self.missing)
            room = format_integer(self.room)
        if not self.is_managed:
            return tr("That adds {tokens} tokens where {room} fit.", tokens=tokens, room=room)
        return tr(
            "That adds {tokens} tokens where {room} fit, so the next request caches or compacts older "
            "parts again.",
            tokens=tokens,
            room=room,
        )

    @property
    def tooltip(self) -> str:
        return "\n".join(filter(None, (self.name, self.why, self.explanation)))


class RequestGroup(msgspec.Struct, frozen=True):
    """Rows that are one while closed: what is always sent, or a turn, with its question or heading first."""

    rows: tuple[WindowRow, ...]

    @property
    def label(self) -> str:
        return self.rows[0].label

    @property
    def tokens_text(self) -> str:
        return format_tokens(sum(row.tokens for row in self.rows))

    @property
    def states(self) -> list[str]:
        """Return of how many rows in it the state is unusual, the commonest first; if part is compacted."""
        counts = Counter(row.state_text for row in self.rows if row.counts_in_group and not row.is_summary)
        states = [
            tr("{count} {state}", count=format_integer(count), state=state.lower())
            for state, count in counts.most_common()
        ]
        return [*states, tr("part compacted")] if any(row.is_summary for row in self.rows) else states

    @property
    def shown_states(self) -> list[str]:
        """Return what its row has room for beside its name: one of them."""
        return self.states[:1]

    @property
    def state_color(self) -> str:
        """Return that of the commonest state."""
        colors = Counter(row.state_color for row in self.rows if row.counts_in_group)
        return next((color for color, _ in colors.most_common()), "")

    @property
    def tooltip(self) -> str:
        return "\n".join((self.label, *self.states))


def request_groups(rows: Sequence[WindowRow]) -> list[RequestGroup]:
    """Return all rows in groups: one of a single row is a row of its own.

    What is of no turn is in a group if rows of its turn stand on both sides.
    """
    groups: list[list[WindowRow]] = []
    between: list[WindowRow] = []
    for row in rows:
        if row.seq and not row.question:
            between.append(row)
        elif groups and groups[-1][0].question == row.question:
            groups[-1] += [*between, row]
            between = []
        else:
            groups += [[each] for each in between] + [[row]]
            between = []
    groups += [[each] for each in between]
    return [_with_heading(group) for group in groups]


def _with_heading(rows: Sequence[WindowRow]) -> RequestGroup:
    first = rows[0]
    if not first.seq and len(rows) > 1:
        head = WindowRow(0, "system", tr("Instructions, tools"), 0, "fixed", "", is_heading=True)
        return RequestGroup((head, *rows))
    if not first.question or (first.question == first.seq and len(rows) == 1):
        return RequestGroup((*rows,))
    seq = first.question
    turn = first.turn
    if seq == first.seq:
        head = WindowRow(
            *(seq, "user", first.name, 0, "full", first.why), question=seq, turn=turn, is_heading=True
        )
        return RequestGroup((head, replace(first, is_in_turn=True), *rows[1:]))
    why = tr("The beginning of this turn was compacted; the rest is still sent.")
    head = WindowRow(
        *(seq, "user", first.question_name, 0, "noted", why), question=seq, turn=turn, is_heading=True
    )
    return RequestGroup((head, *rows))


_STATES: dict[WindowItemState, MessageState | Literal["in_part"]] = {
    "preview": "in_part",
    "extract": "in_part",
    "cached": "cached",
    "repeated": "cached",
    "arguments_cached": "cached",
    "images_cached": "cached",
    "noted": "folded",
    "removed": "truncated",
    "summarized": "handed_over",
    "excluded": "excluded",
}
"""What is not in the context as it was; of anything else the words are of what stands in it."""


def _state_words(state: WindowItemState) -> tuple[str, str]:
    """Return in which form a part is sent, and what that means if it is unusual."""
    sent: dict[WindowItemState, str] = {
        "fixed": tr("Always sent"),
        "cut": tr("Cut short"),
        "not_read": tr("Not read"),
        "recalled": tr("Recalled"),
        "pinned": tr("Pinned"),
    }
    words = STATE_WORDS[_STATES.get(state, "in_window")]
    meaning = translate(REPEATED.tooltip if state == "repeated" else words.tooltip)
    if state == "arguments_cached":
        meaning = " ".join((tr("What the agent wrote in tool calls."), meaning))
    return sent.get(state) or translate(words.label), meaning if state in _STATES else ""


class RequestTexts(msgspec.Struct, frozen=True):
    """A whole request: `title` says which, `note` what of it differs from what is sent.

    `made_of` is all that the texts of the next request depend on (empty: of a past one, which stays).
    Made in a thread.
    """

    title: str
    note: str
    messages: PagedContent
    json: PagedContent
    made_of: tuple[object, ...] = ()


class PanelState(msgspec.Struct, frozen=True):
    """The next request in numbers and in order; tokens everywhere.

    `compaction_text` says when the conversation is compacted, or why it isn't. `cost_text` is what the
    request costs, `discount_text` how much of the session's input was billed at the provider's discount.
    `past` says of which step the request is, if it was sent already, `past_figures` when and how large, and
    `past_note` what of it is not as it was.
    """

    gauge: UsageGauge
    segments: tuple[Segment, ...] = ()
    rows: tuple[WindowRow, ...] = ()
    compaction_text: str = ""
    is_managed: bool = True
    own_policy: str = ""  # of the session; empty: the workspace's
    cost_text: str = ""
    discount_text: str = ""
    past: str = ""
    past_figures: str = ""
    past_note: str = ""
