// From the logits back to the tables, and from the tables to the weights.

#define PAIRS (D / 64) // a lane of a warp holds columns 64 i + 2 lane and the next, i < PAIRS

// Two numbers of the stream after the MLP.
__device__ __forceinline__ float2 out_pair(const Fleet &p, size_t row, int column) {
#if BF16
    u32 pair = ((const u32 *)p.out)[(row * D + column) / 2];
    return make_float2(bf16_to_float(pair & 0xffff), bf16_to_float(pair >> 16));
#else
    return *(const float2 *)((const float *)p.out + row * D + column);
#endif
}

// One token of head_backward, all lanes together.
__device__ __forceinline__ void head_row(const Fleet &p, int q, size_t at, bool valid, float scale,
                                         int lane, const float *d_logits, const float (&logit)[V][D]) {
#if BF16
    if (!valid) { // rows that only fill the last tile
        for (int i = 0; i < PAIRS; i++) ((u32 *)p.d_out)[row_tile_place(at, 64 * i + 2 * lane) / 2] = 0;
        if (lane < 8) ((uint4 *)p.features)[at * 8 + lane] = make_uint4(0, 0, 0, 0);
        if (lane == 0) p.scale2[at] = 0;
        return;
    }
#endif
    float2 out[PAIRS], d_normed[PAIRS];
    float along = 0, sum = 0;
#pragma unroll
    for (int i = 0; i < PAIRS; i++) {
        out[i] = out_pair(p, at, 64 * i + 2 * lane);
        d_normed[i] = make_float2(0, 0);
    }
#pragma unroll
    for (int a = 0; a < V; a++)
        if (a < q) {
            float d = d_logits[a];
#pragma unroll
            for (int i = 0; i < PAIRS; i++) {
                float2 both = *(const float2 *)&logit[a][64 * i + 2 * lane];
                d_normed[i].x += both.x * d;
                d_normed[i].y += both.y * d;
            }
        }
#pragma unroll
    for (int i = 0; i < PAIRS; i++) {
        along += d_normed[i].x * out[i].x + d_normed[i].y * out[i].y;
        sum += d_normed[i].x + d_normed[i].y;
    }
    for (int offset = 16; offset; offset >>= 1) {
        along += __shfl_xor_sync(~0u, along, offset);
        if (LAYER) sum += __shfl_xor_sync(~0u, sum, offset);
    }
    along *= scale * scale / D;
    float mean = LAYER ? scale * sum / D : 0.0f; // out is without its mean then
#pragma unroll
    for (int i = 0; i < PAIRS; i++) {
        float one = scale * (d_normed[i].x - out[i].x * along) - mean;
        float two = scale * (d_normed[i].y - out[i].y * along) - mean;
#if BF16
        ((u32 *)p.d_out)[row_tile_place(at, 64 * i + 2 * lane) / 2] = pack_bf16(one, two);
#else
        *(float2 *)((float *)p.d_out + at * D + 64 * i + 2 * lane) = make_float2(one, two);
#endif
    }
}

// From the logits to the stream, a warp for 32 tokens: first every lane does a token's logits, then
// all lanes do the tokens in turn, along the width.
extern "C" __global__ void head_backward(const Fleet p, const Call c) {
    int r = blockIdx.y, warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    __shared__ float logit[V][D];
    __shared__ float d_logits[8][32][V];
    for (int i = threadIdx.x; i < V * D; i += blockDim.x) logit[i / D][i % D] = p.logit[(size_t)r * V * D + i];
    __syncthreads();
    Rows rows = rows_of(p, r, 0);
    int q = p.q[r], padded = BF16 ? (rows.count + 63) / 64 * 64 : rows.count;
    for (int first = (blockIdx.x * 8 + warp) * 32; first < padded; first += gridDim.x * 8 * 32) {
        __syncwarp();
        float own_scale = 0;
        if (first + lane < rows.count) {
            size_t at = (size_t)r * NT + first + lane;
            own_scale = p.scale3[at];
            logit_gradient(p, c, r, first + lane, d_logits[warp][lane]);
#pragma unroll
            for (int a = 0; a < V; a++) p.d_logits[at * V + a] = own_scale * d_logits[warp][lane][a];
        }
        __syncwarp();
        int last = min(32, padded - first);
#pragma unroll 2
        for (int i = 0; i < last; i++) {
            float scale = __shfl_sync(~0u, own_scale, i);
            head_row(p, q, (size_t)r * NT + first + i, first + i < rows.count, scale, lane,
                     d_logits[warp][i], logit);
        }
    }
}

// out^T (scale d_logits), from which the gradients of the head and the last norm follow: a thread
// for two columns, the tokens in parts.
extern "C" __global__ void head_product(const Fleet p, const Call c) {
    int part = blockIdx.x, r = blockIdx.y, column = 2 * threadIdx.x;
    __shared__ __align__(16) float d_logits[64][V];
    int tokens = rows_of(p, r, 0).count, each = (tokens + HEAD_PARTS - 1) / HEAD_PARTS;
    int end = min(tokens, (part + 1) * each);
    float one[V], two[V];
#pragma unroll
    for (int a = 0; a < V; a++) one[a] = two[a] = 0;
    for (int first = part * each; first < end; first += 64) {
        int count = min(64, end - first);
        __syncthreads();
        for (int i = threadIdx.x; i < count * V; i += blockDim.x)
            d_logits[i / V][i % V] = p.d_logits[((size_t)r * NT + first) * V + i];
        __syncthreads();
#pragma unroll 8
        for (int i = 0; i < count; i++) {
            float2 out = out_pair(p, (size_t)r * NT + first + i, column);
#pragma unroll
            for (int a = 0; a < V; a++) {
                one[a] += out.x * d_logits[i][a];
                two[a] += out.y * d_logits[i][a];
            }
        }
    }
    float *to = p.head_parts + (((size_t)r * HEAD_PARTS + part) * D + column) * V;
#pragma unroll
    for (int a = 0; a < V; a++) {
        to[a] = one[a];
        to[V + a] = two[a];
    }
}

// Four numbers in bf16.
__device__ __forceinline__ float4 four_bf16(const u16 *from) {
    uint2 pairs = *(const uint2 *)from;
    return make_float4(bf16_to_float(pairs.x & 0xffff), bf16_to_float(pairs.x >> 16),
                       bf16_to_float(pairs.y & 0xffff), bf16_to_float(pairs.y >> 16));
}

// From the MLP's input to the features: adds up what the parts of the MLP returned, takes the
// norm's scale into account, and leaves the attention's share less its mean over every head. A lane
// for each of the H V = 32 attention features, with its column of M M^T in registers.
extern "C" __global__ void features_backward(const Fleet p, const Call c) {
    int part = blockIdx.x, r = blockIdx.y, warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    __shared__ __align__(16) float f[64][K + 4], d_mlp[64][K + 4], d_direct[64][K + 4];
    __shared__ float along[64];
    float gram[K];
#pragma unroll
    for (int j = 0; j < K; j++) gram[j] = p.gram[((size_t)r * K + j) * K + V + lane];
    int tokens = rows_of(p, r, 0).count, tiles = (tokens + 63) / 64;
    int si = threadIdx.x / (K / 4) * 2, sj = threadIdx.x % (K / 4) * 4; // two by four entries
    float sums[8];
#pragma unroll
    for (int i = 0; i < 8; i++) sums[i] = 0;
    for (int tile = part; tile < tiles; tile += FEATURE_PARTS) {
        __syncthreads();
        for (int i = threadIdx.x; i < 64 * K / 4; i += blockDim.x) {
            int row = i / (K / 4), k = i % (K / 4) * 4;
            float4 mlp = make_float4(0, 0, 0, 0), direct = mlp, own = mlp;
            if (tile * 64 + row < tokens) {
#if BF16
                size_t line = tile * 64 + row;
                const u16 *from = (const u16 *)p.d_features + ((size_t)r * (FF / 64 + 1) * NT + line) * K + k;
#pragma unroll
                for (int chunk = 0; chunk < FF / 64; chunk++) {
                    float4 four = four_bf16(from + (size_t)chunk * NT * K);
                    mlp.x += four.x, mlp.y += four.y, mlp.z += four.z, mlp.w += four.w;
                }
                direct = four_bf16(from + (size_t)(FF / 64) * NT * K);
                own = four_bf16((const u16 *)p.features + ((size_t)r * NT + line) * 64 +
                                (((k / 8) ^ (row & 7)) << 3) + (k & 7));
#else
                size_t line = tile * 64 + row;
                const float *from = (const float *)p.d_features + ((size_t)r * 2 * NT + line) * K + k;
                mlp = *(const float4 *)from;
                direct = *(const float4 *)(from + (size_t)NT * K);
                own = *(const float4 *)((const float *)p.features + ((size_t)r * NT + line) * K + k);
#endif
            }
            *(float4 *)&f[row][k] = own;
            *(float4 *)&d_mlp[row][k] = mlp;
            *(float4 *)&d_direct[row][k] = direct;
        }
        __syncthreads();
        {
            int row = threadIdx.x >> 2;
            float dot = 0;
            for (int k = threadIdx.x & 3; k < K; k += 4) dot += f[row][k] * d_mlp[row][k];
            dot += __shfl_xor_sync(~0u, dot, 1);
            dot += __shfl_xor_sync(~0u, dot, 2);
            float scale = tile * 64 + row < tokens ? p.scale2[(size_t)r * NT + tile * 64 + row] : 0.0f;
            if ((threadIdx.x & 3) == 0) along[row] = -scale * scale * dot / D;
        }
        __syncthreads();
        for (int row = warp * 8; row < warp * 8 + 8 && tile * 64 + row < tokens; row++) {
            float sum = 0;
#pragma unroll
            for (int j = 0; j < K; j += 4) {
                float4 four = *(const float4 *)&f[row][j];
                sum += four.x * gram[j] + four.y * gram[j + 1] + four.z * gram[j + 2] + four.w * gram[j + 3];
            }
            float d = d_mlp[row][V + lane] + d_direct[row][V + lane] + along[row] * sum;
            float mean = d * f[row][V + lane];
            for (int offset = V / 2; offset; offset >>= 1) mean += __shfl_xor_sync(~0u, mean, offset);
            p.d_attention[((size_t)r * NT + tile * 64 + row) * H * V + lane] = d - mean;
        }
        if (si < K)
            for (int row = 0; row < 64; row++) {
                float2 left = *(const float2 *)&f[row][si];
                float4 right = *(const float4 *)&f[row][sj];
                float one = left.x * along[row], two = left.y * along[row];
                sums[0] += one * right.x;
                sums[1] += one * right.y;
                sums[2] += one * right.z;
                sums[3] += one * right.w;
                sums[4] += two * right.x;
                sums[5] += two * right.y;
                sums[6] += two * right.z;
                sums[7] += two * right.w;
            }
    }
    if (si < K) {
        float *to = p.square_parts + ((size_t)r * FEATURE_PARTS + part) * K * K + si * K + sj;
#pragma unroll
        for (int i = 0; i < 8; i++) to[i / 4 * K + i % 4] = sums[i];
    }
}

// Byte `index` of a row of bytes that the lanes of a warp hold, 32 a word.
__device__ __forceinline__ int lane_byte(const u32 (&bytes)[XS / 32], int index) {
    int value = __shfl_sync(~0u, (int)bytes[0], index & 31);
#pragma unroll
    for (int w = 1; w < XS / 32; w++) {
        int other = __shfl_sync(~0u, (int)bytes[w], index & 31);
        if (index >> 5 == w) value = other;
    }
    return value;
}

// From the attention weights to the scores: a table of every warp's own, its lanes on keys that
// never share an entry, so that no order is left to chance. Tables are of the symbols in use and
// the separator, c.n tokens. Four rows are fetched at a time.
extern "C" __global__ void attention_backward(const Fleet p, const Call c) {
    int part = blockIdx.x, head = blockIdx.y, r = blockIdx.z;
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, used = c.n;
    DYNAMIC_SHARED(float, shared); // e^score, then a gradient for every warp
    __shared__ int starts[CAP + 1];
    const int size = used * used * ND;
    float *own = shared + (1 + warp) * size;
    const float *from = p.powers + ((size_t)r * H + head) * V * V * ND;
    for (int i = threadIdx.x; i < size; i += blockDim.x) {
        int a = i / (used * ND), b = i / ND % used;
        shared[i] = from[((a == used - 1 ? SEP : a) * V + (b == used - 1 ? SEP : b)) * ND + i % ND];
    }
    for (int i = threadIdx.x; i <= CAP; i += blockDim.x) starts[i] = p.starts[r * (CAP + 1) + i];
    for (int i = lane; i < size; i += 32) own[i] = 0;
    __syncthreads();
    int tokens = starts[CAP], warps = ATTENTION_PARTS * ATTENTION_WARPS;
    int each = (tokens + warps - 1) / warps, first = (part * ATTENTION_WARPS + warp) * each;
    int last = min(tokens, first + each), t = 1;
    for (int row = first; row < last; row += 4) {
        u32 x[4][XS / 32], y[4][XS / 32];
        int step[4], length[4];
        float share[4], d[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int at = min(row + i, last - 1);
            while (at >= starts[t]) t++;
            step[i] = t;
            int b = at - starts[t - 1];
            size_t inputs = ((size_t)r * S + b) * XS + lane, all = (size_t)r * NT + at;
#pragma unroll
            for (int w = 0; w < XS / 32; w++) {
                x[i][w] = p.x[inputs + 32 * w];
                y[i][w] = p.y[inputs + 32 * w];
            }
            length[i] = p.lengths[r * S + b];
            share[i] = p.shares[all * H + head];
            d[i] = row + i < last && lane < V ? p.d_attention[all * H * V + head * V + lane] : 0.0f;
        }
#pragma unroll
        for (int i = 0; i < 4; i++) {
            if (row + i >= last) break;
            int s = step[i], y_start = Y_IS_LENGTH ? length[i] : Y_START;
            int position = (QUERY_INPUT ? X_START + X_STEP * (s - 1) : y_start + Y_STEP * (s - 1)) - LEAST;
            int query = QUERY_INPUT ? lane_byte(x[i], s - 1) : s == 1 ? used - 1 : lane_byte(y[i], s - 2);
            int inputs = CAUSAL ? s : length[i], keys = inputs + s - FIRST_Y;
#pragma unroll
            for (int phase = 0; phase < 1 + COLLIDE; phase++) {
                int begin = phase ? inputs : 0, end = COLLIDE && !phase ? inputs : keys;
                for (int base = begin; base < end; base += 32) {
                    int key = base + lane, emitted = key - inputs + FIRST_Y; // y_s, when not an input
                    int as_input = lane_byte(x[i], min(key, XS - 1));
                    int as_output = lane_byte(y[i], max(0, min(emitted - 1, XS - 1)));
                    bool input = key < inputs;
                    int token = input ? as_input : emitted == 0 ? used - 1 : as_output;
                    float value = __shfl_sync(~0u, d[i], !input && emitted == 0 ? SEP : token);
                    int distance = position - (input ? X_START + X_STEP * key : y_start + Y_STEP * emitted);
                    if (key < end) {
                        int place = (query * used + token) * ND + distance;
                        float weight = shared[place] * share[i];
                        if (share[i] < 0) { // the powers are too small to tell
                            int a = query == used - 1 ? SEP : query, b = token == used - 1 ? SEP : token;
                            size_t table = ((size_t)r * H + head) * V * V * ND;
                            weight = __expf(p.scores[table + (a * V + b) * ND + distance] - share[i]);
                        }
                        own[place] += weight * value;
                    }
                    __syncwarp();
                }
            }
        }
    }
    __syncthreads();
    float *to = p.d_scores_parts + (((size_t)r * ATTENTION_PARTS + part) * H + head) * V * V * ND;
    for (int i = threadIdx.x; i < V * V * ND; i += blockDim.x) {
        int a = i / (V * ND), b = i / ND % V;
        a = a == SEP ? used - 1 : a < used - 1 ? a : -1;
        b = b == SEP ? used - 1 : b < used - 1 ? b : -1;
        float sum = 0;
        if (a >= 0 && b >= 0)
            for (int w = 0; w < ATTENTION_WARPS; w++) sum += shared[(1 + w) * size + (a * used + b) * ND + i % ND];
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

// d_up U^T: 64 columns of the width a block, the hidden units in parts; a thread has 4 columns and
// every eighth feature.
extern "C" __global__ void weighted_backward(const Fleet p, const Call c) {
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
        for (int i = threadIdx.x; i < 32 * K; i += 128) d_up[i / K][i % K] = p.d_up[((size_t)r * FF + unit) * K + i];
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

// Four numbers of a list.
__device__ __forceinline__ float4 four_of(const float *from) { return *(const float4 *)from; }

// Adam's step of one weight.
__device__ __forceinline__ void moved(float &weight, float &mean, float &second, float gradient,
                                      const Call &c, float step, float root) {
    float beta1 = (float)c.beta1, beta2 = (float)c.beta2;
    mean = beta1 * mean + (1 - beta1) * gradient;
    second = beta2 * second + (1 - beta2) * gradient * gradient;
    weight -= step * mean / (sqrtf(second) * root + c.adam_epsilon);
}

// 16 weights a thread, four at a time, each four at its place: gradients gathered, updates made.
// All reads come before all writes, so that many are on the way. Returns the gradients' squares.
__device__ __forceinline__ float update(const Fleet &p, const Call &c, int r, const int (&place)[4],
                                        float4 (&gradient)[4]) {
    float square = 0;
#pragma unroll
    for (int i = 0; i < 4; i++)
        if (place[i] >= 0)
            square += gradient[i].x * gradient[i].x + gradient[i].y * gradient[i].y +
                      gradient[i].z * gradient[i].z + gradient[i].w * gradient[i].w;
    size_t model = (size_t)r * P;
    if (c.write_only) {
#pragma unroll
        for (int i = 0; i < 4; i++)
            if (place[i] >= 0) *(float4 *)(p.gradient + model + place[i]) = gradient[i];
        return square;
    }
    float step = p.adam[r * 4], root = p.adam[r * 4 + 1], factor = p.adam[r * 4 + 2];
    bool apply = p.adam[r * 4 + 3] != 0;
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
                *at = sum;
            }
    }
    if (!apply) return square;
    float4 weight[4], mean[4], second[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        size_t at = model + max(place[i], 0);
        weight[i] = four_of(p.weights + at);
        mean[i] = four_of(p.mean + at);
        second[i] = four_of(p.second + at);
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        moved(weight[i].x, mean[i].x, second[i].x, gradient[i].x, c, step, root);
        moved(weight[i].y, mean[i].y, second[i].y, gradient[i].y, c, step, root);
        moved(weight[i].z, mean[i].z, second[i].z, gradient[i].z, c, step, root);
        moved(weight[i].w, mean[i].w, second[i].w, gradient[i].w, c, step, root);
        if (place[i] < 0) continue;
        size_t at = model + place[i];
        *(float4 *)(p.weights + at) = weight[i];
        *(float4 *)(p.mean + at) = mean[i];
        *(float4 *)(p.second + at) = second[i];
#if BF16
        if (place[i] >= O_DOWN && place[i] < O_DOWN + FF * D) {
            int k = (place[i] - O_DOWN) / D, n = (place[i] - O_DOWN) % D;
            u32 *to = (u32 *)(p.down_tiles + (size_t)r * FF * D + (k / 64) * (64 * D) + tile_place(k % 64, n));
            to[0] = pack_bf16(weight[i].x, weight[i].y);
            to[1] = pack_bf16(weight[i].z, weight[i].w);
        }
#endif
    }
    return square;
}

#define UP_TILES ((D / 64) * (FF / 64))
#define SQUARE_TILES ((D / 64) * (D / 64))
#define DOWN_BLOCKS (FF * D / 4096)

// Blocks of 256 threads over all weights, 4,096 each: 64 by 64 of a matrix whose gradient is a
// product of few rows, which is made here and never stored; or stored gradients.
extern "C" __global__ void adam(const Fleet p, const Call c) {
    int r = blockIdx.y, block = blockIdx.x, column = threadIdx.x & 63, group = threadIdx.x >> 6;
    __shared__ __align__(16) float left[64][K];
    __shared__ __align__(16) float tile[64][64];
    __shared__ float scratch[32];
    int place[4];
    float4 gradient[4];
    if (block < UP_TILES) {
        int first = block / (FF / 64) * 64, unit = block % (FF / 64) * 64;
        for (int i = threadIdx.x; i < 64 * K; i += blockDim.x)
            left[i % 64][i / 64] = p.weighted[((size_t)r * K + i / 64) * D + first + i % 64];
        float right[K];
        const float *from = p.d_up + ((size_t)r * FF + unit + column) * K;
#pragma unroll
        for (int k = 0; k < K; k += 4) {
            float4 four = four_of(from + k);
            right[k] = four.x, right[k + 1] = four.y, right[k + 2] = four.z, right[k + 3] = four.w;
        }
        __syncthreads();
        for (int row = group * 16; row < group * 16 + 16; row++) {
            float sum = 0;
#pragma unroll
            for (int k = 0; k < K; k += 4) {
                float4 four = four_of(&left[row][k]);
                sum += four.x * right[k] + four.y * right[k + 1] + four.z * right[k + 2] + four.w * right[k + 3];
            }
            tile[row][column] = sum;
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int four = threadIdx.x + 256 * i;
            gradient[i] = four_of(&tile[four / 16][four % 16 * 4]);
            place[i] = O_UP + (first + four / 16) * FF + unit + four % 16 * 4;
        }
    } else if (block < UP_TILES + 4 * SQUARE_TILES) {
        int which = (block - UP_TILES) / SQUARE_TILES, at = (block - UP_TILES) % SQUARE_TILES;
        int first = at / (D / 64) * 64, start = at % (D / 64) * 64;
        // Queries, keys, values: normed^T d; the output matrix: value^T d_stream of the row's head.
        const float *across = which < 3 ? p.normed + (size_t)r * V * D : p.qkv + ((size_t)r * 3 + 2) * V * D;
        for (int i = threadIdx.x; i < 64 * V; i += blockDim.x)
            left[i % 64][i / 64] = across[(i / 64) * D + first + i % 64];
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
        int matrix = which == 0 ? O_QUERY : which == 1 ? O_KEY : which == 2 ? O_VALUE : O_OUTPUT;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int four = threadIdx.x + 256 * i;
            gradient[i] = four_of(&tile[four / 16][four % 16 * 4]);
            place[i] = matrix + (first + four / 16) * D + start + four % 16 * 4;
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
    }
    float total = block_sum(update(p, c, r, place, gradient), scratch);
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
