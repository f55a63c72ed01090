// case: order_lock_plain
// rule: missing-acquire
// also: missing-release, global-race
// h200: exit 0
// where: both
// nvidia: wrong-result
// launch: block=32 grid=4
// why: a spin lock of relaxed atomics without any fence: the protected sum may be read before the lock is held
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__device__ __forceinline__ void enter(int *door) {
  while (atomicExch(door, 1) != 0) __nanosleep(20);  //~ missing-acquire
}
__device__ __forceinline__ void leave(int *door) {
  atomicExch(door, 0);  //~| and the giving back without release
}
__global__ void gather(const int *in, int *sum, int *door) {
  int v = __reduce_add_sync(0xffffffffu, in[blockIdx.x * 32 + threadIdx.x]);
  if (threadIdx.x == 0) {
    enter(door);
    *sum += v;  //~| the protected update
    leave(door);
  }
}
static int want(const int *in, int i) { int s = 0; for (int k = 0; k < 128; ++k) s += in[k]; return s; }
int main() {
  static int h_in[128], h_out[1];
  int *in, *out, bad = 0;
  for (int i = 0; i < 128; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  int *door;
  CK(cudaMalloc(&door, 1 * sizeof *door));
  CK(cudaMemset(door, 0, 1 * sizeof *door));
  gather<<<4, 32>>>(in, out, door);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 1; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 1, bad);
  return bad ? 2 : 0;
}
