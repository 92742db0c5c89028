"""What users also call a command or a page: the command palette finds it by these words, too."""

from __future__ import annotations

from PySide6.QtGui import QAction

from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.words.translation import translate

text = TextContext("Search words")

SEARCH_WORDS: dict[str, TranslatableText] = {
    "open_folder": text("workspace project directory add"),
    "new_session": text("conversation chat thread start"),
    "branch_session": text("fork copy"),
    "switch_workspace": text("switch jump workspace session"),
    "search_messages": text("find history"),
    "clean_up": text("delete free disk space retention"),
    "trash": text("deleted restore recycle bin"),
    "forget": text("delete password key redact"),
    "export": text("backup save markdown share session workspace cache"),
    "import_file": text("restore backup"),
    "settings": text("preferences options configuration"),
    "quit": text("exit close"),
    "find": text("search"),
    "show_chat": text("conversation messages"),
    "show_cache": text("outputs entries digest recall"),
    "show_timeline": text("handovers summaries history chart"),
    "show_changes": text("files diff revert"),
    "commit_changes": text("git diff"),
    "toggle_sidebar": text("list left panel"),
    "toggle_inspector": text("tokens usage right panel x-ray"),
    "show_request": text("prompt json raw"),
    "theme_dark": text("dark mode night colors"),
    "theme_light": text("light mode day colors"),
    "theme_system": text("colors appearance"),
    "zoom_in": text("bigger font zoom"),
    "zoom_out": text("font zoom"),
    "zoom_reset": text("font zoom"),
    "mode_ask": text("approval permissions"),
    "mode_plan": text("approval permissions read only"),
    "mode_auto": text("approval permissions sandbox"),
    "choose_effort": text("thinking"),
    "stop": text("cancel interrupt abort"),
    "allow_call": text("approve accept yes"),
    "deny_call": text("reject no"),
    "compact_now": text("handover summary summarize shrink"),
    "observe_now": text("facts summarize"),
    "undo_compaction": text("handover compaction restore"),
    "redo_compaction": text("handover compaction"),
    "hold_compaction": text("handover hold stop automatic"),
    "choose_model": text("provider switch llm"),
    "change_policy": text("threshold handover profile compaction"),
    "rewind": text("go back checkpoint restore files"),
    "rename_session": text("title"),
    "pin_session": text("favorite top"),
    "archive_session": text("hide delete remove"),
    "set_budget": text("cost limit money tokens"),
    "guide": text("help manual documentation introduction tour"),
    "keys": text("shortcuts hotkeys help"),
    "commands_help": text("slash help"),
    "about": text("version update license diagnostics"),
    "settings:providers": text("api key model server ollama openai anthropic"),
    "settings:roles": text("summarizer extracts fast main long texts"),
    "settings:appearance": text("appearance theme font size motion sound notifications"),
    "settings:keyboard": text("shortcuts hotkeys keys bindings"),
    "settings:instructions": text("agents.md rules prompt"),
    "settings:policy": text("threshold handover compaction cache profile"),
    "settings:permissions": text("approval allow deny rules sandbox"),
    "settings:mcp": text("tools plugins extensions"),
    "settings:data": text("storage disk retention backup folder"),
    "settings:about": text("version license diagnostics"),
    "guide:context": text("window tokens"),
    "guide:cached": text("marker output recall digest"),
    "guide:compacted": text("handover note observations facts summary summarize"),
    "guide:policy": text("profile threshold"),
    "guide:changes": text("revert diff files"),
}


def matches_search_words(needle: str, action: QAction, own_words: str) -> bool:
    """Return True if every typed word is in a command's own words, or begins one of its search words."""
    search_words = translate(SEARCH_WORDS.get(action.objectName(), "")).casefold().split()
    own = own_words.casefold()
    return all(
        typed in own or any(word.startswith(typed) for word in search_words)
        for typed in needle.casefold().split()
    )
