#!/bin/sh
# Installs what building and testing kiln needs, on Debian 12 and Ubuntu 24.04,
# and says what it did. `make deps` runs it; nothing is looked up or
# downloaded when all is there.
# shellcheck disable=SC2086 # lists of names are meant to be split
set -eu

# For the library: a C compiler and make. For the generator: Lua and libyaml.
# The rest is for tests and for `make lint`.
packages="
build-essential
pkg-config
lua5.4 liblua5.4-dev
libyaml-dev
libcmocka-dev
clang libclang-rt-dev clang-format lua-check
cmake
python3
strace
"

is_installed()
{
    state=$(dpkg-query -W -f '${Status}' "$1" 2>/dev/null) || return 1
    [ "$state" = "install ok installed" ]
}

if ! command -v apt-get >/dev/null 2>&1; then
    echo "deps: apt-get is not here; install the like of:" $packages >&2
    exit 1
fi

missing=
for package in $packages; do
    is_installed "$package" || missing="$missing $package"
done
if [ -z "$missing" ]; then
    echo "deps: all installed, nothing done"
    exit 0
fi

root=
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        echo "deps: not root and no sudo; as root, run:" >&2
        echo "  apt-get install$missing" >&2
        exit 1
    fi
    root=sudo
fi

apt()
{
    $root env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
        -o DPkg::Lock::Timeout=300 "$@" </dev/null
}

echo "deps: installing$missing"
apt update
apt install --no-install-recommends $missing
echo "deps: installed$missing"
