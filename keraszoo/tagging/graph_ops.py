"""Raw text to features, and tag ids to entities, in a TensorFlow graph; equals the Python of `keraszoo.text`.

Words are matched by the same regular expressions, with RE2 instead of `re`. Positions are counted in
characters, although RE2 counts bytes.
"""

from typing import NamedTuple

from keraszoo.text.characters import UNSEEN
from keraszoo.text.tag_schemes import BEGINS, ENDS, split_tag
from keraszoo.text.tagging_features import CASINGS, UNKNOWN
from keraszoo.text.tokens import BLANKS, GAPS, KEEP, LONGEST_SENTENCE, SENTENCE, TOKEN_RULES

BATCH_TOKENS = 8192  # words or subwords tagged at a time, with padding


class GraphTokens(NamedTuple):
    """Words of B texts, and where each starts and ends (exclusive) in characters: ragged `(B, S, T)`."""

    text: object
    start: object
    end: object


def tokenize(texts, rules):
    """Splits strings `(B,)` in UTF-8 into sentences and words, as `sentence_tokens` does.

    Invalid bytes are read as U+FFFD.
    """
    import tensorflow as tf
    import tensorflow_text as tf_text

    split = tf_text.regex_split_with_offsets
    match, part = TOKEN_RULES[rules]
    texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")
    texts = tf.strings.regex_replace(texts, r"\x00", " ")  # a blank too, at which the operation would stop
    sentences, begin, _ = split(texts, f"{SENTENCE}|{BLANKS}", KEEP)  # (B, S)
    # (N, T), N sentences of all texts
    tokens, start, _ = split(sentences.flat_values, f"{match}|{GAPS}", KEEP)
    start = _moved(start, begin.flat_values)
    if part:
        pieces, shift, _ = split(tokens.flat_values, part, "(?s).+")  # (M, P), M words of all sentences
        start = start.with_flat_values(_moved(shift, start.flat_values)).merge_dims(1, 2)
        tokens = tokens.with_flat_values(pieces).merge_dims(1, 2)
    end = start.flat_values + tf.cast(tf.strings.length(tokens.flat_values), tf.int64)
    rows = tf.repeat(sentences.value_rowids(), tokens.row_lengths())  # which text a word is from
    place = _character_places(texts)
    rows_of = _pieces(tokens.row_lengths(), sentences.value_rowids(), sentences.nrows())
    places = [place(rows, byte) for byte in (start.flat_values, end)]
    return GraphTokens(*map(rows_of, (tokens.flat_values, *places)))


def _moved(rows, by):
    """Adds to all values of each row of ragged `(N, T)` its number in `by` `(N,)`."""
    import tensorflow as tf

    return rows.with_flat_values(rows.flat_values + tf.gather(by, rows.value_rowids()))


def _pieces(lengths, texts, count):
    """Cuts N sentences of these lengths, from these texts; returns a function from `(W,)` to `(B, S, T)`."""
    import tensorflow as tf

    pieces = -(-lengths // LONGEST_SENTENCE)  # (N,)
    sentence = tf.repeat(tf.range(tf.size(pieces)), pieces)  # (P,), the sentence of a piece
    number = tf.range(tf.size(sentence), dtype=tf.int64) - tf.gather(
        tf.cumsum(pieces, exclusive=True), sentence
    )
    of_pieces = tf.minimum(tf.gather(lengths, sentence) - number * LONGEST_SENTENCE, LONGEST_SENTENCE)

    def rows_of(values):
        rows = tf.RaggedTensor.from_row_lengths(values, of_pieces, validate=False)
        return tf.RaggedTensor.from_value_rowids(rows, tf.gather(texts, sentence), count, validate=False)

    return rows_of


def _character_places(texts):
    """Makes a function of (text number, byte position) that returns the position of the character."""
    import tensorflow as tf

    _, starts = tf.strings.unicode_decode_with_offsets(texts, "UTF-8")  # (B, L), first bytes of characters
    # Concatenate all texts, one byte apart, so that one sorted list serves all.
    bases = tf.cumsum(tf.cast(tf.strings.length(texts), tf.int64) + 1, exclusive=True)
    sorted_starts = _moved(starts, bases).flat_values
    first = starts.row_splits

    def place(rows, byte):
        number = tf.searchsorted(sorted_starts, tf.gather(bases, rows) + byte, out_type=tf.int64)
        return tf.cast(number - tf.gather(first, rows), tf.int32)

    return place


class GraphFeatures:
    """A `TaggingVocabulary` as tables of a graph."""

    def __init__(self, vocabulary):
        self.vocabulary = vocabulary
        if vocabulary.subwords is not None:
            vocabulary.subwords.check_graph()
            self.tables = [vocabulary.subwords.tokenizer]
            return
        self.words = _table(vocabulary.words, missing=-1)
        self.characters = _table(vocabulary.characters, missing=UNKNOWN)
        self.tables = [self.words, self.characters]

    def encode(self, tokens, names):
        """Features of ragged strings `(N, T)`, none empty: int32 `(N, T)` or `(N, T, C)`, padded with 0."""
        import tensorflow as tf

        # A batch has few different words; each is looked up once.
        unique, place = tf.unique(tokens.flat_values)
        unique = tf.strings.regex_replace(unique, UNSEEN, r"\1")
        if self.vocabulary.subwords is not None:
            return _subwords(self.vocabulary.subwords.in_graph(unique), tokens.with_flat_values(place))
        made = {"words": self._words, "characters": self._characters, "casing": _casings}
        features = {}
        for name in names:
            values = made[name](unique)
            values = tf.pad(values, [[1, 0]] + [[0, 0]] * (len(values.shape) - 1))  # row 0 for padding
            features[name] = tf.gather(values, tokens.with_flat_values(place + 1).to_tensor())
        return features

    def lengths(self, tokens):
        """The positions of each sentence in a batch, int64 `(N,)`; see `TaggingVocabulary.lengths`."""
        import tensorflow as tf

        if self.vocabulary.subwords is None:
            return tokens.row_lengths()
        unique, place = tf.unique(tokens.flat_values)
        ids = self.vocabulary.subwords.in_graph(tf.strings.regex_replace(unique, UNSEEN, r"\1"))
        subwords = tokens.with_flat_values(tf.gather(ids.row_lengths(), place))
        return tf.maximum(tokens.row_lengths(), tf.reduce_sum(subwords, axis=1))

    def _words(self, words):
        import tensorflow as tf

        ids = tf.fill(tf.shape(words), -1)
        for name in reversed(self.vocabulary.backoff):
            known = self.words.lookup(graph_form(words, name))
            ids = tf.where(known >= 0, known, ids)
        return tf.where(ids >= 0, ids, UNKNOWN)

    def _characters(self, words):
        import tensorflow as tf

        letters = tf.strings.unicode_split(words, "UTF-8")[:, : self.vocabulary.word_length]
        return letters.with_flat_values(self.characters.lookup(letters.flat_values)).to_tensor()


def _subwords(of_words, places):
    """The features `PretrainedSubwords.features`, of ragged subwords of W words and their places `(N, T)`."""
    import tensorflow as tf

    rows = tf.gather(of_words, places)  # (N, T, S)
    lengths = places.with_flat_values(tf.cast(rows.values.row_lengths(), tf.int32)).to_tensor()
    first = tf.cumsum(lengths, axis=1, exclusive=True) + 1
    # A batch without sentences has no longest one, but a model needs at least one subword.
    return {"words": tf.where(lengths > 0, first, 0), "subwords": rows.merge_dims(1, 2).to_tensor(-1) + 1}


def graph_form(words, name):
    """The form of words that a back-off looks up; see `keraszoo.text.word_vectors`."""
    import tensorflow as tf

    if name == "capital":
        letters = tf.strings.unicode_split(words, "UTF-8")
        first, rest = (tf.strings.reduce_join(part, axis=1) for part in (letters[:, :1], letters[:, 1:]))
        return _cased(tf.strings.upper, first) + _cased(tf.strings.lower, rest)
    for step in name.split("+"):
        if step == "lower":
            words = _cased(tf.strings.lower, words)
        elif step.startswith("digits"):
            words = tf.strings.regex_replace(words, "[0-9]", step.removeprefix("digits"))
    return words


def _cased(function, words):
    """Words in another case, ASCII first: by Unicode, I is a dotless i where the locale is Turkish."""
    return function(function(words), "utf-8")


def _casings(words):
    """The number, from 1, of the first of `CASINGS` that matches each word."""
    import tensorflow as tf

    casing = tf.fill(tf.shape(words), len(CASINGS))
    for i, expression in reversed(list(enumerate(CASINGS.values(), start=1))):
        casing = tf.where(tf.strings.regex_full_match(words, expression), i, casing)
    return casing


def _table(items, missing):
    """A table from strings to ids, starting with 2."""
    import tensorflow as tf

    keys, ids = tf.constant(list(items), tf.string), tf.range(2, 2 + len(items), dtype=tf.int32)
    return tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, ids), missing)


class GraphTags:
    """The K tags of a vocabulary, in any scheme, as tables of a graph."""

    def __init__(self, names):
        import tensorflow as tf

        letters, labels = zip(*map(split_tag, names), strict=True)
        self.labels = tf.constant(labels)
        self.begins = tf.constant([letter in BEGINS for letter in letters])
        self.ends = tf.constant([letter in ENDS for letter in letters])

    def read(self, ids, first):
        """Reads entities from tags; tags that the scheme does not allow are read as conlleval does.

        `ids` `(W,)` are the tags of the words of all sentences, `first` is True at the first word of
        each. Returns labels, strings `(W,)`, empty outside of entities, and where an entity begins, bool
        `(W,)`.
        """
        import tensorflow as tf

        labels = tf.gather(self.labels, ids)
        other = tf.concat([[True], labels[1:] != labels[:-1]], axis=0)
        ended = tf.concat([[True], tf.gather(self.ends, ids)[:-1]], axis=0)
        new = first | other[: tf.size(ids)] | ended[: tf.size(ids)] | tf.gather(self.begins, ids)
        return labels, (labels != "") & new


def iob2(labels, begins):
    """IOB2 tags, strings `(W,)`, from the results of `GraphTags.read`."""
    import tensorflow as tf

    return tf.where(labels == "", "O", tf.where(begins, "B-", "I-") + labels)


def entities(labels, begins, words):
    """Reduces outputs for words to outputs for entities, a dict of tensors `(E,)`.

    `labels` and `begins` are the results of `GraphTags.read`; `words` has `start`, `end`, `probability` and
    perhaps `attention`, `(W,)` each. The result has them, `label`, and `word`, the number of the first word.
    """
    import tensorflow as tf

    first = tf.where(begins)[:, 0]  # (E,)
    inside = tf.where(labels != "")[:, 0]
    number = tf.gather(tf.cumsum(tf.cast(begins, tf.int32)), inside) - 1
    count = tf.size(first)
    last = tf.math.unsorted_segment_max(inside, number, count)
    found = {
        "label": tf.gather(labels, first),
        "word": first,
        "start": tf.gather(words["start"], first),
        "end": tf.gather(words["end"], last),
        "probability": tf.math.unsorted_segment_min(tf.gather(words["probability"], inside), number, count),
    }
    if "attention" in words:
        attention = tf.gather(words["attention"], inside)
        found["attention"] = tf.math.unsorted_segment_sum(attention, number, count)
    return found


def in_batches(function, rows, lengths, dtypes):
    """Applies a function to a few rows at a time, so that memory does not grow with their number.

    The function turns ragged `(n, T)` into tensors `(W,)` of these `dtypes`, one value for each of the W
    words. `lengths` are the positions that each row takes. Returns such tensors for the words of all rows.
    """
    import tensorflow as tf

    longest = tf.reduce_max(tf.pad(lengths, [[0, 1]], constant_values=1))
    size = tf.maximum(BATCH_TOKENS // longest, 1)
    count = tf.maximum(-(-rows.nrows() // size), 1)  # no rows are one batch: the function gives the shapes

    def body(i, results):
        parts = function(rows[i * size : (i + 1) * size])
        written = zip(results, parts, strict=True)
        return i + 1, [result.write(tf.cast(i, tf.int32), part) for result, part in written]

    results = [
        tf.TensorArray(dtype, tf.cast(count, tf.int32), element_shape=[None], infer_shape=False)
        for dtype in dtypes
    ]
    start = tf.constant(0, tf.int64)
    _, results = tf.while_loop(lambda i, _: i < count, body, (start, results), parallel_iterations=1)
    return [result.concat() for result in results]
