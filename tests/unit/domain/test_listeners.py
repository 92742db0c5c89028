"""Listeners: each is called once per change, until it unsubscribes."""

from __future__ import annotations

from helix_desktop.domain.listeners import Listeners


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
