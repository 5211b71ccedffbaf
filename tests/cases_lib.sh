# cases_lib.sh: builds the program of tests/cases; its users source it after
# gen_lib.sh and after setting cc.
# shellcheck shell=bash disable=SC2154

# limits_header FOLDER OUT: the limits of each op and output dtype, as spec/op
# states them. A composite op has none: log_softmax is judged by softmax's.
limits_header()
{
    {
        echo '/* limits.h: from spec/op. */'
        echo 'static const struct {'
        echo '    const char *op, *dtype;'
        echo '    double ulp, abs, l2;'
        echo '} limit_rows[] = {'
        awk '
            function value(name,    at) {
                at = match($0, "[{ ]" name ": [-+.0-9e]+")
                return at ? substr($0, at + length(name) + 3,
                                   RLENGTH - length(name) - 3) : "-1"
            }
            FNR == 1 { within = 0 }
            /^op: /  { op = $2 }
            /^[a-z]/ { within = /^limits:/; next }
            within && /^  [a-z0-9]+: / {
                dtype = $1
                sub(":", "", dtype)
                row = dtype "\", " value("ulp") ", " value("abs") ", " \
                    value("l2") "},"
                print "    {\"" op "\", \"" row
                if (op == "softmax") print "    {\"log_softmax\", \"" row
            }' "$1"/op/*.yaml
        echo '};'
    } >"$2"
}

# cases_program LIBRARY PROGRAM FLAG...: the tests' own guard pages hear the
# truth where the library does not.
cases_program()
{
    local library=$1 program=$2 made=$2.made
    shift 2
    mkdir -p "$made"
    limits_header spec "$made/limits.h"
    "$cc" "$@" -std=c11 -g -Iruntime -Dsysconf=lie_not_sysconf -c \
        -o "$made/guard.o" tests/certify/guard.c &&
        "$cc" "$@" -std=c11 -g -Iruntime -I"$made" tests/cases/*.c \
            tests/truth/*.c tests/certify/{call,fill,judge}.c \
            "$made/guard.o" "$library" -lm -pthread -o "$program" \
            -Wl,--wrap=sysconf,--wrap=sched_getaffinity,--wrap=malloc
}
