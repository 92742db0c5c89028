"""Notifications by the desktop's own service on the session bus (freedesktop.org, Notifications 1.2)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from html import escape
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from helix_desktop.system.task_scope import raise_if_canceled

if TYPE_CHECKING:
    from jeepney import Message
    from jeepney.io.asyncio import DBusRouter

T = TypeVar("T")
_NAME = "org.freedesktop.Notifications"
_PATH = "/org/freedesktop/Notifications"
_OPEN = "default"  # the action of a click on the notification itself
_ROUTER_FAILURES = (KeyError, RuntimeError, ValueError, asyncio.InvalidStateError)
_EXPIRY_MS = -1  # as the service does it


class _Notification(NamedTuple, Generic[T]):
    title: str
    text: str
    place: T


class NotificationService(Generic[T]):
    """Shows notifications while `run` runs, and reports the place that a clicked one is about."""

    def __init__(self, app_name: str, desktop_entry: str, on_click: Callable[[T], None]) -> None:
        """`desktop_entry` names the app's desktop file, which has its icon."""
        self._app_name = app_name
        self._desktop_entry = desktop_entry
        self._on_click = on_click
        self._queue: asyncio.Queue[_Notification[T] | Message | None] = asyncio.Queue()
        self._places: dict[int, T] = {}

    def show(self, title: str, text: str, place: T) -> None:
        """Show a notification soon."""
        self._queue.put_nowait(_Notification(title, text, place))

    def withdraw(self) -> None:
        """Take all notifications back soon."""
        self._queue.put_nowait(None)

    async def run(self) -> None:
        """Show what is to be shown and listen for clicks, until canceled.

        Raises OSError if there is no session bus, no such service, or no longer one.
        """
        from jeepney import DBusErrorResponse, MatchRule, message_bus
        from jeepney.io.asyncio import DBusRouter, Proxy, open_dbus_connection
        from jeepney.io.common import RouterClosed

        clicks = MatchRule(type="signal", interface=_NAME, path=_PATH, member="ActionInvoked")
        try:
            # Not `open_dbus_router`: that leaves the connection open if the router has failed.
            async with await open_dbus_connection() as connection, DBusRouter(connection) as router:
                with router.filter(clicks, queue=self._queue):
                    await Proxy(message_bus, router).AddMatch(clicks)
                    await self._serve(router)
        except (DBusErrorResponse, RouterClosed, EOFError, *_ROUTER_FAILURES) as error:
            raise_if_canceled()  # the router fails if a call is canceled in the moment of its reply
            raise OSError(f"no notification service: {error!r}") from error
        finally:
            self._queue = asyncio.Queue()
            self._places.clear()

    async def _serve(self, router: DBusRouter) -> None:
        from jeepney import DBusErrorResponse

        (capabilities,) = await _call(router, "GetCapabilities")
        has_markup = "body-markup" in capabilities
        while True:
            match await self._queue.get():
                case _Notification(title, text, place):
                    body = escape(text, quote=False) if has_markup else text
                    (number,) = await _call(router, "Notify", "susssasa{sv}i", self._arguments(title, body))
                    self._places[number] = place
                case None:
                    for number in self._places:
                        with suppress(DBusErrorResponse):  # as services answer if the user closed it before
                            await _call(router, "CloseNotification", "u", (number,))
                    self._places.clear()
                case message:
                    number, action = message.body
                    if action == _OPEN and number in self._places:
                        self._on_click(self._places.pop(number))

    def _arguments(self, title: str, body: str) -> tuple[object, ...]:
        # The app makes its own sound, if the user wants one.
        hints = {"desktop-entry": ("s", self._desktop_entry), "suppress-sound": ("b", True)}
        return self._app_name, 0, self._desktop_entry, title, body, [_OPEN, ""], hints, _EXPIRY_MS


async def _call(
    router: DBusRouter, method: str, signature: str = "", body: tuple[object, ...] = ()
) -> tuple[Any, ...]:
    from jeepney import DBusAddress, new_method_call
    from jeepney.wrappers import unwrap_msg

    service = DBusAddress(_PATH, bus_name=_NAME, interface=_NAME)
    answer: tuple[Any, ...] = unwrap_msg(
        await router.send_and_get_reply(new_method_call(service, method, signature, body))
    )
    return answer
