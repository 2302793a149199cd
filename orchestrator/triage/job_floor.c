/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The edges of an input that any target rejects, to be compared with those of a campaign. They are measured as a campaign
 * counts them: by the fork server, in the loop of a persistent program, which another tool that runs it once does not enter.
 */
#include "triage/job_input.h"

#include <errno.h>

#include "engine/forkserver.h"
#include "engine/map.h"
#include "triage/job.h"
#include "triage/json_util.h"
#include "triage/program.h"

#define RUN_MS 5000

static int judge(const struct forkserver_run *run, size_t edges, struct err *err)
{
    if (run->end == FORKSERVER_TIMEOUT)
        return err_set(err, -ETIME, "one zero byte: no end within %d ms", RUN_MS);
    /* A run cut short has a map that is not the whole of it. */
    if (run->end != FORKSERVER_OK)
        return err_set(err, -ECHILD, "one zero byte: the program did not end well");
    return edges > 0 ? 0 : err_set(err, -ENODATA, "one zero byte: no edge is counted");
}

int job_floor_edges(const struct forkserver_opts *program, size_t *ret_edges, struct err *err)
{
    struct forkserver_opts opts = *program;
    struct forkserver_run run = {0};
    struct forkserver *fs = NULL;
    size_t edges = 0;
    int r;

    opts.run_ms = RUN_MS;
    r = forkserver_open(&opts, &fs, err);
    if (r == 0)
        r = forkserver_run(fs, "", 1, &run, err);
    if (r == 0) {
        edges = map_edges(forkserver_map(fs), forkserver_map_bytes(fs));
        r = judge(&run, edges, err);
    }
    forkserver_close(fs);
    if (r == 0)
        *ret_edges = edges;
    return r;
}

json_t *job_floor_run(const json_t *job)
{
    struct program program;
    struct err err = {0};
    size_t edges = 0;
    json_t *answer;
    int r = program_open(job, RUN_MS, &program, &err);

    if (r == 0)
        r = job_floor_edges(&program.opts, &edges, &err);
    answer = r < 0 ? job_answer_error("%s", err.msg)
                   : json_pack("{s:b, s:I}", "ok", 1, "edges", (json_int_t)edges);
    program_clear(&program);
    return answer;
}
