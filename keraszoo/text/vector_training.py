"""Learns word vectors from text with gensim's word2vec."""

import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterable

from keraszoo.errors import DataError, KerasZooError, check_at_least
from keraszoo.text.tagged_files import read_sentences
from keraszoo.text.vector_scores import quiet_gensim
from keraszoo.text.word_vectors import BACKOFFS, WordVectors

ALGORITHMS = ("skip-gram", "cbow")
LONGEST_RUN = 10_000  # tokens; gensim ignores the rest of longer runs
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
    `source` may be a generator. With `workers=1` the same text and arguments give the same vectors, bit by
    bit; with more workers every run differs slightly.

    Args:
        source: a list or tuple of files, see `read_sentences`; or an iterable of lists of tokens.
        width: the number of numbers of a vector.
        algorithm: `"skip-gram"`, better for rare words, or `"cbow"`, faster.
        window: the largest distance of neighbours, in words.
        min_count: rarer words get no vector.
        negative: the number of words drawn per pair.
        sample: words with a larger share of the text are skipped at random; 0 skips none.
        epochs: the number of passes over the text.
        form: a name of `BACKOFFS`, applied to each token first: `"digits0"` turns all numbers of four digits
            into one word, which the lookup step of the same name finds.
        seed: of all random numbers.
        workers: the number of threads.
        kind: of the files, see `read_sentences`.
        rules: how raw text in files is tokenized, see `tokenize`.
        progress: called as `progress(stage, done, total)` with the stages "reading" and "learning", the
            number of tokens done, and their total (None while it is unknown).

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
    from gensim.models import word2vec

    for name, value, allowed in (("algorithm", algorithm, ALGORITHMS), ("form", form, BACKOFFS)):
        if value not in allowed:
            raise KerasZooError(f"{name}: expected one of {', '.join(allowed)}, got {value!r}")
    options = {
        "window": window,
        "min_count": min_count,
        "negative": negative,
        "sample": sample,
        "seed": seed,
        "workers": workers,
    }
    numbers, least = {"width": width, "epochs": epochs, **options}, {"sample": 0.0, "seed": 0}
    check_at_least(**{name: (value, least.get(name, 1)) for name, value in numbers.items()})
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="keraszoo-vectors-") as folder, quiet_gensim():
        text = _StoredText(os.path.join(folder, "tokens"), progress)
        text.store(_runs(source, kind, rules), BACKOFFS[form])
        known = {word: count for word, count in text.counts.items() if count >= min_count}
        if not known:
            most = max(text.counts.values(), default=0)
            raise DataError(f"no word occurs {min_count} times in {text.total:,} tokens; the most: {most}")
        model = word2vec.Word2Vec(
            vector_size=width,
            sg=int(algorithm == "skip-gram"),
            # The learning rate falls from batch to batch, so a short text needs small batches.
            batch_words=min(10_000, max(100, text.total // 100)),
            **options,
        )
        model.build_vocab_from_freq(text.counts, corpus_count=text.runs)
        text.epochs = epochs
        model.train(text, total_examples=text.runs, epochs=epochs)
        if text.failure is not None:
            raise text.failure
    tokens, share = text.total, 100 * sum(known.values()) / text.total
    report = (
        f"{tokens:,} tokens of {len(text.counts):,} types; {len(known):,} words have vectors, "
        f"{share:.1f} % of the tokens; {epochs} epochs, {time.monotonic() - started:.0f} s"
    )
    return WordVectors(model.wv.index_to_key, model.wv.vectors), report


def _runs(source, kind, rules):
    """Yields lists of tokens of files or of an iterable of lists of tokens."""
    if isinstance(source, (str, os.PathLike)):
        raise KerasZooError(f"expected a list of files or of lists of tokens, got {source!r}")
    are_files = isinstance(source, (list, tuple)) and all(
        isinstance(item, (str, os.PathLike)) for item in source
    )
    for number, run in enumerate(source):
        if are_files:
            for sentence in read_sentences(run, kind, rules):
                yield [token for token in sentence.tokens if token]
        elif (
            isinstance(run, str)
            or not isinstance(run, Iterable)
            or not all(isinstance(token, str) and token for token in run)
        ):
            problem = f"expected a list of tokens that are not empty, got {str(run)[:60]!r}"
            raise DataError(f"run {number}: {problem}")
        else:
            yield run


class _StoredText:
    """Runs of tokens in a file, one per line with TABs between the tokens, which gensim reads repeatedly."""

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
                run = [form(token) for token in run]
                if any("\t" in token or "\n" in token for token in run):
                    raise DataError(f"expected tokens without TABs and line feeds, got {str(run)[:60]}")
                self.counts.update(run)
                self.total += len(run)
                for start in range(0, len(run), LONGEST_RUN):
                    try:
                        file.write("\t".join(run[start : start + LONGEST_RUN]) + "\n")
                    except UnicodeEncodeError:
                        raise DataError(f"expected valid Unicode, got {str(run)[:60]}") from None
                    self.runs += 1
                self._report("reading", self.total, None)
        self.progress("reading", self.total, self.total)
        self.next_report = REPORT_EVERY

    def __iter__(self):
        if self.failure is None:
            try:
                yield from self._read()
            except Exception as error:  # gensim reads in a thread; if it died, the others would wait forever
                self.failure = error

    def _read(self):
        with open(self.path, encoding="utf-8", newline="\n") as file:
            for line in file:
                run = line[:-1].split("\t")
                yield run
                self.done += len(run)
                self._report("learning", self.done, self.total * self.epochs)

    def _report(self, stage, done, total):
        if done >= self.next_report or done == total:
            self.progress(stage, done, total)
            self.next_report = done + REPORT_EVERY
