// case: atomic_ticket_loop
// rule: divergent-barrier
// h200: exit 2
// where: static
// nvidia: wrong-result
// launch: block=128 grid=1
// why: each thread draws its own ticket, so the number of rounds and of barriers differs between the threads
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void drain(const int *in, int *out, int *next, int n) {
  __shared__ int s[128];
  int t = threadIdx.x, acc = 0, mine;
  do {
    mine = atomicAdd(next, 1);  //~| a ticket of its own for every thread
    s[t] = mine < n ? in[(mine * 128 + t) & 255] : 0;
    __syncthreads();  //~ divergent-barrier
    acc += s[(t + 1) & 127];
  } while (mine < n);  //~| the condition that differs
  atomicAdd(out, acc);
}
static int want(const int *in, int) {
  int sum = 0;
  for (int k = 0; k < 6; ++k)
    for (int t = 0; t < 128; ++t) sum += in[(k * 128 + t) & 255];
  return sum;
}
int main() {
  static int h_in[256], h_out[1];
  int *in, *out, bad = 0;
  for (int i = 0; i < 256; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  int *next;
  CK(cudaMalloc(&next, 1 * sizeof *next));
  CK(cudaMemset(next, 0, 1 * sizeof *next));
  drain<<<1, 128>>>(in, out, next, 6);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 1; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 1, bad);
  return bad ? 2 : 0;
}
