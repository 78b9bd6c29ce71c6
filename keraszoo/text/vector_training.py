"""Learns word vectors from text with gensim's word2vec."""

import contextlib
import logging
import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterable

from keraszoo.errors import DataError, KerasZooError, check_at_least
from keraszoo.text.tagged_files import read_sentences
from keraszoo.text.word_vectors import BACKOFFS, WordVectors

ALGORITHMS = ("skip-gram", "cbow")
REPORT_EVERY = 100_000  # tokens


def train_vectors(
    source,
    width=200,
    *,
    algorithm="skip-gram",
    window=5,
    min_count=2,
    negative=5,
    sample=1e-3,
    epochs=5,
    form="exact",
    seed=1,
    workers=1,
    kind="auto",
    rules="words",
    progress=None,
):
    """Learns word vectors by word2vec with negative sampling.

    For a word w and each word c within `window` of it, the vectors v of w and u of c move to increase

        log sigma(u . v) + sum over `negative` words c' drawn at random of log sigma(-u' . v)

    (eq. 4 of the paper; the u are discarded). `"cbow"` predicts w from the mean of its neighbours instead.

    The text is tokenized once into a temporary file about as large as the text, so memory stays small and
    `source` may be a generator. Tokens of files that contain blanks, such as no-break spaces, are left out.
    With `workers=1` the same text and arguments give the same vectors, bit by bit; with more workers every
    run differs slightly.

    Args:
        source: a list or tuple of files, see `read_sentences`; or an iterable of lists of tokens without
            blanks.
        width: the number of numbers of a vector.
        algorithm: `"skip-gram"`, better for rare words, or `"cbow"`, faster.
        window: the largest distance of neighbours, in words.
        min_count: rarer words get no vector.
        negative: the number of words drawn per pair.
        sample: words with a larger share of the text are skipped at random; 0 skips none.
        epochs: passes over the text.
        form: a name of `BACKOFFS`, applied to each token first: `"digits0"` turns all numbers of four digits
            into one word, which the lookup step of the same name finds.
        seed: of all random numbers.
        workers: the number of threads.
        kind: of the files, see `read_sentences`.
        rules: how raw text in files is tokenized, see `tokenize`.
        progress: called as `progress(stage, done, total)` with the stages "reading" and "learning" (after
            each epoch), the number of tokens done, and their total (None while it is unknown).

    Returns:
        (vectors, report): `WordVectors`, the most frequent words first; a line of text with the numbers of
        tokens, types and words, and the time.

    Raises:
        DataError: no text, no word that is frequent enough, a file that cannot be read.
        KerasZooError: an argument out of its range.

    Example:

    >>> vectors, report = train_vectors([["a", "b", "c"], ["a", "c", "b"]] * 50, width=8, seed=3)
    >>> vectors
    <WordVectors: 3 words, 8 numbers each>
    >>> print(report)
    300 tokens of 3 types; 3 words have vectors, 100.0 % of the tokens; 5 epochs, ... s

    Reference:
        Mikolov et al. 2013, Distributed Representations of Words and Phrases and their Compositionality,
        https://arxiv.org/abs/1310.4546.
    """
    from gensim.models import callbacks, word2vec

    class Epochs(callbacks.CallbackAny2Vec):
        """Reports the tokens of the epochs that have ended."""

        done = 0

        def on_epoch_end(self, model):
            self.done += total
            progress("learning", self.done, total * epochs)

    progress = progress or (lambda stage, done, total: None)
    for name, value, allowed in (("algorithm", algorithm, ALGORITHMS), ("form", form, BACKOFFS)):
        if value not in allowed:
            raise KerasZooError(f"{name}: expected one of {', '.join(allowed)}, got {value!r}")
    options = {"window": window, "min_count": min_count, "negative": negative}
    options |= {"sample": sample, "seed": seed, "workers": workers}
    numbers, least = {"width": width, "epochs": epochs, **options}, {"sample": 0.0, "seed": 0}
    check_at_least(**{name: (value, least.get(name, 1)) for name, value in numbers.items()})
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="keraszoo-vectors-") as folder, _quiet_gensim():
        path = os.path.join(folder, "tokens")
        counts, total = Counter(), 0
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            for run in _runs(source, kind, rules):
                run = [BACKOFFS[form](token) for token in run]
                try:
                    file.write(" ".join(run) + "\n")
                except UnicodeEncodeError:
                    raise DataError(f"expected valid Unicode, got {str(run)[:60]}") from None
                counts.update(run)
                if (total + len(run)) // REPORT_EVERY > total // REPORT_EVERY:
                    progress("reading", total + len(run), None)
                total += len(run)
        progress("reading", total, total)
        known = {word: count for word, count in counts.items() if count >= min_count}
        if not known:
            most = max(counts.values(), default=0)
            raise DataError(f"no word occurs {min_count} times in {total:,} tokens; the most: {most}")
        text = word2vec.LineSentence(path)
        runs = sum(1 for _ in text)
        model = word2vec.Word2Vec(
            vector_size=width,
            sg=int(algorithm == "skip-gram"),
            # The learning rate falls from batch to batch, so a short text needs small batches.
            batch_words=min(10_000, max(100, total // 100)),
            **options,
        )
        model.build_vocab_from_freq(counts, corpus_count=runs)
        model.train(text, total_examples=runs, epochs=epochs, callbacks=[Epochs()])
    report = (
        f"{total:,} tokens of {len(counts):,} types; {len(known):,} words have vectors, "
        f"{100 * sum(known.values()) / total:.1f} % of the tokens; {epochs} epochs, "
        f"{time.monotonic() - started:.0f} s"
    )
    return WordVectors(model.wv.index_to_key, model.wv.vectors), report


def _runs(source, kind, rules):
    """Yields lists of tokens of files or of an iterable of lists of tokens, none with a blank in it."""
    if isinstance(source, (str, os.PathLike)):
        raise KerasZooError(f"expected a list of files or of lists of tokens, got {source!r}")
    are_files = isinstance(source, (list, tuple)) and all(
        isinstance(item, (str, os.PathLike)) for item in source
    )
    for number, run in enumerate(source):
        if are_files:
            for sentence in read_sentences(run, kind, rules):
                yield [token for token in sentence.tokens if _is_word(token)]
        elif isinstance(run, str) or not isinstance(run, Iterable) or not all(map(_is_word, run)):
            raise DataError(f"run {number}: expected a list of tokens without blanks, got {str(run)[:60]!r}")
        else:
            yield run


def _is_word(token):
    """Whether gensim reads a token as one word."""
    return isinstance(token, str) and token.split() == [token]


@contextlib.contextmanager
def _quiet_gensim():
    """Hides gensim's warnings about short texts."""
    logger = logging.getLogger("gensim")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
