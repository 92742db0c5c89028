"""Where a provider's key is kept, in words."""

from __future__ import annotations

import msgspec

from helix_desktop.config.secrets import ApiKey, KeySource
from helix_desktop.words.translation import Translator

tr = Translator("Models")


class KeyStatus(msgspec.Struct, frozen=True):
    """Where a key comes from; `text` says it, `new_key_text` where a new one would be kept."""

    source: KeySource
    text: str
    new_key_text: str

    @classmethod
    def from_key(cls, key: ApiKey, keychain: str, problem: str) -> KeyStatus:
        """Describe a key; `keychain` names the one that answers, `problem` says why none does."""
        reason = problem or tr("the keychain didn't store it")
        new_key_text = (
            tr("Will be kept in {keychain}.", keychain=keychain)
            if keychain
            else tr("Will be kept until Helix Desktop closes: {reason}.", reason=reason)
        )
        match key.source:
            case "keychain":
                text = tr("Kept in {keychain}.", keychain=key.name)
            case "environment":
                text = tr("From the environment variable {name}.", name=key.name)
            case "run":
                text = tr("Kept until Helix Desktop closes: {reason}.", reason=reason)
            case _:
                text = new_key_text
        return cls(key.source, text, new_key_text)
