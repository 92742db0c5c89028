"""The window: what one request contains, as a pure projection of log, policy and model (invariant 2)."""

from __future__ import annotations

import msgspec

from helix_desktop.context import handover as handovers
from helix_desktop.context import observation
from helix_desktop.context.digest import marker
from helix_desktop.context.event import (
    AssistantSpoke,
    FoldMade,
    HandoverMade,
    ObservationsMade,
    ToolAnswered,
    UserSpoke,
)
from helix_desktop.context.layout import Block, Entry, Item, PinnedCopy
from helix_desktop.context.message import Message, ModelInfo, Request, ToolCall, ToolSpec
from helix_desktop.context.policy import Policy
from helix_desktop.context.transcript import FRAMING, Transcript

NO_OUTPUT = "(no output)"


class Frame(msgspec.Struct, frozen=True):
    """What stands around a conversation: the model, the system prompt, the tools; with their tokens."""

    info: ModelInfo
    system: str
    tools: tuple[ToolSpec, ...] = ()
    system_tokens: int = 0
    tools_tokens: int = 0


class Window(msgspec.Struct, frozen=True):
    """A request, the entries it shows in the order of its messages, and its tokens as we count them.

    `shares` are the tokens of each entry.
    """

    request: Request
    entries: tuple[Entry, ...]
    shares: tuple[int, ...]
    estimate: int


class Projector:
    """Projects the windows of one session, and keeps the messages that stay the same."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, bool], Message] = {}
        self._rewrite = 0

    def project(self, transcript: Transcript, policy: Policy, frame: Frame) -> Window:
        """What would be sent now. Same input, same bytes, whatever was projected before."""
        if transcript.last_rewrite != self._rewrite:
            self._kept.clear()
            self._rewrite = transcript.last_rewrite
        messages = [Message("system", frame.system)] if frame.system else []
        entries = in_call_order(transcript.live())
        shares: list[int] = []
        for entry in entries:
            if isinstance(entry, Block) and isinstance(entry.event, HandoverMade):
                message, tokens = _handover(transcript, policy, frame, entry.event)
            else:
                message, tokens = self._message(entry, transcript), transcript.shown_tokens(entry)
            messages.append(message)
            shares.append(tokens)
        framing = FRAMING if frame.system else 0
        estimate = sum(shares) + frame.system_tokens + framing + frame.tools_tokens
        return Window(Request(tuple(messages), frame.tools), tuple(entries), tuple(shares), estimate)

    def _message(self, entry: Entry, transcript: Transcript) -> Message:
        item = entry.item if isinstance(entry, PinnedCopy) else entry
        key = (item.seq, isinstance(entry, PinnedCopy))
        if key not in self._kept:
            self._kept[key] = message_of(entry, transcript)
        return self._kept[key]


def project(transcript: Transcript, policy: Policy, frame: Frame) -> Window:
    """What would be sent now, made from nothing but these."""
    return Projector().project(transcript, policy, frame)


def _handover(
    transcript: Transcript, policy: Policy, frame: Frame, handover: HandoverMade
) -> tuple[Message, int]:
    texts = handovers.user_texts(transcript, handover, policy.user_text_tokens, frame.info.window)
    text = handovers.render(handover, handovers.quoted(texts))
    return Message("user", text), handover.tokens + sum(n + FRAMING for _, _, n in texts) + FRAMING


def in_call_order(entries: list[Entry]) -> list[Entry]:
    """The same entries with each step's answers in the order of its calls, not of their completion."""
    ordered: list[Entry] = []
    places: dict[str, int] = {}
    answers: list[Item] = []
    for entry in entries:
        if isinstance(entry, Item) and isinstance(entry.event, ToolAnswered):
            answers.append(entry)
            continue
        if answers:
            ordered += _placed(answers, places)
            answers = []
        ordered.append(entry)
        if isinstance(entry, Item) and isinstance(entry.event, AssistantSpoke):
            places = {call.id: place for place, call in enumerate(entry.event.calls)}
    return ordered + _placed(answers, places)


def _placed(answers: list[Item], places: dict[str, int]) -> list[Item]:
    if len(answers) < 2:  # noqa: PLR2004 - one is in order
        return answers
    return sorted(answers, key=lambda one: places.get(one.event.call_id, len(places)))  # type: ignore[union-attr]


def message_of(entry: Entry, transcript: Transcript) -> Message:
    """An entry as it is sent. A handover's own words of the person depend on the policy: not made here."""
    match entry:
        case PinnedCopy(item=item):
            return Message("user", _pinned_text(item, transcript))
        case Block(event=FoldMade(text=text)):
            return Message("user", text)
        case Block(covers=covers):
            made = [one.event for one in covers if isinstance(one.event, ObservationsMade)]
            return Message("user", observation.render(made, transcript))
    match entry.event:
        case UserSpoke() as said:
            return Message("user", user_text(said))
        case AssistantSpoke() as spoke:
            calls = _short_calls(spoke) if entry.seq in transcript.masked else spoke.calls
            return Message("assistant", spoke.text, calls, verbatim=spoke.verbatim)
        case ToolAnswered() as answer:
            text = output_text(entry, answer, transcript)
            return Message(
                "tool", text if text.strip() else NO_OUTPUT, call_id=answer.call_id, name=answer.name
            )


def output_text(item: Item, answer: ToolAnswered, transcript: Transcript) -> str:
    """The form of an output that stands in the window: marker, the form the person chose, or as it came."""
    if item.seq in transcript.masked:
        return marker_of(answer)
    chosen = transcript.rewrites.forms.get(item.seq)
    return chosen.text if chosen else answer.text


def _pinned_text(item: Item, transcript: Transcript) -> str:
    answer = item.event
    assert isinstance(answer, ToolAnswered)  # only outputs are pinned
    about = " ".join(f"{answer.name} {answer.target[:60]}".split())
    return f"[Pinned output, for reference: {about}]\n{output_text(item, answer, transcript)}"


def _short_calls(spoke: AssistantSpoke) -> tuple[ToolCall, ...]:
    short = {one.call_id: one.arguments for one in spoke.short}
    return tuple(ToolCall(one.id, one.name, short.get(one.id, one.arguments)) for one in spoke.calls)


def user_text(said: UserSpoke) -> str:
    """The person's words, then what they recalled, labelled."""
    recalled = [f"[Recalled from the cache: {one.label}]\n{one.text}" for one in said.attachments]
    return "\n\n".join(part for part in (said.text, *recalled) if part)


def marker_of(answer: ToolAnswered) -> str:
    """The marker of an output."""
    return marker(answer.digest, answer.name, answer.target, answer.size, answer.first_line)
