#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Executions a second of each target under AFL++, beside an empty harness and the target's own libFuzzer build.

    python3 tests/bench/targets.py [--build DIR] [--seconds N] [--rounds N] [--cpu N] [--dictionary] [--json FILE] [TARGET ...]

One process at a time, all pinned to one core. A round of a target runs the three one after the other, the next round in the
opposite order, so that a drift of the host falls on all alike; the median of the rounds is told. The empty harness is the
fork-server ceiling: the same loop of the runtime with nothing in it, on the target's own seeds. libFuzzer runs in process, with the
sanitizers its build has. Nothing is asserted. Processes are ended by pid; all files lie in a folder that is removed at the end.
"""
import argparse
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

EMPTY = """#include <unistd.h>
__AFL_FUZZ_INIT();
int main(void)
{
    __AFL_INIT();
    const unsigned char *d = __AFL_FUZZ_TESTCASE_BUF;
    while (__AFL_LOOP(10000)) {
        volatile int n = __AFL_FUZZ_TESTCASE_LEN;
        (void)n;
        (void)d;
    }
    return 0;
}
"""
GRACE_S = 30


def fail(text):
    sys.exit(f"targets.py: {text}")


def pinned(cpu):
    return lambda: os.sched_setaffinity(0, {cpu})


def run_for(argv, env, log, cpu, seconds):
    """Runs to its own end; what does not end GRACE_S after its time is ended. The exit status."""
    with open(log, "wb") as out:
        # pylint: disable=subprocess-popen-preexec-fn
        child = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True,
                                 preexec_fn=pinned(cpu))
        try:
            return child.wait(timeout=seconds + GRACE_S)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGTERM)
            try:
                return child.wait(timeout=GRACE_S)
            except subprocess.TimeoutExpired:
                child.kill()
                return child.wait()
        except BaseException:
            child.terminate()
            child.wait()
            raise


def tail(log):
    with open(log, encoding="utf-8", errors="replace") as lines:
        return "".join(lines.readlines()[-8:])


def fields(path):
    with open(path, encoding="ascii", errors="replace") as lines:
        return {k.strip(): v.strip() for k, _, v in (line.partition(":") for line in lines)}


def edges_over_time(out, seconds):
    """Edges at a quarter, half and the end of the time; columns are found by name. Source: AFL++ afl-fuzz-stats.c, plot_data."""
    points = []
    with open(os.path.join(out, "plot_data"), encoding="ascii", errors="replace") as lines:
        names = [n.strip().lstrip("# ") for n in lines.readline().split(",")]
        at, edges = names.index("relative_time"), names.index("edges_found")
        for line in lines:
            cells = line.split(",")
            if len(cells) > max(at, edges):
                points.append((float(cells[at]), int(cells[edges])))
    return [max((e for t, e in points if t <= share * seconds), default=None) for share in (0.25, 0.5)]


def queue_size(out):
    """Count and mean length of the queue."""
    queue = os.path.join(out, "queue")
    sizes = [e.stat().st_size for e in os.scandir(queue) if e.name.startswith("id:")]
    return len(sizes), statistics.mean(sizes) if sizes else 0.0


def run_afl(work, program, seeds, opts, extra_args=(), mutator=None):
    out = tempfile.mkdtemp(dir=work)
    env = {k: v for k, v in os.environ.items() if not k.startswith(("AFL_", "FZ_"))}
    env.update(AFL_NO_UI="1", AFL_NO_AFFINITY="1", AFL_SKIP_CPUFREQ="1", AFL_QUIET="1",
               AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES="1", TMPDIR=out)
    if mutator:
        env["AFL_CUSTOM_MUTATOR_LIBRARY"] = mutator
    argv = ["afl-fuzz", "-i", seeds, "-o", out, "-s", "1", "-V", str(opts.seconds), *extra_args, "--", program]
    log = os.path.join(work, "afl.log")
    run_for(argv, env, log, opts.cpu, opts.seconds)
    inst = os.path.join(out, "default")
    try:
        stats = fields(os.path.join(inst, "fuzzer_stats"))
        began = os.stat(os.path.join(inst, "fuzzer_setup")).st_mtime_ns
        ended = os.stat(os.path.join(inst, "fuzzer_stats")).st_mtime_ns
    except OSError:
        fail(f"{program}: afl-fuzz did not run:\n{tail(log)}")
    count, mean = queue_size(inst)
    result = {
        "per_s": int(stats["execs_done"]) / ((ended - began) / 1e9),
        "queue": count,
        "mean_len": mean,
        "edges": [*edges_over_time(inst, opts.seconds), int(stats["edges_found"])],
        "stability": stats.get("stability", "?"),
        "found": int(stats["saved_crashes"]) + int(stats["saved_hangs"]),
    }
    shutil.rmtree(out)
    return result


def run_libfuzzer(work, program, seeds, opts):
    corpus = tempfile.mkdtemp(dir=work)
    log = os.path.join(work, "lf.log")
    argv = [program, f"-max_total_time={opts.seconds}", "-print_final_stats=1", "-seed=1", "-max_len=65536",
            f"-artifact_prefix={corpus}/", corpus, seeds]
    run_for(argv, dict(os.environ, TMPDIR=corpus), log, opts.cpu, opts.seconds)
    with open(log, encoding="utf-8", errors="replace") as lines:
        text = lines.read()
    runs = re.search(r"stat::number_of_executed_units:\s*(\d+)", text)
    took = re.search(r"Done \d+ runs in (\d+) second", text)
    cov = re.findall(r"\bcov: (\d+)", text)
    shutil.rmtree(corpus)
    if not runs or not took:
        print(f"  {program}: libFuzzer did not come to its end:\n{tail(log)}", file=sys.stderr)
        return None
    return {"per_s": int(runs.group(1)) / max(1, int(took.group(1))), "edges": int(cov[-1]) if cov else 0}


def build_empty(work):
    source, program = os.path.join(work, "empty.c"), os.path.join(work, "empty")
    with open(source, "w", encoding="ascii") as out:
        out.write(EMPTY)
    done = subprocess.run(["afl-clang-fast", "-O2", "-o", program, source], env=dict(os.environ, AFL_QUIET="1"),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        fail("the empty harness cannot be built: " + done.stdout.decode(errors="replace"))
    return program


def measure(work, root, build, name, empty, opts):
    base = os.path.join(build, "harnesses", name)
    seeds = os.path.join(root, "seeds", name)
    dictionary = os.path.join(root, "dictionaries", f"{name}.dict")
    mutator = os.path.join(base, "mutator.so")
    mutator = mutator if os.path.exists(mutator) else None
    extra = ["-x", dictionary] if opts.dictionary and os.path.exists(dictionary) else []
    rounds = []
    for k in range(opts.rounds):
        sides = ["empty", "afl", "libfuzzer"]
        got = {}
        for side in sides if k % 2 == 0 else reversed(sides):
            if side == "empty":
                got[side] = run_afl(work, empty, seeds, opts)
            elif side == "afl":
                got[side] = run_afl(work, os.path.join(base, "afl"), seeds, opts, extra, mutator)
            elif os.path.exists(os.path.join(base, "libfuzzer")):
                got[side] = run_libfuzzer(work, os.path.join(base, "libfuzzer"), seeds, opts)
        rounds.append(got)
        told = ", ".join(f"{s} {got[s]['per_s']:.0f}/s" for s in sides if got.get(s))
        print(f"  {name} round {k + 1}: {told}", file=sys.stderr, flush=True)
    return {"target": name, "seeds": len([e for e in os.listdir(seeds) if e != "README.txt"]), "mutator": bool(mutator),
            "rounds": rounds}


def median(result, side, key="per_s"):
    values = [r[side][key] for r in result["rounds"] if r.get(side)]
    return statistics.median(values) if values else None


def show(value, form="{:.0f}"):
    return "-" if value is None else form.format(value)


def ratio(a, b):
    return a / b if a is not None and b else None


HEAD = ["target", "seeds", "queue", "mean len", "empty/s", "AFL++/s", "of empty", "libFuzzer/s", "AFL++/libF", "edges 1/4",
        "1/2", "end", "stability", "libF cov", "found"]


def row(result):
    afl, empty, libf = (median(result, s) for s in ("afl", "empty", "libfuzzer"))
    last = result["rounds"][-1]
    a, libfuzzer = last["afl"], last.get("libfuzzer")
    return [result["target"] + ("*" if result["mutator"] else ""), str(result["seeds"]), str(a["queue"]),
            show(median(result, "afl", "mean_len")), show(empty), show(afl), show(ratio(afl, empty), "{:.2f}"), show(libf),
            show(ratio(afl, libf), "{:.2f}"), *[show(e) for e in a["edges"]], a["stability"],
            show(libfuzzer["edges"] if libfuzzer else None), str(a["found"])]


def table(results, opts):
    rows = [HEAD] + [row(r) for r in results]
    widths = [max(len(r[i]) for r in rows) for i in range(len(HEAD))]
    for i, cells in enumerate(rows):
        print("  ".join(c.ljust(w) if k == 0 else c.rjust(w) for k, (c, w) in enumerate(zip(cells, widths))).rstrip())
        if i == 0:
            print("  ".join("-" * w for w in widths))
    print(f"\n{opts.seconds} s each, {opts.rounds} round(s), median, core {opts.cpu}; queue, edges, stability of the last round."
          " * with its own mutator. libFuzzer: in process, with ASan and UBSan."
          f" Load of the host at the end: {os.getloadavg()[0]:.1f} on {len(os.sched_getaffinity(0))} cores.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--dictionary", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("targets", nargs="*")
    opts = parser.parse_args()
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    build = os.path.abspath(opts.build)
    there = sorted(n for n in os.listdir(os.path.join(root, "harnesses", "targets"))
                   if os.path.exists(os.path.join(root, "harnesses", "targets", n, "invariants.c")))
    names = opts.targets or there
    if opts.seconds < 1 or opts.rounds < 1:
        fail("--seconds and --rounds are 1 or more")
    if opts.cpu not in os.sched_getaffinity(0):
        fail(f"core {opts.cpu} is not one of ours")
    if shutil.which("afl-fuzz") is None:
        fail("no afl-fuzz in PATH")
    for name in names:
        if name not in there:
            fail(f"no target {name}; there are {', '.join(there)}")
        if not os.path.exists(os.path.join(build, "harnesses", name, "afl")):
            fail(f"{name} is not built; make harnesses")
    work = tempfile.mkdtemp(prefix="fuzzd-bench-")
    try:
        empty = build_empty(work)
        results = [measure(work, root, build, name, empty, opts) for name in names]
        table(results, opts)
        if opts.json:
            with open(opts.json, "w", encoding="ascii") as out:
                json.dump({"seconds": opts.seconds, "cpu": opts.cpu, "targets": results}, out, indent=2)
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
