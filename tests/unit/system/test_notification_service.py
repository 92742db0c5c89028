"""A desktop's notification service shows what it gets, says what was clicked, and is missed where none is."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from helix_desktop.system.notification_service import NotificationService
from helix_desktop.system.task_scope import TaskScope

NAME = "org.freedesktop.Notifications"
PATH = "/org/freedesktop/Notifications"

pytestmark = pytest.mark.skipif(shutil.which("dbus-daemon") is None, reason="needs dbus-daemon")


@pytest.fixture
def session_bus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    config = tmp_path / "bus.conf"
    config.write_text(
        '<busconfig><type>session</type><listen>unix:tmpdir=/tmp</listen><policy context="default">'
        '<allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy></busconfig>',
        encoding="utf-8",
    )
    command = ("dbus-daemon", f"--config-file={config}", "--nofork", "--print-address")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as bus:
        assert bus.stdout is not None
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", bus.stdout.readline().strip())
        yield
        bus.terminate()


class Desktop:
    """What a desktop was sent, and the user who clicks."""

    def __init__(self, router: Any) -> None:
        self._router = router
        self.calls: asyncio.Queue[tuple[str, tuple[Any, ...]]] = asyncio.Queue()
        self.closed_by_user: set[int] = set()

    async def serve(self, requests: asyncio.Queue[Any]) -> None:
        from jeepney import HeaderFields, new_error, new_method_return

        number = 0
        while True:
            message = await requests.get()
            method = message.header.fields[HeaderFields.member]
            if method == "GetCapabilities":
                reply = new_method_return(message, "as", (["body-markup", "actions"],))
            elif method == "Notify":
                number += 1
                reply = new_method_return(message, "u", (number,))
            elif method == "CloseNotification" and message.body[0] in self.closed_by_user:
                reply = new_error(message, f"{NAME}.Error")
            else:
                reply = new_method_return(message)
            await self._router.send(reply)
            self.calls.put_nowait((method, message.body))

    async def next_call(self, method: str) -> tuple[Any, ...]:
        while True:
            name, body = await asyncio.wait_for(self.calls.get(), 60)
            if name == method:
                return body

    async def click(self, number: int) -> None:
        from jeepney import DBusAddress, new_signal

        await self._router.send(
            new_signal(DBusAddress(PATH, interface=NAME), "ActionInvoked", "us", (number, "default"))
        )


@asynccontextmanager
async def a_desktop() -> AsyncIterator[Desktop]:
    """Own the service's name on the session's bus."""
    from jeepney import MatchRule, MessageType, message_bus
    from jeepney.io.asyncio import Proxy, open_dbus_router

    requests: asyncio.Queue[Any] = asyncio.Queue()
    async with open_dbus_router() as router:
        with router.filter(MatchRule(type=MessageType.method_call, interface=NAME), queue=requests):
            await Proxy(message_bus, router).RequestName(NAME)
            desktop = Desktop(router)
            scope = TaskScope()
            scope.start(desktop.serve(requests), "desktop")
            yield desktop
            await scope.close()


@pytest.mark.usefixtures("session_bus")
async def test_each_notification_leads_to_its_own_place_and_all_are_taken_back() -> None:
    clicked: asyncio.Queue[str] = asyncio.Queue()
    async with a_desktop() as desktop:
        service = NotificationService[str]("Helix Desktop", "org.example.App", clicked.put_nowait)
        service.show("Waiting", "if a < b & c", "first session")
        scope = TaskScope()
        scope.start(service.run(), "notify")
        name, _, icon, title, body, actions, hints, _ = await desktop.next_call("Notify")
        assert (name, icon, title, body) == (
            "Helix Desktop", "org.example.App", "Waiting", "if a &lt; b &amp; c",
        )  # fmt: skip
        assert actions[0] == "default"
        assert hints["suppress-sound"] == ("b", True), "the app makes its own, if the user wants one"
        service.show("Done", "It is", "second session")
        await desktop.next_call("Notify")
        await desktop.click(1)
        assert await asyncio.wait_for(clicked.get(), 60) == "first session"
        service.withdraw()
        assert await desktop.next_call("CloseNotification") == (2,)
        await scope.close()


@pytest.mark.usefixtures("session_bus")
async def test_a_notification_that_the_user_closed_keeps_none_of_the_others_from_being_taken_back() -> None:
    async with a_desktop() as desktop:
        service = NotificationService[str]("Helix Desktop", "org.example.App", lambda place: None)
        scope = TaskScope()
        scope.start(service.run(), "notify")
        for number in (1, 2):
            service.show("Done", f"Session {number}", "a session")
            await desktop.next_call("Notify")
        desktop.closed_by_user.add(1)
        service.withdraw()
        service.show("Done", "Later", "a session")
        assert [await desktop.next_call("CloseNotification") for _ in range(2)] == [(1,), (2,)]
        assert (await desktop.next_call("Notify"))[4] == "Later"
        await scope.close()


@pytest.mark.usefixtures("session_bus")
async def test_the_end_in_the_moment_of_a_reply_is_no_failure() -> None:
    """However far the reply has come: it is the same as at any other moment."""
    async with a_desktop() as desktop:
        for turns in range(12):
            service = NotificationService[str]("Helix Desktop", "org.example.App", lambda place: None)
            scope = TaskScope()
            running = scope.start(service.run(), "notify")
            service.show("Done", "It is", "a session")
            await desktop.next_call("Notify")
            for _ in range(turns):
                await asyncio.sleep(0)
            await scope.close()
            assert running.cancelled()


@pytest.mark.usefixtures("session_bus")
async def test_a_bus_without_such_a_service_and_no_bus_are_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(2):
        service = NotificationService[str]("Helix Desktop", "org.example.App", lambda place: None)
        service.show("Done", "It is", "a session")
        with pytest.raises(OSError, match="no notification service"):
            await service.run()
        monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
