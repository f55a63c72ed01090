// case: th_polled_event
// rule: none
// why: a thread polls the event until it is reached and tells the main thread by an atomic flag, which launches the reader then
// flags: -lpthread
#include <cuda_runtime.h>

#include <atomic>
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
  const int n = 3100, grid = (n + 127) / 128;
  int *d_p, *d_q, *h_q;
  cudaStream_t s1, s2;
  cudaEvent_t written;
  CK(cudaMalloc(&d_p, n * sizeof(int)));
  CK(cudaMalloc(&d_q, n * sizeof(int)));
  CK(cudaMallocHost(&h_q, n * sizeof(int)));
  CK(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
  CK(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
  CK(cudaEventCreateWithFlags(&written, cudaEventDisableTiming));

  std::atomic<bool> begun{false}, over{false};
  put<<<grid, 128, 0, s1>>>(d_p, n, 21);
  CK(cudaEventRecord(written, s1));
  std::thread poller([&] {
    while (cudaEventQuery(written) == cudaErrorNotReady) std::this_thread::yield();
    over = true;
  });
  while (!over) std::this_thread::yield();
  plus<<<grid, 128, 0, s2>>>(d_p, d_q, n, 1);
  begun = true;
  CK(cudaMemcpyAsync(h_q, d_q, n * sizeof(int), cudaMemcpyDeviceToHost, s2));
  CK(cudaStreamSynchronize(s2));
  poller.join();

  long bad = 0;
  for (int i = 0; i < n; ++i) bad += h_q[i] != i + 22;
  CK(cudaFree(d_p));
  CK(cudaFree(d_q));
  CK(cudaFreeHost(h_q));
  return verdict(n, bad);
}
