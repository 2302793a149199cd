/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_rate PROGRAM FOLDER|TAR ENGINE JOBS: runs all inputs once as they are read and once more from memory, by the engine of
 * fuzzctl without what fuzzctl prints; one line of JSON with the milliseconds of each step.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parse.h"
#include "corpus/inputs.h"
#include "engine/deadline.h"
#include "engine/runner.h"
#include "plan/elfprobe.h"

struct bench {
    struct inputs files;
    uint8_t **data;
    size_t *size;
    size_t ok;
};

static int from_folder(void *ctx, size_t index, uint8_t **ret_data, size_t *ret_size)
{
    struct bench *b = ctx;
    int rc = inputs_read(&b->files, index, FORKSERVER_INPUT_BYTES, ret_data, ret_size);

    if (rc == 0) {
        b->data[index] = *ret_data;
        b->size[index] = *ret_size;
    }
    return rc;
}

static int from_memory(void *ctx, size_t index, uint8_t **ret_data, size_t *ret_size)
{
    const struct bench *b = ctx;

    *ret_data = b->data[index];
    *ret_size = b->size[index];
    return *ret_data != NULL ? 0 : -1;
}

static void on_done(void *ctx, const struct runner_result *r)
{
    struct bench *b = ctx;

    b->ok += r->code == 0 && r->run.end == FORKSERVER_OK;
}

int main(int argc, char **argv)
{
    struct bench b = {0};
    struct runner_job job = {.read_keeps = true, .done = on_done, .ctx = &b};
    struct elfprobe elf;
    struct err err = {0};
    uint64_t jobs;
    int64_t at[4];

    if (argc != 5 || parse_u64(argv[4], 256, &jobs) < 0 || elfprobe_read(argv[1], &elf, &err) < 0) {
        fprintf(stderr, "usage: replay_rate PROGRAM FOLDER|TAR ENGINE JOBS %s\n", err.msg);
        return 2;
    }
    for (int e = 0; e < RUNNER_ENGINES; e++) {
        if (strcmp(argv[3], runner_engine_name((enum runner_engine)e)) == 0)
            job.engine = (enum runner_engine)e;
    }
    job.program = (struct forkserver_opts){
        .path = argv[1], .persistent = elf.persistent, .deferred = elf.deferred};
    job.workers = (int)jobs;
    at[0] = deadline_now_us();
    if (inputs_add(&b.files, argv[2], &err) < 0)
        return 1;
    at[1] = deadline_now_us();
    job.inputs = b.files.n;
    b.data = xcalloc(b.files.n + 1, sizeof(*b.data));
    b.size = xcalloc(b.files.n + 1, sizeof(*b.size));
    job.read = from_folder;
    if (runner_run(&job, &err) < 0) {
        fprintf(stderr, "%s\n", err.msg);
        return 1;
    }
    at[2] = deadline_now_us();
    job.read = from_memory;
    if (runner_run(&job, &err) < 0)
        return 1;
    at[3] = deadline_now_us();
    printf("{\"inputs\":%zu,\"ok\":%zu,\"list_ms\":%.3f,\"first_ms\":%.3f,\"memory_ms\":%.3f}\n",
           b.files.n, b.ok, (double)(at[1] - at[0]) / 1000, (double)(at[2] - at[1]) / 1000,
           (double)(at[3] - at[2]) / 1000);
    for (size_t i = 0; i < b.files.n; i++)
        free(b.data[i]);
    free(b.data);
    free(b.size);
    inputs_clear(&b.files);
    return 0;
}
