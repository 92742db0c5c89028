"""Calls to a store between processes of a user: trust, frames, methods with their types, and errors.

An id matches an answer to its request; id 0 belongs to the handshake. A value that msgpack cannot hold (an
integer beyond 64 bits in a provider's verbatim answer) is sent as JSON, and the head says so. If the request
wants progress, progress frames come before the answer, under its id.

The types are those of the methods themselves: a new parameter with a default needs no change here, and a
caller that does not know it yet leaves it out.

The owner's address and proof of a shared secret let two processes find and trust each other. Where the system
has Unix domain sockets, the socket is in a folder of its own that nobody else may enter, with a short path:
an address has room for 104 to 108 bytes. Elsewhere it is a port of the loopback interface; there only the
secret keeps others out.
"""

from __future__ import annotations

import contextlib
import hmac
import inspect
import os
import secrets
import struct
import sys
import tempfile
from collections.abc import Callable, Container, Coroutine
from pathlib import Path
from typing import Any, Generic, TypeVar, get_type_hints

import msgspec

from helix_desktop.domain import errors
from helix_desktop.domain.errors import DigestAmbiguous, DigestUnknown, HelixError, StoreError, StoreLocked
from helix_desktop.domain.store import Commit
from helix_desktop.domain.translatable_text import plain_text, verbatim
from helix_desktop.store.archive_transfer import export_session, export_store, import_store
from helix_desktop.store.core.row_codec import MAX_CONTENT_BYTES
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.store.opening import LevelDbHealth
from helix_desktop.store.redaction import LevelDbRedaction
from helix_desktop.store.retention import RowRetention
from helix_desktop.system.files import read_regular, replace_file

PROTOCOL_VERSION = 1
HANDSHAKE_ID = 0
MAX_HANDSHAKE_BYTES = 1024  # bytes of a frame from a peer who has not proved to be the same user
MAX_REQUEST_BYTES = (
    MAX_CONTENT_BYTES + 4 * 1024 * 1024
)  # bytes: one content of the largest size, and the rest of the message
MAX_ANSWER_BYTES = 1024 * 1024 * 1024  # bytes: the longest log of a session
_MSGPACK, _JSON, _PROGRESS = range(3)
_HEAD = struct.Struct(">IBBI")
HEAD_BYTES = _HEAD.size

T = TypeVar("T")


class InvalidFrame(Exception):
    """What was received is not a frame of this protocol; the connection cannot continue."""


class UnsupportedVersion(InvalidFrame):
    """The other process uses another version of the protocol."""


class FrameHead(msgspec.Struct, frozen=True):
    length: int
    id: int
    is_json: bool
    is_progress: bool = False  # reports the progress of an answer


class Frame(msgspec.Struct, frozen=True):
    payload: bytes
    is_json: bool = False
    is_progress: bool = False

    def encode_head(self, request_id: int) -> bytes:
        form = _PROGRESS if self.is_progress else _JSON if self.is_json else _MSGPACK
        return _HEAD.pack(len(self.payload), PROTOCOL_VERSION, form, request_id)

    def decode(self, value_type: type[T]) -> T:
        """Return the value as `value_type`. Raise InvalidFrame."""
        try:
            if self.is_json:
                return msgspec.json.decode(self.payload, type=value_type)
            return msgspec.msgpack.decode(self.payload, type=value_type)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise InvalidFrame(f"a value is not understood ({error})") from error


def encode_frame(value: Any) -> Frame:
    """Return a value encoded for the wire. Raise ValueError for text that is not Unicode."""
    try:
        return Frame(msgspec.msgpack.encode(value, enc_hook=plain_text))
    except OverflowError:
        return Frame(msgspec.json.encode(value, enc_hook=plain_text), is_json=True)


def encode_progress(done: int, size: int) -> Frame:
    return Frame(msgspec.msgpack.encode((done, size)), is_progress=True)


def read_frame_head(data: bytes, max_bytes: int) -> FrameHead:
    """Parse the head of a payload that has at most `max_bytes` bytes. Raise InvalidFrame."""
    length, version, form, request_id = _HEAD.unpack(data)
    if version != PROTOCOL_VERSION:
        raise UnsupportedVersion(f"a frame of version {version} came, not of {PROTOCOL_VERSION}")
    if form not in (_MSGPACK, _JSON, _PROGRESS):
        raise InvalidFrame(f"a frame of the unknown form {form} came")
    if length > max_bytes:
        raise InvalidFrame(f"a frame claims {length} bytes, of at most {max_bytes}")
    return FrameHead(length, request_id, form == _JSON, form == _PROGRESS)


_VALUE_ERROR = "ValueError"
# By the names they had when they first crossed the wire: programs of two releases interoperate.
_ERROR_CLASSES: dict[str, type[HelixError]] = {
    "HelixError": errors.HelixError,
    "InputUnusable": errors.InvalidInput,
    "DataDirUnusable": errors.DataDirUnavailable,
    "SettingsDamaged": errors.SettingsDamaged,
    "SettingsUnreadable": errors.SettingsUnreadable,
    "WorkspaceMissing": errors.WorkspaceMissing,
    "WorkspaceUntrusted": errors.WorkspaceUntrusted,
    "WindowSilent": errors.InstanceNotResponding,
    "RecordingUnusable": errors.InvalidRecording,
    "ArchiveUnusable": errors.InvalidArchive,
    "ArchiveNotWritten": errors.ArchiveWriteFailed,
    "StoreError": errors.StoreError,
    "StoreLocked": errors.StoreLocked,
    "StoreClosed": errors.StoreClosed,
    "StoreUnreadable": errors.StoreUnreadable,
    "StoreDamaged": errors.StoreDamaged,
    "StoreMended": errors.StoreRepaired,
    "StoreWriteFailed": errors.StoreWriteFailed,
    "DigestUnknown": errors.DigestUnknown,
    "ContentForgotten": errors.ContentRedacted,
    "DigestAmbiguous": errors.DigestAmbiguous,
    "ContentDamaged": errors.ContentDamaged,
    "ContentTooLarge": errors.ContentTooLarge,
    "ModelError": errors.ModelError,
    "ModelUnreachable": errors.ModelUnreachable,
    "ModelRefused": errors.ModelRequestRejected,
    "KeyRefused": errors.AuthenticationFailed,
    "ImagesRefused": errors.ImagesRejected,
    "ModelOverflow": errors.ContextWindowExceeded,
    "ModelNonsense": errors.InvalidModelResponse,
    "ToolError": errors.ToolError,
    "SubagentFailed": errors.SubagentFailed,
    "ModelUnchosen": errors.ModelNotChosen,
    "BudgetSpent": errors.BudgetExhausted,
    "RequestInvalid": errors.RequestInvalid,
    "RequestTooLarge": errors.RequestTooLarge,
    "CompactionRefused": errors.CompactionRefused,
    "SummaryRefused": errors.SummaryRefused,
    "FormRefused": errors.OutputFormUnavailable,
}
_NAMES = {kind: name for name, kind in _ERROR_CLASSES.items()}


class RpcError(msgspec.Struct, frozen=True):
    """An error without its class: its name, its texts, and its other fields."""

    kind: str
    what: str
    why: str = ""
    fix: str = ""
    near: tuple[str, ...] = ()
    owner_pid: int | None = None


def to_rpc_error(error: HelixError | ValueError) -> RpcError:
    if isinstance(error, ValueError):
        return RpcError(_VALUE_ERROR, str(error))
    return RpcError(
        _NAMES.get(type(error), type(error).__name__),
        str(error.what),
        str(error.why),
        str(error.fix),
        error.near if isinstance(error, DigestUnknown | DigestAmbiguous) else (),
        error.owner_pid if isinstance(error, StoreLocked) else None,
    )


def from_rpc_error(rpc_error: RpcError) -> HelixError | ValueError:
    """Return the error that was sent; for an unknown class, a StoreError with its texts."""
    if rpc_error.kind == _VALUE_ERROR:
        return ValueError(rpc_error.what)
    kind = _ERROR_CLASSES.get(rpc_error.kind, StoreError)
    what, why, fix = map(verbatim, (rpc_error.what, rpc_error.why, rpc_error.fix))
    if issubclass(kind, DigestUnknown | DigestAmbiguous):
        return kind(what, why, fix, rpc_error.near)
    if issubclass(kind, StoreLocked):
        return kind(what, rpc_error.owner_pid, why, fix)
    if kind.__init__ not in {HelixError.__init__, errors.ToolError.__init__}:
        kind = StoreError  # it has fields that are not sent
    return kind(what, why, fix)


_RETENTION, _REDACTION, _HEALTH = "retention", "redaction", "health"


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
FIND_PASSAGES = RpcMethod("find_passages", LevelDbStore.find_passages)
WAIT_UNTIL_INDEXED = RpcMethod("indexed", LevelDbStore.wait_until_indexed)
TOTALS = RpcMethod("totals", LevelDbStore.totals)
SAVE_DRAFT = RpcMethod("save_draft", LevelDbStore.save_draft)
SAVE_PARTIAL_ANSWER = RpcMethod("save_partial_answer", LevelDbStore.save_partial_answer)
SAVE_PARTIAL_OUTPUTS = RpcMethod("save_partial_outputs", LevelDbStore.save_partial_outputs)
DRAFT = RpcMethod("draft", LevelDbStore.draft)
EXPORT = RpcMethod("export_store", export_store, progress_param="on_progress")
EXPORT_SESSION = RpcMethod("export_session", export_session, progress_param="on_progress")
IMPORT = RpcMethod(
    "import_store", import_store, local_params=("is_writable", "totals"), progress_param="on_progress"
)

REFERENCES = RpcMethod("keep.references", RowRetention.references, _RETENTION)
SESSION_DIGESTS = RpcMethod("keep.named", RowRetention.session_digests, _RETENTION)
PIN = RpcMethod("keep.pin", RowRetention.pin, _RETENTION)
PLAN = RpcMethod("keep.plan", RowRetention.plan, _RETENTION)
COLLECT = RpcMethod("keep.collect", RowRetention.collect, _RETENTION)
TRASH = RpcMethod("keep.trash", RowRetention.trash, _RETENTION)
RESTORE = RpcMethod("keep.restore", RowRetention.restore, _RETENTION)
TRASH_SESSION = RpcMethod("keep.trash_session", RowRetention.trash_session, _RETENTION)
RESTORE_SESSION = RpcMethod("keep.restore_session", RowRetention.restore_session, _RETENTION)
EMPTY_TRASH = RpcMethod("keep.empty_trash", RowRetention.empty_trash, _RETENTION)
DELETE_PERMANENTLY = RpcMethod("keep.delete_permanently", RowRetention.delete_permanently, _RETENTION)

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
        *(LIST_DIGESTS, TOOLS, HANDOVERS, FIND_PASSAGES, WAIT_UNTIL_INDEXED),
        *(PREVIEW, REDACT, REDACTED_AT, LIFT, CHECK),
    )
}


def method_of(request: RpcRequest) -> RpcMethod[Any]:
    """Return the method that a request names. Raise InvalidFrame."""
    try:
        return METHODS[request.method]
    except KeyError:
        raise InvalidFrame(f"the method {request.method[:40]!r} is not known") from None


LOOPBACK = sys.platform == "win32"
ENDPOINT_FILE = "owner.address"
_HOST = "127.0.0.1"
_FOLDER_PREFIX = "helix-"
_SOCKET_NAME = "s"
_MAX_SOCKET_PATH_BYTES = 100  # length in bytes of a socket's path that every system accepts
_SECRET_BYTES = 32


class OwnerEndpoint(msgspec.Struct, frozen=True):
    """The path of a socket or a port of loopback, and the secret of this owner."""

    secret: bytes
    path: str = ""
    port: int = 0
    host: str = _HOST


def new_secret() -> bytes:
    """Return a secret for one opening of a store."""
    return secrets.token_bytes(_SECRET_BYTES)


def write_endpoint(folder: Path, endpoint: OwnerEndpoint) -> None:
    """Write the address of the owner into a store's folder. Raise OSError."""
    part = folder / f"{ENDPOINT_FILE}.part"
    part.unlink(missing_ok=True)
    part.touch(mode=0o600, exist_ok=False)
    part.write_bytes(msgspec.json.encode(endpoint))
    replace_file(part, folder / ENDPOINT_FILE)


def read_endpoint(folder: Path) -> OwnerEndpoint | None:
    try:
        return msgspec.json.decode(read_regular(folder / ENDPOINT_FILE), type=OwnerEndpoint)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


def new_socket_path() -> Path:
    """Return a path for a socket in a new folder that only this user may enter. Raise OSError."""
    folders = [os.environ.get("XDG_RUNTIME_DIR", ""), tempfile.gettempdir(), "/tmp"]
    for folder in filter(os.path.isdir, folders):
        path_bytes = len(os.fsencode(folder)) + len(f"/{_FOLDER_PREFIX}12345678/{_SOCKET_NAME}")
        if path_bytes <= _MAX_SOCKET_PATH_BYTES and os.access(folder, os.W_OK):
            return Path(tempfile.mkdtemp(prefix=_FOLDER_PREFIX, dir=folder)) / _SOCKET_NAME
    raise OSError("there is no folder for a socket whose path is short enough")


def remove_endpoint(folder: Path) -> None:
    """Remove what an owner, this one or a dead one, has left: the file, its socket, the socket's folder."""
    endpoint = read_endpoint(folder)
    with contextlib.suppress(OSError):
        (folder / ENDPOINT_FILE).unlink()
    if endpoint is not None and endpoint.path:
        _remove_socket(Path(endpoint.path))


def _remove_socket(path: Path) -> None:
    """Remove a socket and its folder, if the names are as from `new_socket_path`."""
    if path.name != _SOCKET_NAME or not path.parent.name.startswith(_FOLDER_PREFIX):
        return
    with contextlib.suppress(OSError):
        if path.is_socket():
            path.unlink()
        path.parent.rmdir()


_NONCE_BYTES = 32


class Challenge(msgspec.Struct, frozen=True):
    """The owner's first message: a number that is used once."""

    nonce: bytes


class ClientProof(msgspec.Struct, frozen=True):
    """The client's proof, and its own number."""

    nonce: bytes
    mac: bytes


class OwnerProof(msgspec.Struct, frozen=True):
    """The owner's proof, and the workspace it serves."""

    mac: bytes
    workspace_id: str = msgspec.field(name="workspace")
    pid: int


def new_challenge() -> Challenge:
    return Challenge(secrets.token_bytes(_NONCE_BYTES))


def prove_client(secret: bytes, challenge: Challenge) -> ClientProof:
    nonce = secrets.token_bytes(_NONCE_BYTES)
    return ClientProof(nonce, _mac(secret, b"guest", challenge.nonce, nonce))


def prove_owner(
    secret: bytes, challenge: Challenge, client_proof: ClientProof, workspace_id: str, pid: int
) -> OwnerProof:
    """Return the owner's answer to a client who has the secret. Raise InvalidFrame for any other."""
    if not hmac.compare_digest(client_proof.mac, _mac(secret, b"guest", challenge.nonce, client_proof.nonce)):
        raise InvalidFrame("a guest came without the secret")
    return OwnerProof(_mac(secret, b"owner", challenge.nonce, client_proof.nonce), workspace_id, pid)


def check_owner(
    secret: bytes, challenge: Challenge, client_proof: ClientProof, owner_proof: OwnerProof
) -> None:
    """Raise InvalidFrame unless the owner's proof is valid."""
    if not hmac.compare_digest(owner_proof.mac, _mac(secret, b"owner", challenge.nonce, client_proof.nonce)):
        raise InvalidFrame("the one who answers has not the secret")


def _mac(secret: bytes, role: bytes, first: bytes, second: bytes) -> bytes:
    return hmac.digest(secret, b"\0".join((role, first, second)), "sha256")
