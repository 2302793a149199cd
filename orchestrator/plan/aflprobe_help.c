/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the help text of afl-fuzz and its words on variables. Nothing here runs a program. A line is cut at a bound, colours and
 * control bytes are dropped first, and a flag counts only at its own place ("  -x "), never in prose.
 */
#include <ctype.h>
#include <string.h>

#include "base/parse.h"
#include "plan/aflprobe.h"

#define LINE_MAX_BYTES 512
#define ENV_MAX        1024

/* The values we know how to use, by flag; a value counts when the flag's own lines of the help name it as a word. */
static const struct {
    char flag;
    const char *values[12];
} vocabulary[] = {
    {'p', {"fast", "explore", "exploit", "seek", "rare", "mmopt", "coe", "lin", "quad"}},
    {'P', {"explore", "exploit"}},
    {'a', {"text", "binary", "ascii"}},
};
static const char cmplog_values[] = "123ATXRS";

/* Copies the next line without colours and control bytes; a longer one is cut. Returns where the next begins, NULL at the end. */
static const char *help_line(const char *text, char line[LINE_MAX_BYTES])
{
    size_t n = 0;

    if (*text == '\0')
        return NULL;
    while (*text != '\0' && *text != '\n') {
        unsigned char c = (unsigned char)*text++;

        if (c == 0x1b && *text == '[') {
            text++;
            while (*text != '\0' && *text != '\n' && !isalpha((unsigned char)*text))
                text++;
            if (*text != '\0' && *text != '\n')
                text++;
        } else if (c == 0x1b && (*text == '(' || *text == ')')) {
            text++;
            if (*text != '\0' && *text != '\n')
                text++;
        } else if (c >= 0x20 && c < 0x7f && n + 1 < LINE_MAX_BYTES) {
            line[n++] = (char)c;
        }
    }
    line[n] = '\0';
    return *text == '\n' ? text + 1 : text;
}

static bool word_byte(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool has_word(const char *line, const char *word)
{
    size_t n = strlen(word);

    for (const char *p = line; (p = strstr(p, word)) != NULL; p++)
        if ((p == line || !word_byte(p[-1])) && !word_byte(p[n]))
            return true;
    return false;
}

/* AFL_NAME at s: its length, 0 when none stands there. */
static size_t env_name_length(const char *s)
{
    size_t n = 4;

    if (strncmp(s, "AFL_", 4) != 0)
        return 0;
    while (isupper((unsigned char)s[n]) || isdigit((unsigned char)s[n]) || s[n] == '_')
        n++;
    return n > 4 && n <= 64 ? n : 0;
}

static void env_add(struct aflprobe *p, const char *name, size_t n)
{
    char buf[65];

    (void)snprintf(buf, sizeof(buf), "%.*s", (int)n, name);
    if (p->env.n < ENV_MAX && !aflprobe_has_env(p, buf))
        strv_add(&p->env, buf);
}

static void flag_add(struct aflprobe *p, char flag)
{
    size_t n = strlen(p->flags), at = 0;

    if (strchr(p->flags, flag) != NULL || n + 2 > sizeof(p->flags))
        return;
    while (at < n && p->flags[at] < flag)
        at++;
    memmove(p->flags + at + 1, p->flags + at, n - at + 1);
    p->flags[at] = flag;
}

static void form_add(struct aflprobe *p, char flag, const char *value)
{
    for (size_t i = 0; i < p->flag_forms.n; i++)
        if (p->flag_forms.v[i][0] == flag) {
            char *grown = flag == 'l' ? xasprintf("%s%s", p->flag_forms.v[i], value)
                                      : xasprintf("%s,%s", p->flag_forms.v[i], value);

            free(p->flag_forms.v[i]);
            p->flag_forms.v[i] = grown;
            return;
        }
    strv_addf(&p->flag_forms, "%c=%s", flag, value);
}

/* Values in one line that belongs to flag. */
static void read_values(struct aflprobe *p, char flag, const char *line)
{
    if (flag == 'l')
        for (const char *v = cmplog_values; *v != '\0'; v++) {
            char word[3] = {*v, '=', '\0'}, value[2] = {*v, '\0'};
            const char *at = strstr(line, word);

            if (at != NULL && (at == line || !word_byte(at[-1])) &&
                !aflprobe_has_value(p, 'l', value))
                form_add(p, 'l', value);
        }
    for (size_t i = 0; i < sizeof(vocabulary) / sizeof(vocabulary[0]); i++)
        for (const char *const *v = vocabulary[i].values; vocabulary[i].flag == flag && *v; v++)
            if (has_word(line, *v) && !aflprobe_has_value(p, flag, *v))
                form_add(p, flag, *v);
}

int aflprobe_version_num(const char *version)
{
    uint64_t major = 0, minor = 0;
    size_t i = 0, digits = 0;

    while (i < 3 && isdigit((unsigned char)version[i]))
        major = major * 10 + (uint64_t)(version[i++] - '0');
    if (i == 0 || version[i++] != '.')
        return 0;
    while (isdigit((unsigned char)version[i]) && digits < 2) {
        minor = minor * 10 + (uint64_t)(version[i++] - '0');
        digits++;
    }
    if (digits == 0 || isdigit((unsigned char)version[i]))
        return 0;
    return (int)(major * 100 + (digits == 1 ? minor * 10 : minor));
}

/* "afl-fuzz++4.04c based on afl by ..." */
static void read_version(struct aflprobe *p, const char *line)
{
    const char *at = strstr(line, "afl-fuzz++");
    size_t n = 0;

    if (at == NULL || p->version != NULL)
        return;
    at += strlen("afl-fuzz++");
    while (n < 31 && (isalnum((unsigned char)at[n]) || strchr(".-_+", at[n]) != NULL) &&
           at[n] != '\0')
        n++;
    if (n == 0)
        return;
    p->version = xstrndup(at, n);
    p->version_num = aflprobe_version_num(p->version);
}

void aflprobe_parse_help(struct aflprobe *p, const char *text)
{
    char line[LINE_MAX_BYTES], flag = 0;

    while ((text = help_line(text, line)) != NULL) {
        bool option =
            strncmp(line, "  -", 3) == 0 && isalnum((unsigned char)line[3]) && !word_byte(line[4]);

        read_version(p, line);
        if (option) {
            flag = line[3];
            flag_add(p, flag);
            /* "  -M/-S id" */
            for (const char *s = line + 4; strncmp(s, "/-", 2) == 0 && isalpha((unsigned char)s[2]);
                 s += 3)
                flag_add(p, s[2]);
            read_values(p, flag, line + 4);
        } else if (flag != 0 && strncmp(line, "      ", 6) == 0) {
            read_values(p, flag, line);
        } else {
            flag = 0;
        }
        /* "AFL_NAME: text", "AFL_A/AFL_B: text", "AFL_A or AFL_B: text" */
        for (const char *s = line; env_name_length(s) > 0;) {
            size_t n = env_name_length(s);

            env_add(p, s, n);
            s += n;
            s += *s == '/' ? 1 : strncmp(s, " or ", 4) == 0 ? 4 : 0;
        }
    }
}

/* Is name called mistyped or deprecated? Source: AFL++ src/afl-common.c, src/afl-fuzz-state.c. */
static bool env_refused(const char *text, const char *name)
{
    static const char *const before[] = {"istyped AFL environment variable: ",
                                         "AFL environment variable "};
    char line[LINE_MAX_BYTES];

    while ((text = help_line(text, line)) != NULL)
        for (size_t i = 0; i < 2; i++) {
            const char *at = strstr(line, before[i]);

            if (at == NULL || (i == 1 && strstr(line, "deprecated") == NULL))
                continue;
            at += strlen(before[i]);
            if (strncmp(at, name, strlen(name)) == 0 && !word_byte(at[strlen(name)]))
                return true;
        }
    return false;
}

void aflprobe_parse_env(struct aflprobe *p, const struct strv *asked, const char *text)
{
    for (size_t i = 0; i < asked->n; i++)
        if (!env_refused(text, asked->v[i]))
            env_add(p, asked->v[i], strlen(asked->v[i]));
}

bool aflprobe_has_flag(const struct aflprobe *p, char flag)
{
    return flag != '\0' && strchr(p->flags, flag) != NULL;
}

bool aflprobe_has_value(const struct aflprobe *p, char flag, const char *value)
{
    for (size_t i = 0; i < p->flag_forms.n; i++) {
        const char *form = p->flag_forms.v[i];

        if (form[0] != flag)
            continue;
        if (flag != 'l')
            return has_word(form + 2, value);
        /* a set of letters: each one of value must be in it */
        return value[0] != '\0' && strspn(value, form + 2) == strlen(value);
    }
    return false;
}

bool aflprobe_has_env(const struct aflprobe *p, const char *name)
{
    for (size_t i = 0; i < p->env.n; i++)
        if (strcmp(p->env.v[i], name) == 0)
            return true;
    return false;
}
