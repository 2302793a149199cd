/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What cppcheck and clang-tidy are told instead of the Makefile's definitions. cppcheck does
 * not read system headers, so the loops that libraries define are spelt here for it.
 */
#ifndef FZ_LINT_CONFIG_H
#define FZ_LINT_CONFIG_H

#define FZ_VERSION    "0"
#define FZ_BINDIR     "/bin"
#define FZ_SBINDIR    "/sbin"
#define FZ_LIBEXECDIR "/libexec"

#ifdef FZ_CPPCHECK
#define json_array_foreach(a, i, v)                                                                \
    for ((i) = 0; (i) < json_array_size(a) && ((v) = json_array_get(a, i)); (i)++)
#define json_object_foreach(o, k, v)                                                               \
    for ((k) = first_key(o); (k) && ((v) = value_of(k)); (k) = next_key(o, k))
#define TAILQ_FOREACH(var, head, field)                                                            \
    for ((var) = first_of(head); (var); (var) = (var)->field.tqe_next)
#define TAILQ_FOREACH_SAFE(var, head, field, tmp)                                                  \
    for ((var) = first_of(head); (var) && ((tmp) = (var)->field.tqe_next, 1); (var) = (tmp))
#endif

#endif
