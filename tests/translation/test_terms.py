"""Terms of a glossary in translations."""

import keras
import numpy as np
import pytest

from keraszoo.errors import KerasZooError

TERMS = {"one": "sechs sechs", "two": "fünf", "one two": "vier"}
SENTENCES = ["one three", "six six two", "", "four four four", "one two two one"]
CONTAINED = [["sechs sechs"], ["fünf"], [], [], ["vier", "fünf", "sechs sechs"]]


def check_contained(texts):
    for text, terms in zip(texts, CONTAINED, strict=True):
        assert all(f" {term}" in f" {text}" for term in terms)


@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize("width", [2, 5])
def test_translations_contain_the_terms_of_their_sources(trained, width):
    found = trained.translate(SENTENCES, terms=TERMS, beam_width=width)
    check_contained(found)
    plain = trained.translate(SENTENCES[2:4], beam_width=width)
    assert found[2:4] == plain and "" not in found[3:]
    one_by_one = [trained.translate([text], terms=TERMS, beam_width=width)[0] for text in SENTENCES[:2]]
    assert one_by_one == found[:2]
    each = [{"six": "sechs"}, {}, TERMS, TERMS, TERMS]
    assert trained.translate(SENTENCES, terms=each, beam_width=width)[3:] == found[3:]


@pytest.mark.usefixtures("eagerly")
def test_every_hypothesis_contains_them_with_its_own_log_probability(trained):
    details = trained.translate_details(SENTENCES, terms=TERMS, num_hypotheses=3)
    for k in range(3):
        check_contained([found.hypotheses[k].text if found.hypotheses else "" for found in details])
    sources, found = zip(*[pair for pair in zip(SENTENCES, details, strict=True) if pair[0]], strict=True)
    scores = trained.score(list(sources), [one.tokens for one in found])
    assert [one.log_prob for one in found] == pytest.approx(scores, abs=1e-3)
    for one in found:
        assert one.attention_weights.shape == (len(one.tokens), len(one.source_tokens))
    (text,) = trained.translate(["one two two one"], terms=TERMS, prefix="zwei zwei")
    assert text.startswith("zwei zwei") and "sechs sechs" in text and "vier" in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"terms": {"one": "eins 🙂"}}, "'one': the vocabulary does not have 🙂 of 'eins 🙂'"),
        ({"terms": {"no": "eins " * 20}}, "'no': 'eins .* has .* subwords, max_length is 20"),
        ({"terms": {"two": "eins " * 7}}, "text 2: its 3 terms have .* subwords, max_length is 20: 'two two"),
        ({"terms": {"one": "eins"}, "prefix": "eins " * 17}, "text 1: .* after a prefix of .*_length is 20"),
        ({"terms": {"one": "eins"}, "beam_width": 1}, "need beam search with .*, got beam_width=1"),
        ({"terms": {"one": "eins"}, "sampling": True}, "need beam search with .*, got sampling=True"),
        ({"terms": [{"one": "eins"}]}, "expected a dict, or a list of 2 of them"),
    ],
)
def test_invalid_terms_raise_errors(trained, arguments, said):
    with pytest.raises(KerasZooError, match=said) as error:
        trained.translate(["one one one", "two two two"], **arguments)
    assert "\n" not in str(error.value)


@pytest.mark.usefixtures("eagerly")
@pytest.mark.filterwarnings("ignore::keraszoo.errors.UnknownCharacters")
def test_terms_in_documents_and_markup(trained):
    document = trained.translate_document("one two\n\n- one one\n", terms={"one": "drei"})
    first, second = document.split("\n\n- ")
    assert first.count("drei") >= 1 and second.count("drei") >= 2
    assert "drei" in trained.translate(["<b>one</b> two"], markup="html", terms={"one": "drei"})[0]
    with pytest.raises(KerasZooError, match="terms: expected a dict with markup or keep, got a list"):
        trained.translate(["one"], keep=["two"], terms=[{"one": "drei"}])


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="a TensorFlow graph")
def test_the_graph_of_a_search_with_terms_equals_the_eager_search(trained):
    search, options = trained.compiled_search, trained.search.replace(num_hypotheses=3)
    source = search.pad(trained.source_subwords.encode([SENTENCES[0], SENTENCES[1], SENTENCES[3]]))
    words = [["vier vier"] * 2, ["eins"], ["drei eins zwei"]]
    terms = search.pad_terms([trained.target_subwords.encode(of_text) for of_text in words])
    graph = search(source, options, terms=terms)
    tokens, lengths, log_prob, _ = search.tensors(options, False, source, terms=terms, lengths=[20])
    np.testing.assert_array_equal(graph.tokens, tokens)
    np.testing.assert_array_equal(graph.lengths, lengths)
    np.testing.assert_allclose(graph.log_prob, log_prob, atol=1e-4)
