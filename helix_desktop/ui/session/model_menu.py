"""The menu behind the name of the model: one for this session, or the workspace's default."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu, QWidget

from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.services.provider_changes import DEMO_LABEL
from helix_desktop.ui.session.composer_controller import SESSION_MODEL
from helix_desktop.ui.settings.roles_page import ROLES, Role
from helix_desktop.words.models import demo_model_name, model_name
from helix_desktop.words.translation import Translator, translate
from helix_desktop.workspaces.registry import MAIN

tr = Translator("Session")
_text = TextContext("Session")

ADD_PROVIDER = "add_provider"
"""What the menu asks for instead of a page: the form of a new provider."""
WORKSPACE_DEFAULT = "default"
"""What is typed for the model of the workspace."""
_MAX_PROPOSED = 5  # models that an error names
_MAX_MODELS = 25  # models that a menu lists; the others stand in the settings


def model_menu(
    parent: QWidget,
    labels: Sequence[str],
    session_model: str,
    default_model: str,
    use_model: Callable[[str], object],
    show_page: Callable[[str], object],
    effort_menu: Callable[[QWidget], QMenu],
    roles_menu: Callable[[QWidget], QMenu],
) -> QMenu:
    """Make a menu of models with the session's one marked.

    `session_model` is empty where the session follows the workspace's `default_model`. `use_model` takes a
    label, empty for the default; `show_page` a page of the settings, or ADD_PROVIDER. `effort_menu` makes the
    menu of efforts, `roles_menu` that of the workspace's roles.
    """
    menu = QMenu(parent)
    menu.setAccessibleName(translate(SESSION_MODEL))
    title = QAction(translate(SESSION_MODEL), menu)
    title.setEnabled(False)
    menu.addAction(title)
    group = QActionGroup(menu)
    listed = list(labels[:_MAX_MODELS])
    if session_model not in ("", DEMO_LABEL, *listed):
        listed.insert(0, session_model)
    for label in ("", *listed, DEMO_LABEL):
        text = (
            _display_label(label)
            if label
            else tr("Workspace default ({model})", model=_display_label(default_model))
        )
        action = QAction(text, menu)
        action.setObjectName(f"model:{label}")
        action.setCheckable(True)
        action.setChecked(label == session_model)
        action.triggered.connect(lambda _=False, label=label: use_model(label))
        group.addAction(action)
        menu.addAction(action)
    menu.addSeparator()
    menu.addMenu(effort_menu(menu))
    roles = roles_menu(menu)
    roles.addSeparator()
    menu.addMenu(roles)
    menu.addSeparator()
    for text, page, place in (
        (tr("In all workspaces…"), "roles", roles),
        (tr("Add provider…"), ADD_PROVIDER, menu),
    ):
        action = QAction(text, menu)
        action.setObjectName(f"page:{page}")
        action.triggered.connect(lambda _=False, page=page: show_page(page))
        place.addAction(action)
    return menu


def workspace_roles_menu(
    parent: QWidget,
    labels: Sequence[str],
    chosen: Mapping[Role, str],
    defaults: Mapping[Role, str],
    use_model: Callable[[Role, str], object],
) -> QMenu:
    """Make a menu of the roles in a workspace, each with its models: the `chosen` ones are marked.

    An empty label is the model of `defaults`, MAIN the workspace's main model.
    """
    menu = QMenu(tr("Model roles"), parent)
    for role, name, _ in ROLES:
        part = menu.addMenu(translate(name))
        part.setObjectName(f"role:{role}")
        group = QActionGroup(part)
        nobody, own = (demo_model_name(), DEMO_LABEL) if role == "model" else (tr("Main model"), MAIN)
        listed = dict.fromkeys((*labels[:_MAX_MODELS], chosen[role]))
        texts = {"": tr("Default ({model})", model=defaults[role] or nobody), own: nobody}
        texts |= {label: label for label in listed if label not in texts}
        for label, text in texts.items():
            action = QAction(text.replace("&", "&&"), part)
            action.setObjectName(f"role:{role}:{label}")
            action.setCheckable(True)
            action.setChecked(label == chosen[role])
            action.triggered.connect(lambda _=False, role=role, label=label: use_model(role, label))
            group.addAction(action)
            part.addAction(action)
    return menu


def find_model(query: str, labels: Sequence[str]) -> str:
    """Return the label that was meant: it, or the only one with these words in it; empty: the default.

    Raises InvalidInput for none, or several.
    """
    needles = query.casefold().split()
    if needles == [WORKSPACE_DEFAULT]:
        return ""
    found = [label for label in labels if _has_words(label, needles)]
    exact = [
        label for label in found if query.casefold() in (label.casefold(), *label.casefold().split("/", 1))
    ]
    matches = exact if len(exact) == 1 else found
    if len(matches) == 1:
        return matches[0]
    what = _text("{words} isn't one model.", words=repr(query[:80]))
    if not matches:
        raise InvalidInput(
            what,
            _text("No model that is set up has this name."),
            _text("Choose a model."),
            remedies=("choose_model",),
        )
    raise InvalidInput(
        what,
        _text("It fits {models}.", models=tuple(matches[:_MAX_PROPOSED])),
        _text("Type more of its name."),
        remedies=("choose_model",),
    )


def matching_models(query: str, labels: Sequence[str]) -> list[str]:
    """Return the labels with all words of a query in them, those that begin with it first."""
    needles = query.casefold().split()
    found = [label for label in labels if _has_words(label, needles)]
    names = {label: (label.casefold(), label.casefold().partition("/")[2]) for label in found}
    typed = query.casefold().strip()
    return sorted(found, key=lambda label: not any(name.startswith(typed) for name in names[label]))


def _has_words(label: str, needles: Sequence[str]) -> bool:
    return all(needle in label.casefold() for needle in needles)


def _display_label(label: str) -> str:
    return model_name(label, demo=True) if label == DEMO_LABEL else label
