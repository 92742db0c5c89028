"""The window's notices of MCP servers: one waits for consent, lacks a secret, fails, or has new tools."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QObject

from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.translatable_text import join_sentences
from helix_desktop.ui.design.safe_text import escape_invisible
from helix_desktop.ui.kit.intents import Intent, OpenSettings, ShowServer
from helix_desktop.ui.kit.notices import Answer, Notice
from helix_desktop.ui.kit.session import Session
from helix_desktop.words.translation import Translator, translate

tr = Translator("MCP")
_CONSENT = "mcp-consent"
_SECRET = "mcp-secret"
_FAILED = "mcp-failed"
_NEW_TOOLS = "mcp-new-tools"
_FILE = "mcp-file"
_NAMES = 6  # of new tools that a notice names
_NAME_CHARS = 40  # of each of these names


class McpNotices(QObject):
    """Says of the workspace on screen what its servers need of the user; each thing once.

    What was said is known by workspace: a dismissed notice stays away until there is something else to say.
    """

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session
        self._notices = session.notices
        self._services = session.app
        self._said: dict[tuple[str, str], tuple[str, ...]] = {}  # servers, by notice and workspace
        self._dismissed_secrets: set[str] = set()  # workspaces; said once per start
        self._later_tools: dict[str, dict[str, tuple[str, ...]]] = {}  # tools by server
        self._services.mcp_servers.listen(
            lambda changed: self._show() if changed == session.workspace_id else None
        )
        session.changed.connect(self._show)

    def _show(self) -> None:
        if self._session.opened is not None:
            active = self._session.workspace_id
            self._show_file_error(active)
            self._show_consent(active)
            self._show_secrets(active)
            self._show_failures(active)
            self._show_new_tools(active)

    def _review(self, place: Intent) -> Answer:
        return Answer(tr("Review…"), partial(self._session.perform, place), "look")

    def _is_new(self, name: str, active: str, servers: tuple[str, ...]) -> bool:
        """Return True if a notice about these servers is to be shown; the one about others goes."""
        if servers == self._said.get((name, active), ()):
            return False
        self._said[name, active] = servers
        self._notices.end(name, active)
        return bool(servers)

    def _show_file_error(self, active: str) -> None:
        why = translate(self._services.mcp_servers.file_error(active))
        if not self._is_new(_FILE, active, (why,) if why else ()):
            return
        title = tr("mcp.json has an error.")
        answer = self._review(OpenSettings("mcp"))
        self._notices.notify(Notice(_FILE, title, why, "", (answer,), "warning", workspace_id=active))

    def _show_consent(self, active: str) -> None:
        record = self._services.registry.get(active)
        waiting = record.servers_awaiting_consent
        if not self._is_new(_CONSENT, active, waiting):
            return
        title = tr.plural(
            len(waiting),
            "The MCP server {names} needs your approval.",
            "%n MCP servers need your approval: {names}.",
            names=waiting,
        )
        asking = [server for server in record.servers if server.name in waiting]
        changes = tuple(_short_names([path for server in asking for path in server.consent_changes]))
        why = tr("A new or changed server starts only after you approve it.")
        if changes:
            why = tr("Files that it runs have changed: {files}.", files=changes)
        answer = self._review(OpenSettings("mcp"))
        self._notices.notify(Notice(_CONSENT, title, why, "", (answer,), "warning", workspace_id=active))

    def _show_secrets(self, active: str) -> None:
        """Name the servers that don't run since a secret is gone; none once all have theirs."""
        lacking = self._services.mcp_servers.servers_lacking_secrets(active)
        announced = self._said.get((_SECRET, active), ())
        if any(self._services.mcp_servers.is_starting(active, name) for name in announced):
            return  # it is tried again, and may lack its secret still
        if active in self._dismissed_secrets or not self._is_new(_SECRET, active, lacking):
            return
        title = tr.plural(
            len(lacking),
            "The MCP server {names} can't start: its secret is missing.",
            "%n MCP servers can't start, since their secrets are missing: {names}.",
            names=lacking,
        )
        place = ShowServer(lacking[0], lacks_secret=True)
        answer = Answer(tr("Enter secret…"), partial(self._session.perform, place), "enter")
        why = tr("Secrets that aren't in a keychain last only until Helix closes.")
        dismiss = partial(self._dismissed_secrets.add, active)
        self._notices.notify(
            Notice(_SECRET, title, why, "", (answer,), "warning", workspace_id=active, on_dismiss=dismiss)
        )

    def _show_failures(self, active: str) -> None:
        """Name the servers that don't run, with the last line that one printed, until they run again.

        One that is tried again stays in it until it runs.
        """
        servers = self._services.mcp_servers
        awaiting_consent = self._services.registry.get(active).servers_awaiting_consent
        announced = self._said.get((_FAILED, active), ())
        lacking = servers.servers_lacking_secrets(active)
        failures = {
            failure.server: failure
            for failure in servers.failures(active)
            if failure.server not in {*lacking, *awaiting_consent}
            and (failure.server in announced or not servers.is_starting(active, failure.server))
        }
        names = tuple(failures)
        if not self._is_new(_FAILED, active, names):
            return
        title = tr.plural(
            len(names),
            "The MCP server {names} isn't running.",
            "%n MCP servers aren't running: {names}.",
            names=names,
        )
        answer = self._review(ShowServer(names[0]))
        why = translate(failures[names[0]].reason)
        self._notices.notify(Notice(_FAILED, title, why, "", (answer,), "warning", workspace_id=active))

    def _show_new_tools(self, active: str) -> None:
        """Name what each server has come to offer since it started, and no notice has named yet."""
        later = self._services.mcp_servers.later_tools(active)
        announced = self._later_tools.get(active, {})
        new = {
            server: tuple(tool for tool in tools if tool not in announced.get(server, ()))
            for server, tools in later.items()
        }
        servers = [server for server, tools in new.items() if tools]
        if not servers:
            return
        self._later_tools[active] = later
        counts = [
            tr.plural(
                len(new[server]), "{server} has %n new tool.", "{server} has %n new tools.", server=server
            )
            for server in servers
        ]
        title = translate(join_sentences(*counts))
        tools = _new_tools_text([tool for server in servers for tool in new[server]])
        answer = self._review(ShowServer(servers[0]))
        self._notices.notify(Notice(_NEW_TOOLS, title, tools, answers=(answer,), workspace_id=active))


def _short_names(names: Sequence[str]) -> list[str]:
    return [ellipsize(escape_invisible(name), _NAME_CHARS) for name in names[:_NAMES]]


def _new_tools_text(tools: Sequence[str]) -> str:
    names = ", ".join(_short_names(tools))
    if len(tools) > _NAMES:
        return tr("The agent can ask to use: {names} …", names=names)
    return tr("The agent can ask to use: {names}", names=names)
