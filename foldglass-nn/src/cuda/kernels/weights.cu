// From the gradients in the tables to those in the weights, and the update.

// From the scores to queries and keys.
extern "C" __global__ void scores_backward(const Fleet p, const Call c) {
    after_previous();
    int head = blockIdx.x, r = blockIdx.y;
    DYNAMIC_SHARED(float, d_scores); // [V][V][ND]
    __shared__ float query[V][W], key[V][W];
    const float *q = p.qkv + (size_t)r * 3 * V * D + head * W, *k = q + V * D;
    for (int i = threadIdx.x; i < V * W; i += blockDim.x) {
        query[i / W][i % W] = q[(i / W) * D + i % W];
        key[i / W][i % W] = k[(i / W) * D + i % W];
    }
    float scale = rsqrtf((float)W);
    for (int i = threadIdx.x; i < V * V * ND; i += blockDim.x) {
        float sum = 0;
        for (int part = 0; part < ATTENTION_PARTS; part++)
            sum += p.d_scores_parts[(((size_t)r * ATTENTION_PARTS + part) * H + head) * V * V * ND + i];
        d_scores[i] = scale * sum;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < V * W / 2; i += blockDim.x) {
        int token = i / (W / 2), m = i % (W / 2);
        float q1 = 0, q2 = 0, k1 = 0, k2 = 0;
        for (int distance = 0; distance < ND; distance++) {
            float2 turn = p.turns[distance * (W / 2) + m];
            float first = 0, second = 0;
            for (int other = 0; other < V; other++) {
                float as_query = d_scores[(token * V + other) * ND + distance];
                first += as_query * key[other][m];
                second += as_query * key[other][m + W / 2];
                float as_key = d_scores[(other * V + token) * ND + distance];
                float one = query[other][m], two = query[other][m + W / 2];
                k1 += as_key * (one * turn.y - two * turn.x);
                k2 += as_key * (one * turn.x + two * turn.y);
            }
            q1 += first * turn.y + second * turn.x; // turned back
            q2 += second * turn.y - first * turn.x;
        }
        float *to = p.d_qkv + (size_t)r * 3 * V * D + token * D + head * W + m;
        to[0] = q1;
        to[W / 2] = q2;
        to[V * D] = k1;
        to[V * D + W / 2] = k2;
    }
}

// d_up U^T: 64 columns of the width a block, the hidden units in parts; a thread has 4 columns and
// every eighth feature.
extern "C" __global__ void weighted_backward(const Fleet p, const Call c) {
    after_previous();
    int first = blockIdx.x * 64, part = blockIdx.y, r = blockIdx.z;
    int column = (threadIdx.x & 15) * 4, group = threadIdx.x >> 4;
    __shared__ __align__(16) float up[32][68];
    __shared__ float d_up[32][K];
    const float *weights = p.weights + (size_t)r * P + O_UP;
    float sum[K / 8][4];
#pragma unroll
    for (int i = 0; i < K / 8; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) sum[i][j] = 0;
    for (int unit = part * (FF / WEIGHTED_PARTS); unit < (part + 1) * (FF / WEIGHTED_PARTS); unit += 32) {
        __syncthreads();
        for (int i = threadIdx.x; i < 512; i += 128) {
            float4 four = *(const float4 *)(weights + (size_t)(first + i / 8) * FF + unit + i % 8 * 4);
            up[i % 8 * 4][i / 8] = four.x;
            up[i % 8 * 4 + 1][i / 8] = four.y;
            up[i % 8 * 4 + 2][i / 8] = four.z;
            up[i % 8 * 4 + 3][i / 8] = four.w;
        }
        for (int i = threadIdx.x; i < 32 * K; i += 128) {
            float total = 0;
            for (int j = 0; j < UP_PARTS; j++) total += p.d_up[(((size_t)r * UP_PARTS + j) * FF + unit) * K + i];
            d_up[i / K][i % K] = total;
        }
        __syncthreads();
#pragma unroll 8
        for (int j = 0; j < 32; j++) {
            float4 four = *(const float4 *)&up[j][column];
#pragma unroll
            for (int i = 0; i < K / 8; i++) {
                float d = d_up[j][group + 8 * i];
                sum[i][0] += four.x * d;
                sum[i][1] += four.y * d;
                sum[i][2] += four.z * d;
                sum[i][3] += four.w * d;
            }
        }
    }
#pragma unroll
    for (int i = 0; i < K / 8; i++) {
        size_t row = ((size_t)r * WEIGHTED_PARTS + part) * K + group + 8 * i;
        float *to = p.d_weighted_parts + row * D + first + column;
#pragma unroll
        for (int j = 0; j < 4; j++) to[j] = sum[i][j];
    }
}

// Everything that reaches M: a block for every 8 rows; and the gradients of g2 and of the
// embedding as part of M.
extern "C" __global__ void stream_total(const Fleet p, const Call c) {
    after_previous();
    int part = blockIdx.x, r = blockIdx.y, warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    __shared__ float square[8][K];
    int first = part * 8;
    for (int i = threadIdx.x; i < 8 * K; i += blockDim.x) {
        float sum = 0;
        for (int j = 0; j < FEATURE_PARTS; j++)
            sum += p.square_parts[((size_t)r * FEATURE_PARTS + j) * K * K + first * K + i];
        square[i / K][i % K] = sum;
    }
    __syncthreads();
    const float *centred = p.centred + (size_t)r * K * D;
    const float *g2 = p.weights + (size_t)r * P + O_NORM2;
    int row = first + warp;
    float d_centred[D / 32], total = 0;
#pragma unroll
    for (int i = 0; i < D / 32; i++) d_centred[i] = 0;
    for (int j = 0; j < K; j++)
#pragma unroll
        for (int i = 0; i < D / 32; i++)
            d_centred[i] += square[warp][j] * centred[j * D + lane + 32 * i];
#pragma unroll
    for (int i = 0; i < D / 32; i++) {
        int d = lane + 32 * i;
        float weighted = 0;
        for (int j = 0; j < WEIGHTED_PARTS; j++)
            weighted += p.d_weighted_parts[(((size_t)r * WEIGHTED_PARTS + j) * K + row) * D + d];
        p.d_weighted[((size_t)r * K + row) * D + d] = weighted;
        d_centred[i] += weighted * g2[d];
        total += d_centred[i];
    }
    for (int offset = 16; offset; offset >>= 1) total += __shfl_xor_sync(~0u, total, offset);
    float mean = LAYER ? total / D : 0.0f;
#pragma unroll
    for (int i = 0; i < D / 32; i++) {
        int d = lane + 32 * i;
        float sum = d_centred[i] - mean;
        for (int j = 0; j < STREAM_PARTS; j++)
            sum += p.d_stream_parts[(((size_t)r * STREAM_PARTS + j) * K + row) * D + d];
        p.d_stream[((size_t)r * K + row) * D + d] = sum;
    }
}

// From values through the output matrix to values: four blocks a head, a warp a row of the matrix.
extern "C" __global__ void value_backward(const Fleet p, const Call c) {
    after_previous();
    int head = blockIdx.x / 4, part = blockIdx.x % 4, r = blockIdx.y, warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    __shared__ float d_rows[V][D];
    const float *from = p.d_stream + ((size_t)r * K + (1 + head) * V) * D;
    for (int i = threadIdx.x; i < V * D; i += blockDim.x) d_rows[i / D][i % D] = from[i];
    __syncthreads();
    const float *w = p.weights + (size_t)r * P + O_OUTPUT + (size_t)head * W * D;
    for (int i = part * (blockDim.x >> 5) + warp; i < W; i += 4 * (blockDim.x >> 5)) {
        float sum[V];
#pragma unroll
        for (int b = 0; b < V; b++) sum[b] = 0;
        for (int d = lane; d < D; d += 32) {
            float weight = w[(size_t)i * D + d];
#pragma unroll
            for (int b = 0; b < V; b++) sum[b] += d_rows[b][d] * weight;
        }
#pragma unroll
        for (int b = 0; b < V; b++) {
            for (int offset = 16; offset; offset >>= 1) sum[b] += __shfl_xor_sync(~0u, sum[b], offset);
            if (lane == 0) p.d_qkv[(((size_t)r * 3 + 2) * V + b) * D + head * W + i] = sum[b];
        }
    }
}

// From queries, keys and values to the normed embedding: a warp a row of the three matrices.
extern "C" __global__ void normed_backward(const Fleet p, const Call c) {
    after_previous();
    int r = blockIdx.y, warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    DYNAMIC_SHARED(float, d_qkv); // [3][V][D]
    for (int i = threadIdx.x; i < 3 * V * D; i += blockDim.x) d_qkv[i] = p.d_qkv[(size_t)r * 3 * V * D + i];
    __syncthreads();
    for (int row = blockIdx.x * 16 + warp; row < blockIdx.x * 16 + 16; row += blockDim.x >> 5) {
        float sum[V];
#pragma unroll
        for (int b = 0; b < V; b++) sum[b] = 0;
        for (int which = 0; which < 3; which++) {
            const float *w = p.weights + (size_t)r * P +
                             (which == 0 ? O_QUERY : which == 1 ? O_KEY : O_VALUE) + (size_t)row * D;
            for (int d = lane; d < D; d += 32) {
                float weight = w[d];
#pragma unroll
                for (int b = 0; b < V; b++) sum[b] += d_qkv[(which * V + b) * D + d] * weight;
            }
        }
#pragma unroll
        for (int b = 0; b < V; b++) {
            for (int offset = 16; offset; offset >>= 1) sum[b] += __shfl_xor_sync(~0u, sum[b], offset);
            if (lane == 0) p.d_normed[((size_t)r * V + b) * D + row] = sum[b];
        }
    }
}

// The small tensors: embedding, the three norms, the head.
extern "C" __global__ void small_backward(const Fleet p, const Call c) {
    after_previous();
    int r = blockIdx.x;
    __shared__ float scratch[32];
    const float *weights = p.weights + (size_t)r * P;
    float *gradient = p.gradient + (size_t)r * P;
    for (int d = threadIdx.x; d < D; d += blockDim.x) {
        float norm1 = 0, norm2 = 0, norm3 = 0;
        for (int k = 0; k < K; k++) {
            size_t at = ((size_t)r * K + k) * D + d;
            norm2 += p.centred[at] * p.d_weighted[at];
        }
        for (int a = 0; a < V; a++) {
            float sum = 0;
            for (int part = 0; part < HEAD_PARTS; part++)
                sum += p.head_parts[((size_t)r * HEAD_PARTS + part) * D * V + d * V + a];
            gradient[O_HEAD + d * V + a] = weights[O_NORM3 + d] * sum;
            norm3 += weights[O_HEAD + d * V + a] * sum;
        }
        gradient[O_NORM1 + d] = norm1;
        gradient[O_NORM2 + d] = norm2;
        gradient[O_NORM3 + d] = norm3;
    }
    __syncthreads();
    for (int token = 0; token < V; token++) {
        const float *e = weights + O_EMBEDDING + token * D;
        float scale = p.scale1[r * V + token], sum = 0, dot = 0, total = 0;
        for (int d = threadIdx.x; d < D; d += blockDim.x) sum += e[d];
        float mean = LAYER ? block_sum(sum, scratch) / D : 0.0f;
        const float *d_normed = p.d_normed + ((size_t)r * V + token) * D;
        for (int d = threadIdx.x; d < D; d += blockDim.x) {
            float d_scaled = d_normed[d] * weights[O_NORM1 + d];
            dot += (e[d] - mean) * d_scaled;
            total += d_scaled;
            gradient[O_NORM1 + d] += d_normed[d] * (e[d] - mean) * scale;
        }
        float along = scale * scale * block_sum(dot, scratch) / D;
        // The mean of the result: the centred embedding itself has none.
        float shift = LAYER ? scale * block_sum(total, scratch) / D : 0.0f;
        for (int d = threadIdx.x; d < D; d += blockDim.x) {
            float d_scaled = d_normed[d] * weights[O_NORM1 + d];
            float through = scale * (d_scaled - (e[d] - mean) * along) - shift;
            gradient[O_EMBEDDING + token * D + d] = p.d_stream[((size_t)r * K + token) * D + d] + through;
        }
    }
}

// Four numbers of a list.
__device__ __forceinline__ float4 four_of(const float *from) { return *(const float4 *)from; }

// Adam's step of one weight, `kept` the share of it that its decay leaves.
__device__ __forceinline__ void moved(float &weight, float &mean, float &second, float gradient,
                                      const Call &c, float step, float root, float kept) {
    float beta1 = (float)c.beta1, beta2 = (float)c.beta2;
    mean = beta1 * mean + (1 - beta1) * gradient;
    second = beta2 * second + (1 - beta2) * gradient * gradient;
    weight = kept * weight - step * mean / (sqrtf(second) * root + c.adam_epsilon);
}

// 16 weights of a thread and what Adam remembers of them, four at a time at their places.
struct Sixteen {
    float4 weight[4], mean[4], second[4];
};

// Reads them before their gradients are made, so that the memory is at work meanwhile.
__device__ __forceinline__ Sixteen fetched(const Fleet &p, const Call &c, int r, const int (&place)[4]) {
    Sixteen w = {};
    if (c.measure) return w;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        size_t at = (size_t)r * P + max(place[i], 0);
        w.weight[i] = four_of(p.weights + at);
        w.mean[i] = four_of(p.mean + at);
        w.second[i] = four_of(p.second + at);
    }
    return w;
}

__device__ __forceinline__ float squares(const int (&place)[4], const float4 (&gradient)[4]) {
    float square = 0;
#pragma unroll
    for (int i = 0; i < 4; i++)
        if (place[i] >= 0)
            square += gradient[i].x * gradient[i].x + gradient[i].y * gradient[i].y +
                      gradient[i].z * gradient[i].z + gradient[i].w * gradient[i].w;
    return square;
}

__device__ __forceinline__ void scale(float4 (&gradient)[4], float by) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
        gradient[i].x *= by;
        gradient[i].y *= by;
        gradient[i].z *= by;
        gradient[i].w *= by;
    }
}

// Gathers gradients and makes the updates. Returns the squares of the batch's gradients; where the
// norm is measured, of those that Adam is to get.
__device__ __forceinline__ float update(const Fleet &p, const Call &c, int r, const int (&place)[4],
                                        float4 (&gradient)[4], Sixteen &w) {
    float square = squares(place, gradient);
    size_t model = (size_t)r * P;
    if (c.write_only) {
#pragma unroll
        for (int i = 0; i < 4; i++)
            if (place[i] >= 0) *(float4 *)(p.gradient + model + place[i]) = gradient[i];
        return square;
    }
    const float *adam = p.adam + r * ADAM;
    float step = adam[A_STEP], root = adam[A_ROOT], factor = adam[A_FACTOR], kept = adam[A_KEPT];
    bool apply = adam[A_APPLY] != 0;
    if (p.gathered) {
#pragma unroll
        for (int i = 0; i < 4; i++)
            if (place[i] >= 0) {
                float4 *at = (float4 *)(p.gathered + model + place[i]), sum = *at;
                sum.x += gradient[i].x;
                sum.y += gradient[i].y;
                sum.z += gradient[i].z;
                sum.w += gradient[i].w;
                gradient[i].x = sum.x * factor;
                gradient[i].y = sum.y * factor;
                gradient[i].z = sum.z * factor;
                gradient[i].w = sum.w * factor;
                if (apply) sum.x = sum.y = sum.z = sum.w = 0;
                if (!c.measure) *at = sum;
            }
    }
    if (c.measure) return squares(place, gradient);
    if (!apply) return square;
    if (c.clip_norm > 0) scale(gradient, adam[A_CLIP]);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        moved(w.weight[i].x, w.mean[i].x, w.second[i].x, gradient[i].x, c, step, root, kept);
        moved(w.weight[i].y, w.mean[i].y, w.second[i].y, gradient[i].y, c, step, root, kept);
        moved(w.weight[i].z, w.mean[i].z, w.second[i].z, gradient[i].z, c, step, root, kept);
        moved(w.weight[i].w, w.mean[i].w, w.second[i].w, gradient[i].w, c, step, root, kept);
        if (place[i] < 0) continue;
        size_t at = model + place[i];
        *(float4 *)(p.weights + at) = w.weight[i];
        *(float4 *)(p.mean + at) = w.mean[i];
        *(float4 *)(p.second + at) = w.second[i];
#if BF16
        if (place[i] >= O_DOWN && place[i] < O_DOWN + FF * D) {
            int k = (place[i] - O_DOWN) / D, n = (place[i] - O_DOWN) % D;
            u32 *to = (u32 *)(p.down_tiles + (size_t)r * FF * D + (k / 64) * (64 * D) + tile_place(k % 64, n));
            to[0] = pack_bf16(w.weight[i].x, w.weight[i].y);
            to[1] = pack_bf16(w.weight[i].z, w.weight[i].w);
        }
#endif
    }
    return square;
}

// A matrix is updated in tiles of 4,096 weights; wide ones are in longer pieces in memory.
#define TILE_COLUMNS (D % 256 == 0 && FF % 256 == 0 ? 256 : 64)
#define TILE_ROWS (4096 / TILE_COLUMNS)
#define UP_TILES (D * FF / 4096)
#define SQUARE_TILES (D * D / 4096)
#define DOWN_BLOCKS (FF * D / 4096)

// Blocks of 256 threads over all weights, 4,096 each: a tile of a matrix whose gradient is a product
// of few rows, which is made here and never stored; or stored gradients.
extern "C" __global__ void adam(const Fleet p, const Call c) {
    after_previous();
    int r = blockIdx.y, block = blockIdx.x, column = threadIdx.x % TILE_COLUMNS, group = threadIdx.x / TILE_COLUMNS;
    __shared__ __align__(16) float left[TILE_ROWS][40]; // 40 features at a time, or all tokens
    __shared__ __align__(16) float tile[TILE_ROWS][TILE_COLUMNS];
    __shared__ float scratch[32];
    int place[4];
    float4 gradient[4];
    Sixteen w;
    if (block < UP_TILES) {
        int first = block / (FF / TILE_COLUMNS) * TILE_ROWS, unit = block % (FF / TILE_COLUMNS) * TILE_COLUMNS;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int four = threadIdx.x + 256 * i;
            place[i] = O_UP + (first + four / (TILE_COLUMNS / 4)) * FF + unit + four % (TILE_COLUMNS / 4) * 4;
        }
        w = fetched(p, c, r, place);
        for (int from = 0; from < K; from += 40) {
            __syncthreads();
            for (int i = threadIdx.x; i < TILE_ROWS * 40; i += blockDim.x) {
                int row = i % TILE_ROWS, k = i / TILE_ROWS;
                left[row][k] = p.weighted[((size_t)r * K + from + k) * D + first + row];
            }
            float right[40];
#pragma unroll
            for (int k = 0; k < 40; k++) right[k] = 0;
            for (int part = 0; part < UP_PARTS; part++) {
                const float *d_up = p.d_up + (((size_t)r * UP_PARTS + part) * FF + unit + column) * K + from;
#pragma unroll
                for (int k = 0; k < 40; k += 4) {
                    float4 four = four_of(d_up + k);
                    right[k] += four.x, right[k + 1] += four.y, right[k + 2] += four.z, right[k + 3] += four.w;
                }
            }
            __syncthreads();
            for (int row = group * 16; row < group * 16 + 16; row++) {
                float sum = from ? tile[row][column] : 0.0f;
#pragma unroll
                for (int k = 0; k < 40; k += 4) {
                    float4 four = four_of(&left[row][k]);
                    sum += four.x * right[k] + four.y * right[k + 1] + four.z * right[k + 2] + four.w * right[k + 3];
                }
                tile[row][column] = sum;
            }
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int four = threadIdx.x + 256 * i;
            gradient[i] = four_of(&tile[four / (TILE_COLUMNS / 4)][four % (TILE_COLUMNS / 4) * 4]);
        }
    } else if (block < UP_TILES + 4 * SQUARE_TILES) {
        int which = (block - UP_TILES) / SQUARE_TILES, at = (block - UP_TILES) % SQUARE_TILES;
        int first = at / (D / TILE_COLUMNS) * TILE_ROWS, start = at % (D / TILE_COLUMNS) * TILE_COLUMNS;
        int matrix = which == 0 ? O_QUERY : which == 1 ? O_KEY : which == 2 ? O_VALUE : O_OUTPUT;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int four = threadIdx.x + 256 * i;
            place[i] = matrix + (first + four / (TILE_COLUMNS / 4)) * D + start + four % (TILE_COLUMNS / 4) * 4;
        }
        w = fetched(p, c, r, place);
        // Queries, keys, values: normed^T d; the output matrix: value^T d_stream of the row's head.
        const float *across = which < 3 ? p.normed + (size_t)r * V * D : p.qkv + ((size_t)r * 3 + 2) * V * D;
        for (int i = threadIdx.x; i < TILE_ROWS * V; i += blockDim.x)
            left[i % TILE_ROWS][i / TILE_ROWS] = across[(i / TILE_ROWS) * D + first + i % TILE_ROWS];
        __syncthreads();
        float right[V];
        for (int row = group * 16; row < group * 16 + 16; row++) {
            if (row == group * 16 || (which == 3 && (first + row) % W == 0)) {
                const float *from = which < 3 ? p.d_qkv + ((size_t)r * 3 + which) * V * D
                                              : p.d_stream + ((size_t)r * K + (1 + (first + row) / W) * V) * D;
#pragma unroll
                for (int b = 0; b < V; b++) right[b] = from[b * D + start + column];
            }
            float sum = 0;
#pragma unroll
            for (int b = 0; b < V; b++) sum += left[row][b] * right[b];
            tile[row][column] = sum;
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int four = threadIdx.x + 256 * i;
            gradient[i] = four_of(&tile[four / (TILE_COLUMNS / 4)][four % (TILE_COLUMNS / 4) * 4]);
        }
    } else {
        int stored = (block - UP_TILES - 4 * SQUARE_TILES) * 4096;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int at = stored + (threadIdx.x + 256 * i) * 4;
            int small = at - FF * D;
            place[i] = small < 0                ? O_DOWN + at
                       : small < V * D + D      ? O_EMBEDDING + small // and norm1, which follows it
                       : small < V * D + 2 * D  ? O_NORM2 + small - V * D - D
                       : small < 2 * V * D + 3 * D ? O_NORM3 + small - V * D - 2 * D // and the head
                                                   : -1;
            gradient[i] = four_of(p.gradient + (size_t)r * P + max(place[i], 0));
        }
        w = fetched(p, c, r, place);
    }
    float total = block_sum(update(p, c, r, place, gradient, w), scratch);
    if (threadIdx.x == 0) p.norm_parts[(size_t)r * gridDim.x + block] = total;
}

// The norm of the gradient: on record, or what it is clipped by.
extern "C" __global__ void gradient_norm(const Fleet p, const Call c) {
    after_previous();
    __shared__ float scratch[32];
    int r = blockIdx.x;
    float sum = 0;
    for (int i = threadIdx.x; i < c.n; i += blockDim.x) sum += p.norm_parts[(size_t)r * c.n + i];
    sum = block_sum(sum, scratch);
    if (threadIdx.x) return;
    float norm = sqrtf(sum);
    if (c.measure)
        p.adam[r * ADAM + A_CLIP] = norm > c.clip_norm ? c.clip_norm / norm : 1.0f;
    else if (recorded(c))
        p.record[r * RECORD + R_NORM] = norm;
}
