// case: cg_block_sync_under_rank
// rule: divergent-barrier
// h200: exit 0
// where: static
// nvidia: completes
// launch: block=128 grid=1
// why: the cooperative-groups block barrier is inside a condition on the thread's rank
#include <cstdio>
#include <cuda_runtime.h>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void fold(const int *in, int *out) {
  __shared__ int s[128];
  cg::thread_block block = cg::this_thread_block();
  unsigned r = block.thread_rank();
  int v = in[r];
  if (r < 100) {  //~| ranks 100-127 stay away
    s[r] = v;
    block.sync();  //~ divergent-barrier
    v += s[99 - r];
  }
  out[r] = v;
}
static int want(const int *in, int i) { return i < 100 ? in[i] + in[99 - i] : in[i]; }
int main() {
  static int h_in[128], h_out[128];
  int *in, *out, bad = 0;
  for (int i = 0; i < 128; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  fold<<<1, 128>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 128; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 128, bad);
  return bad ? 2 : 0;
}
