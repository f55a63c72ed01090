#!/usr/bin/env python3
"""Time to verdict beside SPIN: N threads that each add K times to one counter, by compare-and-swap and behind a lock.

usage: python3 benches/explore/compare.py [--most N] [--additions K] [--runs R]

Needs target/release/examples/explore_ptx (`cargo build --release -p standstill-explore --example explore_ptx`), nvcc, gcc and
Debian's spin; a peer that is missing is left out. The verifier of SPIN is compiled beforehand with -O2 -DSAFETY (its partial-order
reduction is on) and runs on one core. States a second are by user time, so per core and also on a busy machine. `with races` is what the command does; SPIN does not look
for races, so beside it stands the search alone, and `plain`, the search without its reductions, for states per second.
"""
import argparse
import os
import re
import resource
import shutil
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
OURS = os.path.join(HERE, "../../target/release/examples/explore_ptx")
ARGUMENTS = {"counter": ["@0"], "lock": ["@0", "@0"]}


def processor_seconds(run):
    """What a call gives, and the user time that its processes took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    result = run()
    return result, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def ours(command, **environment):
    """Seconds, states and bytes a state, as the program says them, and its user time."""
    run = lambda: subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})
    done, user = processor_seconds(run)
    found = re.match(r"(\d+) states, .*, ([\d.]+) s, .*, (\d+) bytes a state", done.stdout)
    if not found or "Unexpected" in done.stdout:
        raise SystemExit(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    return float(found[2]), int(found[1]), int(found[3]), user


def spin(folder, model, threads, additions, limit):
    """Seconds, states and user time of SPIN; None where it does not end in time or memory."""
    place = os.path.join(folder, f"{model}{threads}")
    os.makedirs(place, exist_ok=True)
    source = os.path.join(HERE, model + ".pml")
    subprocess.run(["spin", "-a", f"-DN={threads}", f"-DK={additions}", source], cwd=place, check=True, capture_output=True)
    subprocess.run(["gcc", "-O2", "-DSAFETY", "-DMEMLIM=6000", "-w", "-o", "pan", "pan.c"], cwd=place, check=True)
    begun = time.time()
    try:
        run = lambda: subprocess.run(["./pan", "-m1000000"], cwd=place, capture_output=True, text=True, timeout=limit)
        done, user = processor_seconds(run)
    except subprocess.TimeoutExpired:
        return None
    seconds = time.time() - begun
    states = re.search(r"([\d.e+]+) states, stored", done.stdout)
    if "errors: 0" not in done.stdout or "max search depth too small" in done.stdout or not states:
        return None
    return seconds, int(float(states[1])), user


def rate(states, seconds):
    """Millions of states a second; user time counts in hundredths."""
    return f"{states / seconds / 1e6:.2f}" if seconds >= 0.05 else "-"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=5)
    parser.add_argument("--additions", type=int, default=2)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--limit", type=int, default=300, help="seconds for SPIN")
    parser.add_argument("--ours", default=OURS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ptx = os.path.join(folder, "kernels.ptx")
        subprocess.run(["nvcc", "-ptx", "-arch=sm_90", "-o", ptx, os.path.join(HERE, "kernels.cu")], check=True)
        print(f"{'':18}{'with races':>11}{'alone s':>10}{'states':>10}{'plain s':>10}{'user s':>9}{'states':>10}{'M/s':>7}{'B/state':>9}{'SPIN s':>10}{'user s':>9}{'states':>12}{'M/s':>7}")
        for model, buffers in ARGUMENTS.items():
            for threads in range(2, options.most + 1):
                expect = f"p{len(buffers) - 1} == {threads * options.additions}"
                command = [options.ours, ptx, model, str(threads), "1", expect, *buffers, str(options.additions)]
                median = lambda **how: sorted(ours(command, **how) for _ in range(options.runs))[options.runs // 2]
                whole, reduced = median(), median(NO_RACES="1")
                plain = median(NO_RACES="1", NO_REDUCTIONS="1")
                name = f"{model} N={threads} K={options.additions}"
                line = f"{name:18}{whole[0]:>11.4f}{reduced[0]:>10.4f}{reduced[1]:>10}"
                line += f"{plain[0]:>10.3f}{plain[3]:>9.3f}{plain[1]:>10}{rate(plain[1], plain[3]):>7}{plain[2]:>9}"
                peer = spin(folder, model, threads, options.additions, options.limit) if shutil.which("spin") else None
                if peer:
                    line += f"{peer[0]:>10.2f}{peer[2]:>9.2f}{peer[1]:>12}{rate(peer[1], peer[2]):>7}"
                print(line, flush=True)


if __name__ == "__main__":
    main()
