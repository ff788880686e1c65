// The MLP in single precision, products in TF32: the control, and any width.

// C = A B, 64 by 64 a block of 128 threads; rows of A and C, or the inner index, may be those of a
// step or of all tokens (ragged 1 and 2).
extern "C" __global__ void product(const Fleet p, const Call c) {
    after_previous();
    int r = blockIdx.z, m0 = blockIdx.y * 64, n0 = blockIdx.x * 64;
    Rows rows = c.ragged ? rows_of(p, r, c.t) : Rows{0, 0};
    int m = c.ragged == 1 ? rows.count : c.m, k = c.ragged == 2 ? rows.count : c.k;
    if (m0 >= m) return;
    const float *a = c.a + (size_t)r * c.a_model, *b = c.b + (size_t)r * c.b_model;
    float *to = c.c + (size_t)r * c.c_model;
    if (c.ragged == 1) {
        a += (size_t)rows.first * c.a_m;
        to += (size_t)rows.first * c.c_m;
    } else if (c.ragged == 2) {
        a += (size_t)rows.first * c.a_k;
        b += (size_t)rows.first * c.b_k;
    }
    __shared__ float as[64][20], bs[16][72];
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, g = lane >> 2, q = lane & 3;
    int wm = warp >> 1 << 5, wn = (warp & 1) << 5;
    float sum[2][4][4];
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
#pragma unroll
            for (int e = 0; e < 4; e++) sum[i][j][e] = 0;
    for (int k0 = 0; k0 < k; k0 += 16) {
        __syncthreads();
        for (int i = threadIdx.x; i < 1024; i += 128) {
            int row = c.a_k == 1 ? i / 16 : i % 64, at = c.a_k == 1 ? i % 16 : i / 64;
            bool inside = m0 + row < m && k0 + at < k;
            as[row][at] = inside ? a[(size_t)(m0 + row) * c.a_m + (size_t)(k0 + at) * c.a_k] : 0.0f;
            int line = c.b_n == 1 ? i / 64 : i % 16, column = c.b_n == 1 ? i % 64 : i / 16;
            inside = n0 + column < c.n && k0 + line < k;
            bs[line][column] =
                inside ? b[(size_t)(k0 + line) * c.b_k + (size_t)(n0 + column) * c.b_n] : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int kk = 0; kk < 16; kk += 8) {
            float left[2][4], right[4][2];
#pragma unroll
            for (int i = 0; i < 2; i++) {
                int row = wm + 16 * i + g;
                left[i][0] = as[row][kk + q];
                left[i][1] = as[row + 8][kk + q];
                left[i][2] = as[row][kk + q + 4];
                left[i][3] = as[row + 8][kk + q + 4];
            }
#pragma unroll
            for (int j = 0; j < 4; j++) {
                right[j][0] = bs[kk + q][wn + 8 * j + g];
                right[j][1] = bs[kk + q + 4][wn + 8 * j + g];
            }
#pragma unroll
            for (int i = 0; i < 2; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) mma_tf32(sum[i][j], left[i], right[j]);
        }
    }
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                int row = m0 + wm + 16 * i + g + (e >> 1) * 8;
                int column = n0 + wn + 8 * j + 2 * q + (e & 1);
                if (row < m && column < c.n) {
                    float *place = to + (size_t)row * c.c_m + column;
                    *place = c.accumulate ? *place + sum[i][j][e] : sum[i][j][e];
                }
            }
}

// GELU and its slope of a step's rows, a warp a row; the stream goes on as the MLP's sum.
extern "C" __global__ void activate_rows(const Fleet p, const Call c) {
    after_previous();
    int r = blockIdx.y, warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    Rows rows = rows_of(p, r, c.t);
    int i = blockIdx.x * (blockDim.x >> 5) + warp;
    if (i >= rows.count) return;
    size_t row = (size_t)r * NT + rows.first + i;
    const float *up = p.joint + row * (FF + D), *z = up + FF;
    float sum = 0, square = 0;
    for (int d = lane; d < D; d += 32) sum += z[d];
    for (int offset = 16; offset; offset >>= 1) sum += __shfl_xor_sync(~0u, sum, offset);
    float mean = LAYER ? sum / D : 0.0f;
    for (int d = lane; d < D; d += 32) square += (z[d] - mean) * (z[d] - mean);
    for (int offset = 16; offset; offset >>= 1) square += __shfl_xor_sync(~0u, square, offset);
    float scale = rsqrtf(square / D + EPSILON);
    for (int d = lane; d < D; d += 32) ((float *)p.out)[row * D + d] = z[d];
    for (int k = lane; k < FF; k += 32) {
        float u = up[k] * scale, half = 0.5f + 0.5f * erff(u * 0.70710678f);
        p.hidden[row * FF + k] = u * half;
        p.slope[row * FF + k] = half + u * 0.39894228f * expf(-0.5f * u * u);
    }
    if (lane == 0) p.scale2[row] = scale;
}

// The logits of a step's rows, a warp a row, and their tokens.
extern "C" __global__ void head_rows(const Fleet p, const Call c) {
    after_previous();
    int r = blockIdx.y, warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    Rows rows = rows_of(p, r, c.t);
    int i = blockIdx.x * (blockDim.x >> 5) + warp;
    if (i >= rows.count) return;
    int row = rows.first + i;
    float *out = (float *)p.out + ((size_t)r * NT + row) * D;
    float sum = 0, square = 0, logits[V];
    for (int d = lane; d < D; d += 32) sum += out[d];
    for (int offset = 16; offset; offset >>= 1) sum += __shfl_xor_sync(~0u, sum, offset);
    float mean = LAYER ? sum / D : 0.0f;
#pragma unroll
    for (int a = 0; a < V; a++) logits[a] = 0;
    for (int d = lane; d < D; d += 32) {
        float value = out[d] - mean;
        if (LAYER) out[d] = value;
        square += value * value;
#pragma unroll
        for (int a = 0; a < V; a++) logits[a] += value * p.logit[((size_t)r * V + a) * D + d];
    }
    for (int offset = 16; offset; offset >>= 1) square += __shfl_xor_sync(~0u, square, offset);
    float scale = rsqrtf(square / D + EPSILON);
#pragma unroll
    for (int a = 0; a < V; a++) {
        for (int offset = 16; offset; offset >>= 1)
            logits[a] += __shfl_xor_sync(~0u, logits[a], offset);
        logits[a] *= scale;
    }
    if (lane == 0) {
        p.scale3[(size_t)r * NT + row] = scale;
        int t = c.t ? c.t : step_of(p, r, row);
        emit(p, c, r, row - p.starts[r * (CAP + 1) + t - 1], t, row, logits);
    }
}

// The gradient in the MLP's input before its norm: times slope and scale.
extern "C" __global__ void slope_rows(const Fleet p, const Call c) {
    after_previous();
    int r = blockIdx.y;
    size_t all = (size_t)rows_of(p, r, 0).count * FF;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < all; i += (size_t)gridDim.x * blockDim.x) {
        size_t row = (size_t)r * NT + i / FF;
        p.joint[row * (FF + D) + i % FF] *= p.slope[row * FF + i % FF] * p.scale2[row];
    }
}
