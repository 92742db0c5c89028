"""A keychain in memory, as the library for keychains calls it."""

from __future__ import annotations


class MemoryKeychain:
    """Each item by the words of its service and its name."""

    name = "Test"

    def __init__(self) -> None:
        self.items: dict[str, str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.items.get(f"{service} {username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        self.items[f"{service} {username}"] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.items[f"{service} {username}"]
