"""The commands `keraszoo vectors`, from text to files, figures and neighbours."""

import functools
import json

import numpy as np
import pytest

keyedvectors = pytest.importorskip("gensim.models.keyedvectors")

TEXT = "The dog runs home. The cat runs home. A dog and a cat sleep.\n" * 40


@pytest.fixture
def vectors(run):
    """Runs one of the commands about vectors."""
    return functools.partial(run, "vectors")


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    return path


def test_train_coverage_and_neighbours(vectors, text, tmp_path):
    options = "--width", 12, "--epochs", 2, "--seed", 5
    for name in ("v.bin", "v.txt.gz", "v.vec", "v"):
        code, out, err = vectors("train", text, "--output", tmp_path / name, *options)
        assert (code, out) == (0, f"{tmp_path / name}\n"), err
        assert "680 tokens of 10 types" in err and "learning: 1,360 of 1,360 tokens" in err
    binary = keyedvectors.KeyedVectors.load_word2vec_format(str(tmp_path / "v.bin"), binary=True)
    plain = keyedvectors.KeyedVectors.load_word2vec_format(str(tmp_path / "v.vec"))
    assert binary.vectors.shape == (10, 12)
    np.testing.assert_array_equal(binary.vectors, plain.vectors)

    for name in ("v.bin", "v.txt.gz", "v"):
        code, out, err = vectors("neighbours", tmp_path / name, "Dog", "home", "--count", 3)
        rows = [line.split("\t") for line in out.splitlines()]
        assert code == 0 and [row[0] for row in rows] == ["Dog"] * 3 + ["home"] * 3, err
        near = binary.most_similar("home", topn=3)
        wanted = [(word, pytest.approx(cosine, abs=1e-4)) for word, cosine in near]
        assert [(word, float(cosine)) for _, word, cosine in rows[3:]] == wanted

    corpus = tmp_path / "test.conll"
    corpus.write_text("Rome\tB-LOC\nDOG\tB-MISC\nsleep\tO\n")
    code, out, _ = vectors("coverage", tmp_path / "v.bin", corpus, text)
    assert code == 0 and out.startswith(f"{corpus}\n")
    assert "most missed: Rome 1" in out and f"\n{text}\n" in out
    code, out, _ = vectors("coverage", tmp_path / "v.bin", corpus, "--backoff", "exact", "--json")
    coverage = json.loads(out)
    assert code == 0 and coverage["covered"] == {"tokens": 1 / 3, "types": 1 / 3, "entity_tokens": 0.0}


@pytest.mark.parametrize("output", ["v.npz", "none/v.bin", "text.txt/v.bin", ".", "v.gz"])
def test_a_place_that_cannot_be_written_is_found_before_the_work(refusal, text, tmp_path, output):
    refusal("vectors", "train", text, "--output", tmp_path / output)


def test_convert_keeps_the_first_words(vectors, tmp_path):
    (tmp_path / "v.txt").write_text("3 2\nthe 0.5 -1\nzoo 2 0.25\nlion 1 3\n")
    code, out, err = vectors("convert", tmp_path / "v.txt", "--output", tmp_path / "w.bin", "--words", 2)
    assert (code, out) == (0, f"{tmp_path / 'w.bin'}\n"), err
    binary = keyedvectors.KeyedVectors.load_word2vec_format(str(tmp_path / "w.bin"), binary=True)
    assert binary.index_to_key == ["the", "zoo"] and binary["zoo"].tolist() == [2, 0.25]
    assert vectors("convert", tmp_path / "w.bin", "--output", tmp_path / "half", "--dtype", "float16")[0] == 0
    assert np.load(tmp_path / "half" / "vectors.npy").tolist() == [[0.5, -1], [2, 0.25]]
    assert np.load(tmp_path / "half" / "vectors.npy").dtype == "float16"
    code, _, err = vectors("convert", tmp_path / "v.txt", "--output", tmp_path / "x.bin", "--dtype", "int8")
    assert code == 2 and "int8 is for a directory" in err and not (tmp_path / "x.bin").exists()
