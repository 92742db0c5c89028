#!/bin/sh
# Installs what DIST holds on this machine, proves it as a plain user without a display, and removes it again.
# For a throw-away system: it adds a user, installs and removes packages. Usage: try-linux.sh DIST
set -eu
dist=$(cd "${1:?Usage: try-linux.sh DIST}" && pwd)
[ "$(id -u)" = 0 ] || { echo "try-linux: needs root: it installs a package." >&2; exit 1; }
id trier > /dev/null 2>&1 || useradd --create-home trier

as_trier() {
    runuser -u trier -- env -i HOME=/home/trier PATH=/usr/bin:/bin LANG=C.UTF-8 QT_QPA_PLATFORM=offscreen "$@"
}

if command -v apt-get > /dev/null; then
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$dist"/*.deb
else
    dnf install -y -q "$dist"/*.rpm
fi
as_trier helix-desktop --version
as_trier helix-desktop self-check
as_trier helix-desktop demo --out /home/trier/demo
[ -n "$(find /home/trier/demo -name '*.png' -size +10k)" ] || { echo "try-linux: the demo made no pictures" >&2; exit 1; }

if command -v apt-get > /dev/null; then
    apt-get purge -y -qq helix-desktop
else
    dnf remove -y -q helix-desktop
fi
if command -v helix-desktop > /dev/null; then echo "try-linux: the program is still there" >&2; exit 1; fi

# An AppImage needs nothing but itself; in a container without FUSE it unpacks itself first.
for image in "$dist"/*.AppImage; do
    [ -f "$image" ] || continue
    install -m 755 "$image" /home/trier/helix.AppImage
    as_trier /home/trier/helix.AppImage --appimage-extract-and-run self-check
done
echo "try-linux: installed, proved and removed"
