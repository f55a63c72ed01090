"""What recording costs a program: the same program with and without it, in processes that take turns.

usage: price.py STANDSTILL SECONDS     on a machine with a card, nvcc and PyTorch
Prints medians, lower quartiles and tenths of both and their ratios, and the median ratio of neighbouring turns.
"""
import os, statistics, subprocess, sys, tempfile, time

here, standstill, seconds = os.path.dirname(os.path.abspath(__file__)), os.path.abspath(sys.argv[1]), float(sys.argv[2])
CORES = ["taskset", "-c", "4,5"]


class Worker:
    """A process that measures once when it is told to."""

    def __init__(self, folder, name, command, recorded):
        ends = [os.path.join(folder, name + end) for end in (".in", ".out")]
        for end in ends:
            os.mkfifo(end)
        before = [standstill, "run", "--device", "gpu", "--fail-on", "never", "--"] if recorded else []
        self.process = subprocess.Popen(CORES + before + command + ends, cwd=folder, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.ends = ends

    def open(self):
        self.told, self.said = open(self.ends[0], "w"), open(self.ends[1])

    def once(self):
        self.told.write("go\n")
        self.told.flush()
        return float(self.said.readline())

    def end(self):
        self.told.close()
        self.process.wait(60)


def tell(what, plain, recorded):
    part = lambda values, share: sorted(values)[int(share * (len(values) - 1))]
    pairs = [b / a for a, b in zip(plain, recorded)]
    parts = ["%s %.1f %.1f %.4f" % (name, part(plain, share), part(recorded, share), part(recorded, share) / part(plain, share))
             for name, share in (("median", 0.5), ("quarter", 0.25), ("tenth", 0.1))]
    print(what, "turns", len(plain), *parts, "pairs %.4f" % statistics.median(pairs), flush=True)


def main():
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(here, "launches.cu")
        subprocess.run(["nvcc", "-O2", "-arch=sm_90", "-o", "launches", source], cwd=folder, check=True)
        kinds = [("launches", ["./launches", "2000"]), ("training", ["python3", os.path.join(here, "training.py"), "mlp", "10", ""])]
        workers = {what: [Worker(folder, "%s%d" % (what, number), command, number % 2 == 1) for number in range(4)]
                   for what, command in kinds}
        for worker in sum(workers.values(), []):
            worker.open()
            worker.once()
        values = {what: ([], []) for what in workers}
        until, turn = time.time() + seconds, 0
        while time.time() < until:
            order = [[0, 1, 3, 2], [1, 0, 2, 3], [2, 3, 1, 0], [3, 2, 0, 1]][turn % 4]
            turn += 1
            for what, four in workers.items():
                for number in order:
                    # The first one warms what others have cooled.
                    four[number].once()
                    values[what][number % 2].append(four[number].once())
        for what in workers:
            tell(what, *values[what])
        for worker in sum(workers.values(), []):
            worker.end()


main()
