// case: shared_flag_never_raised
// rule: none
// where: both
// nvidia: completes
// launch: block=64 grid=1
// why: the flag is raised through a pointer that was kept in shared memory
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void relay(const int *in, int *out) {
  __shared__ volatile int ready[2];
  __shared__ volatile int *slots[2];
  __shared__ int value;
  int t = threadIdx.x;
  if (t < 2) {
    ready[t] = 0;
    slots[t] = &ready[t];
    value = in[0];
  }
  __syncthreads();
  if (t == 0) {
    volatile int *mine = slots[in[0] & 1];
    __threadfence_block();
    *mine = 1;
    *slots[~in[0] & 1] = 1;
  }
  if (t >= 32) {
    while (ready[1] == 0) {}
    __threadfence_block();
  }
  out[t] = value + in[t];
}
static int want(const int *in, int i) { return in[0] + in[i]; }
int main() {
  const int n = 64;
  static int h_in[n], h_out[n];
  int *in, *out, bad = 0;
  for (int i = 0; i < n; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  relay<<<1, 64>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", n, bad);
  return bad ? 2 : 0;
}
