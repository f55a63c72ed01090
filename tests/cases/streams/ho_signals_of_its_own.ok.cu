// case: ho_signals_of_its_own
// rule: none
// why: the program has a handler for faults of its own, and a thread that blocks all signals, while a kernel could reach what they touch
#include <cuda_runtime.h>

#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <pthread.h>

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

__global__ void bump(int *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] += 1;
}

static sigjmp_buf back;
static void recover(int) { siglongjmp(back, 1); }

struct Job {
  int *cells;
  int n;
};

static void *blocked(void *arg) {
  Job *job = static_cast<Job *>(arg);
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  for (int i = 0; i < job->n; ++i) job->cells[i] = 2 * i;
  return nullptr;
}

int main() {
  const int n = 1700;
  int *busy, *idle;
  CK(cudaMallocManaged(&busy, n * sizeof(int)));
  CK(cudaMallocManaged(&idle, n * sizeof(int)));
  for (int i = 0; i < n; ++i) busy[i] = i;
  bump<<<(n + 255) / 256, 256>>>(busy, n);
  CK(cudaGetLastError());

  struct sigaction action = {};
  action.sa_handler = recover;
  sigfillset(&action.sa_mask);
  if (sigaction(SIGSEGV, &action, nullptr) != 0) return 1;
  long faults = 0;
  if (sigsetjmp(back, 1) == 0) {
    *(volatile int *)8 = 1;
  } else {
    ++faults;
  }
  Job job = {idle, n};
  pthread_t thread;
  if (pthread_create(&thread, nullptr, blocked, &job) != 0) return 1;
  pthread_join(thread, nullptr);
  long bad = faults != 1;
  for (int i = 0; i < n; ++i) bad += idle[i] != 2 * i;
  CK(cudaDeviceSynchronize());
  for (int i = 0; i < n; ++i) bad += busy[i] != i + 1;
  CK(cudaFree(busy));
  CK(cudaFree(idle));
  return verdict(n, bad);
}
