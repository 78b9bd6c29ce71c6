"""A tagger that begins with the encoder of another one."""

import numpy as np
import pytest

from keraszoo import EntityTagger
from keraszoo.errors import RecipeError
from keraszoo.recipes.runs import read_recipe, run_recipe
from keraszoo.tagging.transfer import start_from
from keraszoo.text.columns import column_lines
from keraszoo.text.lines import write_lines
from keraszoo.text.tagged_corpus import TaggedSentence

SIZES = {"units": 6, "characters": "cnn", "casing_dim": 3, "crf": True}


def make_tagger(*words, label="PER", **sizes):
    sentence = TaggedSentence(words, (f"B-{label}",) + ("O",) * (len(words) - 1))
    tagger = EntityTagger.for_sentences([sentence], None, "recurrent", "tiny", **{**SIZES, **sizes})
    random = np.random.default_rng(len(words))
    for weight in tagger.model.trainable_weights:
        weight.assign(random.normal(size=weight.shape))
    return tagger


def weights_of(tagger):
    words, head = tagger.model.words, tagger.model.head
    layers = [words.vectors, words.characters, words.casing, tagger.model.recurrent, head.scores, head.chain]
    return {
        f"{layer.name} {i}": weight
        for layer in layers
        if layer is not None
        for i, weight in enumerate(layer.get_weights())
    }


def test_the_encoder_is_copied_and_characters_keep_their_meaning():
    trained, new = make_tagger("Ada", "met", "Bo"), make_tagger("Bo", "zoomed", label="ANIMAL")
    before, given = weights_of(new), weights_of(trained)
    count = start_from(new, trained)
    after, table = weights_of(new), "characters 0"
    encoder = {name for name in after if name.split()[0] in ("characters", "casing", "recurrent")}
    assert count == sum(after[name].size for name in encoder)
    assert len(encoder) == 10 and all(np.array_equal(after[name], given[name]) for name in encoder - {table})
    others = set(after) - encoder
    assert {name.split()[0] for name in others} == {"vectors", "scores", "crf"}
    assert all(np.array_equal(after[name], before[name]) for name in others)
    known, old = new.vocabulary.characters, trained.vocabulary.characters
    assert set(known) - set(old) == {"z"}
    for row, character in enumerate(known, 2):
        source, place = (before, row) if character == "z" else (given, old.index(character) + 2)
        assert np.array_equal(after[table][row], source[table][place])
    assert np.array_equal(after[table][:2], given[table][:2])


def test_only_what_fits():
    wide, narrow = make_tagger("Ada", units=7, character_dim=5), make_tagger("Ada")
    before, given = weights_of(narrow), weights_of(wide)
    assert start_from(narrow, wide) == given["casing 0"].size
    after = weights_of(narrow)
    changed = {name for name in after if not np.array_equal(after[name], before[name])}
    assert changed == {"casing 0"} and np.array_equal(after["casing 0"], given["casing 0"])
    plain = make_tagger("Ada", characters=None, casing_dim=0)
    with pytest.raises(RecipeError, match="no layer of its RecurrentTagger fits this RecurrentTagger"):
        start_from(plain, wide)


@pytest.mark.usefixtures("eagerly")
def test_a_recipe_that_starts_from_a_tagger(tmp_path, tagged_sentences, capsys):
    write_lines(tmp_path / "train.tsv", column_lines(tagged_sentences[:9]))
    make_tagger("Ada", "met").save_to_preset(tmp_path / "trained")
    (tmp_path / "recipe.yaml").write_text(
        "task: tagging\ndata: {train: train.tsv}\noutput: new\n"
        "training: {epochs: 1, optimizer: {schedule: constant, learning_rate: 1.0e-12}}\n"
        "model: {name: recurrent, preset: tiny, start_from: trained, "
        "overrides: {units: 6, characters: cnn, casing_dim: 3}}\n"
    )
    run_recipe(read_recipe(tmp_path / "recipe.yaml"))
    said = capsys.readouterr().err
    assert "of them copied from" in said and str(tmp_path / "trained") in said
    after, given = (weights_of(EntityTagger.from_preset(tmp_path / name)) for name in ("new", "trained"))
    copied = [name for name in after if name.split()[0] in ("casing", "recurrent")]
    assert copied and all(np.allclose(after[name], given[name], atol=1e-6) for name in copied)


def test_a_quantized_encoder_is_refused_but_not_quantized_vectors():
    new, trained = make_tagger("Bo", "zoomed"), make_tagger("Ada", "met", "Bo")
    trained.model.words.vectors.quantize("int8")
    assert start_from(new, trained) > 0
    trained = make_tagger("Ada", "met", "Bo")
    trained.model.quantize("int8")
    before = weights_of(new)
    with pytest.raises(RecipeError, match="before it was quantized, got one in int8"):
        start_from(new, trained)
    assert all(np.array_equal(before[name], weight) for name, weight in weights_of(new).items())
