"""A screen reader's view of an app: its tree of accessible nodes, read over AT-SPI by another process."""

from __future__ import annotations

import time
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from jeepney import DBusAddress, HeaderFields, Message, MessageType, new_method_call
from jeepney.io.blocking import DBusConnection, open_dbus_connection

TIMEOUT_S = 120.0
"""For an answer, on a busy machine."""
_MAX_IN_FLIGHT = 200  # calls that wait for their answers at once
_PREFIX = "org.a11y.atspi."
_ROOT = "/org/a11y/atspi/accessible/root"
_REGISTRY = "org.a11y.atspi.Registry"
_NULL_PATH = "/org/a11y/atspi/null"
_SCREEN = 0  # coordinates relative to it
_STATE_BITS = {
    "active": 1, "checked": 4, "editable": 7, "enabled": 8, "expandable": 9, "expanded": 10, "focusable": 11,
    "focused": 12, "selected": 23, "selectable": 22, "showing": 25, "visible": 30, "checkable": 41,
}  # fmt: skip
"""Bits of AT-SPI's state set, by name."""

NodeReference = tuple[str, str]
"""A node: the bus name of its app, and its object path."""
KnownNodes = MutableMapping[NodeReference, tuple[str, str]]
"""Accessible id and role of nodes, which hardly ever change: for many reads of the same app."""
Rectangle = tuple[int, int, int, int]
"""Left, top, width, height, in pixels of the screen."""


class AppGone(AssertionError):
    """The app left the bus during a request: it has crashed, or ended."""


@dataclass(frozen=True, slots=True)
class ErrorReply:
    """An error instead of an answer, for example of a node that is gone by now."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Node:
    """One node of the tree as it was when it was read; `path` names the accessible ids from the app down."""

    ref: NodeReference
    name: str
    id: str
    role: str
    states: frozenset[str]
    parent: Node | None = field(repr=False)

    @property
    def unique_id(self) -> int:
        """Qt's own number of the node."""
        return int(self.ref[1].rpartition("/")[2])

    @property
    def last_id(self) -> str:
        """The last part of the accessible id: the widget's object name, or else its class."""
        return self.id.rpartition(".")[2]

    def ancestors(self) -> Iterator[Node]:
        """All nodes that it lies in, from the inside out."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    def __str__(self) -> str:
        """Role, name and id, for messages of tests."""
        return f"{self.role} {self.name[:60]!r} [{self.id.removeprefix('QApplication.')}]"


class AccessibilityBus:
    def __init__(self, session_bus: str) -> None:
        self._session = open_dbus_connection(session_bus)
        bus = DBusAddress("/org/a11y/bus", "org.a11y.Bus", "org.a11y.Bus")
        reply = self._session.send_and_get_reply(new_method_call(bus, "GetAddress"), timeout=TIMEOUT_S)
        self._bus: DBusConnection = open_dbus_connection(reply.body[0])
        self.signals: list[Message] = []

    def __enter__(self) -> AccessibilityBus:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bus.close()
        self._session.close()

    def apps(self) -> list[NodeReference]:
        (registry_reply,) = self.call([_method_call((_REGISTRY, _ROOT), "Accessible", "GetChildren")])
        return (
            []
            if isinstance(registry_reply, ErrorReply)
            else [(name, path) for name, path in registry_reply[0]]
        )

    def call(self, messages: Sequence[Message]) -> list[Any]:
        """Send calls without waiting for each; the bodies of their answers, or an ErrorReply, in order.

        Raises AppGone when the app disconnects, TimeoutError when it does not answer.
        """
        answers: list[Any] = [None] * len(messages)
        waiting: dict[int, int] = {}
        sent = 0
        deadline = time.monotonic() + TIMEOUT_S
        while sent < len(messages) or waiting:
            while sent < len(messages) and len(waiting) < _MAX_IN_FLIGHT:
                serial = next(self._bus.outgoing_serial)
                self._bus.send(messages[sent], serial=serial)
                waiting[serial] = sent
                sent += 1
            message = self._bus.receive(timeout=max(0.01, deadline - time.monotonic()))
            if message.header.message_type is MessageType.signal:
                self.signals.append(message)
                continue
            at = waiting.pop(message.header.fields.get(HeaderFields.reply_serial, 0), None)
            if at is not None:
                answers[at] = _parse_reply(message)
        return answers

    def walk(
        self, root: NodeReference, visible_only: bool = False, known_nodes: KnownNodes | None = None
    ) -> list[Node]:
        """Read a node and its descendants, level by level; `visible_only` leaves out the hidden ones.

        What `known_nodes` has from earlier reads is not asked again.
        """
        fixed = {} if known_nodes is None else known_nodes
        nodes: list[Node] = []
        level: list[tuple[NodeReference, Node | None]] = [(root, None)]
        while level:
            # What is hidden, as most nodes are, costs one question instead of all.
            state_replies = self.call([_method_call(ref, "Accessible", "GetState") for ref, _ in level])
            visible = [
                (ref, parent, states)
                for (ref, parent), reply in zip(level, state_replies, strict=True)
                if not isinstance(reply, ErrorReply)  # it vanished during the request
                and ("showing" in (states := _parse_states(reply)) or parent is None or not visible_only)
            ]
            unknown = [ref for ref, _, _ in visible if ref not in fixed]
            fixed_replies = self.call([message for ref in unknown for message in _fixed_calls(ref)])
            for ref, identifier, role in zip(unknown, fixed_replies[::2], fixed_replies[1::2], strict=True):
                if not isinstance(identifier, ErrorReply) and not isinstance(role, ErrorReply):
                    fixed[ref] = identifier[0][1], role[0]
            replies = iter(self.call([message for ref, _, _ in visible for message in _node_calls(ref)]))
            level = []
            for ref, parent, states in visible:
                name = next(replies)
                children = next(replies)
                if ref not in fixed or isinstance(name, ErrorReply) or isinstance(children, ErrorReply):
                    continue
                node = Node(ref, name[0][1], *fixed[ref], states, parent)
                nodes.append(node)
                level += [((app, path), node) for app, path in children[0] if path != _NULL_PATH]
        return nodes

    def extents(self, node: Node) -> Rectangle:
        """Return where a node is on the screen; nothing of it where it is hidden."""
        (reply,) = self.call([_method_call(node.ref, "Component", "GetExtents", "u", (_SCREEN,))])
        return (0, 0, 0, 0) if isinstance(reply, ErrorReply) else reply[0]

    def description(self, node: Node) -> str:
        """Return what a screen reader says of a node after its name."""
        (reply,) = self.call([_property_call(node.ref, "Description")])
        return "" if isinstance(reply, ErrorReply) else str(reply[0][1])

    def text(self, node: Node) -> str:
        """Return the text that a field has. Raises AssertionError if the node has none."""
        (reply,) = self.call([_method_call(node.ref, "Text", "GetText", "ii", (0, -1))])
        assert not isinstance(reply, ErrorReply), f"{node}: {reply}"
        return str(reply[0])

    def press(self, node: Node) -> None:
        self.call([_method_call(node.ref, "Action", "DoAction", "i", (0,))])

    def announcements(self) -> list[str]:
        """Return the announcements since `listen` was called."""
        self.apps()  # signals that were sent before the answer come before it
        events = (
            signal
            for signal in self.signals
            if signal.header.fields.get(HeaderFields.member) == "Announcement"
        )
        return [value for event in events for kind, value in [event.body[3]] if kind == "s"]

    def listen(self, signal: str) -> None:
        """Collect a signal from now on in `signals`, for example "Announcement"."""
        rule = f"type='signal',interface='{_PREFIX}Event.Object',member='{signal}'"
        bus = DBusAddress("/org/freedesktop/DBus", "org.freedesktop.DBus", "org.freedesktop.DBus")
        registry = DBusAddress("/org/a11y/atspi/registry", _REGISTRY, _REGISTRY)
        event = f"object:{signal.lower()}"
        self.call(
            [
                new_method_call(bus, "AddMatch", "s", (rule,)),
                new_method_call(registry, "RegisterEvent", "sass", (event, [], "")),
            ]
        )


def _method_call(
    ref: NodeReference, interface: str, method: str, signature: str = "", body: Any = ()
) -> Message:
    return new_method_call(DBusAddress(ref[1], ref[0], _PREFIX + interface), method, signature or None, body)


def _property_call(ref: NodeReference, name: str) -> Message:
    address = DBusAddress(ref[1], ref[0], "org.freedesktop.DBus.Properties")
    return new_method_call(address, "Get", "ss", (f"{_PREFIX}Accessible", name))


def _fixed_calls(ref: NodeReference) -> list[Message]:
    return [_property_call(ref, "AccessibleId"), _method_call(ref, "Accessible", "GetRoleName")]


def _node_calls(ref: NodeReference) -> list[Message]:
    return [_property_call(ref, "Name"), _method_call(ref, "Accessible", "GetChildren")]


def _parse_states(reply: Any) -> frozenset[str]:
    low, high = reply[0]
    bits = low | high << 32
    return frozenset(word for word, bit in _STATE_BITS.items() if bits >> bit & 1)


def _parse_reply(message: Message) -> Any:
    if message.header.message_type is not MessageType.error:
        return message.body
    name = str(message.header.fields.get(HeaderFields.error_name, ""))
    if name.endswith((".NoReply", ".ServiceUnknown")):
        raise AppGone(f"the app left the bus while it was asked ({name})")
    return ErrorReply(name, str(message.body[0]) if message.body else "")
