/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tools are run as short helpers with a time limit and bounded output. Versions from LLVM_OLDEST
 * on are looked for, as older ones know no coverage of this kind.
 */
#include "corpus/llvmtools.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/parse.h"
#include "sys/proc.h"

#define LLVM_OLDEST 11
#define LLVM_NEWEST 40
#define TOOL_MS     (600 * INT64_C(1000))
#define WORDS_BYTES 4096
#define MEND        "install the llvm package of that clang, as \"apt-get install llvm\" does"

/* The first line of what a tool printed, fit for a message. */
static const char *words_of(const struct proc_result *r, char *buf, size_t size)
{
    char line[400];
    size_t n = strcspn(r->err, "\n");

    (void)snprintf(line, sizeof(line), "%.*s", (int)(n < sizeof(line) ? n : sizeof(line) - 1),
                   r->err);
    return text_printable(buf, size, line);
}

/* input: a file, or NULL; ret_text NULL: what it prints on stdout is not wanted. */
static int run(const struct llvmtools *t, const struct strv *argv, const char *input,
               char **ret_text, size_t *ret_size, struct err *err)
{
    struct proc_spec ps = {.argv = argv,
                           .cancel = t->cancel,
                           .stdin_path = input,
                           .timeout_ms = TOOL_MS,
                           .max_out = ret_text != NULL ? LLVMTOOLS_EXPORT_MAX : WORDS_BYTES,
                           .cgroup_procs_fd = {-1, -1, -1, -1}};
    struct proc_result r = {0};
    char words[800], how[64];
    int rc = proc_run(&ps, &r, err);

    if (rc < 0)
        return rc;
    if (r.timed_out)
        rc = err_set(err, -ETIME, "%s took over 10 minutes", argv->v[0]);
    else if (!WIFEXITED(r.status) || WEXITSTATUS(r.status) != 0)
        rc = err_set(err, -EPROTO, "%s: %s: %s", argv->v[0],
                     proc_status_text(how, sizeof(how), r.status),
                     words_of(&r, words, sizeof(words)));
    else if (ret_text != NULL && r.out_len >= LLVMTOOLS_EXPORT_MAX)
        rc = err_set(err, -EFBIG, "%s printed over %u bytes", argv->v[0], LLVMTOOLS_EXPORT_MAX);
    if (rc == 0 && ret_text != NULL) {
        *ret_text = steal_ptr(&r.out);
        *ret_size = r.out_len;
    }
    proc_result_clear(&r);
    return rc;
}

static int merge(const struct llvmtools *t, const char *profdata, const struct strv *profiles,
                 const char *out, struct err *err)
{
    struct strv argv = {0};
    int rc;

    strv_add(&argv, profdata);
    strv_add(&argv, "merge");
    strv_add(&argv, "-sparse");
    strv_add(&argv, "-o");
    strv_add(&argv, out);
    for (size_t i = 0; i < profiles->n; i++)
        strv_add(&argv, profiles->v[i]);
    rc = run(t, &argv, NULL, NULL, NULL, err);
    strv_clear(&argv);
    return rc;
}

int llvmtools_merge(const struct llvmtools *t, const struct strv *profiles, const char *out,
                    struct err *err)
{
    return merge(t, t->profdata, profiles, out, err);
}

/* ---- which version ---- */
struct search {
    const struct strv *profiles;
    const char *scratch;
    struct llvmtools *ret;
    struct strv tried; /* real paths */
    struct err why;    /* of the first that did not read it */
    bool no_cov, cancelled;
};

/* True when the pair of that folder and suffix is it. */
static bool try_pair(struct search *s, const char *dir, const char *suffix)
{
    cleanup_free char *profdata = xasprintf("%s/llvm-profdata%s", dir, suffix);
    cleanup_free char *cov = xasprintf("%s/llvm-cov%s", dir, suffix);
    cleanup_free char *cxxfilt = xasprintf("%s/llvm-cxxfilt%s", dir, suffix);
    cleanup_free char *out = xasprintf("%s/probe.profdata", s->scratch);
    cleanup_free char *real = realpath(profdata, NULL);
    struct err err = {0};
    int rc;

    if (real == NULL || access(profdata, X_OK) < 0)
        return false;
    for (size_t i = 0; i < s->tried.n; i++) {
        if (strcmp(s->tried.v[i], real) == 0)
            return false;
    }
    if (access(cov, X_OK) < 0) {
        s->no_cov = true;
        return false;
    }
    strv_add(&s->tried, real);
    rc = merge(s->ret, profdata, s->profiles, out, &err);
    (void)unlink(out);
    if (rc < 0) {
        s->cancelled |= rc == -ECANCELED;
        if (s->tried.n == 1)
            s->why = err;
        return false;
    }
    s->ret->profdata = steal_ptr(&profdata);
    s->ret->cov = steal_ptr(&cov);
    if (access(cxxfilt, X_OK) == 0)
        s->ret->cxxfilt = steal_ptr(&cxxfilt);
    return true;
}

static bool try_folder(struct search *s, const char *dir)
{
    char suffix[16];

    if (try_pair(s, dir, ""))
        return true;
    for (int v = LLVM_NEWEST; v >= LLVM_OLDEST; v--) {
        (void)snprintf(suffix, sizeof(suffix), "-%d", v);
        if (try_pair(s, dir, suffix))
            return true;
    }
    return false;
}

static bool search_all(struct search *s)
{
    const char *path = getenv("PATH");
    cleanup_free char *dirs = xstrdup(path != NULL ? path : "/usr/local/bin:/usr/bin:/bin");
    char *rest = dirs, *dir, own[64];

    while ((dir = strsep(&rest, ":")) != NULL) {
        if (dir[0] == '/' && try_folder(s, dir))
            return true;
    }
    for (int v = LLVM_NEWEST; v >= LLVM_OLDEST; v--) {
        (void)snprintf(own, sizeof(own), "/usr/lib/llvm-%d/bin", v);
        if (try_pair(s, own, ""))
            return true;
    }
    return false;
}

int llvmtools_find(const char *profile, const char *scratch, struct llvmtools *ret, struct err *err)
{
    struct strv one = {0};
    struct search s = {.profiles = &one, .scratch = scratch, .ret = ret};
    int rc = 0;

    strv_add(&one, profile);
    if (!search_all(&s) && s.cancelled)
        rc = -ECANCELED;
    else if (ret->profdata == NULL && s.tried.n > 0)
        rc = err_set(err, -EPROTO,
                     "no llvm-profdata here reads what this program's clang wrote; " MEND ": %s",
                     s.why.msg);
    else if (ret->profdata == NULL)
        rc = err_set(err, -ENOENT, "%s is not installed: " MEND,
                     s.no_cov ? "llvm-cov" : "llvm-profdata");
    strv_clear(&s.tried);
    strv_clear(&one);
    return rc;
}

void llvmtools_clear(struct llvmtools *t)
{
    free(t->profdata);
    free(t->cov);
    free(t->cxxfilt);
    *t = (struct llvmtools){0};
}

/* ---- what a profile shows ---- */
int llvmtools_export(const struct llvmtools *t, const char *program, const char *profile,
                     char **ret_text, size_t *ret_size, struct err *err)
{
    struct strv argv = {0};
    int rc;

    strv_add(&argv, t->cov);
    strv_add(&argv, "export");
    strv_add(&argv, "-format=text");
    strv_add(&argv, "-skip-expansions");
    strv_addf(&argv, "-instr-profile=%s", profile);
    strv_add(&argv, program);
    rc = run(t, &argv, NULL, ret_text, ret_size, err);
    strv_clear(&argv);
    return rc;
}

int llvmtools_html(const struct llvmtools *t, const char *program, const char *profile,
                   const char *dir, struct err *err)
{
    struct strv argv = {0};
    int rc;

    strv_add(&argv, t->cov);
    strv_add(&argv, "show");
    strv_add(&argv, "-format=html");
    strv_add(&argv, "-show-line-counts-or-regions");
    if (t->cxxfilt != NULL)
        strv_addf(&argv, "-Xdemangler=%s", t->cxxfilt);
    strv_addf(&argv, "-output-dir=%s", dir);
    strv_addf(&argv, "-instr-profile=%s", profile);
    strv_add(&argv, program);
    rc = run(t, &argv, NULL, NULL, NULL, err);
    strv_clear(&argv);
    return rc;
}

static int write_lines(const struct strv *lines, const char *path)
{
    cleanup_free char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    bool whole = f != NULL;

    for (size_t i = 0; f != NULL && i < lines->n; i++)
        whole = fprintf(f, "%s\n", lines->v[i]) >= 0 && whole;
    if (f != NULL && fclose(f) != 0)
        whole = false;
    return whole ? file_write_named(path, text, size, 0600) : -ENOMEM;
}

int llvmtools_demangle(const struct llvmtools *t, const struct strv *names, const char *scratch,
                       struct strv *ret, struct err *err)
{
    cleanup_free char *in = xasprintf("%s/names", scratch), *text = NULL;
    struct strv argv = {0};
    char *rest, *line;
    size_t size = 0;
    int rc;

    if (t->cxxfilt == NULL)
        return err_set(err, -ENOENT, "llvm-cxxfilt is not installed: " MEND);
    rc = write_lines(names, in);
    if (rc < 0)
        return err_sys(err, rc, "%s", in);
    strv_add(&argv, t->cxxfilt);
    rc = run(t, &argv, in, &text, &size, err);
    strv_clear(&argv);
    (void)unlink(in);
    if (rc < 0)
        return rc;
    rest = text;
    while ((line = strsep(&rest, "\n")) != NULL && rest != NULL)
        strv_add(ret, line);
    if (ret->n == names->n)
        return 0;
    strv_clear(ret);
    return err_set(err, -EPROTO, "%s: not as many names as were asked for", t->cxxfilt);
}
