/* SPDX-License-Identifier: Apache-2.0 */
/* A place that is not there is passed over: a target may never have run. */
#include "ctl/corpus_places.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "store/runs.h"

#define RUNS_LOOKED_AT 200

static bool is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* out/TARGET of the campaign's newest run that has it, or NULL. Caller frees. */
static char *newest_queue(const struct cmd_env *env, const char *campaign, const char *target)
{
    struct run_row *rows = NULL;
    struct db *db = NULL;
    struct err err = {0};
    char *found = NULL;
    size_t n = 0;

    if (db_open(env->state_dir, false, &db, &err) < 0)
        return NULL;
    if (runs_list(db, false, &rows, &n, &err) < 0)
        n = 0;
    for (size_t i = 0; i < n; i++) {
        if (found == NULL && i < RUNS_LOOKED_AT && strcmp(rows[i].campaign, campaign) == 0) {
            cleanup_free char *path = xasprintf("%s/out/%s", rows[i].dir, target);

            if (is_folder(path))
                found = steal_ptr(&path);
        }
        run_row_clear(&rows[i]);
    }
    free(rows);
    db_close(db);
    return found;
}

size_t corpus_places_find(const struct cmd_env *env, const struct spec *spec,
                          const struct spec_target *t, struct corpus_place *ret)
{
    cleanup_free char *kept = xasprintf("%s/corpora/%s/%s", env->state_dir, spec->name, t->name);
    char *queue = newest_queue(env, spec->name, t->name);
    size_t n = 0;

    if (t->seeds != NULL && is_folder(t->seeds))
        ret[n++] = (struct corpus_place){"seeds", xstrdup(t->seeds)};
    if (is_folder(kept))
        ret[n++] = (struct corpus_place){"kept", steal_ptr(&kept)};
    if (queue != NULL)
        ret[n++] = (struct corpus_place){"queue", queue};
    return n;
}

void corpus_places_clear(struct corpus_place *places, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(places[i].path);
}
