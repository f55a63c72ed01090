// case: producer_arrives_twice
// rule: none
// h200: exit 0
// where: static
// nvidia: completes
// launch: block=256 grid=1
// why: the producer arrives once in each round
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
template <int ID> __device__ void sync_on() { asm volatile("barrier.sync %0, 256;" ::"n"(ID) : "memory"); }
template <int ID> __device__ void arrive_on() { asm volatile("barrier.arrive %0, 256;" ::"n"(ID) : "memory"); }
__global__ void pipe(const int *in, int *out, int rounds) {
  __shared__ int buf[128];
  int t = threadIdx.x, u = t & 127, acc = 0;
  if (t < 128) {
    for (int r = 0; r < rounds; ++r) {
      buf[u] = in[r * 128 + u];
      buf[u] *= 3;
      arrive_on<1>();
      sync_on<2>();
    }
  } else {
    for (int r = 0; r < rounds; ++r) {
      sync_on<1>();
      acc += buf[127 - u];
      arrive_on<2>();
    }
    out[u] = acc;
  }
}
static int want(const int *in, int i) {
  int acc = 0;
  for (int r = 0; r < 2; ++r) acc += in[r * 128 + 127 - i] * 3;
  return acc;
}
int main() {
  static int h_in[256], h_out[128];
  int *in, *out, bad = 0;
  for (int i = 0; i < 256; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  pipe<<<1, 256>>>(in, out, 2);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 128; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 128, bad);
  return bad ? 2 : 0;
}
