#!/usr/bin/env python3
"""Times the software GPU beside PoCL and Oclgrind on the same three launches, in one run.

usage: python3 benches/software-gpu/compare.py [--standstill FILE] [--runs 5]

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
KERNELS = ["matmul", "reduce", "histogram"]


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
    return {name: statistics.median(values) for name, values in found.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--standstill", default=os.path.join(HERE, "../../target/release/standstill"))
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    rows = {}
    ours = [arguments.standstill, "run", "--device", "sim", "-q", os.path.join(HERE, "kernels.cu")]
    rows["standstill, races off"] = seconds(ours[:4] + ["--races", "off"] + ours[4:], arguments.runs)
    rows["standstill"] = seconds(ours, 1)
    with tempfile.TemporaryDirectory() as folder:
        peers = os.path.join(folder, "peers")
        built = subprocess.run(["gcc", "-O2", "-o", peers, os.path.join(HERE, "peers.c"), "-lOpenCL"], capture_output=True, text=True)
        if built.returncode:
            print(f"the OpenCL programs cannot be built: {built.stderr.strip()[-200:]}")
        else:
            vendor = "/etc/OpenCL/vendors/pocl.icd"
            if os.path.exists(vendor):
                rows["PoCL, 2 threads"] = seconds([peers], arguments.runs, OCL_ICD_VENDORS=vendor, POCL_MAX_PTHREAD_COUNT="2")
            else:
                print("PoCL is missing")
            if shutil.which("oclgrind"):
                rows["Oclgrind, 2 threads"] = seconds(["oclgrind", "--num-threads", "2", peers, "once"], 1)
            else:
                print("oclgrind is missing")
    print(f"{'seconds':24}" + "".join(f"{name:>14}" for name in KERNELS))
    rows = {name: row for name, row in rows.items() if row}
    for name, row in rows.items():
        print(f"{name:24}" + "".join(f"{row[kernel]:14.4f}" for kernel in KERNELS))
    own = rows.get("standstill, races off")
    for name, row in rows.items():
        if own and not name.startswith("standstill"):
            ratios = "".join(f"{row[kernel] / own[kernel]:14.3f}" for kernel in KERNELS)
            print(f"{name.split(',')[0] + ' / standstill':24}{ratios}")


main()
