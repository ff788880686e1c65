// Sizes, the fleet's memory, random numbers. Letters as in the library: V tokens, H heads, D width,
// FF the MLP's width, K = V (1 + H) features, W = D / H, ND distances, CAP the longest length,
// S samples, NT tokens of a model. They, the tensors' places O_* and the structures `Fleet` (what a
// kernel may read or write) and `Call` (what one launch is about; both in memory.rs) come before this text.
#define SEP (V - 1)
#define EPSILON 1e-6f

// What an update of a model needs: Adam's step and root, the factor of gathered gradients, whether to
// update, the share of a weight that its decay leaves, the factor that clips the gradient.
enum { A_STEP, A_ROOT, A_FACTOR, A_APPLY, A_KEPT, A_CLIP, ADAM };

// What a step came to.
enum { R_LOSS, R_RIGHT, R_ENTROPY, R_NORM, R_KL, RECORD };

__device__ __forceinline__ uint4 philox(u64 seed, u32 c0, u32 c1, u32 c2, u32 c3) {
    u32 low = (u32)seed, high = (u32)(seed >> 32);
#pragma unroll
    for (int i = 0; i < 10; i++) {
        u64 first = (u64)c0 * 0xD2511F53u, second = (u64)c2 * 0xCD9E8D57u;
        u32 n0 = (u32)(second >> 32) ^ c1 ^ low, n2 = (u32)(first >> 32) ^ c3 ^ high;
        c1 = (u32)second;
        c3 = (u32)first;
        c0 = n0;
        c2 = n2;
        low += 0x9E3779B9u;
        high += 0xBB67AE85u;
    }
    return make_uint4(c0, c1, c2, c3);
}

__device__ __forceinline__ u32 below(u32 word, u32 n) { return (u32)(((u64)word * n) >> 32); }

__device__ __forceinline__ float unit(u32 word) {
    return ((float)(word >> 9) + 0.5f) / 8388608.0f;
}

__device__ __forceinline__ float bf16_to_float(u32 bits) { return __uint_as_float(bits << 16); }

// Tiles of bf16: 64 numbers (128 bytes) a row, the eight 16-byte pieces of a row exchanged by the
// row's number mod 8. That is the 128-byte swizzle of wgmma's operands, so a tile in device memory
// is copied as it is; one tile serves with its rows or its columns as the inner index.
__device__ __forceinline__ int swizzled(int row, int column) {
    return row * 64 + ((((column >> 3) ^ (row & 7))) << 3) + (column & 7);
}

// A place among D / 64 tiles side by side, of 64 rows.
__device__ __forceinline__ int tile_place(int row, int column) {
    return (column >> 6) * 4096 + swizzled(row, column & 63);
}

// Features lie in tiles of 64 rows by 64 features, TILES of them for the same rows: the place of one
// number, and of 8 that stand together (a piece of 16 bytes).
__device__ __forceinline__ size_t feature_place(size_t row, int feature) {
    return ((row >> 6) * TILES + (feature >> 6)) * 4096 + swizzled((int)(row & 63), feature & 63);
}
__device__ __forceinline__ size_t feature_piece(size_t row, int piece) {
    return feature_place(row, 8 * piece) / 8;
}

// The same for any row of a list of rows.
__device__ __forceinline__ size_t row_tile_place(size_t row, int column) {
    return (row >> 6) * (64 * D) + tile_place((int)(row & 63), column);
}

// The sum over a block of at most 1,024 threads, in a fixed order; all threads get it.
__device__ __forceinline__ float block_sum(float value, float *scratch) {
    for (int offset = 16; offset; offset >>= 1) value += __shfl_xor_sync(~0u, value, offset);
    int warp = threadIdx.x >> 5, warps = (blockDim.x + 31) >> 5;
    if ((threadIdx.x & 31) == 0) scratch[warp] = value;
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < warps; i++) sum += scratch[i];
    __syncthreads();
    return sum;
}

// The rows of step t, or of all steps.
struct Rows {
    int first, count;
};
__device__ __forceinline__ Rows rows_of(const Fleet &p, int r, int t) {
    const int *starts = p.starts + r * (CAP + 1);
    Rows rows;
    rows.first = t ? starts[t - 1] : 0;
    rows.count = starts[t ? t : CAP] - rows.first;
    return rows;
}

// The step that a token belongs to, from 1.
__device__ __forceinline__ int step_of(const Fleet &p, int r, int row) {
    const int *starts = p.starts + r * (CAP + 1);
    int t = 1;
    while (row >= starts[t]) t++;
    return t;
}

// The symbol of an input under relabelling noise: with the call's probability two symbols are exchanged, or all permuted.
__device__ __forceinline__ int relabelled(const Fleet &p, const Call &c, u64 seed, int b, int q,
                                          int symbol) {
    uint4 first = philox(seed, b, 0, c.step, c.purpose + 3);
    if (unit(first.x) >= c.fraction) return symbol;
    if (c.relabelling == 1) {
        int one = below(first.y, q), other = (one + 1 + below(first.z, q - 1)) % q;
        return symbol == one ? other : symbol == other ? one : symbol;
    }
    int at = symbol;
    for (int i = q - 1; i > 0; i--) {
        int j = below(philox(seed, b, i, c.step, c.purpose + 3).x, i + 1);
        at = at == i ? j : at == j ? i : at;
    }
    return at;
}

// Gives a token its policy and, unless the mode is 2, chooses it.
__device__ __forceinline__ void emit(const Fleet &p, const Call &c, int r, int b, int t, int row,
                                     const float *logits) {
    int q = p.q[r];
    float largest = logits[0], total = 0, policy[V];
#pragma unroll
    for (int a = 1; a < V; a++)
        if (a < q) largest = fmaxf(largest, logits[a]);
#pragma unroll
    for (int a = 0; a < V; a++) {
        policy[a] = a < q ? __expf(logits[a] - largest) : 0.0f;
        total += policy[a];
    }
    float *to = p.policy + ((size_t)r * NT + row) * V;
#pragma unroll
    for (int a = 0; a < V; a++) {
        policy[a] /= total;
        to[a] = policy[a];
    }
    if (c.mode == 2) return;
    int best = 0;
    if (c.mode == 1) {
        float most = logits[0];
#pragma unroll
        for (int a = 1; a < V; a++)
            if (a < q && logits[a] > most) {
                most = logits[a];
                best = a;
            }
    } else {
        u64 seed = p.seeds[r];
        uint4 words = philox(seed, b, t, c.step, c.purpose + 2);
        float u = unit(words.x), sum = 0;
        best = q - 1;
        bool found = false;
#pragma unroll
        for (int a = 0; a < V; a++) {
            sum += policy[a];
            if (a < q - 1 && !found && u < sum) {
                best = a;
                found = true;
            }
        }
        if (unit(words.y) < c.exploration) best = below(words.z, q);
        if (c.relabelling) best = relabelled(p, c, seed, b, q, best);
    }
    p.y[((size_t)r * S + b) * XS + t - 1] = best;
}
