/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From what a program wrote to stderr to a class and a signature. The first two
 * bytes of the input say how it ended and whose it was, the rest is the text. What
 * comes out is of the known classes, printable and bounded; the marker, by which
 * repro.sh tells the failure, stands in the text; and what the harness itself said
 * is not overridden by a report behind it.
 */
#include <signal.h>
#include <stdlib.h>

#include "selftest/check.h"
#include "triage/classify.h"
#include "triage/report_sanitizer.h"
#include "triage/signature.h"

static const char *const ids[] = {"R1", "R2", "R3", "R4", "R5", "R6", "R7", "R8", NULL};
static const char *const reach[] = {"kit", "sanitizer", "libc", "signal", "limit", "nothing", NULL};
const struct fz_target fz_target = {"selftest-report", 256u << 20, ids, reach, NULL};

static const char asan_report[] =
    "\n==9==ERROR: AddressSanitizer: heap-use-after-free on address 0x602000000010\n"
    "READ of size 1 at 0x602000000010 thread T0\n    #0 0x55 in late_frame /src/x.c:1:2\n";

/* How the run ended, from one byte. */
static struct replay_run run_of(uint8_t how)
{
    static const int signals[] = {SIGABRT, SIGSEGV, SIGUSR1, SIGUSR2, SIGTRAP, SIGXFSZ, SIGFPE, 50};
    static const int codes[] = {0, 1, 101, 77};
    struct replay_run run;

    memset(&run, 0, sizeof(run));
    run.end = (enum replay_end)(how >> 6);
    if (run.end == REPLAY_SIGNAL)
        run.code = signals[how % 8];
    else if (run.end == REPLAY_EXIT)
        run.code = codes[how % 4];
    if (how & 8) {
        memcpy(run.pc_module, "libx.so.1", sizeof("libx.so.1"));
        run.pc_offset = 0x12ab;
    }
    return run;
}

static bool one_of(const char *word, const char *const *list)
{
    for (; *list != NULL; list++) {
        if (strcmp(word, *list) == 0)
            return true;
    }
    return false;
}

static void reach_evidence(enum evidence e)
{
    switch (e) {
    case EVIDENCE_NONE:
        FZ_REACH(nothing);
        break;
    case EVIDENCE_LIMIT:
        FZ_REACH(limit);
        break;
    case EVIDENCE_EXIT:   /* by the target's environment, never by its text */
    case EVIDENCE_PARENT: /* by what ran it */
        break;
    case EVIDENCE_SIGNAL:
        FZ_REACH(signal);
        break;
    case EVIDENCE_LIBC:
        FZ_REACH(libc);
        break;
    case EVIDENCE_SANITIZER:
        FZ_REACH(sanitizer);
        break;
    case EVIDENCE_KIT:
        FZ_REACH(kit);
        break;
    }
}

static void check_words(const struct replay_run *run, const struct verdict_of_run *v)
{
    static const char *const classes[] = {
        "none", "crash", "oom", "timeout", "invariant", "determinism", "internal", "limit", NULL};
    bool none = strcmp(v->class_, "none") == 0;

    MUST(memchr(v->class_, '\0', sizeof(v->class_)) != NULL && one_of(v->class_, classes), "R1",
         "the class is %.24s", v->class_);
    MUST(is_printable(v->kind, sizeof(v->kind)) &&
             is_printable(v->signature, sizeof(v->signature)) &&
             is_printable(v->why, sizeof(v->why)) && is_printable(v->marker, sizeof(v->marker)),
         "R2", "words that are not printable");
    MUST(none == (v->signature[0] == '\0') && none == (v->severity == 0) &&
             none == (v->evidence == EVIDENCE_NONE) && none == (v->kind[0] == '\0'),
         "R3", "class %s with signature %.60s and severity %d", v->class_, v->signature,
         v->severity);
    MUST(v->severity >= 0 && v->severity <= 5, "R3", "severity %d", v->severity);
    MUST(run->end != REPLAY_EXIT || run->code != 0 || none, "R4", "exit 0 is %s", v->class_);
    MUST(run->end == REPLAY_EXIT || !none, "R4", "a run that did not exit is nothing");
    MUST(v->marker[0] == '\0' || strstr(run->err_text, v->marker) != NULL, "R5",
         "the text does not hold the marker \"%s\"", v->marker);
}

static void check_report(const char *text)
{
    struct report *r = malloc(sizeof(*r));

    if (r != NULL && report_sanitizer_parse(text, r)) {
        MUST(is_printable(r->tool, sizeof(r->tool)) && is_printable(r->kind, sizeof(r->kind)) &&
                 is_printable(r->access, sizeof(r->access)) &&
                 is_printable(r->place, sizeof(r->place)) && r->tool[0] != '\0' &&
                 r->kind[0] != '\0',
             "R6", "a report without its words");
        MUST(r->n_frames <= REPORT_FRAMES_MAX, "R6", "%zu frames", r->n_frames);
        for (size_t i = 0; i < r->n_frames; i++)
            MUST(is_printable(r->frames[i].func, sizeof(r->frames[i].func)) &&
                     is_printable(r->frames[i].file, sizeof(r->frames[i].file)) &&
                     is_printable(r->frames[i].module, sizeof(r->frames[i].module)),
                 "R6", "frame %zu is not printable", i);
    }
    free(r);
}

/* R7: a second look gives the same; what the harness said stays said. */
static void check_again(const struct replay_run *run, const struct verdict_of_run *v)
{
    size_t n = strlen(run->err_text);
    struct replay_run longer = *run;
    struct verdict_of_run again;

    longer.err_text = malloc(n + sizeof(asan_report));
    if (longer.err_text == NULL)
        return;
    memcpy(longer.err_text, run->err_text, n);
    memcpy(longer.err_text + n, asan_report, sizeof(asan_report));
    classify_run(&longer, "mylib", "0123456789abcdef", &again);
    if (run->end != REPLAY_EXIT || run->code != 0)
        MUST(again.evidence >= EVIDENCE_SANITIZER, "R7", "a report behind the text is not seen");
    if (v->evidence == EVIDENCE_KIT)
        MUST(strcmp(again.signature, v->signature) == 0 && strcmp(again.class_, v->class_) == 0,
             "R7", "\"%.80s\" became \"%.80s\"", v->signature, again.signature);
    free(longer.err_text);
}

int fz_one(const uint8_t *d, size_t n)
{
    struct replay_run run;
    struct verdict_of_run v, v2;
    char bucket[13], func[160];

    if (n < 2)
        return 0;
    run = run_of(d[0]);
    run.err_text = malloc(n - 1);
    if (run.err_text == NULL)
        return 0;
    /* As replay hands it on: without NUL bytes. */
    for (size_t i = 2; i < n; i++)
        run.err_text[i - 2] = d[i] != '\0' ? (char)d[i] : '?';
    run.err_text[n - 2] = '\0';

    classify_run(&run, "mylib", d[1] & 1 ? "0123456789abcdef" : "", &v);
    classify_run(&run, "mylib", d[1] & 1 ? "0123456789abcdef" : "", &v2);
    MUST(memcmp(&v, &v2, sizeof(v)) == 0, "R7", "two looks at one run differ");
    check_words(&run, &v);
    check_report(run.err_text);
    check_again(&run, &v);
    reach_evidence(v.evidence);
    signature_bucket("mylib", v.signature, bucket);
    MUST(strspn(bucket, "0123456789abcdef") == 12 && bucket[12] == '\0', "R8", "bucket %.12s",
         bucket);
    /* Names are made short once and for all. */
    signature_function(func, sizeof(func), run.err_text);
    MUST(strnlen(func, sizeof(func)) < sizeof(func), "R8", "a name is not terminated");
    fz_trace(v.signature, strlen(v.signature));
    fz_trace(v.kind, strlen(v.kind));
    free(run.err_text);
    return 0;
}
