"""The methods of a store that cross the wire, with the types of their arguments and results.

The types are those of the methods themselves: a new parameter with a default needs no change here, and a
caller that does not know it yet leaves it out.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Container, Coroutine
from typing import Any, Generic, TypeVar, get_type_hints

import msgspec

from helix_desktop.domain.store.commit import Commit
from helix_desktop.store.archive.transfer import export_session, export_store, import_store
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.store.open.health import LevelDbHealth
from helix_desktop.store.redaction.leveldb_redaction import LevelDbRedaction
from helix_desktop.store.remote.frames import Frame, InvalidFrame, encode_frame
from helix_desktop.store.remote.rpc_errors import RpcError
from helix_desktop.store.retention.leveldb_retention import LevelDbRetention

_RETENTION, _REDACTION, _HEALTH = "retention", "redaction", "health"
T = TypeVar("T")


class RpcRequest(msgspec.Struct, frozen=True, array_like=True):
    """A method's name, its arguments in order, still encoded, and a flag to report progress."""

    method: str
    args: msgspec.Raw
    wants_progress: bool = False


class RpcAnswer(msgspec.Struct, frozen=True, array_like=True):
    """An error, or the method's result, still encoded."""

    fault: RpcError | None
    value: msgspec.Raw


class RpcMethod(Generic[T]):
    """One method as a client calls it and the owner decodes it.

    `name` is what crosses the wire, whatever the method's name is here: two releases interoperate.
    `part` names the part of the store that has it; `local_params` are not sent, nor is
    `progress_param`, the callback for progress.
    """

    def __init__(
        self,
        name: str,
        method: Callable[..., Coroutine[Any, Any, T]],
        part: str = "",
        local_params: Container[str] = (),
        progress_param: str = "",
    ) -> None:
        self.name = name
        self.path = f"{part}.{method.__name__}" if part else method.__name__
        self.progress_param = progress_param
        hints = get_type_hints(method)
        params = [
            param
            for param in list(inspect.signature(method).parameters.values())[1:]
            if param.name not in local_params and param.name != progress_param
        ]
        fields: list[Any] = [
            (param.name, hints[param.name])
            if param.default is inspect.Parameter.empty
            else (param.name, hints[param.name], param.default)
            for param in params
        ]
        self._args_type = msgspec.defstruct(f"Args_{method.__name__}", fields, array_like=True, frozen=True)
        self._result_type: Any = hints["return"]

    def request(self, *args: object, wants_progress: bool = False) -> Frame:
        """Return the request that a client sends. Raise ValueError for text that is not Unicode."""
        return encode_frame((self.name, args, True) if wants_progress else (self.name, args))

    def decode_args(self, request: RpcRequest, is_json: bool) -> tuple[Any, ...]:
        """Return the arguments of a request, for the owner. Raise InvalidFrame."""
        return msgspec.structs.astuple(Frame(bytes(request.args), is_json).decode(self._args_type))

    def decode_result(self, value: bytes, is_json: bool) -> T:
        """Return the result in an answer, for the client. Raise InvalidFrame."""
        result: T = Frame(value, is_json).decode(self._result_type)
        return result


class _CommitMethod(RpcMethod[None]):
    """The call that commits: the fields of the commit cross the wire as its arguments."""

    def __init__(self) -> None:
        super().__init__("commit", LevelDbStore.commit)
        self._args_type = Commit

    def request(self, *args: object, wants_progress: bool = False) -> Frame:
        (commit,) = args
        return encode_frame((self.name, commit))

    def decode_args(self, request: RpcRequest, is_json: bool) -> tuple[Any, ...]:
        return (Frame(bytes(request.args), is_json).decode(Commit),)


COMMIT = _CommitMethod()
EVENTS = RpcMethod("events", LevelDbStore.events)
SESSIONS = RpcMethod("sessions", LevelDbStore.sessions)
GET = RpcMethod("get", LevelDbStore.get)
ENTRY = RpcMethod("entry", LevelDbStore.entry)
FIND = RpcMethod("find", LevelDbStore.find)
LIST_PAGE = RpcMethod("listed", LevelDbStore.list_page)
LIST_DIGESTS = RpcMethod("listed_digests", LevelDbStore.list_digests)
TOOLS = RpcMethod("tools", LevelDbStore.tools)
HANDOVERS = RpcMethod("handovers", LevelDbStore.handovers)
WAIT_UNTIL_INDEXED = RpcMethod("indexed", LevelDbStore.wait_until_indexed)
TOTALS = RpcMethod("totals", LevelDbStore.totals)
SAVE_DRAFT = RpcMethod("save_draft", LevelDbStore.save_draft)
SAVE_PARTIAL_ANSWER = RpcMethod("save_partial_answer", LevelDbStore.save_partial_answer)
SAVE_PARTIAL_OUTPUTS = RpcMethod("save_partial_outputs", LevelDbStore.save_partial_outputs)
DRAFT = RpcMethod("draft", LevelDbStore.draft)
EXPORT = RpcMethod("export_store", export_store, progress_param="on_progress")
EXPORT_SESSION = RpcMethod("export_session", export_session, progress_param="on_progress")
IMPORT = RpcMethod("import_store", import_store, local_params=("is_writable",), progress_param="on_progress")

REFERENCES = RpcMethod("keep.references", LevelDbRetention.references, _RETENTION)
SESSION_DIGESTS = RpcMethod("keep.named", LevelDbRetention.session_digests, _RETENTION)
PIN = RpcMethod("keep.pin", LevelDbRetention.pin, _RETENTION)
PLAN = RpcMethod("keep.plan", LevelDbRetention.plan, _RETENTION)
COLLECT = RpcMethod("keep.collect", LevelDbRetention.collect, _RETENTION)
TRASH = RpcMethod("keep.trash", LevelDbRetention.trash, _RETENTION)
RESTORE = RpcMethod("keep.restore", LevelDbRetention.restore, _RETENTION)
TRASH_SESSION = RpcMethod("keep.trash_session", LevelDbRetention.trash_session, _RETENTION)
RESTORE_SESSION = RpcMethod("keep.restore_session", LevelDbRetention.restore_session, _RETENTION)
EMPTY_TRASH = RpcMethod("keep.empty_trash", LevelDbRetention.empty_trash, _RETENTION)
DELETE_PERMANENTLY = RpcMethod("keep.delete_permanently", LevelDbRetention.delete_permanently, _RETENTION)

PREVIEW = RpcMethod("forgetting.preview", LevelDbRedaction.preview, _REDACTION, progress_param="on_progress")
REDACT = RpcMethod("forgetting.carry_out", LevelDbRedaction.redact, _REDACTION, progress_param="on_progress")
REDACTED_AT = RpcMethod("forgetting.when", LevelDbRedaction.redacted_at, _REDACTION)
LIFT = RpcMethod("forgetting.lift", LevelDbRedaction.lift, _REDACTION)

CHECK = RpcMethod("health.check", LevelDbHealth.check, _HEALTH, progress_param="on_progress")

METHODS: dict[str, RpcMethod[Any]] = {
    method.name: method
    for method in (
        *(COMMIT, EVENTS, SESSIONS, GET, ENTRY, FIND, LIST_PAGE, TOTALS, EXPORT, EXPORT_SESSION, IMPORT),
        *(SAVE_DRAFT, SAVE_PARTIAL_ANSWER, SAVE_PARTIAL_OUTPUTS, DRAFT),
        *(REFERENCES, SESSION_DIGESTS, PIN, PLAN, COLLECT, TRASH, RESTORE),
        *(TRASH_SESSION, RESTORE_SESSION, EMPTY_TRASH, DELETE_PERMANENTLY),
        *(LIST_DIGESTS, TOOLS, HANDOVERS, WAIT_UNTIL_INDEXED),
        *(PREVIEW, REDACT, REDACTED_AT, LIFT, CHECK),
    )
}


def method_of(request: RpcRequest) -> RpcMethod[Any]:
    """Return the method that a request names. Raise InvalidFrame."""
    try:
        return METHODS[request.method]
    except KeyError:
        raise InvalidFrame(f"the method {request.method[:40]!r} is not known") from None
