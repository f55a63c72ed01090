#!/usr/bin/env python3
"""Compares `standstill check` with ptxas and LLVM on one PTX file of real library code, in one run.

usage: python3 benches/compare.py [--plain FILE.ptx] [--lines FILE.ptx] [--bitcode FILE.bc] [--runs 5]

Without --plain and --lines, nvcc (from PATH) compiles benches/cub_heavy.cu into a temporary folder, which takes
about a minute. --bitcode is the same source as LLVM bitcode (benches/README.md says how to make it). A tool that
is missing is named and left out. Needs Linux.
"""
import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target")) / "release"
SMALL = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p) { bar.sync 0; ret; }
"""


class Measured:
    """Medians of several runs of one command, on one core."""

    def __init__(self, command, runs):
        core = min(os.sched_getaffinity(0))
        wall, cpu, memory = [], [], []
        for _ in range(runs):
            start = time.perf_counter()
            with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  preexec_fn=lambda: os.sched_setaffinity(0, {core})) as process:
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
            # standstill: 1 and 3 are verdicts.
            if process.returncode not in (0, 1, 3):
                sys.exit(f"{' '.join(map(str, command))}: exit code {process.returncode}")
            wall.append(time.perf_counter() - start)
            cpu.append(usage.ru_utime + usage.ru_stime)
            memory.append(usage.ru_maxrss * 1024)
        self.wall, self.cpu, self.memory = map(statistics.median, (wall, cpu, memory))


def version(command, pattern):
    text = subprocess.run(command, capture_output=True, text=True).stdout
    found = re.search(pattern, text)
    return found.group(0) if found else "unknown version"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plain", type=Path, help="PTX without line tables")
    parser.add_argument("--lines", type=Path, help="the same with line tables")
    parser.add_argument("--bitcode", type=Path, help="the same source as LLVM bitcode")
    parser.add_argument("--runs", type=int, default=5, help="runs of each command (default 5)")
    parser.add_argument("--standstill", type=Path, default=TARGET / "standstill")
    parser.add_argument("--throughput", type=Path, default=TARGET / "examples" / "throughput")
    arguments = parser.parse_args()
    if not arguments.standstill.exists():
        sys.exit(f"{arguments.standstill} is missing: cargo build --release -p standstill")

    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for name, flags in (("plain", []), ("lines", ["-lineinfo"])):
            if getattr(arguments, name) is None:
                if not shutil.which("nvcc"):
                    sys.exit("nvcc is not in PATH; give --plain and --lines")
                made = folder / f"{name}.ptx"
                command = ["nvcc", "-ptx", "-arch=sm_90", "-std=c++17", *flags, HERE / "cub_heavy.cu", "-o", made]
                subprocess.run(command, check=True)
                setattr(arguments, name, made)
        compare(arguments, folder)


def compare(arguments, folder):
    runs = arguments.runs
    cpu = re.search(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text())
    print(f"{cpu.group(1) if cpu else 'unknown CPU'}, {os.cpu_count()} cores, one used; medians of {runs} runs\n")
    print(f"{'':44} {'wall s':>8} {'CPU s':>8} {'MB/s':>8} {'bytes/byte':>10}")
    results = {}

    def row(name, command, size, runs=runs):
        measured = Measured(command, runs)
        results[name] = measured.cpu
        print(f"{name:44} {measured.wall:8.3f} {measured.cpu:8.3f} {size / 1e6 / measured.cpu:8.1f} "
              f"{measured.memory / size:10.1f}", flush=True)

    check = [arguments.standstill, "check", "-j", "1"]
    plain, lines = arguments.plain, arguments.lines
    row("standstill check", [*check, plain], plain.stat().st_size)
    row("standstill check, line tables", [*check, lines], lines.stat().st_size)
    if arguments.throughput.exists():
        output = subprocess.run([arguments.throughput, plain, lines], capture_output=True, text=True).stdout
        for rate, lowered in re.findall(r"parse (\d+) MB/s, with lowering (\d+) MB/s", output):
            print(f"{'parse only (with lowering), in process':44} {'':8} {'':8} {rate:>8} ({lowered})")
    else:
        print(f"left out: {arguments.throughput} is missing (cargo build --release -p standstill-ptx --example throughput)")

    if shutil.which("ptxas"):
        print("ptxas", version(["ptxas", "--version"], r"release [\d.]+"))
        row("ptxas -O3", ["ptxas", "-arch=sm_90", "-O3", plain, "-o", folder / "o"], plain.stat().st_size, min(runs, 3))
        # With -e, ptxas compiles only the named kernel, here an empty one, but reads everything.
        for name, source in (("ptxas, parse only", plain), ("ptxas, parse only, line tables", lines)):
            padded = folder / "padded.ptx"
            padded.write_bytes(source.read_bytes() + b"\n.visible .entry k() { ret; }\n")
            row(name, ["ptxas", "-arch=sm_90", "-O0", "-e", "k", padded, "-o", folder / "o"], source.stat().st_size)
    else:
        print("left out: ptxas is not in PATH")

    opt = shutil.which("opt-19") or shutil.which("opt")
    if opt and arguments.bitcode:
        print("LLVM", version([opt, "--version"], r"version [\d.]+"))
        row("LLVM uniformity (MB of the plain PTX)", [opt, "-passes=require<uniformity>", "-disable-output",
            arguments.bitcode], plain.stat().st_size)
    else:
        print("left out: LLVM's uniformity analysis needs opt-19 in PATH and --bitcode")

    small = folder / "small.ptx"
    small.write_text(SMALL)
    start = Measured([*check, small], max(runs, 20))
    print(f"\nstart to verdict on one small kernel: {start.wall * 1e3:.1f} ms (target: < 10)")
    ours = {"": results["standstill check"], ", line tables": results["standstill check, line tables"]}
    for name, other in results.items():
        if not name.startswith("standstill"):
            base = ours[", line tables" if name.endswith("line tables") else ""]
            print(f"standstill check is {other / base:.1f} times as fast as {name}")
    print("targets: 60 times ptxas -O3, 6 times its parse; check 100 MB/s, parse 250 MB/s, 10 bytes a byte")


main()
