"""`@` in a message: the files and folders of the workspace on screen."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from time import monotonic

from helix_desktop.agent.conversation import Conversation
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.conversation import ToolAnswered, UserSpoke
from helix_desktop.domain.events.recorded_event import Event
from helix_desktop.domain.files.fuzzy_search import PathMatch, name_start
from helix_desktop.domain.files.mention import find_mentions, format_mention, parse_typed
from helix_desktop.services.file_index import FileIndex
from helix_desktop.ui.chat.composer.completer import StartTask
from helix_desktop.ui.chat.composer.completion import CompletionItem
from helix_desktop.words.translation import Translator

tr = Translator("Composer")

_MAX_ROWS = 50
_RECENT_FILES, _RECENT_EVENTS = 20, 400  # files used lately, and how far back in the log these are looked for
_FRESH_S, _FRESH_IN_WORD_S = (
    2.0,
    20.0,
)  # a list this old is made again: where a word begins, while it is typed
_WAIT_S = 0.06  # how long the first rows wait for the new list before the old one is shown
_CODE_SUFFIXES = frozenset(
    ("c", "cc", "cpp", "cs", "css", "go", "h", "hpp", "html", "java", "js", "json", "jsx", "kt", "lua", "php",
     "pl", "py", "rb", "rs", "sh", "sql", "swift", "toml", "ts", "tsx", "vue", "xml", "yaml", "yml")
)  # fmt: skip
_IMAGE_SUFFIXES = frozenset(["png", "jpg", "jpeg", "gif", "webp", "svg", "bmp", "ico"])


class FileCompletions:
    """Files by a few letters; what the session used lately comes first."""

    trigger = "@"
    only_at_start = False

    def __init__(
        self,
        index: Callable[[], FileIndex | None],
        conversation: Callable[[], Conversation | None],
        start: StartTask,
    ) -> None:
        """`index` and `conversation` return what is on screen; `start` runs what lists the files."""
        self._index, self._conversation, self._start = index, conversation, start
        self._listed: tuple[FileIndex, float] | None = None

    @property
    def name(self) -> str:
        """What is completed."""
        return tr("Files")

    @property
    def hint(self) -> str:
        """How lines are given."""
        return tr("Add :10-40 for lines")

    @property
    def empty_text(self) -> str:
        """What is said when nothing matches."""
        return tr("No matching files")

    def takes(self, query: str) -> bool:
        """Return True while there are files to complete."""
        return self._index() is not None

    async def completions(self, query: str) -> Sequence[CompletionItem]:
        """Return the files and folders that match. Raises HelixError if they cannot be listed."""
        index = self._index()
        if index is None:
            return ()
        refresh = self.refresh(_FRESH_S if len(query) <= 1 else _FRESH_IN_WORD_S)
        if refresh is not None:
            await asyncio.wait([refresh], timeout=_WAIT_S)
        path, first_line, last_line = parse_typed(query)
        recent = await asyncio.to_thread(self._recent_files)
        matches = await index.search(path, _MAX_ROWS, recent)
        folder = path if path.endswith("/") else ""  # what is in it is offered, not itself again
        return [_completion(match, first_line, last_line) for match in matches if match.path != folder]

    def refresh(self, max_age_s: float = _FRESH_S) -> asyncio.Task[None] | None:
        """Begin to list the files again, unless the list is younger than this."""
        index = self._index()
        if index is None or (self._listed and self._listed[0] is index and self._age() < max_age_s):
            return None
        self._listed = (index, monotonic())
        return self._start(_list_again(index), "list files")

    def prepare(self) -> None:
        """List the files for the first time, so that they are there when an `@` is typed."""
        index = self._index()
        if index is not None and not (self._listed and self._listed[0] is index):
            self.refresh()

    def accept(self, completion: CompletionItem) -> None:
        """Do nothing more: the mention in the text is what counts."""

    def _age(self) -> float:
        return monotonic() - self._listed[1] if self._listed else _FRESH_S

    def _recent_files(self) -> Sequence[str]:
        conversation = self._conversation()
        if conversation is None:
            return ()
        log = conversation.session.log
        newest = (log[at].event for at in range(len(log) - 1, max(-1, len(log) - 1 - _RECENT_EVENTS), -1))
        paths = dict.fromkeys(path for event in newest for path in _used_files(event))
        return tuple(paths)[:_RECENT_FILES]


async def _list_again(index: FileIndex) -> None:
    """List the files; if that fails, the search says so, unless there is an earlier list."""
    with suppress(HelixError):
        await index.refresh()


def _used_files(event: Event) -> Iterator[str]:
    match event:
        case ToolAnswered(files=files):
            yield from (version.path for version in files)
        case UserSpoke(text=text):
            yield from (mention.path for mention in find_mentions(text))


def _completion(match: PathMatch, first_line: int, last_line: int) -> CompletionItem:
    path, start = match.path, name_start(match.path)
    is_folder = path.endswith("/")
    mention = format_mention(path, *(() if is_folder else (first_line, last_line)))
    return CompletionItem(
        text=mention.removesuffix('"') if is_folder else mention,
        title=path[start:],
        detail=path[: max(0, start - 1)],
        icon="folder" if is_folder else _icon(path),
        title_matches=tuple(at - start for at in match.positions if at >= start),
        detail_matches=tuple(at for at in match.positions if at < start - 1),
        is_partial=is_folder,
        key=path,
    )


def _icon(path: str) -> str:
    suffix = path.rpartition(".")[2].lower()
    if suffix in _IMAGE_SUFFIXES:
        return "image"
    return "file-code" if suffix in _CODE_SUFFIXES else "file-text"
