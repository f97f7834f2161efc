"""The method in plain loops that follow the specification, as a slow reference for every fast path."""

import math

import numpy as np


def distance_table(X):
    X = [[float(value) for value in row] for row in X]
    return [[math.dist(p, q) for q in X] for p in X]


def silhouette_of_points(D, labels):
    """Step 2: s_i = (b_i - a_i) / max(a_i, b_i); 0 for single-point clusters and for 0/0."""
    n = len(labels)
    members = {c: [j for j in range(n) if labels[j] == c] for c in set(labels)}
    values = []
    for i in range(n):
        own = members[labels[i]]
        if len(own) == 1:
            values.append(0.0)
            continue
        a = sum(D[i][j] for j in own) / (len(own) - 1)
        b = min(sum(D[i][j] for j in other) / len(other) for c, other in members.items() if c != labels[i])
        values.append(0.0 if max(a, b) == 0 else (b - a) / max(a, b))
    return values


def micro_macro(values, labels):
    """Step 3: micro and macro averages of the silhouettes."""
    groups = {}
    for value, label in zip(values, labels, strict=True):
        groups.setdefault(label, []).append(value)
    micro = sum(values) / len(values)
    macro = sum(sum(group) / len(group) for group in groups.values()) / len(groups)
    return micro, macro


def weight(normalised, transform):
    """Step 6: the weight of the micro average, with the transforms from the paper's ablation."""
    return {
        "tanh": lambda x: (1 + math.tanh(x)) / 2,
        "linear": lambda x: (1 + x) / 2,
        "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
        "step": lambda x: 1.0 if x > 0 else 0.0,
    }[transform](normalised)


def composites(micros, macros, transform="tanh", epsilon=1e-12):
    """Steps 4 to 7: the composite silhouettes for one k."""
    deltas = [m - M for m, M in zip(micros, macros, strict=True)]
    largest = max(abs(delta) for delta in deltas)
    out = []
    for m, M, delta in zip(micros, macros, deltas, strict=True):
        w = 0.5 if largest == 0 else weight(delta / (largest + epsilon), transform)
        out.append(w * m + (1 - w) * M)
    return out


def score(values):
    """Step 8: mean and standard error."""
    n = len(values)
    mean = sum(values) / n
    if n < 2:
        return mean, math.nan
    return mean, math.sqrt(sum((v - mean) ** 2 for v in values) / (n - 1)) / math.sqrt(n)


def sample_size(n, k_max):
    fraction = 0.8 if n <= 2000 else 0.6 if n <= 20000 else 0.4
    return min(n, max(30 * k_max, math.floor(fraction * n)))


def subsample(seed, n, m):
    rows = np.arange(n)
    np.random.RandomState(seed).shuffle(rows)
    return rows[:m]


def select(X, ks, seeds, m, cluster, transform="tanh", z=0.0):
    """Return the score for each k, and the k with the highest lower bound; ties go to the smaller k."""
    scores, bounds = {}, {}
    for k in ks:
        micros, macros = [], []
        for seed in seeds:
            part = X[subsample(seed, len(X), m)]
            labels = [int(label) for label in cluster(part, k, seed)]
            micro, macro = micro_macro(silhouette_of_points(distance_table(part), labels), labels)
            micros.append(micro)
            macros.append(macro)
        scores[k], sem = score(composites(micros, macros, transform))
        bounds[k] = scores[k] - z * sem
    best = max(bounds.values())
    return scores, min(k for k in bounds if bounds[k] == best)


def adjusted_rand(first, second):
    """Return the agreement of two clusterings on pairs of rows, adjusted for chance."""
    pairs = [(i, j) for i in range(len(first)) for j in range(i)]
    one = {(i, j) for i, j in pairs if first[i] == first[j]}
    other = {(i, j) for i, j in pairs if second[i] == second[j]}
    expected, most = len(one) * len(other) / len(pairs), (len(one) + len(other)) / 2
    return 1.0 if most == expected else (len(one & other) - expected) / (most - expected)


def stability(X, ks, seeds, m, cluster):
    """Return, for each k, the mean and individual agreements of consecutive subsamples on their common rows."""
    found = {}
    for k in ks:
        labelings = []
        for seed in seeds:
            rows = subsample(seed, len(X), m)
            labelings.append(dict(zip(rows.tolist(), cluster(X[rows], k, seed), strict=True)))
        parts = []
        for i in range(1, len(seeds)):
            shared = [row for row in labelings[i] if row in labelings[i - 1]]
            if len(shared) >= 3 * k:
                before, here = ([labelings[j][row] for row in shared] for j in (i - 1, i))
                parts.append(adjusted_rand(before, here))
        found[k] = (sum(parts) / len(parts) if parts else math.nan), parts
    return found


def stability_on(common, X, ks, seeds, m, cluster):
    """Return, for each k, the agreements of consecutive subsamples on separate rows, labelled by the nearest mean."""
    found = {}
    for k in ks:
        labelings = []
        for seed in seeds:
            points = X[subsample(seed, len(X), m)]
            labels = np.asarray(cluster(points, k, seed))
            means = [points[labels == c].mean(axis=0) for c in range(k)]
            gaps = [[math.dist(point, mean) for mean in means] for point in common]
            labelings.append([row.index(min(row)) for row in gaps])
        found[k] = [adjusted_rand(labelings[i - 1], labelings[i]) for i in range(1, len(seeds))]
    return found


def best_start(starts):
    """Return the labels with the smallest inertia; the first of several starts with the same clusters is used."""
    best_labels, least = None, math.inf
    for labels, inertia in starts:
        same = best_labels is not None and adjusted_rand(labels, best_labels) == 1.0
        if inertia < least and not same:
            best_labels, least = labels, inertia
    return best_labels


def within_share(X, labels):
    """Return the within-cluster sum of squares divided by the total sum of squares."""
    X = [[float(value) for value in row] for row in X]

    def spread(rows):
        mean = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
        return sum(math.dist(row, mean) ** 2 for row in rows)

    clusters = [[row for row, label in zip(X, labels, strict=True) if label == c] for c in set(labels)]
    return sum(map(spread, clusters)) / spread(X)


def silhouettes_long_double(X, labels):
    """Return silhouettes in extended precision, for data whose float64 distances lose precision."""
    X = np.asarray(X).astype(np.longdouble)
    labels = np.asarray(labels)
    clusters = np.unique(labels)
    values = np.zeros(len(X), dtype=np.longdouble)
    for i in range(len(X)):
        step = X - X[i]
        largest = np.abs(step).max()
        distances = largest * np.sqrt(((step / (largest or 1)) ** 2).sum(axis=1))
        own = labels == labels[i]
        if own.sum() == 1:
            continue
        a = distances[own].sum() / (own.sum() - 1)
        b = min(distances[labels == c].mean() for c in clusters if c != labels[i])
        values[i] = 0 if max(a, b) == 0 else (b - a) / max(a, b)
    return values
