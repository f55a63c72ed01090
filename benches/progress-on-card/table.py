#!/usr/bin/env python3
"""What a card did against what each progress model allows, as Markdown.

usage: table.py RESULTS.tsv[.gz] VERDICTS.tsv...

RESULTS is what card.cpp wrote, VERDICTS are the files that the kernels were made from. A cell says in how many of the programs that
end in every execution of the model some launch did not end in time.
"""
import csv
import gzip
import os
import sys


def verdicts(files):
    """The verdicts of each program by its kernel's name, and the names of the models."""
    programs, models = {}, []
    for path in files:
        stem = os.path.splitext(os.path.basename(path))[0]
        with open(path) as file:
            rows = csv.DictReader(file, delimiter="\t")
            models = [name for name in rows.fieldnames if name not in ("id", "program")]
            programs.update({f"p{stem}_{row['id']}": row for row in rows})
    return programs, models


def results(path):
    """By placement and kernel: launches, those that ended, those that did not, and the slowest of all that ended."""
    placements = {}
    with (gzip.open(path, "rt") if path.endswith(".gz") else open(path)) as file:
        for kernel, placement, *numbers in csv.reader(file, delimiter="\t"):
            known = placements.setdefault(placement, {}).setdefault(kernel, [0, 0, 0, 0.0])
            tries, ended, hung, slowest = map(float, numbers)
            known[:] = [known[0] + tries, known[1] + ended, known[2] + hung, max(known[3], slowest)]
    return placements


def main():
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    programs, models = verdicts(sys.argv[2:])
    seen = results(sys.argv[1])
    print("| placement | programs | launches | did not end | programs with such a launch |\n|---|---|---|---|---|")
    for placement, kernels in seen.items():
        tries, _, hung, _ = (int(sum(column)) for column in zip(*kernels.values()))
        print(f"| {placement} | {len(kernels)} | {tries} | {hung} | {sum(known[2] > 0 for known in kernels.values())} |")
    print("\n| placement | " + " | ".join(models) + " |\n|---" * 1 + "|---" * len(models) + "|")
    for placement, kernels in seen.items():
        cells = []
        for model in models:
            ends = [known for name, known in kernels.items() if programs[name][model] == "P"]
            cells.append(f"{sum(known[2] > 0 for known in ends)} of {len(ends)}")
        print(f"| {placement} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
