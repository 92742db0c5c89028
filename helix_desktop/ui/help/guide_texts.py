"""The topics of the guide: their names, their first sentences, and where their parts are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.ui.help.guide_changes import changes_sections
from helix_desktop.ui.help.guide_context import (
    cached_sections,
    context_sections,
    noted_sections,
    policy_sections,
    summarized_sections,
    undo_sections,
)
from helix_desktop.ui.help.guide_edge_cases import edge_cases_sections
from helix_desktop.ui.help.guide_messages import commands_sections, instructions_sections, messages_sections
from helix_desktop.ui.help.guide_section import GuideSection
from helix_desktop.words.translation import Translator, translate

tr = Translator("Guide")
text = TextContext("Guide")

Topic = Literal[
    "context",
    "cached",
    "noted",
    "summarized",
    "undo",
    "changes",
    "policy",
    "instructions",
    "messages",
    "commands",
    "edge_cases",
    "keys",
]
TOPICS: tuple[Topic, ...] = get_args(Topic)


_TITLES: dict[Topic, TranslatableText] = {
    "context": text("How context works"),
    "cached": text("Cached"),
    "noted": text("Noted"),
    "summarized": text("Summarized"),
    "undo": text("Undo and redo"),
    "changes": text("File changes"),
    "policy": text("Context policy"),
    "instructions": text("Instructions"),
    "messages": text("Write messages"),
    "commands": text("Slash commands"),
    "edge_cases": text("Known edge cases"),
    "keys": text("Keyboard shortcuts"),
}
_LEADS: dict[Topic, TranslatableText] = {
    "context": text("Helix Desktop keeps everything and shows the model only what fits."),
    "cached": text("An output is replaced by a marker. The whole output stays in the cache."),
    "noted": text("Old steps and messages are replaced by a short note of what happened."),
    "summarized": text("Older messages are replaced by a handover: one document that sums them up."),
    "undo": text("You can undo every change to the context, at any time and in any order."),
    "changes": text("Every change of a file can be seen and undone, those of commands too."),
    "policy": text("The policy decides when something is cached, noted or summarized."),
    "instructions": text("The agent learns once where it works and what you want."),
    "messages": text("Mention files and cached outputs, and bring earlier messages back."),
    "commands": text("Type / as the first character of a message to run a command."),
    "edge_cases": text("What servers and files do wrong, and what Helix Desktop does then."),
    "keys": text("Every command is also in the command palette. Settings → Keyboard changes keys."),
}


def topic_title(topic: Topic) -> str:
    """Return the name of a topic."""
    return translate(_TITLES[topic])


def topic_lead(topic: Topic) -> str:
    """Return a topic in one sentence."""
    return translate(_LEADS[topic])


def topic_sections(topic: Topic) -> tuple[GuideSection, ...]:
    """Return the parts of a topic; that of the keys has none, because they are a list."""
    sections: dict[Topic, Callable[[], tuple[GuideSection, ...]]] = {
        "context": context_sections,
        "cached": cached_sections,
        "noted": noted_sections,
        "summarized": summarized_sections,
        "undo": undo_sections,
        "changes": changes_sections,
        "policy": policy_sections,
        "instructions": instructions_sections,
        "messages": messages_sections,
        "commands": commands_sections,
        "edge_cases": edge_cases_sections,
    }
    return sections[topic]() if topic in sections else ()
