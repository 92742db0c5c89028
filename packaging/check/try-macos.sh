#!/bin/sh
# Opens a disk image, has the app in it prove itself from there (a place that cannot be written), and closes it again.
# Usage: try-macos.sh IMAGE
set -eu
image=${1:?Usage: try-macos.sh IMAGE}
place=$(mktemp -d)
hdiutil attach -quiet -nobrowse -readonly -mountpoint "$place/volume" "$image"
trap 'hdiutil detach -quiet "$place/volume" || hdiutil detach -force "$place/volume"' EXIT
app="$place/volume/Helix Desktop.app"
[ -L "$place/volume/Applications" ] || { echo "try-macos: no link to Applications in the image" >&2; exit 1; }
plutil -lint "$app/Contents/Info.plist"
codesign --verify --deep --strict --verbose=2 "$app"
# What a person's Mac says of it: accepted, or why not. Unsigned images are made too, so it only tells.
spctl --assess --type execute --verbose=2 "$app" || echo "try-macos: macOS warns of this app when it is opened"
program="$app/Contents/MacOS/helix-desktop"
HELIX_DATA_DIR="$place/data"
export HELIX_DATA_DIR
"$program" --version
QT_QPA_PLATFORM=offscreen "$program" self-check
# The guided demo to its end: it only tells.
"$program" demo --out "$place/demo" > /dev/null || echo "try-macos: the guided demo fails here"
echo "try-macos: opened, proved and closed"
