"""How far words stand from each other, in keys and values (Shaw, Uszkoreit and Vaswani, 2018)."""

from keras import ops


def relative_vectors(vectors, positions, key_positions):
    """The vector of each distance between a query and a key.

        a_ij = w_clip(j - i, k),  clip(x, k) = max(-k, min(k, x))        (section 3.2)

    Args:
        vectors: w, `(2 k + 1, d)`, those of the distances -k to k.
        positions: i, int `(T,)`, or `(1,)` where all queries stand at one place.
        key_positions: j, int `(S,)`.

    Returns:
        a, `(T or 1, S, d)`. It is the same for all sentences and heads.

    Example:

    >>> vectors = ops.convert_to_tensor([[-1.0], [0.0], [1.0]])  # k = 1
    >>> ops.convert_to_numpy(relative_vectors(vectors, ops.arange(2), ops.arange(4)))[..., 0].tolist()
    [[0.0, 1.0, 1.0, 1.0], [-1.0, 0.0, 1.0, 1.0]]

    Reference: Shaw, Uszkoreit, Vaswani: Self-Attention with Relative Position Representations, 2018,
    https://arxiv.org/abs/1803.02155.
    """
    largest = vectors.shape[0] // 2
    distances = key_positions[None, :] - positions[:, None]  # (T or 1, S)
    return ops.take(vectors, ops.clip(distances, -largest, largest) + largest, axis=0)


def relative_scores(queries, vectors):
    """What the distances add to the scores, q_i a_ij^T (eq. 4).

    Args:
        queries: `(B, H, T, d)`.
        vectors: a, `(T or 1, S, d)`.

    Returns:
        `(B, H, T, S)`.
    """
    vectors = ops.cast(vectors, queries.dtype)
    if vectors.shape[0] == 1:
        return ops.matmul(queries, ops.transpose(vectors[0]))
    return ops.einsum("bhtd,tsd->bhts", queries, vectors)


def relative_values(weights, vectors):
    """What the distances add to the context, sum_j alpha_ij a_ij (eq. 3).

    Args:
        weights: alpha, `(B, H, T, S)`.
        vectors: a, `(T or 1, S, d)`.

    Returns:
        `(B, H, T, d)`.
    """
    vectors = ops.cast(vectors, weights.dtype)
    if vectors.shape[0] == 1:
        return ops.matmul(weights, vectors[0])
    return ops.einsum("bhts,tsd->bhtd", weights, vectors)
