/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_EXITCODE_H
#define BASE_EXITCODE_H

/* Exit codes of fuzzctl; documented in fuzzctl(1). */
enum exit_code {
    EXIT_DONE = 0, /* done, or verdict clean */
    EXIT_ERROR = 1,
    EXIT_USAGE = 2,     /* usage, or a bad spec */
    EXIT_NO_DAEMON = 3, /* the daemon is needed and out of reach */
    EXIT_LOCKED = 4,    /* already running or locked */
    EXIT_TIMEOUT = 5,   /* wait timed out, or report of a run that has not ended */
    EXIT_NO_CAMPAIGN = 6,
    EXIT_MISMATCH = 7,  /* verify found a difference */
    EXIT_FINDINGS = 10, /* also: replay saw an input fail */
    EXIT_VACUOUS = 11,  /* also: replay found no inputs, or a required place not reached */
    EXIT_FAILED_START = 12,
    EXIT_DEGRADED = 13, /* interrupted or degraded */
};

#endif
