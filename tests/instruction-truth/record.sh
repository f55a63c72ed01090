#!/bin/sh
# Records the instruction truth on a real card: record.sh OUT. OUT gets first.bin, second.bin, forms.tsv and the
# transcript. Needs nvcc, ptxas and Python 3.10 or newer.
here=$(cd "$(dirname "$0")" && pwd)
out=$1
work=$(mktemp -d)
{
    date -u
    nvidia-smi
    nvidia-smi --query-gpu=name,driver_version,vbios_version --format=csv
    nvcc --version
    ptxas --version
    python3 "$here/generate.py" "$work" --ptxas ptxas --jobs "$(nproc)"
    echo "rejected by the assembler:"
    cat "$work/rejected.tsv"
    nvcc -O1 -o "$work/record" "$here/record.cu" -lcuda
    echo "first recording"
    "$work/record" "$work" "$work/first.bin"
    seed=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')
    echo "second recording, of a tenth, seed $seed"
    "$work/record" "$work" "$work/second.bin" --tenth "$seed" --against "$work/first.bin"
    (cd "$work" && sha256sum first.bin second.bin forms.tsv inputs.bin)
    date -u
} >"$out/transcript.txt" 2>&1
cp "$work/forms.tsv" "$out/"
gzip -9 <"$work/first.bin" >"$out/first.bin.gz"
gzip -9 <"$work/second.bin" >"$out/second.bin.gz"
cat "$out/transcript.txt"
