"""Tags of words that a text repeats: their probabilities are averaged over its sentences."""

import keras
import numpy as np
from keras import ops

from keraszoo.tagging.compiled_tagger import length_batches, rounded_shape


def averaged(sentences, probabilities, context, documents):
    """Averages the probabilities of tags over the same words in the sentences around.

        p'(y_t) = 1/|R_t| sum_{s in R_t} p(y_s)        R_t = {s: x_s = x_t, sentence of s within `context`}

    R_t includes t itself. Words are compared case-sensitively, within one document: `documents` are n
    numbers, equal for the sentences of one. `sentences` are n lists of str; p and p' are n float `(T,
    K)`.

    >>> sure, unsure = np.array([[0.25, 0.75]]), np.array([[0.5, 0.5]])
    >>> averaged([["Rome"], ["Rome"]], [sure, unsure], context=1, documents=[0, 0])[1].tolist()
    [[0.375, 0.625]]
    """
    far, ids, seen, places = len(sentences), {}, {}, []
    for words, document in zip(sentences, documents, strict=True):
        place = seen[document] = seen.get(document, -1) + 1  # of the sentence in its document
        for word in words:
            places.append(3 * far * ids.setdefault((document, word), len(ids)) + place)
    if not places:
        return list(probabilities)
    # In the order of places, all repeats of a word stand together, so that R_t is a slice.
    places, context = np.array(places), min(context, far)
    order = np.argsort(places, kind="stable")
    sums = np.cumsum(np.concatenate(probabilities)[order], axis=0, dtype="float64")
    sums = np.concatenate([np.zeros_like(sums[:1]), sums])
    first = np.searchsorted(places[order], places - context, "left")
    after = np.searchsorted(places[order], places + context, "right")
    means = (sums[after] - sums[first]) / (after - first)[:, None]
    return np.split(means.astype("float32"), np.cumsum([len(words) for words in sentences])[:-1])


def best_tags(decode, probabilities, batch_tokens):
    """The valid tags with the highest product of probabilities: int `(T,)` for each float32 `(T, K)`.

    `decode` is `SentenceTagger.best_tags`: the scheme of its model says what is valid.
    """
    tags = [np.zeros(0, "int32") for _ in probabilities]
    for indices in length_batches(list(map(len, probabilities)), batch_tokens):
        rows = [probabilities[i] for i in indices]
        shape = len(rows), len(rows[-1])  # the longest is the last
        if keras.backend.backend() == "jax":  # compiles for each shape
            shape = rounded_shape(shape)
        mask = np.arange(shape[1]) < np.array([*map(len, rows), *[0] * (shape[0] - len(rows))])[:, None]
        padded = np.ones((*shape, rows[0].shape[1]), "float32")
        padded[mask] = np.concatenate(rows)
        best = ops.convert_to_numpy(decode(padded, mask))
        for i, row, words in zip(indices, best, rows, strict=False):
            tags[i] = row[: len(words)]
    return tags
