"""A translation model with its vocabularies and its search."""

import keras

from keraszoo.errors import KerasZooError, check_at_least, check_texts, plain_number
from keraszoo.models.ensemble import Ensemble
from keraszoo.saving import model_facts
from keraszoo.search import SearchOptions
from keraszoo.tasks.batch_threads import batches_at_once
from keraszoo.tasks.renewed import renewed
from keraszoo.tasks.task import Task
from keraszoo.tasks.training import fit_task, plan_fit
from keraszoo.text.corpus import SpecialIds
from keraszoo.text.subwords import Subwords
from keraszoo.training.losses import TokenCrossentropy
from keraszoo.training.token_batches import TokenBatches
from keraszoo.translation import confidence
from keraszoo.translation import directory as translator_directory
from keraszoo.translation.compiled_search import CompiledSearch
from keraszoo.translation.forced_decoding import ForcedDecoding
from keraszoo.translation.prefixes import rows_of
from keraszoo.translation.published import from_published
from keraszoo.translation.recipe import TrainingSection
from keraszoo.translation.text_translator import TextTranslator
from keraszoo.translation.training import digests, held_out_figures, training_data
from keraszoo.translation.vocabulary_check import check_vocabularies
from keraszoo.translation.warm_up import warm_up_texts

MAX_SOURCE_TOKENS = 512


class Translator(TextTranslator, Task):
    """Translates sentences with subword vocabularies, a `TranslationModel` and a search.

    Args:
        model: a `TranslationModel`.
        source_subwords: `Subwords` of the source language.
        target_subwords: `Subwords` of the target language; `None`: the same.
        search: `SearchOptions` for all calls that do not override them.
        max_source_tokens: longer sources are cut, with a warning.

    Raises:
        KerasZooError: vocabulary and model do not fit each other, for instance two vocabularies and a model
            that shares one embedding; or a coverage penalty and a model without attention.

    Example:

    >>> from keraszoo.models import RNNSearch
    >>> from keraszoo.text.subwords import Subwords
    >>> pairs = [("one two", "eins zwei"), ("two one", "zwei eins")] * 4
    >>> subwords = Subwords.train([text for pair in pairs for text in pair], vocabulary_size=22)
    >>> translator = Translator(RNNSearch(22, embedding_dim=8, units=8), subwords)
    >>> translator.translate(["one two", ""], beam_width=1)[1]
    ''
    """

    kind = "translation"
    export_formats = {
        "savedmodel": "keraszoo.translation.export",
        "ctranslate2": "keraszoo.translation.ctranslate2_export",
        "onnx": "keraszoo.translation.onnx_export",
    }
    counted = "target_tokens"
    _read = classmethod(translator_directory.read)
    _contents = translator_directory.contents

    def __init__(
        self, model, source_subwords, target_subwords=None, search=None, max_source_tokens=MAX_SOURCE_TOKENS
    ):
        if isinstance(model, Subwords) or not isinstance(source_subwords, Subwords):
            kinds = f"{type(model).__name__}, {type(source_subwords).__name__}"
            raise KerasZooError(f"Translator: expected (model, source_subwords), got ({kinds})")
        super().__init__(model)
        self.source_subwords = source_subwords
        self.target_subwords = target_subwords or source_subwords
        self.search = self._checked(search or SearchOptions())
        check_at_least(max_source_tokens=(max_source_tokens, 1))
        self.max_source_tokens = plain_number(max_source_tokens)
        most = translator_directory.MOST_SOURCE_TOKENS
        if self.max_source_tokens > most:
            raise KerasZooError(f"max_source_tokens must be at most {most:,}, got {max_source_tokens:,}")
        check_vocabularies(model, self.source_subwords, self.target_subwords)
        if not model.built:
            model.build()

    @renewed
    def compiled_search(self):
        return CompiledSearch(self.model, *self._specials())

    @renewed
    def forced_decoding(self):
        return ForcedDecoding(self.model, *self._specials())

    def _specials(self):
        return map(SpecialIds.of, (self.target_subwords, self.source_subwords))

    @classmethod
    def from_preset(cls, name, engine="keras"):
        """Reads a directory that `save_to_preset` wrote, or a Marian model as others publish it.

        Args:
            name: path of the directory, the name of an included model, or `hf://user/name`.
            engine: `"keras"`, or `"ctranslate2"`, which also reads what
                `export(directory, format="ctranslate2")` wrote. It is fast, and needs a `Transformer`.

        Returns:
            A `Translator`, or a `CTranslate2Translator`.

        Raises:
            PresetError: no such directory, a damaged one, or one of another task.
            KerasZooError: an unknown engine, or one that does not support the model.
        """
        if engine == "ctranslate2":
            from keraszoo.translation.ctranslate2_translator import load

            return load(name, cls.from_preset)
        if engine != "keras":
            raise KerasZooError(f"engine: expected keras or ctranslate2, got {engine!r}")
        return from_published(cls, name) or super().from_preset(name)

    @classmethod
    def ensemble(cls, translators):
        """Combines several translators into one that averages their probabilities: see `Ensemble`.

        Args:
            translators: list of at least two `Translator`s of the same subwords, which share weights. Search
                options and `max_source_tokens` are those of the first, signs those that all know.

        Returns:
            A `Translator`.

        Raises:
            KerasZooError: fewer than two, no `Translator`, one twice, an ensemble, or subwords that differ.

        Example:

            names = ["tatoeba_en_de_transformer", "tatoeba_en_de_rnnsearch"]
            both = Translator.ensemble([Translator.from_preset(name) for name in names])
        """
        translators, read = list(translators), []
        for number, other in enumerate(translators, start=1):
            if not isinstance(other, Translator):
                raise KerasZooError(f"ensemble: expected Translators, got {type(other).__name__}")
            read.append((other.source_subwords, other.target_subwords))
            if read[-1] != read[0]:
                raise KerasZooError(f"translators 1 and {number} do not have the same subwords")
        try:
            model = Ensemble([translator.model for translator in translators])
        except ValueError as error:
            raise KerasZooError(str(error)) from error
        first = translators[0]
        source, target = (side[0].with_common_signs(side) for side in zip(*read, strict=True))
        both = cls(model, source, target, first.search, first.max_source_tokens)
        both.about = model_facts.common_facts([translator.about for translator in translators])
        return both

    @property
    def attends(self):
        return self.model.attends

    def warm_up(self, **search):
        """Lets XLA compile a search of single sentences, which then takes about 40 % less time.

        Without it, `translate` runs a plain graph for all lengths and batches. There are three programs for
        `translate` of one sentence of at most 127 subwords without a prefix; they serve all length penalties.
        Call it again after `quantize` or `enable_lora`. On other backends than TensorFlow, nothing is
        compiled in advance.

        Args:
            **search: as for `translate`.
        """
        if keras.backend.backend() == "tensorflow":
            self.compiled_search.warm_up(self._options(search))
            for text in warm_up_texts(self):
                self.translate([text], **search)

    def score(self, sources, targets, batch_size=64):
        """Returns the natural log-probabilities of given translations, `</s>` included.

        Args:
            sources: list of str.
            targets: list of str, as many as there are sources.
            batch_size: pairs scored at a time.

        Returns:
            List of float, each at most 0.

        Raises:
            KerasZooError: if either is not a list of str, or they differ in length.
        """
        return self.forced_decoding.log_probabilities(*self._pair_rows(sources, targets), batch_size)

    def align(self, sources, targets, batch_size=64, heads=False):
        """Attention weights of given translations: which source subwords each target subword attends to.

        `translate_details` returns the same weights for the model's own translations;
        `keraszoo.translation.lines.word_alignment` turns a matrix into word pairs.

        Args:
            sources: list of str.
            targets: list of str, as many; or of lists of subwords, such as `Translation.tokens`.
            batch_size: pairs per batch.
            heads: return the weights of each of the L layers and H heads; L = H = 1 for recurrent models and
                ensembles. Otherwise a `Transformer` gives the mean over the heads of its last layer, and
                `ConvS2S` the mean over its layers.

        Returns:
            List of float32 `(T, S)`: T subwords of the target and S of the source, `</s>` the last of each;
                with `heads`, `(L, H, T, S)`.

        Raises:
            KerasZooError: for other types or lengths, or if the model attends to nothing.
        """
        self.require_attention()
        return self.forced_decoding.attention_weights(*self._pair_rows(sources, targets), batch_size, heads)

    def next_tokens(self, sources, targets, count=10, batch_size=64):
        """The likeliest next subwords at each position of given translations, by teacher forcing.

        Args: as for `align`, and
            count: how many subwords per position.

        Returns:
            For each pair a list of T lists of `(subword, probability)`, the likeliest first; T counts `</s>`.
        """
        found = self.forced_decoding.next_tokens(*self._pair_rows(sources, targets), count, batch_size)
        pieces = self.target_subwords.pieces
        return [[list(zip(pieces(ids), p, strict=True)) for ids, p in positions] for positions in found]

    def calibrate(self, pairs, threshold=confidence.THRESHOLD):
        """Makes `translate_details` return a `confidence`, the probability that a translation is good.

        Args:
            pairs: held-out (source, target) strings; pairs of the same source are its references.
            threshold: the chrF2 that a good translation has against the best of its references.

        Returns:
            The `Confidence`, which is saved with the translator; `fit` drops it.

        Raises:
            DataError: no pairs; or all translations are good, or none.
        """
        judged = confidence.judged(self, pairs, threshold)
        self.confidence = confidence.Confidence.fit(*judged, threshold)
        return self.confidence

    def fit(self, train, validation=None, directory=None, checkpoints=None, **settings):
        """Trains the model.

        At the end it has the weights of the best period, or the average of the last `average_last` if that
        scores better; without held-out data, the average or the last weights.

        Args:
            train: iterable of (source, target) strings, or a `ParallelCorpus`.
            validation: held-out pairs; their score selects the weights that are kept.
            directory: where the model is saved whenever it is the best so far, and at the end, or None.
            checkpoints: a folder for checkpoints, or None. The same call resumes a stopped run; the folder is
                deleted when the run is over.
            **settings: fields of a recipe's `training` section, such as `epochs=10` or
                `optimizer={"schedule": "constant", "learning_rate": 1e-3}`, and

                - `optimizer`: also a Keras optimizer; training uses a copy of it;
                - `callbacks`: a Keras callback or a list of them, called as by `keras.Model.fit`. A
                  checkpoint includes the state of those with `get_state` and `set_state`;
                - `verbose`: as for `keras.Model.fit`; and `recipe`: a dict that is saved with the model.

        Returns:
            A `keras.callbacks.History`.

        Raises:
            RecipeError: an unusable setting, or `checkpoints` of a run with other settings or data.
            DataError: unusable data.
            KeyboardInterrupt, SystemExit: with `checkpoints`, after SIGINT or SIGTERM, once the run is saved.
        """
        plan = plan_fit(self, TrainingSection, validation, directory, checkpoints, settings)
        self.confidence = None
        with training_data(self, train, validation) as (corpus, pairs):
            copies = 2 if plan.settings.r_drop else 1
            batches = TokenBatches(corpus, plan.settings.batch_tokens, copies=copies, **plan.batch_options)
            evaluate = None if pairs is None else held_out_figures(self, pairs, plan.settings)
            loss = TokenCrossentropy(plan.settings.label_smoothing, r_drop=plan.settings.r_drop)
            return fit_task(self, plan, batches, evaluate, loss=loss, data=digests(self, corpus, pairs))

    # --- in between

    def _pair_rows(self, sources, targets):
        """The ids of sources and of their given translations."""
        check_texts(sources, "sources")
        rows, end_id = rows_of(targets, self.target_subwords, "targets"), self.target_subwords.end_id
        if len(sources) != len(targets):
            raise KerasZooError(f"{len(sources)} sources, but {len(targets)} targets")
        return self._source_rows(sources)[0], [row[:-1] if row[-1:] == [end_id] else row for row in rows]

    def _batches_at_once(self):
        return batches_at_once()

    def _search(self, rows, options, attention, prefixes, terms):
        search = self.compiled_search
        given = prefixes and search.pad_prefixes(prefixes), terms and search.pad_terms(terms)
        return search(search.pad(rows), options, attention, *given)
