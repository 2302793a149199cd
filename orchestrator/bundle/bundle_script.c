/* SPDX-License-Identifier: Apache-2.0 */
/*
 * repro.sh: the replay as a script that anybody can run and read. Every word that
 * comes from a spec, a program or an input passes shell_quote; nothing else of
 * theirs gets in. It decides by the same evidence as the triage did.
 */
#include "bundle/bundle_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/shell.h"
#include "triage/json_util.h"

#define FLAKY_TRIES     10
#define PATIENCE        10 /* times the time limit, where time is not the question */
#define PATIENCE_MIN_MS 10000

static const char head[] =
    "#!/bin/sh\n"
    "# Replays the input of this bundle and tells whether the failure shows.\n"
    "#\n"
    "#   sh repro.sh [BINARY [INPUT]]\n"
    "#\n"
    "# BINARY: another build of the target; else the one of the campaign. Exit code: 0 it\n"
    "# reproduced, 1 it did not, 2 the target is missing. What the target wrote to stderr\n"
    "# is shown on stderr.\n"
    "#\n"
    "# Quoted words are meant as they are; ulimit -c and -v are in every sh that is in use.\n"
    "# shellcheck disable=SC2016,SC3045\n"
    "set -u\n";

/* Runs in a folder of its own; the exit code of the target is left in rc, "timeout" in timed_out. */
static const char body[] =
    "\n"
    "here=$(cd \"$(dirname \"$0\")\" && pwd) || exit 2\n"
    "[ $# -ge 1 ] && binary=$1\n"
    "input=${2-$here/$input}\n"
    "case $binary in /*) ;; *) binary=$PWD/$binary ;; esac\n"
    "case $input in /*) ;; *) input=$PWD/$input ;; esac\n"
    "if [ ! -f \"$binary\" ] || [ ! -x \"$binary\" ]; then\n"
    "    printf 'target missing: %s\\n' \"$binary\"\n"
    "    exit 2\n"
    "fi\n"
    "if [ ! -f \"$input\" ]; then\n"
    "    printf 'input missing: %s\\n' \"$input\"\n"
    "    exit 2\n"
    "fi\n"
    "if [ -n \"$sha256\" ] && command -v sha256sum >/dev/null 2>&1; then\n"
    "    now=$(sha256sum <\"$binary\" | cut -d ' ' -f 1)\n"
    "    if [ \"$now\" != \"$sha256\" ]; then\n"
    "        printf 'warning: %s is not the build of the campaign (sha256 %s, was %s)\\n' \\\n"
    "            \"$binary\" \"$now\" \"$sha256\" >&2\n"
    "    fi\n"
    "fi\n"
    "\n"
    "tmp=$(mktemp -d) || exit 2\n"
    "trap 'rm -rf \"$tmp\"' EXIT\n"
    "trap 'exit 130' INT TERM HUP\n"
    "mkdir \"$tmp/cwd\" && cp \"$input\" \"$tmp/input\" && cd \"$tmp/cwd\" || exit 2\n"
    "# env takes every word with a = for a variable, a path too.\n"
    "case $binary in *=*)\n"
    "    ln -s \"$binary\" \"$tmp/target\" || exit 2\n"
    "    binary=$tmp/target\n"
    "    ;;\n"
    "esac\n"
    "\n"
    "# A sanitizer's shadow needs all of the address space: under the limit it would end in an\n"
    "# abort of its own, whatever the input.\n"
    "if grep -qa -e '__[amt]san_init' \"$binary\"; then address_space_kb=0; fi\n"
    "\n"
    "# Ends what is below $1 and has had more than memory_kb in use, and notes it.\n"
    "below() {\n"
    "    list=\n"
    "    { read -r list <\"/proc/$1/task/$1/children\"; } 2>/dev/null\n"
    "    for child in $list; do\n"
    "        kb=$(sed -n 's/^VmHWM:[^0-9]*\\([0-9]*\\).*/\\1/p' \"/proc/$child/status\" "
    "2>/dev/null)\n"
    "        if [ \"${kb:-0}\" -gt \"$memory_kb\" ]; then\n"
    "            : >\"$tmp/over\"\n"
    "            kill -9 \"$child\" 2>/dev/null\n"
    "        fi\n"
    "        below \"$child\"\n"
    "    done\n"
    "}\n"
    "\n"
    "once() {\n"
    "    (\n"
    "        ulimit -c 0 2>/dev/null\n"
    "        [ \"$address_space_kb\" -gt 0 ] && ulimit -v \"$address_space_kb\"\n"
    "        run_target \"$tmp/input\"\n"
    "    ) 2>\"$tmp/err\" &\n"
    "    run=$!\n"
    "    while [ \"$memory_kb\" -gt 0 ] && kill -0 \"$run\" 2>/dev/null; do\n"
    "        below \"$run\"\n"
    "    done\n"
    "    wait \"$run\" 2>/dev/null\n"
    "}\n"
    "\n"
    "# True when the run that ended with code $1 shows the failure.\n"
    "shows() {\n"
    "    case $evidence in\n"
    "    kit) [ \"$1\" -ne 0 ] && grep -a '^FZ-FAIL ' \"$tmp/err\" | grep -qF -e \"$marker\" ;;\n"
    "    sanitizer | libc)\n"
    "        if [ -n \"$marker\" ]; then\n"
    "            [ \"$1\" -ne 0 ] && grep -aqF -e \"$marker\" \"$tmp/err\"\n"
    "        else\n"
    "            [ \"$1\" -eq \"$((128 + signal))\" ]\n"
    "        fi\n"
    "        ;;\n"
    "    timeout) [ \"$1\" -eq 124 ] || { [ \"$1\" -eq 137 ] && [ \"$took_s\" -ge \"$limit_s\" ]; "
    "} ;;\n"
    "    memory) [ -e \"$tmp/over\" ] ;;\n"
    "    exit) [ \"$1\" -eq \"$marker\" ] ;;\n"
    "    signal) [ \"$1\" -eq \"$((128 + signal))\" ] ;;\n"
    "    parent) [ \"$1\" -eq 124 ] || [ \"$1\" -gt 128 ] ;;\n"
    "    *) [ \"$1\" -gt 128 ] ;;\n"
    "    esac\n"
    "}\n"
    "\n"
    "n=0\n"
    "while [ \"$n\" -lt \"$tries\" ]; do\n"
    "    n=$((n + 1))\n"
    "    began_s=$(date +%s)\n"
    "    once\n"
    "    rc=$?\n"
    "    took_s=$(($(date +%s) - began_s))\n"
    "    if shows \"$rc\"; then\n"
    "        head -c 65536 \"$tmp/err\" >&2\n"
    "        printf 'reproduced: %s (exit code %s, run %s)\\n' \"$what\" \"$rc\" \"$n\"\n"
    "        exit 0\n"
    "    fi\n"
    "done\n"
    "head -c 65536 \"$tmp/err\" >&2\n"
    "printf 'not reproduced: %s (exit code %s, run %s)\\n' \"$what\" \"$rc\" \"$n\"\n"
    "exit 1\n";

static void assign(FILE *out, const char *name, const char *value)
{
    (void)fprintf(out, "%s=", name);
    if (value[0] == '\0')
        (void)fputs("''", out);
    else
        shell_quote(out, value);
    (void)putc('\n', out);
}

/* An argument with each @@ replaced by the input. */
static void argument(FILE *out, const char *arg)
{
    const char *at;

    (void)putc(' ', out);
    if (strstr(arg, "@@") == NULL) {
        shell_quote(out, arg);
        return;
    }
    while ((at = strstr(arg, "@@")) != NULL) {
        char *part = xstrndup(arg, (size_t)(at - arg));

        if (part[0] != '\0')
            shell_quote(out, part);
        (void)fputs("\"$1\"", out);
        free(part);
        arg = at + 2;
    }
    if (arg[0] != '\0')
        shell_quote(out, arg);
}

/* run_target INPUT: the exact environment, arguments and limits of the replay. */
static void runner(FILE *out, const json_t *replay, int64_t limit_ms, bool parent)
{
    struct strv args = {0}, env = {0};

    json_strv_get(replay, "args", 65536, &args);
    json_strv_get(replay, "env", 65536, &env);
    (void)fputs("run_target() {\n    timeout -k 1 ", out);
    (void)fprintf(out, "%" PRId64 ".%03d \\\n", limit_ms / 1000, (int)(limit_ms % 1000));
    /* It does away with its parent, which is not to be the one that holds the limit. */
    if (parent)
        (void)fputs("        sh -c '\"$@\"; exit $?' sh \\\n", out);
    (void)fputs("        env -i PATH=\"$PATH\" HOME=\"$tmp/cwd\" TMPDIR=\"$tmp/cwd\"", out);
    for (size_t i = 0; i < env.n; i++) {
        (void)fputs(" \\\n        ", out);
        shell_quote(out, env.v[i]);
    }
    (void)fputs(" \\\n        \"$binary\"", out);
    for (size_t i = 0; i < args.n; i++)
        argument(out, args.v[i]);
    (void)fprintf(out, " <%s >/dev/null\n}\n", json_flag(replay, "stdin") ? "\"$1\"" : "/dev/null");
    strv_clear(&args);
    strv_clear(&env);
}

/* The hash of the program the replay names; "" unknown. */
static const char *program_sha256(const json_t *manifest, const char *path)
{
    const json_t *list = json_object_get(manifest, "programs"), *p;
    size_t i;

    json_array_foreach (list, i, p) {
        if (strcmp(json_str(p, "path", ""), path) == 0)
            return json_str(p, "sha256", "");
    }
    return "";
}

char *bundle_script(const json_t *manifest)
{
    const json_t *replay = json_object_get(manifest, "replay");
    const json_t *expect = json_object_get(manifest, "expect");
    const char *path = json_str(replay, "path", ""),
               *evidence = json_str(expect, "evidence", "none");
    const char *class_ = json_str(manifest, "class", "");
    bool timeout = strcmp(json_str(expect, "class", ""), "timeout") == 0;
    /* By what it used, not by what it was refused: the replay had room over the limit. */
    bool memory = strcmp(json_str(expect, "class", ""), "oom") == 0 &&
                  strcmp(evidence, "limit") == 0 && !json_flag(replay, "address_space_limit") &&
                  !json_flag(replay, "sanitizer");
    int64_t limit_ms = json_int(replay, "timeout_ms", 1000);
    int64_t memory_bytes = json_int(replay, "memory_bytes", 0), kb = memory_bytes / 1024;
    char *text = NULL, *what, number[32];
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (out == NULL)
        abort();
    if (!timeout)
        limit_ms = limit_ms * PATIENCE > PATIENCE_MIN_MS ? limit_ms * PATIENCE : PATIENCE_MIN_MS;
    (void)fputs(head, out);
    (void)putc('\n', out);
    assign(out, "binary", path);
    assign(out, "sha256", program_sha256(manifest, path));
    assign(out, "input", json_string_value(json_array_get(json_object_get(manifest, "inputs"), 0)));
    /* Signatures of the harness begin with their class. */
    if (strncmp(json_str(manifest, "signature", ""), class_, strlen(class_)) == 0)
        what = xstrdup(json_str(manifest, "signature", ""));
    else
        what = xasprintf("%s %s", class_, json_str(manifest, "signature", ""));
    assign(out, "what", what);
    free(what);
    if (timeout)
        evidence = "timeout";
    else if (memory)
        evidence = "memory";
    else if (strcmp(evidence, "limit") == 0)
        evidence = "signal";
    assign(out, "evidence", evidence);
    assign(out, "marker", json_str(expect, "marker", ""));
    (void)snprintf(number, sizeof(number), "%" PRId64, json_int(expect, "signal", 0));
    assign(out, "signal", number);
    (void)snprintf(number, sizeof(number), "%" PRId64, limit_ms / 1000);
    assign(out, "limit_s", number);
    (void)snprintf(number, sizeof(number), "%" PRId64,
                   json_flag(replay, "address_space_limit") ? kb : 0);
    assign(out, "address_space_kb", number);
    (void)snprintf(number, sizeof(number), "%" PRId64, memory ? kb : 0);
    assign(out, "memory_kb", number);
    /* A short peak may fall between two looks. */
    (void)snprintf(number, sizeof(number), "%d",
                   strcmp(class_, "flaky") == 0 || memory ? FLAKY_TRIES : 1);
    assign(out, "tries", number);
    (void)putc('\n', out);
    runner(out, replay, limit_ms, strcmp(evidence, "parent") == 0);
    (void)fputs(body, out);
    if (fclose(out) != 0)
        abort();
    return text;
}
