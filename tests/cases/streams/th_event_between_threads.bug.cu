// case: th_event_between_threads
// rule: event-recorded-early
// why: the first thread records the event before its kernel and hands it over then
// flags: -lpthread
#include <cuda_runtime.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
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

struct Turn {
  std::mutex mutex;
  std::condition_variable changed;
  int at = 0;
  void wait(int until) {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return at == until; });
  }
  void next() {
    std::lock_guard<std::mutex> lock(mutex);
    ++at;
    changed.notify_all();
  }
};

int main() {
  const int n = 2900, grid = (n + 127) / 128, rounds = 4;
  int *d_p, *d_q, *h_q;
  cudaStream_t s1, s2;
  cudaEvent_t written, read;
  CK(cudaMalloc(&d_p, n * sizeof(int)));
  CK(cudaMalloc(&d_q, n * sizeof(int)));
  CK(cudaMallocHost(&h_q, n * sizeof(int)));
  CK(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
  CK(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
  CK(cudaEventCreateWithFlags(&written, cudaEventDisableTiming));
  CK(cudaEventCreateWithFlags(&read, cudaEventDisableTiming));

  Turn turn;
  std::thread other([&] {
    for (int round = 0; round < rounds; ++round) {
      turn.wait(2 * round + 1);
      CK(cudaStreamWaitEvent(s2, written, 0));
      plus<<<grid, 128, 0, s2>>>(d_p, d_q, n, 5);  //~ event-recorded-early
      CK(cudaEventRecord(read, s2));
      turn.next();
    }
  });
  for (int round = 0; round < rounds; ++round) {
    turn.wait(2 * round);
    if (round > 0) CK(cudaStreamWaitEvent(s1, read, 0));
    CK(cudaEventRecord(written, s1));
    put<<<grid, 128, 0, s1>>>(d_p, n, round);  //~| written-after-the-record
    turn.next();
  }
  other.join();
  CK(cudaMemcpyAsync(h_q, d_q, n * sizeof(int), cudaMemcpyDeviceToHost, s2));
  CK(cudaStreamSynchronize(s2));

  long bad = 0;
  for (int i = 0; i < n; ++i) bad += h_q[i] != i + rounds - 1 + 5;
  CK(cudaDeviceSynchronize());
  CK(cudaFree(d_p));
  CK(cudaFree(d_q));
  CK(cudaFreeHost(h_q));
  return verdict(n, bad);
}
