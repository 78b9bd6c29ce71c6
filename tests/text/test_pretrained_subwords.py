"""Subwords of KerasHub's tokenizers, compared with the library `tokenizers`."""

import keras
import pytest

from keraszoo.tagging.graph_ops import GraphFeatures
from keraszoo.text.pretrained_subwords import PretrainedSubwords
from keraszoo.text.tagging_features import TaggingVocabulary

hub, tf = pytest.importorskip("keras_hub"), pytest.importorskip("tensorflow")
LETTERS = "abcdefghijklmnopqrstuvwxyzäüößéABCDEÜमیخواهंि-."
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS, *(f"##{letter}" for letter in LETTERS)]
WORDS = [
    "Über", "café", "GROSSE", "straße", "a-b.", "می\u200cخواهم", "हिं\u200dदी", "a\u200bb", "\x07", "x\x7fy",
    "\uf0b7ab", "a\U000f0001", "b\ufffd", "a\u00a0b", "a\u2009b\u2028c", "a\tb\n",
]  # fmt: skip


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("strip_accents", [True, False])
def test_word_pieces_are_those_of_hugging_face(lowercase, strip_accents, tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    made = hub.tokenizers.BertTokenizer(PIECES, lowercase=lowercase)
    PretrainedSubwords(made)  # leaves it as it is
    subwords = PretrainedSubwords(made, strip_accents)
    vocabulary = {piece: i for i, piece in enumerate(PIECES)}
    options = {"lowercase": lowercase, "strip_accents": lowercase and strip_accents}
    theirs = tokenizers.BertWordPieceTokenizer(vocabulary, **options)
    expected = [theirs.encode(word, add_special_tokens=False).ids or [1] for word in WORDS]
    assert subwords.encode(WORDS) == expected
    assert tf.function(subwords.in_graph)(tf.constant(WORDS)).to_list() == expected


@pytest.mark.parametrize("kind", ["Bert", "DistilBert", "Electra"])
def test_the_files_of_a_tokenizer_make_it_again(kind, tmp_path):
    made = getattr(hub.tokenizers, f"{kind}Tokenizer")(PIECES, lowercase=True)
    subwords = PretrainedSubwords(made, strip_accents=False)
    for name, content in subwords.files().items():
        (tmp_path / name.partition("/")[2]).write_bytes(content)
    again = PretrainedSubwords.from_files(subwords.config(), tmp_path)
    assert again == subwords and again.encode(WORDS) == subwords.encode(WORDS)
    assert again.encode(["Über"]) == [[vocabulary_id("ü"), *map(vocabulary_id, ("##b", "##e", "##r"))]]


def test_a_tokenizer_with_capitals_may_strip_accents():
    made = hub.tokenizers.BertTokenizer(PIECES, lowercase=False, strip_accents=True)
    assert PretrainedSubwords(made).encode(["Aé"]) == [[vocabulary_id("A"), vocabulary_id("##e")]]


def vocabulary_id(piece):
    return PIECES.index(piece)


def test_half_a_character_is_an_unknown_one():
    subwords = PretrainedSubwords(hub.tokenizers.BertTokenizer(PIECES, lowercase=True))
    assert subwords.encode(["\ud83d", "a"]) == [[1], [vocabulary_id("a")]]


def test_sentencepiece_reads_words_after_a_random_seed_is_set(tiny_encoders):
    from sentencepiece import SentencePieceProcessor

    proto = next((tiny_encoders / "xlmr").rglob("*.spm")).read_bytes()
    subwords = PretrainedSubwords(hub.tokenizers.XLMRobertaTokenizer(proto))
    keras.utils.set_random_seed(1)  # as `fit` does
    rows = SentencePieceProcessor(model_proto=proto).encode(WORDS)
    assert subwords.encode(WORDS) == [[id_ + 1 if id_ else 3 for id_ in ids] or [3] for ids in rows]


def test_the_first_hundred_subwords_of_a_word_are_read():
    subwords = PretrainedSubwords(hub.tokenizers.BertTokenizer(PIECES, lowercase=True))
    dash = vocabulary_id("-")
    expected = [[dash] * 99, [dash] * 100, [dash] * 100]
    words = ["-" * count for count in (99, 100, 30_000)]
    assert subwords.encode(words) == expected
    assert tf.function(subwords.in_graph)(tf.constant(words)).to_list() == expected


def test_a_sentence_is_as_long_as_its_subwords_if_these_are_more():
    subwords = PretrainedSubwords(hub.tokenizers.BertTokenizer(PIECES, lowercase=True))
    vocabulary = TaggingVocabulary([], (), ["LOC"], subwords=subwords)
    sentences = [["a", "b"], ["abc", "x\u00ady"], ["\x07"], ["a" * 60]]
    assert vocabulary.lengths([*sentences, []]) == [2, 5, 1, 60, 0]
    in_graph = tf.function(GraphFeatures(vocabulary).lengths)(tf.ragged.constant(sentences))
    assert in_graph.numpy().tolist() == [2, 5, 1, 60]
