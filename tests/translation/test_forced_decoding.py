"""Forced decoding against a model stepped token by token, and word alignments by hand."""

import numpy as np
import pytest

from keraszoo import Translator
from keraszoo.errors import KerasZooError
from keraszoo.models import Transformer
from keraszoo.translation.lines import align_lines, word_alignment

SOURCES = [[5, 6, 7], [8], [9, 9, 10, 11, 12], [6, 5]]
TARGETS = [[6, 7], [9, 8, 7, 6, 5], [], [10, 11]]


def stepped(translator, source, target):
    """The sum of log-probabilities and the attention weights of a pair, one step after the other."""
    model, source_special = translator.model, translator.compiled_search.source_special
    special = translator.compiled_search.special
    state = model.initial_state(model.encode(np.array([[*source, source_special.end_id]])), 1, 10)
    total, before, weights = 0.0, special.start_id, []
    for word in [*target, special.end_id]:
        logits, state = model.step(np.array([before]), state)
        scores = np.asarray(logits)[0].astype("float64")
        total += scores[word] - np.log(np.exp(scores).sum())
        weights.append(np.asarray(state["attention_weights"])[0])
        before = word
    return total, np.array(weights)


def test_forced_decoding_equals_stepping(untrained):
    log_probs = untrained.forced_decoding.log_probabilities(SOURCES, TARGETS, 3)
    weights = untrained.forced_decoding.attention_weights(SOURCES, TARGETS, 3)
    for i, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        log_prob, rows = stepped(untrained, source, target)
        assert log_probs[i] == pytest.approx(log_prob, rel=1e-5)
        assert weights[i].dtype == "float32" and weights[i].shape == (len(target) + 1, len(source) + 1)
        np.testing.assert_allclose(weights[i], rows, atol=1e-5)


@pytest.mark.usefixtures("eagerly")
def test_a_head_without_queries_looks_everywhere_and_changes_no_other(both_subwords):
    model = Transformer(44, d_model=8, num_layers=2, num_heads=2, intermediate_dim=16)
    translator = Translator(model, both_subwords[1])
    pairs = ["drei eins", "vier"], ["zwei eins vier", "drei"]
    before = translator.align(*pairs, heads=True)
    for all_heads, last in zip(before, translator.align(*pairs), strict=True):
        np.testing.assert_allclose(all_heads[-1].mean(axis=0), last, atol=1e-6)
        np.testing.assert_allclose(all_heads.sum(axis=-1), 1, atol=1e-5)
    attention = model.decoder_layers[1].cross_attention
    attention.W_q.kernel.assign(attention.W_q.kernel * (np.arange(8) < 4))  # the second head has no queries
    for old, new in zip(before, translator.align(*pairs, heads=True), strict=True):
        np.testing.assert_allclose(new[1, 1], 1 / new.shape[-1], atol=1e-6)
        np.testing.assert_allclose(new[0], old[0], atol=1e-6)
        np.testing.assert_allclose(new[1, 0], old[1, 0], atol=1e-6)
        assert np.abs(old[1, 1] - 1 / old.shape[-1]).max() > 1e-3


@pytest.mark.usefixtures("eagerly")
def test_the_next_tokens_of_a_greedy_translation_are_its_tokens(trained, sources):
    details = trained.translate_details(sources[:3], beam_width=1)
    written = [translation.tokens for translation in details]
    candidates = trained.next_tokens(sources[:3], written, count=np.int64(3))
    for translation, positions in zip(details, candidates, strict=True):
        assert [tokens[0][0] for tokens in positions] == translation.tokens
        total = sum(np.log(tokens[0][1]) for tokens in positions)
        assert total == pytest.approx(translation.log_prob, abs=1e-3)
    (positions,) = trained.next_tokens(["one two"], [""], count=10_000)
    assert len(positions) == 1 and sum(p for _, p in positions[0]) == pytest.approx(1, abs=1e-5)


def test_a_target_may_be_given_by_its_subwords(trained, test_pairs):
    source, target = test_pairs[0]
    pieces = trained.target_subwords.pieces(trained.target_subwords.encode([target])[0])
    assert trained.score([source], [pieces]) == trained.score([source], [target])
    assert trained.score([source], [[*pieces, "</s>"]]) == trained.score([source], [target])
    spelt = ["\u2581", "e", "i", "n", "s"]  # as no text is cut
    assert trained.translate_details([source], prefix=[spelt])[0].tokens[:5] == spelt
    for beam_width in (1, 3):
        (ended,) = trained.translate_details([source], prefix=[["\u2581eins", "</s>"]], beam_width=beam_width)
        assert (ended.text, ended.tokens) == ("eins", ["\u2581eins", "</s>"])


@pytest.mark.usefixtures("eagerly")
def test_a_trained_model_aligns_the_words_that_it_translates(trained, test_pairs):
    pairs = [pair for pair in test_pairs if 4 <= len(pair[0].split()) <= 6][:10]
    right = wrong = 0
    for (source, _), line in zip(pairs, next(align_lines(trained, pairs)), strict=True):
        words = len(source.split())
        links = [tuple(map(int, link.split("-"))) for link in line.split()]
        assert [j for _, j in links] == list(range(words))
        right += sum(i + j == words - 1 for i, j in links)  # the target is the source in reverse order
        wrong += sum(i + j != words - 1 for i, j in links)
    assert right > 2 * wrong
    sources, targets = map(list, zip(*pairs, strict=True))
    heads = trained.align(sources, targets, heads=True)
    for one, all_heads in zip(trained.align(sources, targets), heads, strict=True):
        np.testing.assert_array_equal(all_heads, one[None, None])  # a recurrent model has one head


def test_word_alignment_by_eye():
    source, target = ["▁a", "b", "▁c"], ["▁x", "▁y", "z", "▁v"]
    weights = [
        [0.3, 0.3, 0.4, 0.0],  # x: 0.6 on "ab", 0.4 on "c"
        [0.0, 0.1, 0.2, 0.7],  # y: mostly on </s>, which does not count
        [0.3, 0.0, 0.1, 0.6],  # yz together: 0.4 on "ab", 0.3 on "c"
        [0.0, 0.0, 0.0, 1.0],  # v: no word at all
        [0.0, 0.0, 1.0, 0.0],  # </s>
    ]
    assert word_alignment(source, target, weights) == [(0, 0), (0, 1)]
    assert word_alignment([], target, np.ones((5, 1))) == word_alignment(source, [], np.ones((1, 4))) == []
    cut = [row[:2] + row[-1:] for row in weights]  # of a source that was cut after "ab"
    assert word_alignment(source, target, cut) == [(0, 0), (0, 1)]


@pytest.mark.parametrize(
    ("sources", "targets", "said"),
    [
        ("abc", ["x"], "sources: expected a list of str, got a str"),
        (["x"], "abc", "targets: expected a list of str, got a str"),
        (["x"], [None], r"targets\[0\]: expected a str, got NoneType"),
        (["one", "two"], ["eins"], "2 sources, but 1 targets"),
    ],
)
def test_other_things_than_pairs_of_texts_raise_errors(untrained, sources, targets, said):
    for method in (untrained.score, untrained.align):
        with pytest.raises(KerasZooError, match=said):
            method(sources, targets)


def test_no_pairs_and_no_tokens(untrained):
    assert untrained.score([], []) == untrained.align([], []) == list(align_lines(untrained, [])) == []
    with pytest.raises(KerasZooError, match="count must be at least 1, got 0"):
        untrained.next_tokens(["one"], ["two"], count=0)
