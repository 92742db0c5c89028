"""What stands for the user's names in a report: workspace 1, provider 1, model 1 of provider 1."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from helix_desktop.config.settings import Settings
from helix_desktop.providers.http import is_loopback
from helix_desktop.workspaces.registry import MAIN, WorkspaceRecord

_MIN_NAME = 3  # characters: in free text a shorter name would be found in words that mean something else


class ReportNames:
    """Names of workspaces, providers and models as a report shows them: as they are, or numbered."""

    def __init__(self, settings: Settings, records: Sequence[WorkspaceRecord], *, as_they_are: bool) -> None:
        self.as_they_are = as_they_are
        self._workspaces = {record.id: f"workspace {n}" for n, record in enumerate(records, 1)}
        self._providers = {entry.name: f"provider {n}" for n, entry in enumerate(settings.providers, 1)}
        self._models = {
            (entry.name, model.name): f"model {n}"
            for entry in settings.providers
            for n, model in enumerate(entry.models, 1)
        }
        self._settings, self._records = settings, records

    def workspace(self, record: WorkspaceRecord) -> str:
        """Return a workspace's name."""
        return record.name if self.as_they_are else self._workspaces[record.id]

    def provider(self, name: str) -> str:
        """Return a provider's name; of one that is not set up any more, that it is not."""
        return name if self.as_they_are else self._providers.get(name, "a provider that isn't set up")

    def model(self, provider: str, name: str) -> str:
        """Return a model's name."""
        return name if self.as_they_are else self._models.get((provider, name), "another model")

    def label(self, label: str) -> str:
        """Return the label PROVIDER/NAME of a model; what names none stays as it is."""
        provider, slash, model = label.partition("/")
        if not label or label == MAIN:
            return label
        return f"{self.provider(provider)}{slash}{self.model(provider, model) if model else ''}"

    def address(self, url: str) -> str:
        """Return an address without login, query and fragment; without names only if it is local."""
        parts = urlsplit(url)
        if not (self.as_they_are or is_loopback(url)):
            return f"{parts.scheme}://[host]"
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    def in_text(self) -> dict[str, str]:
        """Return what stands for names and places in free text, such as a log."""
        if self.as_they_are:
            return {}
        found: dict[str, str] = {}
        for entry in self._settings.providers:
            provider = self._providers[entry.name]
            host = "" if is_loopback(entry.base_url) else urlsplit(entry.base_url).hostname or ""
            found |= {host: f"host of {provider}", entry.name: provider}
            found |= {
                model.name: f"{self._models[entry.name, model.name]} of {provider}" for model in entry.models
            }
        for record in self._records:
            workspace = self._workspaces[record.id]
            servers = enumerate(record.servers, 1)
            found |= {server.name: f"MCP server {n} of {workspace}" for n, server in servers}
            found |= {record.name: workspace, record.path: f"[folder of {workspace}]"}
        return {name: other for name, other in found.items() if len(name) >= _MIN_NAME}
