/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The key table. Parser, defaults, checks, `fuzzctl check --effective` and the test of
 * the man page read it; a new key is a row here, a field in spec.h and an entry in
 * fuzzd-campaign.5, in this order. At most 64 rows: spec_target.set has a bit for each.
 */
#include "spec/spec_keys.h"

#include <string.h>

#include "base/parse.h"
#include "spec/spec.h"

#define CAMPAIGN(f) offsetof(struct spec, f)
#define LIMITS(f)   offsetof(struct spec_limits, f)
#define TARGET(f)   offsetof(struct spec_target, f)
#define PLANT(f)    offsetof(struct spec_plant, f)
#define BOTH        (SPEC_LIMITS | SPEC_TARGET)
#define SECOND      INT64_C(1000)
#define HOUR        (3600 * SECOND)
#define YEARS       (3650 * 24 * HOUR)
#define KIB         INT64_C(1024)
#define MIB         (1024 * KIB)
#define TIB         (1024 * 1024 * MIB)

/* clang-format off */
const struct spec_key spec_keys[] = {
    /* name, scope, type, least, most, words, default, help, place */
    {"name", SPEC_CAMPAIGN, SPEC_NAME, 1, 40, NULL, NULL, "name of the campaign", CAMPAIGN(name)},
    {"root", SPEC_CAMPAIGN, SPEC_PATH_DIR, 0, 0, NULL, ".", "folder that relative paths count from", CAMPAIGN(root)},
    {"budget", SPEC_CAMPAIGN, SPEC_DURATION, SECOND, YEARS, NULL, "10m", "fuzzing time of each target", CAMPAIGN(budget_ms)},
    {"execs", SPEC_CAMPAIGN, SPEC_COUNT, 1, INT64_C(1000000000000000), "none", "none", "executions after which a target ends", CAMPAIGN(execs)},
    {"plateau", SPEC_CAMPAIGN, SPEC_DURATION, SECOND, YEARS, "none", "none", "time without a new edge after which a target ends", CAMPAIGN(plateau_ms)},
    {"cores", SPEC_CAMPAIGN, SPEC_CORES, 0, 0, NULL, "all-1", "cores the campaign may use", CAMPAIGN(cores)},
    {"priority", SPEC_CAMPAIGN, SPEC_COUNT, 0, SPEC_PRIORITY_MAX, NULL, "0", "campaigns of a lower one stand still while this one fuzzes", CAMPAIGN(priority)},
    {"share_cores", SPEC_CAMPAIGN, SPEC_ENUM, 0, 0, "no|yes", "no", "whether its cores are shared with other campaigns that share theirs", CAMPAIGN(share_cores)},
    {"seed", SPEC_CAMPAIGN, SPEC_COUNT, 0, (INT64_C(1) << 53) - 1, "random", "random", "seed of the instances' random choices", CAMPAIGN(seed)},
    {"stop_on", SPEC_CAMPAIGN, SPEC_ENUM, 0, 0, "never|first", "never", "whether the first finding ends the campaign", CAMPAIGN(stop_on)},
    {"corpus", SPEC_CAMPAIGN, SPEC_ENUM, 0, 0, "keep|drop", "keep", "whether a run begins with the corpus of the last and leaves its own", CAMPAIGN(corpus)},
    {"user", SPEC_CAMPAIGN, SPEC_NAME, 1, 32, NULL, NULL, "user that targets run as when fuzzd is root", CAMPAIGN(user)},
    {"plants", SPEC_CAMPAIGN, SPEC_PATH_FILE, 0, 0, NULL, NULL, "file with more planted bugs", CAMPAIGN(plants_file)},

    {"memory", BOTH, SPEC_SIZE, 16 * MIB, 16 * TIB, NULL, "2G", "memory of a target process", LIMITS(memory_bytes)},
    {"pids", BOTH, SPEC_COUNT, 1, 32768, NULL, "128", "processes and threads of a target", LIMITS(pids)},
    {"cpu", BOTH, SPEC_PERCENT, 1, 100, NULL, "100", "percent of one core for an instance", LIMITS(cpu_pct)},
    {"timeout", BOTH, SPEC_DURATION, 1, HOUR, "auto", "auto", "time of one execution", LIMITS(timeout_ms)},
    {"hang_timeout", BOTH, SPEC_DURATION, 2, 2 * HOUR, "auto", "auto", "time from which a slow execution is a hang", LIMITS(hang_timeout_ms)},
    {"disk", SPEC_LIMITS, SPEC_SIZE, 16 * MIB, 1024 * TIB, NULL, "10G", "bytes the campaign may write", LIMITS(disk_bytes)},
    {"disk_floor", SPEC_LIMITS, SPEC_SIZE, 0, 1024 * TIB, NULL, "2G", "bytes that stay free on the host", LIMITS(disk_floor_bytes)},
    {"pressure", SPEC_LIMITS, SPEC_PERCENT, 1, 100, NULL, "40", "memory pressure of the host that freezes the campaign", LIMITS(pressure_pct)},
    {"log_max", SPEC_LIMITS, SPEC_SIZE, 64 * KIB, 1024 * MIB, NULL, "8M", "bytes of an instance's log", LIMITS(log_max_bytes)},

    {"harness", SPEC_TARGET, SPEC_PATH_PROGRAM, 0, 0, NULL, NULL, "program to fuzz, built by afl-cc", TARGET(harness)},
    {"cmplog", SPEC_TARGET, SPEC_PATH_PROGRAM, 0, 0, NULL, NULL, "its build with AFL_LLVM_CMPLOG=1", TARGET(cmplog)},
    {"sanitizer", SPEC_TARGET, SPEC_PATH_PROGRAM, 0, 0, NULL, NULL, "its build with a sanitizer", TARGET(sanitizer)},
    {"sweep", SPEC_TARGET, SPEC_ENUM, 0, 0, "yes|no", "yes", "whether what the campaign makes is run in the sanitizer's build", TARGET(sweep)},
    {"replay", SPEC_TARGET, SPEC_PATH_PROGRAM, 0, 0, NULL, NULL, "its build by a plain compiler", TARGET(replay)},
    {"laf", SPEC_TARGET, SPEC_PATH_PROGRAM, 0, 0, NULL, NULL, "its build with AFL_LLVM_LAF_ALL=1", TARGET(laf)},
    {"coverage", SPEC_TARGET, SPEC_PATH_PROGRAM, 0, 0, NULL, NULL, "its build by clang with -fprofile-instr-generate -fcoverage-mapping", TARGET(coverage)},
    {"mutator", SPEC_TARGET, SPEC_PATH_FILE, 0, 0, NULL, NULL, "library with a custom mutator", TARGET(mutator)},
    {"args", SPEC_TARGET, SPEC_LIST, 0, 256, NULL, NULL, "arguments of the program, one a line", TARGET(args)},
    {"env", SPEC_TARGET, SPEC_LIST, 0, 256, NULL, NULL, "its environment, one NAME=VALUE a line", TARGET(env)},
    {"seeds", SPEC_TARGET, SPEC_PATH_DIR, 0, 0, NULL, NULL, "folder of seeds", TARGET(seeds)},
    {"regressions", SPEC_TARGET, SPEC_PATH_LIST, 0, 256, NULL, NULL, "further inputs that fuzzctl replay runs, one file or folder a line", TARGET(regressions)},
    {"dictionary", SPEC_TARGET, SPEC_PATH_FILE, 0, 0, NULL, NULL, "dictionary of tokens", TARGET(dictionary)},
    {"instances", SPEC_TARGET, SPEC_COUNT, 1, 256, "auto", "auto", "afl-fuzz processes", TARGET(instances)},
    {"max_len", SPEC_TARGET, SPEC_SIZE, 1, MIB, NULL, "64K", "longest input that is made", TARGET(max_len)},
    {"init_timeout", SPEC_TARGET, SPEC_DURATION, 100, HOUR, "auto", "auto", "time for the fork server to come up", TARGET(init_timeout_ms)},
    {"after", SPEC_TARGET, SPEC_WORDS, 0, 256, NULL, NULL, "targets that end clean before this one starts", TARGET(after)},
    {"watch", SPEC_TARGET, SPEC_PATH_LIST, 0, 256, NULL, NULL, "sources that belong to the target, one a line", TARGET(watch)},
    {"build", SPEC_TARGET, SPEC_TEXT, 0, 0, NULL, NULL, "command that builds the target", TARGET(build)},

    {"target", SPEC_PLANT, SPEC_NAME, 1, 40, NULL, NULL, "target that holds the bug", PLANT(target)},
    {"variant", SPEC_PLANT, SPEC_ENUM, 0, 0, "plain|asan|cmplog", "plain", "build that it shows in", PLANT(variant)},
    {"allow", SPEC_PLANT, SPEC_WORDS, 0, 256, NULL, NULL, "what counts as found, CLASS or CLASS:ID", PLANT(allow)},
    {"execs", SPEC_PLANT, SPEC_COUNT, 1, INT64_C(1000000000000000), NULL, "500000", "executions within which it is found", PLANT(execs)},
    {"wall", SPEC_PLANT, SPEC_DURATION, SECOND, YEARS, NULL, "2m", "fuzzing time after which it is given up", PLANT(wall_ms)},
    {"replay", SPEC_PLANT, SPEC_ENUM, 0, 0, "yes|no", "yes", "whether one input alone shows it", PLANT(replay)},
    {"startup", SPEC_PLANT, SPEC_ENUM, 0, 0, "no|yes", "no", "whether the target refuses to start", PLANT(startup)},
    {"seeds", SPEC_PLANT, SPEC_PATH_DIR, 0, 0, NULL, NULL, "folder of seeds to begin with", PLANT(seeds)},
    {"mutator", SPEC_PLANT, SPEC_PATH_FILE, 0, 0, NULL, NULL, "library with a custom mutator", PLANT(mutator)},
    {"dir", SPEC_PLANT, SPEC_TEXT, 0, 0, NULL, NULL, "folder of its builds", PLANT(dir)},
    {"build", SPEC_PLANT, SPEC_TEXT, 0, 0, NULL, NULL, "command that makes them", PLANT(build)},
};
/* clang-format on */
const size_t spec_keys_count = sizeof(spec_keys) / sizeof(spec_keys[0]);
_Static_assert(sizeof(spec_keys) / sizeof(spec_keys[0]) <= 64, "one bit a key in spec_target.set");

const struct spec_key *spec_key_find(const char *name, unsigned scope)
{
    for (size_t i = 0; i < spec_keys_count; i++) {
        if ((spec_keys[i].scope & scope) != 0 && strcmp(spec_keys[i].name, name) == 0)
            return &spec_keys[i];
    }
    return NULL;
}

const struct spec_key *spec_key_nearest(const char *name, unsigned scope)
{
    const struct spec_key *best = NULL;
    size_t len = strlen(name);
    int least = len < 4 ? 2 : len < 8 ? 3 : 4; /* one below: 1, 2 or 3 edits */
    for (size_t i = 0; i < spec_keys_count; i++) {
        int d = parse_distance(name, spec_keys[i].name);
        if ((spec_keys[i].scope & scope) != 0 && d < least) {
            least = d;
            best = &spec_keys[i];
        }
    }
    return best;
}
