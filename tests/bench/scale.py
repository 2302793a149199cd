#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures fuzzd with many instances of a stand-in afl-fuzz (tests/bench/standin.c), beside afl-whatsup on the same folder.

    make -j2 all build/tests/bench/standin
    python3 tests/bench/scale.py [--build DIR] [--seconds N] [--calls N] [--json] [16 64 256 1000]

For each number of instances: the time of "fuzzctl status --json", process and all; that of afl-whatsup -s, called in turn with it;
and over N seconds without a call, the share of a core and the memory that fuzzd takes. Nothing is asserted. The instances share the
cores (start --oversubscribe), and nothing that is fuzzed is part of it: a share is fuzzd's own. The state folder is removed at the end.
"""
import argparse
import glob
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

PER_TARGET = 250  # afl-fuzz syncs within a target; more would be no campaign


def spec_text(root, build, count, crash_s, tag):
    lines = ["[campaign]", "name = scale", f"root = {root}", "budget = 1h", "cores = 1", "seed = 1", "corpus = drop"]
    targets = 0
    while count > 0:
        n = min(count, PER_TARGET if count != 256 else 256)
        targets += 1
        count -= n
        lines += ["", f"[target t{targets}]", f"harness = {build}/harnesses/chunk_frame/afl",
                  "seeds = seeds/chunk_frame-min", f"instances = {n}", "timeout = 100ms",
                  f"env = SIM_CRASH_S={crash_s}"] + (["    SIM_TAG=id"] if tag == "id" else [])
    return "\n".join(lines) + "\n"


class Host:
    def __init__(self, build, root):
        self.build = os.path.abspath(build)
        self.root = root
        self.dir = tempfile.mkdtemp(prefix="fuzzd-scale-")
        self.state = os.path.join(self.dir, "state")
        self.ctl = os.path.join(self.build, "fuzzctl")
        self.env = dict(os.environ, AFL_FUZZ=os.path.join(self.build, "tests/bench/standin"), TERM="dumb")

    def run(self, *argv, limit=120):
        began = time.monotonic()
        try:
            done = subprocess.run(argv, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                                  timeout=limit)
        except subprocess.TimeoutExpired:
            return None, limit * 1000.0
        return done, (time.monotonic() - began) * 1000

    def fuzzctl(self, *args, limit=300):
        done, ms = self.run(self.ctl, "--state", self.state, *args, limit=limit)
        if done is None or done.returncode != 0:
            sys.exit(f"fuzzctl {' '.join(args)}: {'no answer' if done is None else done.stderr.strip()}")
        return done.stdout, ms

    def status(self):
        return json.loads(self.fuzzctl("status", "--json")[0])

    def close(self):
        self.run(self.ctl, "--state", self.state, "stop", "--all", limit=300)
        done, _ = self.run(self.ctl, "--state", self.state, "status", "--json")
        pid = (json.loads(done.stdout).get("fuzzd") or {}).get("pid") if done is not None and done.returncode == 0 else None
        until = time.monotonic() + 30
        while pid is not None and os.path.exists(f"/proc/{pid}") and time.monotonic() < until:
            time.sleep(0.1)
        shutil.rmtree(self.dir, ignore_errors=True)


def cpu_s(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_kb(pid):
    found = {}
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii", errors="replace") as rows:
        for row in rows:
            key, _, value = row.partition(":")
            if key in ("Rss", "Pss"):
                found[key.lower()] = int(value.split()[0])
    return found


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def instances(status):
    return [i for c in status["campaigns"] for t in c["targets"] for i in t["instances"]]


def wait_all_up(host, count, seconds):
    until = time.monotonic() + seconds
    up = 0
    while time.monotonic() < until:
        status = host.status()
        up = sum(i["state"] == "fuzzing" for i in instances(status))
        if up == count:
            return status
        time.sleep(0.5)
    sys.exit(f"{up} of {count} instances fuzz after {seconds} s")


def alive(pids):
    """Those that are still ours: the numbers of ended ones are given out again."""
    left = []
    for pid in pids:
        try:
            with open(f"/proc/{pid}/comm", encoding="ascii", errors="replace") as comm:
                left += [pid] if comm.read().strip() in ("standin", "fuzz-keeper") else []
        except OSError:
            pass
    return left


def spread(values):
    values = sorted(values)
    return {"median": statistics.median(values), "p99": values[min(len(values) - 1, int(len(values) * 0.99))]}


def measure(options, count):
    host = Host(options.build, os.getcwd())
    row = {"instances": count}
    try:
        spec = os.path.join(host.dir, "scale.ini")
        with open(spec, "w", encoding="ascii") as out:
            out.write(spec_text(host.root, host.build, count, options.crash, options.tag))
        began = time.monotonic()
        host.fuzzctl("start", spec, "--oversubscribe")
        status = wait_all_up(host, count, 300)
        row["up_s"] = time.monotonic() - began
        pid = status["fuzzd"]["pid"]
        row["startup_cpu_s"] = cpu_s(pid)
        time.sleep(options.settle)
        row["load"] = os.getloadavg()[0]
        cpu, began = cpu_s(pid), time.monotonic()
        time.sleep(options.seconds)
        row["cpu_pct"] = 100 * (cpu_s(pid) - cpu) / (time.monotonic() - began)
        row.update(memory_kb(pid), fds=descriptors(pid))
        status_ms, whatsup_ms = [], []
        folder = glob.glob(os.path.join(host.state, "campaigns/scale/*/out"))[0]
        cpu = 0
        for i in range(options.calls):
            before = cpu_s(pid)
            text, ms = host.fuzzctl("status", "--json")
            cpu += cpu_s(pid) - before
            status_ms.append(ms)
            row["status_bytes"] = len(text)
            if i % max(1, options.calls // 5) == 0:
                whatsup_ms.append(sum(host.run("afl-whatsup", "-s", os.path.join(folder, t))[1]
                                      for t in sorted(os.listdir(folder))))
        row["fuzzd_ms_per_status"] = 1000 * cpu / options.calls
        row["status_ms"], row["whatsup_ms"] = spread(status_ms), spread(whatsup_ms)
        time.sleep(options.settle)
        row["pss_after"] = memory_kb(pid)["pss"]
        status = host.status()
        pids = [i[k] for i in instances(status) for k in ("pid", "keeper_pid") if i[k]]
        _, stop_ms = host.fuzzctl("stop", "scale")
        row["stop_s"] = stop_ms / 1000
        row["left"] = len(alive(pids))
    finally:
        host.close()
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--settle", type=int, default=5)
    parser.add_argument("--calls", type=int, default=60)
    parser.add_argument("--crash", type=int, default=0, help="seconds between two crashes of an instance, 0: none")
    parser.add_argument("--tag", choices=["banner", "id"], default="banner", help="of the figures: as AFL++ 4.04c or 4.2x has it")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("counts", nargs="*", type=int, default=[16, 64, 256, 1000])
    options = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    print(f"# open files {soft}/{hard}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}", file=sys.stderr)
    for count in options.counts:
        row = measure(options, count)
        if options.json:
            print(json.dumps(row), flush=True)
            continue
        print(f"{count:5} instances, load {row['load']:.1f}: up in {row['up_s']:.1f} s ({row['startup_cpu_s']:.1f} s of fuzzd); status "
              f"{row['status_ms']['median']:.1f} ms (p99 {row['status_ms']['p99']:.1f}), fuzzd's part "
              f"{row['fuzzd_ms_per_status']:.1f} ms, afl-whatsup -s {row['whatsup_ms']['median']:.0f} ms; fuzzd {row['cpu_pct']:.2f} % "
              f"of a core, RSS {row['rss'] / 1024:.1f} MB, PSS {row['pss'] / 1024:.1f} MB (after {row['pss_after'] / 1024:.1f}), "
              f"{row['fds']} files; stopped in {row['stop_s']:.1f} s, {row['left']} left", flush=True)


if __name__ == "__main__":
    main()
