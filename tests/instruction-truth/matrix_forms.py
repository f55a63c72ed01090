"""Forms of the matrix instructions of a warp.

Every warp multiplies matrices of its own. A form named `.special` also has infinities, NaNs and subnormal numbers
among its elements, one named `.wide` has elements of very different sizes.
"""


def names(letter, first, count):
    return "{" + ", ".join(f"%{letter}{first + number}" for number in range(count)) + "}"


def multiply(shape, types, counts, kinds, modifiers="", ending=""):
    """An `mma.sync` with its fragments in registers; `types` are those of d, a, b, c."""
    d, a, b, c = counts
    registers = ["b64" if ty == "f64" else "b32" for ty in types]
    sources = [f"{registers[1]}:{kinds[0]}"] * a + [f"{registers[2]}:{kinds[1]}"] * b + [f"{registers[3]}:{kinds[2]}"] * c
    opcode = f"mma.sync.aligned.{shape}.row.col{modifiers}.{'.'.join(types)}{ending}"
    text = f"{opcode} {names('d', 0, d)}, {names('s', 0, a)}, {names('s', a, b)}, {names('s', a + b, c)};"
    return opcode, [registers[0]] * d, sources, text


def both(shape, types, counts, kinds):
    yield multiply(shape, types, counts, ["m:" + kind for kind in kinds])
    name, results, sources, text = multiply(shape, types, counts, kinds)
    yield name + ".special", results, sources, text
    if types[1] != "f64":
        name, results, sources, text = multiply(shape, types, counts, ["w:" + kind for kind in kinds])
        yield name + ".wide", results, sources, text


def mma():
    for shape, counts in (("m16n8k8", (4, 2, 1, 4)), ("m16n8k16", (4, 4, 2, 4))):
        half = (2, *counts[1:3], 2)
        yield from both(shape, ("f32", "f16", "f16", "f32"), counts, ("f16x2", "f16x2", "f32"))
        yield from both(shape, ("f32", "bf16", "bf16", "f32"), counts, ("bf16x2", "bf16x2", "f32"))
        yield from both(shape, ("f16", "f16", "f16", "f16"), half, ("f16x2", "f16x2", "f16x2"))
    for shape, counts in (("m16n8k4", (4, 2, 1, 4)), ("m16n8k8", (4, 4, 2, 4))):
        yield from both(shape, ("f32", "tf32", "tf32", "f32"), counts, ("tf32", "tf32", "f32"))
    yield from both("m8n8k4", ("f64", "f64", "f64", "f64"), (2, 1, 1, 2), ("f64", "f64", "f64"))
    for k, a, b in (("4", 2, 1), ("8", 4, 2), ("16", 8, 4)):
        yield from both(f"m16n8k{k}", ("f64", "f64", "f64", "f64"), (4, a, b, 4), ("f64", "f64", "f64"))
    for shape, counts in (("m8n8k16", (2, 1, 1, 2)), ("m16n8k16", (4, 2, 1, 4)), ("m16n8k32", (4, 4, 2, 4))):
        for a in ("u8", "s8"):
            for b in ("u8", "s8"):
                for saturate in ("", ".satfinite") if a == b else ("",):
                    yield multiply(shape, ("s32", a, b, "s32"), counts, ("bits", "bits", "i32"), saturate)
    for shape, counts in (("m8n8k32", (2, 1, 1, 2)), ("m16n8k32", (4, 2, 1, 4)), ("m16n8k64", (4, 4, 2, 4))):
        for a, b in (("u4", "u4"), ("s4", "s4"), ("u4", "s4"), ("s4", "u4")):
            yield multiply(shape, ("s32", a, b, "s32"), counts, ("bits", "bits", "i32"))
        yield multiply(shape, ("s32", "s4", "s4", "s32"), counts, ("bits", "bits", "i32"), ".satfinite")
    for shape, counts in (("m8n8k128", (2, 1, 1, 2)), ("m16n8k128", (4, 2, 1, 4)), ("m16n8k256", (4, 4, 2, 4))):
        for op in ("xor", "and"):
            yield multiply(shape, ("s32", "b1", "b1", "s32"), counts, ("bits", "bits", "i32"), ending=f".{op}.popc")
    for a, b in (("e4m3", "e4m3"), ("e5m2", "e5m2"), ("e4m3", "e5m2"), ("e5m2", "e4m3")):
        for shape, counts in (("m16n8k32", (4, 4, 2, 4)), ("m16n8k16", (4, 2, 1, 4))):
            yield multiply(shape, ("f32", a, b, "f32"), counts, ("bits", "bits", "m:f32"))
            half = (2, *counts[1:3], 2)
            yield multiply(shape, ("f16", a, b, "f16"), half, ("bits", "bits", "m:f16x2"))


def moves():
    rows = "{ .reg .b32 %a, %r; mad.lo.u32 %a, %lane, 16, %sa; mad.lo.u32 %r, %lane, 7, 3; and.b32 %r, %r, 31;"
    rows += " mad.lo.u32 %r, %r, 16, %sa; st.shared.v4.b32 [%a], {%s0, %s1, %s2, %s3}; bar.warp.sync 0xffffffff; "
    four = ["b32:bits"] * 4
    for transposed in ("", ".trans"):
        for count in (1, 2, 4):
            name = f"ldmatrix.sync.aligned.m8n8.x{count}{transposed}.shared.b16"
            yield name, ["b32"] * count, four, f"{rows}{name} {names('d', 0, count)}, [%r]; }}"
            name = f"stmatrix.sync.aligned.m8n8.x{count}{transposed}.shared.b16"
            back = "bar.warp.sync 0xffffffff; ld.shared.v4.b32 {%d0, %d1, %d2, %d3}, [%a]; }"
            sources = four + ["b32:bits"] * count
            yield name, ["b32"] * 4, sources, f"{rows}{name} [%r], {names('s', 4, count)}; {back}"
    name = "movmatrix.sync.aligned.m8n8.trans.b16"
    yield name, ["b32"], ["b32:bits"], f"{name} %d0, %s0;"


def fill(offset, bytes_each, first):
    """Stores a tile of 32 lanes times some bytes from source registers."""
    text = f"mad.lo.u32 %a, %lane, {bytes_each}, %sa; "
    words = bytes_each // 4
    for at in range(0, words, 2):
        count = min(2, words - at)
        if count == 2:
            text += f"st.shared.v2.b32 [%a+{offset + 4 * at}], {names('s', first + at, 2)}; "
        else:
            text += f"st.shared.b32 [%a+{offset + 4 * at}], %s{first + at}; "
    return text, words


# Shape, element type, type of the accumulators, elements and registers of a fragment of a, b, c.
WMMA = [(shape, ty, accumulator, registers)
        for shape in ("m16n16k16", "m32n8k16", "m8n32k16")
        for ty, accumulator, registers in (("f16", "f32", 8), ("f16", "f16", 8), ("bf16", "f32", 4),
                                           ("s8", "s32", 2), ("u8", "s32", 2))]
WMMA += [("m16n16k8", "tf32", "f32", 4), ("m8n8k4", "f64", "f64", 1)]
WMMA += [("m8n8k32", "s4", "s32", 1), ("m8n8k32", "u4", "s32", 1), ("m8n8k128", "b1", "s32", 1)]
BYTES = {"s4": 0.5, "u4": 0.5, "b1": 0.125,"f16": 2, "bf16": 2, "s8": 1, "u8": 1, "tf32": 4, "f64": 8, "f32": 4, "s32": 4}


def wmma():
    for shape, ty, accumulator, registers in WMMA:
        m, rest = shape[1:].split("n")
        n, k = rest.split("k")
        m, n, k = int(m), int(n), int(k)
        a_registers, b_registers = registers, registers
        if ty in ("bf16", "s8", "u8"):
            a_registers, b_registers = registers * m // 16, registers * n // 16
        if ty == "bf16":
            a_registers, b_registers = 4 * m // 16, 4 * n // 16
        c_registers = 2 if m == n == 8 else 4 if accumulator == "f16" else 8
        small = BYTES[ty] < 1
        size = BYTES[ty]
        a_bytes, b_bytes, c_bytes = int(m * k * size), int(k * n * size), m * n * BYTES[accumulator]
        kinds = {"s4": "bits", "u4": "bits", "b1": "bits", "f16": "m:f16x2", "bf16": "m:bf16x2", "tf32": "m:tf32", "f64": "bits", "s8": "bits", "u8": "bits"}
        c_kind = {"f32": "m:f32", "s32": "i32", "f16": "m:f16x2", "f64": "bits"}[accumulator]
        fa, words_a = fill(0, a_bytes // 32, 0)
        fb, words_b = fill(1024, b_bytes // 32, words_a)
        fc, words_c = fill(2048, c_bytes // 32, words_a + words_b)
        sources = [f"b32:{kinds[ty]}"] * (words_a + words_b) + [f"b32:{c_kind}"] * words_c
        wide = "b64" if ty == "f64" else "b32"
        start = "{ .reg .b32 %a; .reg ." + wide + " %fa<8>, %fb<8>, %fc<8>, %fd<8>; " + fa + fb + fc
        start += "bar.warp.sync 0xffffffff; "
        back = ""
        for at in range(words_c):
            back += f"ld.shared.b32 %d{at}, [%a+{2048 + 4 * at}]; "
        for a_layout, b_layout in (("row", "col"),) if small else (("row", "col"), ("col", "row")):
            for c_layout in ("row", "col") if a_layout == "row" else ("row",):
                lead = lambda layout, rows, columns: columns if layout == "row" else rows
                text = start
                text += (f"wmma.load.a.sync.aligned.{a_layout}.{shape}.shared.{ty} {names('fa', 0, a_registers)},"
                         f" [%sa], {lead(a_layout, m, k)}; ")
                text += (f"wmma.load.b.sync.aligned.{b_layout}.{shape}.shared.{ty} {names('fb', 0, b_registers)},"
                         f" [%sa+1024], {lead(b_layout, k, n)}; ")
                text += (f"wmma.load.c.sync.aligned.{c_layout}.{shape}.shared.{accumulator} "
                         f"{names('fc', 0, c_registers)}, [%sa+2048], {lead(c_layout, m, n)}; ")
                types = f"{accumulator}.{accumulator}" if ty == "f16" else f"{accumulator}.{ty}.{ty}.{accumulator}"
                rounding = ".rn" if ty == "f64" else ""
                popc = ".xor.popc" if ty == "b1" else ""
                text += (f"wmma.mma{popc}.sync.aligned.{a_layout}.{b_layout}.{shape}{rounding}.{types}"
                         f" {names('fd', 0, c_registers)}, {names('fa', 0, a_registers)},"
                         f" {names('fb', 0, b_registers)}, {names('fc', 0, c_registers)}; bar.warp.sync 0xffffffff; ")
                text += (f"wmma.store.d.sync.aligned.{c_layout}.{shape}.shared.{accumulator} [%sa+2048],"
                         f" {names('fd', 0, c_registers)}, {lead(c_layout, m, n)}; bar.warp.sync 0xffffffff; ")
                name = f"wmma.{a_layout}.{b_layout}.{c_layout}.{shape}.{ty}.{accumulator}"
                yield name, ["b32"] * words_c, sources, text + back + "}"
        # The layout of a fragment, which programs may not rely on but do when they change single elements.
        if shape == "m16n16k16" and accumulator != "s32" or ty in ("tf32", "f64", "s8"):
            for part, count, layout, at, rows, columns, element in (
                    ("a", a_registers, "row", 0, m, k, ty), ("b", b_registers, "col", 1024, k, n, ty),
                    ("c", c_registers, "row", 2048, m, n, accumulator)):
                lead = columns if layout == "row" else rows
                text = start + (f"wmma.load.{part}.sync.aligned.{layout}.{shape}.shared.{element} "
                                f"{names('d', 0, count)}, [%sa+{at}], {lead}; }}")
                bits = ["b32:bits"] * len(sources)
                yield f"wmma.load.{part}.{layout}.{shape}.{element}.{accumulator}", [wide] * count, bits, text


def all_forms():
    yield from mma()
    yield from moves()
    yield from wmma()
