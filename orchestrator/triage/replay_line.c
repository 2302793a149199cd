/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A replay as a line that a person pastes into a shell: what replay_once would run,
 * word by word, with the input named as given.
 */
#include "triage/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/shell.h"

char *replay_command_line(const struct replay_program *prog, const char *input)
{
    struct strv argv = {0}, env = {0};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (out == NULL)
        return xstrdup("");
    replay_command(prog, input, &argv, &env);
    if (env.n > 0)
        (void)fputs("env ", out);
    for (size_t i = 0; i < env.n; i++) {
        shell_quote(out, env.v[i]);
        (void)putc(' ', out);
    }
    /* env(1) takes every word with a '=' for a variable, a program's path too. */
    if (env.n > 0 && strchr(argv.v[0], '=') != NULL)
        (void)fputs("sh -c 'exec \"$0\" \"$@\"' ", out);
    for (size_t i = 0; i < argv.n; i++) {
        (void)fputs(i > 0 ? " " : "", out);
        shell_quote(out, argv.v[i]);
    }
    if (replay_uses_stdin(prog)) {
        fputs(" < ", out);
        shell_quote(out, input);
    }
    strv_clear(&argv);
    strv_clear(&env);
    if (fclose(out) != 0) {
        free(text);
        return xstrdup("");
    }
    return text;
}
