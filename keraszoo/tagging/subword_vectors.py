"""Teaches a tagger the vectors of words from their n-grams, by regression on the words that have one."""

import numpy as np
from keras import ops

WORDS = 200_000  # the first words of the vectors, which are the most frequent
RIDGE = 3.0


def learn_subwords(layer, vocabulary, vectors):
    """Sets the weights of a `BagOfSubwords`: ridge regression of word vectors on n-grams.

    With m the mean of the vectors v_w and P (D, R) the R directions of the largest variance,

        min_{E, c}  sum_w |z(w) + c - (v_w - m) P|^2 + `RIDGE` |E|^2
        z(w) = |G|^{-1/2} sum_{g in G} E[hash(g)],    W = P^T,    b = m + c P^T

    Letters count as they are: `Paris` and `PARIS` share few n-grams. `vocabulary` numbers the characters;
    `vectors` have the most frequent words first, and rows beyond the first `WORDS` do not count.
    """
    import scipy.sparse
    from sklearn.linear_model import Ridge

    vectors = vectors.first(WORDS)
    spelt = vocabulary.spell(vectors.words)
    parts = [[ops.convert_to_numpy(part) for part in pair] for pair in layer.n_grams(spelt)]
    ids, mask = (np.concatenate(part, axis=1) for part in zip(*parts, strict=True))  # (N, G)
    counts = np.maximum(mask.sum(axis=1, keepdims=True), 1)
    values = np.broadcast_to(counts**-0.5, mask.shape)[mask]
    places = np.nonzero(mask)[0], ids[mask]
    n_grams = scipy.sparse.csr_matrix((values, places), shape=(len(ids), layer.buckets), dtype="float64")
    mean = vectors.matrix.mean(axis=0, dtype="float64")
    centred = vectors.matrix - mean
    projection = np.linalg.eigh(centred.T @ centred)[1][:, : -layer.rank - 1 : -1]  # (D, R)
    ridge = Ridge(RIDGE, solver="sparse_cg", tol=1e-3).fit(n_grams, centred @ projection)
    if not layer.built:
        layer.build()
    layer.set_weights(
        [ridge.coef_.reshape(-1, layer.buckets).T, projection.T, mean + projection @ ridge.intercept_]
    )
