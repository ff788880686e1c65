// Runs CUDA kernels on a processor, for tests: a block at a time, a fiber a thread.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <ucontext.h>
#include <vector>

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static
#define __restrict__

struct float2 { float x, y; };
struct float4 { float x, y, z, w; };
struct uint2 { unsigned x, y; };
struct uint4 { unsigned x, y, z, w; };
struct dim3_ { int x, y, z; };
static inline float2 make_float2(float x, float y) { return {x, y}; }
static inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
static inline float __uint_as_float(unsigned bits) { float v; memcpy(&v, &bits, 4); return v; }
static inline int min(int a, int b) { return a < b ? a : b; }
static inline int max(int a, int b) { return a > b ? a : b; }
static inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
#define __expf expf
#define __logf logf
static inline int atomicAdd(int *p, int v) { int old = *p; *p += v; return old; }
static inline void __trap() { fprintf(stderr, "trap\n"); abort(); }

static dim3_ blockIdx, gridDim, blockDim;
static struct { int x; } threadIdx;
static unsigned char *emulated_shared;

struct Fiber {
    ucontext_t context;
    std::vector<char> stack;
    bool done;
};
static std::vector<Fiber> fibers;
static ucontext_t scheduler;
static int running;
static long idle_rounds;
static bool progress;

static void yield_() {
    int self = running;
    swapcontext(&fibers[self].context, &scheduler);
    threadIdx.x = self;
}

// A barrier of `count` threads: the last one opens it for all.
struct Meeting { int arrived = 0; long generation = 0; };
static std::map<int, Meeting> meetings;
static void meet(int id, int count) {
    Meeting &m = meetings[id];
    long generation = m.generation;
    if (++m.arrived == count) { m.arrived = 0; m.generation++; progress = true; return; }
    while (m.generation == generation) yield_();
}
static inline void __syncthreads() { meet(0, blockDim.x); }
static inline void __syncwarp() { meet(100 + threadIdx.x / 32, 32); }
static unsigned exchange_[1024];
template <typename T> static inline T shuffle_(T v, int from) {
    int base = threadIdx.x & ~31;
    memcpy(&exchange_[threadIdx.x], &v, 4);
    __syncwarp();
    T got;
    memcpy(&got, &exchange_[base + (from & 31)], 4);
    __syncwarp();
    return got;
}
template <typename T> static inline T __shfl_xor_sync(unsigned, T v, int offset) {
    return shuffle_(v, (threadIdx.x & 31) ^ offset);
}
template <typename T> static inline T __shfl_sync(unsigned, T v, int from) { return shuffle_(v, from); }
#define __align__(n) __attribute__((aligned(n)))
