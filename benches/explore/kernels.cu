// Each thread adds to one counter COUNT times: by a compare-and-swap loop, and behind a spin lock.
extern "C" __global__ void counter(unsigned *counter, int count) {
  for (int i = 0; i < count; ++i) {
    unsigned old = *(volatile unsigned *)counter, seen;
    while ((seen = atomicCAS(counter, old, old + 1)) != old) old = seen;
  }
}
extern "C" __global__ void lock(int *lock, volatile int *counter, int count) {
  for (int i = 0; i < count; ++i) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
    *counter = *counter + 1;
    __threadfence();
    atomicExch(lock, 0);
  }
}
