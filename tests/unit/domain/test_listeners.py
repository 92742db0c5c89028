"""Listeners: each is called once per change, until it unsubscribes."""

from __future__ import annotations

from helix_desktop.domain.listeners import Listeners, TypedListeners


def test_a_listener_is_called_until_it_unsubscribes() -> None:
    """One that leaves while all are called still hears of this change, and leaving twice is harmless."""
    listeners = Listeners[[str], None]()
    calls: list[str] = []

    def leave(text: str) -> None:
        calls.append(f"first {text}")
        unsubscribe()
        unsubscribe_second()

    unsubscribe = listeners.listen(leave)
    unsubscribe_second = listeners.listen(lambda text: calls.append(f"second {text}"))
    assert listeners
    listeners.notify("a")
    listeners.notify("b")
    unsubscribe()
    assert calls == ["first a", "second a"]
    assert not listeners


def test_a_listener_is_called_with_the_types_that_it_wants() -> None:
    """In the order of subscription, also where one change is told as two objects."""
    listeners = TypedListeners()
    calls = list[str]()
    listeners.on(str, lambda text: calls.append(f"first {text}"))
    unsubscribe = listeners.on(int | str, lambda value: calls.append(f"second {value}"))
    listeners.on(int, lambda number: calls.append(f"third {number}"))
    listeners.notify("a", 1)
    assert calls == ["first a", "second a", "second 1", "third 1"]
    unsubscribe()
    unsubscribe()
    listeners.notify(2)
    listeners.notify(True)
    assert calls[4:] == ["third 2"]


def test_what_a_change_is_about_comes_before_it() -> None:
    listeners = TypedListeners()
    calls = list[tuple[str, int]]()
    listeners.on(int, lambda name, number: calls.append((name, number)))
    listeners.notify(3, about=("session",))
    assert calls == [("session", 3)]
