/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz-triage: one job as JSON on standard input, its answer as JSON on standard
 * output. It touches hostile inputs so that fuzzd need not: it leads a session of
 * its own, dies with fuzzd, leaves no core file, and takes its process group with
 * it when it ends.
 */
#include <errno.h>
#include <jansson.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/version.h"
#include "bundle/bundle.h"
#include "corpus/job_corpus.h"
#include "corpus/job_stability.h"
#include "sys/shmseg.h"
#include "triage/job.h"

static void usage(FILE *out)
{
    fputs("usage: fuzz-triage < JOB.json > ANSWER.json\n"
          "       fuzz-triage --help | --version\n"
          "\n"
          "Runs one job of fuzzd: "
          "{\"job\":\"input\"|\"reach\"|\"floor\"|\"seeds\"|\"replay\"|\"start\"|\"keep\"|"
          "\"sweep\"|\"shuffle\"|\"bundle\", "
          "...}.\n"
          "The answer is one JSON object with \"ok\"; exit code 0 even when it is false,\n"
          "2 when the job cannot be read.\n",
          out);
}

/* Reads standard input to its end, at most JOB_MAX_BYTES. Caller frees; NULL when it is longer or unreadable. */
static char *read_job(size_t *ret_n)
{
    char *buf = malloc(JOB_MAX_BYTES + 1);
    size_t n = 0;

    while (buf != NULL && n <= JOB_MAX_BYTES) {
        ssize_t r = read(STDIN_FILENO, buf + n, JOB_MAX_BYTES + 1 - n);

        if (r < 0 && errno == EINTR)
            continue;
        if (r <= 0) {
            if (r < 0)
                break;
            *ret_n = n;
            return buf;
        }
        n += (size_t)r;
    }
    free(buf);
    return NULL;
}

static int answer_write(json_t *answer)
{
    char *text = json_dumps(answer, JSON_COMPACT | JSON_SORT_KEYS);
    int r = text != NULL ? file_write_all(STDOUT_FILENO, text, strlen(text)) : -ENOMEM;

    free(text);
    json_decref(answer);
    return r;
}

/* Shared memory of the programs that are replayed goes with us. Not where files of the job lie there. */
static void own_shared_memory(const char *text, size_t n)
{
    const char *tmp = getenv("TMPDIR");

    (void)unshare(CLONE_NEWIPC);
    if (memmem(text, n, "/shm/", 5) == NULL && (tmp == NULL || strstr(tmp, "/shm/") == NULL))
        (void)shmseg_own_files();
}

int main(int argc, char **argv)
{
    const struct rlimit no_core = {0, 0};
    json_error_t jerr;
    char *text;
    size_t n = 0;
    json_t *job;
    int r;

    log_init("fuzz-triage", LOG_LEVEL_INFO);
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        usage(stdout);
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        printf("fuzz-triage %s\n", version_string());
        return 0;
    }
    if (argc != 1) {
        usage(stderr);
        return 2;
    }
    (void)setsid(); /* fails harmlessly when we lead one already */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setrlimit(RLIMIT_CORE, &no_core);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
    text = read_job(&n);
    if (text == NULL)
        fatal("the job is longer than %d bytes or cannot be read", JOB_MAX_BYTES);
    own_shared_memory(text, n);
    job = json_loadb(text, n, JSON_REJECT_DUPLICATES, &jerr);
    free(text);
    if (!json_is_object(job)) {
        log_error("the job is no JSON object: %s", job == NULL ? jerr.text : "another type");
        json_decref(job);
        return 2;
    }
    job_set_bundle_fn(bundle_make);
    job_set_fn("start", corpus_start_run);
    job_set_fn("keep", corpus_keep_run);
    job_set_fn("shuffle", job_stability_run);
    r = answer_write(job_run(job));
    json_decref(job);
    if (r < 0)
        log_error("answer: %s", strerror(-r));
    return r < 0 ? 1 : 0;
}
