"""What is said of instructions that come or change while a session runs."""

from __future__ import annotations

from helix_desktop.domain.events.session import InstructionsAdded
from helix_desktop.words.numbers import format_token_count
from helix_desktop.words.translation import Translator

tr = Translator("Chat")


def instructions_text(event: InstructionsAdded) -> str:
    text = event.text
    if text.kind == "skills":
        return _skills_text(event)
    name = text.path or tr("Your instructions")
    tokens = format_token_count(text.tokens)
    match text.problem:
        case "":
            if event.changed:
                return tr("{file} changed: sent to the agent · {tokens}", file=name, tokens=tokens)
            return tr("{file} sent to the agent · {tokens}", file=name, tokens=tokens)
        case "cut":
            return tr("The beginning of {file} sent to the agent · {tokens}", file=name, tokens=tokens)
        case "gone":
            return tr("{file} was deleted: the agent was told", file=name)
        case _:
            return tr("{file} was not sent to the agent", file=name)


def _skills_text(event: InstructionsAdded) -> str:
    if event.text.problem == "gone":
        return tr("No skills any more: the agent was told")
    tokens = format_token_count(event.text.tokens)
    if event.changed:
        return tr("The skills changed: sent to the agent · {tokens}", tokens=tokens)
    return tr("The list of skills sent to the agent · {tokens}", tokens=tokens)
