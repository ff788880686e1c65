// From the logits back to the tables, and from the tables to the weights.

#define PAIRS (D / 64) // a lane of a warp holds columns 64 i + 2 lane and the next, i < PAIRS

// From the logits to the stream, a warp a token; and out^T (scale d_logits), from which the
// gradients of the head and the last norm follow.
extern "C" __global__ void head_backward(const Fleet p, const Call c) {
    int part = blockIdx.x, r = blockIdx.y, warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    __shared__ float logit[V][D];
    __shared__ float sums[V][D];
    for (int i = threadIdx.x; i < V * D; i += blockDim.x) {
        logit[i / D][i % D] = p.logit[(size_t)r * V * D + i];
        sums[i / D][i % D] = 0;
    }
    __syncthreads();
    Rows rows = rows_of(p, r, 0);
    int padded = BF16 ? (rows.count + 63) / 64 * 64 : rows.count;
    int each = (padded + HEAD_PARTS - 1) / HEAD_PARTS;
    int last = min(padded, (part + 1) * each);
    float product[V][2 * PAIRS];
#pragma unroll
    for (int a = 0; a < V; a++)
#pragma unroll
        for (int i = 0; i < 2 * PAIRS; i++) product[a][i] = 0;
    for (int row = part * each + warp; row < last; row += blockDim.x >> 5) {
        size_t at = (size_t)r * NT + row;
#if BF16
        if (row >= rows.count) { // rows that only fill the last tile
            for (int i = 0; i < PAIRS; i++)
                ((u32 *)p.d_out)[row_tile_place(at, 64 * i + 2 * lane) / 2] = 0;
            if (lane < 8) ((uint4 *)p.features)[at * 8 + lane] = make_uint4(0, 0, 0, 0);
            if (lane == 0) p.scale2[at] = 0;
            continue;
        }
#endif
        float d_logits[V], out[2 * PAIRS], d_normed[2 * PAIRS];
        logit_gradient(p, c, r, row, d_logits);
        float scale = p.scale3[at], along = 0, sum = 0;
#pragma unroll
        for (int i = 0; i < PAIRS; i++) {
            int column = 64 * i + 2 * lane;
#if BF16
            u32 pair = ((const u32 *)p.out)[(at * D + column) / 2];
            out[2 * i] = bf16_to_float(pair & 0xffff);
            out[2 * i + 1] = bf16_to_float(pair >> 16);
#else
            float2 pair = *(const float2 *)((const float *)p.out + at * D + column);
            out[2 * i] = pair.x;
            out[2 * i + 1] = pair.y;
#endif
            float one = 0, two = 0;
#pragma unroll
            for (int a = 0; a < V; a++) {
                float2 both = *(const float2 *)&logit[a][column];
                one += both.x * d_logits[a];
                two += both.y * d_logits[a];
                float scaled = scale * d_logits[a];
                product[a][2 * i] += out[2 * i] * scaled;
                product[a][2 * i + 1] += out[2 * i + 1] * scaled;
            }
            d_normed[2 * i] = one;
            d_normed[2 * i + 1] = two;
            along += one * out[2 * i] + two * out[2 * i + 1];
            sum += one + two;
        }
        for (int offset = 16; offset; offset >>= 1) {
            along += __shfl_xor_sync(~0u, along, offset);
            sum += __shfl_xor_sync(~0u, sum, offset);
        }
        along *= scale * scale / D;
        float mean = LAYER ? scale * sum / D : 0.0f; // out is without its mean then
#pragma unroll
        for (int i = 0; i < PAIRS; i++) {
            int column = 64 * i + 2 * lane;
            float one = scale * (d_normed[2 * i] - out[2 * i] * along) - mean;
            float two = scale * (d_normed[2 * i + 1] - out[2 * i + 1] * along) - mean;
#if BF16
            ((u32 *)p.d_out)[row_tile_place(at, column) / 2] = pack_bf16(one, two);
#else
            *(float2 *)((float *)p.d_out + at * D + column) = make_float2(one, two);
#endif
        }
    }
    // One warp after the other, so that the order of the sum is fixed.
    for (int w = 0; w < blockDim.x >> 5; w++) {
        if (w == warp)
            for (int a = 0; a < V; a++)
                for (int i = 0; i < PAIRS; i++) {
                    sums[a][64 * i + 2 * lane] += product[a][2 * i];
                    sums[a][64 * i + 2 * lane + 1] += product[a][2 * i + 1];
                }
        __syncthreads();
    }
    float *to = p.head_parts + ((size_t)r * HEAD_PARTS + part) * D * V;
    for (int i = threadIdx.x; i < V * D; i += blockDim.x) to[(i % D) * V + i / D] = sums[i / D][i % D];
}

// From the MLP's input to the features: adds up what the parts of the MLP returned, takes the
// norm's scale into account, and leaves the attention's share less its mean over every head.
extern "C" __global__ void features_backward(const Fleet p, const Call c) {
    int part = blockIdx.x, r = blockIdx.y, warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    __shared__ float gram[K][K + 1];
    __shared__ float f[64][K + 1], d_mlp[64][K + 1], d_direct[64][K + 1], along[64];
    for (int i = threadIdx.x; i < K * K; i += blockDim.x)
        gram[i / K][i % K] = p.gram[(size_t)r * K * K + i];
    int tokens = rows_of(p, r, 0).count, tiles = (tokens + 63) / 64;
    int each = (tiles + FEATURE_PARTS - 1) / FEATURE_PARTS;
    float sums[SQUARE_EACH];
#pragma unroll
    for (int i = 0; i < SQUARE_EACH; i++) sums[i] = 0;
    for (int tile = part * each; tile < min(tiles, (part + 1) * each); tile++) {
        __syncthreads();
        for (int i = threadIdx.x; i < 64 * K / 2; i += blockDim.x) {
            int row = i / (K / 2), k = i % (K / 2) * 2;
            size_t at = (size_t)r * NT + tile * 64 + row;
            float2 mlp = make_float2(0, 0), direct = mlp, own = mlp;
            if (tile * 64 + row < tokens) {
#if BF16
                const u16 *from = (const u16 *)p.d_features +
                                  ((size_t)r * (FF / 64 + 1) * NT + tile * 64 + row) * K + k;
#pragma unroll
                for (int chunk = 0; chunk < FF / 64; chunk++) {
                    u32 pair = *(const u32 *)(from + (size_t)chunk * NT * K);
                    mlp.x += bf16_to_float(pair & 0xffff);
                    mlp.y += bf16_to_float(pair >> 16);
                }
                u32 pair = *(const u32 *)(from + (size_t)(FF / 64) * NT * K);
                direct = make_float2(bf16_to_float(pair & 0xffff), bf16_to_float(pair >> 16));
                int chunk = (k / 8) ^ (row & 7);
                pair = ((const u32 *)p.features)[at * 32 + chunk * 4 + k % 8 / 2];
                own = make_float2(bf16_to_float(pair & 0xffff), bf16_to_float(pair >> 16));
#else
                const float *from =
                    (const float *)p.d_features + ((size_t)r * 2 * NT + tile * 64 + row) * K + k;
                mlp = make_float2(from[0], from[1]);
                direct = make_float2(from[(size_t)NT * K], from[(size_t)NT * K + 1]);
                const float *feature = (const float *)p.features + at * K + k;
                own = make_float2(feature[0], feature[1]);
#endif
            }
            f[row][k] = own.x;
            f[row][k + 1] = own.y;
            d_mlp[row][k] = mlp.x;
            d_mlp[row][k + 1] = mlp.y;
            d_direct[row][k] = direct.x;
            d_direct[row][k + 1] = direct.y;
        }
        __syncthreads();
        if (threadIdx.x < 64) {
            int row = threadIdx.x;
            float dot = 0, scale = 0;
            for (int k = 0; k < K; k++) dot += f[row][k] * d_mlp[row][k];
            if (tile * 64 + row < tokens) scale = p.scale2[(size_t)r * NT + tile * 64 + row];
            along[row] = -scale * scale * dot / D;
        }
        __syncthreads();
        for (int row = warp; row < 64 && tile * 64 + row < tokens; row += blockDim.x >> 5)
            for (int k = lane; k < H * V; k += 32) {
                float sum = 0;
                for (int j = 0; j < K; j++) sum += f[row][j] * gram[j][V + k];
                float d = d_mlp[row][V + k] + d_direct[row][V + k] + along[row] * sum;
                float mean = d * f[row][V + k];
                for (int offset = V / 2; offset; offset >>= 1)
                    mean += __shfl_xor_sync(~0u, mean, offset);
                p.d_attention[((size_t)r * NT + tile * 64 + row) * H * V + k] = d - mean;
            }
        for (int row = 0; row < 64; row++) {
            float factor = along[row];
#pragma unroll
            for (int i = 0; i < SQUARE_EACH; i++) {
                int entry = threadIdx.x + i * 256;
                if (entry < K * K) sums[i] += factor * f[row][entry / K] * f[row][entry % K];
            }
        }
    }
    float *to = p.square_parts + ((size_t)r * FEATURE_PARTS + part) * K * K;
#pragma unroll
    for (int i = 0; i < SQUARE_EACH; i++)
        if (threadIdx.x + i * 256 < K * K) to[threadIdx.x + i * 256] = sums[i];
}

// From the attention weights to the scores: a table of every warp's own, its lanes on keys that
// never share an entry, so that no order is left to chance.
extern "C" __global__ void attention_backward(const Fleet p, const Call c) {
    int part = blockIdx.x, head = blockIdx.y, r = blockIdx.z;
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    DYNAMIC_SHARED(float, shared); // scores, then a gradient for every warp
    const int size = V * V * ND;
    float *own = shared + (1 + warp) * size;
    const float *from = p.scores + ((size_t)r * H + head) * size;
    for (int i = threadIdx.x; i < size; i += blockDim.x) shared[i] = from[i];
    for (int i = lane; i < size; i += 32) own[i] = 0;
    __syncthreads();
    const int *starts = p.starts + r * (CAP + 1);
    int tokens = starts[CAP], warps = ATTENTION_PARTS * ATTENTION_WARPS;
    int each = (tokens + warps - 1) / warps, first = (part * ATTENTION_WARPS + warp) * each;
    int last = min(tokens, first + each), t = 1;
    for (int row = first; row < last; row++) {
        while (row >= starts[t]) t++;
        int b = row - starts[t - 1];
        const u8 *x = p.x + ((size_t)r * S + b) * XS, *y = p.y + ((size_t)r * S + b) * XS;
        Gaze g = gaze(x, y, p.lengths[r * S + b], t);
        size_t at = (size_t)r * NT + row;
        float lse = p.lse[at * H + head];
        const float *d = p.d_attention + at * H * V + head * V;
        for (int key = lane; key < g.inputs; key += 32) {
            int token = x[key];
            int place = (g.query * V + token) * ND + g.from - (X_START + X_STEP * key);
            own[place] += __expf(shared[place] - lse) * d[token];
        }
        __syncwarp();
        for (int s = FIRST_Y + lane; s < t; s += 32) {
            int token = s == 0 ? SEP : y[s - 1];
            int place = (g.query * V + token) * ND + g.from - (g.y_start + Y_STEP * s);
            own[place] += __expf(shared[place] - lse) * d[token];
        }
        __syncwarp();
    }
    __syncthreads();
    float *to = p.d_scores_parts + (((size_t)r * ATTENTION_PARTS + part) * H + head) * size;
    for (int i = threadIdx.x; i < size; i += blockDim.x) {
        float sum = 0;
        for (int w = 0; w < ATTENTION_WARPS; w++) sum += shared[(1 + w) * size + i];
        to[i] = sum;
    }
}

// From the scores to queries and keys.
extern "C" __global__ void scores_backward(const Fleet p, const Call c) {
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

// d_up U^T: 32 columns of the width a block.
extern "C" __global__ void weighted_backward(const Fleet p, const Call c) {
    int first = blockIdx.x * 32, r = blockIdx.y, d = threadIdx.x & 31, group = threadIdx.x >> 5;
    __shared__ float up[32][33];
    __shared__ float d_up[32][K];
    const float *weights = p.weights + (size_t)r * P + O_UP;
    float sum[K / 8];
#pragma unroll
    for (int i = 0; i < K / 8; i++) sum[i] = 0;
    for (int unit = 0; unit < FF; unit += 32) {
        __syncthreads();
        for (int i = threadIdx.x; i < 1024; i += blockDim.x)
            up[i / 32][i % 32] = weights[(size_t)(first + i / 32) * FF + unit + i % 32];
        for (int i = threadIdx.x; i < 32 * K; i += blockDim.x)
            d_up[i / K][i % K] = p.d_up[((size_t)r * FF + unit) * K + i];
        __syncthreads();
#pragma unroll 8
        for (int j = 0; j < 32; j++)
#pragma unroll
            for (int i = 0; i < K / 8; i++) sum[i] += up[d][j] * d_up[j][group + 8 * i];
    }
#pragma unroll
    for (int i = 0; i < K / 8; i++)
        p.d_weighted[((size_t)r * K + group + 8 * i) * D + first + d] = sum[i];
}

// Everything that reaches M: a block for every 8 rows; and the gradients of g2 and of the
// embedding as part of M.
extern "C" __global__ void stream_total(const Fleet p, const Call c) {
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
        d_centred[i] += p.d_weighted[((size_t)r * K + row) * D + d] * g2[d];
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

// From values through the output matrix to values: a block a head, a warp a row of the matrix.
extern "C" __global__ void value_backward(const Fleet p, const Call c) {
    int head = blockIdx.x, r = blockIdx.y, warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    __shared__ float d_rows[V][D];
    const float *from = p.d_stream + ((size_t)r * K + (1 + head) * V) * D;
    for (int i = threadIdx.x; i < V * D; i += blockDim.x) d_rows[i / D][i % D] = from[i];
    __syncthreads();
    const float *w = p.weights + (size_t)r * P + O_OUTPUT + (size_t)head * W * D;
    for (int i = warp; i < W; i += blockDim.x >> 5) {
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
    int r = blockIdx.y, warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    DYNAMIC_SHARED(float, d_qkv); // [3][V][D]
    for (int i = threadIdx.x; i < 3 * V * D; i += blockDim.x) d_qkv[i] = p.d_qkv[(size_t)r * 3 * V * D + i];
    __syncthreads();
    for (int row = blockIdx.x * 32 + warp; row < blockIdx.x * 32 + 32; row += blockDim.x >> 5) {
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

// One weight: its gradient gathered, its update made. Returns the square of the gradient.
__device__ __forceinline__ float update(const Fleet &p, const Call &c, int r, int i, float gradient) {
    size_t at = (size_t)r * P + i;
    if (c.write_only) {
        p.gradient[at] = gradient;
        return gradient * gradient;
    }
    float step = p.adam[r * 4], root = p.adam[r * 4 + 1], square = gradient * gradient;
    bool apply = p.adam[r * 4 + 3] != 0;
    if (p.gathered) {
        float sum = p.gathered[at] + gradient;
        p.gathered[at] = apply ? 0.0f : sum;
        gradient = sum * p.adam[r * 4 + 2];
    }
    if (!apply) return square;
    float beta1 = (float)c.beta1, beta2 = (float)c.beta2;
    float mean = beta1 * p.mean[at] + (1 - beta1) * gradient;
    float second = beta2 * p.second[at] + (1 - beta2) * gradient * gradient;
    p.mean[at] = mean;
    p.second[at] = second;
    float weight = p.weights[at] - step * mean / (sqrtf(second) * root + c.adam_epsilon);
    p.weights[at] = weight;
#if BF16
    if (i >= O_DOWN && i < O_DOWN + FF * D) {
        int k = (i - O_DOWN) / D, n = (i - O_DOWN) % D;
        p.down_tiles[(size_t)r * FF * D + (k / 64) * (64 * D) + tile_place(k % 64, n)] =
            float_to_bf16(weight);
    }
#endif
    return square;
}

// Blocks of 256 threads over all weights: 16 rows by 256 columns of a matrix whose gradient is a
// product of few rows, which is made here and never stored; or 4,096 stored gradients.
#define TILES(rows, columns) (((rows) / 16) * (((columns) + 255) / 256))
extern "C" __global__ void adam(const Fleet p, const Call c) {
    int r = blockIdx.y, block = blockIdx.x;
    __shared__ float left[16][K + 1];
    __shared__ float scratch[32];
    float sum = 0;
    if (block < TILES(D, FF)) {
        int unit = block % ((FF + 255) / 256) * 256 + threadIdx.x, first = block / ((FF + 255) / 256) * 16;
        for (int i = threadIdx.x; i < 16 * K; i += blockDim.x)
            left[i % 16][i / 16] = p.weighted[((size_t)r * K + i / 16) * D + first + i % 16];
        __syncthreads();
        if (unit < FF) {
            float right[K];
#pragma unroll
            for (int k = 0; k < K; k++) right[k] = p.d_up[((size_t)r * FF + unit) * K + k];
            for (int row = 0; row < 16; row++) {
                float gradient = 0;
#pragma unroll
                for (int k = 0; k < K; k++) gradient += left[row][k] * right[k];
                sum += update(p, c, r, O_UP + (first + row) * FF + unit, gradient);
            }
        }
    } else if (block < TILES(D, FF) + 4 * TILES(D, D)) {
        int tile = block - TILES(D, FF), which = tile / TILES(D, D);
        tile %= TILES(D, D);
        int column = tile % ((D + 255) / 256) * 256 + threadIdx.x, first = tile / ((D + 255) / 256) * 16;
        // Queries, keys, values: normed^T d; the output matrix: value^T d_stream of the row's head.
        const float *across = p.qkv + ((size_t)r * 3 + 2) * V * D;
        for (int i = threadIdx.x; i < 16 * V; i += blockDim.x)
            left[i % 16][i / 16] = (which < 3 ? p.normed + (size_t)r * V * D : across)[(i / 16) * D + first + i % 16];
        __syncthreads();
        if (column < D) {
            int place = which == 0 ? O_QUERY : which == 1 ? O_KEY : which == 2 ? O_VALUE : O_OUTPUT;
            const float *from = which < 3 ? p.d_qkv + ((size_t)r * 3 + which) * V * D
                                          : p.d_stream + ((size_t)r * K + (1 + first / W) * V) * D;
            float right[V];
#pragma unroll
            for (int b = 0; b < V; b++) right[b] = from[b * D + column];
            for (int row = 0; row < 16; row++) {
                float gradient = 0;
#pragma unroll
                for (int b = 0; b < V; b++) gradient += left[row][b] * right[b];
                sum += update(p, c, r, place + (first + row) * D + column, gradient);
            }
        }
    } else if (block < TILES(D, FF) + 4 * TILES(D, D) + FF * D / 4096) {
        int first = (block - TILES(D, FF) - 4 * TILES(D, D)) * 4096;
        for (int i = threadIdx.x; i < 4096; i += blockDim.x)
            sum += update(p, c, r, O_DOWN + first + i, p.gradient[(size_t)r * P + O_DOWN + first + i]);
    } else {
        for (int i = threadIdx.x; i < 2 * V * D + 3 * D; i += blockDim.x) {
            int at = i < V * D           ? O_EMBEDDING + i
                     : i < V * D + D     ? O_NORM1 + i - V * D
                     : i < V * D + 2 * D ? O_NORM2 + i - V * D - D
                     : i < V * D + 3 * D ? O_NORM3 + i - V * D - 2 * D
                                         : O_HEAD + i - V * D - 3 * D;
            sum += update(p, c, r, at, p.gradient[(size_t)r * P + at]);
        }
    }
    float total = block_sum(sum, scratch);
    if (threadIdx.x == 0) p.norm_parts[(size_t)r * gridDim.x + block] = total;
}

// The norm of the gradient.
extern "C" __global__ void gradient_norm(const Fleet p, const Call c) {
    __shared__ float scratch[32];
    int r = blockIdx.x;
    float sum = 0;
    for (int i = threadIdx.x; i < c.n; i += blockDim.x) sum += p.norm_parts[(size_t)r * c.n + i];
    sum = block_sum(sum, scratch);
    if (threadIdx.x == 0 && recorded(c)) p.record[r * 4 + 3] = sqrtf(sum);
}
