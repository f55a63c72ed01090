#!/usr/bin/env python3
"""Times the software GPU beside PoCL and Oclgrind on the same three launches, in one run.

usage: python3 benches/software-gpu/compare.py [--standstill FILE] [--runs 5]

The launch `small`, a sum in 64 blocks, is there for the `riri` crate, which checks Rust closures for races; cargo builds
it. With --cpu the processor's time counts for Standstill and Oclgrind, for a machine that does other work as well.

Needs nvcc in PATH (or in Standstill's cache), gcc, and Debian's pocl-opencl-icd, oclgrind and ocl-icd-opencl-dev. A
peer that is missing is named and left out. Oclgrind interprets and takes minutes, so it runs once.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
KERNELS = ["matmul", "reduce", "histogram", "small"]


def seconds(command, runs, **environment):
    """Medians of what each line `NAME SECONDS` says."""
    found = {name: [] for name in KERNELS}
    for _ in range(runs):
        done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True)
        if done.returncode:
            print(f"{' '.join(command)}: exit code {done.returncode}: {done.stderr.strip()[-200:]}")
            return None
        for line in done.stdout.splitlines():
            name, value = line.split()
            found[name].append(float(value))
    return {name: statistics.median(values) for name, values in found.items() if values}


def by_processor(source, folder):
    """A copy of a source that asks the clock of the processor's time."""
    copy = os.path.join(folder, os.path.basename(source))
    with open(source) as text, open(copy, "w") as out:
        out.write(text.read().replace("CLOCK_MONOTONIC", "CLOCK_PROCESS_CPUTIME_ID"))
    return copy


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--standstill", default=os.path.join(HERE, "../../target/release/standstill"))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--cpu", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        table(measure(arguments, folder))


def measure(arguments, folder):
    source = lambda name: by_processor(os.path.join(HERE, name), folder) if arguments.cpu else os.path.join(HERE, name)
    rows = {}
    ours = [arguments.standstill, "run", "--device", "sim", "-q", source("kernels.cu")]
    rows["standstill, races off"] = seconds(ours[:4] + ["--races", "off"] + ours[4:], arguments.runs)
    rows["standstill"] = seconds(ours, arguments.runs)
    peers = os.path.join(folder, "peers")
    built = subprocess.run(["gcc", "-O2", "-o", peers, source("peers.c"), "-lOpenCL"], capture_output=True, text=True)
    if built.returncode:
        print(f"the OpenCL programs cannot be built: {built.stderr.strip()[-200:]}")
    else:
        vendor = "/etc/OpenCL/vendors/pocl.icd"
        if arguments.cpu:
            pass
        elif os.path.exists(vendor):
            rows["PoCL, 2 threads"] = seconds([peers], arguments.runs, OCL_ICD_VENDORS=vendor, POCL_MAX_PTHREAD_COUNT="2")
        else:
            print("PoCL is missing")
        if shutil.which("oclgrind"):
            oclgrind = ["oclgrind", "--num-threads", "1" if arguments.cpu else "2"]
            rows["Oclgrind"] = seconds(oclgrind + [peers, "once"], 1)
            rows["Oclgrind, data races"] = seconds(oclgrind + ["--data-races", peers, "once"], 1)
        else:
            print("oclgrind is missing")
    if shutil.which("cargo"):
        target = os.path.join(folder, "riri")
        manifest = os.path.join(HERE, "riri", "Cargo.toml")
        subprocess.run(["cargo", "build", "-q", "--release", "--manifest-path", manifest, "--target-dir", target])
        before = os.times()
        row = seconds([os.path.join(target, "release", "riri-reduction")], 1)
        after = os.times()
        if row and arguments.cpu:
            row = {"small": after.children_user + after.children_system - before.children_user - before.children_system}
        rows["riri, data races"] = row
    return {name: row for name, row in rows.items() if row}


def table(rows):
    show = lambda values, form: "".join(format(value, form) if value else f"{'':14}" for value in values)
    print(f"{'seconds':28}" + "".join(f"{name:>14}" for name in KERNELS))
    for name, row in rows.items():
        print(f"{name:28}" + show((row.get(kernel) for kernel in KERNELS), "14.4f"))
    for name, row in rows.items():
        own = rows.get("standstill" if "data races" in name else "standstill, races off")
        if own and not name.startswith("standstill"):
            ratios = (row[kernel] / own[kernel] if kernel in row and kernel in own else None for kernel in KERNELS)
            print(f"{name + ' / ours':28}{show(ratios, '14.3f')}")


main()
