"""A document of a session as one page of HTML: no script, nothing from the network, ready to print."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.words.translation import Translator, current_language

tr = Translator("Transcript")

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
    """Return a page for a Markdown text that may hold anything: its HTML is text, its images are links."""
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
