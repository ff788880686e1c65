"""App. A as it stands, a step at a time: dense arrays and `einsum`, in NumPy or JAX.

Letters as in `fold`; w is the rest of the window, (x_{t+1}, .., x_{t+f}), in one axis. Index i is
step t = i + 1.

    alpha_i[s_{t-1}, x_t, w, y_{t-1}]   weight of arriving there; [x_1, w] at i = 0, where s_1 = x_1
    pi_i[x_t, w, y_{t-1}, a]            the policy; [x_1, w, a] at i = 0
    beta_i[s_t, w, a]                   weight of the reward after emitting a

A new input symbol has the weight `share`: 1/q makes weights probabilities, 1 makes them counts of
inputs, which are exact.
"""

import numpy as np
from fold import B, q, undo


class Plain:
    def __init__(self, f, T, share, xp, einsum):
        self.f, self.T, self.share, self.xp, self.einsum = f, T, share, xp, einsum

    def first_alpha(self):
        return self.xp.full((q, q**self.f), float(self.share) ** (self.f + 1))

    def last_beta(self):
        return self.xp.eye(q).reshape(q, 1, q)

    def send(self, i, alpha, pi):
        """alpha of step i + 1 from that of step i."""
        if i == 0:
            g = alpha[:, :, None] * pi
        else:
            g = self.einsum("sxwy,xwya->sxwa", alpha, pi)
            g = g[undo, np.arange(q)].sum(1)  # from s_{t-1} to s_t, then over x_t
        if i + self.f + 1 < self.T:
            g = self.xp.repeat(g[:, :, None, :] * self.share, q, axis=2)  # the new symbol
        return g.reshape(q, q, -1, q)

    def ahead(self, i, beta):
        """beta seen from before the step: [s_{t-1}, x_t, w, a], or [x_1, w, a] at i = 0."""
        return beta if i == 0 else beta[B]

    def value(self, i, alpha, ahead):
        """dQ of step i."""
        if i == 0:
            return alpha[:, :, None] * ahead
        return self.einsum("sxwy,sxwa->xwya", alpha, ahead)

    def back(self, i, pi, ahead):
        """beta of step i - 1."""
        beta = self.einsum("xwya,sxwa->sxwy", pi, ahead)
        if i + self.f < self.T:
            return beta.reshape(q, -1, q, q).sum(2) * self.share  # over the new symbol
        return beta.reshape(q, -1, q)

    def passes(self, pi):
        """alpha and dQ of every step."""
        T = self.T
        alpha = [self.first_alpha()]
        for i in range(T - 1):
            alpha.append(self.send(i, alpha[i], pi[i]))
        dQ, beta = [None] * T, self.last_beta()
        for i in range(T - 1, -1, -1):
            ahead = self.ahead(i, beta)
            dQ[i] = self.value(i, alpha[i], ahead)
            if i > 0:
                beta = self.back(i, pi[i], ahead)
        return alpha, dQ

    def evaluate(self, pi):
        """J, d and dQ."""
        alpha, dQ = self.passes(pi)
        d = [alpha[0]] + [a.sum(0) for a in alpha[1:]]
        return self.xp.sum(pi[0] * dQ[0]), d, dQ
