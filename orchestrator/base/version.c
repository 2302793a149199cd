/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The version compiled in. FZ_VERSION reaches every file, FZ_GIT this one only,
 * so that a new commit does not rebuild the tree.
 */
#include "base/version.h"

#ifndef FZ_GIT
#define FZ_GIT ""
#endif

const char *version_string(void)
{
    return FZ_VERSION;
}

const char *version_git(void)
{
    return FZ_GIT;
}
