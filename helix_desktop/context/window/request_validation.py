"""Request validity: the chat wire format's rules, as a linter and a repair (invariant 3); images refused."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress, count
from operator import is_not

import msgspec

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.domain.errors import ImagesRejected, InputFiltered, RefusedImages
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered
from helix_desktop.domain.messages import Message, ModelInfo, ToolCall
from helix_desktop.domain.translatable_text import TextContext

text = TextContext("Context")

UNANSWERED = "(no answer was recorded for this call)"


def problems(messages: Sequence[Message]) -> list[str]:
    """Return the problems of a request's messages as text; empty if it may be sent."""
    return RequestValidator().problems(messages)


class _CheckedMessage(msgspec.Struct, frozen=True):
    """A message with the calls that wait for an answer before it (None: it is the first) and after it."""

    message: Message
    before: tuple[str, ...] | None
    after: tuple[str, ...]
    problems: tuple[str, ...]


class RequestValidator:
    """A linter for the requests of one session; messages unchanged since the last call are skipped."""

    def __init__(self) -> None:
        self._messages: Sequence[Message] = ()
        self._checked: list[_CheckedMessage] = []
        self._problems: list[tuple[str, ...]] = []

    def problems(self, messages: Sequence[Message]) -> list[str]:
        changed = compress(count(), map(is_not, messages, self._messages))
        same = next(changed, min(len(messages), len(self._messages)))
        moved = {id(checked.message): checked for checked in self._checked[same:]}  # by a rewrite
        del self._checked[same:], self._problems[same:]
        waiting = self._checked[-1].after if self._checked else None
        for message in messages[same:]:
            checked = moved.get(id(message))
            if checked is None or checked.before != waiting:
                checked = _check(message, waiting)
            self._checked.append(checked)
            self._problems.append(checked.problems)
            waiting = checked.after
        self._messages = tuple(messages)
        texts = _sequence_problems(messages)
        if any(self._problems):
            numbered = enumerate(self._problems)
            texts += [f"message {number}: {text}" for number, found in numbered for text in found]
        if waiting:
            texts.append(f"calls without an answer: {', '.join(waiting)}")
        return texts


def _check(message: Message, waiting: tuple[str, ...] | None) -> _CheckedMessage:
    texts = _message_problems(message, waiting or ())
    if waiting is not None and message.role == "system":
        texts.append("a system message stands behind the first place")
    return _CheckedMessage(message, waiting, _unanswered_calls(message, waiting or ()), tuple(texts))


def _sequence_problems(messages: Sequence[Message]) -> list[str]:
    texts: list[str] = []
    first = next((message for message in messages if message.role != "system"), None)
    if first is None or first.role != "user":
        texts.append("the first message is not from the user")
    if messages and messages[-1].role == "assistant":
        texts.append("the last message is the assistant's")
    return texts


def _message_problems(message: Message, unanswered: Sequence[str]) -> list[str]:
    texts = []
    if message.role == "tool":
        if message.call_id not in unanswered:
            texts.append(f"an answer without its call: {message.call_id}")
    elif unanswered:
        texts.append(f"stands before the answers of {', '.join(unanswered)}")
    if not message.text.strip() and not (message.role == "assistant" and message.calls):
        texts.append("empty text")
    ids = [call.id for call in message.calls]
    if len(set(ids)) != len(ids):
        texts.append("two calls share an id")
    if message.images and message.role not in ("user", "tool"):
        texts.append("images in a message of which they can be no part")
    if message.calls and message.role != "assistant":
        texts.append("calls in a message that is not the assistant's")
    return texts


def _unanswered_calls(message: Message, unanswered: Sequence[str]) -> tuple[str, ...]:
    if message.role == "tool":
        return tuple(call_id for call_id in unanswered if call_id != message.call_id)
    return tuple(call.id for call in message.calls)


def repair_request(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the nearest valid request: open calls get placeholder answers, stray and empty ones are dropped.

    Misplaced parts are dropped too: a second system message, a second call with the same id, anything before
    the first user message, trailing assistant messages. If there is no user message, none is made up.
    """
    opening = [message for message in messages if message.role == "system" and message.text.strip()][:1]
    complete = _complete_answers(
        [
            _drop_misplaced_images(_drop_invalid_calls(message))
            for message in messages
            if message.role != "system"
        ]
    )
    first = next((n for n, message in enumerate(complete) if message.role == "user"), len(complete))
    last = next((n for n in range(len(complete), first, -1) if complete[n - 1].role != "assistant"), first)
    return (*opening, *complete[first:last])


def _drop_misplaced_images(message: Message) -> Message:
    if message.images and message.role == "assistant":
        return msgspec.structs.replace(message, images=())
    return message


def _drop_invalid_calls(message: Message) -> Message:
    """Return the message with the calls its role may make, each id once."""
    if message.role != "assistant":
        return msgspec.structs.replace(message, calls=()) if message.calls else message
    first: dict[str, ToolCall] = {}
    for call in message.calls:
        first.setdefault(call.id, call)
    if len(first) == len(message.calls):
        return message
    return msgspec.structs.replace(message, calls=tuple(first.values()))


def _complete_answers(messages: Sequence[Message]) -> list[Message]:
    complete: list[Message] = []
    waiting: list[tuple[str, str]] = []
    for message in messages:
        if message.role == "tool":
            if message.call_id in [call_id for call_id, _ in waiting]:
                waiting = [pair for pair in waiting if pair[0] != message.call_id]
                complete.append(message if message.text.strip() else _with_text(message))
            continue
        complete += [_missing_answer(*pair) for pair in waiting]
        waiting = []
        if message.text.strip() or message.calls:
            complete.append(message)
            waiting = [(call.id, call.name) for call in message.calls]
    return complete + [_missing_answer(*pair) for pair in waiting]


def _missing_answer(call_id: str, name: str) -> Message:
    return Message("tool", UNANSWERED, call_id=call_id, name=name)


def _with_text(message: Message) -> Message:
    return Message("tool", "(no output)", call_id=message.call_id, name=message.name)


_MAX_LISTED = 3  # images that are named one by one


def suspect_messages(transcript: Transcript, model: str, refused: RefusedImages) -> list[LogItem]:
    """Return the messages whose images should leave, for a server that refused some.

    Those that it names; of too many the oldest, never the newest for an older one's sake. If it says neither,
    those that the model, by its label, has not answered to yet; if there are none, all with images. Pinned
    ones are left out: nothing can replace them.
    """
    suspects = [
        item
        for item in transcript.window.entries()
        if isinstance(item, LogItem)
        and item.seq not in transcript.rewrites.pinned
        and transcript.window.images_of(item)
    ]
    if refused.named:
        return _with_named_images(transcript, suspects, refused.named)
    if refused.excess:
        return _oldest_with_images(transcript, suspects, refused.excess)
    accepted = last_answered_seq(transcript, model)
    return [item for item in suspects if item.seq > accepted] or suspects


def last_answered_seq(transcript: Transcript, model: str) -> int:
    """Return the seq of the last whole answer of a model, by its label; 0: none."""
    answered = (
        item.seq
        for item in reversed(transcript.messages.items)
        if isinstance(item.event, AssistantSpoke)
        and item.event.model == model
        and item.event.stop != "stopped"
    )
    return next(answered, 0)


def _with_named_images(
    transcript: Transcript, items: Sequence[LogItem], digests: Sequence[str]
) -> list[LogItem]:
    return [
        item for item in items if any(image.digest in digests for image in transcript.window.images_of(item))
    ]


def _oldest_with_images(transcript: Transcript, items: Sequence[LogItem], excess: int) -> list[LogItem]:
    """Return the oldest messages that hold this number of images, without the newest unless it is alone."""
    oldest: list[LogItem] = []
    for item in items[:-1] or items:
        if excess <= 0:
            break
        oldest.append(item)
        excess -= len(transcript.window.images_of(item))
    return oldest


def describe_rejection(
    error: ImagesRejected, messages: list[LogItem], transcript: Transcript, info: ModelInfo
) -> ImagesRejected:
    images = [image for item in messages for image in transcript.window.images_of(item)]
    names = ", ".join(image.label or image.summary for image in images[:_MAX_LISTED])
    if len(images) > _MAX_LISTED:
        names += " …"
    if len(images) == 1:
        what = text("{provider} rejected an image: {names}.", provider=info.provider, names=names)
        fix = text("Send without it, or choose another model.")
    elif images:
        what = text(
            "{provider} rejected one of {count} images: {names}.",
            provider=info.provider,
            count=len(images),
            names=names,
        )
        fix = text("Send without them, or choose another model.")
    else:
        what = error.what
        fix = text("Unpin the image, or choose another model.")
    return ImagesRejected(what, error.why, fix, tuple(item.seq for item in messages))


def filtered_output(error: InputFiltered, transcript: Transcript, info: ModelInfo) -> InputFiltered:
    """Return what is told of a filter's refusal: the newest output may be the cause, if it is still new.

    That is one which the model has not answered, nor the user pinned; without one it is the user's message.
    """
    answered_seq = last_answered_seq(transcript, info.label)
    outputs = [
        (item.seq, item.event.name)
        for item in transcript.window.entries()
        if isinstance(item, LogItem)
        and isinstance(item.event, ToolAnswered)
        and item.seq > answered_seq
        and item.seq not in transcript.rewrites.pinned
        and item.seq not in transcript.rewrites.excluded
    ]
    if not outputs:
        return error
    seq, tool = outputs[-1]
    what = text(
        "The content filter of {provider} refused the request, perhaps for the newest output ({tool}).",
        provider=info.provider,
        tool=tool,
    )
    return InputFiltered(what, error.why, text("Send without it, or choose another model."), (seq,))
