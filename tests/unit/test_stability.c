/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stability of a program that keeps state on purpose: each kind is found with what brings it about, what sets itself up
 * once is none, and equal seeds give equal answers.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/path.h"
#include "corpus/job_stability.h"
#include "corpus/inputs.h"
#include "corpus/stability.h"
#include "report/stability.h"

#define CANARY_EDGES 3

static char dir[] = "/tmp/fz-stability.XXXXXX";
static char *program;
static volatile sig_atomic_t stop;

static void write_input(struct inputs *inputs, const char *text)
{
    cleanup_free char *path = xasprintf("%s/%zu-%.8s", dir, inputs->n, text);

    assert_int_equal(file_write_atomic(-100, path, text, strlen(text), 0600), 0);
    inputs_add_file(inputs, path);
}

/* Inputs are the words of a line. */
static void words(struct inputs *inputs, const char *line)
{
    cleanup_free char *copy = xstrdup(line);
    char *p = copy, *word;

    inputs_clear(inputs);
    while ((word = strsep(&p, " ")) != NULL)
        write_input(inputs, word);
}

static int runs; /* 0: as usual */

static struct stability_result check(const struct inputs *inputs, uint64_t seed, int64_t budget_ms)
{
    const struct stability_opts o = {
        .program = {.path = program, .persistent = true, .deferred = true, .run_ms = 300},
        .inputs = inputs,
        .runs = runs,
        .seed = seed,
        .budget_ms = budget_ms};
    struct stability_result r;
    struct err err = {0};

    if (stability_run(&o, &r, &err) < 0)
        fail_msg("%s", err.msg);
    return r;
}

static const struct stability_finding *finding(const struct stability_result *r, size_t index)
{
    for (size_t i = 0; i < r->n_findings; i++) {
        if (r->findings[i].index == index)
            return &r->findings[i];
    }
    fail_msg("nothing was found of input %zu", index);
    return NULL;
}

static void assert_stable(const struct stability_result *r, size_t inputs)
{
    assert_int_equal(r->checked, inputs);
    assert_int_equal(r->n_findings, 0);
    assert_int_equal(r->n_unstable, 0);
    assert_int_equal(r->unrepeated, 0);
    assert_int_equal(r->left, 0);
    assert_true(r->smallest == SIZE_MAX);
    assert_true(r->edges > CANARY_EDGES);
}

static void what_has_no_state_is_stable(void **state)
{
    struct inputs inputs = {0};

    (void)state;
    words(&inputs, "abc xyz zzzz aaaaaaaaaaaaaaaaaaaaaaa A L mnop");
    for (uint64_t seed = 0; seed < 3; seed++) {
        struct stability_result r = check(&inputs, seed, 0);

        assert_stable(&r, 7);
        stability_result_clear(&r);
    }
    inputs_clear(&inputs);
}

static void what_is_set_up_once_piece_by_piece_is_no_state(void **state)
{
    struct inputs inputs = {0};

    (void)state;
    words(&inputs, "i0 i01 i012 i0123 i77 i7654 i1 i3333 i24 i1357 A i0246 iiii ijk");
    for (uint64_t seed = 0; seed < 10; seed++) {
        struct stability_result r = check(&inputs, seed, 0);

        assert_stable(&r, 14);
        stability_result_clear(&r);
    }
    inputs_clear(&inputs);
}

static void a_branch_after_another_input_is_found_with_it(void **state)
{
    struct inputs inputs = {0};

    (void)state;
    words(&inputs, "abc sssssss r xyz sss i0");
    for (uint64_t seed = 0; seed < 5; seed++) {
        struct stability_result r = check(&inputs, seed, 0);
        const struct stability_finding *f = finding(&r, 2);

        assert_int_equal(r.n_findings, 1);
        assert_int_equal(f->kind, STABILITY_STATEFUL);
        assert_int_equal(f->alone.end, FORKSERVER_OK);
        assert_int_equal(f->other.end, FORKSERVER_OK);
        assert_true(f->n_edges > 0 && f->repeats);
        assert_int_equal(f->n_after, 1);
        assert_int_equal(f->after[0], 4); /* the smaller of two */
        assert_int_equal(r.smallest, 0);
        assert_int_equal(r.n_unstable, 0);
        stability_result_clear(&r);
    }
    inputs_clear(&inputs);
}

static void a_crash_after_another_input_is_found_with_it(void **state)
{
    struct inputs inputs = {0};

    (void)state;
    words(&inputs, "x abc xx p xyz ppppp xab");
    for (uint64_t seed = 0; seed < 5; seed++) {
        struct stability_result r = check(&inputs, seed, 0);

        /* Though each that dies takes the state along. */
        assert_int_equal(r.count[STABILITY_STATEFUL], 4);
        for (size_t i = 0; i < 7; i += 2) {
            const struct stability_finding *f = finding(&r, i);

            assert_int_equal(f->alone.end, FORKSERVER_OK);
            assert_int_equal(f->other.end, FORKSERVER_CRASH);
            assert_int_equal(f->other.signo, SIGABRT);
            assert_int_equal(f->n_after, 1);
            assert_int_equal(f->after[0], 3);
        }
        assert_int_equal(r.findings[r.smallest].index, 0);
        stability_result_clear(&r);
    }
    inputs_clear(&inputs);
}

static void a_row_of_inputs_is_found_in_its_order(void **state)
{
    struct inputs inputs = {0};
    size_t told = 0;

    (void)state;
    words(&inputs, "y abc 1 zzz 2 xyz i0 k");
    for (uint64_t seed = 0; seed < 12; seed++) {
        struct stability_result r = check(&inputs, seed, 0);

        /* An order and its reverse hold 1, 2, y in that order, or not. */
        if (r.n_findings > 0) {
            const struct stability_finding *f = finding(&r, 0);

            told++;
            assert_int_equal(f->other.signo, SIGABRT);
            assert_int_equal(f->n_after, 2);
            assert_int_equal(f->after[0], 2);
            assert_int_equal(f->after[1], 4);
        }
        stability_result_clear(&r);
    }
    assert_true(told > 0);
    inputs_clear(&inputs);
}

static void what_depends_on_how_often_it_is_run_is_stateful_by_itself(void **state)
{
    struct inputs inputs = {0};
    struct stability_result r;
    const struct stability_finding *f;

    (void)state;
    words(&inputs, "abc c xyz cc");
    r = check(&inputs, 1, 0);
    assert_int_equal(r.count[STABILITY_STATEFUL], 2);
    f = finding(&r, 1);
    assert_int_equal(f->n_after, 1);
    assert_int_equal(f->after[0], 1);
    assert_true(r.n_unstable > 0);
    assert_int_equal(r.unstable[0].inputs, 2);
    assert_int_equal(r.unstable[0].stateful, 2);
    stability_result_clear(&r);
    inputs_clear(&inputs);
}

static void chance_is_told_from_state(void **state)
{
    struct inputs inputs = {0};
    struct stability_result r;

    (void)state;
    words(&inputs, "abc ? f xyz ??");
    runs = 60; /* enough heads and tails */
    r = check(&inputs, 1, 0);
    runs = 0;
    assert_int_equal(r.count[STABILITY_STATEFUL], 0);
    assert_int_equal(r.count[STABILITY_FLAKY], 1);
    assert_int_equal(finding(&r, 2)->kind, STABILITY_FLAKY);
    assert_int_equal(r.count[STABILITY_UNSTABLE], 2);
    assert_int_equal(finding(&r, 1)->kind, STABILITY_UNSTABLE);
    assert_true(r.n_unstable > 0);
    assert_int_equal(r.unstable[0].inputs, 2);
    assert_int_equal(r.unstable[0].stateful, 0);
    assert_true(r.smallest == SIZE_MAX);
    stability_result_clear(&r);
    inputs_clear(&inputs);
}

static void equal_seeds_give_equal_answers(void **state)
{
    struct inputs inputs = {0};
    struct stability_opts o = {.inputs = &inputs};

    (void)state;
    words(&inputs, "abc s r xyz p x i0 1 2 y c k iabc A rr rrr");
    for (uint64_t seed = 0; seed < 3; seed++) {
        struct stability_result a = check(&inputs, seed, 0), b = check(&inputs, seed, 0);
        json_t *x = stability_json(&o, &a, 100), *y = stability_json(&o, &b, 100);

        assert_true(json_equal(x, y));
        assert_int_equal(json_integer_value(json_object_get(x, "inputs")), 16);
        json_decref(x);
        json_decref(y);
        stability_result_clear(&a);
        stability_result_clear(&b);
    }
    inputs_clear(&inputs);
}

static void what_cannot_be_read_or_done_in_time_is_told(void **state)
{
    struct inputs inputs = {0};
    struct stability_result r;
    cleanup_free char *none = path_join(dir, "none");

    (void)state;
    words(&inputs, "abc xyz");
    inputs_add_file(&inputs, none);
    inputs_add_file(&inputs, dir);
    r = check(&inputs, 1, 0);
    assert_int_equal(r.checked, 2);
    assert_int_equal(r.unread, 2);
    assert_int_equal(r.unread_index[0], 2);
    assert_int_equal(r.unread_index[1], 3);
    assert_int_equal(r.unread_code[0], -ENOENT);
    assert_string_equal(inputs_why(r.unread_code[1]), "not a regular file");
    stability_result_clear(&r);
    words(&inputs, "L LL LLL LLLL LLLLL abc");
    r = check(&inputs, 1, 1000);
    assert_true(r.over);
    assert_true(r.left > 0);
    assert_int_equal(r.left + r.checked, 6);
    stability_result_clear(&r);
    inputs_clear(&inputs);
}

static void what_was_asked_to_stop_or_does_not_start_is_no_answer(void **state)
{
    struct inputs inputs = {0};
    struct stability_opts o = {.program = {.path = program, .persistent = true, .deferred = true},
                               .inputs = &inputs,
                               .cancel = &stop};
    struct stability_result r;
    struct err err = {0};

    (void)state;
    words(&inputs, "abc");
    stop = SIGINT;
    assert_int_equal(stability_run(&o, &r, &err), -ECANCELED);
    stop = 0;
    o.program.path = "/bin/true";
    assert_int_equal(stability_run(&o, &r, &err), -EPIPE);
    assert_non_null(strstr(err.msg, "/bin/true"));
    inputs_clear(&inputs);
}

/* As fuzz-triage runs it: the kept corpus, else the queues. */
static void a_job_looks_at_the_kept_corpus_or_the_queues(void **state)
{
    cleanup_free char *kept = path_join(dir, "kept"), *queue = path_join(dir, "queue");
    cleanup_free char *one = path_join(kept, "s"), *two = path_join(kept, "r"),
                      *three = path_join(queue, "abc");
    json_t *job =
        json_pack("{s:s, s:s, s:[s], s:{s:s}, s:i, s:i}", "job", "shuffle", "kept", kept, "inputs",
                  queue, "program", "path", program, "timeout_ms", 1000, "budget_ms", 20000);
    json_t *answer = job_stability_run(job);

    (void)state;
    assert_true(json_is_true(json_object_get(answer, "ok")));
    assert_int_equal(json_integer_value(json_object_get(answer, "inputs")), 0);
    json_decref(answer);
    assert_int_equal(mkdir(queue, 0700), 0);
    assert_int_equal(file_write_atomic(-100, three, "abc", 3, 0600), 0);
    answer = job_stability_run(job);
    assert_true(json_is_false(json_object_get(answer, "kept")));
    assert_int_equal(json_integer_value(json_object_get(answer, "checked")), 1);
    json_decref(answer);
    assert_int_equal(mkdir(kept, 0700), 0);
    assert_int_equal(file_write_atomic(-100, one, "s", 1, 0600), 0);
    assert_int_equal(file_write_atomic(-100, two, "r", 1, 0600), 0);
    answer = job_stability_run(job);
    assert_true(json_is_true(json_object_get(answer, "kept")));
    assert_int_equal(json_integer_value(json_object_get(answer, "stateful")), 1);
    json_decref(answer);
    (void)json_object_set_new(job, "program", json_pack("{s:s}", "path", "/bin/true"));
    answer = job_stability_run(job);
    assert_true(json_is_false(json_object_get(answer, "ok")));
    json_decref(answer);
    json_decref(job);
}

static char *printed(const json_t *j)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    assert_non_null(f);
    stability_print(j, "", 2, f);
    (void)fclose(f);
    return text;
}

static void an_odd_document_is_printed_all_the_same(void **state)
{
    json_t *none = json_object();
    json_t *odd = json_pack("{s:i, s:s, s:[i,{s:s,s:s,s:[i,s],s:i},n,n], s:[s,{s:s}], s:[{s:i}]}",
                            "stateful", 7, "unstable", "x", "findings", 1, "kind", "st\033[2J",
                            "alone", "a\nb", "after", 4, "z", "edges_total", -3, "smallest_pair",
                            "p", "hex", "00\n", "unstable_edges", "id", 3);
    cleanup_free char *a = printed(none), *b = printed(odd), *line = stability_line(odd);
    cleanup_free char *bare = stability_line(none);

    (void)state;
    assert_string_equal(a, "");
    assert_null(strchr(b, '\033'));
    assert_non_null(strstr(b, "5 more\n"));
    assert_non_null(strstr(line, "7 stateful"));
    assert_non_null(strstr(bare, "nothing is known"));
    json_decref(none);
    json_decref(odd);
}

static void a_file_that_is_named_by_its_hash_is_told_by_twelve_digits(void **state)
{
    static const char hash[] = "0123456789ab0123456789ab0123456789ab0123456789ab0123456789abcdef";
    json_t *j =
        json_pack("{s:i, s:i, s:i, s:[{s:s,s:s,s:s,s:s,s:[s,s]}], s:[{s:s,s:s,s:i}]}", "checked", 1,
                  "runs_each", 8, "stateful", 1, "findings", "kind", "stateful", "alone", "ok",
                  "other", "ok", "file", hash, "after", hash, "id:000001,orig:one", "smallest_pair",
                  "file", hash, "hex", "00", "size", 1);
    cleanup_free char *text = printed(j), *line = stability_line(j);

    (void)state;
    assert_null(strstr(text, "0123456789ab0"));
    assert_non_null(strstr(text, "stateful: 0123456789ab: its map differs after 0123456789ab and "
                                 "id:000001,orig:one\n"));
    assert_non_null(strstr(text, "smallest pair: 0123456789ab (1 byte) 00\n"));
    assert_non_null(strstr(line, "1 input run 8 times each"));
    json_decref(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_has_no_state_is_stable),
        cmocka_unit_test(what_is_set_up_once_piece_by_piece_is_no_state),
        cmocka_unit_test(a_branch_after_another_input_is_found_with_it),
        cmocka_unit_test(a_crash_after_another_input_is_found_with_it),
        cmocka_unit_test(a_row_of_inputs_is_found_in_its_order),
        cmocka_unit_test(what_depends_on_how_often_it_is_run_is_stateful_by_itself),
        cmocka_unit_test(chance_is_told_from_state),
        cmocka_unit_test(equal_seeds_give_equal_answers),
        cmocka_unit_test(what_cannot_be_read_or_done_in_time_is_told),
        cmocka_unit_test(a_job_looks_at_the_kept_corpus_or_the_queues),
        cmocka_unit_test(an_odd_document_is_printed_all_the_same),
        cmocka_unit_test(a_file_that_is_named_by_its_hash_is_told_by_twelve_digits),
        cmocka_unit_test(what_was_asked_to_stop_or_does_not_start_is_no_answer),
    };
    cleanup_free char *self = path_self_dir();
    int failed;

    if (mkdtemp(dir) == NULL)
        return 1;
    program = path_join(self, "../engine/stateful");
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    path_remove_tree(dir);
    free(program);
    return failed;
}
