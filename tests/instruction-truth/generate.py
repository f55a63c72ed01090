#!/usr/bin/env python3
"""Writes the kernels and inputs of the instruction truth test, and the list of its forms.

    generate.py OUT [--ptxas PTXAS] [--jobs N]

OUT gets `forms.tsv` (one form a line: name, results, sources, PTX text), `inputs.bin` and modules of kernels as PTX.
With an assembler the modules are also assembled to cubins; forms that it does not accept are listed in
`rejected.tsv` and left out of the others.
"""

import argparse
import array
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import conversion_forms
import matrix_forms
import scalar_forms
import values
import warp_forms

THREADS = 160
MODULE = 48
ARCHITECTURE = "sm_90a"
HEAD = ".version 9.0\n.target sm_90a\n.address_size 64\n"


def catalogue():
    seen = {}
    for group in (scalar_forms, conversion_forms, warp_forms, matrix_forms):
        for name, results, sources, text in group.all_forms():
            seen.setdefault(name, (name, results, sources, " ".join(text.split())))
    return list(seen.values())


def kernel(number, form):
    """One form as a kernel: one block, each thread with inputs of its own."""
    name, results, sources, text = form
    lines = [f"// {name}", f".visible .entry k{number}(.param .u64 input, .param .u64 output, .param .u64 scratch)", "{"]
    lines.append(".reg .b64 %q, %i, %o, %ga; .reg .b32 %t, %w, %lane, %sa, %ta; .shared .align 16 .b8 sh[20480];")
    for letter, registers in (("d", results), ("s", [source.split(":")[0] for source in sources])):
        lines += [f".reg .{register} %{letter}{at};" for at, register in enumerate(registers)]
    lines += [
        "ld.param.u64 %i, [input]; ld.param.u64 %o, [output]; ld.param.u64 %ga, [scratch];",
        "mov.u32 %t, %tid.x; mov.u32 %lane, %laneid; shr.u32 %w, %t, 5; mov.u32 %sa, sh;",
        "mad.lo.u32 %ta, %t, 64, %sa; mad.lo.u32 %sa, %w, 4096, %sa;",
        "mad.wide.u32 %i, %t, 8, %i; mad.wide.u32 %o, %t, 8, %o; mad.wide.u32 %ga, %t, 64, %ga;",
    ]
    for at, source in enumerate(sources):
        lines.append(f"ld.global.b64 %q, [%i+{at * THREADS * 8}];")
        match source.split(":")[0]:
            case "pred":
                lines.append(f"setp.ne.b64 %s{at}, %q, 0;")
            case "b64":
                lines.append(f"mov.b64 %s{at}, %q;")
            case register:
                lines.append(f"cvt.u{register[1:]}.u64 %s{at}, %q;")
    lines.append(f"// body of {name}")
    lines.append(text)
    for at, register in enumerate(results):
        match register:
            case "pred":
                lines.append(f"selp.b64 %q, 1, 0, %d{at};")
            case "b64":
                lines.append(f"mov.b64 %q, %d{at};")
            case _:
                lines.append(f"cvt.u64.u{register[1:]} %q, %d{at};")
        lines.append(f"st.global.b64 [%o+{at * THREADS * 8}], %q;")
    return "\n".join(lines + ["ret;", "}", ""])


def assemble(ptxas, path, forms):
    """Writes and assembles a module, without the forms that the assembler refuses."""
    rejected = []
    while True:
        texts = [kernel(number, form) for number, form in forms]
        path.write_text(HEAD + "".join(texts))
        if not ptxas or not forms:
            return forms, rejected
        command = [ptxas, f"-arch={ARCHITECTURE}", "-O1", str(path), "-o", str(path.with_suffix(".cubin"))]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode == 0:
            return forms, rejected
        messages = {int(line): text for line, text in re.findall(r"line (\d+)[^:]*: *(?:error *: *)?(.*)", result.stderr)}
        line, bad = HEAD.count("\n") + 1, {}
        for (number, _), text in zip(forms, texts):
            end = line + text.count("\n")
            reasons = [message for at, message in messages.items() if line <= at < end]
            if reasons:
                bad[number] = reasons[0]
            line = end
        if not bad:
            raise SystemExit(f"{path}: {result.stderr}")
        rejected += [(form[0], bad[number]) for number, form in forms if number in bad]
        forms = [(number, form) for number, form in forms if number not in bad]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--ptxas")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    forms = list(enumerate(catalogue()))
    groups = [forms[at : at + MODULE] for at in range(0, len(forms), MODULE)]
    paths = [arguments.out / f"module{index}.ptx" for index in range(len(groups))]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        done = list(pool.map(lambda pair: assemble(arguments.ptxas, *pair), zip(paths, groups)))
    specials = [f"!{name}\t" + " ".join(f"{value:x}" for value in numbers) for name, numbers in values.SPECIALS.items()]
    lines, plan, inputs = specials, [], array.array("Q")
    for path, (kept, _) in zip(paths, done):
        for number, (name, results, sources, text) in kept:
            lines.append("\t".join((name, " ".join(results), " ".join(sources), text)))
            plan.append(f"{path.stem} k{number} {len(sources)} {' '.join(results)}")
            seed = values.seed_of(name)
            for at, source in enumerate(sources):
                kind = source.split(":", 1)[1]
                inputs.extend(values.draw(kind, seed, at, index) for index in range(THREADS))
    (arguments.out / "forms.tsv").write_text("\n".join(lines) + "\n")
    (arguments.out / "plan.txt").write_text("\n".join(plan) + "\n")
    (arguments.out / "inputs.bin").write_bytes(inputs.tobytes())
    rejected = [pair for _, bad in done for pair in bad]
    (arguments.out / "rejected.tsv").write_text("".join(f"{name}\t{reason}\n" for name, reason in rejected))
    print(f"{len(plan)} forms, {len(rejected)} rejected by the assembler")


if __name__ == "__main__":
    main()
