"""The window: what one request contains, as a pure projection of log, policy and model (invariant 2)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from helix_desktop.context.log.message_log import FRAMING_TOKENS
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem, PinnedCopy, SummaryBlock, WindowEntry
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.summaries import handover as handovers
from helix_desktop.context.summaries import observation
from helix_desktop.domain.digest import marker
from helix_desktop.domain.events.rewrite import FoldMade, FormChosen
from helix_desktop.domain.events.session import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.summary import HandoverMade, ObservationsMade
from helix_desktop.domain.messages import Message, ModelInfo, ModelRequest, ToolCall, ToolSpec

NO_OUTPUT = "(no output)"


class PromptFrame(msgspec.Struct, frozen=True):
    """What stands around a conversation: the model, the system prompt, the tools; with their tokens.

    `ratio` is the model's tokens per token of our count as earlier sessions found it (1: nothing is known).
    `mcp_tokens` is the part of `tools_tokens` that MCP servers' tools cost.
    """

    info: ModelInfo
    system: str
    tools: tuple[ToolSpec, ...] = ()
    system_tokens: int = 0
    tools_tokens: int = 0
    ratio: float = 1.0
    mcp_tokens: int = 0

    @property
    def fixed_tokens(self) -> int:
        """Tokens of what opens every request: the system prompt and the tools."""
        return self.system_tokens + (FRAMING_TOKENS if self.system else 0) + self.tools_tokens


class Window(msgspec.Struct, frozen=True):
    """A request, the entries it shows in the order of its messages, and its tokens as we count them.

    `shares` are the tokens of each entry.
    """

    request: ModelRequest
    entries: tuple[WindowEntry, ...]
    entry_tokens: tuple[int, ...]
    estimate: int


class Projector:
    """Projects the windows of one session; between two rewrites only what came since is looked at."""

    def __init__(self) -> None:
        self._last_rewrite_seq = -1
        self._frame: PromptFrame | None = None
        self._policy: ContextPolicy | None = None
        self._entries: list[WindowEntry] = []
        self._messages: list[Message] = []
        self._entry_tokens: list[int] = []
        self._tokens = 0
        self._opening: tuple[Message, ...] = ()
        self._rendered: dict[int, tuple[bool, FormChosen | None, Message]] = {}

    def project(self, transcript: Transcript, policy: ContextPolicy, frame: PromptFrame) -> Window:
        """What would be sent now. Same input, same bytes, whatever was projected before."""
        live = transcript.window_entries()
        known = (self._last_rewrite_seq, self._policy, self._frame)
        if known != (transcript.last_rewrite_seq, policy, frame) or len(self._entries) > len(live):
            self._reset(transcript, policy, frame)
        self._drop_from(_settled_count(self._entries))
        for entry in in_call_order(live[len(self._entries) :]):
            message, tokens = self._render(entry, transcript, policy, frame)
            self._entries.append(entry)
            self._messages.append(message)
            self._entry_tokens.append(tokens)
            self._tokens += tokens
        request = ModelRequest((*self._opening, *self._messages), frame.tools)
        estimate = self._tokens + frame.fixed_tokens
        return Window(request, tuple(self._entries), tuple(self._entry_tokens), estimate)

    def _reset(self, transcript: Transcript, policy: ContextPolicy, frame: PromptFrame) -> None:
        """Look at everything again; messages that stand as they stood are kept."""
        if frame != self._frame:
            self._opening = (Message("system", frame.system),) if frame.system else ()
        standing = {entry.seq for entry in self._entries if isinstance(entry, LogItem)}
        self._rendered = {seq: known for seq, known in self._rendered.items() if seq in standing}
        self._last_rewrite_seq, self._policy, self._frame = transcript.last_rewrite_seq, policy, frame
        self._drop_from(0)

    def _render(
        self, entry: WindowEntry, transcript: Transcript, policy: ContextPolicy, frame: PromptFrame
    ) -> tuple[Message, int]:
        if not isinstance(entry, LogItem):
            return render_entry(entry, transcript, policy, frame)
        masked, form = entry.seq in transcript.masked, transcript.rewrites.chosen_forms.get(entry.seq)
        known = self._rendered.get(entry.seq)
        if known is None or known[0] != masked or known[1] is not form:
            known = self._rendered[entry.seq] = (masked, form, render_message(entry, transcript))
        return _adapt_to_model(frame.info, known[2], transcript.entry_tokens(entry))

    def _drop_from(self, position: int) -> None:
        """Look again at everything from a position on."""
        self._tokens -= sum(self._entry_tokens[position:])
        del self._entries[position:], self._messages[position:], self._entry_tokens[position:]


def _settled_count(entries: list[WindowEntry]) -> int:
    """How many entries cannot change their order any more: those before the newest step."""
    for position in range(len(entries) - 1, -1, -1):
        entry = entries[position]
        if isinstance(entry, LogItem) and isinstance(entry.event, AssistantSpoke):
            return position
    return 0


def render_entry(
    entry: WindowEntry, transcript: Transcript, policy: ContextPolicy, frame: PromptFrame
) -> tuple[Message, int]:
    """An entry as it is sent, and its tokens."""
    if isinstance(entry, SummaryBlock) and isinstance(entry.event, HandoverMade):
        return _render_handover(transcript, policy, frame, entry.event)
    return _adapt_to_model(frame.info, render_message(entry, transcript), transcript.entry_tokens(entry))


def _adapt_to_model(info: ModelInfo, message: Message, tokens: int) -> tuple[Message, int]:
    """The message as a model gets it: one that sees no images gets the text that stands for them."""
    if info.images or not message.images:
        return message, tokens
    told = "\n".join((message.text, *(one.marker for one in message.images)))
    tokens -= sum(one.tokens for one in message.images)
    return msgspec.structs.replace(message, text=told, images=()), tokens


def project(transcript: Transcript, policy: ContextPolicy, frame: PromptFrame) -> Window:
    """What would be sent now, made from nothing but these."""
    return Projector().project(transcript, policy, frame)


def _render_handover(
    transcript: Transcript, policy: ContextPolicy, frame: PromptFrame, handover: HandoverMade
) -> tuple[Message, int]:
    texts = handovers.user_texts(transcript, handover, policy.user_text_tokens, frame.info.window)
    text = handovers.render_handover(handover, handovers.quote_messages(texts))
    return Message("user", text), _handover_tokens(handover, texts)


def _handover_tokens(handover: HandoverMade, texts: Sequence[tuple[int, str, int]]) -> int:
    return handover.tokens + sum(tokens + FRAMING_TOKENS for _, _, tokens in texts) + FRAMING_TOKENS


def handover_tokens(transcript: Transcript, policy: ContextPolicy, window: int) -> int:
    """Tokens of the handover in force as it is sent in a window of so many; 0 when none is in force."""
    if transcript.handover is None:
        return 0
    _, handover = transcript.handover
    texts = handovers.user_texts(transcript, handover, policy.user_text_tokens, window)
    return _handover_tokens(handover, texts)


def in_call_order(entries: list[WindowEntry]) -> list[WindowEntry]:
    """The same entries with each step's answers in the order of its calls, not of their completion."""
    ordered: list[WindowEntry] = []
    places: dict[str, int] = {}
    answers: list[LogItem] = []
    for entry in entries:
        if isinstance(entry, LogItem) and isinstance(entry.event, ToolAnswered):
            answers.append(entry)
            continue
        if answers:
            ordered += _sorted_answers(answers, places)
            answers = []
        ordered.append(entry)
        if isinstance(entry, LogItem) and isinstance(entry.event, AssistantSpoke):
            places = {call.id: place for place, call in enumerate(entry.event.calls)}
    return ordered + _sorted_answers(answers, places)


def _sorted_answers(answers: list[LogItem], positions: dict[str, int]) -> list[LogItem]:
    if len(answers) < 2:  # noqa: PLR2004 - one is in order
        return answers
    return sorted(answers, key=lambda one: positions.get(_call_of(one), len(positions)))


def _call_of(item: LogItem) -> str:
    return item.event.call_id if isinstance(item.event, ToolAnswered) else ""


def render_message(entry: WindowEntry, transcript: Transcript) -> Message:
    """An entry as it is sent. A handover's own words of the person depend on the policy: not made here."""
    match entry:
        case PinnedCopy(item=item):
            return Message("user", _pinned_text(item, transcript), images=transcript.images_of(item))
        case SummaryBlock(event=FoldMade(text=text)):
            return Message("user", text)
        case SummaryBlock(covers=covers):
            made = [one.event for one in covers if isinstance(one.event, ObservationsMade)]
            return Message("user", observation.render_observations(made, transcript))
    match entry.event:
        case UserSpoke() as said:
            text = user_text(said, entry.seq in transcript.masked)
            return Message("user", text, images=transcript.images_of(entry))
        case AssistantSpoke() as spoke:
            calls = _masked_calls(spoke) if entry.seq in transcript.masked else spoke.calls
            return Message("assistant", spoke.text, calls, verbatim=spoke.verbatim)
        case ToolAnswered() as answer:
            text = output_text(entry, answer, transcript)
            text, seen = text if text.strip() else NO_OUTPUT, transcript.images_of(entry)
            return Message("tool", text, call_id=answer.call_id, name=answer.name, images=seen)


def output_text(item: LogItem, answer: ToolAnswered, transcript: Transcript) -> str:
    """The form of an output that stands in the window: marker, the form the person chose, or as it came."""
    if item.seq in transcript.masked:
        return output_marker(answer)
    chosen = transcript.rewrites.chosen_forms.get(item.seq)
    return chosen.text if chosen else answer.text


def _pinned_text(item: LogItem, transcript: Transcript) -> str:
    answer = item.event
    assert isinstance(answer, ToolAnswered)  # only outputs are pinned
    about = " ".join(f"{answer.name} {answer.target[:60]}".split())
    return f"[Pinned output, for reference: {about}]\n{output_text(item, answer, transcript)}"


def _masked_calls(spoke: AssistantSpoke) -> tuple[ToolCall, ...]:
    short = {one.call_id: one.arguments for one in spoke.short}
    return tuple(ToolCall(one.id, one.name, short.get(one.id, one.arguments)) for one in spoke.calls)


def user_text(event: UserSpoke, masked: bool = False) -> str:
    """What there is to say of the mode, the person's words, then what they recalled, labelled.

    Images are text and hash when `masked`.
    """
    parts = [event.note, event.text]
    for one in event.attachments:
        if one.image:
            parts.append(one.image.marker if masked else one.image.text)
        else:
            parts.append(f"[Recalled from the cache: {one.label}]\n{one.text}")
    return "\n\n".join(part for part in parts if part)


def output_marker(answer: ToolAnswered) -> str:
    """The marker of an output."""
    return marker(answer.digest, answer.name, answer.target, answer.size, answer.first_line)
