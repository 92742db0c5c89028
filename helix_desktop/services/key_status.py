"""Where a provider's key is kept, in words."""

from __future__ import annotations

from dataclasses import dataclass

from helix_desktop.config.secrets import ApiKey, KeyPlace


@dataclass(frozen=True, slots=True)
class KeyStatus:
    """Where a key is; `text` names the place, or without a key the one where it would be kept."""

    place: KeyPlace
    text: str

    @classmethod
    def from_key(cls, key: ApiKey, keychain: str, problem: str) -> KeyStatus:
        """Describe a key; `keychain` names the one that answers, `problem` says why none does."""
        run_only = f"this run only: {problem or 'the keychain did not take it'}"
        match key.place:
            case "keychain":
                return cls(key.place, key.name)
            case "environment":
                return cls(key.place, f"environment variable {key.name}")
            case "run":
                return cls(key.place, run_only)
        return cls("none", f"in the {keychain}" if keychain else f"for {run_only}")
