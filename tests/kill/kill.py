#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The kill matrix: a real campaign, a state of it, a SIGKILL or two, and the proof that nothing was lost.

    kill.py [--build DIR] [--seeds FIRST-LAST] [--tap] [--keep]

A seed chooses the state in which the kill falls and who is killed; 252 seeds in a row cover every
state with every kind of kill, 24 every state twice. Whoever is killed is named by a pidfd opened before its identity is
checked; nothing is found by a program's name alone.
"""
import argparse
import ctypes
import hashlib
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

# The states of farm/instance_table.c, and one of the run: its instances have ended, its verdict is not drawn.
STATES = ["starting", "fuzzing", "stopping", "backing-off", "calibrating", "triage", "planned", "frozen",
          "stalled", "ended", "failed", "rotating"]
WHO = ["fuzzd", "keeper", "afl", "forkserver", "child", "triage"]
KILLS = [(w,) for w in WHO] + [(a, b) for i, a in enumerate(WHO) for b in WHO[i + 1:]]
SAMPLE_S = 0.04
ROTATE_AT = "4,400"  # crashes and hangs in one folder
STALL_WINDOW = "2s"  # StatsD tells once a second that it executes
SLOW_S = 180  # a seed takes 3 to 8 s; this only tells one that hangs
HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))


def read(path, default=""):
    try:
        with open(path, "rb") as f:
            return f.read().decode("utf-8", "replace")
    except OSError:
        return default


class Proc:
    """A process by pid and start time."""

    def __init__(self, pid):
        self.pid = int(pid)
        stat = read(f"/proc/{self.pid}/stat")
        fields = stat[stat.rfind(")") + 2:].split() if stat else []
        self.state = fields[0] if fields else "X"
        self.ppid = int(fields[1]) if fields else 0
        self.start = int(fields[19]) if len(fields) > 19 else 0

    @property
    def lives(self):
        return self.state not in "ZX"

    def kill(self, sig=signal.SIGKILL):
        """The signal to this very process. False when it has gone."""
        try:
            fd = os.pidfd_open(self.pid)
        except OSError:
            return False
        try:
            now = Proc(self.pid)
            if self.pid <= 1 or now.start != self.start or not now.lives:
                return False
            signal.pidfd_send_signal(fd, sig)
            return True
        except OSError:
            return False
        finally:
            os.close(fd)


def processes():
    return [Proc(p) for p in os.listdir("/proc") if p.isdigit()]


def exe(pid):
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe").removesuffix(" (deleted)"))
    except OSError:
        return ""


class Sampler(threading.Thread):
    """Looks at the campaign from outside all the while: who runs where, and which files were there."""

    def __init__(self, state):
        super().__init__(daemon=True)
        self.state = state.encode()
        self.root = state
        self.ended = threading.Event()
        self.before = {}
        self.twice = set()
        self.afl_pids = set()
        self.contents = {}  # path -> (size, mtime, sha256), once it stood still
        self.pending = {}

    def afl(self):
        """Output folder and instance -> pids of afl-fuzz proper."""
        found, pids = {}, {}
        for p in os.listdir("/proc"):
            if not p.isdigit() or exe(p) != "afl-fuzz":
                continue
            try:
                with open(f"/proc/{p}/cmdline", "rb") as f:
                    argv = f.read().split(b"\0")
            except OSError:
                continue
            if any(a.startswith(self.state) for a in argv):
                out = argv[argv.index(b"-o") + 1] if b"-o" in argv else b""
                name = next((argv[i + 1] for i, a in enumerate(argv[:-1]) if a in (b"-M", b"-S")), b"")
                name = re.sub(rb"_r[0-9]+$", b"", name)  # the same instance, in its next folder
                pids[int(p)] = (out + b" " + name).decode("utf-8", "replace")
        for pid, key in pids.items():
            proc = Proc(pid)
            # Between fork and exec a fork server looks like its parent.
            if proc.lives and proc.ppid not in pids:
                found.setdefault(key, set()).add(pid)
        return found

    def look(self):
        now = self.afl()
        for key, pids in now.items():
            self.afl_pids |= pids
            both = pids & self.before.get(key, set())
            if len(both) > 1:
                self.twice.add((key, tuple(sorted(both))))
        self.before = now

    def files(self):
        for top, _, names in os.walk(os.path.join(self.root, "campaigns")):
            folder = os.path.basename(top)
            if not folder.startswith(("crashes", "hangs")):
                continue
            for name in names:
                if name == "README.txt" or not name.startswith("id:"):
                    continue
                path = os.path.join(top, name)
                try:
                    st = os.stat(path)
                    key = (st.st_size, st.st_mtime_ns, st.st_ino)
                    if path in self.contents and self.contents[path][0] == key:
                        continue
                    if self.pending.get(path) != key:
                        self.pending[path] = key
                        continue
                    with open(path, "rb") as f:
                        self.contents[path] = (key, hashlib.sha256(f.read()).hexdigest(), name)
                except OSError:
                    continue

    def run(self):
        n = 0
        while not self.ended.wait(SAMPLE_S):
            self.look()
            n += 1
            if n % 4 == 0:
                self.files()


class Seed:
    def __init__(self, opts, seed, crasher):
        self.seed = seed
        self.random = random.Random(seed)
        self.state = STATES[seed % len(STATES)]
        # 12 states and 21 kinds of kill share a factor: each 84 seeds begin with the next kind.
        self.kills = KILLS[(seed + seed // 84) % len(KILLS)]
        self.spread_s = self.random.choice([0, 0, self.random.uniform(0, 0.3)])
        self.dir = tempfile.mkdtemp(prefix="fz-kill.")
        self.root = os.path.join(self.dir, "state")
        os.mkdir(self.root, 0o700)
        self.tmp = os.path.join(self.dir, "tmp")
        os.mkdir(self.tmp, 0o700)
        self.cache = opts.cache
        if os.path.isdir(opts.cache):  # what afl-fuzz can do is asked once, not per seed
            shutil.copytree(opts.cache, os.path.join(self.root, "cache"))
        self.build = opts.build
        self.ctl = os.path.join(opts.build, "fuzzctl")
        self.crasher = crasher
        self.env = dict(os.environ, FUZZ_STATE=self.root, TMPDIR=self.tmp, AFL_SKIP_CPUFREQ="1",
                        AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES="1")
        self.env.pop("FUZZ_RUNTIME_SECS", None)
        if self.state == "stalled":
            self.env["FUZZ_STALL_WINDOW"] = STALL_WINDOW
        if self.state == "rotating":
            self.env["FUZZ_ROTATE_AT"] = ROTATE_AT
        self.faults = []
        self.killed = []
        self.last_err = ""
        self.asked_stop = False
        self.lost = self.left = 0
        self.verdict = "-"
        self.background = []

    def say(self, text):
        self.faults.append(text)

    def call(self, *args, limit=60):
        try:
            p = subprocess.run([self.ctl, *args], env=self.env, stdin=subprocess.DEVNULL,
                               capture_output=True, text=True, timeout=limit)
        except subprocess.TimeoutExpired:
            self.say(f"fuzzctl {' '.join(args)} does not return within {limit} s")
            return 255, ""
        self.last_err = p.stderr.strip()
        return p.returncode, p.stdout

    def call_behind(self, *args):
        p = subprocess.Popen([self.ctl, *args], env=self.env, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.background.append((args, p))
        return p

    def spec(self):
        # One target with two instances, or two targets; of these one waits for a core, has ended
        # before the other starts, or cannot fuzz for want of a seed that does not crash under afl-fuzz.
        in_turn = self.state in ("planned", "ended")
        two = self.seed % 2 == 1 or in_turn or self.state == "failed"
        budget = {"stalled": "6s", "rotating": "4s"}.get(self.state, "1500ms")
        text = (f"[campaign]\nname = k\nroot = {self.dir}\nbudget = {budget}\n"
                f"cores = {1 if in_turn else 2}\n")
        for name, seed in [("a", b"abcdefgh"), ("b", b"~afl-only" if self.state == "failed" else b"abcdefgh")]:
            if name == "b" and not two:
                continue
            text += (f"\n[target {name}]\nharness = {self.crasher}\nseeds = seeds-{name}\n"
                     f"instances = {1 if two else 2}\ntimeout = 40ms\nhang_timeout = 100ms\n")
            os.mkdir(os.path.join(self.dir, f"seeds-{name}"))
            with open(os.path.join(self.dir, f"seeds-{name}", "one"), "wb") as f:
                f.write(seed)
        path = os.path.join(self.dir, "k.ini")
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
        return path

    # ---- What runs ---------------------------------------------------------------------

    def status(self):
        code, out = self.call("status", "k", "--json", limit=20)
        try:
            doc = json.loads(out) if code == 0 else {}
        except ValueError:
            self.say("status --json is no JSON")
            doc = {}
        campaigns = doc.get("campaigns") or []
        return (doc.get("fuzzd") or {}), (campaigns[0] if campaigns else {})

    def in_state(self):
        _, c = self.status()
        states = [i.get("state") for t in c.get("targets", []) for i in t.get("instances", [])]
        if self.state == "triage":
            return c.get("state") == "triage"
        if self.state in ("planned", "ended"):
            return self.state in states and "fuzzing" in states
        return self.state in states

    def fuzzing(self):
        _, c = self.status()
        states = [i.get("state") for t in c.get("targets", []) for i in t.get("instances", [])]
        return states != [] and all(s == "fuzzing" for s in states)

    def until(self, what, limit, step=0.02):
        end = time.monotonic() + limit
        while time.monotonic() < end:
            if what():
                return True
            time.sleep(step)
        return False

    def daemon(self):
        line = read(os.path.join(self.root, "fuzzd.lock")).split()
        if len(line) < 2 or not line[1].rstrip(",").isdigit():
            return None
        p = Proc(line[1].rstrip(","))
        return p if p.lives and exe(p.pid) == "fuzzd" else None

    def records(self, key):
        found = []
        for top, _, names in os.walk(os.path.join(self.root, "campaigns")):
            for name in names:
                if not name.endswith(".run"):
                    continue
                for line in read(os.path.join(top, name)).splitlines():
                    if line.startswith(key + "="):
                        pid, start = line.split("=")[1].split()[:2]
                        p = Proc(pid)
                        if p.lives and p.start == int(start):
                            found.append(p)
        return found

    def victims(self, who):
        if who == "fuzzd":
            d = self.daemon()
            return [d] if d else []
        if who == "keeper":
            return self.records("keeper")
        afl = self.records("afl")
        if who == "afl":
            return afl
        all_procs = [p for p in processes() if p.lives]
        if who == "triage":
            d = self.daemon()
            return [p for p in all_procs if d and p.ppid == d.pid and exe(p.pid) == "fuzz-triage"]
        afl_pids = {p.pid for p in afl}
        servers = [p for p in all_procs if p.ppid in afl_pids]
        if who == "forkserver":
            return servers
        server_pids = {p.pid for p in servers}
        return [p for p in all_procs if p.ppid in server_pids]

    def strike(self, who):
        """Kills one of them; one that is not there yet is waited for, as the state may only begin."""
        chosen = None

        def there():
            nonlocal chosen
            found = self.victims(who)
            chosen = self.random.choice(found) if found else None
            return chosen is not None and chosen.kill()

        if self.until(there, 0.8, 0.005):
            self.killed.append(who)
        return chosen is not None

    # ---- The course --------------------------------------------------------------------

    def reach_state(self, spec):
        if self.state in ("starting", "calibrating"):
            self.call_behind("start", spec)
            return self.until(self.in_state, 10, 0.005)
        code, _ = self.call("start", spec)
        if code != 0:
            self.say(f"start ends with {code}: {self.last_err}")
            return False
        if self.state in ("planned", "ended", "failed"):
            return self.until(self.in_state, 10)
        self.until(self.fuzzing, 3)
        time.sleep(self.random.uniform(0, 0.7))
        if self.state == "stopping":
            self.asked_stop = True
            self.call_behind("stop", "k")
            return self.until(self.in_state, 1, 0.005)
        elif self.state == "backing-off":
            for p in self.records("afl")[:1]:
                p.kill()
            return self.until(self.in_state, 2, 0.01)
        elif self.state == "stalled":
            for p in self.records("afl")[:1]:
                p.kill(signal.SIGSTOP)
            return self.until(self.in_state, 6)
        elif self.state == "rotating":
            return self.until(self.in_state, 8, 0.005)
        elif self.state == "triage":
            return self.until(self.in_state, 10, 0.01)
        elif self.state == "frozen":
            if self.call("pause", "k")[0] != 0:
                self.say(f"pause fails: {self.last_err}")
            return self.until(self.in_state, 2, 0.01)
        return True

    def end(self):
        for args, p in self.background:
            try:
                _, err = p.communicate(timeout=40)
                if p.returncode != 0:
                    self.say(f"fuzzctl {args[0]} ends with {p.returncode}: {err.strip()}")
            except subprocess.TimeoutExpired:
                self.say(f"fuzzctl {args[0]} does not return within 40 s")
                p.kill()
        if self.state == "frozen":
            if self.call("resume", "k")[0] != 0:
                self.say(f"resume fails: {self.last_err}")
        code, _ = self.call("wait", "k", "--timeout", "50s")
        if code not in (0, 5, 10, 11, 12, 13):
            self.say(f"wait ends with {code}: {self.last_err}")
        if code == 5:
            self.say("the campaign does not end within 50 s")
            print(json.dumps(self.status()), file=sys.stderr)
            self.call("stop", "k")

    def judge(self, sampler):
        rc, out = self.call("verify")
        if rc != 0:
            self.say(f"verify ends with {rc}: {out.strip()} {self.last_err}")
        for path, (_, sha, _) in sampler.contents.items():
            if not os.path.exists(os.path.join(self.root, "store", sha[:2], sha)):
                self.lost += 1
                self.say(f"lost: {path}")
        for key, pids in sampler.twice:
            self.say(f"ran twice at the same time: {key}, pids {pids}")
        _, c = self.status()
        self.verdict = c.get("verdict") or "none"
        db = sqlite3.connect(f"file:{self.root}/state.db?mode=ro", uri=True)
        found = db.execute("SELECT count(*) FROM results WHERE reproduced > 0").fetchone()[0]
        self.contents = db.execute("SELECT count(*) FROM blobs").fetchone()[0]
        reasons = [r[0] for r in db.execute("SELECT end_reason FROM targets")]
        run_reasons = db.execute("SELECT reasons FROM runs").fetchone()[0]
        db.close()
        # Each crash here reproduces, but one that our own SIGKILL of a child made.
        real = [n for _, _, n in sampler.contents.values() if ",sig:06," in n]
        if (found or real) and self.verdict != "findings":
            self.say(f"{len(real)} crashes, {found} reproduced, and the verdict is {self.verdict}: {run_reasons}")
        if self.verdict == "none":
            self.say("ended without a verdict")
        if not self.asked_stop:
            if self.verdict in ("interrupted", "failed-to-start", "none"):
                self.say(f"nobody stopped it, and the verdict is {self.verdict}: {run_reasons}")
            want = {"budget", "failed"} if self.state == "failed" else {"budget"}
            if not set(reasons) <= want:
                self.say(f"targets ended as {reasons}, not as {sorted(want)}")

    def mine(self):
        found = {}
        needle = self.dir.encode()
        for p in processes():
            if not p.lives or p.pid == os.getpid():
                continue
            links = [f"/proc/{p.pid}/cwd", f"/proc/{p.pid}/exe"]
            try:
                links += [f"/proc/{p.pid}/fd/{f}" for f in os.listdir(f"/proc/{p.pid}/fd")]
            except OSError:
                pass
            hit = False
            for link in links:
                try:
                    hit = hit or os.readlink(link).startswith(self.dir + "/")
                except OSError:
                    pass
            try:
                with open(f"/proc/{p.pid}/environ", "rb") as f:
                    hit = hit or needle in f.read()
                with open(f"/proc/{p.pid}/cmdline", "rb") as f:
                    hit = hit or needle in f.read()
            except OSError:
                pass
            if hit:
                found[p.pid] = p
        for path in self.cgroups():
            for top, _, _ in os.walk(path):
                for pid in read(os.path.join(top, "cgroup.procs")).split():
                    p = Proc(pid)
                    if p.lives:
                        found[p.pid] = p
        return found

    def cgroups(self):
        st = os.stat(self.root)
        mixed = ((st.st_dev << 32 ^ st.st_ino) * 0x9E3779B97F4A7C15) & (2**64 - 1)
        prefix = f"fuzzd-{mixed >> 32:08x}"
        found = []
        for top in ["/sys/fs/cgroup"] + [os.path.join("/sys/fs/cgroup", n) for n in
                                         (os.listdir("/sys/fs/cgroup") if os.path.isdir("/sys/fs/cgroup") else [])]:
            if os.path.isdir(os.path.join(top, prefix)):
                found.append(os.path.join(top, prefix))
        return found

    def segments(self, sampler):
        lines = read("/proc/sysvipc/shm").splitlines()[1:]
        return [l for l in lines if len(l.split()) > 4 and int(l.split()[4]) in sampler.afl_pids]

    def sweep(self, sampler):
        self.until(lambda: self.daemon() or not self.mine(), 5, 0.05)
        for pid, p in self.mine().items() if not self.daemon() else []:
            self.left += 1
            self.say(f"left: process {pid} {read(f'/proc/{pid}/cmdline').replace(chr(0), ' ')[:120]}")
            p.kill()
        if not self.daemon() and (self.cgroups() or os.listdir(self.tmp)):
            # Killed with nothing left to do: its folders go with the next one.
            subprocess.run([os.path.join(self.build, "fuzzd")], env=self.env, check=False,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        d = self.daemon()
        if d:
            try:
                os.kill(d.pid, signal.SIGTERM)
            except OSError:
                pass
        self.until(lambda: not self.mine(), 10, 0.05)
        for pid, p in self.mine().items():
            self.left += 1
            self.say(f"left: process {pid} {read(f'/proc/{pid}/cmdline').replace(chr(0), ' ')[:120]}")
            p.kill()
        self.until(lambda: not self.cgroups(), 2, 0.05)
        for path in self.cgroups():
            self.left += 1
            self.say(f"left: cgroup {path}: {[t[len(path):] for t, _, _ in os.walk(path)]}")
            for top, _, _ in os.walk(path, topdown=False):
                try:
                    os.rmdir(top)
                except OSError:
                    pass
        for name in os.listdir(self.tmp):
            self.left += 1
            self.say(f"left: {name} in TMPDIR")
        for line in self.segments(sampler):
            self.left += 1
            self.say(f"left: SysV segment {line}")

    def run(self, keep):
        sampler = Sampler(self.root)
        sampler.start()
        began = time.monotonic()
        try:
            reached = self.reach_state(self.spec())
            if self.faults == []:
                time.sleep(self.random.choice([0, self.random.uniform(0, 0.15)]))
                for who in self.kills:
                    self.strike(who)
                    time.sleep(self.spread_s)
                if not self.killed:
                    self.strike("fuzzd")
                # What stood still may come round, or end only with the keeper's patience.
                for p in self.records("afl") if self.state == "stalled" and self.random.random() < 0.6 else []:
                    p.kill(signal.SIGCONT)
                # The next fuzzd, too, while it takes over.
                if "fuzzd" in self.killed and self.random.random() < 0.4:
                    self.call_behind("status", "k")
                    if self.until(self.daemon, 3, 0.002):
                        time.sleep(self.random.uniform(0, 0.1))
                        d = self.daemon()
                        if d and d.kill():
                            self.killed.append("next fuzzd")
                # Sometimes nobody asks for a while, and fuzzing goes on without fuzzd.
                if "fuzzd" in self.killed and self.random.random() < 0.5:
                    time.sleep(self.random.uniform(0, 1.5))
            self.end()
            sampler.files()
            self.judge(sampler)
        finally:
            sampler.ended.set()
            sampler.join()
            self.sweep(sampler)
        self.seconds = time.monotonic() - began
        if os.environ.get("KILL_LOG"):
            print(read(os.path.join(self.root, "fuzzd.log")))
        if self.seconds > SLOW_S:
            self.say(f"took {self.seconds:.0f} s: something was waited for that could not come")
        self.files = len(sampler.contents)
        if not os.path.isdir(self.cache) and os.path.isdir(os.path.join(self.root, "cache")):
            shutil.copytree(os.path.join(self.root, "cache"), self.cache)
        if self.faults and keep:
            print(f"  kept: {self.dir}")
        else:
            shutil.rmtree(self.dir, ignore_errors=True)
        return reached


def table(seeds):
    rows = {}
    for s in seeds:
        row = rows.setdefault("+".join(s.killed) or "nobody", [0, 0, 0, 0, 0])
        row[0] += 1
        row[1] += not s.faults
        row[2] += s.files
        row[3] += s.lost
        row[4] += s.left
    print(f"{'killed':<24}{'runs':>6}{'survived':>10}{'inputs':>8}{'lost':>6}{'left':>6}")
    total = [0, 0, 0, 0, 0]
    for name in sorted(rows, key=lambda n: (n.count("+"), n)):
        total = [a + b for a, b in zip(total, rows[name])]
        print("{:<24}{:>6}{:>10}{:>8}{:>6}{:>6}".format(name, *rows[name]))
    print("{:<24}{:>6}{:>10}{:>8}{:>6}{:>6}".format("all", *total))


def unseen(seeds):
    """States of the table that no kill fell into, where there were seeds enough for each."""
    text = read(os.path.join(TOP, "orchestrator", "farm", "instance_table.c"))
    names = re.findall(r'\[INSTANCE_(?!EV_)\w+\] = "([a-z-]+)"', text)
    if len(names) < 2:
        return ["the table is not found"]
    missing = [n for n in names if n not in STATES]
    if len(seeds) >= 2 * len(STATES):
        missing += [n for n in STATES if not any(s.state == n and s.reached for s in seeds)]
    return missing


def with_more(seeds, done):
    """The seeds, then up to three more for each state that is over too soon to be met each time on a loaded host."""
    seeds = list(seeds)
    yield from seeds
    for state in unseen(done):
        for n in range(max(seeds) + 1, max(seeds) + 1 + 3 * len(STATES)):
            if state in STATES and STATES[n % len(STATES)] == state and state in unseen(done):
                yield n


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--build", default=os.path.join(TOP, "build"))
    ap.add_argument("--seeds", default="0-23", help="FIRST-LAST, or single ones: 3,17")
    ap.add_argument("--tap", action="store_true", help="ok / not ok lines only")
    ap.add_argument("--keep", action="store_true", help="keep the directory of a failed seed")
    opts = ap.parse_args()
    opts.build = os.path.abspath(opts.build)
    if "-" in opts.seeds:
        first, last = (int(n) for n in opts.seeds.split("-"))
        seeds = range(first, last + 1)
    else:
        seeds = [int(n) for n in opts.seeds.split(",")]
    # Orphans of a killed keeper stay ours to see, not the reaper's of somebody else.
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
    work = tempfile.mkdtemp(prefix="fz-kill-target.")
    crasher = os.path.join(work, "crasher")
    opts.cache = os.path.join(work, "cache")
    subprocess.run(["afl-clang-fast", "-O1", "-o", crasher, os.path.join(HERE, "crasher.c")],
                   env=dict(os.environ, AFL_QUIET="1"), check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    done = []
    try:
        for n in with_more(seeds, done):
            s = Seed(opts, n, crasher)
            reached = s.reached = s.run(opts.keep)
            done.append(s)
            what = (f"seed {n}: {'+'.join(s.killed) or 'nobody'} killed while {s.state}"
                    f"{'' if reached else ' (not seen)'}")
            print(f"{'not ok' if s.faults else 'ok'} {what}"
                  + ("" if opts.tap else f" ({s.verdict}, {s.files} files, {s.seconds:.1f} s)"), flush=True)
            for f in s.faults:
                print(f"  {f}", flush=True)
            while True:  # reap what came to us
                try:
                    if os.waitpid(-1, os.WNOHANG)[0] == 0:
                        break
                except ChildProcessError:
                    break
    finally:
        shutil.rmtree(work, ignore_errors=True)
    missing = unseen(done)
    print(f"not ok every state of an instance was seen: {', '.join(missing)} was not" if missing
          else "ok every state of an instance is in the matrix")
    if not opts.tap:
        table(done)
    return 1 if missing or any(s.faults for s in done) else 0


if __name__ == "__main__":
    sys.exit(main())
