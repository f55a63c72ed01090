// A driver without a card: a few functions of the CUDA Driver API that only keep count. Streams run at once.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <thread>
#include <vector>

typedef void *Handle;
typedef uint64_t Address;

namespace {
struct BatchNode {
    Handle context;
    unsigned count;
    void *operations;
    unsigned flags;
};
struct Node {
    int kind;
    Address to;
    size_t width;
    Handle function;
    const void *parameters[2];
    Address pointer;
    int count;
    BatchNode batch;
};
struct Graph {
    std::vector<Node *> nodes;
};
struct Stream {
    unsigned flags;
    Graph *captured;
    Handle last;
};
const int KERNEL = 0, MEMSET = 2, BATCH = 12;
char kernel_name[] = "fill_kernel";

void add(Handle stream, Node *node) {
    Stream *at = static_cast<Stream *>(stream);
    at->captured->nodes.push_back(node);
    at->last = node;
}
bool is_captured(Handle stream) { return stream && static_cast<Stream *>(stream)->captured; }
Handle make(size_t bytes) { return calloc(1, bytes); }
} // namespace

extern "C" {
int cuInit(unsigned) { return 0; }
int cuGetExportTable(const void **table, const void *) {
    static int own;
    *table = &own;
    return 0;
}
// What a library's own thread asks for.
int cuAllocateElsewhere(size_t bytes) {
    typedef int (*Allocate)(Address *, size_t);
    static auto allocate = reinterpret_cast<Allocate>(dlsym(dlopen("libcuda.so.1", RTLD_LAZY), "cuMemAlloc_v2"));
    Address place;
    std::thread([&] { allocate(&place, bytes); }).join();
    return 0;
}
// A function of a newer driver.
int cuFutureThing(int a, int b) { return a * 1000 + b; }

int cuMemAlloc_v2(Address *address, size_t bytes) {
    *address = reinterpret_cast<Address>(make(bytes));
    return 0;
}
int cuMemFree_v2(Address address) {
    free(reinterpret_cast<void *>(address));
    return 0;
}
int cuMemHostAlloc(void **address, size_t bytes, unsigned) {
    *address = make(bytes);
    return 0;
}
int cuMemFreeHost(void *address) {
    free(address);
    return 0;
}
int cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t bytes, Handle) {
    memcpy(reinterpret_cast<void *>(to), from, bytes);
    return 0;
}
int cuMemcpyDtoHAsync_v2(void *to, Address from, size_t bytes, Handle) {
    memcpy(to, reinterpret_cast<void *>(from), bytes);
    return 0;
}
int cuMemcpyDtoHAsync_v2_ptsz(void *to, Address from, size_t bytes, Handle stream) {
    return cuMemcpyDtoHAsync_v2(to, from, bytes, stream);
}
int cuMemsetD8Async(Address to, unsigned char value, size_t bytes, Handle stream) {
    if (is_captured(stream)) {
        add(stream, new Node{MEMSET, to, bytes});
        return 0;
    }
    memset(reinterpret_cast<void *>(to), value, bytes);
    return 0;
}
int cuStreamCreate(Handle *stream, unsigned flags) {
    *stream = make(sizeof(Stream));
    static_cast<Stream *>(*stream)->flags = flags;
    return 0;
}
int cuStreamDestroy_v2(Handle stream) {
    free(stream);
    return 0;
}
// Two devices, with a context each.
static Handle current_context;
int cuDeviceGetCount(int *count) {
    *count = 2;
    return 0;
}
int cuCtxSetCurrent(Handle context) {
    current_context = context;
    return 0;
}
int cuCtxGetCurrent(Handle *context) {
    *context = current_context;
    return 0;
}
int cuStreamWriteValue32_v2(Handle, Address, unsigned, unsigned) { return 0; }
int cuStreamWaitValue64_v2(Handle, Address, uint64_t, unsigned) { return 0; }
int cuStreamBatchMemOp_v2(Handle, unsigned, void *, unsigned) { return 0; }
int cuStreamSynchronize(Handle) { return 0; }
int cuStreamQuery(Handle) { return 600; }
int cuLaunchHostFunc(Handle, void (*function)(void *), void *argument) {
    function(argument);
    return 0;
}
int cuStreamWaitEvent(Handle, Handle, unsigned) { return 0; }
int cuCtxSynchronize() { return 0; }
int cuEventCreate(Handle *event, unsigned) {
    *event = make(8);
    return 0;
}
int cuEventDestroy_v2(Handle event) {
    free(event);
    return 0;
}
int cuEventRecord(Handle, Handle) { return 0; }
int cuEventSynchronize(Handle) { return 0; }
int cuEventQuery(Handle) { return 600; }

int cuModuleGetFunction(Handle *function, Handle, const char *) {
    *function = kernel_name;
    return 0;
}
int cuFuncGetName(const char **name, Handle function) {
    *name = static_cast<const char *>(function);
    return 0;
}
int cuFuncGetParamInfo(Handle, size_t index, size_t *offset, size_t *size) {
    if (index > 1) return 1;
    *offset = index * 8;
    *size = index ? 4 : 8;
    return 0;
}
int cuLaunchKernel(Handle function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle stream,
                   void **parameters, void **) {
    if (is_captured(stream)) {
        Node *node = new Node{KERNEL};
        node->function = function;
        node->pointer = *static_cast<Address *>(parameters[0]);
        node->count = *static_cast<int *>(parameters[1]);
        node->parameters[0] = &node->pointer;
        node->parameters[1] = &node->count;
        add(stream, node);
    }
    return 0;
}

int cuStreamBeginCapture_v2(Handle stream, int) {
    static_cast<Stream *>(stream)->captured = new Graph();
    return 0;
}
int cuStreamGetCaptureInfo_v2(Handle stream, int *status, uint64_t *, Handle *, const Handle **nodes, size_t *count) {
    *status = is_captured(stream);
    if (*status) {
        Stream *at = static_cast<Stream *>(stream);
        *nodes = &at->last;
        *count = at->last ? 1 : 0;
    }
    return 0;
}
int cuStreamEndCapture(Handle stream, Handle *graph) {
    Stream *at = static_cast<Stream *>(stream);
    *graph = at->captured;
    at->captured = nullptr;
    return 0;
}
int cuGraphGetNodes(Handle graph, Handle *nodes, size_t *count) {
    std::vector<Node *> &all = static_cast<Graph *>(graph)->nodes;
    if (nodes) memcpy(nodes, all.data(), all.size() * sizeof(Handle));
    *count = all.size();
    return 0;
}
// One after the other, as one stream captures them.
int cuGraphGetEdges(Handle graph, Handle *from, Handle *to, size_t *count) {
    std::vector<Node *> &all = static_cast<Graph *>(graph)->nodes;
    for (size_t at = 1; from && at < all.size(); ++at) {
        from[at - 1] = all[at - 1];
        to[at - 1] = all[at];
    }
    *count = all.size() - 1;
    return 0;
}
int cuGraphNodeGetType(Handle node, int *kind) {
    *kind = static_cast<Node *>(node)->kind;
    return 0;
}
struct KernelNode {
    Handle function;
    unsigned shape[7];
    const void *const *parameters;
    Handle extra, kernel, context;
};
int cuGraphKernelNodeGetParams_v2(Handle node, KernelNode *into) {
    Node *from = static_cast<Node *>(node);
    *into = KernelNode{from->function, {1, 1, 1, 32, 1, 1, 0}, from->parameters};
    return 0;
}
struct MemsetNode {
    Address to;
    size_t pitch;
    unsigned value, element;
    size_t width, height;
};
int cuGraphMemsetNodeGetParams(Handle node, MemsetNode *into) {
    Node *from = static_cast<Node *>(node);
    *into = MemsetNode{from->to, 0, 0, 1, from->width, 1};
    return 0;
}
// Graphs that are built here hold such nodes only.
int cuGraphCreate(Handle *graph, unsigned) {
    *graph = new Graph();
    return 0;
}
int cuGraphAddBatchMemOpNode(Handle *place, Handle graph, const Handle *, size_t, const BatchNode *params) {
    Node *node = new Node{BATCH};
    node->batch = *params;
    static_cast<Graph *>(graph)->nodes.push_back(node);
    *place = node;
    return 0;
}
int cuGraphBatchMemOpNodeGetParams(Handle node, BatchNode *into) {
    *into = static_cast<Node *>(node)->batch;
    return 0;
}
int cuGraphExecBatchMemOpNodeSetParams(Handle, Handle, const BatchNode *) { return 0; }
int cuGraphInstantiateWithFlags(Handle *executable, Handle, unsigned long long) {
    *executable = make(8);
    return 0;
}
int cuGraphLaunch(Handle, Handle) { return 0; }

// Gives the newest version of a function, as exported, whatever version is asked for.
int cuGetProcAddress_v2(const char *symbol, void **function, int, uint64_t flags, int *) {
    char name[100];
    const char *forms[] = {"_v2_ptsz", "_ptsz", "_v2", ""};
    for (int form = flags & 2 ? 0 : 2; form < 4; ++form) {
        strcpy(name, symbol);
        strcat(name, forms[form]);
        // RTLD_DEFAULT would find the functions that stand before these.
        static Handle self = dlopen("libcuda-real.so", RTLD_LAZY | RTLD_NOLOAD);
        if ((*function = dlsym(self, name))) return 0;
    }
    return 500;
}
}
