"""PyTorch's table form at its best: only rows still running, its own bf16, compile and graphs.

Needs fleet_torch.py on the path. Rows are sorted by length; at step t a static bound on the rows
still running is computed (its expectation and three deviations), since graphs need fixed sizes.
"""
import math
import sys
import time

import torch

import fleet_torch as ft
from fleet_torch import V, H, Tab


def bound(B, L, t):
    p = (L - t) / L
    return min(B, math.ceil(B * p + 3 * math.sqrt(B * p * (1 - p))))


def feat_m(S, tok, bias, b, i, oh, m):
    """Features of rows b at columns i, of the m first keys."""
    R = tok.shape[0]
    tk = tok[:, b, :m]
    tq = torch.gather(tok[:, b], 2, i[None, :, None].expand(R, -1, 1))[..., 0]
    d = i[:, None] - torch.arange(m, device=tok.device)[None]
    nd = S.shape[-1]
    idx = (tq[..., None] * V + tk) * nd + d.clamp_min(0)
    sc = torch.gather(S.reshape(R, H, -1), 2, idx.reshape(R, 1, -1).expand(R, H, -1))
    sc = sc.reshape(R, H, b.shape[0], m) + bias[:, None, b, :m] + torch.where(d < 0, -1e9, 0.0)
    w = torch.einsum('rhnm,rnmv->rnhv', sc.softmax(-1), oh[tk]).reshape(R, b.shape[0], H * V)
    return torch.cat([oh[tq], w], -1)


class Fleet(ft.Fleet):
    def __init__(s, R, B, L, dt, compile=True, dev='cuda'):
        super().__init__(R, B, L, Tab, dt, dev)
        dev = s.dev
        s.oh = torch.eye(V, device=dev)
        s.rows = [torch.arange(bound(B, L, t), device=dev) for t in range(L)]
        s.cols = [torch.full((len(r),), L + t, device=dev) for t, r in enumerate(s.rows)]
        s.b, s.i = torch.cat(s.rows), torch.cat(s.cols)

        def sample_step(S, PM, P, tok, bias, b, i, m):
            f = feat_m(S, tok, bias, b, i, s.oh, m)
            return Tab.tail(P, PM, f[:, :, None], dt)[:, :, 0]

        def logits(P, tok, bias):
            S, PM = Tab.tabs(P, L, s.cs)
            f = feat_m(S, tok, bias, s.b, s.i, s.oh, 2 * L)
            return Tab.tail(P, PM, f[:, :, None], dt)[:, :, 0]

        s.sample_step, s.all_logits = sample_step, torch.compile(logits) if compile else logits

    def batch(s):
        tok, bias, ln, ans = super().batch()
        order = ln.argsort(1, descending=True)
        g = lambda x: torch.gather(x, 1, order[..., None].expand_as(x)) if x.dim() == 3 else torch.gather(x, 1, order)
        return g(tok), g(bias), g(ln), g(ans)

    def step(s):
        L, dev = s.L, s.dev
        tok, bias, ln, ans = s.batch()
        with torch.no_grad():
            S, PM = Tab.tabs(s.P, L, s.cs)
            for t in range(L):
                lg = s.sample_step(S, PM, s.P, tok, bias, s.rows[t], s.cols[t], L + t + 1)
                gum = -torch.log((-torch.log(torch.rand_like(lg).clamp_min(1e-20))).clamp_min(1e-20))
                tok[:, s.rows[t], L + t + 1] = (lg + gum).argmax(-1)
        y = tok[:, :, L + 1:]
        rew = (torch.gather(y, 2, (ln - 1)[..., None])[..., 0] == ans).float()
        adv = rew - rew.mean(1, keepdim=True)
        lp = s.all_logits(s.P, tok, bias).log_softmax(-1)
        act = ((s.i - L)[None] < ln[:, s.b]).float()
        chosen = torch.gather(lp, 2, y[:, s.b, s.i - L][..., None])[..., 0]
        ent = -(lp.exp() * lp).sum(-1)
        loss = -((adv[:, s.b] * chosen + s.beta[:, :, 0] * ent) * act).sum(1) / s.B
        s.opt.zero_grad(set_to_none=False)
        loss.sum().backward()
        s.opt.step()
        s.acc.copy_(rew.mean(1))


def on_cpu(R, L, seconds):
    """The median of five spans, in seconds a fleet step, on all cores."""
    fleet = Fleet(R, 512, L, torch.float32, dev='cpu')
    for _ in range(2):
        fleet.step()
    spans = []
    for _ in range(5):
        start, count = time.time(), 0
        while time.time() - start < seconds / 5:
            fleet.step()
            count += 1
        spans.append((time.time() - start) / count)
    return sorted(spans)[2]


if __name__ == '__main__':
    torch.set_float32_matmul_precision('high')
    if sys.argv[1] == 'cpu':
        R, L = int(sys.argv[2]), int(sys.argv[3])
        each = on_cpu(R, L, float(sys.argv[4]))
        print(f'torch live table L{L} R{R} float32 cpu compile: {each * 1e3:.1f} ms {R / each:.1f} model-steps/s')
        sys.exit()
    limit, start = float(sys.argv[1]), time.time()
    for L in (8, 21):
        for dt in (torch.float32, torch.bfloat16):
            if time.time() - start > limit:
                sys.exit('time limit')
            try:
                fleet = Fleet(64, 512, L, dt)
                each = ft.bench(fleet, 'graph', 0.5)
                print(f"torch live table L{L} R64 {'tf32' if dt == torch.float32 else 'bf16'} "
                      f"compile+graph: {each * 1e3:.3f} ms {64 / each:.0f} model-steps/s", flush=True)
                del fleet
            except Exception as error:
                print('FAIL', L, dt, repr(error)[:300], flush=True)
            torch.cuda.empty_cache()
