"""What the macOS bundle declares: the keys of its Info.plist, read by packaging/frozen's spec."""

from __future__ import annotations

import platform
import re

NAME = "Helix Desktop"
IDENTIFIER = "org.helixdesktop.HelixDesktop"
PROGRAM = "helix-desktop"
SUFFIX = "helix"
FILE_TYPE = "org.helixdesktop.workspace"
MIME_TYPE = "application/x-helix-workspace"
# What the files of PySide6 6.11.3 require (Qt alone: 13), and the oldest macOS that the workflow can test.
# macos/macho.py checks every file of the bundle against it.
MINIMUM_SYSTEM = "15.0"

Plist = dict[str, object]


def info_plist(version: str, commit: str = "") -> Plist:
    """Return the keys for `BUNDLE(info_plist=…)`; the spec adds name, icon and identifier from here, too."""
    numbers = numeric(version)
    return {
        "CFBundleDevelopmentRegion": "en",
        "CFBundleDisplayName": NAME,
        "CFBundleName": NAME,
        "CFBundleIdentifier": IDENTIFIER,
        "CFBundleShortVersionString": numbers,
        "CFBundleVersion": numbers,
        "CFBundleGetInfoString": f"{NAME} {version}{f' ({commit[:12]})' if commit else ''}",
        "LSMinimumSystemVersion": MINIMUM_SYSTEM,
        "LSApplicationCategoryType": "public.app-category.developer-tools",
        "NSHumanReadableCopyright": "Copyright © 2026 The Helix Desktop authors. MIT License.",
        "NSPrincipalClass": "NSApplication",
        "NSHighResolutionCapable": True,
        # False means: follow the system into its dark appearance.
        "NSRequiresAquaSystemAppearance": False,
        "NSSupportsAutomaticGraphicsSwitching": True,
        **_files(),
        **_reasons(),
    }


def numeric(version: str) -> str:
    """Return the numbers of a version, which is all that macOS accepts. Raise ValueError."""
    match = re.match(r"\d+\.\d+\.\d+(?=$|[a-z.+-])", version)
    if not match:
        raise ValueError(f"{version!r} is no version like 1.2.3; macOS compares three numbers.")
    return match.group()


def target_arch() -> str:
    """Return the architecture to build for; PyInstaller then takes that half of the wheels' files."""
    return platform.machine()


def _files() -> Plist:
    """Say that `.helix` files are ours."""
    return {
        "CFBundleDocumentTypes": [
            {
                "CFBundleTypeName": "Exported workspace",
                "CFBundleTypeRole": "Viewer",
                "LSHandlerRank": "Owner",
                "LSItemContentTypes": [FILE_TYPE],
            }
        ],
        "UTExportedTypeDeclarations": [
            {
                "UTTypeIdentifier": FILE_TYPE,
                "UTTypeDescription": "Helix Desktop exported workspace",
                "UTTypeConformsTo": ["public.data"],
                "UTTypeTagSpecification": {
                    "public.filename-extension": [SUFFIX],
                    "public.mime-type": [MIME_TYPE],
                },
            }
        ],
    }


def _reasons() -> Plist:
    """Return the reasons for which macOS asks the user on the app's behalf."""
    folder = "The agent works in project folders that you open and trust."
    return {
        "NSDesktopFolderUsageDescription": folder,
        "NSDocumentsFolderUsageDescription": folder,
        "NSDownloadsFolderUsageDescription": folder,
        "NSNetworkVolumesUsageDescription": folder,
        "NSRemovableVolumesUsageDescription": folder,
        "NSLocalNetworkUsageDescription": "Model and MCP servers that you add may be in your network.",
    }
