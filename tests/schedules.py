#!/usr/bin/env python3
"""Runs labelled CUDA programs under every schedule and many seeds: right programs must raise nothing, and faulty ones
must be found within 20 runs.

usage: schedules.py [--seeds N] [--first-seed N] [--only PART] [--schedules NAME,NAME] [--build FOLDER] [--jobs N]
                    [--minutes N] [--ledger FILE] [--compile] FOLDER...

The command is $STANDSTILL, or target/release/standstill, with the runtime library beside it; nvcc must be on the path
for what is not in the build folder yet. Each program is compiled once; `--compile` only does that.

Ten seeds of every program come before the next ten of any, so that a run that is cut short has looked at each program
equally. `--minutes` ends it there. What was run is written to the ledger, a line of JSON each, and what a ledger already
holds is not run again: the same call goes on where the last one stopped.

Prints what is wrong, and for each schedule how many programs and runs there were; exit 0 when nothing is wrong.
"""
import argparse, collections, concurrent.futures, hashlib, json, os, re, signal, subprocess, sys, tempfile, threading, time

STANDSTILL = os.path.abspath(os.environ.get("STANDSTILL", "target/release/standstill"))
SCHEDULES = ["round-robin", "random", "pct", "adversarial"]
# Without a schedule the runs of a fault rotate through all of them; that is what must find it.
ROTATION = "rotation"
SEEDS_AT_A_TIME = 10
RUNS_FOR_A_FAULT = 20

Job = collections.namedtuple("Job", "case schedule stale first seeds")


def header(text, key):
    found = re.search(r"^// %s: *(.*)$" % key, text, re.M)
    return found[1].strip() if found else ""


class Case:
    def __init__(self, path, build):
        self.path = path
        self.text = open(path).read()
        self.name = os.path.basename(path)[: -len(".cu")]
        self.is_bug = self.name.endswith(".bug")
        self.rules = [header(self.text, "rule")] + [also.strip() for also in header(self.text, "also").split(",")]
        self.lines = {number for number, line in enumerate(self.text.split("\n"), 1) if "//~" in line}
        self.hash = hashlib.sha256(self.text.encode()).hexdigest()[:16]
        self.folder = os.path.join(build, self.hash)
        self.program = os.path.join(self.folder, "program")

    def decided_by_running(self):
        return header(self.text, "must") != "no" and (not self.is_bug or header(self.text, "where") in ("dynamic", "both"))

    def compile(self, library):
        """What the compiler has against the program; nothing when it is there."""
        if os.path.exists(self.program):
            return ""
        os.makedirs(self.folder, exist_ok=True)
        flags = header(self.text, "flags").split()
        arch = [] if any(flag.startswith(("-arch", "-gencode")) for flag in flags) else ["-arch=sm_90"]
        # The portable PTX of an architecture with features of its own would not compile.
        flags = [re.sub(r"^-arch=sm_(\d+[af])$", r"-gencode=arch=compute_\1,code=[sm_\1,compute_\1]", flag) for flag in flags]
        command = ["nvcc", "-g", "-lineinfo", "-cudart=shared", "-L" + library, "--keep", "--keep-dir=" + self.folder]
        done = subprocess.run(command + arch + flags + [self.path, "-o", self.program], capture_output=True, text=True)
        # Only the program and its PTX are needed.
        for name in os.listdir(self.folder):
            if name != "program" and not name.endswith(".ptx"):
                os.remove(os.path.join(self.folder, name))
        return "%s does not compile:\n%s" % (self.path, done.stderr) if done.returncode else ""

    def judge(self, report):
        """What is wrong with a report; nothing when it is right."""
        raised = [finding for finding in report["findings"] if finding["severity"] in ("error", "warning")]

        def line(finding):
            return next((span["line"] for span in finding["spans"] if span.get("primary")), 0)

        said = ", ".join("%s@%d (%s)" % (finding["rule"], line(finding), finding.get("replay")) for finding in raised)
        if not self.is_bug:
            if report["program_exit"] != 0:
                said += " exit %s" % report["program_exit"]
            return said
        found = any(finding["rule"] in self.rules and line(finding) in self.lines for finding in raised)
        return "" if found else "not found: %s" % (said or "nothing")


class Ledger:
    """What was run. A line of the file holds one job's answer."""

    def __init__(self, path):
        self.entries = {}
        if path and os.path.exists(path):
            for line in open(path):
                entry = json.loads(line)
                self.entries[tuple(entry["key"])] = entry
        self.file = open(path, "a") if path else None
        self.lock = threading.Lock()

    @staticmethod
    def key(job):
        return (job.case.hash, job.schedule, job.stale, job.first, job.seeds)

    def add(self, job, entry):
        with self.lock:
            self.entries[self.key(job)] = entry
            if self.file:
                self.file.write(json.dumps(dict(entry, key=self.key(job))) + "\n")
                self.file.flush()
            if entry["problem"]:
                print("%s %s: %s" % (configuration(job), job.case.path, entry["problem"]), flush=True)


def configuration(job):
    return job.schedule + (" stale" if job.stale else "")


class Runner:
    def __init__(self, ledger, ends):
        self.ledger = ledger
        self.ends = ends
        self.running = set()
        self.lock = threading.Lock()

    def run(self, job):
        """Runs a job, unless the time is over or ends meanwhile."""
        if time.time() >= self.ends:
            return
        with tempfile.TemporaryDirectory() as folder:
            answer = os.path.join(folder, "answer.json")
            command = [STANDSTILL, "run", "--device", "sim", "--timeout", "120s", "--format", "json", "--output", answer]
            command += [] if job.schedule == ROTATION else ["--schedule", job.schedule]
            command += ["--stale"] if job.stale else []
            command += ["--seed", str(job.first), "--runs", str(job.seeds)] + ([] if job.case.is_bug else ["--keep-going"])
            start = time.time()
            child = subprocess.Popen(command + ["--", job.case.program], env=dict(os.environ, STANDSTILL_PTX=job.case.folder),
                                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            with self.lock:
                self.running.add(child)
            errors = child.communicate()[1]
            with self.lock:
                self.running.discard(child)
            if time.time() >= self.ends:
                return
            try:
                report = json.load(open(answer))
                runs, problem = report.get("runs", {"made": 1})["made"], job.case.judge(report)
            except (OSError, ValueError) as error:
                runs, problem = 0, "no report: %s %s" % (error, errors.strip()[-200:])
            self.ledger.add(job, {"case": job.case.name, "runs": runs, "problem": problem,
                                  "seconds": round(time.time() - start, 2)})

    def stop(self):
        """Ends what is running."""
        with self.lock:
            for child in self.running:
                child.send_signal(signal.SIGTERM)


def jobs_of(cases, schedules, first, seeds):
    """Every job, the first ten seeds of all programs before the next ten of any."""
    bugs = [case for case in cases if case.is_bug]
    yield from (Job(case, ROTATION, False, first, RUNS_FOR_A_FAULT) for case in bugs)
    for start in range(first, first + seeds, SEEDS_AT_A_TIME):
        count = min(SEEDS_AT_A_TIME, first + seeds - start)
        for schedule in schedules:
            for stale in (False, True):
                yield from (Job(case, schedule, stale, start, count) for case in cases if not case.is_bug)
        if start == first:
            # That one schedule alone does not find every fault is no fault of its own: this is only counted.
            yield from (Job(case, schedule, stale, first, RUNS_FOR_A_FAULT)
                        for schedule in schedules for stale in (False, True) for case in bugs)


def summary(jobs, ledger):
    """Prints a line for each configuration; how many jobs were wrong, and how many were not run."""
    table = {}
    wrong = left = 0
    for job in jobs:
        entry = ledger.entries.get(Ledger.key(job))
        row = table.setdefault((configuration(job), job.case.is_bug),
                               {"right": 0, "runs": 0, "seconds": 0.0, "problems": 0, "seeds": {}})
        seeds = row["seeds"].setdefault(job.case.name, 0)
        if entry is None:
            left += 1
            continue
        row["seeds"][job.case.name] = seeds + job.seeds
        row["runs"] += entry["runs"]
        row["seconds"] += entry["seconds"]
        row["problems"] += bool(entry["problem"])
        wrong += bool(entry["problem"]) and (not job.case.is_bug or job.schedule == ROTATION)
    for (name, bugs), row in table.items():
        print("%-20s %s: %3d programs, at least %d seeds of each, %d runs, %.0f s of processor; %d %s"
              % (name, "faults" if bugs else "right ", len(row["seeds"]), min(row["seeds"].values()), row["runs"],
                 row["seconds"], row["problems"], "not found" if bugs else "wrong"))
    return wrong, left


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--schedules", default=",".join(SCHEDULES))
    parser.add_argument("--build", default=os.path.join(tempfile.gettempdir(), "standstill-cases"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--ledger")
    parser.add_argument("--compile", action="store_true")
    arguments = parser.parse_args()
    library = os.path.join(arguments.build, "library")
    os.makedirs(library, exist_ok=True)
    link = os.path.join(library, "libcudart.so")
    if os.path.lexists(link):
        os.remove(link)
    os.symlink(os.path.join(os.path.dirname(STANDSTILL), "libstandstill_cuda_runtime.so"), link)
    paths = [os.path.join(folder, name) for folder in arguments.folders for name in sorted(os.listdir(folder))]
    cases = {}
    for path in paths:
        if path.endswith(".cu") and arguments.only in path:
            case = Case(path, arguments.build)
            # Folders may hold the same program.
            if case.decided_by_running():
                cases.setdefault(case.hash, case)
    cases = list(cases.values())
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        refused = [said for said in pool.map(lambda case: case.compile(library), cases) if said]
    if refused:
        sys.exit("\n".join(refused))
    if arguments.compile:
        return
    jobs = list(jobs_of(cases, arguments.schedules.split(","), arguments.first_seed, arguments.seeds))
    ledger = Ledger(arguments.ledger)
    runner = Runner(ledger, time.time() + 60 * arguments.minutes)
    left = [job for job in jobs if Ledger.key(job) not in ledger.entries]
    alarm = threading.Timer(max(60 * arguments.minutes, 0), runner.stop) if arguments.minutes != float("inf") else None
    if alarm:
        alarm.start()
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        list(pool.map(runner.run, left))
    if alarm:
        alarm.cancel()
    wrong, left = summary(jobs, ledger)
    print("%d wrong; %d of %d jobs were not run" % (wrong, left, len(jobs)))
    sys.exit(1 if wrong or left else 0)


main()
