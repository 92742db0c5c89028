"""What the composer completes in the session on screen: `/` commands and models, `@` files, `#` contents."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from time import monotonic

from msgspec.structs import replace
from PySide6.QtCore import QObject, QTimer

from helix_desktop.agent.conversation import Conversation
from helix_desktop.config.settings import model_labels
from helix_desktop.domain.digest import MIN_PREFIX
from helix_desktop.domain.errors import HelixError, InvalidInput
from helix_desktop.domain.events.conversation import Attachment, MessageQueued, ToolAnswered, UserSpoke
from helix_desktop.domain.files.mention import (
    FuzzyPaths,
    Mention,
    PathMatch,
    find_mentions,
    format_lines,
    format_mention,
    name_start,
    parse_typed,
)
from helix_desktop.domain.slash_command import (
    FOLDER_MARK,
    SLASH,
    PromptFile,
    command_key,
    is_command_name,
    parse_slash_input,
)
from helix_desktop.domain.store import AGENT_KINDS, EntryFilter
from helix_desktop.domain.text_format import one_line
from helix_desktop.domain.text_search import MAX_QUERY_LENGTH
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.services.message_files import FileIndex, MentionedFiles
from helix_desktop.services.prompt_files import PromptCatalog
from helix_desktop.services.provider_changes import DEMO_LABEL
from helix_desktop.ui.chat.composer.attachment_chips import AttachEntries
from helix_desktop.ui.chat.composer.composer import Composer
from helix_desktop.ui.chat.composer.editor import CompletionItem, CompletionSource
from helix_desktop.ui.chat.composer_controller import ComposerController
from helix_desktop.ui.chat.model_controller import matching_models
from helix_desktop.ui.chat.session_drafts import DraftAttachments
from helix_desktop.ui.kit.intents import WORKSPACE_DEFAULT, FocusComposer, OpenPicker, handles
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.outputs.entry_actions import is_readable
from helix_desktop.ui.outputs.rows import (
    DIGEST_BYTES,
    CacheFilter,
    CacheRow,
    CacheSearchResults,
    target_name,
    tool_name,
)
from helix_desktop.ui.outputs.source import OutputSource
from helix_desktop.words.model_names import demo_model_name
from helix_desktop.words.numbers import format_token_count
from helix_desktop.words.slash_commands import SLASH_COMMANDS, find_slash_command
from helix_desktop.words.translation import Translator, translate

tr = Translator("Composer")
commands_tr = Translator("Slash commands")
window_tr = Translator("Window")

_MAX_ROWS = 50  # of commands, files and models
_UNUSABLE_ICON = "triangle-alert"
_PROMPT_FILES_FRESH_S = 2.0  # prompt files read this long ago are read again

Offer = Callable[[str, Iterable[tuple[str, str, Callable[[], object]]]], object]
"""Takes a heading of the picker and its commands: name, words, and what each does."""


class CommandCompletions(CompletionSource):
    """Commands by a few letters of their names; prompt files and skills are first while nothing is typed.

    Each of these is in the picker, too, and begins a message; they are read when that opens.
    """

    trigger = SLASH
    only_at_start = True

    def __init__(self, session: Session, composer: Composer, offer: Offer) -> None:
        self._session = session
        self._composer = composer
        self._offer = offer
        self._catalog: PromptCatalog | None = None
        self._read_for = ""
        self._read_at = 0.0
        self._offered: tuple[PromptFile, ...] = ()
        session.handle(self)
        self.name = commands_tr("Commands")
        self.empty_text = commands_tr("No matching commands")

    def takes(self, query: str) -> bool:
        return not query or is_command_name(query.rstrip(FOLDER_MARK))

    async def completions(self, query: str) -> Sequence[CompletionItem]:
        """Return the commands that match, best first; a name that is typed out is one of them."""
        catalog = await self._read()
        rows: dict[str, CompletionItem] = {}
        for file in catalog.files.values():
            icon = "book-open" if catalog.is_skill(file) else "file-text"
            rows[file.name] = _row(file.name, icon, file.argument_hint, file.description, file.path)
        for command in filter(self._session.commands.can_run, SLASH_COMMANDS):
            # Also by another name that is being typed.
            others = (name for name in command.also if query and name.startswith(query.casefold()))
            for name in (command.name, *others):
                summary = translate(command.summary)
                rows[name] = _row(name, "square-terminal", command.arguments, summary)
        for prompt in self._session.app.mcp_servers.prompts(self._session.workspace.id):
            row = _row(prompt.command, "server", prompt.hint, prompt.description)
            rows.setdefault(prompt.command, row)
        for unusable in catalog.unusable:
            if unusable.name and unusable.name not in map(command_key, rows):
                reason = commands_tr("Can't be used: {reason}", reason=unusable.why)
                rows[unusable.name] = _row(unusable.name, _UNUSABLE_ICON, reason, unusable.path)
        if not query:
            return tuple(rows.values())[:_MAX_ROWS]
        paths = {name.replace(FOLDER_MARK, "/"): name for name in rows}
        matches = FuzzyPaths(paths).search(query.replace(FOLDER_MARK, "/"), _MAX_ROWS)
        found = [
            replace(rows[paths[match.path]], title_matches=tuple(at + len(SLASH) for at in match.positions))
            for match in matches
        ]
        return sorted(found, key=lambda row: row.icon == _UNUSABLE_ICON)

    async def _read(self) -> PromptCatalog:
        """Return the prompt files, as they were a moment ago while the user types on."""
        workspace_id = self._session.workspace.id
        is_fresh = self._read_for == workspace_id and monotonic() - self._read_at <= _PROMPT_FILES_FRESH_S
        if self._catalog is None or not is_fresh:
            self._catalog = await self._session.app.prompt_files.read(workspace_id)
            self._read_for = workspace_id
            self._read_at = monotonic()
        return self._catalog

    @handles(OpenPicker)
    async def _offer_files(self, typed: str) -> None:
        files: tuple[PromptFile, ...] = ()
        if self._session.has_conversation:
            catalog = await self._session.app.prompt_files.read(self._session.workspace.id)
            files = tuple(catalog.files.values())
        if files != self._offered:
            self._offered = files
            self._offer(window_tr("Prompt files and skills"), map(self._entry_of, files))

    def _entry_of(self, file: PromptFile) -> tuple[str, str, Callable[[], object]]:
        words = f"{SLASH}{file.name} {file.argument_hint}".rstrip()
        shown = escape_hidden_name(" · ".join(filter(None, (words, file.description)))).replace("&", "&&")

        def begin_message() -> None:
            """Put the command in front of what is typed, which becomes its arguments."""
            self._session.perform(FocusComposer())
            self._composer.set_text(f"{SLASH}{file.name} {self._composer.text()}")

        return f"prompt:{file.name}", shown, begin_message


def _row(name: str, icon: str, *details: str) -> CompletionItem:
    detail = escape_hidden_name(" · ".join(filter(None, details)))
    return CompletionItem(SLASH + name, SLASH + name, detail, icon)


_MAX_CONTENTS = 30
_MIN_WORD = 2  # characters that are searched for; fewer list what is newest
_MAX_PARTS = 8  # parts of a search, each of a quarter second at most, until the first hits
_HASH_DIGITS = 8  # of a hash on screen


class ContentCompletions(CompletionSource):
    """Cached contents of the workspace on screen, found as the Outputs page finds them."""

    trigger = "#"

    def __init__(self, session: Session) -> None:
        self._session = session
        self.name = tr("Stored outputs")
        self.hint = tr('Type words, "several words", or a SHA-256')
        self.empty_text = tr("No matching stored outputs")

    def takes(self, query: str) -> bool:
        """Return False for what is a heading or a number: `##`, `#42`."""
        is_number = query.isdigit() and len(query) < MIN_PREFIX
        return self._session.has_workspace and not is_number and not query.startswith("#")

    async def completions(self, query: str) -> Sequence[CompletionItem]:
        """Return the contents that match, as many as a popup needs. Raises HelixError."""
        workspace = self._session.workspace
        words = query.replace('"', " ").strip()[:MAX_QUERY_LENGTH]
        source = OutputSource(workspace, self._session.find_conversation)
        is_search = len(words) >= _MIN_WORD
        entry_filter = EntryFilter(kinds=AGENT_KINDS, target=words if is_search else "")
        page = await workspace.store.page(limit=_MAX_CONTENTS, entry_filter=entry_filter)
        digests = [entry.digest for entry in page.entries]
        digests += await _search(source, words) if is_search else ()
        rows = await source.rows(list(dict.fromkeys(digests))[: 2 * _MAX_CONTENTS])
        searched = words.lower().split()
        readable = sorted(filter(is_readable, rows), key=lambda row: _name_rank(row, searched))
        return [_content_completion(row, searched) for row in readable[:_MAX_CONTENTS]]

    def accept(self, completion: CompletionItem) -> None:
        self._session.perform(AttachEntries((completion.key,)))


def _name_rank(row: CacheRow, words: Sequence[str]) -> int:
    """Return 0 for a content whose file name has all words, 1 for one whose target has, 2 for others."""
    target = row.target.lower()
    names = (target[name_start(target) :], target)
    return next((rank for rank, name in enumerate(names) if all(word in name for word in words)), len(names))


async def _search(source: OutputSource, query: str) -> list[str]:
    found = CacheSearchResults(b"")
    parts = 0
    while not found.digests and parts < _MAX_PARTS and (parts == 0 or found.cursor):
        found = await source.search(CacheFilter(query), found.cursor)
        parts += 1
    ids = found.digests
    return [ids[at : at + DIGEST_BYTES].hex() for at in range(0, len(ids), DIGEST_BYTES)]


def _content_completion(row: CacheRow, words: Sequence[str]) -> CompletionItem:
    tool = "" if row.is_argument else tool_name(row)
    title = one_line(f"{tool} {target_name(row)}") or row.digest[:_HASH_DIGITS]
    facts = row.digest[:_HASH_DIGITS], format_token_count(row.tokens), row.hit or row.first_line
    detail = " · ".join(filter(None, facts))
    places = _places(title, words), _places(detail, words)
    return CompletionItem("", title, detail, "archive-restore", *places, key=row.digest)


def _places(text: str, words: Sequence[str]) -> tuple[int, ...]:
    """Return the positions of the first place of each word in a text."""
    folded = text.lower()
    if len(folded) != len(text):
        return ()
    starts = ((folded.find(word), len(word)) for word in words)
    return tuple(sorted({at + step for at, length in starts if at >= 0 for step in range(length)}))


_RECENT_FILES = 20  # files used lately
_RECENT_EVENTS = 400  # how far back in the log these are looked for
_FILES_FRESH_S = 2.0
"""A list this old is made again where a word begins."""
_FILES_FRESH_IN_WORD_S = 20.0
"""A list this old is made again while a word is typed."""
_MAX_RESOURCES = 20
_WAIT_S = 0.06  # how long the first rows wait for the new list before the old one is shown
_CODE_SUFFIXES = frozenset(
    ("c", "cc", "cpp", "cs", "css", "go", "h", "hpp", "html", "java", "js", "json", "jsx", "kt", "lua", "php",
     "pl", "py", "rb", "rs", "sh", "sql", "swift", "toml", "ts", "tsx", "vue", "xml", "yaml", "yml")
)  # fmt: skip
_IMAGE_SUFFIXES = frozenset(["png", "jpg", "jpeg", "gif", "webp", "svg", "bmp", "ico"])


class FileCompletions(CompletionSource):
    """Files by a few letters, what the session used lately first; then resources of MCP servers."""

    trigger = "@"

    def __init__(self, session: Session, attachments: DraftAttachments) -> None:
        self._session = session
        self._attachments = attachments
        self._listed: tuple[FileIndex, float] | None = None
        self.name = tr("Files")
        self.hint = tr("Add :10-40 for lines")
        self.empty_text = tr("No matching files")

    def takes(self, query: str) -> bool:
        return file_index(self._session) is not None

    async def completions(self, query: str) -> Sequence[CompletionItem]:
        """Return the files and folders that match. Raises HelixError if they cannot be listed."""
        index = file_index(self._session)
        if index is None:
            return ()
        refresh = self.refresh(_FILES_FRESH_S if len(query) <= 1 else _FILES_FRESH_IN_WORD_S)
        if refresh is not None:
            await asyncio.wait([refresh], timeout=_WAIT_S)
        path, first_line, last_line = parse_typed(query)
        recent = await asyncio.to_thread(self._recent_files)
        matches = await index.search(path, _MAX_ROWS, recent)
        folder = path if path.endswith("/") else ""  # what is in it is offered, not itself again
        files = [_file_completion(match, first_line, last_line) for match in matches if match.path != folder]
        return [*files, *self._resources(query)] if path == query else files

    def _resources(self, query: str) -> list[CompletionItem]:
        words = query.casefold().split()
        found = list[CompletionItem]()
        for resource in self._session.app.mcp_servers.resources(self._session.workspace.id):
            server = resource.server
            title = resource.title
            uri = resource.uri
            if all(word in f"{server} {title} {uri}".casefold() for word in words):
                about = " · ".join(filter(None, (server, resource.description or uri)))
                shown = escape_hidden_name(title), escape_hidden_name(about)
                found.append(CompletionItem("", *shown, icon="server", key=f"{server} {uri}"))
        return found[:_MAX_RESOURCES]

    def refresh(self, max_age_s: float = _FILES_FRESH_S) -> asyncio.Task[None] | None:
        """Begin to list the files again, unless the list is younger than this."""
        index = file_index(self._session)
        if index is None or (
            self._listed and self._listed[0] is index and monotonic() - self._listed[1] < max_age_s
        ):
            return None
        self._listed = (index, monotonic())
        return self._session.start(_list_again(index), "list files")

    def accept(self, completion: CompletionItem) -> None:
        """Attach a resource; of a file the mention in the text is what counts."""
        resources = self._session.app.mcp_servers.resources(self._session.workspace.id)
        for resource in resources:
            if not completion.text and completion.key == f"{resource.server} {resource.uri}":
                self._attachments.attach_resource(resource)

    def _recent_files(self) -> Sequence[str]:
        log = self._session.conversation.session.log
        paths = dict[str, None]()
        for at in range(len(log) - 1, max(-1, len(log) - 1 - _RECENT_EVENTS), -1):
            match log[at].event:
                case ToolAnswered(files=files):
                    paths |= dict.fromkeys(version.path for version in files)
                case UserSpoke(text=text):
                    paths |= dict.fromkeys(mention.path for mention in find_mentions(text))
        return tuple(paths)[:_RECENT_FILES]


async def _list_again(index: FileIndex) -> None:
    """List the files; if that fails, the search says so, unless there is an earlier list."""
    with suppress(HelixError):
        await index.refresh()


def _file_completion(match: PathMatch, first_line: int, last_line: int) -> CompletionItem:
    path = match.path
    start = name_start(match.path)
    is_folder = path.endswith("/")
    mention = format_mention(path, first_line, last_line)
    suffix = path.rpartition(".")[2].lower()
    icon = "file-code" if suffix in _CODE_SUFFIXES else "file-text"
    if suffix in _IMAGE_SUFFIXES:
        icon = "image"
    if is_folder:
        mention = format_mention(path).removesuffix('"')
        icon = "folder"
    in_title = tuple(at - start for at in match.positions if at >= start)
    in_detail = tuple(at for at in match.positions if at < start - 1)
    folder = path[: max(0, start - 1)]
    return CompletionItem(mention, path[start:], folder, icon, in_title, in_detail, is_folder, path)


_CHECK_AFTER_MS = 250
_TriedFile = Attachment | InvalidInput


class FileMentions(QObject):
    """Looks the mentions of the composer's text up after a pause; never in the way of sending."""

    def __init__(self, composer: ComposerController, session: Session) -> None:
        super().__init__(composer)
        self._count = composer.count_mentioned
        self._composer = composer.widget
        self._session = session
        self._tried: dict[Mention, _TriedFile] = {}  # of the text that was looked up last
        self._tried_in: Conversation | None = None
        self._timer = QTimer(self, singleShot=True, interval=_CHECK_AFTER_MS)
        self._timer.timeout.connect(lambda: session.start(self._check(), "look up mentions"))
        self._composer.text_changed.connect(lambda _: self._timer.start())

    async def _check(self) -> None:
        if not self._session.has_conversation:
            return
        workspace = self._session.workspace
        conversation = self._session.conversation
        index = file_index(self._session)
        text = self._composer.text()
        found = MentionedFiles()
        tried = dict[Mention, _TriedFile]()
        typed = parse_slash_input(text)
        if index and not (typed and find_slash_command(typed.name)):  # a command of ours is no message
            found = await index.look_up(text)
            before = self._tried if conversation is self._tried_in else {}
            for mention in found.files:
                try:
                    attach = workspace.contents.try_attach_file
                    known = before.get(mention)
                    tried[mention] = known or await attach(conversation.session.id, *mention[:3])
                except InvalidInput as error:
                    tried[mention] = error
        if self._session.shows(conversation) and text == self._composer.text():
            self._tried = tried
            self._tried_in = conversation
            files = {
                mention.path + format_lines(mention.first_line, mention.last_line): result
                for mention, result in tried.items()
                if isinstance(result, Attachment)
            }
            self._count([result for result in tried.values() if isinstance(result, Attachment)])
            refused = [result for result in tried.values() if isinstance(result, InvalidInput)]
            notes = [translate(found.missing_text)]
            popup = self._composer.completer.popup
            is_listing = popup is not None and bool(popup.completions)  # the names that it may become
            if found.other_names and not is_listing:
                words = tr(
                    "No file named {files} (sent as text, Ctrl+Space completes a name)",
                    files=found.other_names,
                )
                notes.append(words)
            if found.folders:
                notes.append(tr("Sent as text, without files: folder {folders}", folders=found.folders))
            notes += [f"{translate(error.what)} {translate(error.why)}" for error in refused]
            if files:
                tokens = format_token_count(sum(file.tokens for file in files.values()))
                notes.append(tr("Attaches {files} (≈ {tokens})", files=tuple(files), tokens=tokens))
            is_warning = bool(found.missing or refused)
            self._composer.set_note(" · ".join(filter(None, notes)), is_warning=is_warning)


class ModelCompletions(CompletionSource):
    """Models by a part of their names, and the word for the workspace's default."""

    trigger = "/model "
    only_at_start = True

    def __init__(self, session: Session) -> None:
        self._session = session
        self.name = commands_tr("Models")
        self.empty_text = commands_tr("No matching models")

    async def completions(self, query: str) -> Sequence[CompletionItem]:
        labels = (*model_labels(self._session.app.settings), DEMO_LABEL, WORKSPACE_DEFAULT)
        return [self._row(label) for label in matching_models(query, labels)[:_MAX_ROWS]]

    def _row(self, label: str) -> CompletionItem:
        if label == WORKSPACE_DEFAULT:
            detail = commands_tr("The workspace's default model")
        elif self._session.conversation.model.label == label:
            detail = commands_tr("In use")
        else:
            detail = demo_model_name() if label == DEMO_LABEL else ""
        return CompletionItem(self.trigger + label, label, detail, "cpu")


_MAX_MESSAGES = 200


def sent_messages(conversation: Conversation) -> tuple[str, ...]:
    """Return a session's messages as they were typed, newest first, each once; one that waits too."""
    texts: dict[str, None] = {}
    for entry in reversed(conversation.session.log):
        if isinstance(entry.event, UserSpoke | MessageQueued) and entry.event.text.strip():
            texts.setdefault(entry.event.prompt.typed_text if entry.event.prompt else entry.event.text)
            if len(texts) >= _MAX_MESSAGES:
                break
    return tuple(texts)


def file_index(session: Session) -> FileIndex | None:
    """Return the files of the workspace on screen; None where none can be attached."""
    if not session.has_workspace or session.workspace.is_read_only or not session.workspace.is_trusted():
        return None
    return session.app.tools.file_index(session.workspace.id)


def add_completions(composer: ComposerController, session: Session, offer: Offer) -> None:
    """Complete what is typed; `offer` shows the prompt files in the picker."""
    widget = composer.widget
    files = FileCompletions(session, composer.attachments)
    FileMentions(composer, session)
    commands = CommandCompletions(session, widget, offer)
    for source in (files, ContentCompletions(session), commands, ModelCompletions(session)):
        widget.completer.add_source(source, session.start)
    widget.history.set_source(lambda: sent_messages(session.conversation))
    # For the first time at the first letter, so that they are there when an `@` is typed.
    widget.editor.typed.connect(lambda _: files.refresh(math.inf))
