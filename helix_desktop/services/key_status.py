"""Where a provider's key is kept, in words."""

from __future__ import annotations

from dataclasses import dataclass

_THIS_RUN = "this run only"


@dataclass(frozen=True, slots=True)
class KeyStatus:
    """`place` is keychain, environment, run or none; `text` names it, for none where a key would be kept."""

    place: str
    text: str

    @classmethod
    def from_secrets(cls, source: str, backend: str, problem: str) -> KeyStatus:
        """Build it from a key's source, the keychain that answers, and why none does."""
        kind, _, name = source.partition(": ")
        if kind == "keychain":
            return cls("keychain", name)
        if kind == "environment":
            return cls("environment", f"environment variable {name}")
        run_only = f"{_THIS_RUN}: {problem or 'the keychain did not take it'}"
        if source == _THIS_RUN:
            return cls("run", run_only)
        return cls("none", f"in the {backend}" if backend else f"for {run_only}")
