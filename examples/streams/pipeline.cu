// A pipeline of K slots over three streams: upload, compute, download. Each slot has its own device buffers and an
// event behind its last reader; a slot is filled again only behind that event.
//
//   pipeline [SLOTS [CHUNKS]]
//
// -DFAULT=1 leaves the wait for that event out: the slot is refilled while its last reader may still be at work.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#ifndef FAULT
#define FAULT 0
#endif

#define CHECK(call)                                                                        \
  do {                                                                                     \
    cudaError_t error = (call);                                                            \
    if (error != cudaSuccess) {                                                            \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error));  \
      std::exit(1);                                                                        \
    }                                                                                      \
  } while (0)

__global__ void mix(const float *in, float *out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = in[i] * 2.0f + 1.0f;
}

struct Slot {
  float *in, *out;
  cudaEvent_t filled, computed, read, drained;
};

int main(int argc, char **argv) {
  const int slots = argc > 1 ? std::atoi(argv[1]) : 2, chunks = argc > 2 ? std::atoi(argv[2]) : 6;
  const int count = 1024, threads = 128;
  const size_t bytes = count * sizeof(float);
  float *in, *out;
  CHECK(cudaMallocHost(&in, chunks * bytes));
  CHECK(cudaMallocHost(&out, chunks * bytes));
  for (int i = 0; i < chunks * count; ++i) in[i] = float(i % 1000);
  cudaStream_t up, compute, down;
  for (cudaStream_t *stream : {&up, &compute, &down}) {
    CHECK(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
  }
  std::vector<Slot> all(slots);
  for (Slot &slot : all) {
    CHECK(cudaMalloc(&slot.in, bytes));
    CHECK(cudaMalloc(&slot.out, bytes));
    for (cudaEvent_t *event : {&slot.filled, &slot.computed, &slot.read, &slot.drained}) {
      CHECK(cudaEventCreateWithFlags(event, cudaEventDisableTiming));
    }
  }

  for (int chunk = 0; chunk < chunks; ++chunk) {
    Slot &slot = all[chunk % slots];
#if FAULT == 0
    if (chunk >= slots) CHECK(cudaStreamWaitEvent(up, slot.read, 0));
#endif
    CHECK(cudaMemcpyAsync(slot.in, in + chunk * count, bytes, cudaMemcpyHostToDevice, up));
    CHECK(cudaEventRecord(slot.filled, up));
    CHECK(cudaStreamWaitEvent(compute, slot.filled, 0));
    if (chunk >= slots) CHECK(cudaStreamWaitEvent(compute, slot.drained, 0));
    mix<<<(count + threads - 1) / threads, threads, 0, compute>>>(slot.in, slot.out, count);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(slot.read, compute));
    CHECK(cudaEventRecord(slot.computed, compute));
    CHECK(cudaStreamWaitEvent(down, slot.computed, 0));
    CHECK(cudaMemcpyAsync(out + chunk * count, slot.out, bytes, cudaMemcpyDeviceToHost, down));
    CHECK(cudaEventRecord(slot.drained, down));
  }
  CHECK(cudaDeviceSynchronize());

  int mismatches = 0;
  for (int i = 0; i < chunks * count; ++i) mismatches += out[i] != in[i] * 2.0f + 1.0f;
  for (Slot &slot : all) {
    CHECK(cudaFree(slot.in));
    CHECK(cudaFree(slot.out));
    for (cudaEvent_t event : {slot.filled, slot.computed, slot.read, slot.drained}) CHECK(cudaEventDestroy(event));
  }
  for (cudaStream_t stream : {up, compute, down}) CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFreeHost(in));
  CHECK(cudaFreeHost(out));
  std::printf("elements=%d mismatches=%d\n", chunks * count, mismatches);
  return mismatches == 0 ? 0 : 2;
}
