// A program of the driver's interface. It finds the functions as NVIDIA's runtime does: it opens the library and asks
// the driver for each by name.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

typedef void *Handle;
typedef uint64_t Address;

static int (*get)(const char *, void **, int, uint64_t, int *);

template <typename... Arguments> static int call_with(uint64_t flags, const char *name, Arguments... arguments) {
    void *function = nullptr;
    int found = 0;
    if (get(name, &function, 12040, flags, &found)) {
        printf("%s is not there\n", name);
        exit(9);
    }
    return reinterpret_cast<int (*)(Arguments...)>(function)(arguments...);
}
template <typename... Arguments> static int call(const char *name, Arguments... arguments) {
    return call_with(0, name, arguments...);
}

static void launch(Handle function, Handle stream, Address pointer, int count) {
    void *parameters[] = {&pointer, &count};
    call("cuLaunchKernel", function, 1u, 1u, 1u, 32u, 1u, 1u, 0u, stream, parameters, (void **)nullptr);
}

// Two streams write the same memory; with an event between them when it is wanted.
static void race(bool ordered) {
    Handle stream, other, event;
    Address buffer;
    call("cuMemAlloc", &buffer, (size_t)4096);
    call("cuStreamCreate", &stream, 1u);
    call("cuStreamCreate", &other, 1u);
    call("cuEventCreate", &event, 0u);
    call("cuMemsetD8Async", buffer, (unsigned char)1, (size_t)64, stream);
    call("cuEventRecord", event, stream);
    if (ordered) call("cuStreamWaitEvent", other, event, 0u);
    call("cuMemsetD8Async", buffer + 32, (unsigned char)2, (size_t)64, other); // the later one
    call("cuStreamSynchronize", other);
    call("cuStreamSynchronize", stream);
}

static void work() {
    Handle stream, other, event, function;
    Address buffer;
    void *host;
    call("cuMemAlloc", &buffer, (size_t)4096);
    call("cuMemHostAlloc", &host, (size_t)4096, 0u);
    call("cuStreamCreate", &stream, 1u);
    call("cuStreamCreate", &other, 0u);
    call("cuEventCreate", &event, 0u);
    call("cuModuleGetFunction", &function, (Handle)nullptr, "fill_kernel");
    memset(host, 7, 4096);
    call("cuMemcpyHtoDAsync", buffer, (const void *)host, (size_t)4096, stream);
    for (int turn = 0; turn < 2; ++turn) launch(function, stream, buffer, 5);
    call("cuEventRecord", event, stream);
    call("cuStreamWaitEvent", other, event, 0u);
    call_with(2, "cuMemcpyDtoHAsync", host, buffer, (size_t)100, (Handle)nullptr);
    call("cuStreamQuery", other);
    call("cuEventSynchronize", event);

    Handle graph, executable;
    call("cuStreamBeginCapture", stream, 0);
    call("cuMemsetD8Async", buffer, (unsigned char)3, (size_t)64, stream);
    launch(function, stream, buffer, 6);
    call("cuStreamEndCapture", stream, &graph);
    call("cuGraphInstantiateWithFlags", &executable, graph, 0ull);
    call("cuGraphLaunch", executable, stream);
    call("cuLaunchHostFunc", stream, +[](void *event) { call("cuEventQuery", event); }, event);
    call("cuStreamSynchronize", stream);
    call("cuStreamDestroy", stream);
    const void *table = nullptr;
    call("cuGetExportTable", &table, (const void *)"id");
    printf("first byte %d, future %d, table %d\n", *static_cast<char *>(host), call("cuFutureThing", 4, 2), table != nullptr);
    call("cuMemFree", buffer);
    call("cuMemFreeHost", host);
}

// Default streams and memory of two contexts.
static void contexts() {
    Address first, second;
    Handle stream;
    call("cuCtxSetCurrent", (Handle)0x10);
    call("cuMemAlloc", &first, (size_t)64);
    call("cuMemsetD8Async", first, (unsigned char)1, (size_t)64, (Handle)nullptr);
    call("cuCtxSetCurrent", (Handle)0x20);
    call("cuMemAlloc", &second, (size_t)64);
    call("cuMemsetD8Async", second, (unsigned char)1, (size_t)64, (Handle)nullptr);
    call("cuStreamCreate", &stream, 0u);
    call("cuCtxSynchronize");
    call("cuCtxSetCurrent", (Handle)0x10);
    call("cuMemsetD8Async", first, (unsigned char)1, (size_t)64, (Handle)nullptr);
    call("cuCtxSynchronize");
}

// Values that streams write and wait for.
static void values() {
    Handle stream;
    call("cuStreamCreate", &stream, 1u);
    call("cuStreamWriteValue32", stream, (Address)0x1000, 7u, 0u);
    call("cuStreamWriteValue32", stream, (Address)0x1000, 8u, 1u);
    call("cuStreamWaitValue64", stream, (Address)0x1008, (uint64_t)9, 1u);
    struct {
        int kind;
        Address address;
        uint64_t value;
        unsigned flags;
        uint64_t rest[2];
    } operations[3] = {{1, 0x1000, 1, 0, {}}, {6, 0, 0, 0, {}}, {5, 0x2000, 2, 0, {}}};
    call("cuStreamBatchMemOp", stream, 3u, (void *)operations, 0u);
    // The same in a graph, and with other values in the graph that was made of it.
    struct {
        Handle context;
        unsigned count;
        void *operations;
        unsigned flags;
    } batch = {nullptr, 3, operations, 0};
    Handle graph, executable, node;
    call("cuGraphCreate", &graph, 0u);
    call("cuGraphAddBatchMemOpNode", &node, graph, (const Handle *)nullptr, (size_t)0, (const void *)&batch);
    call("cuGraphInstantiateWithFlags", &executable, graph, (unsigned long long)0);
    call("cuGraphLaunch", executable, stream);
    operations[2].value = 3;
    call("cuGraphExecBatchMemOpNodeSetParams", executable, node, (const void *)&batch);
    call("cuGraphLaunch", executable, stream);
}

int main(int count, char **arguments) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        printf("%s\n", dlerror());
        return 8;
    }
    get = reinterpret_cast<decltype(get)>(dlsym(library, "cuGetProcAddress_v2"));
    auto future = reinterpret_cast<int (*)(int, int)>(dlsym(library, "cuFutureThing"));
    if (!get || !future || future(1, 2) != 1002) return 7;
    const char *how = count > 1 ? arguments[1] : "";
    if (!strcmp(how, "fork")) {
        Address before;
        call("cuMemAlloc", &before, (size_t)64);
        if (!fork()) {
            work();
            return 0;
        }
        int status;
        wait(&status);
        return status;
    }
    if (!strcmp(how, "contexts")) {
        contexts();
        return 0;
    }
    if (!strcmp(how, "values")) {
        values();
        return 0;
    }
    if (!strcmp(how, "race") || !strcmp(how, "ordered")) {
        race(!strcmp(how, "ordered"));
        return 0;
    }
    work();
    if (!strcmp(how, "killed")) {
        fflush(stdout);
        kill(getpid(), SIGKILL);
    }
    if (!strcmp(how, "loop")) {
        Handle stream, function;
        call("cuStreamCreate", &stream, 1u);
        call("cuModuleGetFunction", &function, (Handle)nullptr, "fill_kernel");
        void *launching = nullptr;
        int found, number = 5;
        Address pointer = 64;
        void *parameters[] = {&pointer, &number};
        get("cuLaunchKernel", &launching, 12040, 0, &found);
        auto launch = reinterpret_cast<int (*)(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                               Handle, void **, void **)>(launching);
        for (int turn = atoi(arguments[2]); turn > 0; --turn)
            launch(function, 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr);
    }
    return 0;
}
