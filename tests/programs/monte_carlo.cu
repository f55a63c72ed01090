// Monte Carlo with a generator of its own in each thread: points in a circle, and the price of an option.
#include "program.h"

struct Generator {
  unsigned long long state, increment;
  __host__ __device__ Generator(unsigned seed, unsigned sequence)
      : state(seed * 0x9e3779b97f4a7c15ull), increment(2ull * sequence + 1) {
    next();
  }
  __host__ __device__ unsigned next() {
    unsigned long long old = state;
    state = old * 6364136223846793005ull + increment;
    unsigned mixed = (unsigned)(((old >> 18) ^ old) >> 27), turn = (unsigned)(old >> 59);
    return (mixed >> turn) | (mixed << ((32 - turn) & 31));
  }
};

// Walks of whole numbers, so that the order of additions does not matter.
__host__ __device__ void sample(unsigned thread, int tries, unsigned &inside, unsigned long long &payoff) {
  Generator generator(42, thread);
  for (int k = 0; k < tries; ++k) {
    unsigned x = generator.next() >> 17, y = generator.next() >> 17;
    inside += x * x + y * y < (1u << 30);
    int price = 100;
    for (unsigned bits = generator.next(), day = 0; day < 30; ++day) price += (bits >> day) & 1 ? 2 : -2;
    payoff += price > 104 ? price - 104 : 0;
  }
}

__global__ void simulate(int tries, unsigned *inside, unsigned long long *payoff) {
  unsigned mine = 0;
  unsigned long long sum = 0;
  sample(blockIdx.x * blockDim.x + threadIdx.x, tries, mine, sum);
  mine = __reduce_add_sync(0xffffffffu, mine);
  if (threadIdx.x % 32 == 0) atomicAdd(inside, mine);
  atomicAdd(payoff, sum);
}

int main() {
  const int blocks = 16, threads = 128, tries = 50;
  Buffer<unsigned> inside(1);
  Buffer<unsigned long long> payoff(1);
  inside.clear();
  payoff.clear();
  simulate<<<blocks, threads>>>(tries, inside.pointer, payoff.pointer);
  after_launch();
  unsigned want_inside = 0;
  unsigned long long want_payoff = 0;
  for (unsigned t = 0; t < blocks * threads; ++t) sample(t, tries, want_inside, want_payoff);
  std::vector<unsigned> got_inside = inside.read();
  std::vector<unsigned long long> got_payoff = payoff.read();
  double samples = (double)blocks * threads * tries;
  std::printf("pi %.4f, option %.4f\n", 4.0 * got_inside[0] / samples, got_payoff[0] / samples);
  return report("monte_carlo", 2, (got_inside[0] != want_inside) + (got_payoff[0] != want_payoff),
                checksum(got_inside) ^ checksum(got_payoff));
}
