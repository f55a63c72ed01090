// case: pipeline_never_released
// rule: barrier-count
// also: wait-cycle
// where: both
// nvidia: hangs
// launch: block=128 grid=1
// why: no stage is ever released, so the third producer_acquire waits for a phase to which nobody arrives
#include <cstdio>
#include <cuda_runtime.h>
#include <cooperative_groups.h>
#include <cuda/pipeline>
#pragma nv_diag_suppress static_var_with_dynamic_init
namespace cg = cooperative_groups;
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
template <int S> __global__ void stages(const int *in, int *out, int n) {
  __shared__ int tile[S][128];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, S> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  int sum = 0;
  for (int done = 0, asked = 0; done < n; ++done) {
    for (; asked < n && asked < done + S; ++asked) {
      pipe.producer_acquire();  //~ barrier-count
      cuda::memcpy_async(block, tile[asked % S], in + asked * 128, sizeof(int) * 128, pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    sum += tile[done % S][threadIdx.x ^ 1];
  }
  out[threadIdx.x] = sum;
}
static int want(int i) {
  int sum = 0;
  for (int k = 0; k < 6; ++k) sum += (k * 128 + (i ^ 1)) % 1009;
  return sum;
}
int main() {
  int bad = 0;
  static int h_in[768], h_out[128];
  for (int i = 0; i < 768; ++i) h_in[i] = i % 1009;
  int *in, *out;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  stages<2><<<1, 128>>>(in, out, 6);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 128; ++i) bad += h_out[i] != want(i);
  std::printf("elements=%d mismatches=%d\n", 128, bad);
  return bad ? 2 : 0;
}
