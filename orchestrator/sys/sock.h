/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYS_SOCK_H
#define SYS_SOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Unix stream socket dir/name, bound through /proc/self/fd so that a long path works; mode 0600, non-blocking, listening. fd or -errno. */
int sock_listen(const char *dir, const char *name);
/* Connects the same way. fd (blocking) or -errno (-ECONNREFUSED, -ENOENT: nobody there). */
int sock_connect(const char *dir, const char *name);
/* Uid and pid of the peer by SO_PEERCRED. 0 or -errno. */
int sock_peer(int fd, uid_t *ret_uid, pid_t *ret_pid);
/* UDP socket on 127.0.0.1; port 0 lets the kernel choose. fd (non-blocking) and *ret_port, or -errno. */
int sock_udp_loopback(uint16_t port, uint16_t *ret_port);
/*
 * The inode of the UDP socket over IPv4 that is bound to this local port, as its owner's descriptors name it. 0, -ENOENT when there is
 * none, or -errno. Reads a line for each UDP socket of the host.
 */
int sock_udp_inode(uint16_t port, uint64_t *ret_inode);
/* Whether a process has that socket open. Not what may not be seen of a process of somebody else. */
bool sock_is_open_in(pid_t pid, uint64_t inode);

#endif
