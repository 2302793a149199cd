#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Layers of orchestrator/: a file includes headers of its own folder or of a folder of lower
# rank, spelt "folder/file.h". A folder of the same rank is a peer and may not be included.
# The mains may include anything, and a header of their own beside them. Also: a .c reads its
# own header first, no file is longer than 500 lines, and each begins with its SPDX line.
#
#   sh tests/lint/layers.sh [DIR]      DIR: another tree to look at (tests of this lint)

set -u
cd "${1:-.}" || exit 2

empty=$(find orchestrator -name '*.[ch]' -empty)
[ -z "$empty" ] || { echo "$empty: empty"; exit 1; }

# shellcheck disable=SC2016 # the $ are awk's
find orchestrator -name '*.[ch]' | sort | xargs awk '
function complain(text) { printf "%s:%d: %s\n", FILENAME, FNR, text; bad++ }

BEGIN {
    n = split("base 0 sys 1 spec 2 plan 3 store 4 farm 5 engine 5 triage 6 corpus 7 oracle 7 " \
              "bundle 8 report 9 ctl 10", word, " ")
    for (i = 1; i < n; i += 2)
        rank[word[i]] = word[i + 1]
}

FNR == 1 {
    if (file != "" && lines > 500)
        printf "%s: %d lines, the limit is 500\n", file, lines, bad++
    n = split(FILENAME, part, "/")
    folder = n > 2 ? part[2] : ""
    name = part[n]
    own = folder "/" part[n]
    sub(/\.c$/, ".h", own)
    is_c = FILENAME ~ /\.c$/
    has_own = folder != "" && is_c && (getline line < ("orchestrator/" own)) >= 0
    close("orchestrator/" own)
    first = 1
    if ($0 != "/* SPDX-License-Identifier: Apache-2.0 */")
        complain("the first line is not /* SPDX-License-Identifier: Apache-2.0 */")
    if (folder != "" && !(folder in rank))
        complain("folder " folder " has no rank")
}

{ file = FILENAME; lines = FNR }

/^[ \t]*#[ \t]*include/ {
    quoted = match($0, /"[^"]*"/)
    header = quoted ? substr($0, RSTART + 1, RLENGTH - 2) : ""
    if (first && has_own && header != own)
        complain("the first include is not \"" own "\"")
    first = 0
    if (!quoted)
        next
    n = split(header, part, "/")
    stem = substr(header, 1, length(header) - 2)
    # The parts of one main (fuzzd.c, fuzzd_serve.c) share a header beside them.
    if (folder == "" && n == 1 && index(name, stem) == 1)
        next
    # What a harness and the engine share belongs to the kit, which stands alone.
    if (header == "sdk/fz_ring.h" && folder == "engine")
        next
    if (n != 2 || !(part[1] in rank))
        complain("\"" header "\" is not spelt folder/file.h")
    else if (folder != "" && part[1] != folder && rank[part[1]] >= rank[folder])
        complain(sprintf("%s (rank %d) includes \"%s\" of %s (rank %d)", folder, rank[folder],
                         header, rank[part[1]] == rank[folder] ? "a peer" : "a higher layer",
                         rank[part[1]]))
}

END {
    if (lines > 500)
        printf "%s: %d lines, the limit is 500\n", file, lines, bad++
    exit bad > 0
}'
