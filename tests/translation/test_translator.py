"""Text in, text out."""

import warnings

import numpy as np
import pytest

from keraszoo import Translator
from keraszoo.errors import (
    KerasZooError,
    LostAddresses,
    NoWords,
    ScoreError,
    SeveralSentences,
    UnknownCharacters,
)
from keraszoo.models import RNNSearch, Transformer
from keraszoo.search import SearchOptions
from keraszoo.text.subwords import Subwords
from keraszoo.translation.input_warnings import lost_addresses

pytestmark = pytest.mark.usefixtures("eagerly")


@pytest.fixture(scope="module")
def sources(test_pairs):
    return [source for source, _ in test_pairs]


@pytest.fixture(scope="module")
def translations(trained, sources):
    return trained.translate(sources)


def test_it_learnt_to_turn_sentences_round(trained, test_pairs, translations):
    right = sum(
        translation == target for translation, (_, target) in zip(translations, test_pairs, strict=True)
    )
    assert right > 0.8 * len(test_pairs)
    assert trained.evaluate(*map(list, zip(*test_pairs, strict=True))).bleu.score > 80


def test_blank_texts_keep_their_places(trained, sources, translations):
    texts = ["", sources[0], " \t", sources[1], "\u3000"]
    assert trained.translate(texts) == ["", translations[0], "", translations[1], ""]
    assert [len(hypotheses) for hypotheses in trained.n_best(texts)] == [0, 1, 0, 1, 0]
    details = trained.translate_details(texts)
    assert (details[0].text, details[0].log_prob, details[0].attention_weights.shape) == ("", 0.0, (0, 0))
    assert details[3].text == translations[1]


def test_unknown_characters_are_named(trained, sources):
    with pytest.warns(UnknownCharacters, match=r"1 of 2 texts have .* vocabulary does not have.*: 'Łódź' in"):
        details = trained.translate_details([sources[0], f"Łódź {sources[1]} Łódź"])
    assert [translation.unknown for translation in details] == [[], ["Łódź"]]
    for call in (trained.translate, trained.n_best, lambda texts: trained.score(texts, ["eins"])):
        with pytest.warns(UnknownCharacters):
            call([f"{sources[0]} 🙂"])
    with pytest.warns(UnknownCharacters):
        trained.score(sources[:1], ["eins 🙂"])


@pytest.mark.filterwarnings("error::keraszoo.errors.NoWords", "ignore::keraszoo.errors.UnknownCharacters")
def test_texts_without_a_word_are_named(trained):
    for call in (trained.translate, trained.translate_details):
        with pytest.warns(NoWords, match="3 of 4 texts have no letter and no digit, .* The first: '-'"):
            call(["one two", " - ", "...", "!? —"])
    trained.translate(["one - two", "3", "é", "两", "", " \t", "\u200e"])  # a warning would be an error


@pytest.mark.filterwarnings("ignore::keraszoo.errors.UnknownCharacters")
def test_addresses_that_the_translation_lacks_are_named(trained):
    texts = ["one two", "one https://one.org/two", "www.one.two me@one.org"]
    with pytest.warns(
        LostAddresses, match="2 of 3 texts have an address .* The first: 'https://one.org/two'"
    ):
        details = trained.translate_details(texts)
    assert [translation.unknown[:2] for translation in details][::2] == [[], ["www.one.two", "me@one.org"]]
    with pytest.warns(LostAddresses):
        trained.translate(texts)
    assert lost_addresses("See www.one.org.", "Siehe www.one.org.") == []  # copied


@pytest.mark.filterwarnings("error::keraszoo.errors.SeveralSentences")
def test_several_sentences_are_not_taken_for_one(trained):
    for text in ("one two. Three four.", "One two! (Three four?) Five six seven."):
        with pytest.warns(SeveralSentences, match="1 of 2 texts look like several sentences"):
            trained.translate(["one two", text])
    for text in ("one two.", "one two. ", "Dr. one two.", "one 3. Two.", "one... two", "one two! 🙂"):
        trained.translate_details([text])  # no warning, which would be an error


def test_invisible_characters_change_nothing(trained, sources, translations):
    marked = [f"\ufeff\u200e{source[:2]}\u00ad{source[2:]}\u200f" for source in sources[:5]]
    assert trained.translate(marked) == translations[:5]


def test_nothing_in_nothing_out(trained):
    assert (
        trained.translate([])
        == trained.translate_details([])
        == trained.n_best([])
        == trained.score([], [])
        == []
    )
    assert trained.translate(["", " "]) == ["", ""]


@pytest.mark.parametrize(("batch_size", "count"), [(1, 3), (7, 9)])
def test_the_size_of_batches_changes_nothing(trained, sources, translations, batch_size, count):
    translated = trained.translate(sources[count - 1 :: -1], batch_size=batch_size)
    assert translated == translations[count - 1 :: -1]


def test_several_hypotheses_the_best_first(trained, sources, translations):
    n_best = trained.n_best(sources[:5], num_hypotheses=4)  # more than the beam's 3: it is widened
    for hypotheses, best in zip(n_best, translations, strict=False):
        scores = [hypothesis.score for hypothesis in hypotheses]
        assert scores == sorted(scores, reverse=True) and len(scores) == 4
        assert best in [hypothesis.text for hypothesis in hypotheses]
    with pytest.raises(KerasZooError, match="num_hypotheses must be from 1 to 2"):
        trained.n_best(sources[:1], num_hypotheses=4, beam_width=2)


def test_details_fit_each_other(trained, sources, translations):
    for source, detail, text in zip(
        sources, trained.translate_details(sources[:6]), translations, strict=False
    ):
        weights = detail.attention_weights
        assert detail.text == text == detail.hypotheses[0].text and not detail.truncated
        assert (
            "".join(detail.tokens[:-1]).replace("\u2581", " ").strip() == text and detail.tokens[-1] == "</s>"
        )
        assert "".join(detail.source_tokens[:-1]).replace("\u2581", " ").strip() == source
        assert weights.shape == (len(detail.tokens), len(detail.source_tokens))
        np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-5)


def test_attention_runs_backwards(trained):
    detail, _ = trained.translate_details(["one two three four five six", "one two three four"])
    assert detail.text == "sechs fünf vier drei zwei eins"
    # Where it looks moves from the end of the source to its beginning.
    places = detail.attention_weights @ np.arange(len(detail.source_tokens))
    assert np.corrcoef(places[:-1], np.arange(len(places) - 1))[0, 1] < -0.9


@pytest.mark.parametrize("beam_width", [1, 3])
def test_score_is_the_log_probability_of_the_translation(trained, sources, beam_width):
    details = trained.translate_details(sources[:8], beam_width=beam_width)
    scores = trained.score(sources[:8], [translation.text for translation in details])
    np.testing.assert_allclose(scores, [translation.log_prob for translation in details], atol=1e-4)


def test_the_right_translation_is_likelier_than_a_wrong_one(trained):
    right, wrong = trained.score(["one two three four"] * 2, ["vier drei zwei eins", "eins zwei drei vier"])
    assert wrong < right <= 0


def test_a_length_limit_is_kept(trained, sources):
    assert len(trained.translate_details(sources[:1], max_length=3)[0].tokens) == 3


def test_a_text_that_is_too_long_is_cut_with_a_warning(trained):
    short = Translator(trained.model, trained.source_subwords, trained.target_subwords, trained.search, 6)
    with pytest.warns(
        UserWarning, match="1 of 2 sentences are cut to 6 subwords; the first has 15: 'one two"
    ):
        details = short.translate_details(
            ["one two three four", "one two three four five " * 3], max_length=8
        )
    assert [translation.truncated for translation in details] == [False, True]
    assert len(details[1].source_tokens) == 7
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert short.translate(["one two three four"]) == [details[0].text]


def test_control_characters_are_as_good_as_blanks(trained):
    assert trained.translate(["one\ttwo \x07three\u200b four\x1b"]) == [
        trained.translate(["one two three four"])[0]
    ]


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (None, "expected a list of str, got a NoneType"),
        ("one two", "expected a list of str, got a str"),
        (iter(["one"]), "expected a list of str, got a list_iterator"),
        (["one", 3], r"\[1\]: expected a str, got int, 3"),
        ([None], r"\[0\]: expected a str, got NoneType"),
        ([b"one"], r"\[0\]: expected a str, got bytes"),
    ],
)
def test_something_else_than_a_list_of_texts(trained, texts, said):
    for method in (trained.translate, trained.translate_details, trained.n_best):
        with pytest.raises(KerasZooError, match=said):
            method(texts)


def test_unequal_numbers_of_texts(trained):
    with pytest.raises(KerasZooError, match="2 sources, but 1 targets"):
        trained.score(["one", "two"], ["eins"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"beam_width": 0}, "beam_width"),
        ({"bean": 3}, "no search option 'bean'"),
        ({"batch_size": -1}, "batch_size must be at least 1, got -1"),
    ],
)
def test_bad_search_options(trained, options, said):
    with pytest.raises(KerasZooError, match=said):
        trained.translate(["one"], **options)


def test_a_vocabulary_of_another_model(trained):
    with pytest.raises(
        KerasZooError, match="source_vocabulary_size is 44 in the vocabulary, but 40 in the model"
    ):
        Translator(trained.model, trained.target_subwords)


@pytest.mark.parametrize(
    ("model", "sizes", "said"),
    [
        (RNNSearch, {"embedding_dim": 8, "units": 8, "share_embeddings": True}, "share_embeddings: false"),
        (
            Transformer,
            {"d_model": 8, "num_layers": 1, "num_heads": 2, "intermediate_dim": 8},
            "tie_embeddings: target",
        ),
    ],
)
def test_two_vocabularies_of_one_size_do_not_share_an_embedding(train_pairs, model, sizes, said):
    sides = [Subwords.train([pair[side] for pair in train_pairs], 40) for side in (0, 1)]
    with pytest.raises(KerasZooError, match=f"share one embedding, but have two vocabularies.*{said}"):
        Translator(model(40, **sizes), *sides)
    Translator(model(40, **sizes), sides[0], Subwords(sides[0].model_bytes))  # one vocabulary, read twice
    other = {"share_embeddings": False} if "share_embeddings" in sizes else {"tie_embeddings": "target"}
    Translator(model(40, **{**sizes, **other}), *sides)


def test_what_is_drawn_for_a_text_depends_on_the_text_and_the_seed_alone(trained, test_pairs):
    texts = [source for source, _ in test_pairs[:9]]
    together = trained.translate(texts, sampling=True, temperature=2.0)
    assert trained.translate(texts, batch_size=2, sampling=True, temperature=2.0) == together
    assert trained.translate(texts[3:4] + [""], sampling=True, temperature=2.0) == [together[3], ""]
    assert trained.translate(texts, sampling=True, temperature=2.0, seed=1) != together


def by_hand(translator, source, prefix, limit=20):
    """Greedy search that starts with given ids, one `model.step` at a time."""
    model, special = translator.model, translator.compiled_search.special
    row = [*translator.source_subwords.encode([source])[0], translator.compiled_search.source_special.end_id]
    state = model.initial_state(model.encode(np.array([row])), 1, limit)
    words = [special.start_id]
    while len(words) <= limit and words[-1] != special.end_id:
        logits, state = model.step(np.array(words[-1:]), state)
        scores = np.asarray(logits)[0].copy()
        scores[[special.pad_id, special.start_id]] = -np.inf
        words.append(prefix[len(words) - 1] if len(words) <= len(prefix) else int(scores.argmax()))
    return translator.target_subwords.decode([words[1:-1] if words[-1] == special.end_id else words[1:]])[0]


def test_a_prefix_is_continued_as_by_hand(trained, sources):
    prefixes = ["vier", "", "zwei zw", "eins eins eins eins eins eins"]
    continued = trained.translate(sources[:4], prefix=prefixes, beam_width=1)
    ids = trained.target_subwords.encode(prefixes)
    assert continued == [by_hand(trained, *pair) for pair in zip(sources, ids, strict=False)]
    assert all(text.startswith(prefix) for text, prefix in zip(continued, prefixes, strict=True))
    assert trained.translate(sources[:1], prefix="vier", beam_width=1) == continued[:1]


def test_the_beginning_of_the_free_translation_gives_the_free_translation(trained, sources):
    for details in trained.translate_details(sources[:3], beam_width=1):
        for words in (1, 2):
            prefix = " ".join(details.text.split()[:words])
            source = "".join(details.source_tokens[:-1]).replace("\u2581", " ")
            (again,) = trained.translate_details([source], prefix=prefix, beam_width=1)
            assert (again.text, again.tokens) == (details.text, details.tokens)
            assert again.log_prob == pytest.approx(details.log_prob, abs=1e-4)


def test_every_hypothesis_begins_with_the_prefix(trained, sources):
    for hypotheses in trained.n_best([*sources[:3], ""], prefix=["zwei"] * 4, num_hypotheses=3)[:3]:
        assert len(hypotheses) == 3
        assert all(hypothesis.text.startswith("zwei") for hypothesis in hypotheses)
    assert trained.translate(["", "one"], prefix="")[0] == "" and trained.translate([], prefix="x") == []


@pytest.mark.parametrize(
    ("prefix", "said"),
    [
        (["eins"], "prefix: expected a str, or 2 of them, got 1"),
        (["eins", 3], r"prefix\[1\]: expected a str, got int, 3"),
        ("eins " * 30, "prefix 1 has .* subwords, max_length is 20"),
    ],
)
def test_a_prefix_that_cannot_be(trained, sources, prefix, said):
    with pytest.raises(KerasZooError, match=said):
        trained.translate(sources[:2], prefix=prefix)


def test_heads_of_a_translation_that_was_cut(trained, sources):
    pytest.importorskip("matplotlib")
    (cut,) = trained.translate_details([sources[0]], max_length=2)
    assert cut.tokens[-1] != "</s>"
    cut.plot(heads=trained.align([sources[0]], [cut.tokens], heads=True)[0])


def test_constraints_that_no_translation_satisfies(new_translator):
    translator = new_translator()
    words = translator.target_subwords.vocabulary_size
    search = {"no_repeat_ngram": 1, "min_length": words, "max_length": words + 1, "beam_width": 2}
    (found,) = translator.translate_details(["one two"], **search)
    assert (found.text, found.hypotheses) == ("", [])
    assert translator.n_best(["one two"], **search) == [[]]


def test_references_are_checked_before_the_translation(new_translator, monkeypatch):
    translator = new_translator()
    monkeypatch.setattr(translator, "translate", None)
    with pytest.raises(ScoreError, match="references: 1 sentences for 2 hypotheses"):
        translator.evaluate(["one", "two"], ["eins"])


@pytest.mark.slow
def test_all_seeds_share_one_program(new_translator):
    translator = new_translator()
    texts = [
        translator.translate(["one two three"], beam_width=1, sampling=True, temperature=5.0, seed=seed)[0]
        for seed in (*range(8), 0)
    ]
    assert translator.compiled_search._plain.cache_info().misses == 1
    assert texts[0] == texts[-1] and len(set(texts)) > 1


@pytest.mark.parametrize("seed", [0, 3])
def test_warm_up_also_counts_for_sampling(new_translator, monkeypatch, seed):
    search, asked = new_translator().compiled_search, []

    def graph(options, attention, inputs, jit_compile):
        asked.append(jit_compile)
        return lambda *inputs: [np.zeros((1, 1))] * 4

    monkeypatch.setattr(search, "graph", graph)
    options = SearchOptions(beam_width=1, sampling=True, temperature=0.5, seed=seed)
    search.warm_up(options)
    assert search(np.array([[5, 3]], "int32"), options.replace(temperature=0.7)).score.tolist() == [[0]]
    assert asked == [True] and search._plain.cache_info().misses == 0
