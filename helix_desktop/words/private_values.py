"""Words for what is taken out of a document for others: why, and where it stood."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from helix_desktop.domain.messages import display_name
from helix_desktop.domain.secret_forms import PrivateKind
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.words.translation import Translator, translate

tr = Translator("Transcript")
text = TextContext("Transcript")

_KINDS: dict[PrivateKind, TranslatableText] = {
    "configured": text("Secret set in Helix"),
    "key": text("API key"),
    "named": text("Password or key"),
    "login": text("Login"),
    "header": text("Login of a request"),
    "cookie": text("Cookie"),
    "webhook": text("Webhook"),
    "private-key": text("Private key"),
    "token": text("Random letters and digits"),
    "card": text("Card number"),
    "account": text("Bank account"),
    "email": text("Email address"),
    "home": text("Home folder"),
    "name": text("Name"),
}


def kind_text(kind: PrivateKind, label: str = "") -> str:
    """Return why a value was taken out; `label` is the name that stands before it."""
    if kind in ("named", "cookie") and label:
        return tr("Value of {name}", name=label)
    return translate(_KINDS[kind])


def place_text(place: tuple[Mapping[str, Any], str] | None) -> str:
    """Return where a text stands: in an event as JSON and a field of it, or None: in the title."""
    if place is None:
        return tr("Title")
    event, name = place
    match event["kind"], name:
        case "user-spoke" | "message-queued", _:
            return tr("Your message")
        case "assistant-spoke", "calls" | "short":
            return tr("Call of a tool")
        case "assistant-spoke", _:
            return tr("Answer")
        case "tool-answered", _:
            return tr("Output of {tool}", tool=display_name(event["name"]))
        case "output-held", _:
            return tr("Output of {tool}", tool=display_name(event["answer"]["name"]))
        case "handover-made", _:
            return tr("Handover summary")
        case "observations-made" | "fold-made", _:
            return tr("Compacted messages")
    return tr("Other records")
