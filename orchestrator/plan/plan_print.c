/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan for people: each instance as a block that can be pasted into a shell (but for the StatsD port, which fuzzd puts in), and
 * below it what was left out. Text from the spec may hold anything; it goes out quoted and printable.
 */
#include <inttypes.h>
#include <string.h>

#include "base/parse.h"
#include "plan/plan.h"

/* One word as a shell reads it back; bytes outside printable ASCII as $'\xNN'. */
static void print_quoted(const char *s, FILE *out)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "@%+=:,./_-";
    bool odd = false;

    if (s[0] != '\0' && strspn(s, plain) == strlen(s)) {
        (void)fputs(s, out);
        return;
    }
    for (const char *p = s; *p != '\0'; p++)
        odd |= (unsigned char)*p < 0x20 || (unsigned char)*p >= 0x7f;
    (void)fputs(odd ? "$'" : "'", out);
    for (const unsigned char *p = (const unsigned char *)s; *p != '\0'; p++) {
        if (odd && (*p < 0x20 || *p >= 0x7f))
            (void)fprintf(out, "\\x%02x", *p);
        else if (odd && (*p == '\'' || *p == '\\'))
            (void)fprintf(out, "\\%c", *p);
        else if (*p == '\'')
            (void)fputs("'\\''", out);
        else
            (void)fputc(*p, out);
    }
    (void)fputc('\'', out);
}

/* An option stays on one line with its value; everything behind "--" is one line. */
static void print_argv(const struct strv *argv, FILE *out)
{
    bool target = false;

    (void)fputs("    command   ", out);
    for (size_t i = 0; i < argv->n; i++) {
        bool option = argv->v[i][0] == '-' && !target;

        if (i > 0)
            (void)fputs(option ? " \\\n                " : " ", out);
        print_quoted(argv->v[i], out);
        target |= strcmp(argv->v[i], "--") == 0;
    }
    (void)fputc('\n', out);
}

static void print_duration(const char *label, int64_t ms, const char *zero, FILE *out)
{
    char buf[32];

    (void)fprintf(out, "%s%s", label, ms == 0 ? zero : format_duration(buf, sizeof(buf), ms));
}

static void print_limits(const struct plan_target *t, FILE *out)
{
    char memory[32];

    (void)fprintf(out, "    limits    memory %s, %" PRId64 " pids, cpu %" PRId64 "%%",
                  format_size(memory, sizeof(memory), t->limits.memory_bytes), t->limits.pids,
                  t->limits.cpu_pct);
    print_duration(", timeout ", t->timeout_ms, "auto (by the slowest seed)", out);
    print_duration(", hang ", t->hang_timeout_ms, "auto", out);
    (void)fprintf(out, ", log %s\n", format_size(memory, sizeof(memory), t->limits.log_max_bytes));
}

static void print_list(const char *label, const struct strv *sv, FILE *out)
{
    char buf[2048];

    for (size_t i = 0; i < sv->n; i++)
        (void)fprintf(out, "    %-9s %s\n", i == 0 ? label : "",
                      text_printable(buf, sizeof(buf), sv->v[i]));
}

static void print_instance(const struct plan_target *t, const struct plan_instance *inst, FILE *out)
{
    (void)fprintf(out, "\n  %s  (%s, CPU %d)\n", inst->full_id, plan_role_name(inst->role),
                  inst->cpu);
    print_argv(&inst->argv, out);
    for (size_t i = 0; i < inst->env.n; i++) {
        (void)fprintf(out, "    %-9s ", i == 0 ? "env" : "");
        print_quoted(inst->env.v[i], out);
        (void)fputc('\n', out);
    }
    print_limits(t, out);
    print_list("left out", &inst->left_out, out);
}

static void print_program(const char *label, const struct plan_program *p, const char *tag,
                          FILE *out)
{
    char buf[4096];

    if (p->path == NULL)
        return;
    (void)fprintf(out, "  %-10s %s%s%s%s\n", label, text_printable(buf, sizeof(buf), p->path),
                  p->asan ? "  [asan]" : "", p->kit ? "  [kit]" : "", tag);
}

/* What to say of a build that the target has and none of its instances fuzzes. */
static const char *idle_tag(const struct plan_target *t, enum plan_role role)
{
    for (size_t i = 0; i < t->n_instances; i++)
        if (t->instances[i].role == role)
            return "";
    if (role != PLAN_SAN)
        return "  [no instance runs it, give more cores]";
    return t->no_sweep ? "  [no instance runs it, triage only]"
                       : "  [no instance runs it, sweep and triage only]";
}

/* Where some target waits for others: who fuzzes beside whom. */
static void print_waves(const struct plan *plan, FILE *out)
{
    int waves[PLAN_MAX_TARGETS], last = 0;

    if (plan_waves(plan, waves) < 0)
        return;
    for (size_t i = 0; i < plan->n_targets; i++)
        last = waves[i] > last ? waves[i] : last;
    for (int w = 0; last > 0 && w <= last; w++) {
        (void)fprintf(out, "wave %d:", w + 1);
        for (size_t i = 0; i < plan->n_targets; i++)
            if (waves[i] == w)
                (void)fprintf(out, " %s", plan->targets[i].name);
        (void)fputc('\n', out);
    }
}

void plan_print(const struct plan *plan, FILE *out)
{
    char buf[4096];

    (void)fprintf(out, "campaign %s, afl-fuzz %s (%s)\n", plan->campaign, plan->afl_version,
                  text_printable(buf, sizeof(buf), plan->afl_path));
    print_duration("budget ", plan->budget_ms, "none", out);
    if (plan->execs > 0)
        (void)fprintf(out, ", %" PRId64 " execs", plan->execs);
    if (plan->plateau_ms > 0)
        print_duration(", plateau ", plan->plateau_ms, "none", out);
    (void)fprintf(out, ", %d core%s, seed %" PRIu64 ", stop on %s\n", plan->cores,
                  text_plural(plan->cores), plan->seed,
                  plan->stop_on == SPEC_STOP_FIRST ? "first finding" : "no finding");
    if (plan->drop_corpus)
        (void)fputs("corpus dropped: begins with the seeds alone, leaves nothing to the next run\n",
                    out);
    if (plan->priority > 0)
        (void)fprintf(out,
                      "priority %" PRId64 ": campaigns of a lower one stand still while it fuzzes "
                      "and lend it their cores\n",
                      plan->priority);
    if (plan->oversubscribe)
        (void)fputs("takes no core for itself, for tests: its figures say nothing\n", out);
    if (plan->share_cores)
        (void)fputs("shares its cores with other campaigns that share theirs\n", out);
    (void)fprintf(out, "folder %s\n", text_printable(buf, sizeof(buf), plan->run_dir));
    if (plan->git_commit != NULL)
        (void)fprintf(out, "commit %s%s\n", plan->git_commit, plan->git_dirty ? " (dirty)" : "");
    print_waves(plan, out);
    for (size_t i = 0; i < plan->n_targets; i++) {
        const struct plan_target *t = &plan->targets[i];

        (void)fprintf(out, "\ntarget %s\n", t->name);
        for (size_t k = 0; k < t->after.n; k++)
            (void)fprintf(out, "%s %s%s", k == 0 ? "  after     " : "", t->after.v[k],
                          k + 1 == t->after.n ? t->after.n == 1 ? ", once it ended clean\n"
                                                                : ", once all ended clean\n"
                                              : "");
        print_program("harness", &t->harness, "", out);
        print_program("sanitizer", &t->sanitizer, idle_tag(t, PLAN_SAN), out);
        if (t->sanitizer.path == NULL)
            (void)fputs(
                "  sanitizer  none: no sanitizer build, memory errors that do not crash are "
                "not seen\n",
                out);
        print_program("cmplog", &t->cmplog, idle_tag(t, PLAN_CMPLOG), out);
        print_program("laf", &t->laf, idle_tag(t, PLAN_LAF), out);
        print_program("replay", &t->replay, "", out);
        (void)fprintf(out, "  %-10s %s (%ld file%s)\n", "seeds",
                      text_printable(buf, sizeof(buf), t->seeds), t->n_seeds,
                      text_plural(t->n_seeds));
        for (size_t k = 0; k < t->n_instances; k++)
            print_instance(t, &t->instances[k], out);
    }
    if (plan->warnings.n > 0)
        (void)fputc('\n', out);
    for (size_t i = 0; i < plan->warnings.n; i++)
        (void)fprintf(out, "warning: %s\n", text_printable(buf, sizeof(buf), plan->warnings.v[i]));
}
