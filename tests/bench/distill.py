#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fuzzctl distill beside afl-cmin, on corpora that are grown from a target's seeds.

    python3 tests/bench/distill.py [--build DIR] [--target NAME] [--sizes N,N...] [--ours N,N...] [--rounds N] [--json FILE]

Each corpus holds variants of the seeds, the same every time. A round runs every contender one after the other, the next round in
the opposite order; the median is told. Contenders: fuzzctl distill on all cores and on one, in batches and by the fork server alone, which
any program of AFL++ has, afl-cmin of PATH, and, where
contrib/install-deps has put a second AFL++, its afl-cmin on one core and on all (-T all). Sizes of --ours are run by fuzzctl alone.
What is left is judged by one tool for all, afl-showmap -C: edges that the corpus has and the result has not are lost. Memory is the
largest process of each contender, as sampled; harness and afl-showmap are part of it. Who takes over a minute is run once. Nothing is
asserted; all files lie in a folder that is removed at the end.
"""
import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time


def fail(text):
    sys.exit(f"distill.py: {text}")


def grow(out, count, seeds):
    """count files of at most 600 bytes: seeds with bytes set, put in, taken away and spliced."""
    rng = random.Random(count)
    blobs = []
    for name in sorted(os.listdir(seeds)):
        if not name.endswith(".txt"):
            with open(os.path.join(seeds, name), "rb") as f:
                blobs.append(f.read())
    os.makedirs(out)
    for i in range(count):
        b = bytearray(rng.choice(blobs)[:400])
        for _ in range(rng.randrange(1, 9)):
            at = rng.randrange(len(b) + 1)
            kind = rng.randrange(4)
            if kind == 0 and b:
                b[min(at, len(b) - 1)] = rng.randrange(256)
            elif kind == 1:
                b[at:at] = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 5)))
            elif kind == 2:
                del b[at:at + rng.randrange(1, 9)]
            else:
                other = rng.choice(blobs)
                start = rng.randrange(len(other) + 1)
                b[at:at] = other[start:start + rng.randrange(1, 30)]
        with open(os.path.join(out, f"{i:07}"), "wb") as f:
            f.write(bytes(b[:600]) or b"x")


def descendants(pid):
    found = [pid]
    for p in found:
        try:
            for task in os.listdir(f"/proc/{p}/task"):
                with open(f"/proc/{p}/task/{task}/children", "r", encoding="ascii") as f:
                    found += [int(c) for c in f.read().split()]
        except OSError:
            pass
    return found


def largest(pid):
    """Peak memory of the largest of a process and what it started, in bytes."""
    top = 0
    for p in descendants(pid):
        try:
            with open(f"/proc/{p}/status", "r", encoding="utf-8", errors="replace") as f:
                top = max([top] + [int(line.split()[1]) * 1024 for line in f if line.startswith("VmHWM:")])
        except OSError:
            pass
    return top


def run(argv, env, log):
    """(seconds, largest process in bytes); ends the program when it fails."""
    memory = 0
    began = time.monotonic()
    with open(log, "wb") as out:
        child = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        while True:
            memory = max(memory, largest(child.pid))
            try:
                status = child.wait(timeout=0.05)
                break
            except subprocess.TimeoutExpired:
                pass
    took = time.monotonic() - began
    if status != 0:
        with open(log, "r", encoding="utf-8", errors="replace") as f:
            fail(f"{' '.join(argv)}: status {status}\n{f.read()[-2000:]}")
    return took, memory


def edges(showmap, harness, folder, env, work):
    """Numbers of the edges that the files of a folder take together."""
    out = os.path.join(work, "edges")
    subprocess.run([showmap, "-q", "-C", "-t", "5000", "-i", folder, "-o", out, "--", harness], env=env, check=False,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(out, "r", encoding="ascii") as f:
        return {line.split(":")[0] for line in f} - {"000000"}


def contenders(build, harness, other):
    """name -> (argv without folders, how folders are put, is it ours)."""
    fuzzctl = os.path.join(build, "fuzzctl")
    found = {
        "distill, all cores": [fuzzctl, "distill", "--harness", harness, "{in}", "-o", "{out}"],
        "distill, fork, all cores": [fuzzctl, "distill", "--harness", harness, "--engine", "fork", "{in}", "-o", "{out}"],
        "distill, fork, one core": [fuzzctl, "distill", "--harness", harness, "--engine", "fork", "--jobs", "1", "{in}", "-o", "{out}"],
        "distill, one core": [fuzzctl, "distill", "--harness", harness, "--jobs", "1", "{in}", "-o", "{out}"],
    }
    for prefix in [os.path.dirname(shutil.which("afl-fuzz") or ""), other]:
        cmin = os.path.join(prefix, "afl-cmin")
        if not prefix or not os.access(cmin, os.X_OK):
            continue
        version = subprocess.run([os.path.join(prefix, "afl-fuzz"), "-h"], capture_output=True, text=True, check=False)
        version = (version.stdout + version.stderr).split("afl-fuzz++")[1].split()[0].split("\x1b")[0]
        argv = [cmin, "-i", "{in}", "-o", "{out}", "--", harness]
        found[f"afl-cmin {version}"] = argv
        usage = subprocess.run([cmin, "-h"], capture_output=True, text=True, check=False)
        if "-T " in usage.stdout + usage.stderr:
            found[f"afl-cmin {version} -T all"] = argv[:1] + ["-T", "all"] + argv[1:]
    return found


def measure(name, argv, corpus, opts, whole, work):
    out = os.path.join(work, "out")
    shutil.rmtree(out, ignore_errors=True)
    env = dict(opts.env)
    if argv[0].endswith("afl-cmin"):
        env["PATH"] = os.path.dirname(argv[0]) + ":" + env["PATH"]
    argv = [a.replace("{in}", corpus).replace("{out}", out) for a in argv]
    took, memory = run(argv, env, os.path.join(work, "log"))
    files = [os.path.join(out, f) for f in os.listdir(out)]
    kept = edges(opts.showmap, opts.harness, out, opts.env, work)
    return {"name": name, "seconds": took, "files": len(files), "bytes": sum(os.path.getsize(f) for f in files),
            "edges": len(kept & whole), "lost": len(whole - kept), "memory": memory}


def table(size, whole, rows, base):
    print(f"\n{size} files, {whole} edges")
    print(f"{'':28} {'seconds':>8} {'ratio':>6} {'us/file':>8} {'files':>6} {'bytes':>8} {'edges':>6} {'lost':>5} {'memory':>8}")
    for r in rows:
        ratio = f"{base / r['seconds']:.2f}" if base else ""
        print(f"{r['name']:28} {r['seconds']:8.2f} {ratio:>6} {1e6 * r['seconds'] / size:8.1f} {r['files']:6} {r['bytes']:8} "
              f"{r['edges']:6} {r['lost']:5} {r['memory'] / 1e6:6.1f} M", flush=True)


def main():
    top = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--build", default=os.path.join(top, "build"))
    p.add_argument("--target", default="chunk_frame")
    p.add_argument("--sizes", default="2000,20000")
    p.add_argument("--ours", default="200000")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--json")
    opts = p.parse_args()
    opts.build = os.path.abspath(opts.build)
    opts.harness = os.path.join(opts.build, "harnesses", opts.target, "afl")
    opts.showmap = shutil.which("afl-showmap")
    for need in (opts.harness, os.path.join(opts.build, "fuzzctl"), opts.showmap or "afl-showmap"):
        if not os.access(need, os.X_OK):
            fail(f"{need} is not there")
    opts.env = dict(os.environ, AFL_ALLOW_TMP="1", AFL_QUIET="1", AFL_NO_AFFINITY="1", LC_ALL="C")
    other = subprocess.run(["sh", os.path.join(top, "contrib/install-deps"), "--aflpp-other"], capture_output=True, text=True,
                           check=False).stdout.strip()
    who = contenders(opts.build, opts.harness, os.path.join(other, "bin") if other else "")
    ours = [int(n) for n in opts.ours.split(",") if n]
    result = []
    with tempfile.TemporaryDirectory(prefix="fz-distill.") as work:
        for size in [int(n) for n in opts.sizes.split(",") if n] + ours:
            corpus = os.path.join(work, f"in-{size}")
            grow(corpus, size, os.path.join(top, "seeds", opts.target))
            whole = edges(opts.showmap, opts.harness, corpus, opts.env, work)
            names = [n for n in who if size not in ours or n.startswith("distill")]
            rows = {n: [] for n in names}
            for i in range(opts.rounds):
                for n in names if i % 2 == 0 else reversed(names):
                    if rows[n] and rows[n][0]["seconds"] > 60:
                        continue
                    rows[n].append(measure(n, who[n], corpus, opts, whole, work))
            middle = [dict(r[0], seconds=statistics.median(x["seconds"] for x in r),
                           memory=max(x["memory"] for x in r), lost=max(x["lost"] for x in r)) for r in rows.values()]
            base = next((r["seconds"] for r in middle if r["name"].startswith("afl-cmin")), 0)
            table(size, len(whole), middle, base)
            result.append({"size": size, "edges": len(whole), "rows": middle})
            shutil.rmtree(corpus)
    if opts.json:
        with open(opts.json, "w", encoding="utf-8") as f:
            json.dump({"cores": len(os.sched_getaffinity(0)), "target": opts.target, "rounds": opts.rounds, "sizes": result}, f,
                      indent=1)


main()
