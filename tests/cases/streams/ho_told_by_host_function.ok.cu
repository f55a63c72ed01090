// case: ho_told_by_host_function
// rule: none
// why: a function of the host behind the copy tells the main thread by a condition variable that the result is there
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

__global__ void ramp(int *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = 4 * i;
}

struct Bell {
  std::mutex lock;
  std::condition_variable rung;
  bool ready = false;
};

static void CUDART_CB ring(void *arg) {
  Bell *bell = static_cast<Bell *>(arg);
  std::lock_guard<std::mutex> held(bell->lock);
  bell->ready = true;
  bell->rung.notify_one();
}

int main() {
  const int n = 2200;
  int *d_p, *h_p;
  cudaStream_t s;
  Bell bell;
  CK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CK(cudaMalloc(&d_p, n * sizeof(int)));
  CK(cudaMallocHost(&h_p, n * sizeof(int)));
  ramp<<<(n + 255) / 256, 256, 0, s>>>(d_p, n);
  CK(cudaGetLastError());
  CK(cudaMemcpyAsync(h_p, d_p, n * sizeof(int), cudaMemcpyDeviceToHost, s));
  CK(cudaLaunchHostFunc(s, ring, &bell));
  {
    std::unique_lock<std::mutex> held(bell.lock);
    bell.rung.wait(held, [&] { return bell.ready; });
  }
  long bad = 0;
  for (int i = 0; i < n; ++i) bad += h_p[i] != 4 * i;
  CK(cudaDeviceSynchronize());
  CK(cudaStreamDestroy(s));
  CK(cudaFree(d_p));
  CK(cudaFreeHost(h_p));
  return verdict(n, bad);
}
