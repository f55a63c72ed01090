// case: th_queue_of_events
// rule: none
// why: three threads pass chunks on through queues, each with the event behind its own kernel; slots come back with an event, too
// flags: -lpthread
#include <cuda_runtime.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
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

struct Chunk {
  int slot;
  cudaEvent_t ready;
};

struct Queue {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Chunk> chunks;
  void push(Chunk chunk) {
    std::lock_guard<std::mutex> lock(mutex);
    chunks.push_back(chunk);
    changed.notify_one();
  }
  Chunk pop() {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return !chunks.empty(); });
    Chunk chunk = chunks.front();
    chunks.pop_front();
    return chunk;
  }
};

int main() {
  const int n = 2200, grid = (n + 127) / 128, slots = 2, chunks = 6;
  int *d_p, *d_q, *h_q;
  CK(cudaMalloc(&d_p, slots * n * sizeof(int)));
  CK(cudaMalloc(&d_q, slots * n * sizeof(int)));
  CK(cudaMallocHost(&h_q, chunks * n * sizeof(int)));
  Queue back, filled, computed;
  auto record = [](cudaStream_t s) {
    cudaEvent_t event;
    CK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CK(cudaEventRecord(event, s));
    return event;
  };
  auto stream = [] {
    cudaStream_t s;
    CK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    return s;
  };
  for (int slot = 0; slot < slots; ++slot) back.push({slot, nullptr});

  std::thread filler([&] {
    cudaStream_t s = stream();
    for (int chunk = 0; chunk < chunks; ++chunk) {
      Chunk free = back.pop();
      if (free.ready) CK(cudaStreamWaitEvent(s, free.ready, 0));
      put<<<grid, 128, 0, s>>>(d_p + free.slot * n, n, chunk);
      filled.push({free.slot, record(s)});
    }
  });
  std::thread computer([&] {
    cudaStream_t s = stream();
    for (int chunk = 0; chunk < chunks; ++chunk) {
      Chunk next = filled.pop();
      CK(cudaStreamWaitEvent(s, next.ready, 0));
      plus<<<grid, 128, 0, s>>>(d_p + next.slot * n, d_q + next.slot * n, n, 7);
      computed.push({next.slot, record(s)});
    }
  });
  std::thread drainer([&] {
    cudaStream_t s = stream();
    for (int chunk = 0; chunk < chunks; ++chunk) {
      Chunk next = computed.pop();
      CK(cudaStreamWaitEvent(s, next.ready, 0));
      CK(cudaMemcpyAsync(h_q + chunk * n, d_q + next.slot * n, n * sizeof(int), cudaMemcpyDeviceToHost, s));
      back.push({next.slot, record(s)});
    }
    CK(cudaStreamSynchronize(s));
  });
  filler.join();
  computer.join();
  drainer.join();

  long bad = 0;
  for (int chunk = 0; chunk < chunks; ++chunk)
    for (int i = 0; i < n; ++i) bad += h_q[chunk * n + i] != i + chunk + 7;
  CK(cudaFree(d_p));
  CK(cudaFree(d_q));
  CK(cudaFreeHost(h_q));
  return verdict(chunks * n, bad);
}
