"""`#` in a message: cached contents, by the digits of their hash or by words; accepting one attaches it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.domain.digest import MIN_PREFIX
from helix_desktop.domain.messages import display_name
from helix_desktop.domain.text_search import MAX_QUERY_LENGTH
from helix_desktop.ui.cache.entry_actions import is_readable
from helix_desktop.ui.cache.rows import DIGEST_BYTES, CacheFilter, CacheRow, CacheSearchResults
from helix_desktop.ui.cache.source import WorkspaceCacheSource
from helix_desktop.ui.chat.composer.completion import CompletionItem
from helix_desktop.words.numbers import format_token_count
from helix_desktop.words.translation import Translator

tr = Translator("Composer")

_MAX_ROWS = 30
_MIN_WORD = 2  # characters that are searched for; fewer list what is newest
_MAX_PARTS = 8  # parts of a search, each of a quarter second at most, until the first hits
_HASH_DIGITS = 8  # of a hash on screen


class ContentCompletions:
    """Cached contents of the workspace on screen, found as the cache browser finds them."""

    trigger = "#"
    only_at_start = False

    def __init__(
        self,
        workspace: Callable[[], OpenWorkspace | None],
        conversation: Callable[[], Conversation | None],
        attach: Callable[[str], object],
    ) -> None:
        """`attach` lets the content of a digest go along with the next message."""
        self._workspace, self._conversation, self._attach = workspace, conversation, attach

    @property
    def name(self) -> str:
        """What is completed."""
        return tr("Cached outputs")

    @property
    def hint(self) -> str:
        """What can be typed."""
        return tr('Type words, "several words", or a digest')

    @property
    def empty_text(self) -> str:
        """What is said when nothing matches."""
        return tr("No matching cached outputs")

    def takes(self, query: str) -> bool:
        """Return False for what is a heading or a number: `##`, `#42`."""
        is_number = query.isdigit() and len(query) < MIN_PREFIX
        return self._workspace() is not None and not is_number and not query.startswith("#")

    async def completions(self, query: str) -> Sequence[CompletionItem]:
        """Return the contents that match, as many as a popup needs. Raises HelixError."""
        workspace = self._workspace()
        if workspace is None:
            return ()
        words = query.replace('"', " ").strip()[:MAX_QUERY_LENGTH]
        source = WorkspaceCacheSource(workspace, self._conversation)
        if len(words) < _MIN_WORD:
            page = await workspace.store.page(limit=_MAX_ROWS)
            digests = [entry.digest for entry in page.entries]
        else:
            digests = await _search(source, words)
        rows = [row for row in await source.rows(digests[:_MAX_ROWS]) if is_readable(row)]
        return [_completion(row, words.lower().split()) for row in rows]

    def accept(self, completion: CompletionItem) -> None:
        """Attach the content."""
        self._attach(completion.key)


async def _search(source: WorkspaceCacheSource, query: str) -> list[str]:
    """Return the digests of the first hits, best first."""
    found, parts = CacheSearchResults(b""), 0
    while not found.digests and parts < _MAX_PARTS and (parts == 0 or found.cursor):
        found = await source.search(CacheFilter(query), found.cursor)
        parts += 1
    ids = found.digests
    return [ids[at : at + DIGEST_BYTES].hex() for at in range(0, len(ids), DIGEST_BYTES)]


def _completion(row: CacheRow, words: Sequence[str]) -> CompletionItem:
    title = (
        " ".join(part for part in (display_name(row.tool), row.target) if part) or row.digest[:_HASH_DIGITS]
    )
    tokens = format_token_count(row.tokens)
    detail = " · ".join(
        part for part in (row.digest[:_HASH_DIGITS], tokens, row.hit or row.first_line) if part
    )
    return CompletionItem(
        text="",
        title=title,
        detail=detail,
        icon="archive-restore",
        title_matches=_places(title, words),
        detail_matches=_places(detail, words),
        key=row.digest,
    )


def _places(text: str, words: Sequence[str]) -> tuple[int, ...]:
    """Return the positions of the first place of each word in a text."""
    folded = text.lower()
    if len(folded) != len(text):
        return ()
    starts = ((folded.find(word), len(word)) for word in words)
    return tuple(sorted({at + step for at, length in starts if at >= 0 for step in range(length)}))
