// The MLP on bf16 matrix units (wgmma), up-projection, GELU and down-projection in one pass.
//
// Operands are tiles of 64 by 64 (common.cu). A descriptor gives the tile's address; the inner
// index runs along the rows' 128 bytes (desc_k; 16 numbers on are 32 bytes), or from row to row
// (desc_mn; 16 rows on are 2,048 bytes, 64 columns on are `stride` bytes).

#define FEATURE_STEPS ((K + 15) / 16)
#define CHUNKS (FF / 64)
#define DOWN_BYTES (64 * D * 2)  // the down-projection's rows of 64 hidden units
#define UP_BYTES (64 * 64 * 2)   // the up-projection's
#define STREAM_BYTES (64 * D * 2)

__device__ __forceinline__ u64 desc_k(u32 address) {
    return (u64)((address & 0x3FFFF) >> 4) | (1ull << 16) | (64ull << 32) | (1ull << 62);
}
__device__ __forceinline__ u64 desc_mn(u32 address, u32 stride) {
    return (u64)((address & 0x3FFFF) >> 4) | ((u64)(stride >> 4) << 16) | (64ull << 32) | (1ull << 62);
}

// Phi(u) by a tanh of a fitted polynomial; gelu is off by at most 3e-5, below bf16's rounding.
__device__ __forceinline__ float fast_below(float u) {
    float s = fminf(u * u, 16.0f);
    return 0.5f + 0.5f * fast_tanh(u * (0.79750554f + s * (0.03700781f - 0.00035169805f * s)));
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

// What a forward pass keeps in shared memory, in bytes from the start.
#define FORWARD_STAGES 4
#define FORWARD_STAGE (DOWN_BYTES + UP_BYTES)
#define FORWARD_STREAM (FORWARD_STAGES * FORWARD_STAGE)
#define FORWARD_FEATURES (FORWARD_STREAM + STREAM_BYTES)
#define FORWARD_LOGIT (FORWARD_FEATURES + 128 * 128)
#define FORWARD_BARRIERS (FORWARD_LOGIT + D * 16)

__device__ __forceinline__ void forward_load(const Fleet &p, int r, int chunk, u32 base) {
    int stage = chunk % FORWARD_STAGES;
    u32 to = base + stage * FORWARD_STAGE, full = base + FORWARD_BARRIERS + 8 * stage;
    barrier_expect(full, FORWARD_STAGE);
    bulk_copy(to, p.down_tiles + ((size_t)r * CHUNKS + chunk) * 64 * D, DOWN_BYTES, full);
    bulk_copy(to + DOWN_BYTES, p.up_tiles + ((size_t)r * CHUNKS + chunk) * 4096, UP_BYTES, full);
}

// u = f (M g2 U) of one chunk.
__device__ __forceinline__ void up_product(float (&u)[32], u32 features, u32 up) {
#pragma unroll
    for (int ks = 0; ks < FEATURE_STEPS; ks++)
        wgmma_64_ss_00(u, desc_k(features + 32 * ks), desc_k(up + 32 * ks), ks > 0);
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
    u32 barriers = base + FORWARD_BARRIERS, empty = barriers + 8 * FORWARD_STAGES;
    u32 ready = empty + 8 * FORWARD_STAGES;
    int valid = min(128, rows.count - tile * 128), first = rows.first + tile * 128;
    if (threadIdx.x == 0) {
        for (int i = 0; i < FORWARD_STAGES; i++) {
            barrier_init(barriers + 8 * i, 1);
            barrier_init(empty + 8 * i, valid > 64 ? 8 : 4); // warps at work
        }
        barrier_init(ready, 1);
        barriers_ready();
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        barrier_expect(ready, STREAM_BYTES + D * 16);
        bulk_copy(base + FORWARD_STREAM, p.stream_tiles + (size_t)r * 64 * D, STREAM_BYTES, ready);
        bulk_copy(base + FORWARD_LOGIT, p.logit_tiles + (size_t)r * 8 * D, D * 16, ready);
        for (int i = 0; i < FORWARD_STAGES; i++) forward_load(p, r, i, base);
    }
    for (int i = threadIdx.x; i < 1024; i += 256) {
        int row = i / 8, piece = i % 8;
        uint4 value = make_uint4(0, 0, 0, 0);
        if (row < valid)
            value = ((const uint4 *)p.features)[((size_t)r * NT + first + row) * 8 + (piece ^ ((first + row) & 7))];
        *(uint4 *)(smem + FORWARD_FEATURES + row * 128 + ((piece ^ (row & 7)) << 4)) = value;
    }
    fence_async();
    __syncthreads();
    int group = threadIdx.x >> 7, warp = (threadIdx.x >> 5) & 3, lane = threadIdx.x & 31;
    if (group == 1 && valid <= 64) return; // no rows of its own
    int g = lane >> 2, q = lane & 3, row1 = group * 64 + warp * 16 + g;
    u32 features = base + FORWARD_FEATURES + group * 8192;
    float o[128];
    barrier_wait(ready, 0);
    wgmma_fence();
#pragma unroll
    for (int ks = 0; ks < FEATURE_STEPS; ks++)
        wgmma_256_ss_01(o, desc_k(features + 32 * ks), desc_mn(base + FORWARD_STREAM + 2048 * ks, 8192), ks > 0);
    wgmma_commit();
    wgmma_wait<0>();
    keep(o);
    float scale1, scale2;
    {
        float sum1 = 0, sum2 = 0, square1 = 0, square2 = 0;
#pragma unroll
        for (int i = 0; i < 128; i += 4) {
            sum1 += o[i] + o[i + 1];
            square1 += o[i] * o[i] + o[i + 1] * o[i + 1];
            sum2 += o[i + 2] + o[i + 3];
            square2 += o[i + 2] * o[i + 2] + o[i + 3] * o[i + 3];
        }
        for (int offset = 1; offset < 4; offset <<= 1) {
            sum1 += __shfl_xor_sync(~0u, sum1, offset);
            sum2 += __shfl_xor_sync(~0u, sum2, offset);
            square1 += __shfl_xor_sync(~0u, square1, offset);
            square2 += __shfl_xor_sync(~0u, square2, offset);
        }
        float mean1 = LAYER ? sum1 / D : 0.0f, mean2 = LAYER ? sum2 / D : 0.0f;
        scale1 = rsqrtf(square1 / D - mean1 * mean1 + EPSILON);
        scale2 = rsqrtf(square2 / D - mean2 * mean2 + EPSILON);
        size_t at = (size_t)r * NT + first + row1;
        if (q == 0 && row1 < valid) p.scale2[at] = scale1;
        if (q == 0 && row1 + 8 < valid) p.scale2[at + 8] = scale2;
    }
    // The up-projection of the next chunk runs ahead of the down-projection of this one, and its
    // GELU beside it.
    float u[32];
    u32 h[16];
    barrier_wait(barriers, 0);
    wgmma_fence();
    up_product(u, features, base + DOWN_BYTES);
    wgmma_commit();
    wgmma_wait<0>();
    keep(u);
    activated(u, scale1, scale2, h);
#pragma unroll 1
    for (int chunk = 0; chunk < CHUNKS; chunk++) {
        int stage = chunk % FORWARD_STAGES, next = (chunk + 1) % FORWARD_STAGES;
        bool more = chunk + 1 < CHUNKS;
        if (more) barrier_wait(barriers + 8 * next, ((chunk + 1) / FORWARD_STAGES) & 1);
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
        activated(u, scale1, scale2, following);
        wgmma_wait<0>();
        keep(o);
        keep(h);
#pragma unroll
        for (int i = 0; i < 16; i++) h[i] = following[i];
        if (lane == 0) barrier_arrive(empty + 8 * stage);
        if (threadIdx.x == 0 && chunk > 0 && chunk + FORWARD_STAGES - 1 < CHUNKS) {
            int old = (chunk - 1) % FORWARD_STAGES;
            barrier_wait(empty + 8 * old, ((chunk - 1) / FORWARD_STAGES) & 1);
            forward_load(p, r, chunk + FORWARD_STAGES - 1, base);
        }
        __syncwarp();
    }
    // The last norm and the head.
    float sum1 = 0, sum2 = 0, square1 = 0, square2 = 0;
#pragma unroll
    for (int i = 0; i < 128; i += 4) {
        sum1 += o[i] + o[i + 1];
        sum2 += o[i + 2] + o[i + 3];
    }
    for (int offset = 1; offset < 4; offset <<= 1) {
        sum1 += __shfl_xor_sync(~0u, sum1, offset);
        sum2 += __shfl_xor_sync(~0u, sum2, offset);
    }
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
    for (int offset = 1; offset < 4; offset <<= 1) {
        square1 += __shfl_xor_sync(~0u, square1, offset);
        square2 += __shfl_xor_sync(~0u, square2, offset);
    }
    scale1 = rsqrtf(square1 / D + EPSILON);
    scale2 = rsqrtf(square2 / D + EPSILON);
    float logit[4];
    u32 packed[64];
#pragma unroll
    for (int i = 0; i < 64; i++) packed[i] = pack_bf16(o[2 * i], o[2 * i + 1]);
    keep(packed);
    wgmma_fence();
#pragma unroll
    for (int ks = 0; ks < 16; ks++)
        wgmma_8_rs_0(logit, packed[4 * ks], packed[4 * ks + 1], packed[4 * ks + 2], packed[4 * ks + 3],
                     desc_k(base + FORWARD_LOGIT + (ks / 4) * 1024 + (ks % 4) * 32), ks > 0);
    wgmma_commit();
    wgmma_wait<0>();
    keep(logit);
    keep(packed);
    u16 *out = (u16 *)p.out + ((size_t)r * NT + first + row1) * D + 8 * q;
#pragma unroll
    for (int i = 0; i < 64; i += 8) { // 32 columns of rows g and g + 8
        uint4 one = across_quad(packed[i], packed[i + 2], packed[i + 4], packed[i + 6]);
        uint4 two = across_quad(packed[i + 1], packed[i + 3], packed[i + 5], packed[i + 7]);
        if (row1 < valid) *(uint4 *)(out + 4 * i) = one;
        if (row1 + 8 < valid) *(uint4 *)(out + 8 * D + 4 * i) = two;
    }
    float logits[8];
#pragma unroll
    for (int s = 0; s < 4; s++) {
        int from = (lane & ~3) + s;
        float a = __shfl_sync(~0u, logit[0], from), b = __shfl_sync(~0u, logit[1], from);
        float d = __shfl_sync(~0u, logit[2], from), e = __shfl_sync(~0u, logit[3], from);
        logits[2 * s] = q == 1 ? d * scale2 : a * scale1;
        logits[2 * s + 1] = q == 1 ? e * scale2 : b * scale1;
    }
    int local = q == 1 ? row1 + 8 : row1;
    if (q < 2 && local < valid) {
        int row = first + local, t = c.t ? c.t : step_of(p, r, row);
        p.scale3[(size_t)r * NT + row] = q == 1 ? scale2 : scale1;
        emit(p, c, r, row - p.starts[r * (CAP + 1) + t - 1], t, row, logits);
    }
}

// What a backward pass keeps in shared memory.
#define BACKWARD_STAGES 3
#define BACKWARD_STAGE (STREAM_BYTES + 8192 + 1024)
#define BACKWARD_UP (2 * DOWN_BYTES)
#define BACKWARD_ROWS (BACKWARD_UP + 2 * UP_BYTES)
#define BACKWARD_D_UP (BACKWARD_ROWS + BACKWARD_STAGES * BACKWARD_STAGE)
#define BACKWARD_BARRIERS (BACKWARD_D_UP + 2 * UP_BYTES)

__device__ __forceinline__ void backward_load(const Fleet &p, int r, int tile, int stage, u32 base) {
    u32 to = base + BACKWARD_ROWS + stage * BACKWARD_STAGE, full = base + BACKWARD_BARRIERS + 8 * stage;
    barrier_expect(full, STREAM_BYTES + 8192 + 256);
    bulk_copy(to, (const u16 *)p.d_out + ((size_t)r * (NT / 64) + tile) * 64 * D, STREAM_BYTES, full);
    size_t row = (size_t)r * NT + tile * 64;
    bulk_copy(to + STREAM_BYTES, (const u16 *)p.features + row * 64, 8192, full);
    bulk_copy(to + STREAM_BYTES + 8192, p.scale2 + row, 256, full);
}

// 128 hidden units a block, 64 a warpgroup, over all rows of a model: the gradients of their rows
// of the down-projection and of the up-projection's table, and what they return to the features.
// Everything stands transposed, hidden units by rows, so that what GELU gives is the left operand
// of the products that follow.
extern "C" __global__ void __launch_bounds__(256, 1) hopper_backward(const Fleet p, const Call c) {
    after_previous();
    int r = p.order[blockIdx.y], part = blockIdx.x;
    int tokens = rows_of(p, r, 0).count, tiles = (tokens + 63) / 64;
    if (tiles == 0) return;
    DYNAMIC_SHARED(u8, smem);
    u32 base = shared_address(smem);
    if (base & 1023) __trap();
    u32 full = base + BACKWARD_BARRIERS, empty = full + 8 * BACKWARD_STAGES;
    u32 ready = empty + 8 * BACKWARD_STAGES;
    if (threadIdx.x == 0) {
        for (int i = 0; i < BACKWARD_STAGES; i++) {
            barrier_init(full + 8 * i, 1);
            barrier_init(empty + 8 * i, 8);
        }
        barrier_init(ready, 1);
        barriers_ready();
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        size_t chunk = (size_t)r * CHUNKS + part * 2;
        barrier_expect(ready, 2 * DOWN_BYTES + 2 * UP_BYTES);
        bulk_copy(base, p.down_tiles + chunk * 64 * D, 2 * DOWN_BYTES, ready);
        bulk_copy(base + BACKWARD_UP, p.up_tiles + chunk * 4096, 2 * UP_BYTES, ready);
        for (int i = 0; i < BACKWARD_STAGES && i < tiles; i++) backward_load(p, r, i, i, base);
    }
    int group = threadIdx.x >> 7, warp = (threadIdx.x >> 5) & 3, lane = threadIdx.x & 31;
    int g = lane >> 2, q = lane & 3, unit = warp * 16 + g;
    u32 down = base + group * DOWN_BYTES, up = base + BACKWARD_UP + group * UP_BYTES;
    u32 d_up_place = BACKWARD_D_UP + group * UP_BYTES, d_up = base + d_up_place;
    float d_down[128], d_table[24];
#pragma unroll
    for (int i = 0; i < 128; i++) d_down[i] = 0;
#pragma unroll
    for (int i = 0; i < 24; i++) d_table[i] = 0;
    u16 *d_features = (u16 *)p.d_features + ((size_t)r * (CHUNKS + 1) + part * 2 + group) * NT * K;
    barrier_wait(ready, 0);
#pragma unroll 1
    for (int tile = 0; tile < tiles; tile++) {
        int stage = tile % BACKWARD_STAGES;
        u32 rows = base + BACKWARD_ROWS + stage * BACKWARD_STAGE, features = rows + STREAM_BYTES;
        const float *scale2 = (const float *)(smem + (features + 8192 - base));
        barrier_wait(full + 8 * stage, (tile / BACKWARD_STAGES) & 1);
        float u[32], d_h[32];
        wgmma_fence();
#pragma unroll
        for (int ks = 0; ks < FEATURE_STEPS; ks++)
            wgmma_64_ss_00(u, desc_k(up + 32 * ks), desc_k(features + 32 * ks), ks > 0);
#pragma unroll
        for (int ks = 0; ks < D / 16; ks++) {
            u32 at = (ks / 4) * 8192 + (ks % 4) * 32;
            wgmma_64_ss_00(d_h, desc_k(down + at), desc_k(rows + at), ks > 0);
        }
        wgmma_commit();
        wgmma_wait<0>();
        keep(u);
        keep(d_h);
        u32 h[16], d_u[16];
#pragma unroll
        for (int i = 0; i < 8; i++) {
            float2 scale = *(const float2 *)(scale2 + 8 * i + 2 * q);
#pragma unroll
            for (int e = 0; e < 2; e++) { // hidden units g and g + 8
                float one = u[4 * i + 2 * e] * scale.x, two = u[4 * i + 2 * e + 1] * scale.y;
                float below1 = fast_below(one), below2 = fast_below(two);
                float density1 = 0.39894228f * fast_exp2(-0.72134752f * one * one);
                float density2 = 0.39894228f * fast_exp2(-0.72134752f * two * two);
                h[2 * i + e] = pack_bf16(one * below1, two * below2);
                u32 pair = pack_bf16(d_h[4 * i + 2 * e] * scale.x * (below1 + one * density1),
                                     d_h[4 * i + 2 * e + 1] * scale.y * (below2 + two * density2));
                d_u[2 * i + e] = pair;
                int row = unit + 8 * e;
                *(u32 *)(smem + d_up_place + row * 128 + ((i ^ (row & 7)) << 4) + 4 * q) = pair;
            }
        }
        fence_async();
        named_barrier(1 + group, 128);
        keep(h);
        keep(d_u);
        float d_f[24];
        wgmma_fence();
#pragma unroll
        for (int ks = 0; ks < 4; ks++) {
            wgmma_256_rs_1(d_down, h[4 * ks], h[4 * ks + 1], h[4 * ks + 2], h[4 * ks + 3],
                           desc_mn(rows + 2048 * ks, 8192), 1);
            wgmma_48_rs_1(d_table, d_u[4 * ks], d_u[4 * ks + 1], d_u[4 * ks + 2], d_u[4 * ks + 3],
                          desc_mn(features + 2048 * ks, 8192), 1);
            wgmma_48_ss_11(d_f, desc_mn(d_up + 2048 * ks, 8192), desc_mn(up + 2048 * ks, 8192), ks > 0);
        }
        wgmma_commit();
        wgmma_wait<0>();
        keep(d_down);
        keep(d_table);
        keep(d_f);
        keep(h);
        keep(d_u);
        if (lane == 0) barrier_arrive(empty + 8 * stage);
        u16 *to = d_features + ((size_t)tile * 64 + unit) * K + 2 * q; // rows of the batch here
#pragma unroll
        for (int i = 0; i < K / 8; i++) {
            *(u32 *)(to + 8 * i) = pack_bf16(d_f[4 * i], d_f[4 * i + 1]);
            *(u32 *)(to + 8 * K + 8 * i) = pack_bf16(d_f[4 * i + 2], d_f[4 * i + 3]);
        }
        if (threadIdx.x == 0 && tile > 0 && tile + BACKWARD_STAGES - 1 < tiles) {
            int old = (tile - 1) % BACKWARD_STAGES;
            barrier_wait(empty + 8 * old, ((tile - 1) / BACKWARD_STAGES) & 1);
            backward_load(p, r, tile + BACKWARD_STAGES - 1, old, base);
        }
        named_barrier(1 + group, 128); // before d_up is written again
    }
    int first = part * 128 + group * 64 + unit;
    float *to = p.gradient + (size_t)r * P + O_DOWN + (size_t)first * D + 2 * q;
#pragma unroll
    for (int i = 0; i < D / 8; i++) {
        *(float2 *)(to + 8 * i) = make_float2(d_down[4 * i], d_down[4 * i + 1]);
        *(float2 *)(to + 8 * D + 8 * i) = make_float2(d_down[4 * i + 2], d_down[4 * i + 3]);
    }
    float *table = p.d_up + ((size_t)r * FF + first) * K + 2 * q;
#pragma unroll
    for (int i = 0; i < K / 8; i++) {
        *(float2 *)(table + 8 * i) = make_float2(d_table[4 * i], d_table[4 * i + 1]);
        *(float2 *)(table + 8 * K + 8 * i) = make_float2(d_table[4 * i + 2], d_table[4 * i + 3]);
    }
}

#define STREAM_STAGES 2
#define STREAM_STAGE (STREAM_BYTES + 8192)
#define STREAM_BARRIERS (STREAM_BYTES + STREAM_STAGES * STREAM_STAGE)

__device__ __forceinline__ void stream_load(const Fleet &p, int r, int tile, int stage, u32 base) {
    u32 to = base + STREAM_BYTES + stage * STREAM_STAGE, full = base + STREAM_BARRIERS + 8 * stage;
    barrier_expect(full, STREAM_STAGE);
    bulk_copy(to, (const u16 *)p.d_out + ((size_t)r * (NT / 64) + tile) * 64 * D, STREAM_BYTES, full);
    bulk_copy(to + STREAM_BYTES, (const u16 *)p.features + ((size_t)r * NT + tile * 64) * 64, 8192, full);
}

// What the stream itself returns, past the MLP: d_out M^T to the features, f^T d_out to M. Every
// part takes every STREAM_PARTS-th tile of rows.
extern "C" __global__ void __launch_bounds__(128, 2) hopper_stream(const Fleet p, const Call c) {
    after_previous();
    int r = p.order[blockIdx.y], part = blockIdx.x;
    int tokens = rows_of(p, r, 0).count, all = (tokens + 63) / 64;
    int tiles = all > part ? (all - part + STREAM_PARTS - 1) / STREAM_PARTS : 0;
    DYNAMIC_SHARED(u8, smem);
    u32 base = shared_address(smem);
    if (base & 1023) __trap();
    u32 full = base + STREAM_BARRIERS, empty = full + 8 * STREAM_STAGES, ready = empty + 8 * STREAM_STAGES;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STREAM_STAGES; i++) {
            barrier_init(full + 8 * i, 1);
            barrier_init(empty + 8 * i, 4);
        }
        barrier_init(ready, 1);
        barriers_ready();
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        barrier_expect(ready, STREAM_BYTES);
        bulk_copy(base, p.stream_tiles + (size_t)r * 64 * D, STREAM_BYTES, ready);
        for (int i = 0; i < STREAM_STAGES && i < tiles; i++)
            stream_load(p, r, part + i * STREAM_PARTS, i, base);
    }
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, g = lane >> 2, q = lane & 3;
    float d_stream[128];
#pragma unroll
    for (int i = 0; i < 128; i++) d_stream[i] = 0;
    u16 *d_features = (u16 *)p.d_features + ((size_t)r * (CHUNKS + 1) + CHUNKS) * NT * K;
    barrier_wait(ready, 0);
#pragma unroll 1
    for (int i = 0; i < tiles; i++) {
        int stage = i % STREAM_STAGES, tile = part + i * STREAM_PARTS;
        u32 rows = base + STREAM_BYTES + stage * STREAM_STAGE, features = rows + STREAM_BYTES;
        barrier_wait(full + 8 * stage, (i / STREAM_STAGES) & 1);
        float d_f[24];
        wgmma_fence();
#pragma unroll
        for (int ks = 0; ks < D / 16; ks++) {
            u32 at = (ks / 4) * 8192 + (ks % 4) * 32;
            wgmma_48_ss_00(d_f, desc_k(rows + at), desc_k(base + at), ks > 0);
        }
#pragma unroll
        for (int ks = 0; ks < 4; ks++)
            wgmma_256_ss_11(d_stream, desc_mn(features + 2048 * ks, 8192), desc_mn(rows + 2048 * ks, 8192), 1);
        wgmma_commit();
        wgmma_wait<0>();
        keep(d_f);
        keep(d_stream);
        if (lane == 0) barrier_arrive(empty + 8 * stage);
        u16 *to = d_features + ((size_t)tile * 64 + warp * 16 + g) * K + 2 * q;
#pragma unroll
        for (int j = 0; j < K / 8; j++) {
            *(u32 *)(to + 8 * j) = pack_bf16(d_f[4 * j], d_f[4 * j + 1]);
            *(u32 *)(to + 8 * K + 8 * j) = pack_bf16(d_f[4 * j + 2], d_f[4 * j + 3]);
        }
        if (threadIdx.x == 0 && i + STREAM_STAGES < tiles) {
            barrier_wait(empty + 8 * stage, (i / STREAM_STAGES) & 1);
            stream_load(p, r, tile + STREAM_STAGES * STREAM_PARTS, stage, base);
        }
        __syncwarp();
    }
    float *to = p.d_stream_parts + ((size_t)r * STREAM_PARTS + part) * K * D + 2 * q;
    int row = warp * 16 + g;
#pragma unroll
    for (int i = 0; i < D / 8; i++) {
        if (row < K) *(float2 *)(to + row * D + 8 * i) = make_float2(d_stream[4 * i], d_stream[4 * i + 1]);
        if (row + 8 < K)
            *(float2 *)(to + (row + 8) * D + 8 * i) = make_float2(d_stream[4 * i + 2], d_stream[4 * i + 3]);
    }
}
