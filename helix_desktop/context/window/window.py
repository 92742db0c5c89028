"""The window: what one request contains, as a pure projection of log, policy and model (invariant 2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from functools import lru_cache

import msgspec

from helix_desktop.context.intake.marker import marker
from helix_desktop.context.log.message_log import FRAMING_TOKENS
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_entries import WindowEntries
from helix_desktop.context.log.window_layout import (
    AddedInstructions,
    LogItem,
    PinnedCopy,
    SummaryBlock,
    WindowEntry,
)
from helix_desktop.context.policy_numbers import ContextPolicy, managed_window
from helix_desktop.context.summaries import handover as handovers
from helix_desktop.context.summaries import observation
from helix_desktop.context.summaries.extractive_handover import without_repeated_bullets
from helix_desktop.context.window.attachment_text import attachment_text
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.rewrite import Excluded, FoldMade
from helix_desktop.domain.events.session import InstructionsAdded, StandingText, join_texts
from helix_desktop.domain.events.summary import HandoverMade, ObservationsMade, Quote
from helix_desktop.domain.messages import Message, ModelInfo, ModelRequest, ToolCall, ToolSpec

NO_OUTPUT = "(no output)"
UNSHOWN_NOTE = " (not shown, no room)"
_MARKERS = 2_048  # of outputs: each is made when its output comes, to count it, and again when it is swept
_LEFT_FACTOR = 2  # rendered messages against those in the window: beyond it those that left are forgotten

_remembered_marker = lru_cache(maxsize=_MARKERS)(marker)

EntryState = tuple[object, ...]
"""All that an entry's message and tokens depend on, but for the log itself."""

_Rendered = tuple[EntryState, Message, int]
"""An entry's message and tokens, and what they depended on."""


class PromptFrame(msgspec.Struct, frozen=True):
    """The fixed frame of a conversation: the model, the system prompt and the tools, with their tokens.

    `ratio` is the model's tokens per token of ours, from earlier sessions (1: unknown).
    `mcp_tokens` is the part of `tools_tokens` that MCP servers' tools cost; `deferred_tools` are the names of
    those without a definition in the request.
    """

    info: ModelInfo
    system: str
    tools: tuple[ToolSpec, ...] = ()
    system_tokens: int = 0
    tools_tokens: int = 0
    ratio: float = 1.0
    mcp_tokens: int = 0
    deferred_tools: tuple[str, ...] = ()

    @property
    def fixed_tokens(self) -> int:
        """Return the tokens of what every session sends with every request: system prompt and tools."""
        return self.system_tokens + (FRAMING_TOKENS if self.system else 0) + self.tools_tokens


class Window(msgspec.Struct, frozen=True):
    """A request, its entries in message order, and its tokens by our count.

    `entry_tokens` are the tokens of each entry.
    """

    request: ModelRequest
    entries: tuple[WindowEntry, ...]
    entry_tokens: tuple[int, ...]
    estimate: int


class SentHandover(msgspec.Struct, frozen=True):
    """The parts of a handover's message, its tokens by our count, and those of its quotes by their kind."""

    parts: tuple[handovers.HandoverPart, ...]
    tokens: int
    quote_tokens: Mapping[handovers.HandoverPartKind, int]


class Projector:
    """A projector of one session's windows; between two rewrites it only renders new entries."""

    def __init__(self) -> None:
        self._live: WindowEntries | None = None
        self._last_rewrite_seq = -1
        self._frame: PromptFrame | None = None
        self._policy: ContextPolicy | None = None
        self._entries: list[WindowEntry] = []
        self._messages: list[Message] = []
        self._entry_tokens: list[int] = []
        self._tokens = 0
        self._texts: tuple[StandingText, ...] | None = None
        self._opening: tuple[Message, ...] = ()
        self._rendered: dict[int, _Rendered] = {}
        self._changed: Set[int] | None = None  # entries whose form may have changed; None: any

    def project(self, transcript: Transcript, policy: ContextPolicy, frame: PromptFrame) -> Window:
        """Return what would be sent now. Same input, same bytes, whatever was projected before."""
        if transcript.window is not self._live:  # its events may be others of the same numbers
            self._live = transcript.window
            self._last_rewrite_seq = -1
            self._rendered = {}
        live = transcript.window.entries()
        inputs = (self._last_rewrite_seq, self._policy, self._frame, self._texts)
        now = (transcript.window.last_rewrite_seq, policy, frame, transcript.opening)
        if inputs != now or len(self._entries) > len(live):
            self._changed = (
                transcript.window.swept_since(self._last_rewrite_seq) if inputs[1:] == now[1:] else None
            )
            self._reset(transcript, policy, frame)
        self._drop_from(_settled_count(self._entries))
        earlier = self._rendered
        changed = self._changed
        added = _in_call_order(live[len(self._entries) :])
        rendered = [
            found
            if changed is not None
            and isinstance(entry, LogItem)
            and entry.seq not in changed
            and (found := earlier.get(entry.seq)) is not None
            else self._render(entry, transcript, policy, frame)
            for entry in added
        ]
        tokens = [entry_tokens for _, _, entry_tokens in rendered]
        self._entries += added
        self._messages += [message for _, message, _ in rendered]
        self._entry_tokens += tokens
        self._tokens += sum(tokens)
        self._changed = frozenset()
        request = ModelRequest((*self._opening, *self._messages), frame.tools)
        estimate = self._tokens + frame.fixed_tokens + transcript.opening_tokens
        return Window(request, tuple(self._entries), tuple(self._entry_tokens), estimate)

    def _reset(self, transcript: Transcript, policy: ContextPolicy, frame: PromptFrame) -> None:
        """Start over, reusing rendered messages whose form has not changed."""
        if (frame, transcript.opening) != (self._frame, self._texts):
            system = join_texts(frame.system, transcript.opening or ())
            self._opening = (Message("system", system),) if system else ()
        if len(self._rendered) > _LEFT_FACTOR * len(self._entries):
            standing = {entry.seq for entry in self._entries if not isinstance(entry, PinnedCopy)}
            self._rendered = {seq: rendered for seq, rendered in self._rendered.items() if seq in standing}
        self._last_rewrite_seq = transcript.window.last_rewrite_seq
        self._policy = policy
        self._frame = frame
        self._texts = transcript.opening
        self._drop_from(0)

    def _render(
        self, entry: WindowEntry, transcript: Transcript, policy: ContextPolicy, frame: PromptFrame
    ) -> _Rendered:
        if isinstance(entry, PinnedCopy | AddedInstructions):
            return (), *render_entry(entry, transcript, policy, frame)
        rendered = self._rendered.get(entry.seq)
        if rendered is None or self._changed is None or entry.seq in self._changed:
            state = entry_state(entry, transcript, policy, frame)
            if rendered is None or rendered[0] != state:
                rendered = self._rendered[entry.seq] = state, *render_entry(entry, transcript, policy, frame)
        return rendered

    def _drop_from(self, position: int) -> None:
        self._tokens -= sum(self._entry_tokens[position:])
        del self._entries[position:], self._messages[position:], self._entry_tokens[position:]


def entry_state(
    entry: LogItem | SummaryBlock, transcript: Transcript, policy: ContextPolicy, frame: PromptFrame
) -> EntryState:
    """Return what changes an entry's message and tokens: while it is the same, they are."""
    info = frame.info
    if isinstance(entry, LogItem):
        rewrites = transcript.rewrites
        seq = entry.seq
        forms = rewrites.chosen_forms.get(seq), rewrites.excluded.get(seq)
        labels = rewrites.anchors.get(seq), rewrites.edited_since(seq), rewrites.is_unshown(seq)
        return seq in rewrites.swept, *forms, *labels, info.images
    events = tuple(cover.event for cover in entry.covers)
    excluded = tuple(transcript.rewrites.excluded.get(cover.seq) for cover in entry.covers)
    if isinstance(entry.event, FoldMade):
        return *events, *excluded
    hidden = tuple(transcript.rewrites.excluded), transcript.rewrites.excluded_covers
    # Of these a handover quotes nothing.
    return (
        *events,
        *excluded,
        *hidden,
        policy.user_text_tokens,
        managed_window(policy, info.window),
        transcript.origin,
    )


def _settled_count(entries: list[WindowEntry]) -> int:
    """Return how many entries can no longer change their order: those before the newest step."""
    for position in range(len(entries) - 1, -1, -1):
        entry = entries[position]
        if isinstance(entry, LogItem) and isinstance(entry.event, AssistantSpoke):
            return position
    return 0


def render_entry(
    entry: WindowEntry, transcript: Transcript, policy: ContextPolicy, frame: PromptFrame
) -> tuple[Message, int]:
    is_excluded = bool(transcript.window.exclusions_of(entry))
    if isinstance(entry, SummaryBlock) and isinstance(entry.event, HandoverMade) and not is_excluded:
        window_size = managed_window(policy, frame.info.window)
        texts, quotes = _quotes_of(transcript, policy, window_size, entry.event)
        text = "\n".join(part.text for part in _handover_parts(transcript, entry.event, texts, quotes))
        return Message("user", text), _handover_tokens(entry.event, texts, quotes)
    return _adapt_to_model(
        frame.info, render_message(entry, transcript), transcript.window.entry_tokens(entry)
    )


def _adapt_to_model(info: ModelInfo, message: Message, tokens: int) -> tuple[Message, int]:
    """Return the message for a model: one without image input gets the images' markers as text."""
    if info.images or not message.images:
        return message, tokens
    text = "\n".join((message.text, *(image.marker for image in message.images)))
    tokens -= sum(image.saving for image in message.images)
    return msgspec.structs.replace(message, text=text, images=()), tokens


def project(transcript: Transcript, policy: ContextPolicy, frame: PromptFrame) -> Window:
    """Return what would be sent now, without reusing earlier projections."""
    return Projector().project(transcript, policy, frame)


def handover_as_sent(
    transcript: Transcript, policy: ContextPolicy, window_size: int, handover: HandoverMade
) -> SentHandover:
    texts, quotes = _quotes_of(transcript, policy, window_size, handover)
    return SentHandover(
        tuple(_handover_parts(transcript, handover, texts, quotes)),
        _handover_tokens(handover, texts, quotes),
        {
            "user": _words_tokens(tokens for _, _, tokens in texts),
            "quotes": _words_tokens(quote.tokens for quote in quotes),
        },
    )


def _quotes_of(
    transcript: Transcript, policy: ContextPolicy, window_size: int, handover: HandoverMade
) -> tuple[list[tuple[int, str, int]], list[Quote]]:
    """Return what a handover quotes: the user's messages, and words of the session before this one."""
    cap = policy.user_text_tokens
    texts = handovers.user_texts(transcript, handover, cap, window_size)
    return texts, handovers.inherited_quotes(transcript, handover, cap, window_size)


def _handover_parts(
    transcript: Transcript,
    handover: HandoverMade,
    texts: Sequence[tuple[int, str, int]],
    quotes: Sequence[Quote],
) -> list[handovers.HandoverPart]:
    verbatim = [text for _, text, _ in texts] + [quote.text for quote in quotes]
    return handovers.handover_parts(
        without_repeated_bullets(handover, verbatim),
        handovers.quote_messages(texts),
        handovers.agent_texts(transcript, handover.words),
        quotes,
    )


def tokens_as_sent(
    transcript: Transcript, policy: ContextPolicy, window_size: int, handover: HandoverMade
) -> int:
    """Return the tokens of a handover's message, active or not, in a window of `window_size` tokens."""
    return _handover_tokens(handover, *_quotes_of(transcript, policy, window_size, handover))


def first_handover_tokens(handover: HandoverMade) -> int:
    """Return the tokens of the message of the handover that a session starts from, with all its quotes."""
    return _handover_tokens(handover, (), handover.quotes)


def _handover_tokens(
    handover: HandoverMade, texts: Sequence[tuple[int, str, int]], quotes: Sequence[Quote]
) -> int:
    words = [*(tokens for _, _, tokens in texts), *(quote.tokens for quote in quotes)]
    return handover.tokens + _words_tokens(words) + FRAMING_TOKENS


def _words_tokens(tokens: Iterable[int]) -> int:
    return sum(count + FRAMING_TOKENS for count in tokens)


def handover_tokens(transcript: Transcript, policy: ContextPolicy, window_size: int) -> int:
    """Return the tokens of the active handover as sent in a window of `window_size` tokens; 0 without one."""
    if transcript.window.handover is None:
        return 0
    seq, handover = transcript.window.handover
    if excluded := transcript.rewrites.excluded.get(seq):
        return excluded.tokens + FRAMING_TOKENS
    cap = policy.user_text_tokens
    quoted = transcript.messages.position(handover.upto)
    # All that the quotes depend on: sweeps and folds behind the handover change no message in it.
    state = transcript.window.last_rearranging_seq, cap, window_size, quoted
    if transcript.window.handover_count[0] != state:
        transcript.window.handover_count = state, tokens_as_sent(transcript, policy, window_size, handover)
    return transcript.window.handover_count[1]


def _in_call_order(entries: list[WindowEntry]) -> list[WindowEntry]:
    """Return the entries with each step's answers in the order of its calls, not of their completion."""
    ordered: list[WindowEntry] = []
    calls: Sequence[ToolCall] = ()
    answers: list[LogItem] = []
    for entry in entries:
        if isinstance(entry, LogItem) and isinstance(entry.event, ToolAnswered):
            answers.append(entry)
            continue
        if answers:
            ordered += _sorted_answers(answers, calls)
            answers = []
        ordered.append(entry)
        if isinstance(entry, LogItem) and isinstance(entry.event, AssistantSpoke):
            calls = entry.event.calls
    return ordered + _sorted_answers(answers, calls)


def _sorted_answers(answers: list[LogItem], calls: Sequence[ToolCall]) -> list[LogItem]:
    if len(answers) < 2:  # noqa: PLR2004 - one is in order
        return answers
    places = {call.id: place for place, call in enumerate(calls)}
    return sorted(answers, key=lambda answer: places.get(_call_of(answer), len(places)))


def _call_of(item: LogItem) -> str:
    return item.event.call_id if isinstance(item.event, ToolAnswered) else ""


def render_message(entry: WindowEntry, transcript: Transcript) -> Message:
    """Return an entry as it is sent, except a handover: its quoted user messages depend on the policy."""
    exclusions = transcript.window.exclusions_of(entry)
    return (
        _excluded_message(entry, exclusions, transcript) if exclusions else _whole_message(entry, transcript)
    )


def _whole_message(entry: WindowEntry, transcript: Transcript) -> Message:
    match entry:
        case PinnedCopy(item=item):
            return Message("user", _pinned_text(item, transcript), images=transcript.window.images_of(item))
        case (
            SummaryBlock(event=FoldMade(text=text))
            | AddedInstructions(event=InstructionsAdded(text=StandingText(text=text)))
        ):
            return Message("user", text)
        case SummaryBlock():
            return Message("user", _observations_text(entry, transcript))
    match entry.event:
        case UserSpoke() as message:
            is_swept = entry.seq in transcript.window.swept
            text = user_text(message, is_swept)
            sweep = transcript.rewrites.anchors.get(entry.seq)
            if is_swept and sweep is not None:
                text = f"{text}\n{sweep.anchors}"
            return Message("user", text, images=transcript.window.images_of(entry))
        case AssistantSpoke() as response:
            calls = _swept_calls(response) if entry.seq in transcript.window.swept else response.calls
            return Message("assistant", response.text, calls, verbatim=response.verbatim)
        case ToolAnswered() as output:
            text = output_text(entry, output, transcript)
            images = transcript.window.images_of(entry)
            text = _edited_label(entry, transcript) + (text if text.strip() else NO_OUTPUT)
            return Message("tool", text, call_id=output.call_id, name=output.name, images=images)


def _excluded_message(entry: WindowEntry, exclusions: Sequence[Excluded], transcript: Transcript) -> Message:
    """Return what stands for an entry that the user excluded: a line that names it, in a valid place."""
    text = "\n".join(event.text for event in exclusions)
    match entry:
        case LogItem(event=AssistantSpoke() as response):
            return Message("assistant", text, _swept_calls(response))
        case LogItem(event=ToolAnswered() as output):
            sweep = transcript.rewrites.anchors.get(entry.seq)
            text = f"{text}\n{sweep.anchors}" if sweep else text
            return Message("tool", text, call_id=output.call_id, name=output.name)
        case SummaryBlock(event=ObservationsMade()) if transcript.window.included_covers(entry):
            return Message("user", f"{text}\n\n{_observations_text(entry, transcript)}")
    return Message("user", text)


def _observations_text(block: SummaryBlock, transcript: Transcript) -> str:
    covers = transcript.window.included_covers(block)
    observations = [cover.event for cover in covers if isinstance(cover.event, ObservationsMade)]
    return observation.render_observations(observations, transcript)


def output_text(item: LogItem, output: ToolAnswered, transcript: Transcript) -> str:
    """Return the form of an output in the window: marker, the form the user chose, or the original one."""
    if item.seq in transcript.window.swept:
        sweep = transcript.rewrites.anchors.get(item.seq)
        marker_text = output_marker(output)
        if transcript.rewrites.is_unshown(item.seq):
            marker_text += UNSHOWN_NOTE
        return f"{marker_text}\n{sweep.anchors}" if sweep else marker_text
    chosen_form = transcript.rewrites.chosen_forms.get(item.seq)
    return chosen_form.text if chosen_form else output.text


def _edited_label(item: LogItem, transcript: Transcript) -> str:
    """Return the line above a file's text that was edited before the user brought it back, or nothing."""
    changed_by = transcript.rewrites.edited_since(item.seq)
    return f"[File as it was (edited since, e{changed_by})]\n" if changed_by else ""


def _pinned_text(item: LogItem, transcript: Transcript) -> str:
    output = item.event
    assert isinstance(output, ToolAnswered)  # only outputs are pinned
    about = " ".join(f"{output.name} {output.target[:60]}".split())
    text = _edited_label(item, transcript) + output_text(item, output, transcript)
    return f"[Pinned output, for reference: {about}]\n{text}"


def _swept_calls(response: AssistantSpoke) -> tuple[ToolCall, ...]:
    short = {call.call_id: call.arguments for call in response.short}
    return tuple(ToolCall(call.id, call.name, short.get(call.id, call.arguments)) for call in response.calls)


def user_text(event: UserSpoke, swept: bool = False) -> str:
    """Return the mode note, the user's text, then what they attached, labeled.

    Images, and what programs put in, are a line with their hash when `swept`.
    """
    text = event.short.text if swept and event.short is not None else event.text
    parts = [event.note, text]
    parts += [attachment_text(attachment, swept) for attachment in event.attachments]
    return "\n\n".join(part for part in parts if part)


def output_marker(output: ToolAnswered) -> str:
    return _remembered_marker(
        output.digest,
        "" if output.recalled else output.name,
        output.target,
        output.size,
        output.first_line,
        output.about,
        output.handle_digits,
    )
