// case: ho_second_thread
// rule: host-read-before-sync
// why: a second thread adds up the result while the copy that writes it may still run: it was told that the copy was submitted, not that it is done
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

__global__ void weigh(const int *a, int *b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = 3 * a[i];
}

int main() {
  const int n = 3000;
  const size_t bytes = n * sizeof(int);
  int *h_in, *h_out, *d_a, *d_b;
  cudaStream_t s;
  CK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CK(cudaMallocHost(&h_in, bytes));
  CK(cudaMallocHost(&h_out, bytes));
  CK(cudaMalloc(&d_a, bytes));
  CK(cudaMalloc(&d_b, bytes));
  for (int i = 0; i < n; ++i) h_in[i] = i;

  std::atomic<bool> go(false);
  long sum = 0;
  std::thread adder([&] {
    while (!go) std::this_thread::yield();
    for (int i = 0; i < n; ++i) sum += h_out[i];  //~ host-read-before-sync
  });
  CK(cudaMemcpyAsync(d_a, h_in, bytes, cudaMemcpyHostToDevice, s));
  weigh<<<(n + 255) / 256, 256, 0, s>>>(d_a, d_b, n);
  CK(cudaGetLastError());
  CK(cudaMemcpyAsync(h_out, d_b, bytes, cudaMemcpyDeviceToHost, s));  //~| copy-to-host
  go = true;
  adder.join();
  CK(cudaDeviceSynchronize());

  long bad = sum != 3L * n * (n - 1) / 2;
  CK(cudaStreamDestroy(s));
  for (int *p : {d_a, d_b}) CK(cudaFree(p));
  for (int *p : {h_in, h_out}) CK(cudaFreeHost(p));
  return verdict(n, bad);
}
