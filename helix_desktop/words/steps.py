"""Steps of a session in words: which one, when, and how large its request was."""

from __future__ import annotations

from helix_desktop.context.log.steps import Step
from helix_desktop.words.numbers import format_token_count
from helix_desktop.words.times import format_moment
from helix_desktop.words.translation import Translator

tr = Translator("Steps")


def step_name(step: Step) -> str:
    """Return which step it is: `Turn 12, request 3`."""
    return tr("Turn {turn}, request {step}", turn=step.turn, step=step.number)


def about_tokens(step: Step, figure: str) -> str:
    """Return the figure of a step's tokens, marked where it is an estimate; empty where none was recorded."""
    if not step.tokens:
        return ""
    return f"≈ {figure}" if step.is_estimated else figure


def step_text(step: Step) -> str:
    """Return which step it is, when, and the tokens of its request, as far as they were recorded."""
    return _with_figures(step_name(step), step, _tokens_of_request(step))


def looking_at_text(step: Step) -> str:
    words = tr("You're looking at turn {turn}, request {step}", turn=step.turn, step=step.number)
    return _with_figures(words, step, _tokens_of_request(step))


def sent_at_text(step: Step) -> str:
    return f"{sent_at_step(step)} · {step_figures(step)}"


def sent_at_step(step: Step) -> str:
    """Return of which step a request is that was sent already, without figures."""
    return tr("As sent in turn {turn}, request {step}", turn=step.turn, step=step.number)


def step_figures(step: Step) -> str:
    return _figures(step, format_token_count(step.tokens))


def _tokens_of_request(step: Step) -> str:
    # The answer is in context, too.
    return tr("{tokens} in the request", tokens=format_token_count(step.tokens))


def _with_figures(text: str, step: Step, figure: str) -> str:
    return f"{text} · {_figures(step, figure)}"


def _figures(step: Step, figure: str) -> str:
    return " · ".join(filter(None, (format_moment(step.at_ms), about_tokens(step, figure))))
