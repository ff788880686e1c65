// From the logits back to the tables.

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
                                         int lane, const float *d_logits, const float *logit) {
#if BF16
    if (!valid) { // rows that only fill the last tile
        for (int i = 0; i < PAIRS; i++) ((u32 *)p.d_out)[row_tile_place(at, 64 * i + 2 * lane) / 2] = 0;
        if (lane < 8 * TILES) ((uint4 *)p.features)[feature_piece(at, lane)] = make_uint4(0, 0, 0, 0);
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
                float2 both = *(const float2 *)&logit[a * D + 64 * i + 2 * lane];
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
    after_previous();
    int r = blockIdx.y, warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    DYNAMIC_SHARED(float, logit); // [V][D]
    __shared__ float d_logits[8][32][V];
    for (int i = threadIdx.x; i < V * D; i += blockDim.x) logit[i] = p.logit[(size_t)r * V * D + i];
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
    after_previous();
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
// norm's scale into account, and leaves the attention's share less its mean over every head. A block for
// 32 of the H V attention features, a lane for each, with its column of M M^T in registers; it also sums
// 40 rows of f^T f.
extern "C" __global__ void __launch_bounds__(256, V == 8 ? 3 : 1) features_backward(const Fleet p, const Call c) {
    after_previous();
    int part = blockIdx.x, r = blockIdx.y, warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    int own_feature = V + 32 * blockIdx.z + lane;
    DYNAMIC_SHARED(float, shared); // three of [64][K + 4]
    float(*f)[K + 4] = (float(*)[K + 4])shared, (*d_mlp)[K + 4] = f + 64, (*d_direct)[K + 4] = f + 128;
    __shared__ float along[64];
    float gram[K];
#pragma unroll
    for (int j = 0; j < K; j++) gram[j] = p.gram[((size_t)r * K + j) * K + own_feature];
    int tokens = rows_of(p, r, 0).count, tiles = (tokens + 63) / 64;
    // Entries of f^T f, two by V / 2 a thread: K / 10 = V / 2 columns, and 40 rows a block.
    int si = 40 * blockIdx.z + threadIdx.x / 10 * 2, sj = threadIdx.x % 10 * (V / 2);
    float sums[2][V / 2];
#pragma unroll
    for (int i = 0; i < V / 2; i++) sums[0][i] = sums[1][i] = 0;
    for (int tile = part; tile < tiles; tile += FEATURE_PARTS) {
        __syncthreads();
        for (int i = threadIdx.x; i < 64 * K / 4; i += blockDim.x) {
            int row = i / (K / 4), k = i % (K / 4) * 4;
            float4 mlp = make_float4(0, 0, 0, 0), direct = mlp, own = mlp;
            if (tile * 64 + row < tokens) {
#if BF16
                size_t line = tile * 64 + row;
                const u16 *from = (const u16 *)p.d_features + ((size_t)r * (SHARES + 1) * NT + line) * K + k;
#pragma unroll
                for (int chunk = 0; chunk < SHARES; chunk++) {
                    float4 four = four_bf16(from + (size_t)chunk * NT * K);
                    mlp.x += four.x, mlp.y += four.y, mlp.z += four.z, mlp.w += four.w;
                }
                direct = four_bf16(from + (size_t)SHARES * NT * K);
                own = four_bf16((const u16 *)p.features + feature_place((size_t)r * NT + line, k));
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
            float d = d_mlp[row][own_feature] + d_direct[row][own_feature] + along[row] * sum;
            float mean = d * f[row][own_feature];
            for (int offset = V / 2; offset; offset >>= 1) mean += __shfl_xor_sync(~0u, mean, offset);
            p.d_attention[((size_t)r * NT + tile * 64 + row) * H * V + own_feature - V] = d - mean;
        }
        if (threadIdx.x < 200)
            for (int row = 0; row < 64; row++) {
                float2 left = *(const float2 *)&f[row][si];
                float one = left.x * along[row], two = left.y * along[row];
#pragma unroll
                for (int j = 0; j < V / 2; j += 4) {
                    float4 right = *(const float4 *)&f[row][sj + j];
                    sums[0][j] += one * right.x;
                    sums[0][j + 1] += one * right.y;
                    sums[0][j + 2] += one * right.z;
                    sums[0][j + 3] += one * right.w;
                    sums[1][j] += two * right.x;
                    sums[1][j + 1] += two * right.y;
                    sums[1][j + 2] += two * right.z;
                    sums[1][j + 3] += two * right.w;
                }
            }
    }
    if (threadIdx.x < 200) {
        float *to = p.square_parts + ((size_t)r * FEATURE_PARTS + part) * K * K + si * K + sj;
#pragma unroll
        for (int i = 0; i < V / 2; i++) to[i] = sums[0][i], to[K + i] = sums[1][i];
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
// the separator, USED tokens, for ATTENTION_HEADS heads. Four rows are fetched at a time.
extern "C" __global__ void attention_backward(const Fleet p, const Call c) {
    after_previous();
    int part = blockIdx.x, first_head = blockIdx.y * ATTENTION_HEADS, r = blockIdx.z;
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    const int size = USED * USED * ND, all_heads = ATTENTION_HEADS * size;
    DYNAMIC_SHARED(float, shared); // e^score, then a gradient for every warp
    __shared__ int starts[CAP + 1];
    float *own = shared + (1 + warp) * all_heads;
    const float *from = p.powers + ((size_t)r * H + first_head) * V * V * ND;
    for (int i = threadIdx.x; i < all_heads; i += blockDim.x) {
        int a = i / (USED * ND) % USED, b = i / ND % USED;
        a = a == USED - 1 ? SEP : a;
        b = b == USED - 1 ? SEP : b;
        shared[i] = from[((i / size * V + a) * V + b) * ND + i % ND];
    }
    for (int i = threadIdx.x; i <= CAP; i += blockDim.x) starts[i] = p.starts[r * (CAP + 1) + i];
    for (int i = lane; i < all_heads; i += 32) own[i] = 0;
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
            share[i] = p.shares[all * H + first_head + lane % ATTENTION_HEADS];
            d[i] = p.d_attention[all * H * V + first_head * V + lane % (ATTENTION_HEADS * V)];
        }
#pragma unroll
        for (int i = 0; i < 4; i++) {
            if (row + i >= last) break;
            int s = step[i], y_start = Y_IS_LENGTH ? length[i] : Y_START;
            int position = (QUERY_INPUT ? X_START + X_STEP * (s - 1) : y_start + Y_STEP * (s - 1)) - LEAST;
            int query = QUERY_INPUT ? lane_byte(x[i], s - 1) : s == 1 ? USED - 1 : lane_byte(y[i], s - 2);
            int inputs = CAUSAL ? s : length[i], keys = inputs + s - FIRST_Y;
#pragma unroll
            for (int phase = 0; phase < 1 + COLLIDE; phase++) {
                int begin = phase ? inputs : 0, end = COLLIDE && !phase ? inputs : keys;
                for (int base = begin; base < end; base += 32) {
                    int key = base + lane, emitted = key - inputs + FIRST_Y; // y_s, when not an input
                    int as_input = lane_byte(x[i], min(key, XS - 1));
                    int as_output = lane_byte(y[i], max(0, min(emitted - 1, XS - 1)));
                    bool input = key < inputs, separator = !input && emitted == 0;
                    int token = separator ? USED - 1 : input ? as_input : as_output;
                    int distance = position - (input ? X_START + X_STEP * key : y_start + Y_STEP * emitted);
                    int place = (query * USED + token) * ND + distance;
#pragma unroll
                    for (int head = 0; head < ATTENTION_HEADS; head++) {
                        float value = __shfl_sync(~0u, d[i], head * V + (separator ? SEP : token));
                        float own_share = __shfl_sync(~0u, share[i], head);
                        if (key < end) {
                            float weight = shared[head * size + place] * own_share;
                            if (own_share < 0) { // the powers are too small to tell
                                int a = query == USED - 1 ? SEP : query, b = separator ? SEP : token;
                                size_t table = ((size_t)r * H + first_head + head) * V * V * ND;
                                weight = __expf(p.scores[table + (a * V + b) * ND + distance] - own_share);
                            }
                            own[head * size + place] += weight * value;
                        }
                    }
                    __syncwarp();
                }
            }
        }
    }
    __syncthreads();
    float *to = p.d_scores_parts + (((size_t)r * ATTENTION_PARTS + part) * H + first_head) * V * V * ND;
    for (int i = threadIdx.x; i < ATTENTION_HEADS * V * V * ND; i += blockDim.x) {
        int head = i / (V * V * ND), a = i / (V * ND) % V, b = i / ND % V;
        a = a == SEP ? USED - 1 : a < USED - 1 ? a : -1;
        b = b == SEP ? USED - 1 : b < USED - 1 ? b : -1;
        float sum = 0;
        if (a >= 0 && b >= 0)
            for (int w = 0; w < ATTENTION_WARPS; w++)
                sum += shared[(1 + w) * all_heads + head * size + (a * USED + b) * ND + i % ND];
        to[i] = sum;
    }
}
