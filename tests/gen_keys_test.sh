#!/bin/bash
# What our own specs declare: key counts an op against tests/golden, buckets
# complete and without overlap by arithmetic of their own (gen_keys.py), and
# the planner's keys of random calls.
source tests/gen_lib.sh
"$kiln" keys --tier cpu >"$work/keys"
# After a change of specs that is meant, the new counts are what this prints as
# found.
check "key counts an op and dtypes; softmax at least 300 a dtype" \
    python3 tests/gen_keys.py counts tests/golden/key_counts.tsv <"$work/keys"
check "each size within limits falls into one key of its group" \
    python3 tests/gen_keys.py ladders spec <"$work/keys"
calls()
{
    python3 tests/gen_keys.py calls spec 4 <"$work/keys" >"$work/calls" &&
        [ "$(wc -l <"$work/calls")" -eq 4 ]
}
check "random calls" calls
while IFS=$'\t' read -r call key; do
    says "explain $call" 3 "key $key" "serves M=" -- \
        sh -c "'$kiln' explain --tier cpu --ops softmax '$call'
               s=\$?; test \$s -eq 0 && s=3; exit \$s"
done <"$work/calls"
