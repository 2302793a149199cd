/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The document of fuzzctl replay as lines for people and as JUnit XML for a build
 * server. Names of files and what targets say come from outside: nothing is printed
 * that could steer a terminal or end an attribute.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "ctl/replay_target.h"
#include "report/fields.h"

#define OUTSIDE "the replay"

static bool passed(const json_t *in)
{
    return strcmp(fields_text(in, "class"), "pass") == 0;
}

static void print_failure(const json_t *t, const json_t *in, FILE *out)
{
    (void)fputs("FAIL ", out);
    fields_print(out, t, "name");
    (void)fputc(' ', out);
    fields_print(out, in, "file");
    (void)fputs(": ", out);
    fields_print(out, in, "class");
    if (fields_text(in, "inv")[0] != '\0') {
        (void)fputc(' ', out);
        fields_print(out, in, "inv");
    }
    if (fields_text(in, "detail")[0] != '\0') {
        (void)fputs(": ", out);
        fields_print(out, in, "detail");
    }
    (void)fputs("; again: ", out);
    fields_print(out, in, "again");
    (void)fputc('\n', out);
}

static bool has_no_inputs(const json_t *t)
{
    return json_array_size(json_object_get(t, "inputs")) == 0 &&
           json_array_size(json_object_get(t, "errors")) == 0;
}

void replay_print_text(const json_t *t, bool quiet, FILE *out)
{
    const json_t *list, *v;
    size_t i, required = json_array_size(json_object_get(t, "reach_required"));
    size_t missing = json_array_size(json_object_get(t, "reach_missing"));

    json_array_foreach (json_object_get(t, "inputs"), i, v) {
        if (!passed(v))
            print_failure(t, v, out);
    }
    json_array_foreach (json_object_get(t, "errors"), i, v) {
        cleanup_free char *text = fields_safe(json_string_value(v));

        (void)fprintf(out, "ERROR %s: %s\n", fields_text(t, "name"), text);
    }
    list = json_object_get(t, "reach_missing");
    json_array_foreach (list, i, v) {
        cleanup_free char *id = fields_safe(json_string_value(v));

        (void)fprintf(out, "VACUOUS %s: no input reaches the required id \"%s\"\n",
                      fields_text(t, "name"), id);
    }
    if (has_no_inputs(t))
        (void)fprintf(out, "VACUOUS %s: no inputs\n", fields_text(t, "name"));
    if (quiet)
        return;
    (void)fprintf(out, "%s: %lld passed, %lld failed", fields_text(t, "name"),
                  (long long)fields_int(t, "passed"), (long long)fields_int(t, "failed"));
    if (fields_int(t, "left") > 0)
        (void)fprintf(out, ", %lld not run", (long long)fields_int(t, "left"));
    if (required > 0)
        (void)fprintf(out, ", %zu of %zu required ids reached", required - missing, required);
    (void)fputc('\n', out);
}

/* XML 1.0 has no room for control bytes, nor for two code points at the end of the plane. */
static void put_xml(FILE *out, const char *text)
{
    cleanup_free char *safe = fields_safe(text);

    for (const unsigned char *p = (const unsigned char *)safe; *p != '\0'; p++) {
        switch (*p) {
        case '&':
            (void)fputs("&amp;", out);
            break;
        case '<':
            (void)fputs("&lt;", out);
            break;
        case '>':
            (void)fputs("&gt;", out);
            break;
        case '"':
            (void)fputs("&quot;", out);
            break;
        case 0xef:
            if (p[1] == 0xbf && (p[2] == 0xbe || p[2] == 0xbf)) {
                (void)fputc('?', out);
                p += 2;
                break;
            }
            (void)fputc(*p, out);
            break;
        default:
            (void)fputc(*p, out);
            break;
        }
    }
}

static void put_case(FILE *out, const json_t *t, const char *name, double ms)
{
    (void)fputs("    <testcase classname=\"", out);
    put_xml(out, fields_text(t, "name"));
    (void)fputs("\" name=\"", out);
    put_xml(out, name);
    (void)fprintf(out, "\" time=\"%.3f\"", ms / 1000.0);
}

/* A testcase that did not pass; what: "failure" or "error". */
static void put_bad(FILE *out, const json_t *t, const char *name, double ms, const char *what,
                    const char *type, const char *message, const char *text)
{
    put_case(out, t, name, ms);
    (void)fprintf(out, ">\n      <%s type=\"", what);
    put_xml(out, type);
    (void)fputs("\" message=\"", out);
    put_xml(out, message);
    (void)fputs("\">", out);
    put_xml(out, text);
    (void)fprintf(out, "</%s>\n    </testcase>\n", what);
}

static void put_input(FILE *out, const json_t *t, const json_t *in)
{
    const char *inv = fields_text(in, "inv"), *detail = fields_text(in, "detail");
    cleanup_free char *message = NULL;

    if (passed(in)) {
        put_case(out, t, fields_text(in, "file"), fields_real(in, "ms"));
        (void)fputs("/>\n", out);
        return;
    }
    message = xasprintf("%s%s%s%s%s", fields_text(in, "class"), inv[0] != '\0' ? " " : "", inv,
                        detail[0] != '\0' ? ": " : "", detail);
    put_bad(out, t, fields_text(in, "file"), fields_real(in, "ms"), "failure",
            fields_text(in, "class"), message, fields_text(in, "again"));
}

static size_t count_failed(const json_t *t)
{
    const json_t *in;
    size_t i, n = json_array_size(json_object_get(t, "reach_missing"));

    json_array_foreach (json_object_get(t, "inputs"), i, in)
        n += !passed(in);
    return n + (has_no_inputs(t) ? 1 : 0);
}

static size_t count_tests(const json_t *t)
{
    return json_array_size(json_object_get(t, "inputs")) +
           json_array_size(json_object_get(t, "errors")) +
           json_array_size(json_object_get(t, "reach_required")) + (has_no_inputs(t) ? 1 : 0);
}

static bool holds(const json_t *list, const json_t *id)
{
    const json_t *v;
    size_t i;

    json_array_foreach (list, i, v) {
        if (json_equal(v, id))
            return true;
    }
    return false;
}

static void put_suite(FILE *out, const json_t *t)
{
    const json_t *v, *missing = json_object_get(t, "reach_missing");
    size_t i;

    (void)fputs("  <testsuite name=\"", out);
    put_xml(out, fields_text(t, "name"));
    (void)fprintf(out, "\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" time=\"%.3f\">\n",
                  count_tests(t), count_failed(t), json_array_size(json_object_get(t, "errors")),
                  fields_real(t, "ms") / 1000.0);
    json_array_foreach (json_object_get(t, "inputs"), i, v)
        put_input(out, t, v);
    json_array_foreach (json_object_get(t, "errors"), i, v)
        put_bad(out, t, OUTSIDE, 0, "error", "error", json_string_value(v), "");
    json_array_foreach (json_object_get(t, "reach_required"), i, v) {
        cleanup_free char *name = xasprintf("reach %s", json_string_value(v));

        if (holds(missing, v)) {
            put_bad(out, t, name, 0, "failure", "vacuous", "no input reaches it", "");
        } else {
            put_case(out, t, name, 0);
            (void)fputs("/>\n", out);
        }
    }
    if (has_no_inputs(t))
        put_bad(out, t, OUTSIDE, 0, "failure", "vacuous", "no inputs", "");
    (void)fputs("  </testsuite>\n", out);
}

void replay_print_junit(const json_t *doc, FILE *out)
{
    const json_t *t, *targets = json_object_get(doc, "targets");
    size_t i, tests = 0, failures = 0, errors = 0;
    double ms = 0;

    json_array_foreach (targets, i, t) {
        tests += count_tests(t);
        failures += count_failed(t);
        errors += json_array_size(json_object_get(t, "errors"));
        ms += fields_real(t, "ms");
    }
    (void)fprintf(out,
                  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                  "<testsuites name=\"fuzzctl replay\" tests=\"%zu\" failures=\"%zu\" "
                  "errors=\"%zu\" time=\"%.3f\">\n",
                  tests, failures, errors, ms / 1000.0);
    json_array_foreach (targets, i, t)
        put_suite(out, t);
    (void)fputs("</testsuites>\n", out);
}
