"""What the user leaves out of requests: which entries can be, and the line that stands in their place."""

from __future__ import annotations

import msgspec

from helix_desktop.context.intake.marker import WHOLE_TARGET
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem, PinnedCopy, SummaryBlock, WindowEntry
from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.context.window.used_tokens import estimate_next_request
from helix_desktop.context.window.window import PromptFrame, Window
from helix_desktop.domain.digest import EXCLUDE, bare_marker, digest_of
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.rewrite import Excluded
from helix_desktop.domain.messages import Message
from helix_desktop.domain.store import Content
from helix_desktop.domain.text_format import ellipsize, first_line, format_bytes


class Exclusion(msgspec.Struct, frozen=True):
    """What is to be excluded: its events, the digest of what it says, and what is counted in its place.

    `contents` are not stored yet. `calls` are those of an answer: they stay, so that the request is valid.
    """

    targets: tuple[int, ...]
    digest: str
    text: str
    contents: tuple[Content, ...] = ()
    calls: tuple[str, ...] = ()
    part: int = 0

    @property
    def counted_texts(self) -> tuple[str, ...]:
        """Return the texts whose tokens stand in the window from then on."""
        return self.text, *self.calls


def plan_exclusion(window: Window, transcript: Transcript, seq: int, digits: int) -> Exclusion | None:
    """Return how the entry of the window that `seq` made is excluded; None if it cannot be.

    Not pinned outputs, which stay on every path, nor the answer that the running turn waits on. `digits` are
    those of a digest that a handle has.
    """
    places = (place for place, entry in enumerate(window.entries) if entry.seq == seq)
    place = next(places, -1)
    if place < 0:
        return None
    entry = window.entries[place]
    message = window.request.messages[len(window.request.messages) - len(window.entries) + place]
    if not can_exclude(entry, transcript):
        return None
    if isinstance(entry, LogItem) and isinstance(entry.event, ToolAnswered) and entry.event.digest:
        output = entry.event
        about = f"{output.name} {ellipsize(output.target, WHOLE_TARGET)}, {format_bytes(output.size)}"
        return Exclusion((seq,), output.digest, _exclusion_line(output.digest, about, digits))
    content = _content(_whole_text(message), f"e{seq}")
    covers = transcript.window.included_covers(entry) if isinstance(entry, SummaryBlock) else ()
    calls: tuple[str, ...] = ()
    if isinstance(entry, LogItem) and isinstance(entry.event, AssistantSpoke):
        short = {call.call_id: call.arguments for call in entry.event.short}
        calls = tuple(f"{call.name}{short.get(call.id, call.arguments)}" for call in entry.event.calls)
    line = _exclusion_line(content.digest, f"{_name(entry)}, {format_bytes(len(content.data))}", digits)
    targets = tuple(cover.seq for cover in covers) or (seq,)
    return Exclusion(targets, content.digest, line, (content,), calls)


def plan_filtered(transcript: Transcript, seq: int, digits: int) -> Exclusion | None:
    """Return how an output is left out that a provider's filter refused; None if it is already.

    The line in its place quotes nothing of it.
    """
    item = transcript.messages.item(seq)
    if item is None or not isinstance(item.event, ToolAnswered) or seq in transcript.rewrites.excluded:
        return None
    output = item.event
    about = " ".join(f"{output.name}, {format_bytes(output.size)}".split())
    handle = bare_marker(output.digest, digits)
    line = f"{handle} left out, as the content filter of the model's provider refused it: {about}."
    return Exclusion((seq,), output.digest, line)


def plan_opening_exclusion(transcript: Transcript, seq: int, part: int, digits: int) -> Exclusion | None:
    """Return how the text `part` of the opening recorded as `seq` is excluded; None if it cannot be."""
    texts = transcript.opening or ()
    if not 0 < part <= len(texts) or part in transcript.rewrites.excluded_texts:
        return None
    text = texts[part - 1]
    content = _content(text.text, text.path or text.kind)
    about = f"instructions {text.path}".strip() if text.kind != "environment" else "the environment"
    line = _exclusion_line(content.digest, f"{about}, {format_bytes(len(content.data))}", digits)
    return Exclusion((seq,), content.digest, line, (content,), part=part)


def excluded_event(
    planned: Exclusion, tokens: int, transcript: Transcript, policy: ContextPolicy, frame: PromptFrame
) -> Excluded:
    """Return the event of an exclusion, with what it saves; `tokens` are those of its counted texts."""
    event = Excluded(planned.targets, planned.text, tokens, planned.digest, 0, planned.part)
    states = transcript, transcript.fork_with(event)
    before, left = (estimate_next_request(state, policy, frame) for state in states)
    return msgspec.structs.replace(event, saved=before - left)


def can_exclude(entry: WindowEntry, transcript: Transcript) -> bool:
    """Return True if the user may exclude an entry: it is neither pinned nor excluded nor being worked on."""
    if isinstance(entry, PinnedCopy):
        return False
    if isinstance(entry, SummaryBlock):
        return bool(transcript.window.included_covers(entry))
    if entry.seq in transcript.rewrites.pinned or entry.seq in transcript.rewrites.excluded:
        return False
    is_answer = isinstance(entry, LogItem) and isinstance(entry.event, AssistantSpoke)
    return not (is_answer and transcript.turn_open and getattr(entry, "step", 0) == transcript.messages.steps)


def _exclusion_line(digest: str, about: str, digits: int) -> str:
    what = " ".join(about.split())
    return f"{bare_marker(digest, digits)} excluded by the user: {what}. Recall it only if you need it."


def _content(text: str, label: str) -> Content:
    data = text.encode("utf-8", "surrogatepass")
    return Content(digest_of(data), data, EXCLUDE, label, first_line(text), len(text) // 4)


def _whole_text(message: Message) -> str:
    """Return all that a message says: its text, the handles of its images, and its calls."""
    calls = [f"-> {call.name} {call.arguments}" for call in message.calls]
    images = [image.marker for image in message.images]
    return "\n".join(filter(None, (message.text, *images, *calls)))


def _name(entry: WindowEntry) -> str:
    match entry.event:
        case UserSpoke():
            return f"message e{entry.seq} of the user"
        case AssistantSpoke():
            return f"answer e{entry.seq}"
        case ToolAnswered(name=name):
            return f"output of {name}"
    return "a summary of earlier messages" if isinstance(entry, SummaryBlock) else "instructions"
