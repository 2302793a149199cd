#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how many inputs a second are replayed, against afl-showmap -C and others, side by side in one run.

    make -j2 all build/tests/bench/replay_rate
    python3 tests/bench/replay.py [--build DIR] [--rounds N] [--sizes 2000,20000] [--cores 0,1] [empty|TARGET ...]

Each round runs every way once, so that a drift of the host falls on all alike; told are medians of inputs a second and their ratio to
afl-showmap -C on one core. Times are those of whole commands, listing, start and all; "engine" rows leave fuzzctl's own start and
printing out, "packed" rows read the same files from one tar, and "memory" rows are a second pass over inputs that the first has read. Nothing is asserted. `empty` is a harness of the
kit whose fz_one does nothing but look at the first byte.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

EMPTY = """
#include "sdk/fz.h"
static const char *const ids[] = {"E1", NULL};
const struct fz_target fz_target = {.name = "empty", .alloc_limit = 1 << 20, .invariants = ids};
int fz_one(const uint8_t *d, size_t n)
{
    static volatile unsigned sum;

    if (n > 0 && d[0] == 'a')
        sum++;
    else if (n > 1 && d[1] > 100)
        sum += 2;
    return 0;
}
"""
ONE_EACH = 300  # inputs for what starts a process each


def build_empty(root, build, out):
    """As harnesses/README.md shows; libFuzzer with the kit's own main for it, without a sanitizer."""
    kit = os.path.join(root, "harnesses")
    sdk = os.path.join(kit, "sdk")
    parts = sorted(os.path.join(sdk, f) for f in os.listdir(sdk) if f.startswith("fz_") and f.endswith(".c"))
    source = os.path.join(out, "empty.c")
    with open(source, "w", encoding="ascii") as f:
        f.write(EMPTY)
    flags = ["-O2", "-g", "-std=c17", "-D_GNU_SOURCE", f"-I{kit}"]
    env = dict(os.environ, AFL_QUIET="1", AFL_LLVM_DENYLIST=os.path.join(sdk, "afl-denylist.txt"))
    subprocess.run(["afl-clang-fast", *flags, "-o", os.path.join(out, "afl"), source, *parts,
                    os.path.join(sdk, "main_afl.c")], env=env, check=True)
    subprocess.run(["clang", *flags, "-DFZ_LIBFUZZER", "-fsanitize=fuzzer", "-o", os.path.join(out, "libfuzzer"), source,
                    *parts, os.path.join(sdk, "main_libfuzzer.c")], check=True)
    return os.path.join(out, "afl"), os.path.join(out, "libfuzzer")


def corpus(root, out, n, seeds):
    """Variants of the seeds, 300 bytes at most, the same every time."""
    folder = os.path.join(root, "seeds", seeds)
    blobs = [open(os.path.join(folder, f), "rb").read()[:300] for f in sorted(os.listdir(folder)) if f != "README.txt"]
    state = 777
    os.makedirs(out)
    for i in range(n):
        b = bytearray(blobs[i % len(blobs)])
        for _ in range(1 + i % 7):
            state = (state * 1103515245 + 12345) % 2**31
            at = state // 7 % (len(b) + 1)
            b[at:at + state % 3] = bytes([state // 65536 % 256])
        with open(os.path.join(out, f"{i:06}"), "wb") as f:
            f.write(bytes(b) or b"x")


def seconds(cpus, argv, env=None):
    began = time.monotonic()
    done = subprocess.run(["taskset", "-c", cpus, *argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, env=dict(os.environ, **(env or {})), check=False)
    return time.monotonic() - began, done


def measure(o, name, harness, fuzzer, seeds):
    one, two = o.cores.split(",")[0], o.cores
    ctl = os.path.join(o.build, "fuzzctl")
    rate = os.path.join(o.build, "tests", "bench", "replay_rate")
    print(f"\n{name}: median of {o.rounds}, inputs a second, times afl-showmap -C")
    for n in o.sizes:
        folder = os.path.join(o.dir, f"{seeds}-{n}")
        few = os.path.join(o.dir, f"{seeds}-few")
        if not os.path.isdir(folder):
            corpus(o.root, folder, n, seeds)
        packed = folder + ".tar"
        if not os.path.exists(packed):
            subprocess.run([ctl, "--quiet", "corpus", "pack", folder, "-o", packed], check=True)
        if not os.path.isdir(few):
            corpus(o.root, few, ONE_EACH, seeds)
        got = {}

        def note(way, count, secs):
            got.setdefault(way, []).append(count / secs)

        def replay(way, cpus, engine, jobs, where, count):
            secs, done = seconds(cpus, [ctl, "replay", "--quiet", "--engine", engine, "--jobs", str(jobs), "--harness", harness,
                                        where])
            if done.returncode not in (0, 10):
                sys.exit(f"{way}: exit {done.returncode}")
            note(way, count, secs)

        def engine(way, cpus, kind, jobs, where):
            _, done = seconds(cpus, [rate, harness, where, kind, str(jobs)])
            ms = json.loads(done.stdout)
            if ms["ok"] != 2 * ms["inputs"]:
                print(f"  {way}: {2 * ms['inputs'] - ms['ok']} runs did not end well", file=sys.stderr)
            note(f"{way}, {'folder' if where == folder else 'packed'}", n, (ms["list_ms"] + ms["first_ms"]) / 1000)
            if where == folder:
                note(f"{way}, memory", n, ms["memory_ms"] / 1000)

        for _ in range(o.rounds):
            secs, _ = seconds(one, ["afl-showmap", "-C", "-q", "-i", folder, "-o", os.path.join(o.dir, "map"), "--", harness],
                              {"AFL_QUIET": "1"})
            note("afl-showmap -C, one core", n, secs)
            for kind in ("fork", "batch"):
                for cores, cpus, jobs in (("one core", one, 1), ("two cores", two, 2)):
                    replay(f"replay, {kind}, {cores}", cpus, kind, jobs, folder, n)
                    replay(f"replay, {kind}, {cores}, packed", cpus, kind, jobs, packed, n)
            replay("replay, native, one core", one, "native", 1, few, ONE_EACH)
            for kind in ("fork", "batch"):
                for cores, cpus, jobs in (("one core", one, 1), ("two cores", two, 2)):
                    engine(f"engine, {kind}, {cores}", cpus, kind, jobs, folder)
                    engine(f"engine, {kind}, {cores}", cpus, kind, jobs, packed)
            began = time.monotonic()
            for f in sorted(os.listdir(few))[:50]:
                with open(os.path.join(few, f), "rb") as data:
                    subprocess.run([harness], stdin=data, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
            note("a process a file, from Python", 50, time.monotonic() - began)
            if fuzzer:
                secs, _ = seconds(one, [fuzzer, "-runs=0", folder])
                note("libFuzzer -runs=0, one core", n, secs)
        base = statistics.median(got["afl-showmap -C, one core"])
        print(f"  {n} files")
        for way, rates in got.items():
            mid = statistics.median(rates)
            print(f"    {way:34} {mid:10.0f}/s  {mid / base:6.2f} x   ({min(rates):.0f} .. {max(rates):.0f})")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default="build")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--sizes", default="2000,20000")
    p.add_argument("--cores", default="0,1")
    p.add_argument("targets", nargs="*", default=["empty", "chunk_frame"])
    o = p.parse_args()
    o.root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    o.build = os.path.abspath(o.build)
    o.sizes = [int(n) for n in o.sizes.split(",")]
    o.dir = tempfile.mkdtemp(prefix="fuzzd-bench-")
    try:
        for t in o.targets:
            if t == "empty":
                measure(o, t, *build_empty(o.root, o.build, o.dir), "chunk_frame")
            else:
                folder = os.path.join(o.build, "harnesses", t)
                measure(o, t, os.path.join(folder, "afl"), os.path.join(folder, "libfuzzer"), t)
    finally:
        shutil.rmtree(o.dir, ignore_errors=True)


if __name__ == "__main__":
    main()
