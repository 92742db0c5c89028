"""Fills the page of permissions and does what it asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

import msgspec
from PySide6.QtCore import QObject

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.room import Room
from helix_desktop.context.errors import HelixError, StoreError
from helix_desktop.context.event import ApprovalGiven, Recorded
from helix_desktop.context.permission import names_of, typed_rule
from helix_desktop.context.tool import Effect, Rule, RuleKind
from helix_desktop.ui.intents import Intents
from helix_desktop.ui.ports import Desk
from helix_desktop.ui.settings.permissions_page import PermissionsPage
from helix_desktop.ui.settings.rows import PermissionRow
from helix_desktop.ui.shell import Shell
from helix_desktop.ui.theme import Theme
from helix_desktop.ui.widgets import retint
from helix_desktop.workspaces.record import Grant
from helix_desktop.workspaces.saved_rules import SavedRules, demo_calls, user_rules


class Uses(msgspec.Struct):
    """How often a rule answered, and when last, in milliseconds since 1970."""

    count: int = 0
    last: int = 0


class PermissionsPresenter(QObject):
    """Binds the page to the workspace, and the session, on screen."""

    def __init__(
        self, page: PermissionsPage, shell: Shell, intents: Intents, desk: Desk, theme: Callable[[], Theme]
    ) -> None:
        super().__init__(page)
        self._page, self._shell, self._intents, self._desk, self._theme = page, shell, intents, desk, theme
        self._shown: dict[str, Rule] = {}
        self._revoked: Rule | None = None
        page.revoke_requested.connect(self._revoke)
        page.undo_requested.connect(self._undo)
        page.form.written.connect(self._write)
        page.reach.changed.connect(lambda name, on: intents.start(self._grant(name, on), "grant"))
        page.demo_calls_changed.connect(self._set_demo_calls)
        page.trust_requested.connect(lambda wanted: intents.start(self._trust(wanted), "trust"))

    async def show(self) -> None:
        """Show the page as things are now; what takes counting comes a moment later."""
        self._show({})
        await self._show_reach()
        room = self._desk.rooms.get(self._shell.active)
        if room is not None and self._shown:
            try:
                counted = await _uses(room, self._shown.values())
            except StoreError:  # it was closed meanwhile
                return
            if room is self._desk.rooms.get(self._shell.active):
                self._show(counted)

    def _show(self, counted: dict[str, Uses]) -> None:
        room = self._desk.rooms.get(self._shell.active)
        if room is None:
            return
        record = self._desk.registry.get(room.id)
        rules = (*user_rules(record), *self._leeway())
        self._page.show_demo_calls(demo_calls(record) if record.demo else None)
        self._shown = {str(number): rule for number, rule in enumerate(rules)}
        rows = [_row(key, rule, counted.get(rule.text)) for key, rule in self._shown.items()]
        self._page.show_trust(record.path, record.trusted)
        self._page.show_rules(record.name, rows)
        self._page.show_revoked(self._revoked.text if self._revoked else "")
        retint(self._page, self._theme())

    @property
    def _talk(self) -> Conversation | None:
        return self._shell.work.conversation

    def _leeway(self) -> Sequence[Rule]:
        return self._talk.leeway.rules if self._talk is not None else ()

    def _rules(self) -> SavedRules:
        return SavedRules(self._desk.registry, self._shell.active)

    def _again(self) -> None:
        self._intents.start(self.show(), "permissions")

    def _revoke(self, key: str) -> None:
        rule = self._shown.get(key)
        if rule is None:
            return
        if rule.scope == "session":
            if self._talk is not None:
                self._talk.leeway.revoke(rule)
        else:
            self._rules().revoke(rule)
        self._revoked = rule
        self._again()

    def _undo(self) -> None:
        rule, self._revoked = self._revoked, None
        if rule is not None and rule.scope == "session":
            if self._talk is not None:
                self._talk.leeway.rules = (*self._talk.leeway.rules, rule)
        elif rule is not None:
            self._rules().restore(rule)
        self._again()

    def _set_demo_calls(self, allow: bool) -> None:
        self._rules().set_demo_calls("allow" if allow else "ask")
        self._again()

    def _write(self, effect: Effect, kind: RuleKind, text: str) -> None:
        try:
            rule = typed_rule(effect, kind, text)
        except HelixError as error:
            self._page.form.refuse(str(error))
            return
        self._page.form.words.clear()
        self._intents.start(self._save(rule), "save rule")

    async def _save(self, rule: Rule) -> None:
        await self._rules().add(rule)
        await self.show()

    async def _show_reach(self) -> None:
        identity = self._shell.active
        if identity not in self._desk.rooms:
            return
        said, held = await self._desk.tooling.walls(identity)
        if identity == self._shell.active:
            record = self._desk.registry.get(identity)
            on = {"sandbox": record.sandbox, "network": record.network, "fetch": record.fetch}
            self._page.reach.show_reach(on, said, held)

    async def _grant(self, name: Grant, on: bool) -> None:
        await self._desk.tooling.grant(self._shell.active, name, on)
        await self._show_reach()

    async def _trust(self, wanted: bool) -> None:
        identity = self._shell.active
        if wanted:
            await self._shell.trusting.ask(identity)
        else:
            await self._shell.trusting.keep(identity, trusted=False)
        await self.show()


async def _uses(room: Room, rules: Iterable[Rule]) -> dict[str, Uses]:
    """How often each rule answered, by its text, in all sessions of a workspace."""
    wanted = {name: rule.text for rule in rules for name in names_of(rule)}
    uses = {text: Uses() for text in wanted.values()}
    here = {one.session.id: one.session.log for one in room.conversations}
    for session in await room.store.sessions():
        log = here.get(session.id)
        _count(await room.store.events(session.id) if log is None else log, wanted, uses)
    return uses


def _count(log: Iterable[Recorded], wanted: dict[str, str], uses: dict[str, Uses]) -> None:
    for one in log:
        if isinstance(one.event, ApprovalGiven) and one.event.rule in wanted:
            use = uses[wanted[one.event.rule]]
            use.count += 1
            use.last = max(use.last, one.at)


def _row(key: str, rule: Rule, use: Uses | None) -> PermissionRow:
    session = rule.scope == "session"
    saved = "Until this run ends" if session else f"Saved {when(rule.saved)}"
    return PermissionRow(key, rule.text, saved, _used(use), rule.effect, session)


def _used(use: Uses | None) -> str:
    if use is None:
        return ""
    if not use.count:
        return "not used yet"
    times = "once" if use.count == 1 else f"{use.count:,} times"
    return f"used {times}, last {when(use.last)}"


def when(at: int) -> str:
    """A moment in words; `at` in milliseconds since 1970, 0 when it is not known."""
    if not at:
        return "earlier"
    moment = datetime.fromtimestamp(at / 1000)
    return f"{moment.day} {moment:%b %Y, %H:%M}"
