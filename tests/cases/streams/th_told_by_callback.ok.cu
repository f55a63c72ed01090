// case: th_told_by_callback
// rule: none
// why: a callback behind the writer tells the main thread by a condition variable, which only then launches the reader on another stream
// flags: -lpthread
#include <cuda_runtime.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>

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

struct Told {
  std::mutex mutex;
  std::condition_variable changed;
  bool yes = false;
};

static void CUDART_CB tell(void *argument) {
  Told *told = static_cast<Told *>(argument);
  std::lock_guard<std::mutex> lock(told->mutex);
  told->yes = true;
  told->changed.notify_all();
}

int main() {
  const int n = 3300, grid = (n + 127) / 128;
  int *d_p, *d_q, *h_q;
  cudaStream_t s1, s2;
  CK(cudaMalloc(&d_p, n * sizeof(int)));
  CK(cudaMalloc(&d_q, n * sizeof(int)));
  CK(cudaMallocHost(&h_q, n * sizeof(int)));
  CK(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
  CK(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));

  Told told;
  put<<<grid, 128, 0, s1>>>(d_p, n, 40);
  CK(cudaLaunchHostFunc(s1, tell, &told));
  {
    std::unique_lock<std::mutex> lock(told.mutex);
    told.changed.wait(lock, [&] { return told.yes; });
  }
  plus<<<grid, 128, 0, s2>>>(d_p, d_q, n, 2);
  CK(cudaMemcpyAsync(h_q, d_q, n * sizeof(int), cudaMemcpyDeviceToHost, s2));
  CK(cudaStreamSynchronize(s2));
  CK(cudaStreamSynchronize(s1));

  long bad = 0;
  for (int i = 0; i < n; ++i) bad += h_q[i] != i + 42;
  CK(cudaFree(d_p));
  CK(cudaFree(d_q));
  CK(cudaFreeHost(h_q));
  return verdict(n, bad);
}
