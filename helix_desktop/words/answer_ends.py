"""What servers did not do as expected, as text: answers that are not whole, other windows, no start."""

from __future__ import annotations

from helix_desktop.domain.answer_bounds import MAX_CALLS, MAX_PART_BYTES, AnswerBound, AnswerPart
from helix_desktop.domain.events.session import WindowLearned
from helix_desktop.domain.messages import StopReason
from helix_desktop.words.numbers import format_size
from helix_desktop.words.translation import Translator

tr = Translator("Chat")


def cut_off_text(stop: StopReason, bound: AnswerBound = "") -> str:
    """Return why an answer is not whole; empty if it is. `bound` is the bound of ours that ended it."""
    size = format_size(MAX_PART_BYTES)
    bounds: dict[AnswerPart, str] = {
        "text": tr("Cut off: the answer reached {size} of text", size=size),
        "reasoning": tr("Cut off: the answer reached {size} of reasoning", size=size),
        "arguments": tr("Cut off: the tool calls reached {size} of arguments", size=size),
        "calls": tr("Cut off: the answer reached {count} tool calls", count=MAX_CALLS),
        "other": tr("Cut off: the server sent more data than an answer may have"),
    }
    if bound:
        return bounds[bound]
    texts: dict[StopReason, str] = {
        "length": tr("Cut off: the answer reached the limit of tokens for one answer"),
        "context": tr("Cut off: the context window is full"),
        "filter": tr("Cut off by the provider's content filter"),
        "refusal": tr("Stopped: the model refused to continue"),
        "paused": tr("Paused by the provider before the answer was complete"),
        "malformed": tr("Cut off: the server couldn't read the model's tool call"),
        "written-call": tr("The model wrote a tool call as text, so nothing ran"),
        "no-call": tr("The answer ended for a tool call, but none came"),
        "no-end-mark": tr("May be incomplete: the server didn't mark the end of the answer"),
    }
    return texts.get(stop, "")


def cut_off_fix(stop: StopReason, bound: AnswerBound = "") -> str:
    """Return what the user can do about an answer that is not whole; empty if it is."""
    if bound:
        return tr("What came is kept. Continue, or ask for smaller parts.")
    rephrase = tr("Rephrase the message, or choose another model.")
    fixes: dict[StopReason, str] = {
        "length": tr("Continue, or raise the output limit at the server."),
        "paused": tr("Send “continue” to resume."),
        "context": tr("Compact the conversation, or choose a model with a larger context window."),
        "filter": rephrase,
        "refusal": rephrase,
        "malformed": tr("Send the message again, or choose another model."),
        "written-call": tr("Turn tool calling on at the model's server, or choose another model."),
        "no-call": tr("Send “continue”, or choose another model."),
        "no-end-mark": tr("Send “continue” if something is missing."),
    }
    return fixes.get(stop, "")


def window_learned_text(event: WindowLearned) -> str:
    return tr(
        "The context window of {model} is {window} tokens, not {believed}.",
        model=event.model,
        window=event.window,
        believed=event.believed,
    )


def mcp_failed_text(server: str, reason: str) -> str:
    return tr("The MCP server {server} isn't running. {reason}", server=server, reason=reason)
