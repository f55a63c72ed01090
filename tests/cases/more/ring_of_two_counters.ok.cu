// case: ring_of_two_counters
// rule: none
// where: static
// nvidia: completes
// launch: block=64 grid=1
// why: what the producer reads behind its wait is its own counter; it reads nothing that the consumer stored
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void ring(const int *in, int *out, int n) {
  __shared__ volatile int head, tail, slots[4];
  if (threadIdx.x == 0) head = tail = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 0; i < n; ++i) {
      while (head - tail == 4) {}
      slots[head & 3] = in[i];
      __threadfence_block();
      head = head + 1;
    }
  }
  if (threadIdx.x == 32) {
    for (int i = 0; i < n; ++i) {
      while (head == tail) {}
      __threadfence_block();
      out[i] = slots[tail & 3];
      __threadfence_block();
      tail = tail + 1;
    }
  }
}
static int want(const int *in, int i) { return in[i]; }
int main() {
  const int n = 64;
  static int h_in[n], h_out[n];
  int *in, *out, bad = 0;
  for (int i = 0; i < n; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  ring<<<1, 64>>>(in, out, n);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", n, bad);
  return bad ? 2 : 0;
}
