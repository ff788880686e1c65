// Draws batches, attends, and says what a batch was worth.

// The choice to which a number belongs (law.rs).
__device__ __forceinline__ int choice(const u64 *ends, int count, u32 word) {
    int i = 0;
    for (int end = 0; end < count; end++) i += word >= ends[end];
    return i;
}

extern "C" __global__ void draw_batch(const Fleet p, const Call c) {
    after_previous();
    int r = blockIdx.x;
    __shared__ int length[S];
    __shared__ int count[CAP + 2];
    const int *choices = p.choices + r * (CAP + 1);
    const u64 *ends = p.choice_ends + r * (CAP + 1);
    int n = choices[0], q = p.q[r], *starts = p.starts + r * (CAP + 1);
    int samples = n ? c.samples : 0;
    u64 seed = p.seeds[r];
    for (int t = threadIdx.x; t < CAP + 2; t += blockDim.x) count[t] = 0;
    __syncthreads();
    for (int s = threadIdx.x; s < samples; s += blockDim.x) {
        u32 word = philox(seed, c.drawn_once ? 0 : s / c.group, 0, c.step, c.purpose).x;
        length[s] = choices[1 + (ends[0] ? choice(ends + 1, (int)ends[0], word) : (int)below(word, n))];
        atomicAdd(&count[length[s]], 1);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        p.samples[r] = samples;
        int live = samples;
        starts[0] = 0;
        for (int t = 1; t <= CAP; t++) {
            live -= count[t - 1];
            starts[t] = starts[t - 1] + live;
        }
    }
    for (int s = threadIdx.x; s < samples; s += blockDim.x) {
        int rank = 0, own = length[s], from = s / c.group;
        for (int t = own + 1; t <= CAP; t++) rank += count[t];
        for (int other = 0; other < s; other++) rank += length[other] == own;
        u8 *x = p.x + ((size_t)r * S + rank) * XS;
        const u8 *square = p.square + r * V * V;
        int state = 0, before = 0;
        for (int j = 0; j < own; j += 4) {
            uint4 words = philox(seed, from, j / 4, c.step, c.purpose + 1);
            u32 word[4] = {words.x, words.y, words.z, words.w};
#pragma unroll
            for (int i = 0; i < 4; i++)
                if (j + i < own) {
                    int symbol = p.symbol_ends
                                     ? choice(p.symbol_ends + (((size_t)r * CAP + j + i) * V + before) * V, q - 1, word[i])
                                     : (int)below(word[i], q);
                    x[j + i] = before = symbol;
                    state = j + i ? square[state * V + symbol] : symbol;
                }
        }
        p.lengths[r * S + rank] = own;
        p.target[r * S + rank] = state;
    }
}

// Where a step looks from, and the lines of positions (layout.rs).
struct Gaze {
    int from, query, inputs, y_start;
};
__device__ __forceinline__ Gaze gaze(const u8 *x, const u8 *y, int length, int t) {
    Gaze g;
    g.y_start = Y_IS_LENGTH ? length : Y_START;
    g.from = (QUERY_INPUT ? X_START + X_STEP * (t - 1) : g.y_start + Y_STEP * (t - 1)) - LEAST;
    g.query = QUERY_INPUT ? x[t - 1] : t == 1 ? SEP : y[t - 2];
    g.inputs = CAUSAL ? t : length;
    return g;
}

// Calls `see` with the table's place and the token of every key that a step sees. Inputs and tokens
// come four a word; what lies beyond the last one is not used.
template <typename See>
__device__ __forceinline__ void for_keys(const u8 *x, const u8 *y, int t, const Gaze &g, See see) {
#pragma unroll
    for (int word = 0; word < XS / 4; word++) {
        if (4 * word >= g.inputs) break;
        u32 four = ((const u32 *)x)[word];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int key = 4 * word + i, token = four >> (8 * i) & 255;
            if (key < g.inputs) see(token * ND + g.from - (X_START + X_STEP * key), token);
        }
    }
    if (FIRST_Y == 0) see(SEP * ND + g.from - g.y_start, SEP);
#pragma unroll
    for (int word = 0; word < XS / 4; word++) {
        if (4 * word >= t - 1) break;
        u32 four = ((const u32 *)y)[word];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int s = 4 * word + i + 1, token = four >> (8 * i) & 255;
            if (s < t) see(token * ND + g.from - (g.y_start + Y_STEP * s), token);
        }
    }
}

// The features of every token of a step: a thread for every token and head, its weights of the V
// tokens in shared memory.
extern "C" __global__ void attend(const Fleet p, const Call c) {
    after_previous();
    int r = blockIdx.y, index = blockIdx.x * blockDim.x + threadIdx.x;
    __shared__ float weights[V][256];
    Rows rows = rows_of(p, r, c.t);
    int i = index / H, head = index % H, self = threadIdx.x;
    if (i >= rows.count) return;
    int row = rows.first + i, t = c.t ? c.t : step_of(p, r, row);
    int b = row - p.starts[r * (CAP + 1) + t - 1];
    const u8 *x = p.x + ((size_t)r * S + b) * XS, *y = p.y + ((size_t)r * S + b) * XS;
    Gaze g = gaze(x, y, p.lengths[r * S + b], t);
    size_t table = (((size_t)r * H + head) * V + g.query) * V * ND;
    const float *powers = p.powers + table, *scores = p.scores + table;
    float total = 0, shift = 0;
#pragma unroll
    for (int a = 0; a < V; a++) weights[a][self] = 0;
    for_keys(x, y, t, g, [&](int place, int token) {
        float power = powers[place];
        total += power;
        weights[token][self] += power;
    });
    if (total < 1e-25f) { // all keys are far below the token's best: relative to their own best
        total = 0;
        shift = -3e38f;
        for_keys(x, y, t, g, [&](int place, int) { shift = fmaxf(shift, scores[place]); });
#pragma unroll
        for (int a = 0; a < V; a++) weights[a][self] = 0;
        for_keys(x, y, t, g, [&](int place, int token) {
            float power = __expf(scores[place] - shift);
            total += power;
            weights[token][self] += power;
        });
    }
    float share = 1.0f / total, weight[V];
    // What makes an attention weight of a power; or, negative, the log of the sum of e^score.
    p.shares[((size_t)r * NT + row) * H + head] = shift < 0 ? shift + __logf(total) : share;
#pragma unroll
    for (int a = 0; a < V; a++) weight[a] = weights[a][self] * share;
#if BF16
    uint4 *to = (uint4 *)p.features;
    size_t line = (size_t)r * NT + row;
#pragma unroll
    for (int j = 0; j < V / 8; j++) {
        u32 pair[4];
#pragma unroll
        for (int a = 0; a < 4; a++) pair[a] = pack_bf16(weight[8 * j + 2 * a], weight[8 * j + 2 * a + 1]);
        to[feature_piece(line, (1 + head) * (V / 8) + j)] = make_uint4(pair[0], pair[1], pair[2], pair[3]);
        if (head) continue;
#pragma unroll
        for (int a = 0; a < 4; a++) {
            int token = 8 * j + 2 * a;
            pair[a] = pack_bf16(g.query == token ? 1.0f : 0.0f, g.query == token + 1 ? 1.0f : 0.0f);
        }
        to[feature_piece(line, j)] = make_uint4(pair[0], pair[1], pair[2], pair[3]);
    }
#else
    float *to = (float *)p.features + ((size_t)r * NT + row) * K;
#pragma unroll
    for (int a = 0; a < V; a++) {
        to[(1 + head) * V + a] = weight[a];
        if (head == 0) to[a] = a == g.query ? 1.0f : 0.0f;
    }
#endif
}

// What a model's lesson emits at a step, given what it emitted before (lesson.rs).
__device__ __forceinline__ int taught(const Fleet &p, const Call &c, int r, const u8 *x, const u8 *y,
                                      int length, int t) {
    const int *step = p.lesson_steps + ((size_t)(r * (CAP + 1) + length) * CAP + t - 1) * LESSON;
    int q = p.q[r], window = 0, history = 0;
    for (int i = t - 1 - step[0]; i < t + step[1]; i++) window = window * q + x[i];
    for (int i = t - 1 - step[2]; i < t - 1; i++) history = history * q + y[i];
    return p.lesson_actions[(size_t)r * c.actions + step[3] + window * step[4] + history];
}

// Gives every sample the tokens of its model's lesson.
extern "C" __global__ void teach(const Fleet p, const Call c) {
    after_previous();
    int r = blockIdx.y, b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= p.samples[r]) return;
    const u8 *x = p.x + ((size_t)r * S + b) * XS;
    u8 *y = p.y + ((size_t)r * S + b) * XS;
    int length = p.lengths[r * S + b];
    for (int t = 1; t <= length; t++) y[t - 1] = taught(p, c, r, x, y, length, t);
}

// How many tokens are those of the lesson, which goes on from its own.
extern "C" __global__ void count_agreement(const Fleet p, const Call c) {
    after_previous();
    int r = blockIdx.x;
    __shared__ int same;
    if (threadIdx.x == 0) same = 0;
    __syncthreads();
    for (int b = threadIdx.x; b < p.samples[r]; b += blockDim.x) {
        const u8 *x = p.x + ((size_t)r * S + b) * XS, *y = p.y + ((size_t)r * S + b) * XS;
        int length = p.lengths[r * S + b], count = 0;
        u8 own[CAP];
        for (int t = 1; t <= length; t++) {
            own[t - 1] = taught(p, c, r, x, own, length, t);
            count += own[t - 1] == y[t - 1];
        }
        atomicAdd(&same, count);
    }
    __syncthreads();
    if (threadIdx.x == 0) p.right[r] = same;
}

// How many samples were right.
extern "C" __global__ void count_right(const Fleet p, const Call c) {
    after_previous();
    int r = blockIdx.x;
    __shared__ int right;
    if (threadIdx.x == 0) right = 0;
    __syncthreads();
    for (int b = threadIdx.x; b < p.samples[r]; b += blockDim.x) {
        int length = p.lengths[r * S + b];
        if (p.y[((size_t)r * S + b) * XS + length - 1] == p.target[r * S + b]) atomicAdd(&right, 1);
    }
    __syncthreads();
    if (threadIdx.x == 0) p.right[r] = right;
}

// Of several updates on a batch the first is the one on record.
__device__ __forceinline__ bool recorded(const Call &c) { return c.mode != 2 || c.method == 3; }

// The entropy coefficient of a model at this step (schedule.rs).
__device__ __forceinline__ float coefficient_of(const Fleet &p, const Call &c, int r) {
    float own = p.entropy[r], s = c.decay_past;
    if (c.method == 3) return 0.0f;
    if (c.decay == 1) return (1 - s) * own + s * c.decay_to;
    if (c.decay == 2) return powf(own, 1 - s) * powf(c.decay_to, s);
    return own;
}

// The part of the entropy and of the divergence that a sample's tokens have (objective.rs).
__device__ __forceinline__ float token_share(const Fleet &p, const Call &c, int r, int b) {
    int samples = p.samples[r];
    return c.form == 0   ? 1.0f / p.starts[r * (CAP + 1) + CAP]
           : c.form == 1 ? 1.0f / ((float)samples * p.lengths[r * S + b])
           : c.form == 2 ? 1.0f / samples
                         : 0.0f;
}

// The logarithm of a probability that may be 0.
__device__ __forceinline__ float log_of(float probability) {
    return __logf(fmaxf(probability, 1.17549435e-38f));
}

// The divergence of a policy from the prior's.
__device__ __forceinline__ float divergence_of(const float *policy, const float *prior) {
    float sum = 0;
#pragma unroll
    for (int a = 0; a < V; a++)
        if (policy[a] > 0) sum += policy[a] * (__logf(policy[a]) - log_of(prior[a]));
    return sum;
}

// The mean return of every length, a warp a length: samples of one length stand side by side.
__device__ __forceinline__ void length_means(const int *starts, const float *returns, float *mean) {
    int lane = threadIdx.x & 31;
    for (int t = 1 + (threadIdx.x >> 5); t <= CAP; t += blockDim.x >> 5) {
        int end = starts[t] - starts[t - 1], first = t < CAP ? starts[t + 1] - starts[t] : 0;
        float sum = 0;
        for (int b = first + lane; b < end; b += 32) sum += returns[b];
        for (int offset = 16; offset; offset >>= 1) sum += __shfl_xor_sync(~0u, sum, offset);
        if (lane == 0) mean[t] = sum / max(end - first, 1);
    }
    __syncthreads();
}

// Rewards, advantages, the record, and Adam's numbers for the update that follows.
extern "C" __global__ void weigh(const Fleet p, const Call c) {
    after_previous();
    int r = blockIdx.x, samples = p.samples[r];
    __shared__ float scratch[32];
    __shared__ float returns[S], logs[S], length_mean[CAP + 1];
    const int *starts = p.starts + r * (CAP + 1);
    float coefficient = coefficient_of(p, c, r);
    float sum_right = 0, sum_entropy = 0, sum_return = 0, sum_divergence = 0, loss = 0;
    int tokens = starts[CAP];
    for (int b = threadIdx.x; b < samples; b += blockDim.x) {
        int length = p.lengths[r * S + b];
        const u8 *y = p.y + ((size_t)r * S + b) * XS;
        float part = token_share(p, c, r, b), share = part * coefficient;
        float log_sum = 0, entropy_sum = 0, above_prior = 0, divergence_sum = 0;
        for (int t = 1; t <= length; t++) {
            int row = starts[t - 1] + b;
            const float *policy = p.policy + ((size_t)r * NT + row) * V;
            float entropy = 0;
#pragma unroll
            for (int a = 0; a < V; a++)
                if (policy[a] > 0) entropy -= policy[a] * __logf(policy[a]);
            // A token that relabelling or exploration put there may have no probability left.
            float chosen = fmaxf(policy[y[t - 1]], 1.17549435e-38f);
            if (c.mode == 0 && p.old) p.old[(size_t)r * NT + row] = chosen;
            log_sum += __logf(chosen);
            entropy_sum += entropy;
            if (c.kl > 0) {
                const float *prior = p.prior_policy + ((size_t)r * NT + row) * V;
                above_prior += __logf(chosen) - log_of(prior[y[t - 1]]);
                divergence_sum += divergence_of(policy, prior);
            }
        }
        float right = y[length - 1] == p.target[r * S + b] ? 1.0f : 0.0f;
        sum_right += right;
        sum_entropy += entropy_sum;
        loss -= share * entropy_sum;
        returns[b] = c.form == 3 ? right - coefficient * log_sum : right;
        if (c.kl > 0) {
            sum_divergence += divergence_sum;
            loss += c.kl * part * divergence_sum;
            if (c.form == 3) returns[b] -= c.kl * above_prior;
        }
        logs[b] = log_sum;
        sum_return += returns[b];
        p.share[r * S + b] = share;
    }
    float rights = block_sum(sum_right, scratch), all = block_sum(sum_return, scratch);
    float entropies = block_sum(sum_entropy, scratch);
    float divergences = c.kl > 0 ? block_sum(sum_divergence, scratch) : 0.0f;
    float deviation = 1;
    if (c.baseline) length_means(starts, returns, length_mean);
    if (c.standardise) { // the mean of what is squared is 0
        float squares = 0;
        for (int b = threadIdx.x; b < samples; b += blockDim.x) {
            float mean = c.baseline ? length_mean[p.lengths[r * S + b]] : all / samples;
            squares += (returns[b] - mean) * (returns[b] - mean);
        }
        deviation = sqrtf(block_sum(squares, scratch) / samples) + 1e-6f;
    }
    for (int b = threadIdx.x; b < samples; b += blockDim.x) {
        float advantage;
        if (c.method == 1) {
            int first = b / c.group * c.group;
            float mean = 0, variance = 0;
            for (int i = first; i < first + c.group; i++) mean += returns[i];
            mean /= c.group;
            for (int i = first; i < first + c.group; i++)
                variance += (returns[i] - mean) * (returns[i] - mean);
            advantage = (returns[b] - mean) / (sqrtf(variance / c.group) + 1e-6f) / samples;
        } else if (c.method == 2) {
            int length = p.lengths[r * S + b];
            bool right = p.y[((size_t)r * S + b) * XS + length - 1] == p.target[r * S + b];
            advantage = right ? 1.0f / fmaxf(rights, 1.0f) : 0.0f;
        } else if (c.method == 3) {
            advantage = 1.0f / tokens;
        } else {
            float mean = c.baseline ? length_mean[p.lengths[r * S + b]] : all / samples;
            advantage = (returns[b] - mean) / deviation / samples;
        }
        p.advantage[r * S + b] = advantage;
        loss -= advantage * logs[b];
    }
    loss = block_sum(loss, scratch);
    if (threadIdx.x == 0) {
        if (recorded(c)) {
            float *record = p.record + r * RECORD;
            record[R_LOSS] = loss;
            record[R_RIGHT] = rights / max(samples, 1);
            record[R_ENTROPY] = entropies / max(tokens, 1);
            record[R_KL] = divergences / max(tokens, 1);
        }
        float factor = 1, apply = samples > 0 ? 1 : 0;
        if (c.adaptive_most && apply) {
            int batches = p.gathered_batches[r] + 1, right = p.gathered_right[r] + (int)rights;
            apply = right >= c.adaptive_right || batches >= c.adaptive_most ? 1 : 0;
            factor = 1.0f / batches;
            p.gathered_batches[r] = apply ? 0 : batches;
            p.gathered_right[r] = apply ? 0 : right;
        }
        int n = p.updates[r] + (apply && !c.write_only ? 1 : 0);
        p.updates[r] = n;
        double rate = p.rate[r] * c.rate_share;
        float *adam = p.adam + r * ADAM;
        adam[A_STEP] = rate / (1.0 - pow(c.beta1, (double)n));
        adam[A_ROOT] = 1.0 / sqrt(1.0 - pow(c.beta2, (double)n));
        adam[A_FACTOR] = factor;
        adam[A_APPLY] = apply;
        adam[A_KEPT] = 1.0 - rate * c.weight_decay;
        adam[A_CLIP] = 1;
    }
}

// The gradient in a token's logits; every lane of a warp gets all of it.
__device__ __forceinline__ void logit_gradient(const Fleet &p, const Call &c, int r, int row,
                                               float *d_logits) {
    int t = step_of(p, r, row), b = row - p.starts[r * (CAP + 1) + t - 1];
    int y = p.y[((size_t)r * S + b) * XS + t - 1];
    const float *policy = p.policy + ((size_t)r * NT + row) * V;
    float entropy = 0, log[V], own[V];
#pragma unroll
    for (int a = 0; a < V; a++) {
        own[a] = policy[a];
        log[a] = own[a] > 0 ? __logf(own[a]) : 0.0f;
        entropy -= own[a] * log[a];
    }
    float w, e, k = 0;
    if (p.token_weights) {
        const float *given = p.token_weights + 3 * ((size_t)r * NT + row);
        w = given[0];
        e = given[1];
        k = given[2];
    } else {
        w = p.advantage[r * S + b];
        e = p.share[r * S + b];
        if (c.kl > 0) k = c.kl * token_share(p, c, r, b);
        if (c.method == 1 && c.mode == 2) {
            float ratio = fmaxf(policy[y], 1.17549435e-38f) / p.old[(size_t)r * NT + row];
            bool beyond = w > 0 ? ratio > 1 + c.clip : ratio < 1 - c.clip;
            w = beyond ? 0.0f : w * ratio;
        }
    }
#pragma unroll
    for (int a = 0; a < V; a++)
        d_logits[a] = w * (own[a] - (a == y ? 1.0f : 0.0f)) + e * own[a] * (log[a] + entropy);
    if (k != 0) {
        const float *prior = p.prior_policy + ((size_t)r * NT + row) * V;
        float divergence = divergence_of(own, prior);
#pragma unroll
        for (int a = 0; a < V; a++)
            if (own[a] > 0) d_logits[a] += k * own[a] * (log[a] - log_of(prior[a]) - divergence);
    }
}
