"""Translation by CTranslate2, a fast engine for Transformers. Needs neither Keras nor TensorFlow."""

import json
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from keraszoo import registry
from keraszoo.errors import KerasZooError, import_extra
from keraszoo.search import SearchOptions
from keraszoo.tasks.export import MARK, format_of
from keraszoo.tasks.process import check_process
from keraszoo.text.subwords import Subwords
from keraszoo.translation.text_translator import TextTranslator

PLAIN = {"sampling": False, "coverage_penalty": 0, "normalization": "length"}  # others have no equivalent
PATIENCE = 2.0  # with 1, one beam search in a hundred ended too early


class CTranslate2Translator(TextTranslator):
    """Translates with a directory that `Translator.export(directory, format="ctranslate2")` wrote.

    Greedy translations are those of `Translator`. Beam search ends when `PATIENCE` times W hypotheses are
    finished, so it can miss one that `Translator` finds. Probabilities are among the words that may be
    written, all but `<pad>` and `<s>`, so log-probabilities are slightly higher, and much higher where
    `min_length` or `no_repeat_ngram` forbids likely words; beam search then finds other translations.
    Prefixes, terms, attention weights, coverage penalty, sampling and `"gnmt"` normalisation are not
    supported.

    Args:
        directory: the directory.

    Raises:
        KerasZooError: CTranslate2 is not installed, or the directory is not such an export.
    """

    attends = False

    def __init__(self, directory):
        check_process()
        ctranslate2 = import_extra("ctranslate2", "ctranslate2")
        try:
            settings = json.loads(Path(directory, MARK).read_text())
            sides = [Subwords.load(Path(directory, Path(name).name)) for name in settings["subwords"][:2]]
            self.source_subwords, self.target_subwords = sides[0], sides[-1]
            self.search = SearchOptions(**settings["search"])
            self.max_source_tokens = settings["max_source_tokens"]
            self.quantize = settings["quantize"]
            self.engine = ctranslate2.Translator(str(directory))
        except (OSError, RuntimeError, LookupError, TypeError, ValueError) as error:
            message = f"{directory}: not an export for CTranslate2: {error}"
            raise KerasZooError(" ".join(message.split())) from error
        self.ids = {piece: i for i, piece in enumerate(sides[-1].pieces(range(len(sides[-1]))))}

    def require_attention(self, wanted="attention weights"):
        """Raises KerasZooError: CTranslate2 gives no attention weight of `</s>`."""
        raise KerasZooError(f"the engine ctranslate2 has no {wanted}")

    def _checked(self, options):
        return check_options(options)

    def _started(self, texts, attention, batch_size, prefix, target_language, terms=None, **search):
        if terms is not None:  # also where none of them is in the texts
            raise KerasZooError("the engine ctranslate2 does not support terms")
        return super()._started(texts, attention, batch_size, prefix, target_language, **search)

    def _search(self, rows, options, attention, prefixes, terms):
        if prefixes is not None:
            raise KerasZooError("the engine ctranslate2 does not support prefix")
        sources = [self.source_subwords.pieces(row) for row in rows]
        arguments = search_arguments(options, self.target_subwords)
        try:
            found = self.engine.translate_batch(sources, return_scores=True, **arguments)
        except (RuntimeError, ValueError) as error:
            raise KerasZooError(f"the engine ctranslate2 fails: {error}") from error
        shape = len(rows), options.num_hypotheses
        ids = [[self.ids[piece] for piece in tokens] for result in found for tokens in result.hypotheses]
        tokens = np.full((len(ids), options.max_length), self.target_subwords.end_id)
        for row, of_hypothesis in zip(tokens, ids, strict=True):
            row[: len(of_hypothesis)] = of_hypothesis
        lengths = np.array([len(row) for row in ids]).reshape(shape)
        score = np.array([result.scores for result in found])
        log_prob = score * lengths**options.length_penalty
        return SimpleNamespace(
            tokens=tokens.reshape(*shape, -1), lengths=lengths, log_prob=log_prob, score=score
        )


def load(name, read=None):
    """Returns the `CTranslate2Translator` of an exported directory, or of a model, which it converts.

    An export is loaded without Keras.

    Args:
        name: path of an export or of a model directory, the name of an included model, or `hf://user/name`.
        read: a function that returns the `Translator` of a model; `None`: `Translator.from_preset`.

    Raises:
        PresetError: no such directory, a damaged one, or one of another task.
        KerasZooError: CTranslate2 is not installed, or does not support the model.
    """
    import_extra("ctranslate2", "ctranslate2")
    if format_of(name) == "ctranslate2":
        return CTranslate2Translator(name)
    read = read or registry.load(registry.TASKS["translation"].kind).from_preset
    with tempfile.TemporaryDirectory() as folder:  # the engine reads all of it at once
        directory = Path(folder, "model")
        read(name).export(directory, format="ctranslate2")
        return CTranslate2Translator(directory)


def check_options(options):
    """Returns `SearchOptions`; raises KerasZooError if CTranslate2 cannot search with them."""
    for name, plain in PLAIN.items():
        if getattr(options, name) != plain:
            raise KerasZooError(f"the engine ctranslate2 does not support {name}={getattr(options, name)!r}")
    return options


def search_arguments(options, subwords):
    """The arguments of `ctranslate2.Translator.translate_batch` that search with these `SearchOptions`."""
    return {
        "beam_size": options.beam_width,
        "patience": PATIENCE,
        "num_hypotheses": options.num_hypotheses,
        "length_penalty": options.length_penalty,
        "max_decoding_length": options.max_length,
        "min_decoding_length": options.min_length,
        "no_repeat_ngram_size": options.no_repeat_ngram,
        "suppress_sequences": [[piece] for piece in subwords.pieces([subwords.pad_id, subwords.start_id])],
        "max_input_length": 0,
        "return_end_token": True,
    }
