/* SPDX-License-Identifier: Apache-2.0 */
/* fuzzctl version: ours, and of what was linked. */
#include <archive.h>
#include <sqlite3.h>
#include <stdio.h>
#include <zstd.h>

#include "base/exitcode.h"
#include "base/version.h"
#include "ctl/cmd.h"
#include "ctl/proto.h"
#include "plan/plan.h"

static int version_exec(struct cmd_env *env, int argc, char **argv)
{
    const int code = cmd_plain(&cmd_version, NULL, argc, argv, (const char *const[]){NULL}, 0);

    if (code != EXIT_DONE)
        return code;
    if (env->json) {
        json_t *j =
            json_pack("{s:i, s:s, s:s, s:i, s:i, s:i, s:s, s:s, s:s, s:s}", "version", 1, "fuzzctl",
                      version_string(), "git", version_git(), "protocol", PROTO_VERSION, "plan",
                      PLAN_VERSION, "schema", DB_SCHEMA_VERSION, "sqlite", sqlite3_libversion(),
                      "zstd", ZSTD_versionString(), "libarchive", archive_version_string(),
                      "jansson", jansson_version_str());
        cmd_print_json(j);
        json_decref(j);
        return EXIT_DONE;
    }
    printf("fuzzctl %s%s%s%s\n", version_string(), version_git()[0] != '\0' ? " (" : "",
           version_git(), version_git()[0] != '\0' ? ")" : "");
    printf("protocol %d, plan %d, schema %d\n", PROTO_VERSION, PLAN_VERSION, DB_SCHEMA_VERSION);
    printf("sqlite %s, zstd %s, %s, jansson %s\n", sqlite3_libversion(), ZSTD_versionString(),
           archive_version_string(), jansson_version_str());
    return EXIT_DONE;
}

const struct cmd_entry cmd_version = {
    .name = "version",
    .usage = "[--json]",
    .help = "versions of the program and its formats",
    .exec = version_exec,
    .stateless = true,
};
