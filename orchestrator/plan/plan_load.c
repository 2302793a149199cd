/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of a run as its folder keeps it. It is checked like one from a client: the folder may have been changed since. */
#include <errno.h>
#include <fcntl.h>

#include <jansson.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/path.h"
#include "plan/plan.h"

#define PLAN_MAX_BYTES (64 << 20)

/* The length of what comes before "/campaigns/NAME/RUN", 0 when it does not end so. */
static size_t state_part(const char *run_dir)
{
    size_t n = strlen(run_dir);

    for (int i = 0; i < 3 && n > 0; i++)
        while (n > 0 && run_dir[--n] != '/')
            ;
    return strncmp(run_dir + n, "/campaigns/", strlen("/campaigns/")) == 0 ? n : 0;
}

/* The same text with the folder was, at its begin or behind "NAME=", as is. Caller frees; NULL: it does not speak of it. */
static char *moved_text(const char *text, const char *was, const char *is)
{
    const char *at = text;
    size_t n = strlen(was);

    if (*at != '/' && (at = strchr(at, '=')) != NULL)
        at++;
    if (at == NULL || strncmp(at, was, n) != 0 || (at[n] != '/' && at[n] != '\0'))
        return NULL;
    return xasprintf("%.*s%s%s", (int)(at - text), text, is, at + n);
}

static void move_all(json_t *j, const char *was, const char *is)
{
    const char *key;
    json_t *value;
    size_t i;

    if (json_is_string(j)) {
        cleanup_free char *text = moved_text(json_string_value(j), was, is);

        if (text != NULL)
            (void)json_string_set(j, text);
    } else if (json_is_array(j)) {
        json_array_foreach (j, i, value)
            move_all(value, was, is);
    } else if (json_is_object(j)) {
        json_object_foreach (j, key, value)
            move_all(value, was, is);
    }
}

/* A state directory that was moved or copied: its plans name folders of the place where they were made. */
static void follow_move(json_t *plan, const char *run_dir)
{
    const char *made = json_string_value(json_object_get(plan, "run_dir"));
    size_t n_was = made != NULL ? state_part(made) : 0, n_is = state_part(run_dir);

    if (n_was == 0 || n_is == 0 || strcmp(made + n_was, run_dir + n_is) != 0)
        return;
    cleanup_free char *was = xstrndup(made, n_was);
    cleanup_free char *is = xstrndup(run_dir, n_is);

    const char *hash = json_string_value(json_object_get(plan, "hash"));
    char hex[65];

    plan_hash_json(plan, hex);
    /* One that was changed is left as it is, to be refused. */
    if (strcmp(was, is) == 0 || hash == NULL || strcmp(hash, hex) != 0)
        return;
    move_all(plan, was, is);
    plan_hash_json(plan, hex);
    (void)json_object_set_new(plan, "hash", json_string(hex));
}

int plan_load(const char *state_dir, const char *run_dir, struct plan **ret, struct err *err)
{
    cleanup_free char *path = path_join(run_dir, "plan.json");
    cleanup_free char *text = NULL;
    json_error_t why;
    json_t *j;
    size_t size;
    int r = file_read_below(state_dir, path, PLAN_MAX_BYTES, &text, &size);

    if (r < 0)
        return err_sys(err, r, "%s", path);
    j = json_loadb(text, size, JSON_REJECT_DUPLICATES, &why);
    if (j == NULL)
        return err_set(err, -EBADMSG, "%s:%d: %s", path, why.line, why.text);
    follow_move(j, run_dir);
    r = plan_from_json(j, ret, err);
    json_decref(j);
    return r;
}
