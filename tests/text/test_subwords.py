import io

import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from keraszoo.errors import DataError, KerasZooError
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


@settings(max_examples=30)
@given(words=st.lists(st.sampled_from(WORDS) | st.text("".join(sorted(set("".join(WORDS)))), min_size=1)))
def test_text_comes_back(subwords, words):
    text = " ".join(words)
    (ids,) = subwords.encode([text])
    assert subwords.decode([ids]) == [text]
    assert "".join(subwords.pieces(ids)).replace("▁", " ").strip() == text
    assert not {0, 1, 2, 3} & set(ids)


@settings(max_examples=30)
@given(texts=st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_any_text_is_encoded_without_control_ids(subwords, texts):
    rows = subwords.encode(texts)
    assert len(rows) == len(texts)
    assert not {subwords.pad_id, subwords.start_id, subwords.end_id} & {id_ for row in rows for id_ in row}
    assert len(subwords.decode(rows)) == len(texts)


def test_normalisation(subwords):
    # NFKC, one kind of blank, no controls.
    same = ["the dog", " the\u00a0 dog ", "the\u2028dog", "\u200bthe\x01 dog"]
    assert len({tuple(ids) for ids in subwords.encode(same)}) == 1
    assert subwords.decode(subwords.encode(["scho\u0308n \uff11\uff12"])) == ["schön 12"]
    assert subwords.encode(["", " ", "\u00a0\t", "\x01"]) == [[]] * 4


def test_special_ids_decode_to_nothing_and_unknown_to_its_sign(subwords):
    ids = subwords.pad_id, subwords.unknown_id, subwords.start_id, subwords.end_id
    assert ids == (0, 1, 2, 3) and subwords.vocabulary_size == len(subwords) == 60
    assert subwords.pieces(ids) == ["<pad>", "<unk>", "<s>", "</s>"]
    dog = subwords.encode(["dog"])[0]
    assert subwords.decode([[2, *dog, 3, 0, 0], []]) == ["dog", ""] and subwords.decode([]) == []
    (row,) = subwords.encode(["漢"])
    assert subwords.unknown_id in row
    assert subwords.decode([row]) == [" ⁇ "]
    texts = ["<s>", "</s>", "a <s> dog </s>"]  # ordinary characters
    rows = subwords.encode(texts)
    assert not {0, 2, 3} & {id_ for row in rows for id_ in row}
    assert subwords.decode(rows) == texts


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
def test_another_process_trains_the_same_bytes(on_backend, monkeypatch):
    program = (
        "import hashlib, sys; from keraszoo.text.subwords import Subwords;"
        "model = Subwords.train([f'{i * 7919} {i}' for i in range(900)], 80, sys.argv[1], max_sentences=500);"
        "print(hashlib.sha256(model.model_bytes).hexdigest())"
    )
    for model_type in ("bpe", "unigram"):
        digests = set()
        for seed in "12":
            monkeypatch.setenv("PYTHONHASHSEED", seed)
            digests.add(on_backend("tensorflow", program, model_type))
        assert len(digests) == 1


def test_character_coverage():
    sentences = ["aaaa bbbb"] * 100 + ["z"]
    assert 1 in Subwords.train(sentences, 10, character_coverage=0.99).encode(["z"])[0]
    assert 1 not in Subwords.train(sentences, 10).encode(["z"])[0]


def test_the_largest_vocabulary_is_named_and_training_is_quiet(capfd):
    for model_type in ("bpe", "unigram"):
        message = r"vocabulary_size 9000 is too large .* largest is \d+"
        with pytest.raises(KerasZooError, match=message) as caught:
            Subwords.train(SENTENCES, 9000, model_type)
        largest = int(str(caught.value).rsplit(" ", 1)[1])
        assert Subwords.train(SENTENCES, largest, model_type).vocabulary_size == largest
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("sentences", "options", "message"),
    [
        (SENTENCES, {"vocabulary_size": 20}, f"the text has {len(set(''.join(SENTENCES)))} different"),
        ([], {}, "no text to learn|too large"),
        (["x" * 5000], {}, "no text to learn|too large"),
        (SENTENCES, {"model_type": "word"}, "model_type"),
        (SENTENCES, {"character_coverage": 0}, "character_coverage"),
        (SENTENCES, {"vocabulary_size": 5}, "vocabulary_size"),
        ([b"bytes"], {}, "sentence 0"),
        ([None], {}, "sentence 0"),
        (["lone \ud800"], {}, "sentence 0"),
        ("train.en", {}, "expected an iterable of sentences, got one str"),
    ],
)
def test_what_cannot_be_learnt(sentences, options, message):
    with pytest.raises(KerasZooError, match=message):
        Subwords.train(sentences, **options)


def test_an_error_in_the_sentences_comes_through():
    def sentences():
        yield from SENTENCES
        raise DataError("bad line", "text.en", 200)

    with pytest.raises(DataError, match=r"text\.en:200: bad line"):
        Subwords.train(sentences())


def test_what_cannot_be_encoded_or_decoded(subwords):
    for texts, message in (
        ("one string", "list of strings"),
        (["a", None], "text 1 must be a string, got NoneType"),
        (["ab\udc80"], "text 0 is not valid Unicode: a lone surrogate at character 2"),
    ):
        with pytest.raises(DataError, match=message):
            subwords.encode(texts)
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
