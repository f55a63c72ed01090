// Any atomic update by a compare-and-swap loop: four threads multiply one slot by 2, 3, 5 and 7.
//
// Whatever the interleaving, the loop gives 210. A plain read, multiply and store loses what others
// wrote between its read and its store.
//
//   atomic_update            the loop, in three orders
//   atomic_update faulty     the plain read-modify-write: MISMATCH, exit code 1
#include "common.h"

constexpr int THREADS = 4;
__constant__ int factors[THREADS] = {2, 3, 5, 7};

struct Attempt {
  int expected, found, stored;
};

// Turns of a delayed interleaving: thread 0 reads first and stores last.
__device__ int read_turn(bool delayed, int thread) { return delayed ? (thread == 0 ? 0 : 1 + (thread - 1)) : thread; }

__global__ void multiply(int *slot, int *clock, bool delayed, bool faulty, Attempt *first, int *retries) {
  int thread = blockIdx.x;
  await_turn(clock, read_turn(delayed, thread));
  int old = atomicAdd(slot, 0);
  if (delayed && thread == 0) {
    end_turn(clock);
    await_turn(clock, THREADS);
  }
  if (faulty) {
    atomicExch(slot, old * factors[thread]);
    first[thread] = {old, old, old * factors[thread]};
  } else {
    for (int turn = 0;; ++turn) {
      int expected = old;
      old = atomicCAS(slot, expected, expected * factors[thread]);
      if (turn == 0) first[thread] = {expected, old, expected * factors[thread]};
      if (old == expected) break;
      ++retries[thread];
    }
  }
  end_turn(clock);
}

struct Run {
  int result;
  Attempt first[THREADS];
  int retries[THREADS];
};

static Run run(bool turns, bool delayed, bool faulty) {
  Run out{};
  int start[1] = {1}, zero[1] = {0}, result[1];
  OnDevice<int, 1> slot(start), clock(zero);
  OnDevice<Attempt, THREADS> first(out.first);
  OnDevice<int, THREADS> retries(out.retries);
  multiply<<<THREADS, 1>>>(slot.pointer, turns ? clock.pointer : nullptr, delayed, faulty, first.pointer,
                           retries.pointer);
  finish_launch();
  slot.read(result);
  first.read(out.first);
  retries.read(out.retries);
  out.result = result[0];
  return out;
}

static int on_the_cpu() {
  int product = 1;
  for (int factor : {2, 3, 5, 7}) product *= factor;
  return product;
}

int main(int argc, char **argv) {
  bool faulty = asked_for(argc, argv, "faulty");
  int exit_code = 0, want = on_the_cpu();
  std::printf("on the CPU: %d\n", want);

  Run in_order = run(true, false, faulty);
  std::printf("in order:");
  bool every_first_wins = true;
  for (int t = 0; t < THREADS; ++t) {
    std::printf(" %d", in_order.first[t].stored);
    every_first_wins &= in_order.first[t].found == in_order.first[t].expected;
  }
  std::printf("\n");
  verdict("in order", in_order.result == want && every_first_wins, exit_code);

  Run delayed = run(true, true, faulty);
  std::printf("thread 0 delayed: expected %d, found %d, retries %d, result %d\n", delayed.first[0].expected,
              delayed.first[0].found, delayed.retries[0], delayed.result);
  verdict("thread 0 delayed after its read", delayed.result == want && delayed.retries[0] == 1, exit_code);

  Run free_order = run(false, false, faulty);
  std::printf("any order: %d\n", free_order.result);
  if (!faulty) verdict("any order", free_order.result == want, exit_code);
  return exit_code;
}
