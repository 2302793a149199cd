#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures fuzzd against the same afl-fuzz command run by hand, side by side in one run.

    python3 tests/bench/bench.py [--build DIR] [--pairs N] [--seconds N] [throughput|cpu|ack ...]

Everything is told as a ratio or a share, with its spread; nothing is asserted. A pair is run as ABBA, so that a drift of the
host falls on both sides alike. Processes are started and ended by pid, in a state folder of their own that is removed at the end.
"""
import argparse
import json
import os
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

SPEC = """[campaign]
name = bench
root = {root}
budget = {budget}
cores = {cores}
seed = 1

[target {target}]
harness = {build}/harnesses/chunk_frame/afl
sanitizer = {build}/harnesses/chunk_frame/asan
replay = {build}/harnesses/chunk_frame/replay
seeds = seeds/chunk_frame-min
instances = {instances}
"""


class Bench:
    def __init__(self, build, root):
        self.build = os.path.abspath(build)
        self.root = root
        self.dir = tempfile.mkdtemp(prefix="fuzzd-bench-")
        self.state = os.path.join(self.dir, "state")
        self.ctl = os.path.join(self.build, "fuzzctl")

    def close(self):
        subprocess.run([self.ctl, "--state", self.state, "stop", "--all"], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=False)
        pid = self.daemon_pid()
        for _ in range(100):
            if pid is None or not os.path.exists(f"/proc/{pid}"):
                break
            time.sleep(0.1)
        shutil.rmtree(self.dir, ignore_errors=True)

    def fuzzctl(self, *args, check=True):
        done = subprocess.run([self.ctl, "--state", self.state, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, check=False)
        if check and done.returncode != 0:
            sys.exit(f"fuzzctl {' '.join(args)}: exit {done.returncode}: {done.stderr.strip()}")
        return done

    def spec(self, budget, instances=1, name="bench"):
        path = os.path.join(self.dir, f"{name}.ini")
        with open(path, "w", encoding="ascii") as out:
            out.write(SPEC.format(root=self.root, budget=budget, cores=instances, build=self.build, instances=instances,
                                  target="chunk_frame"))
        return path

    def status(self):
        return json.loads(self.fuzzctl("status", "--json").stdout)

    def daemon_pid(self):
        done = self.fuzzctl("status", "--json", check=False)
        try:
            fuzzd = json.loads(done.stdout)["fuzzd"]
        except (ValueError, KeyError):
            return None
        return fuzzd["pid"] if fuzzd else None

    def plan(self, spec):
        return json.loads(self.fuzzctl("plan", spec, "--json").stdout)

    def instance_planned(self, spec):
        return self.plan(spec)["targets"][0]["instances"][0]


def rate_of(out_dir):
    """Executions a second from two files of the instance: written once at its start, and last at its end."""
    stats = os.path.join(out_dir, "fuzzer_stats")
    began = os.stat(os.path.join(out_dir, "fuzzer_setup")).st_mtime_ns
    ended = os.stat(stats).st_mtime_ns
    with open(stats, encoding="ascii", errors="replace") as lines:
        for line in lines:
            if line.startswith("execs_done"):
                return int(line.split(":")[1]) / ((ended - began) / 1e9)
    sys.exit(f"{stats}: no execs_done")


def wait_for(path, seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if os.path.exists(path) and os.path.getsize(path) > 0:
            return
        time.sleep(0.005)
    sys.exit(f"{path}: did not appear within {seconds} s")


def run_bare(bench, inst, seconds):
    """The planned command by hand, pinned to the planned core. Returns executions a second and seconds to the first ones."""
    out = tempfile.mkdtemp(dir=bench.dir)
    argv = list(inst["argv"])
    argv[argv.index("-o") + 1] = out
    env = dict(item.split("=", 1) for item in inst["env"])
    env["TMPDIR"] = out
    for ours in ("AFL_STATSD", "AFL_PRELOAD"):
        env.pop(ours, None)
    with open(os.path.join(out, "log"), "wb") as log:
        began = time.monotonic()
        # pylint: disable=subprocess-popen-preexec-fn
        child = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                                 preexec_fn=lambda: os.sched_setaffinity(0, {inst["cpu"]}))
        wait_for(os.path.join(out, inst["name"], "fuzzer_stats"), 30)
        up_s = time.monotonic() - began
        time.sleep(seconds)
        child.send_signal(signal.SIGTERM)
        child.wait()
    rate = rate_of(os.path.join(out, inst["name"]))
    shutil.rmtree(out)
    return rate, up_s


def run_fuzzd(bench, seconds):
    """The same under fuzzd; its run folder tells the rate. Returns executions a second and seconds until start came back."""
    spec = bench.spec(f"{seconds}s")
    began = time.monotonic()
    bench.fuzzctl("start", spec)
    up_s = time.monotonic() - began
    bench.fuzzctl("wait", "bench", check=False)
    base = os.path.join(bench.state, "campaigns", "bench")
    run = max(d for d in os.listdir(base) if d[0].isdigit())
    out = os.path.join(base, run, "out", "chunk_frame")
    return rate_of(os.path.join(out, os.listdir(out)[0])), up_s


def abba(bench, pairs, seconds):
    inst = bench.instance_planned(bench.spec(f"{seconds}s"))
    rates, starts, bares = [], [], []
    for k in range(pairs):
        pair = {}
        for side in ("bare", "fuzzd") if k % 2 == 0 else ("fuzzd", "bare"):
            pair[side] = run_bare(bench, inst, seconds) if side == "bare" else run_fuzzd(bench, seconds)
        rates.append(pair["fuzzd"][0] / pair["bare"][0])
        starts.append(pair["fuzzd"][1] / pair["bare"][1])
        bares.append(pair)
        print(f"  pair {k + 1:2}: bare {pair['bare'][0]:8.0f}/s  fuzzd {pair['fuzzd'][0]:8.0f}/s  ratio {rates[-1]:.3f}"
              f"  up bare {pair['bare'][1]:.2f} s  start {pair['fuzzd'][1]:.2f} s", flush=True)
    return rates, starts, bares


def spread(values):
    values = sorted(values)
    return f"median {statistics.median(values):.3f}, {values[0]:.3f} to {values[-1]:.3f}, n={len(values)}"


def cpu_ticks(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def bench_cpu(bench, seconds):
    cores = len(os.sched_getaffinity(0))
    spec = bench.spec(f"{seconds + 60}s", instances=min(2, cores))
    bench.fuzzctl("start", spec)
    time.sleep(5)
    pid = bench.daemon_pid()
    before, began = cpu_ticks(pid), time.monotonic()
    time.sleep(seconds)
    used = (cpu_ticks(pid) - before) / os.sysconf("SC_CLK_TCK")
    share = used / (time.monotonic() - began)
    print(f"cpu: fuzzd used {100 * share:.2f} % of a core over {seconds} s with {min(2, cores)} instances")
    bench_status(bench)
    bench.fuzzctl("stop", "bench")


def bench_status(bench):
    def once(*args):
        began = time.monotonic()
        bench.fuzzctl(*args)
        return (time.monotonic() - began) * 1000

    status = [once("status", "--json") for _ in range(30)]
    version = [once("version") for _ in range(30)]
    print(f"status: {statistics.median(status):.1f} ms median, {max(status):.1f} ms at most, n=30; ratio to a bare start of the"
          f" program {statistics.median(status) / statistics.median(version):.2f}")


def bench_ack(bench, files):
    """From the close of a crash file to its row being committed, as another process sees it."""
    bench.fuzzctl("start", bench.spec("10m"))
    base = os.path.join(bench.state, "campaigns", "bench")
    run = max(d for d in os.listdir(base) if d[0].isdigit())
    crashes = os.path.join(base, run, "out", "chunk_frame", "main", "crashes")
    index = sqlite3.connect(f"file:{bench.state}/state.db?mode=ro", uri=True)
    took = []
    for k in range(files):
        name = f"id:{900000 + k},sig:06,src:000000,op:bench"
        with open(os.path.join(crashes, name), "wb") as out:
            out.write(b"bench %d" % k)
        began = time.monotonic()
        while not index.execute("SELECT count(*) FROM occurrences WHERE name = ?", (name.encode(),)).fetchone()[0]:
            if time.monotonic() - began > 30:
                sys.exit(f"{name}: not acknowledged within 30 s")
            time.sleep(0.0005)
        took.append((time.monotonic() - began) * 1000)
        time.sleep(0.02)
    index.close()
    bench.fuzzctl("stop", "bench", check=False)
    took.sort()
    print(f"crash file closed to acknowledged: {statistics.median(took):.1f} ms median, p99"
          f" {took[int(0.99 * (len(took) - 1))]:.1f} ms, {took[-1]:.1f} ms at most, n={files}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("what", nargs="*", default=["throughput", "cpu", "ack"])
    opts = parser.parse_args()
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    bench = Bench(opts.build, root)
    try:
        if "throughput" in opts.what:
            rates, starts, pairs = abba(bench, opts.pairs, opts.seconds)
            print(f"throughput, fuzzd / bare: {spread(rates)}")
            print(f"start to first execution, fuzzd / bare: {spread(starts)}; fuzzd"
                  f" {statistics.median(p['fuzzd'][1] for p in pairs):.2f} s median")
        if "ack" in opts.what:
            bench_ack(bench, 300)
        if "cpu" in opts.what:
            bench_cpu(bench, max(20, opts.seconds))
    finally:
        bench.close()


if __name__ == "__main__":
    main()
