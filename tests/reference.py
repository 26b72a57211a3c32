"""A second implementation, straight from the formulas: loops, no matrix tricks, no shortcuts.

Slow on purpose. Nothing here may import the package.
"""

import math

import numpy as np


def gaussian(a, b, bandwidth):
    """k(a, b) = exp(-sum_j ((a_j - b_j) / l_j)^2 / 2) for two points."""
    lengths = np.broadcast_to(bandwidth, np.shape(a))
    return math.exp(-0.5 * sum(((s - t) / u) ** 2 for s, t, u in zip(a, b, lengths, strict=True)))


def gram(A, B, bandwidth):
    return np.array([[gaussian(a, b, bandwidth) for b in B] for a in A]).reshape(len(A), len(B))


def median_bandwidth(A):
    """The median distance between distinct standardised rows, back in the units of the columns."""
    scales = [math.sqrt(sum((v - sum(c) / len(c)) ** 2 for v in c) / len(c)) for c in A.T]
    scales = np.array([s if s > 0 else 1.0 for s in scales])
    distances = []
    for i in range(len(A)):
        for j in range(i):
            distance = math.sqrt(sum(((A[i] - A[j]) / scales) ** 2))
            if distance > 0:
                distances.append(distance)
    return scales * np.median(distances)


# Algorithm 1


def algorithm_1(points, nodes, z, Phi, weight, r, d2, alphas, project, warm_up, h0):
    """Algorithm 1 with functions evaluated one point at a time.

    h_m(x) = proj[h_{m-1}(x) - alpha_m Phi(x, z_m) d2(r(z_m), sum_i w_i(z_m) h_{m-1}(x_i))],
    averaged over m > warm_up, at each of the points.
    """
    at_points = [h0(x) for x in points]
    at_nodes = [h0(x) for x in nodes]
    sums, count = [0.0] * len(points), 0
    for m, z_m in enumerate(z):
        expectation = sum(weight(i, z_m) * at_nodes[i] for i in range(len(nodes)))
        slope = d2(r(z_m), expectation)
        at_points = [
            project(h - alphas[m] * Phi(x, z_m) * slope)
            for x, h in zip(points, at_points, strict=True)
        ]
        at_nodes = [
            project(h - alphas[m] * Phi(x, z_m) * slope)
            for x, h in zip(nodes, at_nodes, strict=True)
        ]
        if m >= warm_up:
            count += 1
            sums = [s + h for s, h in zip(sums, at_points, strict=True)]
    return np.array(sums) / count


# Density ratio


def ulsif_moments(X, Z, x_centers, z_centers, bx, bz):
    """H = average of k k' over all n^2 pairs of marginal draws, h = average over the joint rows."""
    n, b = len(X), len(x_centers)
    H, h = np.zeros((b, b)), np.zeros(b)
    for i in range(n):
        for j in range(n):
            k = np.array(
                [
                    gaussian(X[i], x_centers[c], bx) * gaussian(Z[j], z_centers[c], bz)
                    for c in range(b)
                ]
            )
            H += np.outer(k, k) / n**2
            if i == j:
                h += k / n
    return H, h


def ulsif_penalty(x_centers, z_centers, bx, bz, penalty):
    if penalty == "ridge":
        return np.eye(len(x_centers))
    return gram(x_centers, x_centers, bx) * gram(z_centers, z_centers, bz)


def ulsif(X, Z, x_centers, z_centers, bx, bz, lam, penalty):
    """theta = (H + lam R)^-1 h."""
    H, h = ulsif_moments(X, Z, x_centers, z_centers, bx, bz)
    return np.linalg.solve(H + lam * ulsif_penalty(x_centers, z_centers, bx, bz, penalty), h)


def ulsif_ratio(theta, x_centers, z_centers, bx, bz, x, z):
    """Phi(x, z) = sum_l theta_l k(x, x_l) k(z, z_l) for one pair."""
    return sum(
        t * gaussian(x, a, bx) * gaussian(z, c, bz)
        for t, a, c in zip(theta, x_centers, z_centers, strict=True)
    )


def ulsif_score(X, Z, x_centers, z_centers, bx, bz, lam, penalty, folds):
    """K-fold score 1/2 E_prod[Phi^2] - E_joint[Phi] on the rows left out, refitting every time."""
    scores = []
    for fold in sorted(set(folds)):
        left_out = folds == fold
        theta = ulsif(X[~left_out], Z[~left_out], x_centers, z_centers, bx, bz, lam, penalty)
        X_out, Z_out = X[left_out], Z[left_out]
        Phi = np.array(
            [[ulsif_ratio(theta, x_centers, z_centers, bx, bz, x, z) for z in Z_out] for x in X_out]
        )
        scores.append(0.5 * np.mean(Phi**2) - np.mean(np.diag(Phi)))
    return np.mean(scores)


def tensor(phi, psi, lx, lz):
    """M = (Gx + lx I)^-1 C (Gz + lz I)^-1 with averages over rows."""
    n = len(phi)
    Gx = sum(np.outer(f, f) for f in phi) / n
    Gz = sum(np.outer(g, g) for g in psi) / n
    C = sum(np.outer(f, g) for f, g in zip(phi, psi, strict=True)) / n
    inner = np.linalg.solve(Gx + lx * np.eye(len(Gx)), C)
    return np.linalg.solve(Gz + lz * np.eye(len(Gz)), inner.T).T


# Operators


def mean_embedding_weights(Z, z, bandwidth, penalty):
    """w(z) = (K_Z + penalty I)^-1 k_Z(z) for one z; penalty is n lambda."""
    K = gram(Z, Z, bandwidth)
    return np.linalg.solve(K + penalty * np.eye(len(Z)), gram(Z, [z], bandwidth)[:, 0])


def rkhs_error(X, i, others, w, bandwidth):
    """|k(x_i, .) - sum_j w_j k(x_j, .)|^2 in the RKHS."""
    k = gram(X[others], [X[i]], bandwidth)[:, 0]
    return 1.0 - 2 * w @ k + w @ gram(X[others], X[others], bandwidth) @ w


def mean_embedding_loo(X, Z, x_bandwidth, z_bandwidth, penalty):
    """The mean over i of the RKHS error of row i, predicted by a fit without row i."""
    total = 0.0
    for i in range(len(X)):
        others = np.arange(len(X)) != i
        w = mean_embedding_weights(Z[others], Z[i], z_bandwidth, penalty)
        total += rkhs_error(X, i, others, w, x_bandwidth)
    return total / len(X)


def nadaraya_watson_weights(Z, z, bandwidth):
    """w_i(z) = k(z, z_i) / sum_j k(z, z_j) for one z."""
    k = [gaussian(z, z_i, bandwidth) for z_i in Z]
    return np.array([k_i / sum(k) for k_i in k])


def nadaraya_watson_loo(X, Z, x_bandwidth, z_bandwidth):
    total = 0.0
    for i in range(len(X)):
        others = np.arange(len(X)) != i
        w = nadaraya_watson_weights(Z[others], Z[i], z_bandwidth)
        total += rkhs_error(X, i, others, w, x_bandwidth)
    return total / len(X)


def leaf_weights(train_leaves, leaves):
    """Average over trees of 1{same leaf} / size of the leaf, for one row of leaf numbers."""
    n, n_trees = train_leaves.shape
    w = np.zeros(n)
    for t in range(n_trees):
        members = [i for i in range(n) if train_leaves[i, t] == leaves[t]]
        for i in members:
            w[i] += 1 / len(members) / n_trees
    return w


# Ridge regression and the search for its parameter


def paper_search(loss, parameters, offset, n_rounds):
    """The paper's search for a regularisation parameter, as printed."""
    for _ in range(n_rounds):
        best = min(parameters, key=loss)
        parameters = [best + k * offset for k in (-5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5)]
        offset = offset / 10
    return best


def ridge_predictions(Psi, target, Psi_new, lam, weights, center):
    """Ridge regression of target - center, penalty lam times the total weight."""
    A = sum(w * np.outer(p, p) for w, p in zip(weights, Psi, strict=True))
    c = sum(w * p * (t - center) for w, p, t in zip(weights, Psi, target, strict=True))
    theta = np.linalg.solve(A + lam * sum(weights) * np.eye(len(A)), c)
    return center + Psi_new @ theta


def out_of_fold(Psi, target, folds, weights, lam):
    """Ridge predictions of each fold from the others."""
    prediction = np.empty(len(target))
    for fold in set(folds):
        out = folds == fold
        center = sum(weights[~out] * target[~out]) / sum(weights[~out])
        prediction[out] = ridge_predictions(
            Psi[~out], target[~out], Psi[out], lam, weights[~out], center
        )
    return prediction
