"""What the macOS bundle says about itself: the keys of its Info.plist, read by packaging/frozen's spec."""

from __future__ import annotations

import platform
import re

NAME = "Helix Desktop"
IDENTIFIER = "org.helixdesktop.HelixDesktop"
PROGRAM = "helix-desktop"
SCHEME = "helix"
SUFFIX = "helix"
FILE_TYPE = "org.helixdesktop.workspace"
MIME_TYPE = "application/x-helix-workspace"
# What the files of PySide6 6.11.3 ask for (Qt alone: 13), and the oldest macOS that the workflow can try.
# macos/macho.py holds every file of the bundle to it.
MINIMUM_SYSTEM = "15.0"

Plist = dict[str, object]


def info_plist(version: str, commit: str = "") -> Plist:
    """Give the keys for `BUNDLE(info_plist=…)`; the spec adds name, icon and identifier from here as well."""
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
        "NSHumanReadableCopyright": "Copyright © 2026 The Helix Desktop authors. MIT licence.",
        "NSPrincipalClass": "NSApplication",
        "NSHighResolutionCapable": True,
        # False means: follow the system into its dark appearance.
        "NSRequiresAquaSystemAppearance": False,
        "NSSupportsAutomaticGraphicsSwitching": True,
        **_links_and_files(),
        **_reasons(),
    }


def numeric(version: str) -> str:
    """Give the numbers of a version, which is all that macOS takes. Raises ValueError."""
    match = re.match(r"\d+\.\d+\.\d+(?=$|[a-z.+-])", version)
    if not match:
        raise ValueError(f"{version!r} is no version like 1.2.3; macOS compares three numbers.")
    return match.group()


def target_arch() -> str:
    """Give the architecture to build for; naming it makes PyInstaller take that half of the wheels' files."""
    return platform.machine()


def _links_and_files() -> Plist:
    """Say that `helix:` links and `.helix` files are ours."""
    return {
        "CFBundleURLTypes": [
            {
                "CFBundleURLName": IDENTIFIER,
                "CFBundleURLSchemes": [SCHEME],
                "CFBundleTypeRole": "Viewer",
            }
        ],
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
                "UTTypeDescription": "Exported workspace of Helix Desktop",
                "UTTypeConformsTo": ["public.data"],
                "UTTypeTagSpecification": {
                    "public.filename-extension": [SUFFIX],
                    "public.mime-type": [MIME_TYPE],
                },
            }
        ],
    }


def _reasons() -> Plist:
    """Say why, where macOS asks the person on the app's behalf."""
    folder = "The agent works in project folders that you open and trust."
    return {
        "NSDesktopFolderUsageDescription": folder,
        "NSDocumentsFolderUsageDescription": folder,
        "NSDownloadsFolderUsageDescription": folder,
        "NSNetworkVolumesUsageDescription": folder,
        "NSRemovableVolumesUsageDescription": folder,
        "NSLocalNetworkUsageDescription": "The model and MCP servers that you name may be in your network.",
    }
