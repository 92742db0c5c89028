"""HTML as plain text."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.tools import fetch_url
from helix_desktop.tools.fetch_url import html_to_text
from tests.support.call_count import calls_of

PAGE = """<!doctype html><html><head><title>The  tide</title><style>p { color: red }</style>
<script>alert("no")</script></head><body><nav><a href="/">Home</a></nav>
<h1>High &amp; low</h1><p>Water   rises
twice <b>a day</b>.<br>See <a href="https://example.org/x">more</a>.</p>
<ul><li>one<ul><li>inner</li></ul></li><li>two</li></ul><ol><li>first<li>second</ol>
<pre>a  =  1
  b</pre><table><tr><th>at</th><th>m</th></tr><tr><td>03:12</td><td>4.1</td></tr></table>
<img src="t.png" alt="A gauge"><noscript>never</noscript></body></html>"""

TEXT = """The tide

Home (/)

# High & low

Water rises twice a day.
See more (https://example.org/x).

- one

  - inner

- two

1. first
2. second

```
a  =  1
  b
```

at | m
03:12 | 4.1

[image: A gauge]
"""


def test_a_page_reads_naturally() -> None:
    assert html_to_text(PAGE) == TEXT


@pytest.mark.parametrize("tag", ["script", "style", "template", "svg", "noscript", "iframe"])
def test_invisible_content_is_omitted(tag: str) -> None:
    assert "secret" not in html_to_text(f"<p>seen</p><{tag}>secret</{tag}><p>too</p>")


@given(st.text(alphabet="<>/abhlipre \n&;\"'=-!", max_size=400))
def test_any_input_is_handled(html: str) -> None:
    assert html_to_text(html).endswith("\n")


@pytest.mark.parametrize(
    "piece",
    ["<div>", "<ul><li>", "<a href='", "</p>", "<!--", "&amp", "<b ", '<a x="', '<a x=">', "<style>", "<"],
)
def test_very_deep_and_unclosed_pages_take_little_time(piece: str) -> None:
    started = time.process_time()
    html_to_text(piece * 50_000)
    assert time.process_time() - started < 20  # some 0.3 s; a quadratic reader takes an hour


@pytest.mark.parametrize("html", ['<a "', '<a href="x', '<p>words</p><a "'])
def test_an_unterminated_tag_ends_the_page(html: str) -> None:
    assert html_to_text(html).endswith("\n")


def test_brackets_inside_quotes_belong_to_the_tag() -> None:
    html = '<p class="[&>svg]:a" title="1 > 0">seen</p><a href="/x?a=1&amp;b=2" data-x="<b>">go</a>'
    assert html_to_text(html) == "seen\n\ngo (/x?a=1&b=2)\n"


def test_characters_that_only_resemble_tags_are_text() -> None:
    assert (
        html_to_text("a < b and 3 <4 but <b>c</b> <!doctype html> <?php x ?>&lt;i&gt;")
        == "a < b and 3 <4 but c <i>\n"
    )


@pytest.mark.parametrize(
    "unit",
    [
        "<",
        "<a",
        "<a>",
        "</",
        "<li>",
        "<ul><li>",
        "a <b> ",
        "<pre>",
        "<!x>",
        '<a "' + ">" * 39 + '">',
        "<a href='x'>",
    ],
)
def test_tags_behind_very_many_take_no_work(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch_url, "_MAX_TAGS", 500)

    def work(size: int) -> int:
        page, texts = unit * (size // len(unit)) + " the end", list[str]()
        calls = calls_of(lambda: texts.append(html_to_text(page)))
        assert "the end" in texts[0]
        return calls

    assert work(80_000) < 1.5 * work(20_000) + 1_000


def test_behind_very_many_tags_the_words_are_left() -> None:
    page = (
        "<p>" * 200_000 + "<script>let a = 1 < 2</script>some <b>words</b> &amp; more<style>p{}</style> here"
    )
    text = html_to_text(page)
    assert "some words & more here" in " ".join(text.split())
    assert "let a" not in text
    assert "p{}" not in text
