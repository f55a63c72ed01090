// case: gr_relaunched_by_turns
// rule: stream-race
// why: the second stream reads what the graph writes without waiting for its launch
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

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
  const int n = 2800, grid = (n + 127) / 128, rounds = 4;
  int *d_p, *d_q, *h_q;
  cudaStream_t s[2], reader;
  cudaEvent_t launched, read;
  CK(cudaMalloc(&d_p, n * sizeof(int)));
  CK(cudaMalloc(&d_q, n * sizeof(int)));
  CK(cudaMallocHost(&h_q, n * sizeof(int)));
  for (int k = 0; k < 2; ++k) CK(cudaStreamCreateWithFlags(&s[k], cudaStreamNonBlocking));
  CK(cudaStreamCreateWithFlags(&reader, cudaStreamNonBlocking));
  CK(cudaEventCreateWithFlags(&launched, cudaEventDisableTiming));
  CK(cudaEventCreateWithFlags(&read, cudaEventDisableTiming));

  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CK(cudaStreamBeginCapture(s[0], cudaStreamCaptureModeThreadLocal));
  put<<<grid, 128, 0, s[0]>>>(d_p, n, 11);  //~| node
  CK(cudaStreamEndCapture(s[0], &graph));
  CK(cudaGraphInstantiate(&exec, graph, 0));

  for (int round = 0; round < rounds; ++round) {
    cudaStream_t own = s[round % 2];
    if (round > 0) CK(cudaStreamWaitEvent(own, read, 0));
    CK(cudaGraphLaunch(exec, own));
    CK(cudaEventRecord(launched, own));
    plus<<<grid, 128, 0, reader>>>(d_p, d_q, n, round);  //~ stream-race
    CK(cudaEventRecord(read, reader));
  }
  CK(cudaMemcpyAsync(h_q, d_q, n * sizeof(int), cudaMemcpyDeviceToHost, reader));
  CK(cudaStreamSynchronize(reader));

  long bad = 0;
  for (int i = 0; i < n; ++i) bad += h_q[i] != i + 11 + rounds - 1;
  CK(cudaDeviceSynchronize());
  CK(cudaGraphExecDestroy(exec));
  CK(cudaGraphDestroy(graph));
  CK(cudaFree(d_p));
  CK(cudaFree(d_q));
  CK(cudaFreeHost(h_q));
  return verdict(n, bad);
}
