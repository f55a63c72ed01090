// Runs small programs with published progress verdicts on a card, in several placements, each launch under a time limit.
//
// usage: card KERNELS NAMES RESULTS SECONDS
//
// KERNELS is a module (PTX or cubin), NAMES lists its kernels, one a line. Until SECONDS are over it goes through all placements
// again and again. A line of RESULTS (tab separated) says for one kernel in one placement how many launches were made, how many
// of them ended in time, how many did not, and how long the slowest that ended took, in microseconds.
//
// A launch that does not end is let out: the programs only compare memory with 0 and 1, so 7 is copied over their memory from
// another stream until it ends. Nothing is added to the programs themselves. Where that does not help, or a call of the driver
// does not come back, the program names the kernels that ran in the file RESULTS.skip and leaves (exit 3), which ends them;
// started again, it leaves those out.

#include <cuda.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

double now()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Placement {
    const char* name;
    unsigned grid; // 0: as many blocks as are resident at once
    unsigned block;
    unsigned stride; // threads of one role that follow each other; 0: half of all
    bool cooperative;
    int tries;    // in one round
    int streams;  // launches of different kernels at the same time
    double limit; // seconds
};

// Cooperative launches are made one at a time, so that none waits for another; and those that fill the card.
const Placement placements[] = {
    {"blocks", 2, 1, 1, false, 200, 16, 0.05},
    {"cooperative", 2, 1, 1, true, 50, 1, 0.05},
    {"lanes", 1, 2, 1, false, 200, 16, 0.05},
    {"warps of a block", 1, 64, 32, false, 200, 16, 0.05},
    {"lanes, a warp in halves", 1, 32, 16, false, 200, 16, 0.05},
    {"cooperative, full in halves", 0, 1, 0, true, 5, 1, 0.05},
    {"blocks, crowd in halves", 16384, 1, 0, false, 5, 1, 0.05},
    {"blocks, crowd", 16384, 1, 1, false, 5, 1, 0.05},
    {"lanes, crowd in halves", 264, 1024, 16, false, 5, 1, 0.05},
    {"cooperative, full", 0, 1, 1, true, 5, 1, 0.05},
};

// A kernel that did not end so often in a placement is not tried there in later rounds.
const int enough_hangs = 3;

// The memory of one instance, as the kernels have it.
const size_t instance_bytes = 128;

struct Slot {
    CUstream stream;
    CUevent before, after;
    CUdeviceptr memory;
    bool busy = false;
    CUfunction kernel;
    std::string name;
    int tries, ended, hung;
    float slowest;
    double begun;
};

struct Card {
    std::map<std::string, CUfunction> kernels;
    CUstream rescue;
    void* zeros;
    void* sevens;
    FILE* results;
    std::string skip;
    double deadline;
    int processors;
    std::set<std::string> done_with;
    std::map<std::string, int> hangs;
    std::vector<Slot> slots;
};

// What the main thread is at, and how often it got on.
std::atomic<const char*> at{"start"};
std::atomic<unsigned long> steps{0};
std::atomic<const Placement*> current{nullptr};

void check(CUresult result, const char* what)
{
    if (result != CUDA_SUCCESS) {
        const char* name = "";
        cuGetErrorName(result, &name);
        std::fprintf(stderr, "%s: %s\n", what, name);
        _exit(2);
    }
}

#define CALL(call) (at = #call, check(call, #call), steps++)

[[noreturn]] void give_up(const Card& card, const char* why)
{
    FILE* skip = std::fopen(card.skip.c_str(), "a");
    for (const Slot& slot : card.slots)
        if (slot.busy && current.load())
            std::fprintf(skip, "%s\t%s\t%s\n", slot.name.c_str(), current.load()->name, why);
    std::fclose(skip);
    std::fprintf(stderr, "given up: %s\n", why);
    _exit(3);
}

void launch(Card& card, Slot& slot, const Placement& placement, unsigned grid, size_t bytes)
{
    unsigned stride = placement.stride ? placement.stride : grid * placement.block / 2;
    void* arguments[] = {&slot.memory, &stride};
    CALL(cuMemcpyHtoDAsync(slot.memory, card.zeros, bytes, slot.stream));
    CALL(cuEventRecord(slot.before, slot.stream));
    if (placement.cooperative)
        CALL(cuLaunchCooperativeKernel(slot.kernel, grid, 1, 1, placement.block, 1, 1, 0, slot.stream, arguments));
    else
        CALL(cuLaunchKernel(slot.kernel, grid, 1, 1, placement.block, 1, 1, 0, slot.stream, arguments, nullptr));
    CALL(cuEventRecord(slot.after, slot.stream));
    slot.begun = now();
}

// Lets a launch out that does not end.
void let_out(Card& card, const Slot& slot, size_t bytes)
{
    double until = now() + 0.5;
    while (now() < until) {
        for (int copy = 0; copy < 16; copy++)
            CALL(cuMemcpyHtoDAsync(slot.memory, card.sevens, bytes, card.rescue));
        CALL(cuStreamSynchronize(card.rescue));
        CUresult state = cuStreamQuery(slot.stream);
        if (state == CUDA_SUCCESS)
            return;
        if (state != CUDA_ERROR_NOT_READY)
            check(state, slot.name.c_str());
    }
    give_up(card, "a launch was not let out");
}

void finish(Card& card, Slot& slot, const Placement& placement)
{
    std::fprintf(card.results, "%s\t%s\t%d\t%d\t%d\t%.1f\n", slot.name.c_str(), placement.name, slot.tries,
                 slot.ended, slot.hung, slot.slowest);
    std::fflush(card.results);
    card.hangs[slot.name + '\t' + placement.name] += slot.hung;
    slot.busy = false;
}

// One look at a slot's launch; the next launch where it has ended.
void look(Card& card, Slot& slot, const Placement& placement, unsigned grid, size_t bytes)
{
    CUresult state = cuStreamQuery(slot.stream);
    if (state == CUDA_ERROR_NOT_READY) {
        steps++;
        if (now() - slot.begun < placement.limit)
            return;
        slot.tries++;
        slot.hung++;
        let_out(card, slot, bytes);
        return finish(card, slot, placement);
    }
    check(state, slot.name.c_str());
    float took = 0;
    CALL(cuEventElapsedTime(&took, slot.before, slot.after));
    slot.slowest = std::max(slot.slowest, took * 1000);
    slot.tries++;
    slot.ended++;
    if (slot.tries == placement.tries)
        finish(card, slot, placement);
    else
        launch(card, slot, placement, grid, bytes);
}

void run(Card& card, const Placement& placement, const std::vector<std::string>& names)
{
    size_t next = 0;
    bool working = true;
    while (working) {
        working = false;
        for (int index = 0; index < placement.streams; index++) {
            Slot& slot = card.slots[index];
            bool fresh = !slot.busy;
            if (fresh) {
                if (next == names.size())
                    continue;
                slot.name = names[next++];
                slot.kernel = card.kernels[slot.name];
                slot.tries = slot.ended = slot.hung = 0;
                slot.slowest = 0;
                slot.busy = true;
            }
            working = true;
            unsigned grid = placement.grid;
            if (grid == 0) {
                int resident = 0;
                CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor(&resident, slot.kernel, placement.block, 0));
                grid = static_cast<unsigned>(resident * card.processors) / 2 * 2;
            }
            size_t bytes = static_cast<size_t>(grid) * placement.block / 2 * instance_bytes;
            if (fresh)
                launch(card, slot, placement, grid, bytes);
            else
                look(card, slot, placement, grid, bytes);
        }
        if (now() > card.deadline) {
            std::fprintf(stderr, "the time is over at %s\n", placement.name);
            _exit(0);
        }
    }
}

// Leaves when a call does not come back.
void watch(const Card& card)
{
    for (unsigned long last = steps;;) {
        std::this_thread::sleep_for(std::chrono::seconds(3));
        if (steps == last)
            give_up(card, at);
        last = steps;
    }
}

} // namespace

int main(int count, char** arguments)
{
    if (count != 5) {
        std::fprintf(stderr, "usage: card KERNELS NAMES RESULTS SECONDS\n");
        return 2;
    }
    // A kernel that is loaded at its first launch waits for the kernels that run.
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1);
    std::vector<std::string> names;
    std::string line;
    std::ifstream list(arguments[2]);
    while (std::getline(list, line))
        names.push_back(line);
    Card card = {};
    card.deadline = now() + std::atof(arguments[4]);
    card.results = std::fopen(arguments[3], "a");
    card.skip = std::string(arguments[3]) + ".skip";
    std::ifstream skip(card.skip);
    while (std::getline(skip, line))
        card.done_with.insert(line.substr(0, line.find('\t', line.find('\t') + 1)));
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CALL(cuInit(0));
    CALL(cuDeviceGet(&device, 0));
    CALL(cuDevicePrimaryCtxRetain(&context, device));
    CALL(cuCtxSetCurrent(context));
    CALL(cuDeviceGetAttribute(&card.processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
    CALL(cuModuleLoad(&module, arguments[1]));
    for (const std::string& name : names)
        CALL(cuModuleGetFunction(&card.kernels[name], module, name.c_str()));
    CALL(cuStreamCreate(&card.rescue, CU_STREAM_NON_BLOCKING));
    // The largest placement has 264 × 1024 threads.
    const size_t most = size_t(264) * 1024 / 2 * instance_bytes;
    CALL(cuMemHostAlloc(&card.zeros, most, 0));
    CALL(cuMemHostAlloc(&card.sevens, most, 0));
    std::fill_n(static_cast<unsigned*>(card.zeros), most / 4, 0u);
    std::fill_n(static_cast<unsigned*>(card.sevens), most / 4, 7u);
    card.slots.resize(16);
    for (Slot& slot : card.slots) {
        CALL(cuStreamCreate(&slot.stream, CU_STREAM_NON_BLOCKING));
        CALL(cuEventCreate(&slot.before, CU_EVENT_DEFAULT));
        CALL(cuEventCreate(&slot.after, CU_EVENT_DEFAULT));
        CALL(cuMemAlloc(&slot.memory, most));
    }
    std::fprintf(stderr, "ready %.1f s before the end\n", card.deadline - now());
    std::thread(watch, std::cref(card)).detach();
    for (int round = 1;; round++) {
        for (const Placement& placement : placements) {
            current = &placement;
            std::vector<std::string> left;
            for (const std::string& name : names) {
                std::string pair = name + '\t' + placement.name;
                if (!card.done_with.count(pair) && card.hangs[pair] < enough_hangs)
                    left.push_back(name);
            }
            double begun = now();
            run(card, placement, left);
            std::fprintf(stderr, "round %d, %s: %zu kernels in %.1f s\n", round, placement.name, left.size(), now() - begun);
        }
    }
}
