// case: empty_never_arrives
// rule: barrier-count
// h200: hangs
// where: both
// nvidia: hangs
// launch: block=256 grid=1
// why: the producer waits for the empty barrier from the second round on, but consumers above the limit skip their arrival
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
#define FULL 1
#define EMPTY 2
__global__ void feed(const int *in, int *out, int rounds, int limit) {
  __shared__ int buf[128];
  int t = threadIdx.x, u = t & 127;
  if (t >= 128) {
    for (int r = 0; r < rounds; ++r) {
      if (r > 0) asm volatile("bar.sync %0, 256;" ::"n"(EMPTY) : "memory");  //~ barrier-count
      buf[u] = in[r * 128 + u] + r;
      asm volatile("bar.arrive %0, 256;" ::"n"(FULL) : "memory");
    }
  } else {
    int acc = 0;
    for (int r = 0; r < rounds; ++r) {
      asm volatile("bar.sync %0, 256;" ::"n"(FULL) : "memory");
      acc += buf[u ^ 1];
      if (u < 96 && r + 1 < rounds)  //~| warp 3 does not arrive
        asm volatile("bar.arrive %0, 256;" ::"n"(EMPTY) : "memory");  //~| 96 of 128 arrivals
    }
    out[u] = acc > limit ? limit : acc;
  }
}
static int want(const int *in, int i) {
  int acc = 0;
  for (int r = 0; r < 4; ++r) acc += in[r * 128 + (i ^ 1)] + r;
  return acc > 2500 ? 2500 : acc;
}
int main() {
  static int h_in[512], h_out[128];
  int *in, *out, bad = 0;
  for (int i = 0; i < 512; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  feed<<<1, 256>>>(in, out, 4, 2500);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 128; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 128, bad);
  return bad ? 2 : 0;
}
