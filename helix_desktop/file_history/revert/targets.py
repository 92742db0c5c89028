"""What a revert shall bring where: by its plan, the user's choices, and what stands there now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from helix_desktop.domain.file_history.revert import PlannedFile, RevertPlan
from helix_desktop.domain.file_history.revert_choice import RevertChoice
from helix_desktop.domain.file_history.state import FileState, is_folder
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.file_history.revert.current_paths import CurrentPathReader, RevertTree, is_alike
from helix_desktop.file_history.revert.folder_checks import parents_of
from helix_desktop.file_history.revert.folders import Folders
from helix_desktop.file_history.revert.operations import PathTarget
from helix_desktop.file_history.revert.refusals import refused, refused_by_change

text = TextContext("Changes")


class TargetFinder:
    """Finds the targets of one revert. Raises RevertRefused, OSError, FolderUnreachable."""

    def __init__(
        self,
        folders: Folders,
        tree: RevertTree,
        plan: RevertPlan,
        choices: Mapping[str, RevertChoice],
    ) -> None:
        self._folders, self._tree, self._plan, self._choices = folders, tree, plan, choices
        self._reader = CurrentPathReader(folders, tree)
        self._targets: dict[str, PathTarget] = {}
        self._folder_states: dict[str, FileState | None] = {}

    def find(self) -> dict[str, PathTarget]:
        """Return what stands at each path that is to change, and what shall."""
        for file in self._plan.files:
            target = self._target(file)
            if target != file.present and not is_alike(file.present, target):
                self._targets[file.path] = PathTarget(file.present, target)
        self._check_present()
        for path in sorted(self._targets):
            if self._targets[path].state is not None:
                self._check_parents(path)
        for path in sorted(self._targets, key=lambda path: path.count("/"), reverse=True):
            self._check_emptied(path)
        return self._targets

    def _target(self, file: PlannedFile) -> FileState | None:
        choice = self._choices.get(file.path)
        if choice in ("former", "merged") and file.status == "blocked":
            raise refused(text("{file} can't be reverted.", file=file.path), paths=(file.path,))
        if choice == "merged" and file.merged is None:
            raise refused(text("{file} isn't merged yet.", file=file.path), paths=(file.path,))
        return self._plan.target(file, self._choices)

    def _check_present(self) -> None:
        """Refuse if anything is not what was planned for, or may change any moment."""
        refuse_busy(self._tree, self._targets)
        changed = tuple(
            path
            for path, target in self._targets.items()
            if not is_alike(self._reader.read(path, target.present).state, target.present)
        )
        if changed:
            raise refused_by_change(changed)

    def _check_parents(self, path: str) -> None:
        """See that all folders above a path will be there."""
        mode = 0o755
        for parent in parents_of(path):
            target = self._targets.get(parent)
            if target is not None and target.state is None and is_folder(target.present):
                del self._targets[parent]  # something comes into it, so it stays
                target = None
            state = target.state if target is not None else self._folder_state(parent)
            if state is None and target is None:
                state = FileState("folder", mode=mode)  # it vanished: as the one it was in
                self._targets[parent] = PathTarget(None, state)
            if not is_folder(state):
                raise refused(
                    text("{folder} isn't a folder, and {file} would be in it.", folder=parent, file=path),
                    paths=(path,),
                )
            assert state is not None
            mode = state.mode

    def _folder_state(self, path: str) -> FileState | None:
        if path not in self._folder_states:
            self._folder_states[path] = self._reader.read(path).state
        return self._folder_states[path]

    def _check_emptied(self, path: str) -> None:
        """Let a folder stay in which something stays."""
        present, target = self._targets[path]
        if not is_folder(present) or is_folder(target):
            return
        stays = [
            name
            for name in self._folders.open(path).names()
            if (entry := self._targets.get(f"{path}/{name}")) is None or entry.state is not None
        ]
        if not stays:
            return
        if target is not None:
            raise refused(
                text("{folder} isn't empty: {name} is in it.", folder=path, name=stays[0]), paths=(path,)
            )
        del self._targets[path]


def refuse_busy(tree: RevertTree, paths: Iterable[str]) -> None:
    """Refuse if a call is running that may change one of the paths. Raises RevertRefused."""
    busy = tuple(path for path in paths if tree.is_busy(path))
    if busy:
        raise refused(
            text("A command is running that may change {file}.", file=busy[0]),
            text("Wait until it ends, or stop it."),
            busy,
        )
