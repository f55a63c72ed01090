// The stream contract: two streams, one device buffer. The producer copies in, doubles, and records an event behind
// its kernel; the consumer waits for that event before its kernel, adds one and copies out.
//
//   contract [ELEMENTS [EXPECTED]]
//
// prints elements=N mismatches=M; exit 0 when all numbers are right, 1 when a call fails, 2 when numbers differ.
// EXPECTED is what the consumer is taken to add (1 unless given): with 2 the check itself is seen to work.
//
// -DFAULT=… builds a program with one mistake; each may still print the right numbers:
//   1 no wait             2 the wait comes too late      3 the event is recorded one line early
//   4 another event       5 the event is never recorded  6 the input is overwritten early
//   7 the output is read early                           8 the buffer is freed while it is in use
//   9 the host overwrites the input early
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#ifndef FAULT
#define FAULT 0
#endif

#define CHECK(call)                                                                        \
  do {                                                                                     \
    cudaError_t error = (call);                                                            \
    if (error != cudaSuccess) {                                                            \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error));  \
      return 1;                                                                            \
    }                                                                                      \
  } while (0)

__global__ void twice(float *data, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] *= 2.0f;
}

__global__ void plus_one(float *data, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] += 1.0f;
}

int main(int argc, char **argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 4096;
  const float added = argc > 2 ? std::atof(argv[2]) : 1.0f;
  const size_t bytes = count * sizeof(float);
  const int threads = 256, blocks = (count + threads - 1) / threads;

  float *in, *out, *buffer;
  CHECK(cudaMallocHost(&in, bytes));
  CHECK(cudaMallocHost(&out, bytes));
  CHECK(cudaMallocAsync(&buffer, bytes, 0));
  CHECK(cudaStreamSynchronize(0));
  // Integers that single precision holds exactly: only so is an exact comparison right.
  for (int i = 0; i < count; ++i) in[i] = float(i % 1000);

  cudaStream_t producer, consumer;
  CHECK(cudaStreamCreateWithFlags(&producer, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&consumer, cudaStreamNonBlocking));
  cudaEvent_t produced, other;
  CHECK(cudaEventCreateWithFlags(&produced, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&other, cudaEventDisableTiming));

  CHECK(cudaMemcpyAsync(buffer, in, bytes, cudaMemcpyHostToDevice, producer));
#if FAULT == 3 || FAULT == 4
  CHECK(cudaEventRecord(FAULT == 3 ? produced : other, producer));
#endif
#if FAULT == 6
  CHECK(cudaMemsetAsync(in, 0, bytes, consumer));
#endif
#if FAULT == 9
  in[0] = -1.0f;
#endif
  twice<<<blocks, threads, 0, producer>>>(buffer, count);
  CHECK(cudaGetLastError());
#if FAULT != 3 && FAULT != 5
  CHECK(cudaEventRecord(produced, producer));
#endif

#if FAULT == 4
  CHECK(cudaStreamWaitEvent(consumer, other, 0));
#elif FAULT != 1 && FAULT != 2
  CHECK(cudaStreamWaitEvent(consumer, produced, 0));
#endif
  plus_one<<<blocks, threads, 0, consumer>>>(buffer, count);
  CHECK(cudaGetLastError());
#if FAULT == 2
  CHECK(cudaStreamWaitEvent(consumer, produced, 0));
#endif
  CHECK(cudaMemcpyAsync(out, buffer, bytes, cudaMemcpyDeviceToHost, consumer));
#if FAULT == 8
  CHECK(cudaFreeAsync(buffer, producer));
#endif
#if FAULT != 7
  CHECK(cudaStreamSynchronize(consumer));
#endif

  int mismatches = 0;
  for (int i = 0; i < count; ++i) mismatches += out[i] != float(i % 1000) * 2.0f + added;
  CHECK(cudaDeviceSynchronize());
#if FAULT != 8
  CHECK(cudaFreeAsync(buffer, consumer));
#endif
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaEventDestroy(produced));
  CHECK(cudaEventDestroy(other));
  CHECK(cudaStreamDestroy(producer));
  CHECK(cudaStreamDestroy(consumer));
  CHECK(cudaFreeHost(in));
  CHECK(cudaFreeHost(out));
  std::printf("elements=%d mismatches=%d\n", count, mismatches);
  return mismatches == 0 ? 0 : 2;
}
