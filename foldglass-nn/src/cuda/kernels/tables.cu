// Computes the tables of every model from its weights.

// norm1 of the embedding.
extern "C" __global__ void table_normed(const Fleet p, const Call c) {
    after_previous();
    int token = blockIdx.x, r = blockIdx.y;
    __shared__ float scratch[32];
    const float *e = p.weights + (size_t)r * P + O_EMBEDDING + token * D;
    const float *g = p.weights + (size_t)r * P + O_NORM1;
    float sum = 0, square = 0;
    for (int i = threadIdx.x; i < D; i += blockDim.x) sum += e[i];
    float mean = LAYER ? block_sum(sum, scratch) / D : 0.0f;
    for (int i = threadIdx.x; i < D; i += blockDim.x) square += (e[i] - mean) * (e[i] - mean);
    float scale = rsqrtf(block_sum(square, scratch) / D + EPSILON);
    for (int i = threadIdx.x; i < D; i += blockDim.x)
        p.normed[((size_t)r * V + token) * D + i] = (e[i] - mean) * scale * g[i];
    if (threadIdx.x == 0) p.scale1[r * V + token] = scale;
}

// Queries, keys and values of 8 tokens: 64 columns by 4 groups of rows a block.
extern "C" __global__ void table_qkv(const Fleet p, const Call c) {
    after_previous();
    int column = blockIdx.x * 64 + (threadIdx.x & 63), group = threadIdx.x >> 6;
    int which = blockIdx.y / (V / 8), first = blockIdx.y % (V / 8) * 8, r = blockIdx.z;
    __shared__ float normed[D][8];
    __shared__ float parts[4][8][64];
    const float *from = p.normed + ((size_t)r * V + first) * D;
    for (int i = threadIdx.x; i < 8 * D; i += blockDim.x) normed[i % D][i / D] = from[i];
    __syncthreads();
    const float *w = p.weights + (size_t)r * P + (which == 0 ? O_QUERY : which == 1 ? O_KEY : O_VALUE);
    float sum[8];
    for (int b = 0; b < 8; b++) sum[b] = 0;
#pragma unroll 8
    for (int d = group; d < D; d += 4) {
        float value = w[(size_t)d * D + column];
#pragma unroll
        for (int b = 0; b < 8; b++) sum[b] += normed[d][b] * value;
    }
#pragma unroll
    for (int b = 0; b < 8; b++) parts[group][b][threadIdx.x & 63] = sum[b];
    __syncthreads();
    for (int i = threadIdx.x; i < 8 * 64; i += blockDim.x) {
        int b = i / 64, at = i % 64;
        float total = parts[0][b][at] + parts[1][b][at] + parts[2][b][at] + parts[3][b][at];
        p.qkv[(((size_t)r * 3 + which) * V + first + b) * D + blockIdx.x * 64 + at] = total;
    }
}

// e^S, S the query turned by the distance, times the key; relative to the largest of the query's
// token, so that no power is above 1. 8 queries a block, a warp for each at the end.
extern "C" __global__ void table_scores(const Fleet p, const Call c) {
    after_previous();
    int head = blockIdx.x, r = blockIdx.y, first = blockIdx.z * 8;
    __shared__ float query[8][W], key[V][W];
    DYNAMIC_SHARED(float, scores); // [8][V][ND]
    const float *q = p.qkv + (size_t)r * 3 * V * D + head * W, *k = q + V * D;
    for (int i = threadIdx.x; i < V * W; i += blockDim.x) {
        if (i < 8 * W) query[i / W][i % W] = q[(first + i / W) * D + i % W];
        key[i / W][i % W] = k[(i / W) * D + i % W];
    }
    __syncthreads();
    float scale = rsqrtf((float)W);
    for (int i = threadIdx.x; i < 8 * ND; i += blockDim.x) {
        int a = i / ND, distance = i % ND;
        float sum[V];
        for (int b = 0; b < V; b++) sum[b] = 0;
        for (int m = 0; m < W / 2; m++) {
            float2 turn = p.turns[distance * (W / 2) + m];
            float one = query[a][m], two = query[a][m + W / 2];
            float left = one * turn.y - two * turn.x, right = one * turn.x + two * turn.y;
#pragma unroll
            for (int b = 0; b < V; b++) sum[b] += left * key[b][m] + right * key[b][m + W / 2];
        }
        for (int b = 0; b < V; b++) scores[(a * V + b) * ND + distance] = scale * sum[b];
    }
    __syncthreads();
    for (int a = threadIdx.x >> 5; a < 8; a += blockDim.x >> 5) {
        float largest = -3e38f;
        for (int i = threadIdx.x & 31; i < V * ND; i += 32) largest = fmaxf(largest, scores[a * V * ND + i]);
        for (int offset = 16; offset; offset >>= 1)
            largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, offset));
        size_t at = (((size_t)r * H + head) * V + first + a) * V * ND;
        for (int i = threadIdx.x & 31; i < V * ND; i += 32) {
            p.scores[at + i] = scores[a * V * ND + i] - largest;
            p.powers[at + i] = __expf(scores[a * V * ND + i] - largest);
        }
    }
}

// M: the embedding, and values through the output matrix.
extern "C" __global__ void table_stream(const Fleet p, const Call c) {
    after_previous();
    int at = threadIdx.x & 63, group = threadIdx.x >> 6, column = blockIdx.x * 64 + at;
    int head = blockIdx.y, r = blockIdx.z;
    __shared__ float value[W][V];
    __shared__ float parts[4][V][64];
    const float *v = p.qkv + ((size_t)r * 3 + 2) * V * D + head * W;
    for (int i = threadIdx.x; i < V * W; i += blockDim.x) value[i % W][i / W] = v[(i / W) * D + i % W];
    __syncthreads();
    const float *w = p.weights + (size_t)r * P + O_OUTPUT + (size_t)head * W * D;
    float sum[V];
    for (int b = 0; b < V; b++) sum[b] = 0;
#pragma unroll 8
    for (int i = group; i < W; i += 4) {
        float weight = w[(size_t)i * D + column];
#pragma unroll
        for (int b = 0; b < V; b++) sum[b] += value[i][b] * weight;
    }
#pragma unroll
    for (int b = 0; b < V; b++) parts[group][b][at] = sum[b];
    __syncthreads();
    float *stream = p.stream + (size_t)r * K * D + blockIdx.x * 64;
    for (int i = threadIdx.x; i < V * 64; i += blockDim.x) {
        int b = i / 64, j = i % 64;
        float total = parts[0][b][j] + parts[1][b][j] + parts[2][b][j] + parts[3][b][j];
        stream[((1 + head) * V + b) * D + j] = total;
        if (head == 0)
            stream[b * D + j] = p.weights[(size_t)r * P + O_EMBEDDING + b * D + blockIdx.x * 64 + j];
    }
}

// Rows of M: without their mean where the norm takes it, and times g2; and copies in bf16. A block
// for every V rows; it also does its rows of M M^T and, for the first, the head.
extern "C" __global__ void table_rows(const Fleet p, const Call c) {
    after_previous();
    int part = blockIdx.x, r = blockIdx.y;
    DYNAMIC_SHARED(float, shared); // [K][D] of M, centred
    __shared__ float means[K];
    const float *stream = p.stream + (size_t)r * K * D;
    for (int i = threadIdx.x; i < K * D; i += blockDim.x) shared[i] = stream[i];
    __syncthreads();
    if (LAYER) {
        for (int row = threadIdx.x >> 5; row < K; row += blockDim.x >> 5) {
            float sum = 0;
            for (int i = threadIdx.x & 31; i < D; i += 32) sum += shared[row * D + i];
            for (int offset = 16; offset; offset >>= 1) sum += __shfl_xor_sync(~0u, sum, offset);
            if ((threadIdx.x & 31) == 0) means[row] = sum / D;
        }
        __syncthreads();
        for (int i = threadIdx.x; i < K * D; i += blockDim.x) shared[i] -= means[i / D];
        __syncthreads();
    }
    const float *g2 = p.weights + (size_t)r * P + O_NORM2;
    for (int i = threadIdx.x; i < V * D; i += blockDim.x) {
        int row = part * V + i / D, column = i % D;
        size_t at = ((size_t)r * K + row) * D + column;
        p.centred[at] = shared[row * D + column];
        p.weighted[at] = shared[row * D + column] * g2[column];
#if BF16
        p.stream_tiles[((size_t)r * TILES + row / 64) * D * 64 + tile_place(row % 64, column)] =
            float_to_bf16(stream[row * D + column]);
#endif
    }
    // A warp for every entry: lanes along the width.
    for (int i = threadIdx.x >> 5; i < V * K; i += blockDim.x >> 5) {
        int row = part * V + i / K, other = i % K;
        float sum = 0;
        for (int d = threadIdx.x & 31; d < D; d += 32) sum += shared[row * D + d] * shared[other * D + d];
        for (int offset = 16; offset; offset >>= 1) sum += __shfl_xor_sync(~0u, sum, offset);
        if ((threadIdx.x & 31) == 0) p.gram[((size_t)r * K + row) * K + other] = sum;
    }
    if (part == 0) {
        const float *g3 = p.weights + (size_t)r * P + O_NORM3;
        const float *head = p.weights + (size_t)r * P + O_HEAD;
        for (int a = threadIdx.x >> 5; a < V; a += blockDim.x >> 5) {
            float sum = 0;
            for (int d = threadIdx.x & 31; d < D; d += 32) {
                float value = g3[d] * head[d * V + a];
                p.logit[((size_t)r * V + a) * D + d] = value;
                sum += value;
#if BF16
                p.logit_tiles[(size_t)r * D * V + (d / 64) * (64 * V) + swizzled(a, d % 64)] =
                    float_to_bf16(value);
#endif
            }
            for (int offset = 16; offset; offset >>= 1) sum += __shfl_xor_sync(~0u, sum, offset);
            if ((threadIdx.x & 31) == 0) p.logit_sum[r * V + a] = sum;
        }
    }
}

// M g2 U: 128 hidden units a block, each thread two units and every fourth feature.
extern "C" __global__ void table_up(const Fleet p, const Call c) {
    after_previous();
    int at = threadIdx.x & 63, group = threadIdx.x >> 6, unit = blockIdx.x * 128 + at;
    int r = blockIdx.y;
    DYNAMIC_SHARED(float, weighted); // [K][D]
    const float *from = p.weighted + (size_t)r * K * D;
    for (int i = threadIdx.x; i < K * D; i += blockDim.x) weighted[i] = from[i];
    __syncthreads();
    const float *up = p.weights + (size_t)r * P + O_UP;
    float sum[2][K / 4];
#pragma unroll
    for (int i = 0; i < K / 4; i++) sum[0][i] = sum[1][i] = 0;
#pragma unroll 2
    for (int d = 0; d < D; d += 4) {
        float one[4], two[4];
#pragma unroll
        for (int j = 0; j < 4; j++) {
            one[j] = up[(size_t)(d + j) * FF + unit];
            two[j] = up[(size_t)(d + j) * FF + unit + 64];
        }
#pragma unroll
        for (int i = 0; i < K / 4; i++) {
            float4 m = *(const float4 *)(weighted + (i * 4 + group) * D + d);
            sum[0][i] += m.x * one[0] + m.y * one[1] + m.z * one[2] + m.w * one[3];
            sum[1][i] += m.x * two[0] + m.y * two[1] + m.z * two[2] + m.w * two[3];
        }
    }
#if BF16
    __syncthreads();
    u16 *tile = (u16 *)weighted; // [2 by 64 units][features] in tiles, done with M
    for (int i = threadIdx.x; i < 2 * TILES * 4096; i += blockDim.x) tile[i] = 0;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < K / 4; i++) {
        tile[feature_place(at, i * 4 + group)] = float_to_bf16(sum[0][i]);
        tile[feature_place(64 + at, i * 4 + group)] = float_to_bf16(sum[1][i]);
    }
    __syncthreads();
    uint4 *to = (uint4 *)(p.up_tiles + ((size_t)r * (FF / 64) + blockIdx.x * 2) * TILES * 4096);
    for (int i = threadIdx.x; i < 2 * TILES * 512; i += blockDim.x) to[i] = ((uint4 *)tile)[i];
#else
#pragma unroll
    for (int i = 0; i < K / 4; i++) {
        p.up[((size_t)r * K + i * 4 + group) * FF + unit] = sum[0][i];
        p.up[((size_t)r * K + i * 4 + group) * FF + unit + 64] = sum[1][i];
    }
#endif
}
