// case: ds_ptds_joined_by_legacy
// rule: default-stream
// why: the last kernel is in a stream that is not ordered with the default streams
// flags: -DCUDA_API_PER_THREAD_DEFAULT_STREAM -lpthread
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#define CK(call)                                                                    \
  do {                                                                              \
    cudaError_t err_ = (call);                                                      \
    if (err_ != cudaSuccess) {                                                      \
      std::fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(err_)); \
      std::exit(1);                                                                 \
    }                                                                               \
  } while (0)

static int verdict(long n, long bad) {
  std::printf("elements=%ld mismatches=%ld\n", n, bad);
  return bad == 0 ? 0 : 2;
}

__global__ void put(int *p, int n, int base) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = i + base;
}

__global__ void plus(const int *p, int *q, int n, int by) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) q[i] = p[i] + by;
}

int main() {
  const int n = 2500, grid = (n + 127) / 128;
  int *d_p, *d_q, *h_q;
  CK(cudaMalloc(&d_p, 2 * n * sizeof(int)));
  CK(cudaMalloc(&d_q, 2 * n * sizeof(int)));
  CK(cudaMallocHost(&h_q, 2 * n * sizeof(int)));
  cudaStream_t last;
  CK(cudaStreamCreateWithFlags(&last, cudaStreamNonBlocking));

  std::thread one([=] { put<<<grid, 128>>>(d_p, n, 31); });  //~| one-half
  std::thread two([=] { put<<<grid, 128>>>(d_p + n, n, 31); });  //~| other-half
  one.join();
  two.join();
  plus<<<2 * grid, 128, 0, last>>>(d_p, d_q, 2 * n, 4);  //~ default-stream
  CK(cudaGetLastError());
  CK(cudaMemcpyAsync(h_q, d_q, 2 * n * sizeof(int), cudaMemcpyDeviceToHost, last));
  CK(cudaStreamSynchronize(last));

  long bad = 0;
  for (int i = 0; i < 2 * n; ++i) bad += h_q[i] != i % n + 35;
  CK(cudaDeviceSynchronize());
  CK(cudaFree(d_p));
  CK(cudaFree(d_q));
  CK(cudaFreeHost(h_q));
  return verdict(2 * n, bad);
}
