/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPEC_SPEC_LOAD_H
#define SPEC_SPEC_LOAD_H

#include "spec/spec.h"
#include "spec/spec_keys.h"

/* What the files of spec/ share among themselves; no other folder includes this. */

#define SPEC_ITEMS_MAX   256 /* of one list */
#define SPEC_TARGETS_MAX 256
#define SPEC_PLANTS_MAX  256
#define SPEC_NAME_TEXT   "1 to 40 of A-Z a-z 0-9 _ -, the first not -"
#define SPEC_NAME_LEN    40

/* Where a value was given. section and key as shown; lines has one entry a value, or is NULL (then line counts). */
struct spec_where {
    int line;
    const char *section, *key;
    const int *lines;
};

/* One key that the file set: which section (-1 campaign, -2 limits, else the target's index), which row, which line. Each item of a list of paths has one too, from item 1. */
struct spec_mark {
    int section, row, item, line;
};
#define SPEC_MARK_CAMPAIGN (-1)
#define SPEC_MARK_LIMITS   (-2)
#define SPEC_MARK_PLANT    SPEC_TARGETS_MAX /* and up: plants */

/* A spec being read. */
struct spec_loader {
    struct spec *spec;
    struct spec_faults *faults;
    unsigned scope;    /* of the section; 0: an unknown one, passed over */
    int section;       /* as in struct spec_mark */
    char shown[64];    /* of the section, for messages */
    bool bad_sections; /* one at least was refused */
    bool told_no_section;
    bool plants_only;  /* the file of "plants" is read */
    int first_line[2]; /* of [campaign] and [limits] */
    /* The key whose continuation lines may still come. */
    const struct spec_key *key;
    int key_line;
    struct strv values;
    int lines[SPEC_ITEMS_MAX + 1];
};

/* Reads the lines of a file into ld->spec: sections, keys, values. */
void spec_lines_read(struct spec_loader *ld, const char *text, size_t size);

/* Reads values (as written) into k's field of base, or adds a fault that says what is allowed. 0 or -EINVAL. */
int spec_value_set(const struct spec_key *k, void *base, const struct strv *values,
                   const struct spec_where *at, struct spec_faults *faults);
/* What k takes, for a message: "a whole number from 1 to 32768". Returns buf. */
char *spec_value_allowed(const struct spec_key *k, char *buf, size_t size);
/* s for a message: at most 60 bytes of it. Returns buf. */
char *spec_value_shown(char buf[64], const char *s);

/* Turns root into an absolute path. False, with a fault, when there is no such folder. */
bool spec_root_check(struct spec *spec, struct spec_faults *faults);
/* The same for plants_file, and its text; false when there is none. Caller frees *ret_text. */
bool spec_plants_file_read(struct spec *spec, struct spec_faults *faults, char **ret_text,
                           size_t *ret_size);
/* Turns the other paths of a spec into absolute ones and checks what they name; one that is faulty becomes NULL. */
void spec_paths_check(struct spec *spec, bool root_ok, struct spec_faults *faults);

/* Begins the section of a plant of that name (spec_plants.c); the loader stands in it then. */
void spec_plant_open(struct spec_loader *ld, int line, const char *name);
/* What only the whole shows of plants: their targets, what they must have. */
void spec_plants_check(const struct spec *spec, struct spec_faults *faults);
/* Faults from number n on are about plant i: those of plants_file are told with its name. */
void spec_plant_faults(const struct spec *spec, size_t i, size_t n, struct spec_faults *faults);
/* A fault of a section; ld->shown is its name. */
void spec_section_fault(struct spec_loader *ld, int line, const char *msg);
/* "plant NAME". Returns buf. */
char *spec_plant_section(const struct spec *spec, size_t i, char buf[64]);

/* What "after" of the targets names: others of the spec, each once, and no circle. */
void spec_after_check(const struct spec *spec, struct spec_faults *faults);

/* "target NAME" for index i. Returns buf. */
char *spec_target_section(const struct spec *spec, size_t i, char buf[64]);
/* 0: the file does not set it. */
int spec_mark_line(const struct spec *spec, int section, const struct spec_key *k, int item);

#endif
