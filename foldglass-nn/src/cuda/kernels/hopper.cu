// The MLP on bf16 matrix units (wgmma), up-projection, GELU and down-projection in one pass.
//
// Operands are tiles of 64 by 64 (common.cu). A descriptor gives the tile's address; the inner
// index runs along the rows' 128 bytes (desc_k; 16 numbers on are 32 bytes), or from row to row
// (desc_mn; 16 rows on are 2,048 bytes, 64 columns on are `stride` bytes).
//
// A product leaves 64 rows by N columns with the 128 threads of a warpgroup. Of the 16 rows of a
// warp, lane 4 g + q has rows g and g + 8, and of every 8 columns the two from 2 q on:
//
//     column     8 i + 2 q    8 i + 2 q + 1
//     row g      d[4 i]       d[4 i + 1]
//     row g + 8  d[4 i + 2]   d[4 i + 3]
//
// Rounded to pairs of bf16, that is the left operand of the next product, 16 columns deep a step.
//
// Up to 64 features (a vocabulary of 8) are one tile, and the backward pass is FUSED: what the MLP
// returns to the features and to the up-projection's table is computed where it arises. More are
// TILES tiles; then its gradient goes through memory to hopper_stream.

#define FEATURE_STEPS ((K + 15) / 16)
#define CHUNKS (FF / 64)
#define DOWN_BYTES (64 * D * 2)  // the down-projection's rows of 64 hidden units
#define TILE_BYTES (64 * 64 * 2)
#define UP_BYTES (TILES * TILE_BYTES) // the up-projection's
#define STREAM_BYTES (64 * D * 2)     // 64 rows of the stream, or 64 features of its table
#if FUSED
#define F_COLUMNS 48 // of a product over features
#define wgmma_features_ss_00 wgmma_48_ss_00
#define wgmma_features_ss_11 wgmma_48_ss_11
#else
#define F_COLUMNS 64
#define wgmma_features_ss_00 wgmma_64_ss_00
#define wgmma_features_ss_11 wgmma_64_ss_11
#endif

__device__ __forceinline__ u64 desc_k(u32 address) {
    return (u64)((address & 0x3FFFF) >> 4) | (1ull << 16) | (64ull << 32) | (1ull << 62);
}
__device__ __forceinline__ u64 desc_mn(u32 address, u32 stride) {
    return (u64)((address & 0x3FFFF) >> 4) | ((u64)(stride >> 4) << 16) | (64ull << 32) | (1ull << 62);
}

// The 16 inner numbers of step `ks` of a matrix of tiles side by side, `next` bytes apart.
__device__ __forceinline__ u32 inner_at(u32 address, int ks, u32 next) {
    return address + (ks / 4) * next + (ks % 4) * 32;
}

// Where a thread stands in its warpgroup.
struct Lane {
    int group, warp, lane, g, q;
};
__device__ __forceinline__ Lane lane_of() {
    int lane = threadIdx.x & 31;
    return Lane{(int)threadIdx.x >> 7, ((int)threadIdx.x >> 5) & 3, lane, lane >> 2, lane & 3};
}

// The sum over the four lanes of a quad.
__device__ __forceinline__ float quad_sum(float value) {
    value += __shfl_xor_sync(~0u, value, 1);
    return value + __shfl_xor_sync(~0u, value, 2);
}

// Phi(u) by a tanh of a fitted polynomial; gelu is off by at most 3e-5, below bf16's rounding.
__device__ __forceinline__ float fast_below(float u) {
    float s = fminf(u * u, 16.0f);
    return 0.5f + 0.5f * fast_tanh(u * (0.79750554f + s * (0.03700781f - 0.00035169805f * s)));
}

// The same, and the slope of gelu: Phi(u) + u Phi'(u), with the derivative of the fit.
__device__ __forceinline__ float2 fast_below_and_slope(float u) {
    float s = fminf(u * u, 16.0f);
    float t = fast_tanh(u * (0.79750554f + s * (0.03700781f - 0.00035169805f * s)));
    float rise = 0.79750554f + s * (3 * 0.03700781f - 5 * 0.00035169805f * s);
    float below = 0.5f + 0.5f * t;
    return make_float2(below, below + u * (0.5f - 0.5f * t * t) * rise);
}

// h = gelu(r u) of 64 rows by 64 hidden units, as the left operand of the next product.
__device__ __forceinline__ void activated(const float (&u)[32], float scale1, float scale2, u32 (&h)[16]) {
#pragma unroll
    for (int i = 0; i < 16; i++) {
        float scale = i & 1 ? scale2 : scale1; // rows g and g + 8 in turn
        float one = u[2 * i] * scale, two = u[2 * i + 1] * scale;
        h[i] = pack_bf16(one * fast_below(one), two * fast_below(two));
    }
}

// Exchanges what the four lanes of a quad hold, as a transposition: afterwards lane i has the i-th
// number of every lane, in the order of the lanes.
__device__ __forceinline__ uint4 across_quad(u32 a, u32 b, u32 c, u32 d) {
    bool odd = threadIdx.x & 1, high = threadIdx.x & 2;
    u32 one = __shfl_xor_sync(~0u, odd ? a : b, 1), two = __shfl_xor_sync(~0u, odd ? c : d, 1);
    a = odd ? one : a, b = odd ? b : one, c = odd ? two : c, d = odd ? d : two;
    one = __shfl_xor_sync(~0u, high ? a : c, 2), two = __shfl_xor_sync(~0u, high ? b : d, 2);
    return make_uint4(high ? one : a, high ? two : b, high ? c : one, high ? d : two);
}

// The copy of the down-projection in bf16 tiles; Adam keeps it up to date.
extern "C" __global__ void table_down(const Fleet p, const Call c) {
    after_previous();
    int r = blockIdx.y;
    const float *from = p.weights + (size_t)r * P + O_DOWN;
    u16 *to = p.down_tiles + (size_t)r * FF * D;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < FF * D; i += gridDim.x * blockDim.x)
        to[(i / D / 64) * (64 * D) + tile_place(i / D % 64, i % D)] = float_to_bf16(from[i]);
}

// A ring of stages in shared memory that one thread fills ahead of use. `empty` counts the warps that
// are done with a stage.
__device__ __forceinline__ void ring_init(u32 full, u32 empty, int stages, int warps) {
    for (int i = 0; i < stages; i++) {
        barrier_init(full + 8 * i, 1);
        barrier_init(empty + 8 * i, warps);
    }
}

__device__ __forceinline__ void forward_load(const Fleet &p, int r, int chunk, u32 base) {
    int stage = chunk % FORWARD_STAGES;
    u32 to = base + stage * FORWARD_STAGE, full = base + FORWARD_BARRIERS + 8 * stage;
    size_t from = (size_t)r * CHUNKS + chunk;
    barrier_expect(full, FORWARD_STAGE);
    bulk_copy(to, p.down_tiles + from * 64 * D, DOWN_BYTES, full);
    bulk_copy(to + DOWN_BYTES, p.up_tiles + from * TILES * 4096, UP_BYTES, full);
}

// The features of the block's rows, which may begin anywhere in their tiles.
__device__ __forceinline__ void forward_features(const Fleet &p, u8 *smem, size_t first, int valid) {
    for (int i = threadIdx.x; i < 128 * 8 * TILES; i += 256) {
        int row = i / (8 * TILES), piece = i % (8 * TILES);
        uint4 value = make_uint4(0, 0, 0, 0);
        if (row < valid) value = ((const uint4 *)p.features)[feature_piece(first + row, piece)];
        ((uint4 *)(smem + FORWARD_FEATURES))[feature_piece(row, piece)] = value;
    }
}

// u = f (M g2 U) of one chunk.
__device__ __forceinline__ void up_product(float (&u)[32], u32 features, u32 up) {
#pragma unroll
    for (int ks = 0; ks < FEATURE_STEPS; ks++)
        wgmma_64_ss_00(u, desc_k(inner_at(features, ks, TILE_BYTES)), desc_k(inner_at(up, ks, TILE_BYTES)), ks > 0);
}

// One over the norms of a thread's two rows.
__device__ __forceinline__ float2 norm_scales(const float (&o)[128]) {
    float sum1 = 0, sum2 = 0, square1 = 0, square2 = 0;
#pragma unroll
    for (int i = 0; i < 128; i += 4) {
        sum1 += o[i] + o[i + 1];
        square1 += o[i] * o[i] + o[i + 1] * o[i + 1];
        sum2 += o[i + 2] + o[i + 3];
        square2 += o[i + 2] * o[i + 2] + o[i + 3] * o[i + 3];
    }
    sum1 = quad_sum(sum1), sum2 = quad_sum(sum2), square1 = quad_sum(square1), square2 = quad_sum(square2);
    float mean1 = LAYER ? sum1 / D : 0.0f, mean2 = LAYER ? sum2 / D : 0.0f;
    return make_float2(rsqrtf(square1 / D - mean1 * mean1 + EPSILON), rsqrtf(square2 / D - mean2 * mean2 + EPSILON));
}

// The same of the last norm; takes the means off where it has any.
__device__ __forceinline__ float2 centred_scales(float (&o)[128]) {
    float sum1 = 0, sum2 = 0, square1 = 0, square2 = 0;
#pragma unroll
    for (int i = 0; i < 128; i += 4) {
        sum1 += o[i] + o[i + 1];
        sum2 += o[i + 2] + o[i + 3];
    }
    sum1 = quad_sum(sum1), sum2 = quad_sum(sum2);
    float mean1 = LAYER ? sum1 / D : 0.0f, mean2 = LAYER ? sum2 / D : 0.0f;
#pragma unroll
    for (int i = 0; i < 128; i += 4) {
        o[i] -= mean1;
        o[i + 1] -= mean1;
        o[i + 2] -= mean2;
        o[i + 3] -= mean2;
        square1 += o[i] * o[i] + o[i + 1] * o[i + 1];
        square2 += o[i + 2] * o[i + 2] + o[i + 3] * o[i + 3];
    }
    return make_float2(rsqrtf(quad_sum(square1) / D + EPSILON), rsqrtf(quad_sum(square2) / D + EPSILON));
}

// o += gelu(f (M g2 U)) times the down-projection, chunk by chunk. The up-projection of the next
// chunk runs ahead of the down-projection of this one, and its GELU beside it.
__device__ __forceinline__ void forward_mlp(const Fleet &p, int r, float (&o)[128], u32 base, u32 features,
                                            float2 scale, int lane) {
    const int behind = FORWARD_STAGES > 2; // a stage is filled again one chunk late, where there is room for it
    u32 full = base + FORWARD_BARRIERS, empty = full + 8 * FORWARD_STAGES;
    float u[32];
    u32 h[16];
    barrier_wait(full, 0);
    wgmma_fence();
    up_product(u, features, base + DOWN_BYTES);
    wgmma_commit();
    wgmma_wait<0>();
    keep(u);
    activated(u, scale.x, scale.y, h);
#pragma unroll 1
    for (int chunk = 0; chunk < CHUNKS; chunk++) {
        int stage = chunk % FORWARD_STAGES, next = (chunk + 1) % FORWARD_STAGES, old = chunk - behind;
        bool more = chunk + 1 < CHUNKS;
        if (more) barrier_wait(full + 8 * next, ((chunk + 1) / FORWARD_STAGES) & 1);
        keep(h);
        keep(u);
        wgmma_fence();
        if (more) up_product(u, features, base + next * FORWARD_STAGE + DOWN_BYTES);
        wgmma_commit();
#pragma unroll
        for (int ks = 0; ks < 4; ks++)
            wgmma_256_rs_1(o, h[4 * ks], h[4 * ks + 1], h[4 * ks + 2], h[4 * ks + 3],
                           desc_mn(base + stage * FORWARD_STAGE + 2048 * ks, 8192), 1);
        wgmma_commit();
        wgmma_wait<1>();
        keep(u);
        u32 following[16];
        activated(u, scale.x, scale.y, following);
        wgmma_wait<0>();
        keep(o);
        keep(h);
#pragma unroll
        for (int i = 0; i < 16; i++) h[i] = following[i];
        if (lane == 0) barrier_arrive(empty + 8 * stage);
        if (threadIdx.x == 0 && old >= 0 && old + FORWARD_STAGES < CHUNKS) {
            barrier_wait(empty + 8 * (old % FORWARD_STAGES), (old / FORWARD_STAGES) & 1);
            forward_load(p, r, old + FORWARD_STAGES, base);
        }
        __syncwarp();
    }
}

// The head's product: `logit` as every product leaves it (above), and the stream itself in pairs of bf16.
__device__ __forceinline__ void head_logits(const float (&o)[128], u32 (&packed)[64], float (&logit)[V / 2],
                                                u32 table) {
#pragma unroll
    for (int i = 0; i < 64; i++) packed[i] = pack_bf16(o[2 * i], o[2 * i + 1]);
    keep(packed);
    wgmma_fence();
#pragma unroll
    for (int ks = 0; ks < 16; ks++)
        wgmma_logits(logit, packed[4 * ks], packed[4 * ks + 1], packed[4 * ks + 2], packed[4 * ks + 3],
                     desc_k(inner_at(table, ks, 128 * V)), ks > 0);
    wgmma_commit();
    wgmma_wait<0>();
    keep(logit);
    keep(packed);
}

// Writes the stream of rows g and g + 8 of a warp, 64 bytes of a row at once.
__device__ __forceinline__ void write_out(u16 *row, const u32 (&packed)[64], bool one_valid, bool two_valid, int q) {
#pragma unroll
    for (int i = 0; i < 64; i += 8) { // 32 columns
        uint4 one = across_quad(packed[i], packed[i + 2], packed[i + 4], packed[i + 6]);
        uint4 two = across_quad(packed[i + 1], packed[i + 3], packed[i + 5], packed[i + 7]);
        if (one_valid) *(uint4 *)(row + 4 * i + 8 * q) = one;
        if (two_valid) *(uint4 *)(row + 8 * D + 4 * i + 8 * q) = two;
    }
}

// 128 rows of a step a block, a warpgroup for each half: features to tokens.
extern "C" __global__ void __launch_bounds__(256, 1) hopper_forward(const Fleet p, const Call c) {
    after_previous();
    int r = p.order[blockIdx.y], tile = blockIdx.x;
    Rows rows = rows_of(p, r, c.t);
    if (tile * 128 >= rows.count) return;
    DYNAMIC_SHARED(u8, smem);
    u32 base = shared_address(smem);
    if (base & 1023) __trap();
    u32 full = base + FORWARD_BARRIERS, empty = full + 8 * FORWARD_STAGES;
    u32 ready = empty + 8 * FORWARD_STAGES;
    int valid = min(128, rows.count - tile * 128), first = rows.first + tile * 128;
    if (threadIdx.x == 0) {
        ring_init(full, empty, FORWARD_STAGES, valid > 64 ? 8 : 4);
        barrier_init(ready, 1);
        barriers_ready();
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        barrier_expect(ready, TILES * STREAM_BYTES + 2 * D * V);
        bulk_copy(base + FORWARD_STREAM, p.stream_tiles + (size_t)r * TILES * 64 * D, TILES * STREAM_BYTES, ready);
        bulk_copy(base + FORWARD_LOGIT, p.logit_tiles + (size_t)r * V * D, 2 * D * V, ready);
        for (int i = 0; i < FORWARD_EARLY; i++) forward_load(p, r, i, base);
    }
    forward_features(p, smem, (size_t)r * NT + first, valid);
    fence_async();
    __syncthreads();
    Lane at = lane_of();
    if (at.group == 1 && valid <= 64) return; // no rows of its own
    int row1 = at.group * 64 + at.warp * 16 + at.g;
    u32 features = base + FORWARD_FEATURES + at.group * TILES * TILE_BYTES;
    float o[128];
    barrier_wait(ready, 0);
    wgmma_fence();
#pragma unroll
    for (int ks = 0; ks < FEATURE_STEPS; ks++)
        wgmma_256_ss_01(o, desc_k(inner_at(features, ks, TILE_BYTES)),
                        desc_mn(base + FORWARD_STREAM + (ks / 4) * STREAM_BYTES + (ks % 4) * 2048, 8192), ks > 0);
    wgmma_commit();
    wgmma_wait<0>();
    keep(o);
    if (FORWARD_EARLY < FORWARD_STAGES) { // stages that lie where the stream's table was
        named_barrier(1, valid > 64 ? 256 : 128);
        if (threadIdx.x == 0)
            for (int i = FORWARD_EARLY; i < FORWARD_STAGES; i++) forward_load(p, r, i, base);
    }
    float2 scale = norm_scales(o);
    size_t line = (size_t)r * NT + first + row1;
    if (at.q == 0 && row1 < valid) p.scale2[line] = scale.x;
    if (at.q == 0 && row1 + 8 < valid) p.scale2[line + 8] = scale.y;
    forward_mlp(p, r, o, base, features, scale, at.lane);
    scale = centred_scales(o);
    float logit[V / 2];
    u32 packed[64];
    head_logits(o, packed, logit, base + FORWARD_LOGIT);
    write_out((u16 *)p.out + line * D, packed, row1 < valid, row1 + 8 < valid, at.q);
    // Of a quad the first two lanes take a row's logits each.
    float logits[V];
#pragma unroll
    for (int i = 0; i < V / 2; i += 4)
#pragma unroll
        for (int s = 0; s < 4; s++) {
            int from = (at.lane & ~3) + s;
            float a = __shfl_sync(~0u, logit[i], from), b = __shfl_sync(~0u, logit[i + 1], from);
            float d = __shfl_sync(~0u, logit[i + 2], from), e = __shfl_sync(~0u, logit[i + 3], from);
            logits[2 * i + 2 * s] = at.q == 1 ? d * scale.y : a * scale.x;
            logits[2 * i + 2 * s + 1] = at.q == 1 ? e * scale.y : b * scale.x;
        }
    int local = at.q == 1 ? row1 + 8 : row1;
    if (at.q < 2 && local < valid) {
        int row = first + local, t = c.t ? c.t : step_of(p, r, row);
        p.scale3[(size_t)r * NT + row] = at.q == 1 ? scale.y : scale.x;
        emit(p, c, r, row - p.starts[r * (CAP + 1) + t - 1], t, row, logits);
    }
}

__device__ __forceinline__ void backward_load(const Fleet &p, int r, int tile, int stage, u32 base) {
    u32 to = base + BACKWARD_ROWS + stage * BACKWARD_STAGE, full = base + BACKWARD_BARRIERS + 8 * stage;
    barrier_expect(full, STREAM_BYTES + UP_BYTES + 256);
    size_t row = (size_t)r * NT + tile * 64;
    bulk_copy(to, (const u16 *)p.d_out + row * D, STREAM_BYTES, full);
    bulk_copy(to + STREAM_BYTES, (const u16 *)p.features + row * 64 * TILES, UP_BYTES, full);
    bulk_copy(to + STREAM_BYTES + UP_BYTES, p.scale2 + row, 256, full);
}

// From a tile's u and the gradient in h: h itself, and the gradient in u, both rounded.
__device__ __forceinline__ void activated_back(const float (&u)[32], const float (&d_h)[32], const float *scales, int q,
                                               u32 (&h)[16], u32 (&d_u)[16]) {
#pragma unroll
    for (int i = 0; i < 8; i++) {
        float2 scale = *(const float2 *)(scales + 8 * i + 2 * q);
#pragma unroll
        for (int e = 0; e < 2; e++) { // hidden units g and g + 8
            float one = u[4 * i + 2 * e] * scale.x, two = u[4 * i + 2 * e + 1] * scale.y;
            float2 first = fast_below_and_slope(one), second = fast_below_and_slope(two);
            h[2 * i + e] = pack_bf16(one * first.x, two * second.x);
            d_u[2 * i + e] = pack_bf16(d_h[4 * i + 2 * e] * scale.x * first.y,
                                       d_h[4 * i + 2 * e + 1] * scale.y * second.y);
        }
    }
}

// Sets up the ring of a backward pass and fetches the block's tables and first tiles.
__device__ __forceinline__ void backward_begin(const Fleet &p, int r, int part, int tiles, u32 base) {
    u32 full = base + BACKWARD_BARRIERS, empty = full + 8 * BACKWARD_STAGES, ready = empty + 8 * BACKWARD_STAGES;
    if (threadIdx.x == 0) {
        ring_init(full, empty, BACKWARD_STAGES, 8);
        barrier_init(ready, 1);
        barriers_ready();
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        size_t chunk = (size_t)r * CHUNKS + part * 2;
        barrier_expect(ready, 2 * DOWN_BYTES + 2 * UP_BYTES);
        bulk_copy(base, p.down_tiles + chunk * 64 * D, 2 * DOWN_BYTES, ready);
        bulk_copy(base + BACKWARD_UP, p.up_tiles + chunk * TILES * 4096, 2 * UP_BYTES, ready);
        for (int i = 0; i < BACKWARD_STAGES && i < tiles; i++) backward_load(p, r, i, i, base);
    }
}

// Puts a tile of gradients, hidden units by rows, into shared memory (FUSED) or into the device's.
__device__ __forceinline__ void put_shared(u8 *tile, int unit, int q, const u32 (&d_u)[16]) {
#pragma unroll
    for (int i = 0; i < 16; i++) {
        int row = unit + 8 * (i & 1);
        *(u32 *)(tile + row * 128 + ((i / 2 ^ (row & 7)) << 4) + 4 * q) = d_u[i];
    }
}
__device__ __forceinline__ void put_hidden(uint4 *tile, int unit, int q, const u32 (&d_u)[16]) {
#pragma unroll
    for (int i = 0; i < 16; i += 8)
#pragma unroll
        for (int e = 0; e < 2; e++) {
            int row = unit + 8 * e;
            tile[row * 8 + ((i / 2 + q) ^ (row & 7))] =
                across_quad(d_u[i + e], d_u[i + e + 2], d_u[i + e + 4], d_u[i + e + 6]);
        }
}

// Writes 64 rows by F_COLUMNS of what returns to the features, from column `first` on.
__device__ __forceinline__ void write_features(u16 *rows, int row, int first, int q, const float (&d_f)[F_COLUMNS / 2]) {
    u16 *to = rows + (size_t)row * K + first + 2 * q;
#pragma unroll
    for (int i = 0; i < F_COLUMNS / 8; i++)
        if (first + 8 * i < K) {
            *(u32 *)(to + 8 * i) = pack_bf16(d_f[4 * i], d_f[4 * i + 1]);
            *(u32 *)(to + 8 * K + 8 * i) = pack_bf16(d_f[4 * i + 2], d_f[4 * i + 3]);
        }
}

// Writes rows `row` and `row + 8` of a matrix of numbers in single precision.
template <int N> __device__ __forceinline__ void write_rows(float *matrix, int width, int row, int q, const float (&d)[N]) {
    float *to = matrix + (size_t)row * width + 2 * q;
#pragma unroll
    for (int i = 0; i < N / 4; i++)
        if (8 * i < width) {
            *(float2 *)(to + 8 * i) = make_float2(d[4 * i], d[4 * i + 1]);
            *(float2 *)(to + 8 * width + 8 * i) = make_float2(d[4 * i + 2], d[4 * i + 3]);
        }
}

// 128 hidden units a block, 64 a warpgroup, over all rows of a model: the gradients of their rows
// of the down-projection and, FUSED, of the up-projection's table, and what they return to the
// features. Everything stands transposed, hidden units by rows, so that what GELU gives is the left
// operand of the products that follow.
extern "C" __global__ void __launch_bounds__(256, 1) hopper_backward(const Fleet p, const Call c) {
    after_previous();
    int r = p.order[blockIdx.y], part = blockIdx.x;
    int tokens = rows_of(p, r, 0).count, tiles = (tokens + 63) / 64;
    if (tiles == 0) return;
    DYNAMIC_SHARED(u8, smem);
    u32 base = shared_address(smem);
    if (base & 1023) __trap();
    u32 full = base + BACKWARD_BARRIERS, empty = full + 8 * BACKWARD_STAGES, ready = empty + 8 * BACKWARD_STAGES;
    backward_begin(p, r, part, tiles, base);
    Lane at = lane_of();
    int unit = at.warp * 16 + at.g, hidden = part * 2 + at.group;
    u32 down = base + at.group * DOWN_BYTES, up = base + BACKWARD_UP + at.group * UP_BYTES;
    float d_down[128];
#pragma unroll
    for (int i = 0; i < 128; i++) d_down[i] = 0;
#if FUSED
    u32 d_up_place = BACKWARD_D_UP + at.group * TILE_BYTES, d_up = base + d_up_place;
    float d_table[24];
#pragma unroll
    for (int i = 0; i < 24; i++) d_table[i] = 0;
    u16 *d_features = (u16 *)p.d_features + ((size_t)r * (SHARES + 1) + hidden) * NT * K;
#endif
    barrier_wait(ready, 0);
#pragma unroll 1
    for (int tile = 0; tile < tiles; tile++) {
        int stage = tile % BACKWARD_STAGES, old = tile - FUSED; // refilled a tile late where there is room for it
        u32 rows = base + BACKWARD_ROWS + stage * BACKWARD_STAGE, features = rows + STREAM_BYTES;
        barrier_wait(full + 8 * stage, (tile / BACKWARD_STAGES) & 1);
        float u[32], d_h[32];
        wgmma_fence();
        up_product(u, up, features);
#pragma unroll
        for (int ks = 0; ks < D / 16; ks++)
            wgmma_64_ss_00(d_h, desc_k(inner_at(down, ks, 8192)), desc_k(inner_at(rows, ks, 8192)), ks > 0);
        wgmma_commit();
        wgmma_wait<0>();
        keep(u);
        keep(d_h);
        u32 h[16], d_u[16];
        activated_back(u, d_h, (const float *)(smem + (features + UP_BYTES - base)), at.q, h, d_u);
#if FUSED
        put_shared(smem + d_up_place, unit, at.q, d_u);
        fence_async();
        named_barrier(1 + at.group, 128);
        float d_f[24];
        keep(d_u);
#else
        put_hidden((uint4 *)p.d_hidden + (((size_t)r * (NT / 64) + tile) * CHUNKS + hidden) * 512, unit, at.q, d_u);
#endif
        keep(h);
        wgmma_fence();
#pragma unroll
        for (int ks = 0; ks < 4; ks++) {
            wgmma_256_rs_1(d_down, h[4 * ks], h[4 * ks + 1], h[4 * ks + 2], h[4 * ks + 3],
                           desc_mn(rows + 2048 * ks, 8192), 1);
#if FUSED
            wgmma_48_rs_1(d_table, d_u[4 * ks], d_u[4 * ks + 1], d_u[4 * ks + 2], d_u[4 * ks + 3],
                          desc_mn(features + 2048 * ks, 8192), 1);
            wgmma_48_ss_11(d_f, desc_mn(d_up + 2048 * ks, 8192), desc_mn(up + 2048 * ks, 8192), ks > 0);
#endif
        }
        wgmma_commit();
        wgmma_wait<0>();
        keep(d_down);
        keep(h);
#if FUSED
        keep(d_table);
        keep(d_f);
        keep(d_u);
#endif
        if (at.lane == 0) barrier_arrive(empty + 8 * stage);
#if FUSED
        write_features(d_features, tile * 64 + unit, 0, at.q, d_f); // rows of the batch here
#endif
        if (threadIdx.x == 0 && old >= 0 && old + BACKWARD_STAGES < tiles) {
            barrier_wait(empty + 8 * (old % BACKWARD_STAGES), (old / BACKWARD_STAGES) & 1);
            backward_load(p, r, old + BACKWARD_STAGES, old % BACKWARD_STAGES, base);
        }
#if FUSED
        named_barrier(1 + at.group, 128); // before d_up is written again
#else
        __syncwarp();
#endif
    }
    write_rows(p.gradient + (size_t)r * P + O_DOWN, D, hidden * 64 + unit, at.q, d_down);
#if FUSED
    write_rows(p.d_up + (size_t)r * FF * K, K, hidden * 64 + unit, at.q, d_table);
#endif
}

// 256 columns of what reaches the features: the stream itself (which = 0), or 256 hidden units of the MLP.
struct ColumnBlock {
    int r, which, feature_tile;
};

__device__ __forceinline__ void stream_load(const Fleet &p, const ColumnBlock &columns, int tile, int stage, u32 base) {
    u32 to = base + STREAM_BYTES + stage * STREAM_STAGE, full = base + STREAM_BARRIERS + 8 * stage;
    size_t rows = (size_t)columns.r * (NT / 64) + tile;
    const u16 *from = columns.which ? p.d_hidden + (rows * CHUNKS + (columns.which - 1) * 4) * 4096
                                  : (const u16 *)p.d_out + rows * 64 * D;
    barrier_expect(full, STREAM_STAGE);
    bulk_copy(to, from, STREAM_BYTES, full);
    bulk_copy(to + STREAM_BYTES, (const u16 *)p.features + (rows * TILES + columns.feature_tile) * 4096, TILE_BYTES, full);
}

// The table that leads from 64 features to the block's columns.
__device__ __forceinline__ void stream_table(const Fleet &p, const ColumnBlock &columns, u32 to, u32 ready) {
    barrier_expect(ready, STREAM_BYTES);
    if (columns.which == 0) {
        bulk_copy(to, p.stream_tiles + ((size_t)columns.r * TILES + columns.feature_tile) * 64 * D, STREAM_BYTES, ready);
        return;
    }
    for (int i = 0; i < 4; i++) {
        size_t chunk = (size_t)columns.r * CHUNKS + (columns.which - 1) * 4 + i;
        bulk_copy(to + i * TILE_BYTES, p.up_tiles + (chunk * TILES + columns.feature_tile) * 4096, TILE_BYTES, ready);
    }
}

// What reaches the features past or (not FUSED) through the MLP, x W^T with x a gradient of rows by
// columns and W the table, and the table's own gradient f^T x: for the stream x is d_out and W is M.
// Every part takes every STREAM_PARTS-th tile of rows. Hidden units stand transposed in x.
extern "C" __global__ void __launch_bounds__(128, 2) hopper_stream(const Fleet p, const Call c) {
    after_previous();
    int part = blockIdx.x;
    ColumnBlock columns = {p.order[blockIdx.y], (int)blockIdx.z / TILES, (int)blockIdx.z % TILES};
    int r = columns.r, tokens = rows_of(p, r, 0).count, all = (tokens + 63) / 64;
    int tiles = all > part ? (all - part + STREAM_PARTS - 1) / STREAM_PARTS : 0;
    DYNAMIC_SHARED(u8, smem);
    u32 base = shared_address(smem);
    if (base & 1023) __trap();
    u32 full = base + STREAM_BARRIERS, empty = full + 8 * STREAM_STAGES, ready = empty + 8 * STREAM_STAGES;
    if (threadIdx.x == 0) {
        ring_init(full, empty, STREAM_STAGES, 4);
        barrier_init(ready, 1);
        barriers_ready();
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        stream_table(p, columns, base, ready);
        for (int i = 0; i < STREAM_STAGES && i < tiles; i++)
            stream_load(p, columns, part + i * STREAM_PARTS, i, base);
    }
    Lane at = lane_of();
    float d_table[128];
#pragma unroll
    for (int i = 0; i < 128; i++) d_table[i] = 0;
    int share = FUSED ? SHARES : (columns.which + SHARES) % (SHARES + 1); // the stream's comes last
    u16 *d_features = (u16 *)p.d_features + ((size_t)r * (SHARES + 1) + share) * NT * K;
    barrier_wait(ready, 0);
#pragma unroll 1
    for (int i = 0; i < tiles; i++) {
        int stage = i % STREAM_STAGES, tile = part + i * STREAM_PARTS;
        u32 rows = base + STREAM_BYTES + stage * STREAM_STAGE, features = rows + STREAM_BYTES;
        barrier_wait(full + 8 * stage, (i / STREAM_STAGES) & 1);
        float d_f[F_COLUMNS / 2];
        wgmma_fence();
        if (FUSED || columns.which == 0) {
#pragma unroll
            for (int ks = 0; ks < D / 16; ks++)
                wgmma_features_ss_00(d_f, desc_k(inner_at(rows, ks, 8192)), desc_k(inner_at(base, ks, 8192)), ks > 0);
#pragma unroll
            for (int ks = 0; ks < 4; ks++)
                wgmma_256_ss_11(d_table, desc_mn(features + 2048 * ks, 8192), desc_mn(rows + 2048 * ks, 8192), 1);
        }
#if !FUSED
        else {
#pragma unroll
            for (int ks = 0; ks < 16; ks++)
                wgmma_64_ss_11(d_f, desc_mn(rows + 2048 * ks, 8192), desc_mn(base + 2048 * ks, 8192), ks > 0);
#pragma unroll
            for (int ks = 0; ks < 4; ks++)
                wgmma_256_ss_10(d_table, desc_mn(features + 2048 * ks, 8192), desc_k(rows + 32 * ks), 1);
        }
#endif
        wgmma_commit();
        wgmma_wait<0>();
        keep(d_f);
        keep(d_table);
        if (at.lane == 0) barrier_arrive(empty + 8 * stage);
        write_features(d_features, tile * 64 + at.warp * 16 + at.g, 64 * columns.feature_tile, at.q, d_f);
        if (threadIdx.x == 0 && i + STREAM_STAGES < tiles) {
            barrier_wait(empty + 8 * stage, (i / STREAM_STAGES) & 1);
            stream_load(p, columns, tile + STREAM_STAGES * STREAM_PARTS, stage, base);
        }
        __syncwarp();
    }
    int feature = 64 * columns.feature_tile + at.warp * 16 + at.g;
    bool one = feature < K, two = feature + 8 < K;
    if (FUSED || columns.which == 0) {
        float *to = p.d_stream_parts + (((size_t)r * STREAM_PARTS + part) * K + feature) * D + 2 * at.q;
#pragma unroll
        for (int i = 0; i < D / 8; i++) {
            if (one) *(float2 *)(to + 8 * i) = make_float2(d_table[4 * i], d_table[4 * i + 1]);
            if (two) *(float2 *)(to + 8 * D + 8 * i) = make_float2(d_table[4 * i + 2], d_table[4 * i + 3]);
        }
        return;
    }
    size_t unit = ((size_t)r * UP_PARTS + part) * FF + (columns.which - 1) * 256 + 2 * at.q;
    float *to = p.d_up + unit * K + feature;
#pragma unroll
    for (int i = 0; i < 32; i++)
#pragma unroll
        for (int e = 0; e < 2; e++) { // hidden units 8 i + 2 q and the next
            if (one) to[(8 * i + e) * K] = d_table[4 * i + e];
            if (two) to[(8 * i + e) * K + 8] = d_table[4 * i + 2 + e];
        }
}
