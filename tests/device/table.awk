# table.awk: what a run judged, a row for each op, variant, dtypes, layout and
# tier. Reads a list of candidates, then the journal; fields apart by tabs.
# The last line is the sum; the exit status is 1 unless all passed.

# The value of a field of a flat JSON object, without its quotes.
function field(line, name,    at, rest, n)
{
    at = index(line, "\"" name "\":")
    if (!at)
        return ""
    rest = substr(line, at + length(name) + 3)
    if (substr(rest, 1, 1) != "\"") {
        match(rest, /^[^,}]*/)
        return substr(rest, 1, RLENGTH)
    }
    for (n = 2; substr(rest, n, 1) != "\""; n++)
        if (substr(rest, n, 1) == "\\")
            n++
    return substr(rest, 2, n - 2)
}

# The row of a symbol: op_variant_dtypes[_baked]_layout[_aALIGN][_config].
function row_of(op, symbol, tier,    words, n, i, variant, dtypes, layout)
{
    n = split(substr(symbol, length(op) + 2), words, "_")
    for (i = 1; i <= n && words[i] !~ dtype; i++)
        variant = variant (i > 1 ? "_" : "") words[i]
    for (; i <= n && words[i] ~ dtype; i++)
        dtypes = dtypes (dtypes == "" ? "" : ",") words[i]
    for (; i <= n && layout == ""; i++)
        if (words[i] ~ /^(contiguous|inner|general)$/)
            layout = words[i] (words[i + 1] ~ /^a[0-9]+$/ ? " " words[i + 1] : "")
    return op "\t" variant "\t" dtypes "\t" layout "\t" tier
}

BEGIN {
    FS = "\t"
    dtype = "^(bool|u8|[iu]16|[iu]32|[iu]64|i8|f16|bf16|f32|f64)$"
}

FNR == 1 { file++ }

file == 1 && $1 == "kernel" && (ops == "" || index("," ops ",", "," $6 ",")) {
    id = $2 "\t" $3 "\t" $4
    row[id] = row_of($6, $4, $2)
    if (!(row[id] in kernels))
        order[++n_rows] = row[id]
    kernels[row[id]]++
    calls[row[id]] += split($10, unused, ";")
}

file == 2 && field($0, "kind") == "kernel" {
    id = field($0, "tier") "\t" field($0, "isa") "\t" field($0, "kernel")
    if (!(id in row))
        next
    status = field($0, "status")
    if (status == "pass")
        passed[row[id]]++
    else
        failed[row[id]]++
    error = field($0, "error") + 0
    if (error > worst[row[id]])
        worst[row[id]] = error
}

END {
    line = "%-12s %-12s %-9s %-14s %-5s %7s %7s %9s  %s\n"
    printf line, "op", "variant", "dtype", "layout", "tier", "kernels", \
        "calls", "worst", "status"
    for (i = 1; i <= n_rows; i++) {
        r = order[i]
        split(r, f, "\t")
        lost = kernels[r] - passed[r] - failed[r]
        status = "pass"
        if (failed[r])
            status = failed[r] " FAILED"
        if (lost)
            status = (failed[r] ? status ", " : "") lost " NOT RUN"
        printf line, f[1], f[2], f[3], f[4], f[5], kernels[r], calls[r], \
            sprintf("%.3g", worst[r]), status
        good += passed[r]
        bad += failed[r] + lost
    }
    printf "%d passed, %d failed\n", good, bad
    exit bad > 0 || good == 0
}
