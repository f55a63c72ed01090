"""Records the labelled programs with streams on a machine with a card.

usage: record.py STANDSTILL OUT [CASES]     (CASES: the folder of programs, tests/cases/streams unless named)
Each program is compiled under a neutral name with its comments taken out (lines keep their numbers) and run by
`standstill run --device gpu --trace`. OUT gets, gzipped, for each a line «NAME BYTES» and the bytes of its trace.
"""
import concurrent.futures, gzip, hashlib, os, re, subprocess, sys, tempfile

TOKEN = re.compile(r'''"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'|//[^\n]*|/\*.*?\*/''', re.S)


def blind(text):
    def out(match):
        token = match[0]
        return re.sub(r"[^\n]", "", token) or " " if token.startswith(("//", "/*")) else token

    return TOKEN.sub(out, text)


def record(standstill, path):
    name, text = os.path.basename(path)[: -len(".cu")], open(path).read()
    flags = re.search(r"^// flags: *(.*)$", text, re.M)
    with tempfile.TemporaryDirectory() as folder:
        source = "case_%s.cu" % hashlib.sha256(name.encode()).hexdigest()[:8]
        open(os.path.join(folder, source), "w").write(blind(text))
        command = [standstill, "run", "--device", "gpu", "--timeout", "20s", "--fail-on", "never", "--trace", "trace"]
        command += ["--cflags=" + flags[1]] if flags else []
        subprocess.run(command + [source], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
        return name, open(os.path.join(folder, "trace"), "rb").read()


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    standstill, out = os.path.abspath(sys.argv[1]), sys.argv[2]
    cases = sys.argv[3] if len(sys.argv) > 3 else os.path.join(here, "../cases/streams")
    files = sorted(os.path.join(cases, name) for name in os.listdir(cases) if name.endswith(".cu"))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        traces = list(pool.map(lambda path: record(standstill, path), files))
    packed = b"".join(b"%s %d\n" % (name.encode(), len(trace)) + trace for name, trace in traces)
    open(out, "wb").write(gzip.compress(packed, 9, mtime=0))


main()
