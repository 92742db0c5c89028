"""How much of a context stays: a workspace's profile and managed window, as entries of a menu."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtGui import QActionGroup
from PySide6.QtWidgets import QWidget

from helix_desktop.context.policy_numbers import ContextPolicy, managed_window
from helix_desktop.ui.kit.commands import EntryMenu
from helix_desktop.ui.kit.intents import ChooseProfile, ManageAtMost, OpenSettings
from helix_desktop.words.managed_window import managed_window_text
from helix_desktop.words.numbers import format_window
from helix_desktop.words.policies import profile_keeps, profile_name
from helix_desktop.words.translation import Translator

tr = Translator("Context choices")

PROFILES_TO_CHOOSE = ("lean", "balanced", "classic")
_SIZES = (128_000, 256_000)  # tokens, below the model's window; 0 is all of it


def context_choice_text(policy: ContextPolicy, model_window: int) -> str:
    """Return what is chosen, in a few words: `Balanced · 128k of 1M`."""
    profile = profile_name(policy.profile if policy.enabled else "off")
    return f"{profile} · {managed_window_text(managed_window(policy, model_window), model_window)}"


def context_menu(parent: QWidget, policy: ContextPolicy, model_window: int) -> EntryMenu:
    """Return a menu of profiles and managed windows for a workspace, with those of its policy marked."""
    menu = EntryMenu(parent, tr("Context: {choice}", choice=context_choice_text(policy, model_window)))
    menu.setAccessibleName(tr("Context in this workspace"))
    menu.addAction(tr("Profile of this workspace")).setEnabled(False)
    profiles = QActionGroup(menu)
    for name in PROFILES_TO_CHOOSE:
        words = tr("{profile}: {keeps}", profile=profile_name(name), keeps=profile_keeps(name))
        is_chosen = policy.enabled and policy.profile == name
        profiles.addAction(menu.add(f"profile:{name}", words, ChooseProfile(name), is_checked=is_chosen))

    sizes = managed_sizes(policy, model_window)
    if policy.enabled and len(sizes) > 1:
        menu.addSeparator()
        menu.addAction(tr("Keep the context within")).setEnabled(False)
        group = QActionGroup(menu)
        for size in sizes:
            words = _size_text(size, model_window)
            is_chosen = managed_window(policy, model_window) == (size or model_window)
            group.addAction(menu.add(f"manage:{size}", words, ManageAtMost(size), is_checked=is_chosen))

    menu.addSeparator()
    menu.add("page:policy", tr("Context policy…"), OpenSettings("policy"))
    return menu


def managed_sizes(policy: ContextPolicy, model_window: int) -> Sequence[int]:
    """Return the sizes to choose from, in tokens: the usual ones, the policy's own, and 0 for all of it."""
    own = {policy.manage_at_most} - {0}
    smaller = [size for size in sorted({*_SIZES, *own}) if size < model_window]
    return [*smaller, 0]


def _size_text(size: int, model_window: int) -> str:
    if size:
        return tr("{size} tokens of {window}", size=format_window(size), window=format_window(model_window))
    return tr("All of it, {window} tokens", window=format_window(model_window))
