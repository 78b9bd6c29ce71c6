"""A recipe run of a tagger: from files to a directory that says what was done, and several seeds of it."""

import json
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from keraszoo import EntityTagger
from keraszoo.errors import KerasZooError, RecipeError
from keraszoo.layers import BagOfSubwords
from keraszoo.recipes.runs import read_recipe, run_recipe
from keraszoo.recipes.seeds import run_seeds
from keraszoo.tagging.recipe import TaggedDataSection, TaggerRecipe
from keraszoo.tagging.run import prepare
from keraszoo.tagging.subword_vectors import learn_subwords
from keraszoo.text.columns import column_lines
from keraszoo.text.lines import write_lines
from keraszoo.text.tagged_files import read_corpora
from keraszoo.text.word_vectors import WordVectors
from keraszoo.training.checkpoints import Checkpoints

pytestmark = pytest.mark.usefixtures("eagerly")


@pytest.fixture
def files(tmp_path, tagged_sentences, other_sentences):
    write_lines(tmp_path / "train.tsv", column_lines(tagged_sentences[:40], "BIOES"))
    write_lines(tmp_path / "test.tsv", column_lines(other_sentences[:8], "BIOES"))
    words = sorted({token for sentence in tagged_sentences for token in sentence.tokens})
    matrix = np.random.default_rng(0).normal(size=(len(words) + 1, 5))
    WordVectors([*words, "unused"], matrix).write(tmp_path / "vectors.txt")
    values = {
        "task": "tagging",
        "data": {"train": "train.tsv", "validation": "test.tsv", "test": "test.tsv"},
        "vectors": {"file": "vectors.txt"},
        "model": {"name": "attention", "preset": "tiny", "overrides": {"units": 6, "hidden_units": 6}},
        "training": {"batch_tokens": 256, "epochs": 1},
        "output": "out/model",
        "about": {"licence": "cc0-1.0"},
    }
    (tmp_path / "recipe.yaml").write_text(json.dumps(values))
    return tmp_path


def test_several_seeds_train_from_files_to_directories(files, other_sentences, capsys):
    figures = run_seeds(read_recipe(files / "recipe.yaml"), 2)
    said = capsys.readouterr().err
    assert "AttentionTagger, " in said and "40 sentences" in said and "F1, strict IOB2" in said
    assert f"{files / 'vectors.txt'}: " in said and "vectors of 5 numbers are kept" in said
    taggers = [EntityTagger.from_preset(files / f"out/model_seed{seed}") for seed in (1, 2)]
    scores = [tagger.evaluate(other_sentences[:8]).f1.score for tagger in taggers]
    assert figures[0].name == "f1" and figures[0].values == pytest.approx(scores)
    assert [tagger.metrics["test"]["f1"]["score"] for tagger in taggers] == pytest.approx(scores)
    assert taggers[0].about == {"licence": "cc0-1.0"}
    assert taggers[0].recipe["data"]["train"] == ["train.tsv"] and taggers[1].recipe["training"]["seed"] == 2
    summary = json.loads((files / "out/model_seeds.json").read_text())
    assert summary["part"] == "test" and summary["figures"]["f1"]["mean"] == pytest.approx(np.mean(scores))
    assert not np.array_equal(*(tagger.model.get_weights()[-1] for tagger in taggers))
    # the vectors that were brought are kept as they were, except those that no word can use
    vectors, words = WordVectors.read(files / "vectors.txt"), taggers[0].vocabulary.words
    assert "unused" in vectors and "unused" not in words
    rows = [matrix for matrix in taggers[0].model.get_weights() if matrix.shape == (len(words) + 2, 5)]
    np.testing.assert_allclose(rows[0][2:], vectors.restrict(words).matrix, atol=1e-6)
    # the run is over: another call loads what is there
    again = run_seeds(read_recipe(files / "recipe.yaml"), 1)
    assert again[0].values == figures[0].values[:1] and "this run is finished" in capsys.readouterr().err


def test_n_grams_are_learned_from_all_vectors_and_other_vectors_are_another_run(files):
    recipe = read_recipe(files / "recipe.yaml", ["model.overrides.subword_buckets=101"])
    tagger = run_recipe(recipe)
    vectors = WordVectors.read(files / "vectors.txt")
    assert "unused" in vectors and "unused" not in tagger.vocabulary.words
    layer = BagOfSubwords.from_config(tagger.model.words.subwords.get_config())
    learn_subwords(layer, tagger.vocabulary, vectors)
    for ours, other in zip(tagger.model.words.subwords.get_weights(), layer.get_weights(), strict=True):
        np.testing.assert_allclose(ours, other, atol=1e-5)
    WordVectors(vectors.words, 2 * vectors.matrix).write(files / "vectors.txt")
    with pytest.raises(RecipeError, match=r"the run in it differs: content of vectors.file was .*, is "):
        run_recipe(recipe)


@pytest.mark.parametrize("record", [{"text": "Ed ran", "entities": []}, {"tokens": ["Ed"], "tags": ["O"]}])
def test_a_corpus_is_read_once(tmp_path, record):
    """A pipe gives its content once only."""
    os.mkfifo(tmp_path / "a.jsonl")
    with ThreadPoolExecutor() as pool:
        pool.submit((tmp_path / "a.jsonl").write_text, json.dumps(record) + "\n")
        train, *_ = read_corpora(TaggedDataSection(train=str(tmp_path / "a.jsonl")))
    assert train[0].tokens[0] == "Ed" and train.from_texts == ("text" in record)


def test_corpora_of_several_files(files):
    entities = [{"start": 0, "end": 3, "label": "PER"}, {"start": 12, "end": 16, "label": "LOC"}]
    write_lines(files / "more.jsonl", [json.dumps({"text": "Ada flew to Oslo.", "entities": entities})])
    write_lines(files / "all_single.tsv", ["Oslo\tB-LOC", "", "Ada\tB-PER"])
    files_of = [str(files / "train.tsv"), str(files / "more.jsonl")]
    data = TaggedDataSection(train=files_of, validation=[str(files / "all_single.tsv")])
    train, validation, test = read_corpora(data)
    assert len(train) == 41 and train.scheme == "BIOES" and test is None
    assert train.sentences[-1].tags == ("B-PER", "O", "O", "B-LOC", "O")
    assert train.sentences[-1].document == train.sentences[-2].document + 1
    turned, *_ = read_corpora(TaggedDataSection(train=files_of[::-1]))
    assert [s.tags for s in turned] == [s.tags for s in (train.sentences[-1], *train.sentences[:-1])]
    # read in the scheme of the training files, in which B alone is mended
    assert validation.scheme == "BIOES" and validation.repaired == 2
    assert [sentence.tags for sentence in validation] == [("B-LOC",), ("B-PER",)]


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("data.train=none.tsv", "none.tsv: cannot read"),
        ("vectors.file=none.txt", "none.txt"),
        ("data.test=empty.jsonl", "empty.jsonl: expected at least one sentence, got none"),
        ("model.preset=huge", "--set: model.preset: attention has no preset 'huge', expected one of base"),
        ("model.overrides.unitz=3", "model.overrides.unitz: unknown key, did you mean units?"),
        ("model.overrides.vector_width=7", "vector_width is 7, but .*vectors.txt has 5"),
    ],
)
def test_what_is_wrong_is_said_before_training(files, override, said):
    (files / "empty.jsonl").write_text('{"text": " ", "entities": []}\n')
    with pytest.raises(KerasZooError, match=said):
        run_recipe(TaggerRecipe.read(files / "recipe.yaml", [override.replace("empty", f"{files}/empty")]))
    assert not (files / "out" / "model").exists()


def test_entities_that_do_not_fit_tokens_are_reported(files, capsys):
    entities = [{"start": 1, "end": 3, "label": "PER"}, {"start": 3, "end": 4, "label": "LOC"}]
    write_lines(files / "more.jsonl", [json.dumps({"text": "Ada flew to Oslo.", "entities": entities})])
    overrides = [f"data.train=[{files}/train.tsv, {files}/more.jsonl]", f"data.test={files}/more.jsonl"]
    prepare(TaggerRecipe.read(files / "recipe.yaml", overrides), Checkpoints(files / "none"))
    said = capsys.readouterr().err
    for part in ("train", "test"):
        assert f"data.{part}: 0 invalid tags repaired, 1 entities widened to whole tokens, 1 without" in said
    assert "data.validation" not in said


def test_seeds_need_something_to_be_compared_on(files):
    with pytest.raises(RecipeError, match="several seeds are compared on"):
        run_seeds(read_recipe(files / "recipe.yaml", ["data.test=null", "data.validation=null"]), 2)


def test_a_file_without_b_does_not_decide_the_scheme(tmp_path):
    texts = {"io": "Ed I-P\n", "iob1": "Ed I-P\nAda B-P\n", "o": "won O\n", "s": "Ed S-P\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    io, iob1, o, s = ([str(tmp_path / name)] for name in ("io", "iob1", "o", "s"))
    _, validation, _ = read_corpora(TaggedDataSection(train=io, validation=iob1))
    assert validation.sentences[0].tags == ("B-P", "B-P")
    train, *_ = read_corpora(TaggedDataSection(train=o + s))
    assert train.sentences[1].tags == ("B-P",)


def test_a_recipe_decides_scheme_constraints_and_words(files):
    said = ["tags.scheme=BIOES", "tags.constraints=none", "vectors.keep=all", "vectors.backoff=[exact]"]
    tagger, *_ = prepare(TaggerRecipe.read(files / "recipe.yaml", said), Checkpoints(files / "none"))
    vocabulary = tagger.vocabulary
    assert (vocabulary.scheme, vocabulary.backoff) == ("BIOES", ("exact",)) and "unused" in vocabulary.words
    assert tagger.model.head.chain is None  # nothing is enforced


def test_the_rules_that_split_text(files):
    """Those of a recipe, of JSON lines, or those that fit the training columns; also for test files."""
    entities = [{"start": 1, "end": 4, "label": "PER"}]
    for name, text in (("test", "@Ada IL-2"), ("train", "@Ada ran.")):
        write_lines(files / f"{name}.jsonl", [json.dumps({"text": text, "entities": entities})])
    for changes, rules, tokens in (
        ([], "marks_apart", ("@", "Ada", "IL-2")),
        (["data.token_rules=alphanumeric"], "alphanumeric", ("@", "Ada", "IL", "-", "2")),
        ([f"data.train={files / 'train.jsonl'}"], "words", ("@Ada", "IL-2")),
    ):
        changes = [*changes, f"data.test={files / 'test.jsonl'}"]
        recipe = TaggerRecipe.read(files / "recipe.yaml", changes)
        tagger, *_, (test, _) = prepare(recipe, Checkpoints(files / "none"))
        assert tagger.vocabulary.token_rules == rules
        assert test.sentences[0].tokens == tokens
        stored = TaggerRecipe.from_dict(recipe.as_dict())
        assert stored.data.token_rules == recipe.data.token_rules  # it means the same again
