#!/bin/bash
# Installs kiln, once into a path with a space and once staged by DESTDIR, and
# builds and runs README.md's example against it: by pkg-config, statically,
# and by CMake. What the libraries export is looked at as well.
set -u -o pipefail
build=${BUILD:-build}
cc=${CC:-cc}
work=$(mktemp -d "${TMPDIR:-/tmp}/kiln install XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT

# check NAME COMMAND...: one line of result.
check()
{
    local name=$1
    shift
    if "$@"; then echo "ok $name"; else echo "not ok $name"; fi
}

# The example is README.md's first C block that creates a context.
example()
{
    awk '/^```c$/ { inside = 1; text = ""; next }
         /^```/   { if (inside && text ~ /kiln_context_create/) {
                        printf "%s", text; exit }
                    inside = 0 }
         inside   { text = text $0 "\n" }' README.md >"$work/example.c"
    [ -s "$work/example.c" ]
}

install_into()
{
    make -s --no-print-directory BUILD="$build" CC="$cc" install "$@"
}

# Names that a library defines for others to link with, but for kiln_ ones.
strangers()
{
    nm "$@" --defined-only | awk '$3 != "" && $3 !~ /^kiln_/ { print $3 }'
}
exports_kiln_only()
{
    local found
    found=$(strangers "$@") || return 1
    [ -z "$found" ] || { echo "exported: $found"; return 1; }
}
exports_all_of_header()
{
    grep -v '^typedef' runtime/kiln.h | grep -o 'kiln_[a-z_]*(' |
        tr -d '(' | sort -u >"$work/declared"
    nm -D --defined-only "$1" | awk '{ print $3 }' | sort -u >"$work/exported"
    [ -s "$work/declared" ] && diff "$work/declared" "$work/exported"
}

# pkg-config quotes a space in a path for the shell: hence eval.
by_pkg_config()
{
    local flags
    flags=$(pkg-config --cflags --libs "$@" kiln) || return 1
    eval "$cc -std=c11 -Wall -Wextra -Werror -o \"\$work/example\"" \
        "\"\$work/example.c\" $flags"
}
runs_shared()
{
    LD_LIBRARY_PATH=$1 "$work/example" >"$work/result" &&
        [ -s "$work/result" ] && cat "$work/result"
}

by_archive()
{
    "$cc" -std=c11 -Wall -Wextra -Werror -o "$work/example_static" \
        -I"$1/include/kiln" "$work/example.c" "$1/lib/libkiln.a" \
        -lm -pthread && "$work/example_static"
}

by_cmake()
{
    mkdir -p "$work/project"
    cp "$work/example.c" "$work/project"
    cat >"$work/project/CMakeLists.txt" <<'EOF'
cmake_minimum_required(VERSION 3.13)
project(example C)
set(CMAKE_C_STANDARD 11)
find_package(kiln REQUIRED)
add_executable(shared example.c)
target_link_libraries(shared PRIVATE kiln::kiln)
add_executable(static example.c)
target_link_libraries(static PRIVATE kiln::kiln_static)
EOF
    rm -rf "$work/project/build"
    cmake -S "$work/project" -B "$work/project/build" \
        -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$1" &&
        env -u MAKEFLAGS cmake --build "$work/project/build" &&
        "$work/project/build/shared" && "$work/project/build/static"
}

check "README.md holds an example" example
prefix="$work/a prefix"
check "install into a path with a space" install_into PREFIX="$prefix"
check "libkiln.so exports kiln_ only" \
    exports_kiln_only -D "$prefix/lib/libkiln.so"
check "libkiln.a exports kiln_ only" exports_kiln_only -g \
    "$prefix/lib/libkiln.a"
check "libkiln.so exports all of kiln.h and no more" \
    exports_all_of_header "$prefix/lib/libkiln.so"
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
check "the example builds by pkg-config" by_pkg_config
check "the example runs" runs_shared "$prefix/lib"
check "the example links statically and runs" by_archive "$prefix"
check "the example builds and runs by CMake" by_cmake "$prefix"

stage="$work/stage"
check "install by DESTDIR" install_into DESTDIR="$stage" PREFIX=/opt/kiln
check "only PREFIX is written" test "$(ls "$stage")" = opt
export PKG_CONFIG_PATH="$stage/opt/kiln/lib/pkgconfig"
export PKG_CONFIG_SYSROOT_DIR=$stage
check "the example builds by pkg-config, staged" by_pkg_config
check "the example runs, staged" runs_shared "$stage/opt/kiln/lib"
unset PKG_CONFIG_SYSROOT_DIR
check "the example builds and runs by CMake, staged" \
    by_cmake "$stage/opt/kiln"
