/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of all inputs, one after the other in a few large pieces of memory: a corpus of millions
 * takes little more than its sum. An input never moves, so that lists may point at it.
 */
#include "corpus/packed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/sort.h"
#include "base/tarin.h"
#include "corpus/inputs.h"
#include "engine/forkserver.h"

#define EXT         ".tar"
#define EXT_ZST     ".tar.zst"
#define CHUNK_BYTES ((size_t)4 << 20) /* no less than an input can have */
#define SETUP       "fuzzer_setup"
#define QUEUE       "queue/"
#define README      "README.txt"
#define SETUPS_MAX  1024

struct packed_chunk {
    struct packed_chunk *next;
    size_t used;
    uint8_t data[CHUNK_BYTES];
};

/* A hard link, until all members are known. */
struct link {
    size_t index;
    char *to;
};

struct reader {
    const char *path;
    struct packed *p;
    size_t room;
    struct link *links;
    size_t n_links;
    uint64_t bytes;
};

static bool ends(const char *s, const char *end)
{
    const size_t n = strlen(s), m = strlen(end);

    return n > m && strcmp(s + n - m, end) == 0;
}

bool packed_is_zst(const char *path)
{
    return ends(path, EXT_ZST);
}

bool packed_name(const char *path)
{
    return ends(path, EXT) || ends(path, EXT_ZST);
}

bool packed_is(const char *path)
{
    struct stat st;

    return packed_name(path) && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

void packed_free(struct packed *p)
{
    struct packed_chunk *next;

    if (p == NULL)
        return;
    for (size_t i = 0; i < p->n; i++)
        free(p->v[i].name);
    free(p->v);
    for (struct packed_chunk *c = p->chunks; c != NULL; c = next) {
        next = c->next;
        free(c);
    }
    free(p);
}

/* ---- names ---- */
/* What a name is without what only says where it is counted from. */
static const char *own_name(const char *name)
{
    for (;;) {
        if (name[0] == '/')
            name++;
        else if (name[0] == '.' && name[1] == '/')
            name += 2;
        else
            return name;
    }
}

/* Component by component, each by its bytes. */
int packed_compare(const char *a, const char *b)
{
    int x, y;

    while (*a == *b && *a != '\0') {
        a++;
        b++;
    }
    x = *a == '\0' ? 0 : *a == '/' ? 1 : 1 + (unsigned char)*a;
    y = *b == '\0' ? 0 : *b == '/' ? 1 : 1 + (unsigned char)*b;
    return x - y;
}

static int by_name(const void *a, const void *b)
{
    const struct packed_input *x = a, *y = b;
    const int c = packed_compare(x->name, y->name);

    return c != 0 ? c : x->number < y->number ? -1 : x->number > y->number;
}

static bool is_sorted(const struct packed *p)
{
    for (size_t i = 1; i < p->n; i++) {
        if (by_name(&p->v[i - 1], &p->v[i]) > 0)
            return false;
    }
    return true;
}

/* ---- reading ---- */
static uint8_t *room_for(struct packed *p, size_t size)
{
    struct packed_chunk *c = p->chunks;

    if (c == NULL || CHUNK_BYTES - c->used < size) {
        c = xmalloc(sizeof(*c));
        c->used = 0;
        c->next = p->chunks;
        p->chunks = c;
    }
    c->used += size;
    return c->data + c->used - size;
}

static struct packed_input *input_new(struct reader *r, const char *name)
{
    struct packed *p = r->p;

    if (p->n == r->room) {
        r->room = r->room == 0 ? 256 : 2 * r->room;
        p->v = xreallocarray(p->v, r->room, sizeof(*p->v));
    }
    p->v[p->n] = (struct packed_input){.name = xstrdup(name), .number = p->n};
    return &p->v[p->n++];
}

static void link_new(struct reader *r, size_t index, const char *to)
{
    if ((r->n_links & (r->n_links + 1)) == 0)
        r->links = xreallocarray(r->links, 2 * r->n_links + 2, sizeof(*r->links));
    r->links[r->n_links++] = (struct link){index, xstrdup(own_name(to))};
}

static int take_file(struct reader *r, struct tarin *t, struct packed_input *in, uint64_t size,
                     struct err *err)
{
    uint8_t *data;
    int rc;

    in->size = size;
    if (size > FORKSERVER_INPUT_BYTES)
        return 0;
    r->bytes += size;
    if (r->bytes > PACKED_BYTES_MAX)
        return err_set(err, -EFBIG, "%s: its inputs have more than 1G together", r->path);
    data = room_for(r->p, (size_t)size);
    rc = tarin_data(t, data, size, err);
    in->data = data;
    return rc;
}

static int take_member(struct reader *r, struct tarin *t, const struct tarin_member *m,
                       struct err *err)
{
    const char *name = own_name(m->name);
    struct packed_input *in;

    if (m->kind != TARIN_FILE && m->kind != TARIN_HARDLINK)
        return 0;
    if (path_goes_up(name))
        return err_set(err, -EBADMSG, "%s: %s: a name with \"..\" is not allowed", r->path, name);
    if (name[0] == '\0')
        return err_set(err, -EBADMSG, "%s: a member has no name", r->path);
    if (r->p->n >= INPUTS_MAX)
        return err_set(err, -E2BIG, "%s: over %d inputs", r->path, INPUTS_MAX);
    in = input_new(r, name);
    if (m->kind == TARIN_FILE)
        return take_file(r, t, in, m->size, err);
    link_new(r, r->p->n - 1, m->link);
    return 0;
}

/* The last of that name among the first n of the archive; v is sorted. NULL: none. */
static const struct packed_input *find_before(const struct packed *p, const char *name,
                                              size_t number)
{
    const struct packed_input key = {.name = (char *)(uintptr_t)name, .number = number};
    size_t low = 0, high = p->n;

    while (low < high) {
        const size_t mid = low + (high - low) / 2;

        if (by_name(&p->v[mid], &key) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low > 0 && strcmp(p->v[low - 1].name, name) == 0 ? &p->v[low - 1] : NULL;
}

/* Where each member is now. Caller frees. */
static size_t *places(const struct packed *p)
{
    size_t *at = xcalloc(p->n + 1, sizeof(*at));

    for (size_t i = 0; i < p->n; i++)
        at[p->v[i].number] = i;
    return at;
}

/* In the order of the archive: a link to a link finds that one with its file. */
static int follow_links(struct reader *r, struct err *err)
{
    cleanup_free size_t *at = r->n_links > 0 ? places(r->p) : NULL;

    for (size_t i = 0; i < r->n_links; i++) {
        struct packed_input *in = &r->p->v[at[r->links[i].index]];
        const struct packed_input *to = find_before(r->p, r->links[i].to, in->number);

        if (to == NULL)
            return err_set(err, -EBADMSG, "%s: %s: a link to what is not there before it", r->path,
                           in->name);
        in->data = to->data;
        in->size = to->size;
    }
    return 0;
}

static int read_all(struct reader *r, struct tarin *t, struct err *err)
{
    struct tarin_member m;
    int rc;

    while ((rc = tarin_next(t, &m, err)) == 1) {
        rc = take_member(r, t, &m, err);
        if (rc < 0)
            return rc;
    }
    return rc;
}

int packed_read(const char *path, struct packed **ret, struct err *err)
{
    struct reader r = {.path = path};
    struct tarin *t;
    int rc = tarin_open(path, packed_is_zst(path), PACKED_TAR_MAX, &t, err);

    if (rc < 0)
        return rc;
    r.p = xcalloc(1, sizeof(*r.p));
    rc = read_all(&r, t, err);
    tarin_close(t);
    if (rc == 0 && !is_sorted(r.p))
        array_sort(r.p->v, r.p->n, sizeof(*r.p->v), by_name);
    if (rc == 0)
        rc = follow_links(&r, err);
    for (size_t i = 0; i < r.n_links; i++)
        free(r.links[i].to);
    free(r.links);
    if (rc < 0) {
        packed_free(r.p);
        return rc;
    }
    *ret = r.p;
    return 0;
}

bool packed_has(const struct packed *p, const char *name)
{
    return find_before(p, name, SIZE_MAX) != NULL;
}

/* ---- which of them are inputs ---- */
static bool is_passed_over(const char *name)
{
    const char *slash = strrchr(name, '/');

    if (strcmp(slash != NULL ? slash + 1 : name, README) == 0)
        return true;
    for (const char *p = name; p != NULL; p = strchr(p, '/')) {
        p += *p == '/';
        if (*p == '.')
            return true;
    }
    return false;
}

bool packed_takes(const char *name)
{
    const char *slash = strrchr(name, '/');

    return !is_passed_over(name) && !path_goes_up(name) && name[0] != '\0' && name[0] != '/' &&
           strlen(name) <= TARIN_NAME_MAX && strcmp(slash != NULL ? slash + 1 : name, SETUP) != 0;
}

/* Lengths of the folders that are AFL++ instances, by a member that is in each. */
struct setups {
    struct {
        const char *name;
        size_t n;
    } v[SETUPS_MAX];
    size_t n;
};

static int find_setups(const struct packed *p, struct setups *ret)
{
    for (size_t i = 0; i < p->n; i++) {
        const char *slash = strrchr(p->v[i].name, '/');
        const char *own = slash != NULL ? slash + 1 : p->v[i].name;

        if (strcmp(own, SETUP) != 0)
            continue;
        if (ret->n == SETUPS_MAX)
            return -E2BIG;
        ret->v[ret->n].name = p->v[i].name;
        ret->v[ret->n++].n = (size_t)(own - p->v[i].name);
    }
    return 0;
}

static bool in_a_queue(const struct setups *s, const char *name)
{
    for (size_t i = 0; i < s->n; i++) {
        if (strncmp(name, s->v[i].name, s->v[i].n) == 0 &&
            strncmp(name + s->v[i].n, QUEUE, strlen(QUEUE)) == 0)
            return true;
    }
    return false;
}

int packed_choose(struct packed *p, const char *path, const char *below, struct err *err)
{
    cleanup_free struct setups *setups = xcalloc(1, sizeof(*setups));
    cleanup_free bool *taken = xcalloc(p->n + 1, sizeof(*taken));
    const size_t top = below != NULL ? strlen(below) : 0;
    size_t kept = 0;

    if (find_setups(p, setups) < 0)
        return err_set(err, -E2BIG, "%s: over %d AFL++ instances", path, SETUPS_MAX);
    for (size_t i = 0; i < p->n; i++) {
        const char *name = p->v[i].name;

        taken[i] = (top == 0 || strncmp(name, below, top) == 0) && !is_passed_over(name + top) &&
                   (setups->n == 0 || in_a_queue(setups, name));
    }
    /* The names of the instances are needed until here. */
    for (size_t i = 0; i < p->n; i++) {
        if (taken[i])
            p->v[kept++] = p->v[i];
        else
            free(p->v[i].name);
    }
    p->n = kept;
    return 0;
}
