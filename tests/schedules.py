#!/usr/bin/env python3
"""Runs labelled CUDA programs under every schedule and many seeds: right programs must raise nothing, and faulty ones
must be found within 20 runs.

usage: schedules.py [--seeds N] [--only PART] [--schedules NAME,NAME] [--build FOLDER] FOLDER...

The command is $STANDSTILL, or target/release/standstill, with the runtime library beside it; nvcc must be on the path.
Each program is compiled once, into the build folder. Prints what is wrong, and for each schedule how many programs and
runs there were; exit 0 when nothing is wrong.
"""
import argparse, hashlib, json, os, re, subprocess, sys, tempfile, time

STANDSTILL = os.path.abspath(os.environ.get("STANDSTILL", "target/release/standstill"))
SCHEDULES = ["round-robin", "random", "pct", "adversarial"]


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
        self.folder = os.path.join(build, hashlib.sha256(self.text.encode()).hexdigest()[:16])

    def compile(self, library):
        program = os.path.join(self.folder, "program")
        if os.path.exists(program):
            return program
        os.makedirs(self.folder, exist_ok=True)
        flags = header(self.text, "flags").split()
        arch = [] if any(flag.startswith(("-arch", "-gencode")) for flag in flags) else ["-arch=sm_90"]
        # The portable PTX of an architecture with features of its own would not compile.
        flags = [re.sub(r"^-arch=sm_(\d+[af])$", r"-gencode=arch=compute_\1,code=[sm_\1,compute_\1]", flag) for flag in flags]
        command = ["nvcc", "-g", "-lineinfo", "-cudart=shared", "-L" + library, "--keep", "--keep-dir=" + self.folder]
        done = subprocess.run(command + arch + flags + [self.path, "-o", program], capture_output=True, text=True)
        if done.returncode:
            sys.exit("%s does not compile:\n%s" % (self.path, done.stderr))
        return program

    def run(self, program, flags):
        """The report of some runs, and how many they were."""
        with tempfile.TemporaryDirectory() as folder:
            answer = os.path.join(folder, "answer.json")
            command = [STANDSTILL, "run", "--device", "sim", "--timeout", "120s", "--format", "json", "--output", answer]
            environment = dict(os.environ, STANDSTILL_PTX=self.folder)
            subprocess.run(command + flags + ["--", program], env=environment, stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            return json.load(open(answer))

    def judge(self, report):
        """What is wrong with a report; nothing when it is right."""
        raised = [finding for finding in report["findings"] if finding["severity"] in ("error", "warning")]

        def line(finding):
            return next((span["line"] for span in finding["spans"] if span.get("primary")), 0)

        said = ", ".join("%s@%d (%s)" % (finding["rule"], line(finding), finding.get("replay")) for finding in raised)
        if header(self.text, "must") == "no":
            return ""
        if not self.is_bug:
            if report["program_exit"] != 0:
                said += " exit %d" % report["program_exit"]
            return said
        found = any(finding["rule"] in self.rules and line(finding) in self.lines for finding in raised)
        return "" if found else "not found: %s" % (said or "nothing")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--only", default="")
    parser.add_argument("--schedules", default=",".join(SCHEDULES))
    parser.add_argument("--build", default=os.path.join(tempfile.gettempdir(), "standstill-cases"))
    arguments = parser.parse_args()
    library = os.path.join(arguments.build, "library")
    os.makedirs(library, exist_ok=True)
    link = os.path.join(library, "libcudart.so")
    if os.path.lexists(link):
        os.remove(link)
    os.symlink(os.path.join(os.path.dirname(STANDSTILL), "libstandstill_cuda_runtime.so"), link)
    paths = [os.path.join(folder, name) for folder in arguments.folders for name in sorted(os.listdir(folder))]
    cases = [Case(path, arguments.build) for path in paths if path.endswith(".cu") and arguments.only in path]
    cases = [case for case in cases if header(case.text, "where") in ("dynamic", "both") or not case.is_bug]
    wrong = 0
    for schedule in arguments.schedules.split(","):
        for stale in ([], ["--stale"]):
            began, programs, runs, slowest = time.time(), 0, 0, (0, "")
            for case in cases:
                flags = ["--schedule", schedule] + stale
                flags += ["--runs", "20"] if case.is_bug else ["--runs", str(arguments.seeds), "--keep-going"]
                start = time.time()
                report = case.run(case.compile(library), flags)
                slowest = max(slowest, (time.time() - start, case.name))
                programs += 1
                runs += report.get("runs", {"made": 1})["made"]
                problem = case.judge(report)
                # That one schedule alone does not find every fault is no fault of its own.
                if problem and not case.is_bug:
                    wrong += 1
                if problem:
                    print("%s %s: %s" % (" ".join(flags[:2] + stale), case.path, problem), flush=True)
            name = " ".join([schedule] + [flag.strip("-") for flag in stale])
            print("%-18s %d programs, %d runs, %.0f s; slowest %s (%.0f s)"
                  % (name, programs, runs, time.time() - began, slowest[1], slowest[0]), flush=True)
    # Without a schedule, runs try all of them: that is what must find every fault.
    bugs = [case for case in cases if case.is_bug]
    missed = [case for case in bugs if case.judge(case.run(case.compile(library), ["--runs", "20"]))]
    for case in missed:
        print("not found in 20 runs: %s" % case.path)
    print("%d of %d faults found within 20 runs; %d alarms" % (len(bugs) - len(missed), len(bugs), wrong))
    sys.exit(1 if wrong or missed else 0)


main()
