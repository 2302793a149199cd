/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns functions that are easy to get wrong into compile errors.
 *
 * The Makefile forces this header into every file of orchestrator/ with -include.
 * The system headers that declare the functions are read first, so that only our
 * own calls meet the macros. Each error names the replacement.
 */
#ifndef FZ_BASE_BANNED_H
#define FZ_BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#define FZ_BANNED(func, use) sorry_##func##_is_banned_##use

#undef strcpy
#define strcpy(...) FZ_BANNED(strcpy, use_strlcpy)
#undef strcat
#define strcat(...) FZ_BANNED(strcat, use_strlcat)
#undef strncpy
#define strncpy(...) FZ_BANNED(strncpy, use_strlcpy)
#undef strncat
#define strncat(...) FZ_BANNED(strncat, use_strlcat)
#undef stpcpy
#define stpcpy(...) FZ_BANNED(stpcpy, use_strlcpy)
#undef sprintf
#define sprintf(...) FZ_BANNED(sprintf, use_snprintf)
#undef vsprintf
#define vsprintf(...) FZ_BANNED(vsprintf, use_vsnprintf)
#undef gets
#define gets(...) FZ_BANNED(gets, use_getline)
#undef strtok
#define strtok(...) FZ_BANNED(strtok, use_strsep)
#undef strtok_r
#define strtok_r(...) FZ_BANNED(strtok_r, use_strsep)
#undef atoi
#define atoi(...) FZ_BANNED(atoi, use_base_parse)
#undef atol
#define atol(...) FZ_BANNED(atol, use_base_parse)
#undef atoll
#define atoll(...) FZ_BANNED(atoll, use_base_parse)
#undef localtime
#define localtime(...) FZ_BANNED(localtime, use_gmtime_r)
#undef gmtime
#define gmtime(...) FZ_BANNED(gmtime, use_gmtime_r)
#undef ctime
#define ctime(...) FZ_BANNED(ctime, use_base_clock)
#undef asctime
#define asctime(...) FZ_BANNED(asctime, use_base_clock)
#undef mktemp
#define mktemp(...) FZ_BANNED(mktemp, use_mkstemp)
#undef tmpnam
#define tmpnam(...) FZ_BANNED(tmpnam, use_mkstemp)
#undef system
#define system(...) FZ_BANNED(system, use_sys_child)
#undef qsort
#define qsort(...) FZ_BANNED(qsort, use_array_sort) /* harnesses/ has no base/ */
#undef popen
#define popen(...) FZ_BANNED(popen, use_sys_child)

#endif
