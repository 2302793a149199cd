/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of a run as its folder keeps it. It is checked like one from a client: the folder may have been changed since. */
#include <errno.h>
#include <fcntl.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/path.h"
#include "plan/plan.h"

#define PLAN_MAX_BYTES (64 << 20)

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
    r = plan_from_json(j, ret, err);
    json_decref(j);
    return r;
}
