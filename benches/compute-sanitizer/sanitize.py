#!/usr/bin/env python3
"""Runs labelled faulty programs under each tool of compute-sanitizer, on a machine with a card.

usage: sanitize.py OUT.json FOLDER...

Compiles every *.bug.cu of the folders with nvcc -lineinfo, runs it under racecheck, memcheck, initcheck and synccheck with a
time limit of its own, and writes for each program and tool: what the tool's summary says, its exit code and the seconds.
A program that hangs is killed at the limit; what the tool had said until then counts.
"""
import concurrent.futures as futures, json, os, re, shutil, subprocess, sys, tempfile, time

TOOLS = ['racecheck', 'memcheck', 'initcheck', 'synccheck']
LIMIT = 20
SUMMARY = re.compile(r'(RACECHECK SUMMARY: .*|ERROR SUMMARY: .*)')


def header(text, key):
    found = re.search(r'^// %s: *(.*)$' % key, text, re.M)
    return found[1].strip() if found else ''


def compile_one(path, folder):
    program = os.path.join(folder, re.sub(r'\W', '_', path))
    flags = header(open(path).read(), 'flags').split()
    command = ['nvcc', '-std=c++17', '-arch=native', '-lineinfo', '-o', program, *flags, path]
    ran = subprocess.run(command, capture_output=True, text=True)
    return path, program if ran.returncode == 0 else None, ran.stderr[-300:]


def run_one(path, program, tool):
    start = time.time()
    command = ['timeout', '-s', 'KILL', str(LIMIT), 'compute-sanitizer', '--tool', tool, program]
    ran = subprocess.run(command, capture_output=True, text=True, errors='replace')
    text = ran.stdout + ran.stderr
    said = SUMMARY.findall(text)
    lines = [line for line in text.splitlines() if line.startswith('=========')]
    places = sorted(set(re.findall(r'([\w.]+\.cu):(\d+)', '\n'.join(lines))))
    return {'case': os.path.basename(path), 'rule': header(open(path).read(), 'rule'), 'tool': tool,
            'summary': said[-1] if said else '', 'places': places[:12], 'exit': ran.returncode,
            'seconds': round(time.time() - start, 1), 'first': lines[1:4]}


def main():
    out, folders = sys.argv[1], sys.argv[2:]
    if not shutil.which('compute-sanitizer') or not shutil.which('nvcc'):
        sys.exit('compute-sanitizer and nvcc must be on the PATH')
    cases = sorted(os.path.join(folder, name) for folder in folders for name in os.listdir(folder)
                   if name.endswith('.bug.cu'))
    with tempfile.TemporaryDirectory() as folder, futures.ThreadPoolExecutor(12) as pool:
        built = list(pool.map(lambda path: compile_one(path, folder), cases))
        jobs = [(path, program, tool) for path, program, _ in built if program for tool in TOOLS]
        results = list(pool.map(lambda job: run_one(*job), jobs))
        results += [{'case': os.path.basename(path), 'tool': 'nvcc', 'summary': error} for path, program, error in built
                    if not program]
    json.dump(results, open(out, 'w'), indent=0)
    print(len(cases), 'programs,', len(results), 'runs')


main()
