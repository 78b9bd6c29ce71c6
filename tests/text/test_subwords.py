import io
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

import keraszoo
from keraszoo.errors import DataError, KerasZooError
from keraszoo.text.subword_training import _sample
from keraszoo.text.subwords import Subwords

WORDS = (
    "the a dog cat sat on mat and house tree under runs jumps Übergrößenträger schön café 12 345 <s> </s> "
    "running jumper catch household treetop matting undergo doghouse sitting standing thousand"
).split()
SENTENCES = [" ".join(WORDS[(i * k + k) % len(WORDS)] for k in range(1, 8)) for i in range(1, 200)]


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def subwords(request):
    return Subwords.train(SENTENCES, 60, request.param)


def brought(**arguments):
    """A model trained by sentencepiece itself."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES), model_writer=model, vocab_size=60, minloglevel=2, **arguments
    )
    return model.getvalue()


def test_our_numbers(subwords):
    assert subwords.vocabulary_size == len(subwords) == 60
    ids = (subwords.pad_id, subwords.unknown_id, subwords.start_id, subwords.end_id)
    assert ids == (0, 1, 2, 3)
    assert subwords.pieces(ids) == ["<pad>", "<unk>", "<s>", "</s>"]


@settings(max_examples=30)
@given(words=st.lists(st.sampled_from(WORDS) | st.text("".join(sorted(set("".join(WORDS)))), min_size=1)))
def test_text_comes_back(subwords, words):
    text = " ".join(words)
    (ids,) = subwords.encode([text])
    assert subwords.decode([ids]) == [text]
    assert "".join(subwords.pieces(ids)).replace("▁", " ").strip() == text
    assert not {subwords.pad_id, subwords.start_id, subwords.end_id, subwords.unknown_id} & set(ids)


@settings(max_examples=30)
@given(texts=st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_any_text_is_encoded_without_control_ids(subwords, texts):
    rows = subwords.encode(texts)
    assert len(rows) == len(texts)
    assert not {subwords.pad_id, subwords.start_id, subwords.end_id} & {id_ for row in rows for id_ in row}
    assert len(subwords.decode(rows)) == len(texts)


def test_literal_control_symbols_are_ordinary_characters(subwords):
    texts = ["<s>", "</s>", "a <s> dog </s>"]
    rows = subwords.encode(texts)
    assert not {0, 2, 3} & {id_ for row in rows for id_ in row}
    assert subwords.decode(rows) == texts


def test_batch_equals_singles(subwords):
    singles = [subwords.encode([text])[0] for text in SENTENCES]
    assert subwords.encode(SENTENCES) == singles
    assert subwords.encode(iter(SENTENCES)) == singles
    assert subwords.encode([]) == subwords.decode([]) == []


def test_normalisation(subwords):
    # NFKC, one kind of blank, no controls.
    same = ["the dog", " the\u00a0 dog ", "the\u2028dog", "\u200bthe\x01 dog"]
    assert len({tuple(ids) for ids in subwords.encode(same)}) == 1
    assert subwords.decode(subwords.encode(["scho\u0308n \uff11\uff12"])) == ["schön 12"]
    assert subwords.encode(["", " ", "\u00a0\t", "\x01"]) == [[]] * 4


def test_special_ids_decode_to_nothing_and_unknown_to_its_sign(subwords):
    dog = subwords.encode(["dog"])[0]
    assert subwords.decode([[2, *dog, 3, 0, 0], []]) == ["dog", ""]
    (row,) = subwords.encode(["漢"])
    assert subwords.unknown_id in row
    assert subwords.decode([row]) == [" ⁇ "]


def test_pieces_become_ids_again(subwords):
    ids = [*subwords.encode(["lower newest"])[0], subwords.end_id]
    assert subwords.ids(subwords.pieces(ids)) == ids and subwords.ids([]) == []
    renamed = Subwords(brought(pad_id=3, pad_piece="[PAD]", bos_piece="[BOS]", eos_piece="[EOS]"))
    ids = [renamed.start_id, *renamed.encode(["the dog"])[0], renamed.end_id, renamed.pad_id]
    assert [renamed.pieces(ids)[i] for i in (0, -2, -1)] == ["<s>", "</s>", "<pad>"]
    assert renamed.ids(renamed.pieces(ids)) == ids
    for wrong in ("low lower", 3):
        with pytest.raises(DataError, match=f"{wrong!r} is not a piece of the vocabulary"):
            subwords.ids([wrong])


def test_bytes_are_the_whole_state(subwords, tmp_path):
    subwords.save(tmp_path / "vocabulary.model")
    assert [path.name for path in tmp_path.iterdir()] == ["vocabulary.model"]
    loaded = Subwords.load(tmp_path / "vocabulary.model")
    assert loaded == subwords and hash(loaded) == hash(subwords)
    assert loaded.encode(SENTENCES) == subwords.encode(SENTENCES)
    assert loaded != Subwords.train(SENTENCES, 58)


def test_sentencepiece_reads_our_model(subwords):
    processor = sentencepiece.SentencePieceProcessor(model_proto=subwords.model_bytes)
    assert processor.encode(SENTENCES) == subwords.encode(SENTENCES)
    assert processor.decode(subwords.encode(SENTENCES)) == subwords.decode(subwords.encode(SENTENCES))


def test_tensorflow_text_gives_the_same_ids(subwords):
    tf = pytest.importorskip("tensorflow")
    text = pytest.importorskip("tensorflow_text")
    tokenizer = text.SentencepieceTokenizer(subwords.model_bytes)
    texts = [*SENTENCES[:50], "", "<s> </s>", "the\u00a0dog 漢"]
    rows = subwords.encode(texts)
    assert tokenizer.tokenize(texts).to_list() == rows
    decoded = tokenizer.detokenize(tf.ragged.constant(rows, dtype="int32")).numpy()
    assert [string.decode() for string in decoded] == subwords.decode(rows)


def test_training_is_deterministic():
    numbers = [f"{i * 7919 % 100003} {i % 997}" for i in range(3000)]
    whole = Subwords.train(numbers, 100)
    assert Subwords.train(iter(numbers), 100, seed=1) == whole
    assert Subwords.train(numbers, 100, max_sentences=3000) == whole
    samples = [Subwords.train(numbers, 100, max_sentences=200, seed=seed) for seed in (0, 0, 1)]
    assert samples[0] == samples[1]
    first = Subwords.train(numbers[:200], 100)
    assert len({samples[0], samples[2], whole, first}) == 4


@pytest.mark.slow
def test_another_process_trains_the_same_bytes():
    program = (
        "import hashlib, sys; from keraszoo.text.subwords import Subwords;"
        "model = Subwords.train([f'{i * 7919} {i}' for i in range(900)], 80, sys.argv[1], max_sentences=500);"
        "print(hashlib.sha256(model.model_bytes).hexdigest())"
    )
    environment = os.environ | {"PYTHONPATH": str(pathlib.Path(keraszoo.__file__).parents[1])}
    for model_type in ("bpe", "unigram"):
        command = [sys.executable, "-c", program, model_type]
        first, second = (
            subprocess.check_output(command, env=environment | {"PYTHONHASHSEED": seed}) for seed in "12"
        )
        assert first == second


def test_each_sentence_is_sampled_with_the_same_chance():
    counts = np.zeros(10)
    for seed in range(500):
        for sentence in _sample((str(i) for i in range(10)), 3, seed):
            counts[int(sentence)] += 1
    assert counts.sum() == 1500
    assert abs(counts - 150).max() < 5 * np.sqrt(500 * 0.3 * 0.7)


def test_character_coverage():
    sentences = ["aaaa bbbb"] * 100 + ["z"]
    assert 1 in Subwords.train(sentences, 10, character_coverage=0.99).encode(["z"])[0]
    assert 1 not in Subwords.train(sentences, 10).encode(["z"])[0]


def test_training_is_quiet(capfd):
    Subwords.train(SENTENCES, 60)
    assert capfd.readouterr() == ("", "")


def test_the_largest_vocabulary_is_named_and_right():
    for model_type in ("bpe", "unigram"):
        with pytest.raises(
            KerasZooError, match=r"vocabulary_size 9000 is too large .* largest is \d+"
        ) as caught:
            Subwords.train(SENTENCES, 9000, model_type)
        largest = int(str(caught.value).rsplit(" ", 1)[1])
        assert Subwords.train(SENTENCES, largest, model_type).vocabulary_size == largest


def test_too_small_a_vocabulary():
    characters = len(set("".join(SENTENCES)))  # the blank counts as one
    with pytest.raises(KerasZooError, match=f"the text has {characters} different characters"):
        Subwords.train(SENTENCES, 20)


@pytest.mark.parametrize("sentences", [[], ["", " "], ["x" * 5000], ["\x01"]])
def test_nothing_to_learn_from(sentences):
    with pytest.raises(KerasZooError, match=r"no text to learn|too large"):
        Subwords.train(sentences, 100)


def test_an_error_in_the_sentences_comes_through():
    def sentences():
        yield from SENTENCES
        raise DataError("bad line", "text.en", 200)

    with pytest.raises(DataError, match=r"text\.en:200: bad line"):
        Subwords.train(sentences())


def test_bad_arguments(subwords):
    for arguments in ({"model_type": "word"}, {"character_coverage": 0}, {"vocabulary_size": 5}):
        with pytest.raises(KerasZooError, match=next(iter(arguments))):
            Subwords.train(SENTENCES, **arguments)
    for sentences in ([b"bytes"], [None], ["lone \ud800"]):
        with pytest.raises(DataError, match="sentence 0"):
            Subwords.train(sentences)
    with pytest.raises(DataError, match="list of strings"):
        subwords.encode("one string")
    with pytest.raises(DataError, match="text 1 must be a string, got NoneType"):
        subwords.encode(["a", None])
    with pytest.raises(DataError, match="text 0 is not valid Unicode: a lone surrogate at character 2"):
        subwords.encode(["ab\udc80"])
    for id_ in (-1, 60):
        with pytest.raises(DataError, match=f"id {id_} is outside the vocabulary of 60"):
            subwords.decode([[5], [id_]])
        with pytest.raises(DataError, match=f"id {id_} is outside"):
            subwords.pieces([id_])


def test_a_brought_model_keeps_its_numbers():
    subwords = Subwords(brought(pad_id=3, unk_id=0, bos_id=1, eos_id=2))
    assert (subwords.unknown_id, subwords.start_id, subwords.end_id, subwords.pad_id) == (0, 1, 2, 3)
    with pytest.raises(DataError, match="has no pad symbol; train one with"):
        Subwords(brought())
    with pytest.raises(DataError, match="has no pad and no <s> symbol"):
        Subwords(brought(bos_id=-1))


def test_files_that_are_no_model(tmp_path):
    path = tmp_path / "bad.model"
    for data in (b"", b"text", brought(pad_id=3)[:-100]):
        path.write_bytes(data)
        with pytest.raises(DataError, match=r"bad\.model: not a sentencepiece model"):
            Subwords.load(path)
    with pytest.raises(DataError, match="none.model: cannot read"):
        Subwords.load(tmp_path / "none.model")
    with pytest.raises(DataError, match="cannot be written"):
        Subwords.train(SENTENCES, 60).save(tmp_path / "none" / "a.model")


def test_a_file_name_is_not_a_list_of_sentences():
    with pytest.raises(DataError, match="expected an iterable of sentences, got one str"):
        Subwords.train("train.en")
