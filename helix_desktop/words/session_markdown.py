"""A session as a Markdown document or a page of HTML: what was said, what was called, what came of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, MutableMapping, Sequence, Set
from html import escape
from types import MappingProxyType
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from helix_desktop.context.log.file_changes import redo_ids
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.events.conversation import (
    AssistantSpoke,
    SideQuestionAnswered,
    ToolAnswered,
    TurnEnded,
    TurnRetried,
    UserSpoke,
)
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.session import ChangesRecorded
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.domain.messages import ToolCall, display_name
from helix_desktop.domain.translatable_text import join_sentences
from helix_desktop.domain.typed_text import is_of_programs, message_parts
from helix_desktop.domain.unicode_safety import escape_hidden, escape_hidden_name
from helix_desktop.words.attachments import attachment_name
from helix_desktop.words.context_changes import handover_text
from helix_desktop.words.file_changes import recorded_changes_text
from helix_desktop.words.sessions import session_title
from helix_desktop.words.times import format_date_and_time
from helix_desktop.words.translation import Translator, current_language, translate

tr = Translator("Transcript")

# So much of one output or argument list is shown; the archive of the session has the rest.
_MAX_LINES = 40
_MAX_CHARS = 4_000
_BACKTICKS = re.compile("`+")


def session_markdown(
    title: str,
    log: Sequence[RecordedEvent],
    other_versions: Mapping[int, Sequence[RecordedEvent]] = MappingProxyType({}),
) -> str:
    """Return a session as Markdown; long outputs are cut, and say by how many lines.

    `other_versions` are the logs of its other versions by their number, from 1: what they have and `log` has
    not follows behind it.
    """
    parts = [f"# {escape_hidden_name(session_title(title))}", *_log_parts(log)]
    for number, other in other_versions.items():
        pairs = enumerate(zip(log, other, strict=False))
        shared = next((at for at, (here, there) in pairs if here != there), min(len(log), len(other)))
        count = len(other_versions) + 1
        parts.append(f"# {tr('Version {number} of {count}', number=number, count=count)}")
        parts += _log_parts(other, shared)
    return "\n\n".join(parts) + "\n"


def stretch_markdown(log: Sequence[RecordedEvent], first: int, last: int) -> str:
    """Return what a log says from one event to another as Markdown, as `session_markdown` does."""
    return "\n\n".join(_log_parts(log[:last], first - 1)) + "\n"


def _log_parts(log: Sequence[RecordedEvent], shared: int = 0) -> Iterator[str]:
    """Yield what a log says behind its first events that are `shared`."""
    transcript = Transcript(log)
    calls: dict[str, ToolCall] = {}
    redos = redo_ids(log)
    speaker = ""  # the model whose heading the present steps are under
    for recorded in log:
        if recorded.seq <= shared:
            continue
        match recorded.event:
            case UserSpoke():
                speaker = ""
            case AssistantSpoke(model=model):
                calls |= {call.id: call for call in recorded.event.calls}
                if model != speaker:
                    yield f"## {tr('Agent')} · {model} · {format_date_and_time(recorded.at)}"
                speaker = model
            case _:
                pass
        yield from _event_parts(recorded, calls, transcript, redos)


def _message_parts(text: str) -> Iterator[str]:
    """Yield a message: the user's words, and in fences what programs put between them."""
    for part in message_parts(text):
        if isinstance(part, str):
            yield part.strip("\n")
        else:
            yield from _fenced(part.text)


def _event_parts(
    recorded: RecordedEvent, calls: dict[str, ToolCall], transcript: Transcript, redos: Set[str]
) -> Iterator[str]:
    time = format_date_and_time(recorded.at)
    match event := recorded.event:
        case UserSpoke():
            speaker = tr("Program") if is_of_programs(event.text) else tr("You")
            yield f"## {speaker} · {time}"
            yield from _message_parts(event.text)
            for attachment in event.attachments:
                yield tr("Attached: {name}", name=_code(attachment_name(attachment)))
        case AssistantSpoke() if event.text:
            yield event.text
        case ToolAnswered():
            yield from _call_parts(event, calls.get(event.call_id))
        case SideQuestionAnswered():
            yield f"## {tr('Side question')} · {time}"
            yield f"**{tr('You')}:** {event.question}"
            yield f"**{tr('Agent')}:** {event.answer}"
        case _:
            if text := _note_text(event, transcript, redos):
                yield _note(text)


def _note_text(event: Event, transcript: Transcript, redos: Set[str]) -> str:
    """Return what happened between messages; empty for what a reader of the conversation needn't know."""
    match event:
        case TurnEnded() if event.how != "done":
            return _end_text(event)
        case TurnRetried():
            return tr("Asked again")
        case HandoverMade():
            return handover_text(event, transcript)
        case ChangesRecorded() if event.source != "tool":
            return recorded_changes_text(event, is_redo=event.capture in redos)
    return ""


def _call_parts(output: ToolAnswered, call: ToolCall | None) -> Iterator[str]:
    """Yield a call with its arguments, and its output as the agent got it."""
    yield f"### {_code(f'{display_name(output.name)} {output.target}'.rstrip())}"
    match output.outcome:
        case "denied":
            yield _note(tr("Denied"))
        case "interrupted":
            yield _note(tr("Interrupted"))
        case "stopped":
            yield _note(tr("Stopped"))
        case _ if not output.ok:
            yield _note(tr("Failed"))
    if call is not None:
        yield from _argument_parts(call.arguments, output.target)
    if output.text:
        yield from _fenced(output.text)


def _argument_parts(arguments: str, target: str) -> Iterator[str]:
    """Yield what a call was made with, besides its target: texts of several lines each as they are."""
    try:
        values = json.loads(arguments)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        yield from _fenced(arguments)
        return
    others = {name: value for name, value in values.items() if value != target}
    texts = {name: others.pop(name) for name in list(others) if "\n" in str(others[name])}
    if others:
        yield from _fenced(json.dumps(others, ensure_ascii=False, indent=1), "json")
    for name, value in texts.items():
        yield f"{_code(name)}:"
        yield from _fenced(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _end_text(ended: TurnEnded) -> str:
    reason = translate(join_sentences(ended.what, ended.why))
    match ended.how:
        case "stopped":
            what = tr("The turn was stopped.")
        case "interrupted":
            what = tr("The turn was interrupted.")
        case _:
            what = tr("The turn failed.")
    return f"{what} {reason}".rstrip()


def _note(text: str) -> str:
    return f"> {escape_hidden_name(text)}"


def _code(text: str) -> str:
    """Return a text of one line as code, whatever backticks are in it."""
    marks = _marks_around(text, least=1)
    space = " " if len(marks) > 1 else ""
    return f"{marks}{space}{escape_hidden_name(text)}{space}{marks}"


def _fenced(text: str, language: str = "") -> Iterator[str]:
    """Yield a text as a block of code, and how many of its lines were left out."""
    lines = text.splitlines()
    excerpt = "\n".join(lines[:_MAX_LINES])[:_MAX_CHARS]
    marks = _marks_around(excerpt, least=3)
    yield f"{marks}{language}\n{escape_hidden(excerpt)}\n{marks}"
    if omitted := len(lines) - excerpt.count("\n") - 1:
        yield _note(tr.plural(omitted, "%n more line", "%n more lines"))
    elif len(excerpt) < len(text.rstrip("\n")):
        yield _note(tr("The rest of the line is left out."))


def _marks_around(text: str, least: int) -> str:
    """Return more backticks than the text has in a row, and at least so many."""
    return "`" * max(least, 1 + max((len(run) for run in _BACKTICKS.findall(text)), default=0))


_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_STYLE = """
:root { color-scheme: light dark; --text: #1d2026; --muted: #5c6470; --line: #d9dce1; --code: #f4f5f7;
  --accent: #2f5bd7; --page: #ffffff; }
@media (prefers-color-scheme: dark) { :root { --text: #e4e6ea; --muted: #9aa1ad; --line: #343842;
  --code: #1f2229; --accent: #8fb0ff; --page: #16181d; } }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--text); background: var(--page); margin: 0 auto;
  max-width: 48rem; padding: 2.5rem 1.25rem 4rem; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 1.5rem; }
h2 { font-size: 1rem; color: var(--muted); border-top: 1px solid var(--line); padding-top: 1rem;
  margin: 2rem 0 .75rem; }
h3 { font-size: .95rem; margin: 1.25rem 0 .5rem; }
a { color: var(--accent); }
pre, code { font: .875rem/1.45 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
code { background: var(--code); border-radius: 4px; padding: .1em .3em; }
pre { background: var(--code); border: 1px solid var(--line); border-radius: 8px; padding: .75rem 1rem;
  overflow-x: auto; }
pre code { background: none; padding: 0; }
blockquote { border-inline-start: 3px solid var(--line); color: var(--muted); margin: .75rem 0;
  padding-inline-start: .9rem; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { border: 1px solid var(--line); padding: .35rem .6rem; text-align: start; }
@media print { body { max-width: none; padding: 0; font-size: 11pt; }
  pre { white-space: pre-wrap; overflow-x: visible; } h2, h3 { break-after: avoid; }
  pre, blockquote, tr { break-inside: avoid-page; } a { color: inherit; } }
"""


def markdown_page(title: str, markdown: str) -> str:
    """Return a page for a Markdown text that may hold anything: its HTML is text, its images are links.

    It has no script and nothing from the network, and is ready to print.
    """
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.add_render_rule("image", _image)
    parser.add_render_rule("link_open", _link)
    body = parser.render(markdown)
    return (
        f'<!doctype html>\n<html lang="{current_language().code}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{escape(escape_hidden_name(title))}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f'<body dir="auto">\n{body}</body>\n</html>\n'
    )


def _image(_: RendererHTML, tokens: Sequence[Token], at: int, __: Any, ___: MutableMapping[str, Any]) -> str:
    """Return a link in the place of an image, which a reader's browser would fetch."""
    token = tokens[at]
    address = str(token.attrGet("src") or "")
    words = escape(token.content or tr("image"))
    return f'<a href="{escape(address)}" rel="noreferrer noopener">{words}</a>'


def _link(
    renderer: RendererHTML,
    tokens: Sequence[Token],
    at: int,
    options: OptionsDict,
    _: MutableMapping[str, Any],
) -> str:
    tokens[at].attrSet("rel", "noreferrer noopener")
    return renderer.renderToken(tokens, at, options, {})
