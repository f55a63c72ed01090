// case: counter_reached_plain
// rule: none
// h200: exit 0
// where: static
// nvidia: completes
// launch: block=64 grid=4
// why: the number is read with relaxed atomic loads and the payload is behind an acquire fence
#include <cstdio>
#include <cuda_runtime.h>
#include <cuda/atomic>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void gather(const int *in, int *part, int *done, int *out) {
  int t = threadIdx.x, b = blockIdx.x;
  atomicAdd(&part[b], in[b * 64 + t]);
  __syncthreads();
  if (t) return;
  __threadfence();
  atomicAdd(done, 1);
  if (b != (int)gridDim.x - 1) return;
  cuda::atomic_ref<int, cuda::thread_scope_device> d(*done);
  while (d.load(cuda::memory_order_relaxed) < (int)gridDim.x) {}
  cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
  int sum = 0;
  for (unsigned k = 0; k < gridDim.x; ++k) sum += atomicAdd(&part[k], 0);
  *out = sum;
}
static int want(const int *in, int) {
  int s = 0;
  for (int k = 0; k < 256; ++k) s += in[k];
  return s;
}
int main() {
  static int h_in[256], h_out[1];
  int *in, *out, bad = 0;
  for (int i = 0; i < 256; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  int *part;
  CK(cudaMalloc(&part, 4 * sizeof *part));
  CK(cudaMemset(part, 0, 4 * sizeof *part));
  int *done;
  CK(cudaMalloc(&done, 1 * sizeof *done));
  CK(cudaMemset(done, 0, 1 * sizeof *done));
  gather<<<4, 64>>>(in, part, done, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 1; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 1, bad);
  return bad ? 2 : 0;
}
