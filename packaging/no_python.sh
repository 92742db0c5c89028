# shellcheck shell=sh disable=SC2154 # read by ./helix, which knows $root
# Read by ./helix where no Python fits: names in one line all that is to be installed, and installs it as root where
# there is apt. The shell's own words do everything that has to work anywhere: no other program need be there.

known_pythons() { # of this system: $manager, and $pythons, the packages
    manager='' pythons=''
    ID='' ID_LIKE='' VERSION_ID=''
    # shellcheck disable=SC1090,SC1091
    [ ! -r "${HELIX_OS_RELEASE:-/etc/os-release}" ] || . "${HELIX_OS_RELEASE:-/etc/os-release}"
    version=$VERSION_ID
    for name in $ID $ID_LIKE; do
        while read -r id at how what; do
            if [ "$id" = "$name" ] && { [ "$at" = "$version" ] || [ "$at" = '*' ]; }; then
                manager=$how pythons=$what
                return
            fi
        done < "$root/packaging/system-pythons.txt"
        version='' # of this system alone, not of those it is like
    done
}

needed_packages() { # of the command $1: $packages, as this system's manager calls them
    packages='' all=''
    case $1 in
        run | screenshots | bench | doctor) all='offscreen' ;;
        test | test-peers | soak) all='offscreen x11 test' ;;
    esac
    [ -z "$all" ] || all="$all${DISPLAY:+ x11}${WAYLAND_DISPLAY:+ wayland}"
    while read -r when what debian arch; do
        case " $all " in *" $when "*) ;; *) continue ;; esac
        case $manager:$what in
            apt:*) name=$debian ;;
            pacman:*) name=$arch ;;
            *:lib*) name="'$what()(64bit)'" ;;
            *:/*) name=$what ;;
            *) name=/usr/bin/$what ;;
        esac
        case " $packages " in *" $name "*) ;; *) packages="$packages $name" ;; esac
    done < "$root/packaging/system-packages.txt"
}

python_version() { "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || :; }

say() { echo "helix: $*" >&2; }

none_known() {
    say "Python 3.11, 3.12 or 3.13 with venv is required; $1. Install 3.12 with uv (uv python install 3.12) or pyenv; or" \
        "install the app itself, which includes its own Python (packaging/README.md)."
    exit 1
}

# $1: a Python that fits but lacks venv or pip, if there is one; $2: the command. Comes back if it could install.
no_python() {
    known_pythons
    [ -z "$1" ] || [ "$manager" != apt ] || pythons="python$(python_version "$1")-venv${pythons##*python3-venv}"
    there=$(python_version python3)
    case "$1:$pythons" in
        :python3\ *) [ -z "$there" ] || none_known "the system has $there" ;;
        :) none_known "none was found, and no package for this system is known" ;;
    esac
    needed_packages "$2"
    why='no suitable Python was found'
    [ -z "$1" ] || why="$1 lacks venv or pip"
    line=''
    case $manager in
        apt) line="apt-get install -y --no-install-recommends $pythons$packages" ;;
        dnf) line="dnf install -y $pythons$packages" ;;
        zypper) line="zypper --non-interactive install $pythons$packages" ;;
        pacman) line="pacman -S --needed --noconfirm $pythons$packages && uv python install 3.12" ;;
        *) none_known "$why" ;;
    esac
    sudo='sudo '
    [ "$(id -u 2>/dev/null)" != 0 ] || sudo=''
    if [ "$manager:$sudo" != apt: ] || [ "$2" = doctor ] || ! command -v apt-get >/dev/null; then
        say "$why. Install it, then run this again:  $sudo$line"
        exit 1
    fi
    say "$why; installing with apt: $pythons$packages"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq -o DPkg::Lock::Timeout=300 >&2 || :
    # shellcheck disable=SC2086
    if ! said=$($line -qq -o DPkg::Lock::Timeout=300 2>&1); then
        say "$said"
        say "The installation failed. Run it yourself, then run this again:  $line"
        exit 1
    fi
}
