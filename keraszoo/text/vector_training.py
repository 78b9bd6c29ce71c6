"""Learning word vectors from text: word2vec, by gensim."""

import contextlib
import itertools
import logging
import os
import tempfile
import time
from collections import Counter
from dataclasses import dataclass

from keraszoo.errors import DataError, KerasZooError
from keraszoo.text.backoff import BACKOFFS
from keraszoo.text.token_files import read_tokens
from keraszoo.text.word_vectors import WordVectors

ALGORITHMS = ("skip-gram", "cbow")
LONGEST_RUN = 10_000  # tokens; of longer ones gensim leaves the rest out
REPORT_EVERY = 100_000  # tokens


@dataclass(frozen=True)
class TrainingReport:
    """What vectors were learnt from.

    Attributes:
        tokens: running words of the text.
        types: different words among them.
        words: those that occur often enough to have got a vector.
        known_tokens: running words that these make up.
        epochs: how often the text was gone through.
        seconds: of reading and learning.
    """

    tokens: int
    types: int
    words: int
    known_tokens: int
    epochs: int
    seconds: float

    def __str__(self):
        share = 100 * self.known_tokens / self.tokens
        return (
            f"{self.tokens:,} tokens of {self.types:,} types; {self.words:,} words have vectors, "
            f"{share:.1f} % of the tokens; {self.epochs} epochs, {self.seconds:.0f} s"
        )


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

    For a word w and each word c within `window` of it, the vectors v of w and u of c move so as to raise

        log sigma(u . v) + sum over `negative` words c' drawn at random of log sigma(-u' . v)

    (eq. 4 of the paper; the u are thrown away). `"cbow"` predicts w from the mean of its neighbours instead.

    Text is tokenised once, into a temporary file about as large as the text, so that neither text nor tokens
    need be in memory, and `source` may be a generator. With `workers=1` the same text and arguments give the
    same vectors, bit by bit; more workers race, and each run is a little different.

    Args:
        source: a list of files (each as `read_tokens` reads it), or an iterable of lists of tokens.
        width: how many numbers a vector has.
        algorithm: `"skip-gram"` or `"cbow"`; the first is the better for rare words, the second for speed.
        window: the farthest neighbour that counts, in words.
        min_count: words that occur less often get no vector.
        negative: words drawn for each pair.
        sample: words of a larger share of the text than this are left out at random; 0: never.
        epochs: how often the text is gone through.
        form: a name of `BACKOFFS`, by which each token is written before anything else: `"digits0"` makes
            one word of all numbers of four digits, and the step of this name finds it again.
        seed: of all that is random.
        workers: how many threads learn at a time.
        kind: of the files, see `read_tokens`.
        rules: by which raw text in files is cut into tokens, see `tokenize`.
        progress: called as `progress(stage, done, total)` with the stages "reading" and "learning", the
            tokens done, and those there are in all (None while that is not known).

    Returns:
        (`WordVectors`, `TrainingReport`), the most frequent words first.

    Raises:
        DataError: no text, no word often enough, a file that cannot be read.
        KerasZooError: an argument out of its range, or gensim is not installed.

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
    if algorithm not in ALGORITHMS:
        raise KerasZooError(f"algorithm: expected {' or '.join(ALGORITHMS)}, got {algorithm!r}")
    if form not in BACKOFFS:
        raise KerasZooError(f"form: expected one of {', '.join(BACKOFFS)}, got {form!r}")
    for name, value, least in (
        ("width", width, 1), ("window", window, 1), ("min_count", min_count, 1), ("negative", negative, 1),
        ("sample", sample, 0), ("epochs", epochs, 1), ("workers", workers, 1), ("seed", seed, 0),
    ):  # fmt: skip
        if value < least:
            raise KerasZooError(f"{name}: expected at least {least}, got {value}")
    word2vec = _gensim()
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="keraszoo-vectors-") as folder, only_errors_of_gensim():
        tokens = _StoredTokens(os.path.join(folder, "tokens"), progress)
        runs = source
        if _are_files(source):
            runs = itertools.chain.from_iterable(read_tokens(path, kind, rules) for path in source)
        tokens.store(runs, BACKOFFS[form])
        known = {word: count for word, count in tokens.counts.items() if count >= min_count}
        if not known:
            most = max(tokens.counts.values(), default=0)
            raise DataError(f"no word occurs {min_count} times in {tokens.total:,} tokens; the most: {most}")
        model = word2vec.Word2Vec(
            vector_size=width,
            sg=int(algorithm == "skip-gram"),
            window=window,
            min_count=min_count,
            negative=negative,
            sample=sample,
            seed=seed,
            workers=workers,
            # The learning rate falls from batch to batch: a short text needs small ones to see it fall.
            batch_words=min(10_000, max(100, tokens.total // 100)),
        )
        model.build_vocab_from_freq(tokens.counts, corpus_count=tokens.runs)
        tokens.epochs = epochs
        model.train(tokens, total_examples=tokens.runs, epochs=epochs)
        if tokens.failure is not None:
            raise tokens.failure
    report = TrainingReport(
        tokens.total, len(tokens.counts), len(known), sum(known.values()), epochs, time.monotonic() - started
    )
    return WordVectors(model.wv.index_to_key, model.wv.vectors), report


class _StoredTokens:
    """Runs of tokens in a file, a line each with TABs between, which can be gone through again and again."""

    def __init__(self, path, progress):
        self.path = path
        self.progress = progress or (lambda stage, done, total: None)
        self.counts = Counter()
        self.runs = self.total = self.done = 0
        self.next_report = REPORT_EVERY
        self.epochs = 1
        self.failure = None

    def store(self, runs, form):
        with open(self.path, "w", encoding="utf-8", newline="\n") as file:
            for run in runs:
                run = [form(token) for token in _checked(run, self.runs)]
                self.counts.update(run)
                self.total += len(run)
                for start in range(0, len(run), LONGEST_RUN):
                    file.write("\t".join(run[start : start + LONGEST_RUN]) + "\n")
                    self.runs += 1
                self._tell("reading", self.total, None)
        self.progress("reading", self.total, self.total)
        self.next_report = REPORT_EVERY

    def __iter__(self):
        if self.failure is None:
            try:
                yield from self._read()
            except Exception as error:  # gensim reads in a thread; if it died, the others would wait for ever
                self.failure = error

    def _read(self):
        with open(self.path, encoding="utf-8", newline="\n") as file:
            for line in file:
                run = line[:-1].split("\t")
                yield run
                self.done += len(run)
                self._tell("learning", self.done, self.total * self.epochs)

    def _tell(self, stage, done, total):
        if done >= self.next_report or done == total:
            self.progress(stage, done, total)
            self.next_report = done + REPORT_EVERY


def _checked(run, number):
    if isinstance(run, str) or not all(isinstance(token, str) and token for token in run):
        raise DataError(f"run {number}: expected a list of tokens that are not empty, got {str(run)[:60]!r}")
    for token in run:
        if "\t" in token or "\n" in token:
            raise DataError(f"run {number}: a token with a TAB or a line feed in it: {token!r}")
    return run


def _are_files(source):
    """Whether a source is a list of paths, and no iterable of lists of tokens."""
    if isinstance(source, (str, os.PathLike)):
        raise KerasZooError(f"expected a list of files or of lists of tokens, got {source!r}")
    return isinstance(source, (list, tuple)) and all(isinstance(item, (str, os.PathLike)) for item in source)


def _gensim():
    try:
        from gensim.models import word2vec
    except ImportError as error:
        raise KerasZooError("word vectors are learnt by gensim: pip install gensim") from error
    return word2vec


@contextlib.contextmanager
def only_errors_of_gensim():
    """Gensim warns of a short text, in words that mean nothing to somebody who never asked for gensim."""
    logger = logging.getLogger("gensim")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
