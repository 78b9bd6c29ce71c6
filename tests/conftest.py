"""One small translator, trained once for all tests that need one: number words, word by word."""

import random

import keras
import pytest

WORDS = {"one": "eins", "two": "zwei", "three": "drei", "four": "vier", "five": "fünf", "six": "sechs"}


def make_pairs(count, seed):
    """Pairs of 4 to 7 words, the second the translation of the first in reverse order."""
    draw = random.Random(seed)
    sources = [draw.choices(list(WORDS), k=draw.randint(4, 7)) for _ in range(count)]
    return [(" ".join(words), " ".join(WORDS[word] for word in reversed(words))) for words in sources]


@pytest.fixture(scope="session")
def train_pairs():
    return make_pairs(1200, seed=0)


@pytest.fixture(scope="session")
def test_pairs():
    return make_pairs(40, seed=1)


@pytest.fixture(scope="session")
def both_subwords(train_pairs):
    """A vocabulary of each language, of different sizes."""
    from keraszoo.text.subwords import Subwords

    return tuple(
        Subwords.train([pair[side] for pair in train_pairs], size) for side, size in enumerate((40, 44))
    )


@pytest.fixture
def new_translator(both_subwords):
    """Makes untrained translators."""
    from keraszoo import Translator
    from keraszoo.models import RNNSearch
    from keraszoo.search import SearchOptions

    def make(**search):
        keras.utils.set_random_seed(7)
        source, target = both_subwords
        sizes = source.vocabulary_size, target.vocabulary_size
        model = RNNSearch(*sizes, embedding_dim=24, units=32)
        return Translator(
            model, source, target, SearchOptions(**{"beam_width": 3, "max_length": 20, **search})
        )

    return make


@pytest.fixture(scope="session")
def trained_directory(both_subwords, train_pairs, test_pairs, tmp_path_factory):
    """Where a translator was saved that gets most of the sentences right."""
    from keraszoo import Translator
    from keraszoo.models import RNNSearch
    from keraszoo.search import SearchOptions

    keras.utils.set_random_seed(7)
    source, target = both_subwords
    model = RNNSearch(source.vocabulary_size, target.vocabulary_size, embedding_dim=32, units=48)
    translator = Translator(model, source, target, SearchOptions(beam_width=3, max_length=20))
    directory = tmp_path_factory.mktemp("trained") / "model"
    optimizer = {"schedule": "constant", "learning_rate": 0.01, "clipnorm": 1.0}
    translator.fit(
        train_pairs,
        test_pairs,
        directory,
        epochs=9,
        batch_tokens=512,
        label_smoothing=0.0,
        optimizer=optimizer,
    )
    return directory


@pytest.fixture(scope="session")
def trained(trained_directory):
    """The translator of that directory; tests leave it as it is."""
    from keraszoo import Translator

    return Translator.from_preset(trained_directory)
