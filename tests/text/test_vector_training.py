import random

import numpy as np
import pytest

from keraszoo.errors import DataError, KerasZooError
from keraszoo.text.vector_training import train_vectors

word2vec = pytest.importorskip("gensim.models.word2vec")

ANIMALS, FRUIT = ["dog", "cat", "cow", "hen"], ["fig", "pear", "plum", "kiwi"]


def runs(count=600):
    """Sentences in which animals run and fruit ripens, and never the other way round."""
    draw = random.Random(0)
    for _ in range(count):
        subjects, verbs = draw.choice([(ANIMALS, ["runs", "eats"]), (FRUIT, ["ripens", "falls"])])
        yield [draw.choice(subjects), draw.choice(verbs), draw.choice(subjects), draw.choice(verbs), "."]


@pytest.mark.parametrize(("algorithm", "sg"), [("skip-gram", 1), ("cbow", 0)])
def test_the_same_again_and_what_gensim_itself_makes(algorithm, sg):
    options = {"algorithm": algorithm, "sample": 0}
    first, second, other = (train_vectors(runs(), 8, seed=seed, **options)[0] for seed in (3, 3, 4))
    assert first.words == second.words
    np.testing.assert_array_equal(first.matrix, second.matrix)
    assert not np.array_equal(first.matrix, other.matrix)
    options = {"vector_size": 8, "sg": sg, "min_count": 2, "seed": 3, "sample": 0, "workers": 1}
    model = word2vec.Word2Vec(list(runs()), **options, batch_words=100)
    assert model.wv.index_to_key == first.words
    np.testing.assert_array_equal(model.wv.vectors, first.matrix)


def test_from_files_of_all_kinds_with_progress(write):
    texts = "In 1849 he left. ", "Ed\tB-PER\nin\tO\n1850\tO\n", "In_IN 1851_CD ._.\n"
    files = [write(text, f"{i}.txt") for i, text in enumerate(texts)]
    told = []

    def progress(*what):
        told.append(what)

    vectors, report = train_vectors(files, 4, form="lower+digits0", epochs=2, progress=progress)
    assert set(vectors.words) == {"in", "0000", "."}
    assert report.startswith("11 tokens of 6 types; 3 words have vectors, 72.7 % of the tokens; 2 epochs")
    assert told[0] == ("reading", 11, 11) and told[-1] == ("learning", 22, 22)


def test_runs_of_any_length_are_read_and_tokens_with_a_blank_left_out(write):
    vectors, report = train_vectors([["a", "b"] * 12_000, [], ["c", "c"]], 2, epochs=1)
    assert report.startswith("24,002 tokens") and set(vectors.words) == {"a", "b", "c"}
    path = write("5\u00a0000\tO\nmen\tO\n5\u2009000\tO\nmen\tO\n")
    vectors, report = train_vectors([path], 2, epochs=1)
    assert vectors.words == ["men"] and report.startswith("2 tokens of 1 types")


def test_what_cannot_be_learnt(tmp_path):
    for source, message in (
        ([], "no word occurs 2 times in 0 tokens"),
        ([["a", "b"]], "no word occurs 2 times in 2 tokens; the most: 1"),
        ([["a"], "text"], "run 1: expected a list of tokens"),
        ([["a", ""]], "run 0: expected a list of tokens"),
        ([["a\tb"]], "run 0: expected a list of tokens without blanks"),
        ([["a", "5\u00a0000"]], "tokens without blanks"),
        ([["a\ud800"]], "expected valid Unicode"),
        ([5], "run 0: expected a list of tokens"),
        ((tmp_path / "none",), "No such file"),
        ([tmp_path / "none"], "No such file"),
    ):
        with pytest.raises(DataError, match=message):
            train_vectors(source)
    for options in (
        {"width": 0}, {"window": 0}, {"min_count": 0}, {"negative": 0}, {"sample": -1}, {"epochs": 0},
        {"workers": 0}, {"seed": -1}, {"algorithm": "glove"}, {"form": "upper"}, {"kind": "xml"},
    ):  # fmt: skip
        with pytest.raises(KerasZooError, match=next(iter(options))):
            train_vectors([tmp_path / "x"], **options)
    with pytest.raises(KerasZooError, match="a list of files"):
        train_vectors(str(tmp_path))


def test_a_failure_while_learning_ends_it():
    def fail(stage, done, total):
        if stage == "learning":
            raise BrokenPipeError("nobody listens")

    with pytest.raises(BrokenPipeError):
        train_vectors(runs(), 4, progress=fail)
