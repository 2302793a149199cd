/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzzctl doctor: what holds on this host, a line each; where it does not, what that means and what mends it. Looks and
 * tries for itself and needs no daemon; leaves nothing behind.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/exitcode.h"
#include "base/parse.h"
#include "ctl/cmd.h"
#include "ctl/doctor.h"

static const char *const level_names[] = {
    [DOCTOR_OK] = "ok", [DOCTOR_WARN] = "warn", [DOCTOR_BAD] = "bad"};

void doctor_add(struct doctor *d, enum doctor_level level, const char *name, const char *means,
                const char *mend, const char *fmt, ...)
{
    cleanup_free char *safe = NULL;
    char *text = NULL;
    size_t size;
    va_list ap;

    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        text = xstrdup("");
    va_end(ap);
    /* Paths and words of other programs are in it. */
    size = 4 * strlen(text) + 1;
    safe = xmalloc(size);
    text_printable(safe, size, text);
    free(text);
    json_array_append_new(d->checks,
                          json_pack("{s:s, s:s, s:s, s:s, s:s}", "name", name, "level",
                                    level_names[level], "text", safe, "means",
                                    means != NULL ? means : "", "mend", mend != NULL ? mend : ""));
    d->bad += level == DOCTOR_BAD;
}

static void print_text(const struct doctor *d, const struct cmd_env *env)
{
    const json_t *j;
    size_t i;

    json_array_foreach (d->checks, i, j) {
        const char *level = json_string_value(json_object_get(j, "level"));
        const char *means = json_string_value(json_object_get(j, "means"));
        const char *mend = json_string_value(json_object_get(j, "mend"));

        if (env->quiet && strcmp(level, "ok") == 0)
            continue;
        (void)printf("%-4s  %-15s %s\n", level, json_string_value(json_object_get(j, "name")),
                     json_string_value(json_object_get(j, "text")));
        if (*means != '\0')
            (void)printf("      %-15s %s\n", "", means);
        if (*mend != '\0')
            (void)printf("      %-15s mend: %s\n", "", mend);
    }
}

static int doctor_exec(struct cmd_env *env, int argc, char **argv)
{
    struct doctor d = {.state_dir = env->state_dir, .checks = json_array()};
    int code = cmd_plain(&cmd_doctor, NULL, argc, argv, (const char *const[]){NULL}, 0);

    if (code == EXIT_DONE && env->state_dir == NULL)
        code = cmd_state_check(env);
    if (code != EXIT_DONE) {
        json_decref(d.checks);
        return code;
    }
    doctor_isolation(&d);
    doctor_host(&d);
    if (env->json) {
        json_t *j =
            json_pack("{s:i, s:b, s:O}", "version", 1, "ok", (int)(d.bad == 0), "checks", d.checks);

        cmd_print_json(j);
        json_decref(j);
    } else {
        print_text(&d, env);
    }
    json_decref(d.checks);
    return d.bad == 0 ? EXIT_DONE : EXIT_ERROR;
}

const struct cmd_entry cmd_doctor = {
    .name = "doctor",
    .usage = "[--json]",
    .help = "what holds on this host, and how to mend what does not",
    .exec = doctor_exec,
    .stateless = true,
};
