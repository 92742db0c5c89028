"""Every intent has a handler, which takes its fields; and a window does what one wants."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from helix_desktop import ui
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.ui.kit.intents import Intent, IntentHandlers, Redo, Undo, handled_intent, handles, perform
from tests.support.intents import performed


def _handlers() -> Iterator[tuple[type[Intent], Callable[..., Any]]]:
    """Yield each kind of intent with each method of the window's parts that handles it."""
    for module in pkgutil.walk_packages(ui.__path__, f"{ui.__name__}."):
        for _, part in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if part.__module__ == module.name:
                for method in vars(part).values():
                    if (kind := handled_intent(method)) is not None:
                        yield kind, method


def _kinds(kind: type[Intent] = Intent) -> set[type[Intent]]:
    own = {sub for sub in kind.__subclasses__() if sub.__module__.startswith(ui.__name__)}
    return own.union(*map(_kinds, own))


def test_each_intent_has_a_handler_that_takes_its_fields() -> None:
    handlers = list(_handlers())
    handled = {kind for kind, _ in handlers}
    assert not {kind.__name__ for kind in _kinds() - handled}, "nobody does what these want"
    for kind, method in handlers:
        _, *parameters = inspect.signature(method).parameters.values()
        taken = {parameter.name for parameter in parameters}
        needed = {parameter.name for parameter in parameters if parameter.default is parameter.empty}
        assert needed <= set(kind.fields) <= taken, method.__qualname__


class _Add(Intent, frozen=True):
    number: int


class _Named(Intent, frozen=True):
    name: str
    times: int = 1


def test_an_intent_is_a_value() -> None:
    """As a frozen dataclass: equal by its fields, never by another kind's, and made of all that it needs."""
    wish = _Named("a")
    assert wish == _Named(name="a", times=1) != _Named("a", 2)
    assert {wish, _Named("a"), _Add(1)} == {wish, _Add(1)}
    assert Undo((1,)) != Redo((1,))
    assert repr(wish) == "_Named(name='a', times=1)"
    match wish:
        case _Named(name, times=1):
            assert name == "a"
    with pytest.raises(AttributeError, match="name"):
        wish.__setattr__("name", "b")
    make: Callable[..., Intent] = _Named
    for values, named in (((), {}), (("a", 1, 2), {}), (("a",), {"size": 1})):
        with pytest.raises(TypeError, match="_Named takes"):
            make(*values, **named)


class _Sum(QWidget):
    """Adds up, and hands what it does not know to nobody."""

    def __init__(self) -> None:
        super().__init__()
        self.total = 0
        self.intents = IntentHandlers()
        self.intents.add(self)

    def perform(self, intent: Intent) -> None:
        self.intents.perform(intent)

    @handles(_Add)
    def add(self, number: int) -> None:
        if not number:
            raise InvalidInput(verbatim("Nothing to add."))
        self.total += number


async def test_an_intent_goes_up_to_what_performs_it(qtbot: QtBot) -> None:
    """From any depth; alone, a widget that has nothing above it says so."""
    place = _Sum()
    between = QWidget()
    qtbot.addWidget(place)
    button = QWidget(between)
    with pytest.raises(LookupError):
        perform(button, _Add(1))
    between.setParent(place)
    perform(button, _Add(2))
    await place.intents.run(_Add(3))
    assert place.total == 5
    with pytest.raises(InvalidInput):
        perform(button, _Add(0))
    with performed(between) as intents:
        perform(button, _Add(4))
    assert (intents, place.total) == ([_Add(4)], 5)


@pytest.mark.expect_errors("Nobody does what _Named wants")
def test_an_intent_that_nobody_handles_is_an_error(caplog: pytest.LogCaptureFixture) -> None:
    """It is logged, and the window goes on; a test in which that happens unexpectedly fails."""
    IntentHandlers().perform(_Named("lost"))
    assert [record.getMessage() for record in caplog.records] == ["Nobody does what _Named wants"]
