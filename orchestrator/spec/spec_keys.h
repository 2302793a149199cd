/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPEC_SPEC_KEYS_H
#define SPEC_SPEC_KEYS_H

#include <stddef.h>
#include <stdint.h>

/* The key table: the one place where a spec key is named. */
enum spec_scope {
    SPEC_CAMPAIGN = 1,
    SPEC_LIMITS = 2,
    SPEC_TARGET = 4,
    SPEC_PLANT = 8
}; /* bits: a limits key may be set in [limits] and in a target */
enum spec_type {
    SPEC_NAME,
    SPEC_DURATION,
    SPEC_SIZE,
    SPEC_COUNT,
    SPEC_PERCENT,
    SPEC_CORES,
    SPEC_ENUM,
    SPEC_PATH_DIR,
    SPEC_PATH_FILE,
    SPEC_PATH_PROGRAM,
    SPEC_LIST,
    SPEC_PATH_LIST,
    SPEC_TEXT,
    SPEC_WORDS /* names, separated by blanks */
};

struct spec_key {
    const char *name;
    unsigned scope; /* of enum spec_scope */
    enum spec_type type;
    int64_t min, max;  /* of the value in its unit (ms, bytes, count); 0,0: no bound */
    const char *words; /* SPEC_ENUM: "never|first"; also words allowed beside a value: "auto" */
    const char *def;   /* default as text, NULL: none */
    const char *help;  /* one line for man page and help */
    size_t offset;     /* into struct spec, spec_limits, spec_target or spec_plant */
};
extern const struct spec_key spec_keys[];
extern const size_t spec_keys_count;

const struct spec_key *spec_key_find(const char *name, unsigned scope);
/* The nearest key of that scope within a small edit distance, or NULL. */
const struct spec_key *spec_key_nearest(const char *name, unsigned scope);

#endif
