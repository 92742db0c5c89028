"""The methods of a store that cross the wire, with the types of what is given and what comes back.

The types are those of the methods themselves: a new parameter with a default needs no word here, and a caller
that does not know it yet leaves it out.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Container, Coroutine
from typing import Any, Generic, TypeVar, get_type_hints

import msgspec

from helix_desktop.store.archive.transfer import export_store, import_store
from helix_desktop.store.forget import LevelForgetting
from helix_desktop.store.health import LevelHealth
from helix_desktop.store.keep import LevelKeeper
from helix_desktop.store.leveldb import LevelStore
from helix_desktop.store.remote.faults import Fault
from helix_desktop.store.remote.wire import Frame, FrameRefused, frame

_KEEP, _FORGETTING, _HEALTH = "keep", "forgetting", "health"
T = TypeVar("T")


class Request(msgspec.Struct, frozen=True, array_like=True):
    """A method's name, its arguments in order, still encoded, and whether to tell how far the answer is."""

    method: str
    given: msgspec.Raw
    told: bool = False


class Answer(msgspec.Struct, frozen=True, array_like=True):
    """A fault, or what the method gave, still encoded."""

    fault: Fault | None
    value: msgspec.Raw


class Call(Generic[T]):
    """One method as a guest calls it and the owner reads it.

    `name` is what crosses the wire, whatever the method is called here: programs of two releases understand
    each other. `part` names the part of the store that has it; `local` parameters stay at home, as does `tells`,
    the callback for progress.
    """

    def __init__(
        self,
        name: str,
        method: Callable[..., Coroutine[Any, Any, T]],
        part: str = "",
        local: Container[str] = (),
        tells: str = "",
    ) -> None:
        self.name = name
        self.path = f"{part}.{method.__name__}" if part else method.__name__
        self.tells = tells
        hints = get_type_hints(method)
        given = [
            one
            for one in list(inspect.signature(method).parameters.values())[1:]
            if one.name not in local and one.name != tells
        ]
        fields: list[Any] = [
            (one.name, hints[one.name])
            if one.default is inspect.Parameter.empty
            else (one.name, hints[one.name], one.default)
            for one in given
        ]
        self._given = msgspec.defstruct(f"Given_{method.__name__}", fields, array_like=True, frozen=True)
        self._gives: Any = hints["return"]

    def request(self, *given: object, told: bool = False) -> Frame:
        """What a guest sends. Raises ValueError for text that is not Unicode."""
        return frame((self.name, given, True) if told else (self.name, given))

    def arguments(self, request: Request, json: bool) -> tuple[Any, ...]:
        """What the owner reads. Raises FrameRefused."""
        return msgspec.structs.astuple(Frame(bytes(request.given), json).read(self._given))

    def result(self, value: bytes, json: bool) -> T:
        """What the guest reads of an answer. Raises FrameRefused."""
        read: T = Frame(value, json).read(self._gives)
        return read


COMMIT = Call("commit", LevelStore.commit)
EVENTS = Call("events", LevelStore.events)
SESSIONS = Call("sessions", LevelStore.sessions)
GET = Call("get", LevelStore.get)
ENTRY = Call("entry", LevelStore.entry)
FIND = Call("find", LevelStore.find)
LISTED = Call("listed", LevelStore.listed)
LISTED_DIGESTS = Call("listed_digests", LevelStore.listed_digests)
TOOLS = Call("tools", LevelStore.tools)
HANDOVERS = Call("handovers", LevelStore.handovers)
INDEXED = Call("indexed", LevelStore.indexed)
TOTALS = Call("totals", LevelStore.totals)
SAVE_DRAFT = Call("save_draft", LevelStore.save_draft)
DRAFT = Call("draft", LevelStore.draft)
EXPORT = Call("export_store", export_store, tells="progress")
IMPORT = Call("import_store", import_store, local=("free",), tells="progress")

REFERENCES = Call("keep.references", LevelKeeper.references, _KEEP)
NAMED = Call("keep.named", LevelKeeper.named, _KEEP)
PIN = Call("keep.pin", LevelKeeper.pin, _KEEP)
PLAN = Call("keep.plan", LevelKeeper.plan, _KEEP)
COLLECT = Call("keep.collect", LevelKeeper.collect, _KEEP)
TRASH = Call("keep.trash", LevelKeeper.trash, _KEEP)
RESTORE = Call("keep.restore", LevelKeeper.restore, _KEEP)
TRASH_SESSION = Call("keep.trash_session", LevelKeeper.trash_session, _KEEP)
RESTORE_SESSION = Call("keep.restore_session", LevelKeeper.restore_session, _KEEP)
EMPTY_TRASH = Call("keep.empty_trash", LevelKeeper.empty_trash, _KEEP)

PREVIEW = Call("forgetting.preview", LevelForgetting.preview, _FORGETTING, tells="told")
CARRY_OUT = Call("forgetting.carry_out", LevelForgetting.carry_out, _FORGETTING, tells="told")
WHEN = Call("forgetting.when", LevelForgetting.when, _FORGETTING)
LIFT = Call("forgetting.lift", LevelForgetting.lift, _FORGETTING)

CHECK = Call("health.check", LevelHealth.check, _HEALTH, tells="progress")

CALLS: dict[str, Call[Any]] = {
    one.name: one
    for one in (
        *(COMMIT, EVENTS, SESSIONS, GET, ENTRY, FIND, LISTED, TOTALS, SAVE_DRAFT, DRAFT, EXPORT, IMPORT),
        *(REFERENCES, NAMED, PIN, PLAN, COLLECT, TRASH, RESTORE, TRASH_SESSION, RESTORE_SESSION, EMPTY_TRASH),
        *(LISTED_DIGESTS, TOOLS, HANDOVERS, INDEXED),
        *(PREVIEW, CARRY_OUT, WHEN, LIFT, CHECK),
    )
}


def call_of(request: Request) -> Call[Any]:
    """The method that a request names. Raises FrameRefused."""
    try:
        return CALLS[request.method]
    except KeyError:
        raise FrameRefused(f"the method {request.method[:40]!r} is not known") from None
