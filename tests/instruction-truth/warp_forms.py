"""Forms of warp operations and atomics.

Beside `%s…` and `%d…` a body may use `%lane`, `%sa` (the warp's 4,096 bytes of shared memory), `%ta` (the thread's
64 bytes of shared memory) and `%ga` (the thread's 64 bytes of global memory).
"""

FULL = "0xffffffff"


def warp():
    for mode in ("up", "down", "bfly", "idx"):
        text = f"shfl.sync.{mode}.b32 %d0|%d1, %s0, %s1, %s2, {FULL};"
        yield f"shfl.sync.{mode}.b32", ["b32", "pred"], ["b32:bits", "b32:lane", "b32:clamp"], text
    for mode in ("all", "any", "uni"):
        text = f"vote.sync.{mode}.pred %d0, %s0, {FULL};"
        yield f"vote.sync.{mode}", ["pred"], ["pred:pred"], text
        text = f"setp.lt.u32 %s1, %s0, 33; vote.sync.{mode}.pred %d0, %s1, {FULL};"
        yield f"vote.sync.{mode}.same", ["pred"], ["b32:lane", "pred:pred"], text
    yield "vote.sync.ballot", ["b32"], ["pred:pred"], f"vote.sync.ballot.b32 %d0, !%s0, {FULL};"
    for width in ("32", "64"):
        text = f"match.any.sync.b{width} %d0, %s0, {FULL};"
        yield f"match.any.b{width}", ["b32"], [f"b{width}:few"], text
        text = f"shr.b{width} %s0, %s0, %s1; match.all.sync.b{width} %d0|%d1, %s0, {FULL};"
        yield f"match.all.b{width}", ["b32", "pred"], [f"b{width}:few", "b32:few"], text
    for op in ("add", "min", "max"):
        for ty in ("u32", "s32"):
            yield f"redux.{op}.{ty}", ["b32"], ["b32:i32"], f"redux.sync.{op}.{ty} %d0, %s0, {FULL};"
    for op in ("and", "or", "xor"):
        yield f"redux.{op}.b32", ["b32"], ["b32:bits"], f"redux.sync.{op}.b32 %d0, %s0, {FULL};"
    yield "elect", ["b32", "pred"], ["b32:bits"], f"elect.sync %d0|%d1, {FULL};"


ATOMS = [("add", ty) for ty in ("u32", "s32", "u64", "f32", "f64", "noftz.f16", "noftz.bf16", "noftz.f16x2",
                                "noftz.bf16x2")]
ATOMS += [(op, ty) for op in ("min", "max") for ty in ("u32", "s32", "u64", "s64")]
ATOMS += [(op, ty) for op in ("and", "or", "xor", "exch") for ty in ("b32", "b64")]
ATOMS += [("inc", "u32"), ("dec", "u32")]
ATOMS += [("cas", ty) for ty in ("b16", "b32", "b64")]


def shape(ty):
    """Width of a type and the kind of its values."""
    ty = ty.removeprefix("noftz.")
    width = {"f16x2": "32", "bf16x2": "32", "bf16": "16"}.get(ty) or ty[1:]
    return width, ty if ty[0] == "f" or ty.startswith("bf") else f"i{width}"


def atomics():
    for space, address in (("global", "%ga"), ("shared", "%ta")):
        for op, ty in ATOMS:
            width, kind = shape(ty)
            register = f"b{width}"
            around = (f"st.{space}.b{width} [{address}], %s0; ", f" ld.{space}.b{width} %d1, [{address}];")
            if op == "cas":
                sources = [f"{register}:few", f"{register}:few", f"{register}:bits"]
                text = f"atom.{space}.cas.{ty} %d0, [{address}], %s1, %s2;"
            else:
                sources = [f"{register}:{kind}"] * 2
                text = f"atom.{space}.{op}.{ty} %d0, [{address}], %s1;"
            yield f"atom.{space}.{op}.{ty}", [register] * 2, sources, text.join(around)
            if ty == "f64":
                name = f"atom.{space}.{op}.{ty}.nans"
                yield name, [register] * 2, ["b64:nan"] * 2, text.join(around)
            if op not in ("exch", "cas"):
                # A reduction may take another unit of the card than the atomic does.
                text = f"st.{space}.b{width} [{address}], %s0; red.{space}.{op}.{ty} [{address}], %s1;"
                text += f" ld.{space}.b{width} %d0, [{address}];"
                yield f"red.{space}.{op}.{ty}", [register], sources, text
        wide = "{ .reg .b128 %o, %n, %c; mov.b128 %n, {%s2, %s3}; mov.b128 %c, {%s4, %s5}; "
        wide += f"st.{space}.v2.b64 [{address}], {{%s0, %s1}}; "
        after = f" mov.b128 {{%d0, %d1}}, %o; ld.{space}.v2.b64 {{%d2, %d3}}, [{address}]; }}"
        few, bits = ["b64:few"], ["b64:bits"]
        yield (f"atom.{space}.exch.b128", ["b64"] * 4, bits * 6,
               wide + f"atom.{space}.exch.b128 %o, [{address}], %n;" + after)
        yield (f"atom.{space}.cas.b128", ["b64"] * 4, few + few + bits * 2 + few + few,
               wide + f"atom.{space}.cas.b128 %o, [{address}], %c, %n;" + after)
    for count, ty, register in ((2, "f32", "b32"), (4, "f32", "b32"), (2, "f16", "b16"), (4, "bf16", "b16"),
                                (2, "f16x2", "b32"), (4, "bf16x2", "b32")):
        for op in ("add", "min", "max") if ty != "f32" else ("add",):
            names = lambda letter, first: "{" + ", ".join(f"%{letter}{first + n}" for n in range(count)) + "}"
            ftz = "" if ty == "f32" else ".noftz"
            text = (f"st.global.v{count}.{register} [%ga], {names('s', 0)};"
                    f" atom.global.{op}{ftz}.v{count}.{ty} {names('d', 0)}, [%ga], {names('s', count)};"
                    f" ld.global.v{count}.{register} {names('d', count)}, [%ga];")
            name = f"atom.global.{op}{ftz}.v{count}.{ty}"
            yield name, [register] * (2 * count), [f"{register}:{ty}"] * (2 * count), text


def all_forms():
    yield from warp()
    yield from atomics()
