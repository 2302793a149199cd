/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks for what a spec needs: the builds beside a program, its seeds and its dictionary, and how it takes
 * its input. Names only lead to files; what a file is, elfprobe says. The first refusal is for the program that
 * was named; a neighbour that does not fit is passed over and told.
 */
#include "plan/draft.h"

#include <ctype.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/path.h"
#include "plan/host.h"
#include "sys/proc.h"

#define NAME_MAX_DRAFT 40
#define TRY_MS         2000
#define TRY_BYTES      4096

/* Endings of the builds of one target, the more usual first. */
static const char *const words[] = {"afl",       "fuzz",      "fast",    "lto",   "harness",
                                    "cmplog",    "cmp",       "asan",    "san",   "ubsan",
                                    "sanitizer", "msan",      "replay",  "plain", "laf",
                                    "native",    "libfuzzer", "compcov", "cov",   "coverage"};
#define WORDS (sizeof(words) / sizeof(words[0]))

static const char *word_at_end(const char *name)
{
    for (size_t i = 0; i < WORDS; i++) {
        size_t n = strlen(name), w = strlen(words[i]);

        if (n == w && strcmp(name, words[i]) == 0)
            return name;
        if (n > w + 1 && strcmp(name + n - w, words[i]) == 0 &&
            strchr("-._", name[n - w - 1]) != NULL)
            return name + n - w;
    }
    return NULL;
}

/* A name that campaigns and targets may have. */
static char *name_from(const char *text)
{
    char *name = xstrndup(text, NAME_MAX_DRAFT);

    for (char *p = name; *p != '\0'; p++) {
        if (!isalnum((unsigned char)*p) && *p != '-' && *p != '_')
            *p = '_';
    }
    if (name[0] == '-')
        name[0] = '_';
    return name;
}

static const char *machine_name(int machine)
{
    switch (machine) {
    case EM_386:
        return "32-bit x86";
    case EM_X86_64:
        return "x86-64";
    case EM_ARM:
        return "32-bit ARM";
    case EM_AARCH64:
        return "AArch64";
    case EM_RISCV:
        return "RISC-V";
    default:
        return "another machine";
    }
}

/* Why what was named is no program at all, in the words of who has to mend it. */
static int refuse_file(const char *path, int r, struct err *err)
{
    char head[4] = "";
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;

    if (r == -ENOENT)
        return err_set(err, r, "%s: no such file; build the harness first, with afl-clang-fast",
                       path);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
        return err_set(err, -EINVAL, "%s is a folder; name the program in it", path);
    if (r == -EACCES && fd >= 0 && pread(fd, head, 4, 0) >= 2 && memcmp(head, ELFMAG, 4) != 0)
        return err_set(err, -EINVAL,
                       memcmp(head, "#!", 2) == 0
                           ? "%s is a script; name the instrumented program that it starts"
                           : "%s is no program; name one built with afl-clang-fast",
                       path);
    if (r == -EACCES && fd >= 0)
        return err_set(err, r, "%s is not executable; chmod +x it", path);
    return r;
}

static int probe(const char *path, struct elfprobe *ret, struct err *err)
{
    int r = elfprobe_read(path, ret, err);

    if (r < 0)
        return refuse_file(path, r, err);
    if (ret->is_script)
        return err_set(err, -EINVAL, "%s is a script; name the instrumented program that it starts",
                       path);
    if (!ret->elf)
        return err_set(err, -EINVAL, "%s is no ELF program; name one built with afl-clang-fast",
                       path);
    if (plan_host_machine() != 0 && ret->machine != plan_host_machine())
        return err_set(err, -EINVAL,
                       "%s is built for %s (ELF machine %d) and this host is %s; rebuild it here",
                       path, machine_name(ret->machine), ret->machine,
                       machine_name(plan_host_machine()));
    return 0;
}

static bool sanitized(const struct elfprobe *e)
{
    return e->asan || e->msan || e->tsan || e->ubsan || e->lsan;
}

/* What a build is good for; a laf build leaves no mark, so its name is believed. DRAFT_ROLES: nothing. */
static enum draft_role role_of(const char *path, const struct elfprobe *e)
{
    const char *name = strrchr(path, '/') + 1, *word = word_at_end(name);

    if (e->coverage)
        return DRAFT_COVERAGE;
    if (!e->instrumented)
        return e->libfuzzer ? DRAFT_ROLES : DRAFT_REPLAY;
    if (e->cmplog)
        return DRAFT_CMPLOG;
    if (sanitized(e))
        return DRAFT_SANITIZER;
    if (word != NULL && (strcmp(word, "laf") == 0 || strcmp(word, "compcov") == 0))
        return DRAFT_LAF;
    return DRAFT_HARNESS;
}

static const char *const role_names[] = {
    [DRAFT_HARNESS] = "harness", [DRAFT_CMPLOG] = "cmplog", [DRAFT_SANITIZER] = "sanitizer",
    [DRAFT_REPLAY] = "replay",   [DRAFT_LAF] = "laf",       [DRAFT_COVERAGE] = "coverage"};

static void take_build(struct draft *d, const char *path, const struct elfprobe *e)
{
    enum draft_role role = role_of(path, e);

    if (role == DRAFT_ROLES) {
        strv_addf(&d->beside, "%s is a libFuzzer build, which afl-fuzz cannot drive",
                  strrchr(path, '/') + 1);
    } else if (d->builds[role].path != NULL) {
        if (strcmp(d->builds[role].path, path) != 0)
            strv_addf(&d->beside, "%s would do for %s too", strrchr(path, '/') + 1,
                      role_names[role]);
    } else {
        d->builds[role].path = xstrdup(path);
        d->builds[role].elf = *e;
    }
}

static void look_at(struct draft *d, const char *path)
{
    struct elfprobe e;
    struct err err = {0};
    struct stat st;

    if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || access(path, X_OK) < 0)
        return;
    if (probe(path, &e, &err) < 0)
        strv_addf(&d->beside, "%s", err.msg);
    else
        take_build(d, path, &e);
}

/* Every file beside that is named as a build of the same target would be. */
static void look_beside(struct draft *d, const char *folder, const char *stem)
{
    static const char seps[] = "-._";

    if (stem[0] != '\0') {
        cleanup_free char *path = path_join(folder, stem);

        look_at(d, path);
    }
    for (size_t i = 0; i < WORDS; i++) {
        for (size_t k = 0; k < (stem[0] == '\0' ? 1 : strlen(seps)); k++) {
            cleanup_free char *path = stem[0] == '\0'
                                          ? path_join(folder, words[i])
                                          : xasprintf("%s/%s%c%s", folder, stem, seps[k], words[i]);

            look_at(d, path);
        }
    }
}

/* afl-fuzz runs one build as harness; without a plain one, what comes nearest. */
static int choose_harness(struct draft *d, const char *program, struct err *err)
{
    static const enum draft_role stand_in[] = {DRAFT_SANITIZER, DRAFT_CMPLOG, DRAFT_LAF};
    struct elfprobe named;
    int r = elfprobe_read(program, &named, err);

    if (r < 0)
        return r;
    for (size_t i = 0;
         d->builds[DRAFT_HARNESS].path == NULL && i < sizeof(stand_in) / sizeof(stand_in[0]); i++) {
        struct draft_build *b = &d->builds[stand_in[i]];

        if (b->path == NULL)
            continue;
        d->builds[DRAFT_HARNESS] = *b;
        *b = (struct draft_build){0};
        strv_addf(&d->missing,
                  "harness is a %s build: a plain one beside it (afl-clang-fast -O2) runs several "
                  "times faster",
                  role_names[stand_in[i]]);
    }
    if (d->builds[DRAFT_HARNESS].path != NULL)
        return 0;
    if (named.libfuzzer)
        return err_set(err, -EINVAL,
                       "%s is a libFuzzer program, which afl-fuzz cannot drive; link the same "
                       "LLVMFuzzerTestOneInput by afl-clang-fast -fsanitize=fuzzer",
                       program);
    return err_set(err, -EINVAL,
                   "%s is not instrumented; build it with CC=afl-clang-fast CXX=afl-clang-fast++ "
                   "(Rust: cargo afl build)",
                   program);
}

/* Whether the program opens a file it is given as its argument. Runs it once. */
static bool opens_argument(const char *program)
{
    char dir[] = "/tmp/fz-init.XXXXXX", events[TRY_BYTES];
    cleanup_close int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    struct strv argv = {0}, env = {0};
    struct proc_result res = {0};
    struct err err = {0};
    bool opened = false;

    if (fd < 0 || mkdtemp(dir) == NULL)
        return false;
    cleanup_free char *input = path_join(dir, "input");
    if (file_write_atomic(AT_FDCWD, input, "", 0, 0600) == 0 &&
        inotify_add_watch(fd, input, IN_OPEN) >= 0) {
        strv_add(&argv, program);
        strv_add(&argv, input);
        strv_addf(&env, "PATH=%s", getenv("PATH") != NULL ? getenv("PATH") : "/usr/bin:/bin");
        strv_addf(&env, "TMPDIR=%s", dir);
        strv_addf(&env, "HOME=%s", dir);
        (void)proc_run(&(struct proc_spec){.argv = &argv,
                                           .env = &env,
                                           .cwd = dir,
                                           .timeout_ms = TRY_MS,
                                           .cpu_limit_s = TRY_MS / 1000,
                                           .fsize_limit_bytes = 1 << 20,
                                           .max_out = TRY_BYTES,
                                           .sweep = true},
                       &res, &err);
        opened = read(fd, events, sizeof(events)) > 0;
    }
    proc_result_clear(&res);
    strv_clear(&argv);
    strv_clear(&env);
    (void)path_remove_tree(dir);
    return opened;
}

static enum draft_input input_of(const struct draft *d)
{
    const struct elfprobe *e = &d->builds[DRAFT_HARNESS].elf;

    if (d->args.n > 0)
        return DRAFT_GIVEN;
    if (e->kit)
        return DRAFT_KIT;
    if (e->driver || (e->persistent && e->shm_testcase))
        return DRAFT_SHM;
    return opens_argument(d->builds[DRAFT_HARNESS].path) ? DRAFT_FILE : DRAFT_STDIN;
}

static bool folder_has_seed(const char *path)
{
    cleanup_dir DIR *dir = opendir(path);
    const struct dirent *de;
    struct stat st;

    while (dir != NULL && (de = readdir(dir)) != NULL) {
        if (strcmp(de->d_name, "README.txt") != 0 &&
            fstatat(dirfd(dir), de->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
            st.st_size > 0)
            return true;
    }
    return false;
}

static void find_seeds(struct draft *d, const char *given, const char *dir, const char *folder)
{
    if (given != NULL) {
        char cwd[PATH_MAX];

        d->seeds = path_resolve(getcwd(cwd, sizeof(cwd)) != NULL ? cwd : "/", given);
        d->seeds_there = folder_has_seed(d->seeds);
        return;
    }
    for (int i = 0; i < 4; i++) {
        char *path = i % 2 == 0 ? xasprintf("%s/seeds/%s", i < 2 ? dir : folder, d->name)
                                : xasprintf("%s/seeds", i < 2 ? dir : folder);

        if (folder_has_seed(path)) {
            d->seeds = path;
            d->seeds_there = true;
            return;
        }
        free(path);
    }
    d->seeds = xasprintf("%s/seeds/%s", dir, d->name);
}

static void find_dict(struct draft *d, const char *given, const char *dir, const char *folder)
{
    if (given != NULL) {
        char cwd[PATH_MAX];

        d->dict = path_resolve(getcwd(cwd, sizeof(cwd)) != NULL ? cwd : "/", given);
        return;
    }
    for (int i = 0; i < 3 && d->dict == NULL; i++) {
        char *path = i == 0 ? xasprintf("%s/dictionaries/%s.dict", dir, d->name)
                            : xasprintf("%s/%s.dict", i == 1 ? dir : folder, d->name);

        if (access(path, R_OK) == 0)
            d->dict = path;
        else
            free(path);
    }
}

static void tell_missing(struct draft *d, const char *dir)
{
    size_t n = strlen(dir);
    bool below = strncmp(d->seeds, dir, n) == 0 && d->seeds[n] == '/';
    const struct elfprobe *e = &d->builds[DRAFT_HARNESS].elf;

    if (!d->seeds_there)
        strv_addf(&d->missing,
                  "%s needs at least one file that is not empty: small valid inputs are best",
                  below ? d->seeds + n + 1 : d->seeds);
    if (d->input == DRAFT_STDIN)
        strv_addf(&d->missing, "it did not open the file it was given, so it gets its input on "
                               "standard input; else set args, with @@ for the file");
    if (d->builds[DRAFT_CMPLOG].path == NULL)
        strv_addf(&d->missing, "no cmplog build beside it (AFL_LLVM_CMPLOG=1): magic values are "
                               "found slowly");
    if (d->builds[DRAFT_SANITIZER].path == NULL && !sanitized(e))
        strv_addf(&d->missing, "no sanitizer build beside it (AFL_USE_ASAN=1): silent memory "
                               "errors are not seen");
    if (!e->persistent)
        strv_addf(&d->missing, "it has no persistent loop (__AFL_LOOP): about 10 times slower");
    if (e->is_static)
        strv_addf(&d->missing, "it is static: the memory limit holds for its instance as a whole");
}

int draft_gather(const char *program, const struct strv *args, const char *seeds, const char *dict,
                 const char *dir, struct draft *ret, struct err *err)
{
    struct draft d = {0};
    struct elfprobe e;
    char real[PATH_MAX];
    int r = probe(program, &e, err);

    if (r < 0)
        return r;
    if (realpath(program, real) == NULL)
        return err_sys(err, -errno, "%s", program);
    cleanup_free char *folder = path_dirname(real), *stem = NULL;
    const char *base = strrchr(real, '/') + 1, *word = word_at_end(base);
    stem = word == NULL   ? xstrdup(base)
           : word == base ? xstrdup("")
                          : xstrndup(base, (size_t)(word - base - 1));
    const char *up = strrchr(folder, '/');
    d.name = name_from(stem[0] != '\0' ? stem : up != NULL && up[1] != '\0' ? up + 1 : "target");
    if (!e.libfuzzer || e.instrumented)
        take_build(&d, real, &e); /* what was named comes first for what it is */
    look_beside(&d, folder, stem);
    strv_copy(&d.args, args);
    r = choose_harness(&d, program, err);
    if (r < 0) {
        draft_clear(&d);
        return r;
    }
    d.input = input_of(&d);
    find_seeds(&d, seeds, dir, folder);
    find_dict(&d, dict, dir, folder);
    tell_missing(&d, dir);
    *ret = d;
    return 0;
}

void draft_clear(struct draft *d)
{
    for (size_t i = 0; i < DRAFT_ROLES; i++)
        free(d->builds[i].path);
    free(d->name);
    free(d->seeds);
    free(d->dict);
    strv_clear(&d->args);
    strv_clear(&d->beside);
    strv_clear(&d->missing);
    *d = (struct draft){0};
}
