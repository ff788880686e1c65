// The matrix units, barriers and copies as functions.
#define DYNAMIC_SHARED(type, name) type *name = (type *)emulated_shared

static inline void after_previous() {}
static inline u16 float_to_bf16(float value) {
    u32 bits;
    memcpy(&bits, &value, 4);
    return (u16)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
static inline u32 pack_bf16(float low, float high) { return float_to_bf16(low) | (u32)float_to_bf16(high) << 16; }
static inline float fast_tanh(float x) { return tanhf(x); }
static float rounded(float x) { // to TF32
    u32 bits;
    memcpy(&bits, &x, 4);
    bits = (bits + 0x1000) & ~0x1fffu;
    return __uint_as_float(bits);
}
static float fragments[1024][6];
static void mma_tf32(float *sum, const float *a, const float *b) {
    int self = threadIdx.x, base = self & ~31, lane = self & 31;
    for (int i = 0; i < 4; i++) fragments[self][i] = rounded(a[i]);
    for (int i = 0; i < 2; i++) fragments[self][4 + i] = rounded(b[i]);
    __syncwarp();
    for (int e = 0; e < 4; e++) {
        int row = lane / 4 + (e / 2) * 8, column = 2 * (lane % 4) + e % 2;
        for (int k = 0; k < 8; k++)
            sum[e] += fragments[base + (row % 8) * 4 + k % 4][row / 8 + (k / 4) * 2] *
                      fragments[base + column * 4 + k % 4][4 + k / 4];
    }
    __syncwarp();
}
#if BF16
static u32 shared_address(const void *p) { return (u32)((const u8 *)p - emulated_shared); }
struct Barrier { u16 phase, pending; u8 count, spare; short sign; };
static std::map<u32, long> outstanding;
static Barrier *barrier_at(u32 a) { return (Barrier *)(emulated_shared + a); }
static void complete(u32 a) {
    Barrier *b = barrier_at(a);
    if (b->pending == 0 && outstanding[a] == 0) { b->phase ^= 1; b->pending = b->count; progress = true; }
}
static void barrier_init(u32 a, u32 n) { *barrier_at(a) = Barrier{0, (u16)n, (u8)n, 0, 0}; outstanding[a] = 0; }
static void barriers_ready() {}
static void barrier_expect(u32 a, u32 bytes) { outstanding[a] += bytes; barrier_at(a)->pending--; complete(a); }
static void barrier_arrive(u32 a) { barrier_at(a)->pending--; complete(a); }
static void barrier_wait(u32 a, u32 parity) { while (barrier_at(a)->phase == parity) yield_(); }
static void bulk_copy(u32 to, const void *from, u32 bytes, u32 a) {
    if (((size_t)from | to | bytes) & 15) { fprintf(stderr, "copy not of 16 bytes\n"); abort(); }
    memcpy(emulated_shared + to, from, bytes);
    outstanding[a] -= bytes;
    complete(a);
}
static void fence_async() {}
static void named_barrier(int id, int threads) { meet(1000 + id, threads); }
static void wgmma_fence() {}
static void wgmma_commit() {}
template <int LEFT> static void wgmma_wait() { meet(2000 + threadIdx.x / 128, 128); }
template <int N> static void keep(float (&)[N]) {}
template <int N> static void keep(u32 (&)[N]) {}
static float operand(u64 desc, int transposed, int outer, int inner) {
    u32 start = (desc & 0x3fff) << 4, lbo = ((desc >> 16) & 0x3fff) << 4, sbo = ((desc >> 32) & 0x3fff) << 4;
    u32 at = transposed ? start + outer / 64 * lbo + inner / 8 * sbo + inner % 8 * 128 + outer % 64 * 2
                        : start + outer / 8 * sbo + outer % 8 * 128 + inner * 2;
    at ^= ((at >> 7) & 7) << 4;
    return bf16_to_float(*(u16 *)(emulated_shared + at));
}
template <int N> static void emulated_ss(float (&d)[N / 2], u64 a, u64 b, int ta, int tb, int add) {
    int lane = threadIdx.x & 31, warp = threadIdx.x / 32 % 4;
    float left[2][16];
    for (int h = 0; h < 2; h++)
        for (int k = 0; k < 16; k++) left[h][k] = operand(a, ta, warp * 16 + lane / 4 + 8 * h, k);
    for (int i = 0; i < N / 2; i++) {
        int column = i / 4 * 8 + 2 * (lane % 4) + i % 2;
        float sum = add ? d[i] : 0;
        for (int k = 0; k < 16; k++) sum += left[i / 2 % 2][k] * operand(b, tb, column, k);
        d[i] = sum;
    }
}
static u32 lefts[1024][4];
template <int N>
static void emulated_rs(float (&d)[N / 2], u32 a0, u32 a1, u32 a2, u32 a3, u64 b, int tb, int add) {
    int self = threadIdx.x, lane = self & 31, quad = self & ~3;
    u32 *own = lefts[self];
    own[0] = a0, own[1] = a1, own[2] = a2, own[3] = a3;
    __syncwarp();
    for (int i = 0; i < N / 2; i++) {
        int column = i / 4 * 8 + 2 * (lane % 4) + i % 2, h = i / 2 % 2;
        float sum = add ? d[i] : 0;
        for (int k = 0; k < 16; k++) {
            u32 pair = lefts[quad + k % 8 / 2][h + k / 8 * 2];
            sum += bf16_to_float(k % 2 ? pair >> 16 : pair & 0xffff) * operand(b, tb, column, k);
        }
        d[i] = sum;
    }
    __syncwarp();
}
#endif
