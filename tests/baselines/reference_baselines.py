"""The baselines as n x n formulas and loops, straight from their papers; nothing here is fast."""

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.special import expit

from sagdiv.splitting import nuisance_split, random_folds


def gram(A, B, bandwidth):
    K = np.empty((len(A), len(B)))
    for i, a in enumerate(A):
        for j, b in enumerate(B):
            K[i, j] = np.exp(-np.sum(((a - b) / bandwidth) ** 2) / 2)
    return K


def inverse_times(A, B):
    return np.linalg.solve(A, B)


def root(K):
    values, vectors = np.linalg.eigh(K)
    return vectors @ np.diag(np.sqrt(values.clip(0))) @ vectors.T


class NaiveKIV:
    """Sample 1: X, Z (and y, to tune the second stage). Sample 2: X~, Z~, y~."""

    def __init__(self, X, y, Z, x_width, z_width, first, second):
        self.X, self.y, self.X2, self.y2 = X[first], y[first], X[second], y[second]
        self.n, self.m, self.x_width = len(first), len(second), x_width
        self.K_xx = gram(self.X, self.X, x_width)
        self.K_xX = gram(self.X, self.X2, x_width)
        self.K_XX = gram(self.X2, self.X2, x_width)
        self.K_zz = gram(Z[first], Z[first], z_width)
        self.K_zZ = gram(Z[first], Z[second], z_width)

    def _projection(self, lam):
        return inverse_times(self.K_zz + self.n * lam * np.eye(self.n), self.K_zZ)

    def stage1_score(self, lam):
        G = self._projection(lam)
        return np.trace(self.K_XX - 2 * self.K_xX.T @ G + G.T @ self.K_xx @ G) / self.m

    def alpha(self, lam, xi):
        W = self.K_xx @ self._projection(lam)
        return inverse_times(W @ W.T + self.m * xi * self.K_xx, W @ self.y2)

    def stage2_score(self, lam, xi):
        return np.mean((self.y - self.K_xx @ self.alpha(lam, xi)) ** 2)

    def predict(self, X, lam, xi):
        return gram(X, self.X, self.x_width) @ self.alpha(lam, xi)


def dualiv_beta(K, L, y, l1, l2):
    n = len(y)
    M = K @ inverse_times(L + n * l1 * np.eye(n), L)
    return inverse_times(M @ K + n * l2 * K, M @ y)


def dualiv_score(K, L, y, l1, l2, small, seed):
    """Mean square on the held-out half of the dual function of the other half."""
    train, held_out = nuisance_split(len(y), 0.5, np.random.RandomState(seed))
    K_t, L_t = K[np.ix_(train, train)], L[np.ix_(train, train)]
    beta = dualiv_beta(K_t, L_t, y[train], l1, l2)
    u = inverse_times(L_t + small * np.eye(len(train)), K_t @ beta - y[train])
    return np.mean((L[np.ix_(held_out, train)] @ u) ** 2)


def minimax_M(K_f, delta):
    n = len(K_f)
    return root(K_f) @ np.linalg.inv(K_f / (2 * n * delta**2) + np.eye(n) / 2) @ root(K_f)


def minimax_alpha(K_h, K_f, y, delta, a):
    M = minimax_M(K_f, delta)
    return np.linalg.pinv(K_h @ M @ K_h + a * K_h) @ K_h @ M @ y


def minimax_score(K_h, K_f, y, delta, a, n_folds, seed):
    folds = random_folds(len(y), n_folds, np.random.RandomState(seed))
    total = 0.0
    for fold in range(n_folds):
        out, kept = folds == fold, folds != fold
        alpha = minimax_alpha(K_h[np.ix_(kept, kept)], K_f[np.ix_(kept, kept)], y[kept], delta, a)
        e = y[out] - K_h[np.ix_(out, kept)] @ alpha
        total += e @ minimax_M(K_f[np.ix_(out, out)], delta) @ e / out.sum() ** 2
    return total / n_folds


def mmr_alpha(L, W, y, lam):
    return inverse_times(L @ W @ L + lam * L, L @ W @ y)


def mmr_leave_out(L, W, y, lam, n_folds, seed):
    """Refit without each group of rows; judge by the objective on the group."""
    folds = random_folds(len(y), n_folds, np.random.RandomState(seed))
    total = 0.0
    for fold in range(n_folds):
        out, kept = folds == fold, folds != fold
        alpha = mmr_alpha(L[np.ix_(kept, kept)], W[np.ix_(kept, kept)], y[kept], lam)
        e = y[out] - L[np.ix_(out, kept)] @ alpha
        total += e @ W[np.ix_(out, out)] @ e
    return total / n_folds


def leave_one_out_by_refitting(Psi, target, lam):
    errors = []
    for i in range(len(Psi)):
        kept = np.arange(len(Psi)) != i
        # The penalty is n lam on the sums, whether or not row i is among them.
        A = Psi[kept].T @ Psi[kept] + len(Psi) * lam * np.eye(Psi.shape[1])
        beta = inverse_times(A, Psi[kept].T @ target[kept])
        errors.append(np.sum((target[i] - Psi[i] @ beta) ** 2))
    return np.mean(errors)


class NaiveTikhonov:
    def __init__(self, X, y, Z, x_width, z_width):
        self.X, self.y, self.x_width = X, y, x_width
        self.T = self.average(Z, Z, z_width)
        self.adjoint = self.average(X, X, x_width)

    @staticmethod
    def average(A, B, bandwidth):
        K = gram(A, B, bandwidth)
        return K / K.sum(axis=1, keepdims=True)

    def tikhonov_operator(self, alpha):
        """h at the rows as a linear function of y."""
        TT = self.adjoint @ self.T
        return inverse_times(alpha * np.eye(len(self.y)) + TT, TT)

    def landweber_operator(self, n_iterations):
        H = np.zeros((len(self.y), len(self.y)))
        for _ in range(n_iterations):
            H = H + self.adjoint @ (self.T - self.T @ H)
        return H

    def error(self, operator):
        """Generalised cross-validation of y on z, a degree of freedom counting twice."""
        H = self.T @ operator
        n = len(self.y)
        return np.mean((self.y - H @ self.y) ** 2) / (1 - 2 * np.trace(H) / n) ** 2


def natural_splines(values, at, n_knots):
    """Cardinal natural splines, straight outside the knots, without the first."""
    knots = np.unique(np.quantile(values, np.linspace(0, 1, n_knots), method="nearest"))
    columns = []
    for k in range(1, len(knots)):
        spline = CubicSpline(knots, np.arange(len(knots)) == k, bc_type="natural")
        column = [
            spline(knots[0]) + spline(knots[0], 1) * (x - knots[0])
            if x < knots[0]
            else spline(knots[-1]) + spline(knots[-1], 1) * (x - knots[-1])
            if x > knots[-1]
            else spline(x)
            for x in at
        ]
        columns.append(column)
    return np.array(columns).T


class NaiveSieve:
    def __init__(self, X, y, Z, n_knots):
        self.X, self.n_knots = X, n_knots
        self.B, Q = self.design(X, X, n_knots), self.design(Z, Z, 2 * n_knots - 1)
        P = Q @ np.linalg.pinv(Q)
        self.solver = np.linalg.solve(self.B.T @ P @ self.B, self.B.T @ P)
        self.beta = self.solver @ y
        self.residuals = y - self.B @ self.beta
        values, vectors = np.linalg.eigh(self.B.T @ self.B)
        inverse_root = vectors @ np.diag(values**-0.5) @ vectors.T
        squares = np.linalg.eigvalsh(inverse_root @ self.B.T @ P @ self.B @ inverse_root)
        self.strength = np.sqrt(squares.min())

    @staticmethod
    def design(rows, at, n_knots):
        splines = [natural_splines(rows[:, j], at[:, j], n_knots) for j in range(rows.shape[1])]
        return np.hstack([np.ones((len(at), 1)), *splines])

    def predict(self, at):
        return self.design(self.X, at, self.n_knots) @ self.beta

    def influence(self, at):
        weights = self.design(self.X, at, self.n_knots) @ self.solver
        return np.array([row * self.residuals for row in weights])


def lepski(sieves, points, n_bootstrap, seed):
    n = len(sieves[0].residuals)
    multipliers = np.random.RandomState(seed).normal(size=(n, n_bootstrap))
    t, sup = {}, np.zeros(n_bootstrap)
    for i, small in enumerate(sieves):
        for j in range(i + 1, len(sieves)):
            large = sieves[j]
            h = small.predict(points) - large.predict(points)
            F = small.influence(points) - large.influence(points)
            sigma = np.sqrt((F**2).sum(axis=1))
            t[i, j] = np.max(np.abs(h) / sigma)
            for b in range(n_bootstrap):
                sup[b] = max(sup[b], np.max(np.abs(F @ multipliers[:, b]) / sigma))
    largest = sieves[-1].n_knots
    theta = np.quantile(sup, 1 - min(0.5, np.sqrt(np.log(largest) / largest)))
    for i in range(len(sieves)):
        if all(t[i, j] <= 1.1 * theta for j in range(i + 1, len(sieves))):
            return sieves[i].n_knots
    raise AssertionError


class NaiveBoost:
    """Boosting and reweighting given the first stage's ridge, candidates drawn as they come."""

    def __init__(self, X, y, Z, z_width, ridge, n_learners, n_candidates, rate, seed):
        rng, n = np.random.RandomState(seed), len(y)
        K = gram(Z, Z, z_width)
        self.W = K @ np.linalg.inv(K + n * ridge * np.eye(n))
        left, self.gammas = y - y.mean(), []
        for _ in range(n_learners):
            directions = rng.normal(size=(X.shape[1], n_candidates))
            rows = X[rng.randint(n, size=n_candidates)]
            slopes = rng.uniform(1, 8, size=n_candidates)
            best, best_gain = None, -np.inf
            for j in range(n_candidates):
                direction = directions[:, j] / np.linalg.norm(directions[:, j])
                gamma = direction, rows[j] @ direction, slopes[j]
                b = self.learner(X, gamma)
                b = b - b.mean()
                Wb, Wy = self.W @ b, self.W @ left
                beta = Wb @ Wy / (Wb @ Wb)
                gain = np.sum(Wy**2) - np.sum((Wy - beta * Wb) ** 2)
                if gain > best_gain:
                    best, best_gain = (gamma, beta, b), gain
            gamma, beta, b = best
            left = left - rate * beta * b
            self.gammas.append(gamma)
        self.X, self.y = X, y

    @staticmethod
    def learner(X, gamma):
        direction, location, slope = gamma
        return expit(slope * (X @ direction - location))

    def projected(self):
        B = np.column_stack([self.learner(self.X, gamma) for gamma in self.gammas])
        return self.W @ (B - B.mean(axis=0))

    def coefficients(self, ridge):
        B, n = self.projected(), len(self.y)
        A = B.T @ B + n * ridge * np.eye(B.shape[1])
        return inverse_times(A, B.T @ (self.y - self.y.mean()))

    def error(self, ridge):
        B, n = self.projected(), len(self.y)
        H = B @ inverse_times(B.T @ B + n * ridge * np.eye(B.shape[1]), B.T)
        residuals = (np.eye(n) - H) @ (self.y - self.y.mean())
        return np.mean(residuals**2) / (1 - 2 * np.trace(H) / n) ** 2
