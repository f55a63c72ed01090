// case: cells_numbered_by_host
// rule: none
// where: both
// nvidia: completes
// launch: block=32 grid=4
// why: every ticket's cell already holds what its producer waits for: the host put it there
#include <cstdio>
#include <cuda_runtime.h>
#include <cuda/atomic>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
// A bounded queue: the host numbers the cells, so cell i is free for ticket i.
struct Cell {
  unsigned seq;
  int v;
};
using ref = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;
__global__ void queue(Cell *c, unsigned *head, unsigned *tail, int *out) {
  if (threadIdx.x) return;
  if (blockIdx.x < gridDim.x / 2) {
    unsigned p = atomicAdd(head, 1);
    ref s(c[p & 15].seq);
    while (s.load(cuda::memory_order_acquire) != p) {}
    c[p & 15].v = p * 7;
    s.store(p + 1, cuda::memory_order_release);
  } else {
    unsigned p = atomicAdd(tail, 1);
    ref s(c[p & 15].seq);
    while (s.load(cuda::memory_order_acquire) != p + 1) {}
    out[p] = c[p & 15].v;
    s.store(p + 16, cuda::memory_order_release);
  }
}
static int want(int i) { return i * 7; }
int main() {
  int bad = 0;
  static int h_out[2];
  struct Cell h_cells[16];
  for (unsigned i = 0; i < 16; ++i) h_cells[i] = Cell{i, 0};
  Cell *cells;
  unsigned *heads;
  int *out;
  CK(cudaMalloc(&cells, sizeof h_cells));
  CK(cudaMemcpy(cells, h_cells, sizeof h_cells, cudaMemcpyHostToDevice));
  CK(cudaMalloc(&heads, 2 * sizeof *heads));
  CK(cudaMemset(heads, 0, 2 * sizeof *heads));
  CK(cudaMalloc(&out, sizeof h_out));
  queue<<<4, 32>>>(cells, heads, heads + 1, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 2; ++i) bad += h_out[i] != want(i);
  std::printf("elements=%d mismatches=%d\n", 2, bad);
  return bad ? 2 : 0;
}
