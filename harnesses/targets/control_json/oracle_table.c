/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The oracle's table of messages. Numbers are compared as decimal text, names of
 * signals by a walk over all of them.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "oracle.h"

/* Whether a string token reads as the word, which is short. */
static bool reads_as(const struct text *t, struct token s, const char *text)
{
    uint8_t out[16 * 6];
    size_t n = strlen(text);

    if (t->d[s.start] != '"' || s.end - s.start > n * 6 + 2 || s.end - s.start < n + 2)
        return false;
    return oracle_unescape(t, s, out) == n && memcmp(out, text, n) == 0;
}

bool oracle_is_decimal(const struct text *t, struct token token, long long v)
{
    char text[32];
    int n = snprintf(text, sizeof(text), "%lld", v);

    return (size_t)n == token.end - token.start && memcmp(t->d + token.start, text, (size_t)n) == 0;
}

bool oracle_in_range(const struct text *t, struct token token, bool u16)
{
    const char *s = (const char *)t->d + token.start;
    size_t n = token.end - token.start;
    const char *most = u16 ? "65535" : "2147483647";

    if (n > 0 && *s == '-') {
        most = u16 ? "" : "2147483648";
        s++;
        n--;
        if (n > 0 && *s == '0')
            return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (s[i] < '0' || s[i] > '9')
            return false;
    }
    return n > 0 && (n < strlen(most) || (n == strlen(most) && memcmp(s, most, n) <= 0));
}

int oracle_signal(const uint8_t *name, size_t n)
{
    static const char *const names[] = {"USR2", "USR1", "TERM", "SEGV", "QUIT", "PIPE", "KILL",
                                        "INT",  "ILL",  "HUP",  "FPE",  "ALRM", "ABRT"};
    static const int numbers[] = {SIGUSR2, SIGUSR1, SIGTERM, SIGSEGV, SIGQUIT, SIGPIPE, SIGKILL,
                                  SIGINT,  SIGILL,  SIGHUP,  SIGFPE,  SIGALRM, SIGABRT};
    int found = 0;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strlen(names[i]) == n && memcmp(names[i], name, n) == 0)
            found = numbers[i];
    }
    return found;
}

static bool is_string(const struct text *t, const struct member *m)
{
    return t->d[m->value.start] == '"';
}

/* The member of the name: NULL when there is none; *twice when there is another. */
static struct member *member_named(struct text *t, const char *name, bool *twice)
{
    struct member *found = NULL;

    for (size_t i = 0; i < t->member_count; i++) {
        if (!reads_as(t, t->members[i].key, name))
            continue;
        if (found == NULL)
            found = &t->members[i];
        else
            *twice = true;
    }
    return found;
}

static enum ctl_kind kind_of(const struct text *t, const struct member *type)
{
    static const char *const names[] = {"resize", "signal", "eof", "exit"};
    static const enum ctl_kind kinds[] = {CTL_RESIZE, CTL_SIGNAL, CTL_EOF, CTL_EXIT};

    for (size_t i = 0; i < 4; i++) {
        if (reads_as(t, type->value, names[i]))
            return kinds[i];
    }
    return CTL_NONE;
}

/* A number of the message; what it must be goes into m->want. */
static void number_want(struct message *m, struct text *t, size_t i, const char *name, bool u16,
                        bool *wrong)
{
    struct member *member = member_named(t, name, wrong);
    uint8_t first = member != NULL ? t->d[member->value.start] : 0;

    m->numbers[i] = member;
    if (member == NULL)
        return;
    if (first != '-' && (first < '0' || first > '9'))
        *wrong = true;
    else if (!oracle_in_range(t, member->value, u16))
        m->want = WANT_RANGE;
}

static void first_of(struct message *m, struct member *member)
{
    if (member != NULL && (m->first == NULL || member < m->first))
        m->first = member;
}

void oracle_message(struct message *m, struct text *t)
{
    bool wrong = false;
    struct member *type;

    m->want = WANT_ERROR;
    m->kind = CTL_NONE;
    m->first = m->name = NULL;
    memset(m->numbers, 0, sizeof(m->numbers));
    memset(m->required, 0, sizeof(m->required));
    m->name_len = 0;
    if (!t->object)
        return;
    type = member_named(t, "type", &wrong);
    if (type == NULL || wrong)
        return;
    m->kind = kind_of(t, type);
    if (m->kind == CTL_NONE)
        return;
    m->required[0] = type;
    m->want = WANT_OK;
    if (m->kind == CTL_RESIZE) {
        number_want(m, t, 0, "cols", true, &wrong);
        number_want(m, t, 1, "rows", true, &wrong);
        number_want(m, t, 2, "pixel_width", true, &wrong);
        number_want(m, t, 3, "pixel_height", true, &wrong);
        m->required[1] = m->numbers[0];
        m->required[2] = m->numbers[1];
        wrong |= m->numbers[0] == NULL || m->numbers[1] == NULL;
    } else if (m->kind == CTL_EXIT) {
        number_want(m, t, 0, "code", false, &wrong);
        m->required[1] = m->numbers[0];
        wrong |= m->numbers[0] == NULL;
    } else if (m->kind == CTL_SIGNAL) {
        m->name = m->required[1] = member_named(t, "name", &wrong);
        wrong |= m->name == NULL || !is_string(t, m->name);
        if (!wrong)
            m->name_len = oracle_unescape(t, m->name->value, m->name_bytes);
    }
    if (wrong)
        m->want = WANT_ERROR;
    first_of(m, type);
    first_of(m, m->name);
    for (size_t i = 0; i < 4; i++)
        first_of(m, m->numbers[i]);
}
