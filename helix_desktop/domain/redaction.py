"""Redact a secret at the user's request: the request, its matches, and how text is removed from an event.

The one exception to "nothing is lost": a leaked key must not stay. A mark with the day replaces the text. An
index entry is not removed but rewritten without it, so that everything else it leads to stays reachable.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache
from itertools import chain
from types import MappingProxyType
from typing import Any, Literal, TypeVar, cast, get_origin

import msgspec

from helix_desktop.domain.digest import CACHE_TOOLS, EXCLUDE, HEX_DIGITS, MARKER_START, MIN_PREFIX, digest_of
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.events.conversation import (
    AssistantSpoke,
    Attachment,
    OutputHeld,
    SweptCall,
    ToolAnswered,
    UserSpoke,
)
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.rewrite import FoldMade, FormChosen, SweepMade
from helix_desktop.domain.events.summary import (
    HandoverDiscarded,
    HandoverFailed,
    HandoverMade,
    ObservationsFailed,
    ObservationsMade,
)
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.retention import ContentReference
from helix_desktop.domain.store import CacheEntry, Draft, SessionSummary
from helix_desktop.domain.text_format import utc_day
from helix_desktop.domain.text_variants import OutputCopies, encoded_variants, redact_cut_parts
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.domain.typed_text import message_parts, program_texts

_text = TextContext("Store")

_DESCRIBED_MARKER = re.compile(
    rf'({re.escape(MARKER_START)}\\"([0-9a-f]{{{MIN_PREFIX},{HEX_DIGITS}}})\\"\) [\d.,]*\d \w+)'
    r', (?:[^"\\\n]|\\.)*'
)
"""A marker in a JSON string, to the end of what it says of its content."""


def cached_argument(value: msgspec.Raw) -> str:
    """Return the text as which an argument is cached: a string as it is, else the JSON the model wrote."""
    data = bytes(value)
    decoded: str = msgspec.json.decode(data) if data.startswith(b'"') else data.decode()
    return decoded


def removed_texts(call: ToolCall, digests: Collection[str]) -> list[str]:
    """Return the arguments of a call that are contents of these digests; they may be one as a whole."""
    try:
        values: Mapping[str, msgspec.Raw] = msgspec.json.decode(call.arguments, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        values = {}
    texts = (call.arguments, *map(cached_argument, values.values()))
    return [text for text in texts if digest_of(text.encode("utf-8", "surrogatepass")) in digests]


def without_descriptions(text: str, digests: Collection[str]) -> str:
    """Return swept arguments, or an index with such, whose markers of these digests describe nothing."""

    def without_description(match: re.Match[str]) -> str:
        is_removed = any(digest.startswith(match[2]) for digest in digests)
        return match[1] if is_removed else match[0]

    return _DESCRIBED_MARKER.sub(without_description, text)


MIN_TEXT_LENGTH = 4  # characters: anything shorter stands in too many places that mean something else
_HANDLES = frozenset({"digest", "digests", "recalled", "index"})
_IDS = frozenset({"id", "call_id", "parent", "parent_call", "subagent"})
_MARK = re.compile(r"\[FORGOTTEN \d{4}-\d{2}-\d{2}\]")
_HANDLE = re.compile(rf"(?<![0-9a-f])[0-9a-f]{{{MIN_PREFIX},{HEX_DIGITS}}}(?![0-9a-f])")

_REPEATING_TOOLS = frozenset({*CACHE_TOOLS, EXCLUDE})
_SUMMARIES = (
    *(SweepMade, HandoverMade, HandoverFailed, HandoverDiscarded),
    *(ObservationsMade, ObservationsFailed),
)
_NOTHING: Mapping[int, OutputCopies] = MappingProxyType({})

T = TypeVar("T")


class RedactionRequest(msgspec.Struct, frozen=True):
    """What to redact: a text wherever it occurs, contents with all their shown forms, or both."""

    text: str = ""
    digests: tuple[str, ...] = ()


class RedactionMatches(msgspec.Struct, frozen=True):
    """The places where it was found. `contents` are removed, all else is rewritten.

    `labels` are contents whose bytes are clean and whose name or first line is not; `store_copies` names
    copies of the store that a repair left; `rules` and `logs` are saved approvals and logs of the app,
    `servers` MCP servers and `filters` saved filters by name; `unreadable` are damaged contents, of which
    nothing can be said.
    `file_versions` are contents of the file history, `change_lists` captures of it with a path that is
    rewritten; `workspace_files` have one of these contents, or it in their name, and stay as they are.
    `taken_out` are files of which a copy is kept since a command that changed them.
    """

    contents: tuple[CacheEntry, ...] = ()
    indexes: tuple[CacheEntry, ...] = ()
    labels: tuple[str, ...] = ()
    events: tuple[ContentReference, ...] = ()
    titles: tuple[str, ...] = ()
    drafts: tuple[str, ...] = ()
    damaged: tuple[str, ...] = ()
    store_copies: tuple[str, ...] = msgspec.field(default=(), name="aside")
    unreadable: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    file_versions: tuple[str, ...] = ()
    change_lists: tuple[str, ...] = ()
    workspace_files: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()
    taken_out: tuple[str, ...] = ()

    @property
    def sessions(self) -> tuple[str, ...]:
        sessions = [event.session for event in self.events]
        return tuple(dict.fromkeys([*sessions, *self.titles, *self.drafts]))

    @property
    def is_empty(self) -> bool:
        return self == RedactionMatches(unreadable=self.unreadable)


def redaction_mark(at_ms: int) -> str:
    """Return the mark that replaces redacted text; `at_ms` in milliseconds since 1970."""
    return f"[FORGOTTEN {utc_day(at_ms)}]"


def has_redaction_mark(text: str) -> bool:
    """Return True if a mark stands in a text, which may also quote one."""
    return _MARK.search(text) is not None


class Redaction:
    """The redaction of a text, and of the shown forms of some contents.

    `new_digests` maps the digest of an index entry to the one it has without the text. The logs are read
    first, by `find_removed`: what an output said was repeated in notes, summaries, lists and indexes.
    """

    def __init__(self, request: RedactionRequest, at_ms: int) -> None:
        """Raise InvalidInput if the request cannot be searched for."""
        self.mark = redaction_mark(at_ms)
        self.needles = _needles(request.text, self.mark) if request.text else ()
        self.digests = frozenset(request.digests)
        if not (self.needles or self.digests):
            raise InvalidInput(
                _text("Nothing to remove."), fix=_text("Enter the secret, or the digest of an entry.")
            )
        self.new_digests: dict[str, str] = {}
        self._copies = OutputCopies((), (), self.mark)  # of all logs
        self._descriptions: frozenset[str] = frozenset()  # of the contents, as indexes have them
        mark = self.mark
        self._raw_needles = [  # what is replaced by what
            (needle.encode(encoding, "surrogatepass"), mark.encode(encoding))
            for encoding in ("utf-8", "utf-16-le", "utf-16-be")
            for needle in self.needles
        ]

    def matches(self, data: bytes) -> bool:
        return any(needle in data for needle, _ in self._raw_needles)

    def reads(self, entry: CacheEntry) -> bool:
        """Return True if a content must be read to be judged."""
        return bool(self.needles) or (bool(self._copies.texts) and entry.tool in _REPEATING_TOOLS)

    def repeats_removed(self, tool: str, data: bytes) -> bool:
        """Return True if a content repeats lines of a removed output: stored by a tool of the cache."""
        if not self._copies.texts or tool not in _REPEATING_TOOLS:
            return False
        text = data.decode("utf-8", "replace")
        return self._copies.remove_from(text) != text

    def find_removed(self, log: Iterable[RecordedEvent]) -> dict[int, OutputCopies]:
        """Return the events of a log that show contents to redact, by seq, each with its words."""
        texts_by_seq: dict[int, list[str]] = {}
        names: dict[int, tuple[str, ...]] = {}
        for recorded in log:
            event = recorded.event
            if isinstance(event, FormChosen) and event.target in texts_by_seq:
                texts_by_seq[event.target].append(event.text)
            elif (texts := self._shown_texts(recorded)) is not None:
                texts_by_seq[recorded.seq] = texts
                names[recorded.seq] = getattr(event, "identifiers", ())
        copies = {seq: OutputCopies(texts, names[seq], self.mark) for seq, texts in texts_by_seq.items()}
        if copies:
            parts = (self._copies, *copies.values())
            all_texts = chain.from_iterable(part.texts for part in parts)
            all_names = chain.from_iterable(part.names for part in parts)
            self._copies = OutputCopies(all_texts, all_names, self.mark)
        return copies

    def _shown_texts(self, recorded: RecordedEvent) -> list[str] | None:
        """Return what an event shows and says of contents to redact; None if it shows none of them."""
        event = recorded.event
        answer = event.answer if isinstance(event, OutputHeld) else event
        if isinstance(answer, ToolAnswered) and {answer.digest, answer.recalled} & self.digests:
            descriptions = [answer.first_line, answer.about]
            self._descriptions |= {text for text in descriptions if text and text != self.mark}
            return [answer.text, *descriptions]
        if isinstance(answer, AssistantSpoke):
            swept = {swept_call.call_id for swept_call in self._swept_calls(answer)}
            calls = (call for call in answer.calls if call.id in swept)
            return [text for call in calls for text in removed_texts(call, self.digests)] or None
        attachments = answer.attachments if isinstance(answer, UserSpoke) else ()
        texts = [attachment.text for attachment in attachments if attachment.digest in self.digests]
        if isinstance(answer, UserSpoke) and answer.short is not None:
            parts = (answer.text, *(program.text for program in program_texts(answer.text)))
            texts += [part for part in parts if _digest_of_text(part) in self.digests]
        return texts or None

    def _swept_calls(self, event: AssistantSpoke) -> list[SweptCall]:
        """Return the calls that have contents to redact as arguments, with their markers."""
        return [swept_call for swept_call in event.short if self.digests.intersection(swept_call.digests)]

    def move_index(self, digest: str, data: bytes) -> None:
        """Map an index entry's digest to that of its redacted data; it may be redacted again later."""
        previous = self.new_digests.get(digest)
        new_digest = digest_of(data)
        self.new_digests[digest] = new_digest
        if previous is not None:
            self.new_digests[previous] = new_digest

    def redact_text(self, text: str) -> str:
        """Return the text redacted, with index entries by their new digests."""
        for needle in self.needles:
            text = redact_cut_parts(text.replace(needle, self.mark), needle, self.mark)
        if self.new_digests and len(text) >= MIN_PREFIX:
            text = _HANDLE.sub(lambda match: self._new_handle(match[0]), text)
        return text

    def redact_summary(self, summary: SessionSummary) -> SessionSummary:
        """Return a session's line in the list redacted: its title, and what its newest turn failed with."""
        failure = tuple(map(self.redact_text, summary.failure))
        return msgspec.structs.replace(summary, title=self.redact_text(summary.title), failure=failure)

    def _new_handle(self, handle: str) -> str:
        """Return the handle of an index entry's redacted data, of as many digits; others as they are."""
        if len(handle) == HEX_DIGITS:
            return self.new_digests.get(handle, handle)
        moved = (new for old, new in self.new_digests.items() if old.startswith(handle))
        return next(moved, handle)[: len(handle)]

    def redact_data(self, data: bytes) -> bytes:
        """Return the bytes redacted, with index entries by their new digests."""
        for needle, mark in self._raw_needles:
            data = data.replace(needle, mark)
        if self.digests:
            text = data.decode("utf-8", "surrogateescape")
            data = without_descriptions(text, self.digests).encode("utf-8", "surrogateescape")
        if self._descriptions:
            data = b"".join(map(self._without_description, data.splitlines(keepends=True)))
        if self.new_digests:
            data = self.redact_text(data.decode("utf-8", "surrogateescape")).encode(
                "utf-8", "surrogateescape"
            )
        return data

    def redact_event(
        self, recorded: RecordedEvent, removed: Mapping[int, OutputCopies] = _NOTHING
    ) -> RecordedEvent:
        """Return the event redacted; the same object if nothing matches.

        `removed` is what `find_removed` returned for this log.
        """
        event = recorded.event
        if isinstance(event, FormChosen) and event.target in removed:
            event = msgspec.structs.replace(event, text=self.mark, asked="", intake_note="")
        event = self._blanked(event) if self.digests else event
        for copies in self._copies_before(recorded, removed):
            event = self._redact_value(event, "", copies.remove_from)
        event = self._redact_value(event, "", self.redact_text)
        return recorded if event == recorded.event else msgspec.structs.replace(recorded, event=event)

    def _copies_before(
        self, recorded: RecordedEvent, removed: Mapping[int, OutputCopies]
    ) -> Iterable[OutputCopies]:
        """Return whose words an event can repeat: those of the outputs before it that it sums up."""
        match recorded.event:
            case FoldMade(after=after, upto=upto):
                return [copies for seq, copies in removed.items() if after < seq <= upto]
            case ToolAnswered(name=name) if name in _REPEATING_TOOLS:
                return [self._copies]  # of any session
            case HandoverMade(origin=origin) if origin:
                return [self._copies]
            case event if isinstance(event, _SUMMARIES):
                return [copies for seq, copies in removed.items() if seq < recorded.seq]
        return ()

    def _without_description(self, line: bytes) -> bytes:
        """Return a line of an index without what it says of a content to redact."""
        text = line.decode("utf-8", "surrogateescape")
        if text[:HEX_DIGITS] not in self.digests:
            return line
        body = text.rstrip("\r\n")
        for description in self._descriptions:
            for ending in (f", {description}", f' "{description}"'):
                if body.endswith(ending):
                    return f"{body.removesuffix(ending)}, {self.mark}{text[len(body) :]}".encode(
                        "utf-8", "surrogateescape"
                    )
        return line

    def redact_draft(self, draft: Draft) -> Draft:
        return cast(Draft, self._redact_value(self._blanked(draft), "", self.redact_text))

    def _blanked(self, value: T) -> T:
        """Return the value without the shown forms of redacted contents."""
        changed: Any = value
        match value:
            case OutputHeld(answer=answer):
                blanked = self._blanked(answer)
                changed = value if blanked is answer else msgspec.structs.replace(value, answer=blanked)
            case ToolAnswered(digest=digest, recalled=recalled) if {digest, recalled} & self.digests:
                changed = msgspec.structs.replace(
                    value,
                    text=self.mark,
                    first_line=self.mark,
                    asked="",
                    intake_note="",
                    images=(),
                    about="",
                    identifiers=(),
                    reply=None,
                )
            case AssistantSpoke(calls=calls, short=short) if swept := self._swept_calls(value):
                gone = {swept_call.call_id: self._without_descriptions(swept_call) for swept_call in swept}
                changed = msgspec.structs.replace(
                    value,
                    calls=tuple(_swept(call, gone.get(call.id)) for call in calls),
                    short=tuple(gone.get(swept_call.call_id, swept_call) for swept_call in short),
                    verbatim=None,
                    identifiers=(),
                )
            case UserSpoke(text=text, short=short) if short and self.digests.intersection(short.digests):
                changed = msgspec.structs.replace(value, text=self._without_programs(text), short=None)
            case Attachment(digest=digest) if digest in self.digests:
                changed = msgspec.structs.replace(value, text=self.mark, label=self.mark, image=None)
        if hasattr(changed, "attachments"):
            attached = tuple(self._blanked(attachment) for attachment in changed.attachments)
            if attached != changed.attachments:
                changed = msgspec.structs.replace(changed, attachments=attached)
        return cast(T, changed)

    def _without_programs(self, text: str) -> str:
        """Return a user's message without what programs put in that is to be removed, or the mark alone."""
        if _digest_of_text(text) in self.digests:
            return self.mark
        parts = (part if isinstance(part, str) else part.text for part in message_parts(text))
        return "".join(self.mark if _digest_of_text(part) in self.digests else part for part in parts)

    def _without_descriptions(self, swept_call: SweptCall) -> SweptCall:
        arguments = without_descriptions(swept_call.arguments, self.digests)
        return msgspec.structs.replace(swept_call, arguments=arguments)

    def _redact_value(self, value: Any, name: str, redact_text: Callable[[str], str]) -> Any:
        match value:
            case msgspec.Struct():
                return self._redact_struct(value, redact_text)
            case str() if name in _HANDLES:
                return self.new_digests.get(value, value)
            case str():
                return redact_text(value)
            case tuple() | list():
                redacted = type(value)(self._redact_value(item, name, redact_text) for item in value)
                return value if redacted == value else redacted
            case dict():
                redacted_items = (
                    (self._redact_value(k, "", redact_text), self._redact_value(v, "", redact_text))
                    for k, v in value.items()
                )
                return _reuse_equal(value, dict(redacted_items))
        return value

    def _redact_struct(self, value: msgspec.Struct, redact_text: Callable[[str], str]) -> msgspec.Struct:
        changed: dict[str, Any] = {}
        for name in _text_fields(type(value)):
            previous = getattr(value, name)
            new = self._redact_value(previous, name, redact_text)
            if new is not previous and new != previous:
                changed[name] = new
        if not changed:
            return value
        if isinstance(value, ToolCall | SweptCall) and "arguments" in changed:
            changed["arguments"] = self._valid_json(value.arguments, changed["arguments"])
        return msgspec.structs.replace(value, **changed)

    def _valid_json(self, previous: str, redacted: str) -> str:
        """Keep JSON arguments valid, even if the redacted text included JSON syntax."""
        if _is_json(previous) and not _is_json(redacted):
            return json.dumps({"forgotten": self.mark})
        return redacted


def _digest_of_text(text: str) -> str:
    return digest_of(text.encode("utf-8", "surrogatepass"))


def _reuse_equal(previous: dict[Any, Any], redacted: dict[Any, Any]) -> dict[Any, Any]:
    return previous if previous == redacted else redacted


def _swept(call: ToolCall, swept_call: SweptCall | None) -> ToolCall:
    return call if swept_call is None else msgspec.structs.replace(call, arguments=swept_call.arguments)


def _needles(text: str, mark: str) -> tuple[str, ...]:
    """Return the text in every encoded form. Raise InvalidInput if it is too short or in the mark."""
    if len(text.strip()) < MIN_TEXT_LENGTH:
        raise InvalidInput(
            _text("A secret must have at least {count} characters.", count=MIN_TEXT_LENGTH),
            _text("A shorter text also occurs where it means something else."),
            _text("Enter more of it."),
        )
    if text in mark:
        raise InvalidInput(
            _text("{text} is part of the mark that replaces secrets.", text=repr(text)),
            fix=_text("Enter more of it."),
        )
    return encoded_variants(text)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


@lru_cache
def _text_fields(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    """Return the fields of a struct that can hold texts or handles: no ids, numbers, or closed choices."""
    return tuple(
        field.name
        for field in msgspec.structs.fields(kind)
        if field.name not in _IDS and field.type not in (int, bool) and get_origin(field.type) is not Literal
    )
