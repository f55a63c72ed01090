// case: group_id_clash
// rule: barrier-count
// h200: exit 0
// where: static
// nvidia: completes
// launch: block=192 grid=1
// why: two groups of 64 and 128 threads use the same named barrier with different counts and can meet in it
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__device__ void group_sync(int id, int n) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(n) : "memory"); }  //~| both groups wait here
__global__ void groups(const int *in, int *out) {
  __shared__ int s[192];
  int t = threadIdx.x, v = in[t];
  s[t] = v;
  if (t < 64) {
    group_sync(2, 64);  //~| 64 threads on barrier 2
    v += s[63 - t];
  } else {
    group_sync(2, 128);  //~ barrier-count
    v -= s[255 - t];
  }
  out[t] = v;
}
static int want(const int *in, int i) { return i < 64 ? in[i] + in[63 - i] : in[i] - in[255 - i]; }
int main() {
  static int h_in[192], h_out[192];
  int *in, *out, bad = 0;
  for (int i = 0; i < 192; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  groups<<<1, 192>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 192; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 192, bad);
  return bad ? 2 : 0;
}
