/* SPDX-License-Identifier: Apache-2.0 */
/* Contents are told apart by SHA-256; of equal ones the first in the order of the list counts. */
#include "corpus/contents.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/sort.h"
#include "corpus/inputs.h"
#include "engine/forkserver.h"

#define HEX_BYTES 64
#define NAME_MAX_ 200
#define QUEUE     "/queue/"

struct item {
    char hex[HEX_BYTES + 1];
    size_t index;
};

static int by_content(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    int c = memcmp(x->hex, y->hex, HEX_BYTES);

    return c != 0 ? c : x->index < y->index ? -1 : x->index > y->index;
}

int contents_find(const struct inputs *inputs, const volatile sig_atomic_t *cancel,
                  struct contents *ret)
{
    cleanup_free struct item *items = xcalloc(inputs->n + 1, sizeof(*items));
    size_t n = 0;

    *ret = (struct contents){.kind = xcalloc(inputs->n + 1, 1),
                             .code = xcalloc(inputs->n + 1, sizeof(*ret->code))};
    for (size_t i = 0; i < inputs->n; i++) {
        cleanup_free uint8_t *data = NULL;
        size_t size = 0;

        if (cancel != NULL && *cancel != 0) {
            contents_clear(ret);
            return -ECANCELED;
        }
        ret->code[i] = inputs_read(inputs, i, FORKSERVER_INPUT_BYTES, &data, &size);
        if (ret->code[i] < 0) {
            ret->kind[i] = CONTENTS_UNREAD;
            ret->count[CONTENTS_UNREAD]++;
            continue;
        }
        hash_sha256_hex(data, size, items[n].hex);
        items[n++].index = i;
    }
    array_sort(items, n, sizeof(*items), by_content);
    for (size_t i = 0; i < n; i++) {
        bool copy = i > 0 && memcmp(items[i].hex, items[i - 1].hex, HEX_BYTES) == 0;

        ret->kind[items[i].index] = copy ? CONTENTS_COPY : CONTENTS_FIRST;
        ret->count[ret->kind[items[i].index]]++;
    }
    return 0;
}

void contents_clear(struct contents *c)
{
    free(c->kind);
    free(c->code);
    *c = (struct contents){0};
}

/* The last component of a path that may end in slashes; *ret_n its length. */
static const char *last_part(const char *path, size_t n, size_t *ret_n)
{
    size_t end = n, at;

    while (end > 0 && path[end - 1] == '/')
        end--;
    for (at = end; at > 0 && path[at - 1] != '/';)
        at--;
    *ret_n = end - at;
    return path + at;
}

char *contents_instance(const char *path)
{
    const char *queue = NULL, *name;
    size_t n;

    for (const char *p = path; (p = strstr(p, QUEUE)) != NULL; p++)
        queue = p;
    if (queue == NULL)
        return NULL;
    name = last_part(path, (size_t)(queue - path), &n);
    return n > 0 ? xstrndup(name, n) : NULL;
}

char *contents_name(const char *root, const char *path)
{
    cleanup_free char *instance = contents_instance(path);
    size_t n_root, n_own;
    const char *from = last_part(root, strlen(root), &n_root);
    const char *own = last_part(path, strlen(path), &n_own);
    char *name;

    if (strcmp(root, path) == 0) /* a file that was named itself */
        name = xstrndup(own, n_own);
    else if (instance != NULL)
        name = xasprintf("%s-%.*s", instance, (int)n_own, own);
    else
        name = xasprintf("%.*s-%.*s", (int)n_root, from, (int)n_own, own);
    if (strlen(name) > NAME_MAX_)
        name[NAME_MAX_] = '\0';
    for (char *p = name; *p != '\0'; p++) {
        if (*p <= 0x20 || *p > 0x7e || (p == name && (*p == '.' || *p == '-')))
            *p = '_';
    }
    return name;
}
