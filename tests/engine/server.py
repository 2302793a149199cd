#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plays a fork server, as its arguments say, and dies when they end.

w:HEX writes bytes to descriptor 199, r:N reads N from 198, p:PID writes a pid, me writes our own, d:N writes N bytes of a dictionary,
sleep waits for good; once:FILE A... else B... does A the first time, when it makes FILE, and B from then on.
"""
import os
import struct
import sys
import time


def main():
    args = sys.argv[1:]
    while args:
        word, _, rest = args.pop(0).partition(":")
        if word == "w":
            os.write(199, bytes.fromhex(rest))
        elif word == "r":
            left = int(rest)
            while left > 0:
                got = os.read(198, left)
                if not got:
                    sys.exit(7)
                left -= len(got)
        elif word == "p":
            os.write(199, struct.pack("=i", int(rest)))
        elif word == "me":
            os.write(199, struct.pack("=i", os.getpid()))
        elif word == "d":
            left = int(rest)
            while left > 0:
                left -= os.write(199, b"\x01a" * min(left // 2, 2000) if left > 1 else b"\0")
        elif word == "once":
            if os.path.exists(rest):
                args = args[args.index("else") + 1:]
            else:
                with open(rest, "w", encoding="ascii"):
                    pass
        elif word == "else":
            return
        elif word == "sleep":
            time.sleep(1000)
        else:
            sys.exit(f"{word}: unknown")


main()
