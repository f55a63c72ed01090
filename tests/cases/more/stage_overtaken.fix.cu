// case: stage_overtaken
// rule: none
// where: static
// launch: block=64 grid=1
// why: warp 1 waits for stage 1 or a later one
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void stages(int *out) {
  __shared__ int first, second;
  __shared__ volatile int stage;
  if (threadIdx.x == 0) stage = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    first = 7;
    __threadfence_block();
    stage = 1;
    second = 8;
    __threadfence_block();
    stage = 2;
  } else if (threadIdx.x == 32) {
    while (stage < 1) {
    }
    __threadfence_block();
    out[0] = first;
    while (stage < 2) {
    }
    __threadfence_block();
    out[1] = second;
  }
}
int main() {
  int *out, host[2] = {0, 0};
  CK(cudaMalloc(&out, sizeof host));
  stages<<<1, 64>>>(out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
  int bad = (host[0] != 7) + (host[1] != 8);
  std::printf("elements=%d mismatches=%d\n", 2, bad);
  return bad ? 2 : 0;
}
