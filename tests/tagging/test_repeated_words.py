"""Words that a text repeats, compared with loops over words and with all taggings of a sentence."""

import dataclasses
import itertools

import numpy as np
import pytest

from keraszoo.tagging.repeated_words import averaged, best_tags
from keraszoo.text.tagged_corpus import TaggedSentence


def random_probabilities(seed, lengths, size):
    random = np.random.default_rng(seed)
    return [random.dirichlet(np.ones(size), size=n).astype("float32") for n in lengths]


@pytest.mark.parametrize("context", [0, 1, 3, 10_000])
def test_means_equal_a_loop_over_all_words(context):
    random = np.random.default_rng(7)
    sentences = [[str(w) for w in random.integers(0, 12, size=n)] for n in random.integers(0, 9, size=40)]
    documents = random.permutation(np.repeat([5, -1, 9], [12, 27, 1])).tolist()  # they may be mixed
    probabilities = random_probabilities(1, map(len, sentences), 4)
    means = averaged(sentences, probabilities, context, documents)
    for document in set(documents):
        own = [i for i, number in enumerate(documents) if number == document]
        for place, i in enumerate(own):
            near = own[max(0, place - context) : place + context + 1]
            assert means[i].shape == probabilities[i].shape
            for word, mean in zip(sentences[i], means[i], strict=True):
                same = [probabilities[j][s] for j in near for s, w in enumerate(sentences[j]) if w == word]
                np.testing.assert_allclose(mean, np.mean(same, axis=0), rtol=1e-5)


def test_no_word_has_no_mean():
    assert averaged([], [], 3, []) == []
    nothing = np.zeros((0, 4), "float32")
    assert [mean.shape for mean in averaged([[], []], [nothing, nothing], 3, [0, 0])] == [(0, 4), (0, 4)]
    assert best_tags(None, [], 100) == [] and best_tags(None, [nothing], 100)[0].shape == (0,)


@pytest.mark.parametrize(("constrain", "crf"), [("decode", True), ("none", True), ("none", False)])
def test_the_best_valid_tags_of_sentences_of_different_lengths(new_tagger, constrain, crf):
    tagger = new_tagger(constrain=constrain, crf=crf, scheme="BIOES")
    names = range(len(tagger.vocabulary.tags))
    transitions, start, end = (
        np.array(some) | (constrain == "none") for some in tagger.vocabulary.transitions()
    )
    probabilities = random_probabilities(3, (3, 1, 0, 2), len(names))
    found = best_tags(tagger.sentence_tagger.best_tags, probabilities, 4)
    for some, best in zip(probabilities, found, strict=True):
        if not len(some):
            assert best.shape == (0,)
            continue
        valid = [
            path
            for path in itertools.product(names, repeat=len(some))
            if start[path[0]]
            and end[path[-1]]
            and all(transitions[i, k] for i, k in itertools.pairwise(path))
        ]
        wanted = max(valid, key=lambda path: sum(np.log(p[k]) for p, k in zip(some, path, strict=True)))
        assert tuple(best) == wanted


@pytest.mark.usefixtures("eagerly")
def test_details_with_context_have_the_tags_of_the_words_alone_and_keep_the_attention(new_tagger):
    tagger = new_tagger(constrain="decode", crf=True, scheme="BIOES")
    for weight in tagger.model.trainable_weights:  # surer than at first
        weight.assign(3 * weight)
    sentences = [["Ada", "met", "Kurt"], [], ["Kurt", "met", "Ada", "Lovelace"], ["Ada"], ["Kurt"]]
    options = {"context": 2, "documents": [0, 0, 0, 0, 1]}
    details, plain = tagger.tag_tokens_details(sentences, **options), tagger.tag_tokens_details(sentences)
    assert [some.tags for some in details] == tagger.tag_tokens(sentences, **options)
    for some, alone in zip(details, plain, strict=True):
        np.testing.assert_allclose(some.attention_weights, alone.attention_weights, atol=1e-5)


def test_a_surname_alone_does_not_make_the_whole_name_unsure(new_tagger, monkeypatch):
    tagger = new_tagger(constrain="decode", crf=True, scheme="BIOES")
    tags = {("Ada", 2): "B-PER", ("Byron", 2): "E-PER", ("Byron", 1): "S-PER"}

    def outputs(sentences, batch_tokens, compiled):
        for i, words in enumerate(sentences):
            numbers = [tagger.vocabulary.tags.index(tags.get((word, len(words)), "O")) for word in words]
            yield i, np.eye(len(tagger.vocabulary.tags), dtype="float32")[numbers]

    monkeypatch.setattr(tagger.sentence_tagger, "outputs", outputs)
    found = list(tagger.sentence_tagger.tagged([["Ada", "Byron"], ["Byron"]], 100, 1, None))
    assert [names for _, names, _ in found] == [["B-PER", "E-PER"], ["S-PER"]]
    np.testing.assert_array_equal(np.concatenate([sure for *_, sure in found]), 1.0)


def test_a_name_that_is_unclear_in_one_sentence_is_that_of_the_others(new_tagger, monkeypatch):
    tagger = new_tagger(constrain="decode", crf=True)
    names = tagger.vocabulary.tags

    def outputs(sentences, batch_tokens, compiled):
        for i, words in enumerate(sentences):
            rome = [0.9, 0.9, 0.4][i]
            rows = [{"O": 1 - rome, "B-LOC": rome} if w == "Rome" else {"O": 1.0} for w in words]
            probabilities = np.array([[row.get(name, 0) for name in names] for row in rows], "float32")
            tags = probabilities.argmax(1)
            yield i, *([probabilities] if compiled is tagger.sentence_tagger.probabilities else [tags, tags])

    monkeypatch.setattr(tagger.sentence_tagger, "outputs", outputs)
    texts = ["In Rome. Rome was big. Of Rome.", "Rome."]
    monkeypatch.setattr(type(tagger.model), "attends", False)
    first = texts[:1]
    assert [e.text for e in tagger.tag_details(first)[0].entities] == ["Rome", "Rome"]
    (found,) = tagger.tag_details(first, context=1)
    assert [e.start for e in found.entities] == [3, 9, 26]
    assert [e.probability for e in found.entities] == pytest.approx([0.9, 2.2 / 3, 1.3 / 2])

    words = ["In", "Rome", "."], ["Rome", "was", "big", "."], ["Of", "Rome", "."]
    gold = [TaggedSentence(tuple(s), tuple("B-LOC" if w == "Rome" else "O" for w in s)) for s in words]
    assert tagger.evaluate(gold, context=1).f1.found == 3 > tagger.evaluate(gold).f1.found
    apart = [*gold[:2], dataclasses.replace(gold[2], document=1)]
    assert tagger.evaluate(apart, context=1).f1.found == 2


def test_jax_gets_few_shapes(monkeypatch):
    monkeypatch.setattr("keras.backend.backend", lambda: "jax")
    shapes = set()

    def decode(probabilities, mask):
        shapes.add(mask.shape)
        return probabilities.argmax(-1)

    for some in random_probabilities(1, range(1, 40), 5):
        (tags,) = best_tags(decode, [some], 60)
        np.testing.assert_array_equal(tags, some.argmax(-1))
    assert len(shapes) < 10
