"""The message log: a session's messages in order, found by event, by turn and by tokens."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from copy import copy
from operator import attrgetter
from typing import TypeVar

from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.domain.events.conversation import (
    AssistantSpoke,
    MessageEvent,
    ToolAnswered,
    UserSpoke,
)
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.question import answered_text, decision_text, denial_reason
from helix_desktop.domain.store import MessageCounts
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.typed_text import is_of_programs, typed_share

_State = TypeVar("_State")


def forked(state: _State) -> _State:
    """Return a copy with lists and dicts of its own; all else is shared."""
    fork = copy(state)
    for name, value in vars(state).items():
        if isinstance(value, list | dict):
            setattr(fork, name, copy(value))
    return fork


_ASKING_TOOLS = frozenset({
    "askuserquestion", "askuser", "askfollowupquestion", "askquestion", "askhuman", "question", "elicit",
    "requestuserinput", "requestinput", "getuserinput", "userinput", "humaninput", "promptuser",
})  # fmt: skip
"""Names of tools that ask the user, without `_` and in lower case: of this agent, and of recorded ones."""
_PAIR = re.compile(r'"((?:[^"\\]|\\.)+)"\s*=\s*"((?:[^"\\]|\\.)+)"')
_CALL_CHARS = 80  # of a call that the user denied
_MAX_CHARS = 2_000  # of an answer that has no pairs of question and reply
_LEAST_REPORTED_SHARE = 0.5  # of our count: no tokenizer needs fewer tokens than that
FRAMING_TOKENS = 4  # tokens that a wire format adds to each message, and to each call


def tokens_of(event: MessageEvent) -> int:
    """Return the tokens of a message in its original shown form, framing included."""
    match event:
        case UserSpoke(tokens=tokens, attachments=attachments):
            return tokens + sum(attachment.tokens for attachment in attachments) + FRAMING_TOKENS
        case AssistantSpoke(tokens=tokens, calls=calls):
            return tokens + FRAMING_TOKENS * (1 + len(calls))
        case ToolAnswered(tokens=tokens):
            return tokens + FRAMING_TOKENS


def _hidden_tokens_of(event: MessageEvent) -> int:
    """Return the tokens of what a message, shown in part, does not show."""
    if isinstance(event, AssistantSpoke):
        return 0
    if isinstance(event, ToolAnswered):
        return max(0, event.full_tokens - event.tokens)
    return sum(max(0, part.full_tokens - part.tokens) for part in event.attachments)


def saving_of(event: MessageEvent) -> int:
    """Return the tokens that markers save of a message's original form; 0 if it can have none."""
    match event:
        case ToolAnswered(digest=digest) if digest:
            return event.tokens - event.marker_tokens
        case AssistantSpoke(short=short) if short:
            return event.tokens - event.short_tokens
        case UserSpoke(attachments=attachments, short=short):
            of_attachments = sum(
                attachment.tokens - attachment.marker_tokens
                for attachment in attachments
                if attachment.image or attachment.marker_tokens
            )
            return of_attachments + (short.saved if short is not None else 0)
    return 0


def word_tokens_of(event: MessageEvent) -> int:
    """Return the approximate tokens of a message's plain text: an agent's without its calls."""
    match event:
        case UserSpoke(text=text, tokens=tokens):
            return int(tokens * typed_share(text))
        case AssistantSpoke(text=text, calls=calls, tokens=tokens) if text:
            called = sum(len(call.name) + len(call.arguments) for call in calls)
            return tokens * len(text) // max(1, len(text) + called)
    return 0


def user_decision(output: ToolAnswered) -> str | None:
    """Return question and reply on one line, empty if it was skipped; None: the user said nothing in it.

    A call that the user denied with words counts: they say what to do instead, and come first.
    """
    if output.outcome == "denied":
        call = ellipsize(" ".join(f"denied {output.name} {output.target}".split()), _CALL_CHARS)
        reason = " ".join(denial_reason(output.text).split())
        return f"{reason} ({call})" if reason else None
    if output.reply is not None:
        return decision_text(output.target, output.reply)
    if output.name.replace("_", "").replace("-", "").lower() not in _ASKING_TOOLS:
        return None
    if not output.ok or output.outcome != "ran":
        return None
    pairs = _PAIR.findall(output.text)
    if pairs:
        return "; ".join(answered_text(question, reply) for question, reply in pairs)
    return answered_text(output.target, output.text[:_MAX_CHARS])


def _with_message(counts: MessageCounts, event: MessageEvent) -> MessageCounts:
    if isinstance(event, ToolAnswered):
        return MessageCounts(counts.messages, counts.calls + 1)
    if isinstance(event, UserSpoke):
        return MessageCounts(counts.messages + (not is_of_programs(event.text)), counts.calls)
    has_text = bool(event.text.strip())
    return MessageCounts(counts.messages + has_text, counts.calls)


def _seq(item: LogItem) -> int:
    return item.seq


def _between(items: list[LogItem], after: int, upto: int) -> list[LogItem]:
    return items[bisect_right(items, after, key=_seq) : bisect_right(items, upto, key=_seq)]


class MessageLog:
    """The messages of a session.

    `user_items` are the user's, `user_words` these and the answers with the user's reply to a question,
    `reported_items` the agent's for which the provider reported its input, believably of the whole request.
    """

    def __init__(self) -> None:
        self.items: list[LogItem] = []
        self.user_items: list[LogItem] = []
        self.user_words: list[LogItem] = []
        self.reported_items: list[LogItem] = []
        self.steps = 0
        self.turns = 0
        self._seqs: list[int] = []
        self._cumulative: list[int] = []
        self._cumulative_full: list[int] = []
        self._counts: list[MessageCounts] = []  # up to and including each item
        self._steps_beyond: dict[tuple[int, int], int] = {}

    def append(self, recorded: RecordedEvent, event: MessageEvent) -> LogItem:
        tokens = tokens_of(event)
        cumulative = self.total_tokens + tokens
        item = LogItem(
            recorded.seq,
            recorded.at,
            self.steps,
            self.turns,
            event,
            tokens,
            cumulative,
            saving_of(event),
            word_tokens_of(event),
        )
        self.items.append(item)
        match event:
            case UserSpoke():
                self.user_items.append(item)
                self.user_words.append(item)
            case ToolAnswered() if user_decision(event) is not None:
                self.user_words.append(item)
            case AssistantSpoke(usage=usage, estimate=estimate):
                # Some local servers report zeros, or leave out tools or what they had cached.
                if usage and usage.input >= max(1, estimate * _LEAST_REPORTED_SHARE) and estimate:
                    self.reported_items.append(item)
        self._counts.append(_with_message(self._counts[-1] if self._counts else MessageCounts(), event))
        self._seqs.append(recorded.seq)
        self._cumulative.append(cumulative)
        self._cumulative_full.append(self.full_total_tokens + tokens + _hidden_tokens_of(event))
        return item

    def drop_after(self, seq: int) -> None:
        count = self.position(seq)
        del self.items[count:], self._seqs[count:], self._counts[count:]
        del self._cumulative[count:], self._cumulative_full[count:]
        for items in (self.user_items, self.user_words, self.reported_items):
            del items[bisect_right(items, seq, key=_seq) :]
        self._steps_beyond.clear()
        self.steps, self.turns = (self.items[-1].step, self.items[-1].turn) if self.items else (0, 0)

    def position(self, seq: int) -> int:
        """Return how many items lie at or before `seq`."""
        return bisect_right(self._seqs, seq)

    def step_in_turn(self, item: LogItem) -> int:
        """Return the number of a message's model call in its turn, from 1; 0: it came before the first."""
        first = bisect_left(self.items, item.turn, key=attrgetter("turn"))
        return item.step - (self.items[first - 1].step if first else 0)

    def first_seq(self, turn: int) -> int:
        """Return the first event of a turn's messages, or of the next one's; behind all if there are none."""
        place = bisect_left(self.items, turn, key=attrgetter("turn"))
        if place < len(self.items):
            return self.items[place].seq
        return self._seqs[-1] + 1 if self._seqs else 1

    def item(self, seq: int) -> LogItem | None:
        """Return the message recorded as `seq`, or None if that event is no message."""
        index = self.position(seq) - 1
        return self.items[index] if index >= 0 and self.items[index].seq == seq else None

    def between(self, after: int, upto: int) -> list[LogItem]:
        """Return the messages after `after` up to and including `upto`, whether covered or not."""
        return self.items[self.position(after) : self.position(upto)]

    def counts(self, after: int = 0, upto: int | None = None) -> MessageCounts:
        """Return how many messages and tool calls lie after `after`, up to and including `upto` or all."""
        first = self.position(after)
        end = len(self._counts) if upto is None else self.position(upto)
        begin = self._counts[first - 1] if first else MessageCounts()
        ends = self._counts[end - 1] if end else MessageCounts()
        return MessageCounts(ends.messages - begin.messages, ends.calls - begin.calls)

    def users_between(self, after: int, upto: int) -> list[LogItem]:
        return _between(self.user_items, after, upto)

    def user_words_between(self, after: int, upto: int) -> list[LogItem]:
        return _between(self.user_words, after, upto)

    def step_beyond(self, item: LogItem, tokens: int) -> int | None:
        """Return the model call at which `tokens` tokens followed an item; None while fewer do."""
        step = self._steps_beyond.get((item.seq, tokens))
        if step is None:
            index = bisect_left(self._cumulative, item.cumulative_tokens + tokens)
            if index == len(self.items):
                return None
            step = self._steps_beyond[item.seq, tokens] = self.items[index].step
        return step

    def tokens_before(self, seq: int) -> int:
        """Return the tokens of all messages before an event, in the form that was first shown."""
        place = self.position(seq - 1)
        return self._cumulative[place - 1] if place else 0

    @property
    def total_tokens(self) -> int:
        return self._cumulative[-1] if self._cumulative else 0

    @property
    def full_total_tokens(self) -> int:
        """Return the tokens of all messages, with large outputs in full."""
        return self._cumulative_full[-1] if self._cumulative_full else 0

    def full_tokens_after(self, seq: int) -> int:
        count = self.position(seq)
        return self.full_total_tokens - (self._cumulative_full[count - 1] if count else 0)

    def fork(self) -> MessageLog:
        return forked(self)
