#!/bin/bash
# Runs all kernels in all placements on the card of this machine.
# usage: run.sh KERNELS.ptx SECONDS FOLDER : results come into the folder; needs nvcc
here=$(cd "$(dirname "$0")" && pwd)
kernels=$1 until=$((SECONDS + $2)) out=$3
work=$(mktemp -d)
grep -o '\.entry [^(]*' "$kernels" | sed 's/.entry //' > "$work/names"
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | tee "$out/card.txt"
nvcc --version | tail -2 | tee -a "$out/card.txt"
nvcc -O2 -std=c++17 -o "$work/card" "$here/card.cpp" -lcuda || exit 1
ptxas -arch=sm_90 -o "$work/kernels.cubin" "$kernels" || exit 1
while [ $((until - SECONDS)) -gt 3 ]; do
    "$work/card" "$work/kernels.cubin" "$work/names" "$out/results.tsv" $((until - SECONDS)) 2>&1 | tee -a "$out/log"
    # 3: it gave up on some kernels and goes on without them
    [ "${PIPESTATUS[0]}" = 3 ] || break
done
wc -l "$out/results.tsv"
