"""Teaches a tagger the vectors of words from their n-grams, by regression on the words that have one."""

import numpy as np
from keras import ops

WORDS = 200_000  # the first words of the vectors, which are the most frequent
PENALTY = 3.0


def learn_subwords(layer, vocabulary, vectors):
    """Sets the weights of a `BagOfSubwords`: ridge regression of word vectors on n-grams.

    It minimises sum_w |v(w) - v_w|^2 + `PENALTY` |U|^2 over the table U (N, D) of n-grams, with v_w projected
    on the R directions of the largest variance and v(w) as in `BagOfSubwords`; E = U P and W = P^T for the
    projection P (D, R).

    Args:
        layer: the `BagOfSubwords` of a tagger.
        vocabulary: the `TaggingVocabulary` of the tagger, which numbers characters.
        vectors: `WordVectors`, the most frequent words first; the first `WORDS` count.
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
    ridge = Ridge(PENALTY, solver="sparse_cg", tol=1e-3).fit(n_grams, centred @ projection)
    if not layer.built:
        layer.build()
    layer.set_weights([ridge.coef_.T, projection.T, mean + projection @ ridge.intercept_])
