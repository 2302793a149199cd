/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The edges of an input that any target rejects, to be compared with those of a campaign. They are measured as a campaign
 * counts them: by the fork server, in the loop of a persistent program, which another tool that runs it once does not enter.
 */
#include "triage/job_input.h"

#include "engine/forkserver.h"
#include "engine/map.h"
#include "triage/job.h"
#include "triage/json_util.h"
#include "triage/program.h"

#define RUN_MS 5000

static json_t *answer_of(const struct forkserver_run *run, size_t edges)
{
    if (run->end == FORKSERVER_TIMEOUT)
        return job_answer_error("one zero byte: no end within %d ms", RUN_MS);
    /* A run cut short has a map that is not the whole of it. */
    if (run->end != FORKSERVER_OK)
        return job_answer_error("one zero byte: the program did not end well");
    if (edges == 0)
        return job_answer_error("one zero byte: no edge is counted");
    return json_pack("{s:b, s:I}", "ok", 1, "edges", (json_int_t)edges);
}

json_t *job_floor_run(const json_t *job)
{
    struct forkserver *fs = NULL;
    struct forkserver_run run = {0};
    struct program program;
    struct err err = {0};
    json_t *answer;
    int r = program_open(job, RUN_MS, &program, &err);

    if (r == 0)
        r = forkserver_open(&program.opts, &fs, &err);
    if (r == 0)
        r = forkserver_run(fs, "", 1, &run, &err);
    answer = r < 0 ? job_answer_error("%s", err.msg)
                   : answer_of(&run, map_edges(forkserver_map(fs), forkserver_map_bytes(fs)));
    forkserver_close(fs);
    program_clear(&program);
    return answer;
}
