"""Ids of tags to tags and entities inside a TensorFlow graph, as `keraszoo.text.tag_schemes` reads them."""

from keraszoo.text.tag_schemes import BEGINS, ENDS, split_tag


class GraphTags:
    """The tags of a vocabulary as tables of a graph.

    Args:
        names: the K tags, in any scheme.
    """

    def __init__(self, names):
        import tensorflow as tf

        letters, labels = zip(*map(split_tag, names), strict=True)
        self.labels = tf.constant(labels)
        self.begins = tf.constant([letter in BEGINS for letter in letters])
        self.ends = tf.constant([letter in ENDS for letter in letters])

    def read(self, ids, first):
        """Where entities begin, and their labels; what the scheme does not allow is read as conlleval would.

        Args:
            ids: int `(W,)`, tags of words behind each other.
            first: bool `(W,)`, `True` at the first word of a sentence.

        Returns:
            `(labels, begins)`: strings `(W,)`, empty outside of entities, and bool `(W,)`.
        """
        import tensorflow as tf

        labels = tf.gather(self.labels, ids)
        other = tf.concat([[True], labels[1:] != labels[:-1]], axis=0)
        ended = tf.concat([[True], tf.gather(self.ends, ids)[:-1]], axis=0)
        new = first | other[: tf.size(ids)] | ended[: tf.size(ids)] | tf.gather(self.begins, ids)
        return labels, (labels != "") & new


def iob2(labels, begins):
    """IOB2 tags, strings `(W,)`, of what `GraphTags.read` gives."""
    import tensorflow as tf

    return tf.where(labels == "", "O", tf.where(begins, "B-", "I-") + labels)


def entities(labels, begins, values):
    """Entities of words.

    Args:
        labels, begins: as `GraphTags.read` gives them.
        values: dict of name -> (tensor `(W,)`, `"first"`, `"last"`, `"min"` or `"sum"`): what of each
            entity's words is wanted.

    Returns:
        Dict of tensors `(E,)`, one for each name, with `label` and `word`, the number of its first word.
    """
    import tensorflow as tf

    start = tf.where(begins)[:, 0]  # (E,)
    inside = tf.where(labels != "")[:, 0]
    number = tf.gather(tf.cumsum(tf.cast(begins, tf.int32)), inside) - 1
    count = tf.size(start)
    last = tf.math.unsorted_segment_max(inside, number, count)
    of_words = {"min": tf.math.unsorted_segment_min, "sum": tf.math.unsorted_segment_sum}
    found = {"label": tf.gather(labels, start), "word": start}
    for name, (value, how) in values.items():
        if how in of_words:
            found[name] = of_words[how](tf.gather(value, inside), number, count)
        else:
            found[name] = tf.gather(value, {"first": start, "last": last}[how])
    return found
