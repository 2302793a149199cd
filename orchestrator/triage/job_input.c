/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One artifact, replayed and named. Each program runs it several times; the most
 * telling run of a program is its verdict, and how many runs agree with that is
 * how well it reproduces. Between programs better evidence wins, then the one
 * that shows it more often.
 */
#include "triage/job_input.h"

#include <ctype.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "plan/elfprobe.h"
#include "triage/classify.h"
#include "triage/job.h"
#include "triage/json_util.h"
#include "triage/replay.h"
#include "triage/signature.h"

#define PROGRAMS_MAX     4
#define RUNS_MAX         50
#define ARGS_MAX         4096
#define GROUP_TIMEOUT_MS 5000

struct program {
    const char *role;
    struct replay_program prog;
    char sha256[65], build_id[65];
    struct verdict_of_run best;
    bool slow; /* a sanitizer build: its time proves less */
    int agree, runs;
    int signal; /* of the best run, 0 none */
    char *report;
};

struct input_job {
    const char *target, *blob, *file;
    bool hang;
    int runs;
    int64_t oom_kills; /* of the target in the campaign */
    struct strv args, env;
    struct program programs[PROGRAMS_MAX];
    size_t n_programs;
    json_t *log; /* array of runs */
};

static bool program_load(const json_t *j, struct input_job *job, const json_t *spec)
{
    struct program *p = &job->programs[job->n_programs];
    struct elfprobe elf = {0};
    struct err err = {0};

    p->role = json_str(spec, "role", "");
    p->prog.path = json_str(spec, "path", "");
    p->prog.kit = json_flag(spec, "kit");
    p->prog.asan = json_flag(spec, "asan");
    p->prog.args = &job->args;
    p->prog.env = &job->env;
    p->prog.timeout_ms = json_int(j, "timeout_ms", 1000);
    p->prog.memory_bytes = json_int(j, "memory_bytes", 0);
    /* An input that was slow is timed as it ran; a second pass would double it. */
    p->prog.twice = !job->hang;
    if (p->prog.path[0] != '/' || p->prog.timeout_ms <= 0 || p->prog.memory_bytes < 0)
        return false;
    if (elfprobe_read(p->prog.path, &elf, &err) == 0) {
        strlcpy(p->sha256, elf.sha256, sizeof(p->sha256));
        strlcpy(p->build_id, elf.build_id, sizeof(p->build_id));
        p->prog.asan = p->prog.asan || elf.asan;
        p->prog.msan = elf.msan;
        p->prog.tsan = elf.tsan;
        p->prog.ubsan = elf.ubsan;
        p->prog.takes_file = elf.driver || elf.libfuzzer;
    }
    p->slow = p->prog.asan || p->prog.msan || p->prog.tsan;
    if (p->slow)
        p->prog.timeout_ms *= JOB_SAN_SLOWNESS;
    job->n_programs++;
    return true;
}

static json_t *run_json(const struct program *p, const struct replay_run *run,
                        const struct verdict_of_run *v)
{
    char status[48];
    const char *abbrev;

    switch (run->end) {
    case REPLAY_TIMEOUT:
        strlcpy(status, "timeout", sizeof(status));
        break;
    case REPLAY_OOM:
        strlcpy(status, "killed (SIGKILL)", sizeof(status));
        break;
    case REPLAY_PARENT:
        strlcpy(status, REPLAY_PARENT_WORDS, sizeof(status));
        break;
    case REPLAY_SIGNAL:
        abbrev = sigabbrev_np(run->code);
        snprintf(status, sizeof(status), "signal %d (SIG%s)", run->code,
                 abbrev != NULL ? abbrev : "?");
        break;
    default:
        snprintf(status, sizeof(status), "exit code %d", run->code);
        break;
    }
    return json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:b}", "program", p->role, "status", status,
                     "class", v->class_, "kind", v->kind, "ms", (json_int_t)run->wall_ms, "cpu_ms",
                     (json_int_t)run->cpu_ms, "starved", (int)run->starved);
}

static bool same_finding(const struct verdict_of_run *a, const struct verdict_of_run *b)
{
    return strcmp(a->class_, b->class_) == 0 && strcmp(a->kind, b->kind) == 0;
}

/*
 * Runs one program k times, the first time with symbols. glance: only once, unless that run shows more than a passed
 * time limit. Returns an error answer or NULL.
 */
static json_t *program_run(struct input_job *job, struct program *p, bool glance)
{
    struct verdict_of_run verdicts[RUNS_MAX];
    struct err err = {0};

    memset(verdicts, 0, sizeof(verdicts));
    p->prog.impatient = glance;
    for (p->runs = 0; p->runs < job->runs; p->runs++) {
        struct verdict_of_run *v = &verdicts[p->runs];
        struct replay_run run = {0};

        if (glance && p->runs > 0 && p->best.evidence < EVIDENCE_SIGNAL)
            break;
        p->prog.symbolize = p->runs == 0;
        if (replay_once(&p->prog, job->blob, &run, &err) < 0)
            return job_answer_error("%s", err.msg);
        /* A bare signal has no name for its place: look where it struck, once. */
        classify_run(&run, job->target, p->build_id, v);
        if (v->evidence == EVIDENCE_SIGNAL && p->best.evidence < EVIDENCE_SIGNAL) {
            replay_pc(&p->prog, job->blob, &run);
            classify_run(&run, job->target, p->build_id, v);
        }
        json_array_append_new(job->log, run_json(p, &run, v));
        if (v->evidence > p->best.evidence) {
            p->best = *v;
            p->signal = run.end == REPLAY_SIGNAL ? run.code : run.end == REPLAY_OOM ? SIGKILL : 0;
            free(p->report);
            p->report = steal_ptr(&run.err_text);
        }
        if (run.end == REPLAY_TIMEOUT && run.starved)
            p->prog.impatient = true;
        replay_run_clear(&run);
    }
    p->prog.symbolize = false;
    p->prog.impatient = false;
    for (int i = 0; i < p->runs; i++) {
        if (p->best.evidence != EVIDENCE_NONE && same_finding(&verdicts[i], &p->best))
            p->agree++;
    }
    return NULL;
}

/* "id:000000,sig:06,src:..." -> 6; 0 when it has none. Source: AFL++ src/afl-fuzz-bitmap.c save_if_interesting. */
static int recorded_signal(const char *file)
{
    const char *p = strstr(file, "sig:");

    if (p == NULL || !isdigit((unsigned char)p[4]) || !isdigit((unsigned char)p[5]))
        return 0;
    return (p[4] - '0') * 10 + (p[5] - '0');
}

/*
 * A program that was killed for want of memory, as it ran in the campaign: in a cgroup, where malloc does not fail.
 * Given time to fill it, as the replay has a small share of a core.
 */
static json_t *program_run_in_group(struct input_job *job, struct program *p)
{
    int64_t timeout_ms = p->prog.timeout_ms;
    json_t *answer;

    p->prog.by_group = true;
    if (p->prog.timeout_ms < GROUP_TIMEOUT_MS)
        p->prog.timeout_ms = GROUP_TIMEOUT_MS;
    answer = program_run(job, p, false);
    p->prog.timeout_ms = timeout_ms;
    return answer;
}

/*
 * All programs; the plain ones first when time is the question, and a sanitizer build then only has a glance at whether
 * there is more to a hang that is proven already.
 */
static json_t *programs_run(struct input_job *job)
{
    json_t *answer = NULL;
    bool proven = false;

    for (int slow = 0; slow < 2 && job->hang; slow++) {
        for (size_t i = 0; answer == NULL && i < job->n_programs; i++) {
            struct program *p = &job->programs[i];

            if (p->slow != (slow == 1))
                continue;
            answer = program_run(job, p, proven);
            proven = proven || p->agree == job->runs;
        }
    }
    for (size_t i = 0; answer == NULL && i < job->n_programs && !job->hang; i++) {
        struct program *p = &job->programs[i];

        /* First as in the campaign: where malloc fails instead, many a program crashes, and it is another finding. */
        if (!p->slow && p->prog.memory_bytes > 0 && recorded_signal(job->file) == SIGKILL &&
            replay_has_group())
            answer = program_run_in_group(job, p);
        if (answer == NULL && p->agree == 0) {
            p->prog.by_group = false;
            answer = program_run(job, p, false);
        }
    }
    return answer;
}

/* The program that shows it best; the first one when none shows anything. */
static struct program *program_best(struct input_job *job)
{
    struct program *best = &job->programs[0];

    for (size_t i = 1; i < job->n_programs; i++) {
        struct program *p = &job->programs[i];

        if (p->best.evidence > best->best.evidence ||
            (p->best.evidence == best->best.evidence && p->agree > best->agree))
            best = p;
    }
    return best;
}

static json_t *replay_json(struct program *p, const char *blob)
{
    struct strv argv = {0}, env = {0}, args = {0};
    cleanup_free char *command = NULL;
    json_t *j;

    /* For people: with names in the report. */
    p->prog.symbolize = p->slow || p->prog.ubsan;
    command = replay_command_line(&p->prog, blob);
    replay_command(&p->prog, "@@", &argv, &env);
    for (size_t i = 1; i < argv.n; i++)
        strv_add(&args, argv.v[i]);
    j = json_pack("{s:s, s:s, s:o, s:b, s:o, s:s, s:b, s:b, s:I, s:I, s:b}", "program", p->role,
                  "path", p->prog.path, "args", json_strv(&args), "stdin",
                  (int)replay_uses_stdin(&p->prog), "env", json_strv(&env), "command", command,
                  "kit", (int)p->prog.kit, "sanitizer", (int)(p->slow || p->prog.ubsan),
                  "timeout_ms", (json_int_t)p->prog.timeout_ms, "memory_bytes",
                  (json_int_t)p->prog.memory_bytes, "address_space_limit",
                  (int)(!p->slow && !p->prog.by_group && p->prog.memory_bytes > 0));
    strv_clear(&argv);
    strv_clear(&env);
    strv_clear(&args);
    return j;
}

static void set_unreproduced(const struct input_job *job, struct verdict_of_run *v)
{
    int sig = recorded_signal(job->file);
    const char *abbrev = sig > 0 ? sigabbrev_np(sig) : NULL;

    strlcpy(v->class_, "unreproduced", sizeof(v->class_));
    v->severity = 1;
    if (job->hang) {
        strlcpy(v->kind, "timeout", sizeof(v->kind));
        strlcpy(v->why, "a hang of the campaign that ends in time when replayed", sizeof(v->why));
        return; /* listed, but no bucket: it is no finding */
    }
    if (sig == SIGKILL && job->oom_kills > 0) {
        /* One input alone stays within the limit: a persistent target that leaks, or its children. */
        strlcpy(v->kind, "oom", sizeof(v->kind));
        snprintf(v->signature, sizeof(v->signature), "unreproduced %s oom", job->target);
        snprintf(v->why, sizeof(v->why),
                 "killed in a campaign whose cgroup counted %" PRId64 " kill%s for memory, and not "
                 "when replayed alone: memory adds up over executions",
                 job->oom_kills, text_plural(job->oom_kills));
        return;
    }
    snprintf(v->kind, sizeof(v->kind), "%s%s", abbrev != NULL ? "SIG" : "crash",
             abbrev != NULL ? abbrev : "");
    snprintf(v->signature, sizeof(v->signature), "unreproduced %s %s", job->target, v->kind);
    strlcpy(
        v->why,
        "a crash of the campaign that does not show when replayed alone (it may need the inputs "
        "before it); kind as AFL++ recorded it",
        sizeof(v->why));
}

static json_t *answer_make(struct input_job *job)
{
    struct program *p = program_best(job);
    struct verdict_of_run v = p->best;
    cleanup_free char *report = NULL;
    char bucket[13] = "", seen_class[sizeof(v.class_)];
    json_t *programs = json_array(), *detail;

    strlcpy(seen_class, v.class_[0] != '\0' ? v.class_ : "none", sizeof(seen_class));
    if (p->agree == 0)
        set_unreproduced(job, &v);
    else if (p->agree < p->runs)
        strlcpy(v.class_, "flaky", sizeof(v.class_));
    if (v.signature[0] != '\0')
        signature_bucket(job->target, v.signature, bucket);
    report = xmalloc(JOB_REPORT_MAX + 1);
    json_text_ascii(report, JOB_REPORT_MAX + 1, p->report != NULL ? p->report : "");
    for (size_t i = 0; i < job->n_programs; i++)
        json_array_append_new(
            programs, json_pack("{s:s, s:s, s:s, s:s}", "role", job->programs[i].role, "path",
                                job->programs[i].prog.path, "sha256", job->programs[i].sha256,
                                "build_id", job->programs[i].build_id));
    detail =
        json_pack("{s:s, s:s, s:s, s:O, s:o, s:o, s:I, s:{s:s, s:s, s:i, s:s, s:s}}", "class",
                  seen_class, "kind", v.kind, "program", p->role, "runs", job->log, "programs",
                  programs, "replay", replay_json(p, job->blob), "oom_kills",
                  (json_int_t)job->oom_kills, "expect", "class", seen_class, "kind", v.kind,
                  "signal", p->signal, "evidence", evidence_name(v.evidence), "marker", v.marker);
    return json_pack("{s:b, s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:s, s:o}", "ok", 1, "class",
                     v.class_, "kind", v.kind, "signature", v.signature, "why", v.why, "bucket",
                     bucket, "severity", v.severity, "reproduced", p->agree, "runs", p->runs,
                     "report", report, "detail", detail);
}

json_t *job_input_run(const json_t *j)
{
    struct input_job job = {.target = json_str(j, "target", ""),
                            .blob = json_str(j, "blob", ""),
                            .file = json_str(j, "file", ""),
                            .oom_kills = json_int(j, "oom_kills", 0)};
    const json_t *spec;
    json_t *answer = NULL;
    size_t i;

    job.hang = strcmp(json_str(j, "artifact_kind", ""), "hang") == 0;
    job.runs = (int)json_int(j, "runs", JOB_RUNS);
    if (job.runs < 1 || job.runs > RUNS_MAX || job.blob[0] != '/')
        return job_answer_error("input: runs or blob is not valid");
    json_strv_get(j, "args", ARGS_MAX, &job.args);
    json_strv_get(j, "env", ARGS_MAX, &job.env);
    job.log = json_array();
    json_array_foreach (json_object_get(j, "programs"), i, spec) {
        if (job.n_programs >= PROGRAMS_MAX || !program_load(j, &job, spec)) {
            answer = job_answer_error("input: program %zu is not valid", i + 1);
            break;
        }
    }
    if (answer == NULL && job.n_programs == 0)
        answer = job_answer_error("target %s has no program to replay with", job.target);
    if (answer == NULL)
        answer = programs_run(&job);
    if (answer == NULL)
        answer = answer_make(&job);
    for (i = 0; i < job.n_programs; i++)
        free(job.programs[i].report);
    json_decref(job.log);
    strv_clear(&job.args);
    strv_clear(&job.env);
    return answer;
}
