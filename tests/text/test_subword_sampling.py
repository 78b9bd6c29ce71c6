"""Subword sampling against the definitions of the papers, written out for one word."""

import io
import itertools
import json
import math
from collections import Counter

import numpy as np
import pytest

from keraszoo.errors import KerasZooError
from keraszoo.text.corpus import ParallelCorpus
from keraszoo.text.segmenters import SEGMENTERS, processor_for
from keraszoo.text.subword_sampling import SubwordSampling
from keraszoo.text.subwords import SPECIAL, Subwords
from keraszoo.training.token_batches import TokenBatches

TEXTS = ["lower newest lowest", "the newer low widest", "wider und lower", "  <s> ein neuester Weg "] * 30
TYPES = {"bpe_dropout": "bpe", "unigram": "unigram"}


@pytest.fixture(scope="module", params=list(TYPES))
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def both(kind):
    return Subwords.train(TEXTS, {"bpe_dropout": 50, "unigram": 30}[kind], TYPES[kind])


def corpus_of(subwords, texts, sampling=None, rate=0.3, seed=1):
    corpus = ParallelCorpus.from_pairs([(text, text[::-1]) for text in texts], subwords, subwords)
    corpus.sampling = sampling and SubwordSampling(corpus, (subwords, subwords), sampling, rate, seed)
    return corpus


def segmentations_of_bpe(subwords, word, rate):
    """The probability of each segmentation: before a merge, every possible one may be left out."""
    rank = {piece: i for i, piece in enumerate(subwords.pieces(range(len(subwords))))}
    found = Counter()

    def go(pieces, probability):
        merges = sorted(
            (rank[a + b], place) for place, (a, b) in enumerate(itertools.pairwise(pieces)) if a + b in rank
        )
        for better, (_, place) in enumerate(merges):
            merged = (*pieces[:place], pieces[place] + pieces[place + 1], *pieces[place + 2 :])
            go(merged, probability * rate**better * (1 - rate))
        found[pieces] += probability * rate ** len(merges)

    go(tuple(word), 1.0)
    return found


def segmentations_of_unigram(subwords, word, rate):
    """The probability of each segmentation: that of its pieces to the power `rate`, normalised."""
    import sentencepiece

    model = sentencepiece.SentencePieceProcessor(model_proto=subwords.model_bytes)
    known = set(subwords.pieces(range(4, len(subwords))))
    found = {}
    for cuts in itertools.product([False, True], repeat=len(word) - 1):
        ends = [i + 1 for i, cut in enumerate(cuts) if cut] + [len(word)]
        pieces = tuple(word[a:b] for a, b in itertools.pairwise([0, *ends]))
        if known.issuperset(pieces):
            found[pieces] = math.exp(rate * sum(model.get_score(i) for i in subwords.ids(pieces)))
    return {pieces: value / sum(found.values()) for pieces, value in found.items()}


def check_frequencies(kind, both, word):
    count, rate = 6000, 0.3
    corpus = corpus_of(both, [word] * count, kind, rate)
    source, _ = corpus.sampling.draw(0, range(count))
    drawn = Counter(tuple(both.pieces(row)) for row in source)
    wanted = {"bpe_dropout": segmentations_of_bpe, "unigram": segmentations_of_unigram}[kind](
        both, f"▁{word}", rate
    )
    assert set(drawn) <= set(wanted) and len(wanted) > 5
    for pieces, share in wanted.items():  # five standard deviations
        assert abs(drawn[pieces] / count - share) < 5 * math.sqrt(share * (1 - share) / count) + 1e-9, pieces


def test_segmentations_are_as_frequent_as_the_papers_say(kind, both):
    check_frequencies(kind, both, "lowest")


def test_a_word_ends_when_all_its_merges_are_left_out_even_if_no_piece_crosses_its_middle():
    check_frequencies("bpe_dropout", Subwords.train(TEXTS, 50), "newlow")


CODE = """
import json, sys
from keraszoo.text.segmenters import SEGMENTERS, processor_for
kind, model, best = json.load(sys.stdin)
segmenter = SEGMENTERS[kind](processor_for(bytes.fromhex(model), kind), 0.3)
print(json.dumps([next(segmenter.draws(best, seed)) for seed in range(50)]))
"""


def test_another_process_draws_the_same(kind, both, on_backend):
    best = corpus_of(both, TEXTS).sources[0].tolist()
    segmenter = SEGMENTERS[kind](processor_for(both.model_bytes, kind), 0.3)
    here = [next(segmenter.draws(best, seed)) for seed in range(50)]
    there = on_backend("jax", CODE, input=json.dumps([kind, both.model_bytes.hex(), best]))
    assert json.loads(there) == here and len(set(map(tuple, here))) > 5


def test_bytes_and_symbols_stay_whole_in_a_unigram_model():
    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS),
        model_writer=model,
        model_type="unigram",
        vocab_size=290,
        byte_fallback=True,
        user_defined_symbols=["<sep>"],
        minloglevel=2,
        hard_vocab_limit=False,
        **SPECIAL,
    )
    processor = processor_for(model.getvalue(), "unigram")
    best = processor.encode("lower \N{SNOWMAN} <sep>newest")
    symbols = [piece for piece in processor.id_to_piece(best) if piece[0] == "<"]
    drawn = set(map(tuple, itertools.islice(SEGMENTERS["unigram"](processor, 0.1).draws(best, 1), 50)))
    assert len(symbols) == 4 and len(drawn) > 5  # a symbol, and three bytes
    for ids in drawn:
        pieces = processor.id_to_piece(list(ids))
        assert "".join(pieces) == "".join(processor.id_to_piece(best))
        assert [piece for piece in pieces if piece[0] == "<"] == symbols


def test_the_best_segmentation_is_that_of_sentencepiece():
    both = Subwords.train(TEXTS, 50)
    corpus = corpus_of(both, TEXTS, "bpe_dropout", rate=1e-12)
    drawn = corpus.sampling.draw(0, range(len(corpus)))
    for side, best in zip(drawn, (corpus.sources, corpus.targets), strict=True):
        assert [row.tolist() for row in side] == [row.tolist() for row in best]


@pytest.mark.parametrize(
    ("options", "symbol", "side"),
    [
        ({"user_defined_symbols": ["<de>"], "vocab_size": 60}, "<de>", 0),
        ({"byte_fallback": True, "vocab_size": 320}, "<0xE6>", 1),
    ],
)
def test_what_no_merges_make_stays_whole_and_the_rest_is_sampled(options, symbol, side):
    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([*TEXTS, "< d e >"]),
        model_writer=model,
        model_type="bpe",
        character_coverage=1.0,
        minloglevel=2,
        **SPECIAL,
        **options,
    )
    brought = Subwords(model.getvalue())
    corpus = ParallelCorpus.from_pairs([("<de> lowest", "lowest 漢")], brought, brought)
    sampling = SubwordSampling(corpus, (brought, brought), "bpe_dropout", 0.9)
    best = (corpus.sources, corpus.targets)[side][0].tolist()
    drawn = sampling.draw(0, [0])[side][0].tolist()
    assert symbol in brought.pieces(drawn) and drawn != best


def test_the_text_stays_and_the_segmentation_does_not(kind, both):
    corpus = corpus_of(both, TEXTS, kind)
    draws = [corpus.sampling.draw(stream, range(len(corpus))) for stream in range(2)]
    for number, side in enumerate((corpus.sources, corpus.targets)):
        texts = both.decode([row.tolist() for row in side])
        for drawn in draws:
            assert both.decode([row.tolist() for row in drawn[number]]) == texts
        differ = [a.tolist() != b.tolist() for a, b in zip(draws[0][number], draws[1][number], strict=True)]
        assert any(differ) or number == 1  # reversed words have no segmentation but letters


def test_a_draw_has_an_address(kind, both):
    """It depends on seed, stream, side and sentence, not on what else is drawn."""
    corpus = corpus_of(both, TEXTS, kind)
    whole = corpus.sampling.draw(7, range(len(corpus)))
    corpus.sampling.draw(8, [3, 4])
    again = SubwordSampling(corpus, (both, both), kind, 0.3, seed=1).draw(7, [9, 2])
    for side, all_of_side in zip(again, whole, strict=True):
        assert [row.tolist() for row in side] == [all_of_side[i].tolist() for i in (9, 2)]
    other = SubwordSampling(corpus, (both, both), kind, 0.3, seed=2).draw(7, range(len(corpus)))
    assert not np.array_equal(other[0].ids, whole[0].ids)


def test_rate_0_is_no_sampling(kind, both):
    plain, still = (TokenBatches(corpus_of(both, TEXTS, of, 0.0), 64, shapes=4) for of in (None, kind))
    assert len(plain) == len(still)
    for i in range(len(plain)):
        (a, b), c, d = plain.batch(3, i)
        (e, f), g, h = still.batch(3, i)
        assert all(map(np.array_equal, (a, b, c, d), (e, f, g, h)))


@pytest.mark.parametrize("shapes", [2, None])
def test_batches_stay_within_the_budget(kind, both, shapes):
    corpus = corpus_of(both, TEXTS, kind)
    batches = TokenBatches(corpus, 120, replicas=2, shapes=shapes)
    best = sum(int(side.lengths.sum()) for side in (corpus.sources, corpus.targets))
    for epoch in range(2):
        seen, tokens = [], 0
        for i in range(len(batches)):
            (source, target_in), target_out, weight = batches.batch(epoch, i)
            assert max(source.size, target_in.size) <= 120 and len(source) % 2 == 0
            np.testing.assert_allclose(weight.sum(), 1, rtol=1e-5)
            tokens += np.count_nonzero(source) + np.count_nonzero(target_out)
            seen += batches.indices(epoch, i).tolist()
            if shapes is not None:
                assert batches.shape(epoch, i)[1:] == (source.shape[1], target_in.shape[1])
        assert sorted(seen) == list(range(len(corpus))) and tokens > best + 2 * len(corpus)


def test_sentences_have_room_for_most_draws(kind, both):
    corpus = corpus_of(both, TEXTS, kind)
    rooms = corpus.sampling.planned_lengths(99)
    drawn = [corpus.sampling.draw(stream, range(len(corpus))) for stream in range(20)]
    for room, *sides, best in zip(rooms, *drawn, (corpus.sources, corpus.targets), strict=True):
        lengths = np.array([rows.lengths for rows in sides])
        longest = lengths.reshape(20, -1, len(set(TEXTS))).max((0, 1))  # of each text in all draws
        assert room.dtype == "int32" and (room >= best.lengths).all()
        assert (room.reshape(-1, len(longest)) <= longest).all()
        assert (lengths <= room).mean() > 0.6  # the longest of three
        small = corpus.sampling.planned_lengths(5)
    for room, best in zip(small, (corpus.sources, corpus.targets), strict=True):
        np.testing.assert_array_equal(room[best.lengths > 5], best.lengths[best.lengths > 5])
        assert (room[best.lengths <= 5] <= 5).all()


def test_what_has_no_room_or_is_unknown_keeps_its_best_segmentation(kind, both):
    corpus = corpus_of(both, ["lowest", "lowest 漢"], kind, rate=0.9 if kind == "bpe_dropout" else 0.01)
    shortest = corpus.sources.lengths[0]
    for stream in range(20):
        source, _ = corpus.sampling.draw(stream, [0, 1], (shortest, None))
        assert len(source[0]) <= shortest and source[1].tolist() == corpus.sources[1].tolist()


def test_what_cannot_be_sampled_is_refused(kind, both):
    corpus = corpus_of(both, TEXTS)
    (other,) = set(TYPES) - {kind}
    for arguments, said in (
        (("bpe", 0.1), "sampling must be one of"),
        ((kind, 1.5), "from 0 to 1, got 1.5"),
        ((other, 0.1), f"{other} does not fit the sentencepiece model, whose type allows {kind}"),
    ):
        with pytest.raises(KerasZooError, match=said):
            SubwordSampling(corpus, (both, both), *arguments)
