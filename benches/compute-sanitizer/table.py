#!/usr/bin/env python3
"""Who finds what: compute-sanitizer's tools as recorded on a card, beside `standstill run` on this machine without one.

usage: table.py STANDSTILL h200.json FOLDER... > ../../docs/compute-sanitizer.md

Runs the command on every program that the recording has, and writes the table. A cell counts what the tool reported; «killed»
means that the program hung until the limit and the tool had said nothing; ours is the rule when it was found, with its line.
"""
import concurrent.futures as futures, json, os, re, subprocess, sys, tempfile

TOOLS = ['racecheck', 'memcheck', 'initcheck', 'synccheck']
HEAD = '''# Beside compute-sanitizer

The same faulty programs under each tool of compute-sanitizer on a card, and under `standstill run` without one.

{programs} programs of `tests/cases`, each with one planted fault. compute-sanitizer {version} on an {card} (driver {driver}, nvcc
{nvcc}), each run with a limit of {limit} seconds; `benches/compute-sanitizer` has the scripts and the raw results. A number is how
many errors or hazards a tool reported; «killed» is a program that hung until the limit while the tool said nothing.
A tool that reports something need not have found the fault: barrier_under_warp0's hazard, for one, follows from the barriers
that pair wrongly.
The programs are Standstill's own, so they show kinds of faults, not how often each occurs.

| fault | programs | racecheck | memcheck | initcheck | synccheck | any of them | standstill run |
|---|---|---|---|---|---|---|---|
{summary}

| program | fault | racecheck | memcheck | initcheck | synccheck | standstill run |
|---|---|---|---|---|---|---|
{rows}
'''


def ours(standstill, path):
    text = open(path).read()
    header = lambda key: (re.search(r'^// %s: *(.*)$' % key, text, re.M) or ['', ''])[1].strip()
    rules = {header('rule')} | {rule.strip() for rule in header('also').split(',') if rule.strip()}
    marked = {number for number, line in enumerate(text.split('\n'), 1) if '//~' in line}
    with tempfile.TemporaryDirectory() as folder:
        answer = os.path.join(folder, 'answer.json')
        command = [standstill, 'run', '--device', 'sim', '--timeout', '120s', '--runs', '20', '--format', 'json', '--output', answer]
        command += ['--cflags=' + header('flags')] if header('flags') else []
        subprocess.run(command + [path], capture_output=True)
        findings = json.load(open(answer))['findings'] if os.path.exists(answer) else []
    for finding in findings:
        span = next((span for span in finding['spans'] if span['primary']), {})
        if finding['rule'] in rules and span.get('line') in marked:
            return 'line %d' % span['line']
    return 'no'


def cell(run):
    found = re.search(r'(\d+) hazards? displayed|(\d+) errors?', run.get('summary', ''))
    if not found:
        return 'killed'
    count = found[1] or found[2]
    return '' if count == '0' else count


def main():
    standstill, recorded, folders = sys.argv[1], json.load(open(sys.argv[2])), sys.argv[3:]
    cases = {}
    for run in recorded['runs']:
        cases.setdefault(run['case'], {})[run['tool']] = run
    paths = {name: os.path.join(folder, name) for folder in folders for name in os.listdir(folder)}
    names = [name for name in cases if name in paths]
    with futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = dict(zip(names, pool.map(lambda name: ours(standstill, paths[name]), names)))
    rows, rules = [], {}
    for name in names:
        runs = cases[name]
        rule = runs['racecheck']['rule']
        cells = [cell(runs[tool]) for tool in TOOLS]
        rows.append((rule, '| %s | %s | %s | %s |' % (name.split('.')[0], rule, ' | '.join(cells), found[name])))
        said = [int(text not in ('', 'killed')) for text in cells]
        row = rules.setdefault(rule, [0] * 7)
        for at, value in enumerate([1, *said, int(any(said)), int(found[name] != 'no')]):
            row[at] += value
    total = [sum(row[at] for row in rules.values()) for at in range(7)]
    lines = ['| %s | %s |' % (rule, ' | '.join(map(str, row))) for rule, row in sorted(rules.items())]
    lines.append('| **all** | %s |' % ' | '.join('**%d**' % value for value in total))
    print(HEAD.format(programs=len(names), version=recorded['compute-sanitizer'], card=recorded['card'],
                      driver=recorded['driver'], nvcc=recorded['nvcc'], limit=recorded['limit_seconds'],
                      summary='\n'.join(lines), rows='\n'.join(row for _, row in sorted(rows))), end='')


main()
