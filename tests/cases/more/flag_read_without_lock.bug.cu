// case: flag_read_without_lock
// rule: divergent-barrier
// h200: exit 2
// where: static
// nvidia: wrong-result
// launch: block=128 grid=2
// why: the other block may set the flag between the reads of two threads, and those part before the barrier
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void sum(const int *in, int *out, int *lock, int *seen) {
  int t = threadIdx.x, v = in[blockIdx.x * 128 + t];
  __syncthreads();
  int first = !*seen;  //~| each thread reads its own value
  if (first) {
    __syncthreads();  //~ divergent-barrier
    if (t == 0) atomicExch(seen, 1);
    out[t] = v;
  } else {
    out[t] += v;
  }
}
static int want(const int *in, int i) { return in[i] + in[128 + i]; }
int main() {
  static int h_in[256], h_out[128];
  int *in, *out, bad = 0;
  for (int i = 0; i < 256; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  int *lock, *seen;
  CK(cudaMalloc(&lock, sizeof *lock));
  CK(cudaMalloc(&seen, sizeof *seen));
  CK(cudaMemset(lock, 0, sizeof *lock));
  CK(cudaMemset(seen, 0, sizeof *seen));
  sum<<<2, 128>>>(in, out, lock, seen);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 128; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 128, bad);
  return bad ? 2 : 0;
}
