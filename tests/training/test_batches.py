import concurrent.futures
import itertools

import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keraszoo.errors import DataError, KerasZooError
from keraszoo.text.corpus import ParallelCorpus, SpecialIds
from keraszoo.text.token_rows import TokenRows
from keraszoo.training.token_batches import TokenBatches, teacher_forced

PAD, START, END = 0, 2, 3


def corpus_of(source_lengths, target_lengths):
    """Pairs whose ids name their sentence, so that a row of a batch tells which pair it is."""
    sides = [
        [[10 + i] * length for i, length in enumerate(lengths)]
        for lengths in (source_lengths, target_lengths)
    ]
    return ParallelCorpus.from_ids(*sides, pad_id=PAD, start_id=START, end_id=END)


@pytest.fixture(scope="module")
def corpus():
    generator = np.random.default_rng(1)
    source = np.clip(generator.lognormal(2.3, 0.5, 500), 1, 60).astype(int)
    target = np.clip(source * generator.normal(1, 0.2, 500), 1, 60).astype(int)
    return corpus_of(source, target)


def composition(batches, epoch):
    return [sorted(batches.indices(epoch, i).tolist()) for i in range(len(batches))]


def equal(first, second):
    return all(np.array_equal(a, b) for a, b in zip(flat(first), flat(second), strict=True))


def flat(batch):
    (source, target_in), target_out, weight = batch
    return source, target_in, target_out, weight


@settings(max_examples=60)
@given(
    lengths=st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=40),
    tokens=st.integers(39, 100),
    replicas=st.integers(1, 3),
    shuffle=st.booleans(),
    shapes=st.sampled_from([1, 3, 16, None]),
)
def test_every_pair_once_within_the_budget(lengths, tokens, replicas, shuffle, shapes):
    corpus = corpus_of(*zip(*lengths, strict=True))
    options = {"replicas": replicas, "shuffle": shuffle, "shapes": shapes}
    batches = TokenBatches(corpus, tokens, **options)
    for epoch in (0, 3):
        seen = []
        for i in range(len(batches)):
            (source, target_in), target_out, weight = batches.batch(epoch, i)
            indices = batches.indices(epoch, i)
            assert batches.shape(epoch, i) == (*source.shape, target_in.shape[1])
            assert target_in.shape == target_out.shape == weight.shape
            assert len(source) % replicas == 0 and len(source) - len(indices) < replicas
            assert max(source.size, target_in.size) <= tokens
            assert (source[len(indices) :] == PAD).all() and (target_in[len(indices) :] == PAD).all()
            np.testing.assert_allclose(weight.sum(), 1, rtol=1e-5)
            real = batches.real_tokens(epoch, i)
            np.testing.assert_array_equal(weight, np.float32(target_out != PAD) / np.float32(real))
            for row, pair in enumerate(indices):
                source_length, target_length = lengths[pair]
                ids = [10 + pair] * target_length
                assert source[row][source[row] != PAD].tolist() == [10 + pair] * source_length + [END]
                assert target_in[row, : target_length + 1].tolist() == [START, *ids]
                assert target_out[row, : target_length + 1].tolist() == [*ids, END]
            seen += indices.tolist()
        assert sorted(seen) == list(range(len(corpus)))


def test_teacher_forcing_by_eye():
    ids = [[11, 12, 13], []], [[21], [22, 23]]
    sides = [TokenRows.from_lists(side).gather(range(2)) for side in ids]
    special = SpecialIds(0, 1, 2), SpecialIds(5, 6, 7)  # padding, start and end
    (source, target_in), target_out, weight = teacher_forced(*sides, *special, (3, 5, 4))
    assert source.tolist() == [[11, 12, 13, 2, 0], [2, 0, 0, 0, 0], [0] * 5]
    assert target_in.tolist() == [[6, 21, 5, 5], [6, 22, 23, 5], [5] * 4]
    assert target_out.tolist() == [[21, 7, 5, 5], [22, 23, 7, 5], [5] * 4]
    np.testing.assert_allclose(weight, np.array([[1, 1, 0, 0], [1, 1, 1, 0], [0] * 4]) / 5, rtol=1e-6)
    assert [array.dtype for array in (source, target_in, target_out, weight)] == ["int32"] * 3 + ["float32"]


def test_an_address_names_a_batch(corpus):
    first = TokenBatches(corpus, 256, seed=7)
    batch = first.batch(5, 3)
    first.batch(0, 0), first.batch(9, 1)
    assert equal(first.batch(5, 3), batch)
    assert equal(TokenBatches(corpus, 256, seed=7).batch(5, 3), batch)
    assert not equal(TokenBatches(corpus, 256, seed=8).batch(5, 3), batch)
    plain = [TokenBatches(corpus, 256, shuffle=False, seed=seed) for seed in (1, 5)]
    assert composition(plain[0], 0) == composition(plain[0], 4) == composition(plain[1], 0)


def test_epochs_differ_in_order_and_in_composition(corpus):
    batches = TokenBatches(corpus, 256)
    first, second = composition(batches, 0), composition(batches, 1)
    assert len(first) == len(second) == len(batches)
    assert len({tuple(batch) for batch in first} & {tuple(batch) for batch in second}) < len(first) / 4
    longest = [[max(corpus.targets.lengths[batch]) for batch in epoch] for epoch in (first, second)]
    assert longest[0] != sorted(longest[0])
    assert longest[0] != longest[1]


def test_few_shapes_and_little_padding(corpus):
    for shapes, padding in ((4, 0.35), (16, 0.27)):  # with these lengths, some padding cannot be avoided
        batches = TokenBatches(corpus, 1024, shapes=shapes)
        seen = {batches.shape(epoch, i) for epoch in range(5) for i in range(len(batches))}
        assert len({shape[1:] for shape in seen}) <= shapes
        assert len(seen) <= shapes + 1  # one batch an epoch is not full
        arrays = [batches.batch(2, i) for i in range(len(batches))]
        for side in range(2):
            real = sum((inputs[side] != PAD).sum() for inputs, *_ in arrays)
            assert 1 - real / sum(inputs[side].size for inputs, *_ in arrays) < padding


def test_steps_walk_through_the_epochs_from_any_step_on(corpus):
    batches = TokenBatches(corpus, 256, seed=3)
    count = len(batches)
    for first in (0, 3, 2 * count + 3):
        steps = iter(batches.for_fit(first))
        for step in range(first, first + count + 2):
            assert equal(next(steps), batches.batch(*divmod(step, count)))


def test_parts_are_shares_of_a_batch_and_weigh_as_much(corpus):
    batches = TokenBatches(corpus, 128, seed=3, replicas=2)
    steps = iter(batches.for_fit(parts=2))
    (*inputs, weight), first, second = flat(batches.batch(0, 0)), flat(next(steps)), flat(next(steps))
    for whole, one, other in zip(inputs, first, second, strict=False):
        np.testing.assert_array_equal(whole, np.concatenate([one, other]))
    np.testing.assert_array_equal(2 * weight, np.concatenate([first[-1], second[-1]]))
    assert equal(next(itertools.islice(steps, 1, None)), next(iter(batches.for_fit(3, parts=2))))


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="a tf.data.Dataset")
def test_fit_may_see_batches_of_any_shape_and_no_thread_tunes(corpus):
    batches = TokenBatches(corpus, 256)
    dataset = batches.for_fit(5)
    for spec, array in zip(
        keras.tree.flatten(dataset.element_spec), keras.tree.flatten(batches.batch(0, 5)), strict=True
    ):
        assert spec.shape.as_list() == [None] * array.ndim and spec.dtype == array.dtype
    assert not dataset.options().autotune.enabled  # its thread sleeps, and the end of an iterator waits


def test_the_tokens_of_a_run_are_counted(corpus):
    batches = TokenBatches(corpus, 256, seed=3)
    updates = 2 * len(batches) + 3
    real = sum((batches.batch(*divmod(n, len(batches)))[2] > 0).sum() for n in range(updates))
    assert batches.tokens_of(updates) == real


def test_many_threads_ask_at_once(corpus):
    batches = TokenBatches(corpus, 128)
    addresses = [(epoch, i) for i in range(0, len(batches), 3) for epoch in range(4)]
    expected = [TokenBatches(corpus, 128).batch(*address) for address in addresses]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert all(map(equal, pool.map(lambda address: batches.batch(*address), addresses), expected))


def test_a_pair_too_long_is_named():
    corpus = corpus_of([3, 40, 5], [3, 4, 5])
    assert len(TokenBatches(corpus, 41)) > 0
    with pytest.raises(DataError, match=r"item 1 takes 41 positions; a budget of 40 tokens"):
        TokenBatches(corpus, 40)
    with pytest.raises(DataError, match=r"at least 2 row\(s\) allows 40"):
        TokenBatches(corpus, 81, replicas=2)


def test_bad_arguments(corpus):
    for name, value in (("tokens", 0), ("seed", -1), ("replicas", 0), ("shapes", 0)):
        with pytest.raises(KerasZooError, match=f"{name} must be at least"):
            TokenBatches(corpus, **({"tokens": 500} | {name: value}))
    batches = TokenBatches(corpus, 500)
    for i in (-1, len(batches)):
        with pytest.raises(IndexError):
            batches.batch(0, i)
    with pytest.raises(KerasZooError, match="epoch must not be negative"):
        batches.batch(-1, 0)
