"""Text in, text out: a translation model with its vocabularies and its search."""

import warnings

import numpy as np

from keraszoo.errors import KerasZooError
from keraszoo.search import SearchOptions
from keraszoo.text.corpus import SpecialIds
from keraszoo.translation import directory as translator_directory
from keraszoo.translation.compiled_search import CompiledSearch
from keraszoo.translation.pair_scores import log_probabilities
from keraszoo.translation.results import Hypothesis, Translation

MAX_SOURCE_TOKENS = 512


class Translator:
    """Translates sentences: subwords in front of a `TranslationModel`, a search behind it.

    Args:
        model: a `TranslationModel`.
        source_subwords: `Subwords` of the source language.
        target_subwords: of the target language; `None`: the same.
        search: `SearchOptions` that hold unless a call says otherwise.
        max_source_tokens: longer sources are cut, with a warning.

    Raises:
        KerasZooError: if vocabulary and model do not fit each other, as where the model has one embedding
            for source and target, but they have two vocabularies; or a coverage penalty is asked of a model
            that attends to nothing.

    Example:

    >>> from keraszoo.models import RNNSearch
    >>> from keraszoo.text.subwords import Subwords
    >>> pairs = [("one two", "eins zwei"), ("two one", "zwei eins")] * 4
    >>> subwords = Subwords.train([text for pair in pairs for text in pair], vocabulary_size=22)
    >>> translator = Translator(RNNSearch(22, embedding_dim=8, units=8), subwords)
    >>> translator.translate(["one two", ""], beam_width=1)[1]
    ''
    """

    def __init__(
        self, model, source_subwords, target_subwords=None, search=None, max_source_tokens=MAX_SOURCE_TOKENS
    ):
        self.model = model
        self.source_subwords = source_subwords
        self.target_subwords = target_subwords or source_subwords
        self.search = self._checked(search or SearchOptions())
        if not isinstance(max_source_tokens, int) or max_source_tokens < 1:
            raise KerasZooError(f"max_source_tokens must be at least 1. Received: {max_source_tokens!r}")
        self.max_source_tokens = max_source_tokens
        self.metrics = {}
        self.recipe = None
        self.about = {}
        for side in ("source", "target"):
            ours, theirs = (
                getattr(self, f"{side}_subwords").vocabulary_size,
                getattr(model, f"{side}_vocabulary_size"),
            )
            if ours != theirs:
                raise KerasZooError(f"the {side} vocabulary has {ours} subwords, but the model {theirs}")
        if model.source_pad_id != self.source_subwords.pad_id:
            raise KerasZooError(
                f"the model takes id {model.source_pad_id} for padding, "
                f"the vocabulary {self.source_subwords.pad_id}"
            )
        self._check_shared_embedding()
        model.build()
        specials = [
            SpecialIds(s.pad_id, s.start_id, s.end_id) for s in (self.target_subwords, self.source_subwords)
        ]
        self.compiled_search = CompiledSearch(model, *specials)

    # --- text in, text out

    def translate(self, texts, batch_size=64, **search):
        """Translates sentences.

        Args:
            texts: list of str; a blank one gives an empty translation.
            batch_size: sentences searched at a time, those of like length together; the result does not
                depend on it.
            **search: fields of `SearchOptions` that differ from the translator's, such as `beam_width=1`.

        Returns:
            List of str, one for each text.

        Raises:
            KerasZooError: if `texts` is not a list of str, or a search option is out of range.
        """
        return [
            hypotheses[0].text if hypotheses else ""
            for hypotheses in self.n_best(texts, batch_size, **search)
        ]

    def n_best(self, texts, batch_size=64, **search):
        """The `num_hypotheses` best translations of each sentence, the best first.

        Args: as for `translate`.

        Returns:
            List of lists of `Hypothesis`; the list of a blank text is empty.
        """
        options = self._options(search)
        results = [[] for _ in texts]
        for indices, found, *_ in self._found(texts, batch_size, options):
            for i, hypotheses in zip(indices, self._hypotheses(found), strict=True):
                results[i] = hypotheses
        return results

    def translate_details(self, texts, batch_size=64, **search):
        """Translates sentences, and says how sure the model was and where it looked.

        Args: as for `translate`.

        Returns:
            List of `Translation`; their `attention_weights` are `None` if the model attends to nothing.
        """
        options, attends = self._options(search), self.model.attends
        nothing = np.zeros((0, 0), "float32") if attends else None
        results = [Translation("", 0.0, [], [], nothing, []) for _ in texts]
        for indices, found, rows, cut in self._found(texts, batch_size, options, attends):
            for i, k, hypotheses in zip(indices, range(len(indices)), self._hypotheses(found), strict=True):
                length = found.lengths[k, 0]
                results[i] = Translation(
                    text=hypotheses[0].text,
                    log_prob=hypotheses[0].log_prob,
                    tokens=self.target_subwords.pieces(found.tokens[k, 0, :length].tolist()),
                    source_tokens=[*self.source_subwords.pieces(rows[k]), "</s>"],
                    attention_weights=(
                        found.attention_weights[k, 0, :length, : len(rows[k]) + 1] if attends else None
                    ),
                    hypotheses=hypotheses,
                    truncated=cut[k],
                )
        return results

    def score(self, sources, targets, batch_size=64):
        """Natural log-probabilities of given translations, `</s>` included.

        Args:
            sources: list of str.
            targets: list of str, as many.
            batch_size: pairs scored at a time.

        Returns:
            List of float, each at most 0.

        Raises:
            KerasZooError: if there are not as many targets as sources.
        """
        if len(sources) != len(targets):
            raise KerasZooError(f"{len(sources)} sources, but {len(targets)} targets")
        rows = [self._cut(row)[0] for row in self.source_subwords.encode(list(sources))]
        targets = self.target_subwords.encode(list(targets))
        specials = self.compiled_search.source_special, self.compiled_search.special
        return log_probabilities(self.model, rows, targets, *specials, batch_size)

    def evaluate(self, sources, references, batch_size=64, **search):
        """Translates and scores against references.

        Args:
            sources: list of str.
            references: list of str, or a list of such lists if there are several of each.
            batch_size, **search: as for `translate`.

        Returns:
            `TranslationScores`: BLEU, chrF, TER and their signatures.
        """
        from keraszoo.evaluation.translation import score_translations

        return score_translations(self.translate(sources, batch_size, **search), references)

    def require_attention(self, wanted="attention weights"):
        """Raises KerasZooError if the model attends to nothing, and so has not what is wanted."""
        if not self.model.attends:
            raise KerasZooError(f"{type(self.model).__name__} attends to nothing: it has no {wanted}")

    # --- training

    def fit(self, train, validation=None, directory=None, checkpoints=None, **settings):
        """Trains the model on pairs of sentences.

        Args:
            train: a `ParallelCorpus`, or an iterable of (source, target) strings.
            validation: list of (source, target) strings; their BLEU picks the weights that are kept.
            directory: where the translator is saved whenever it is the best so far, and at the end; `None`:
                nowhere.
            checkpoints: a folder in which the run is saved, so that the same call goes on where it was
                stopped; it is deleted when the run is over. `None`: none are made.
            **settings: fields of a recipe's `training` section, such as `epochs=10`, `batch_tokens=4096` or
                `optimizer={"schedule": "constant", "learning_rate": 1e-3}`.

        Returns:
            A `keras.callbacks.History`.

        Raises:
            RecipeError: an unknown setting, or one out of range; or `checkpoints` of a run that began
                otherwise.
            DataError: a corpus with nothing in it.
            KeyboardInterrupt, SystemExit: with `checkpoints`, after Ctrl-C or SIGTERM, when the step in hand
                is made and the run saved.
        """
        from keraszoo.translation.training import train_translator

        return train_translator(self, train, validation, directory, settings, checkpoints)

    # --- directories

    @classmethod
    def from_preset(cls, name):
        """Reads a translator from a directory, or by the name of one that ships.

        Raises:
            PresetError: no such directory, a damaged one, or one of another kind.
        """
        return translator_directory.read(cls, name)

    def save_to_preset(self, directory, dtype=None):
        """Writes the translator to a directory, whole or not at all.

        Args:
            directory: a new one, or one of an earlier model, which is replaced.
            dtype: `"float16"` stores the weights in half precision, at half the size; `None`: as they are.
                They are loaded as float32 in either case.

        Raises:
            PresetError: what stands there is not a model directory, or the disk refuses.
        """
        translator_directory.write(self, directory, dtype)

    def export(self, directory, jit_compile="single"):
        """Writes a SavedModel that turns strings into strings and needs neither Keras nor keraszoo.

        Its signatures are listed in `keraszoo.translation.export`.

        Args:
            directory: a new one, or an earlier export, which is replaced.
            jit_compile: what XLA compiles when it is first met: `"single"`, sentences that come alone;
                `"all"`, the steps of every batch, for a server that is warmed up with the sizes it will meet;
                `"never"`.

        Raises:
            KerasZooError: another backend than TensorFlow, or a disk that refuses.
        """
        from keraszoo.translation.export import export_translator

        export_translator(self, directory, jit_compile)

    def verify_export(self, directory, texts):
        """Translates with an exported SavedModel in a process of its own and compares.

        Args:
            directory: what `export` wrote.
            texts: list of str.

        Returns:
            How many translations were compared; all are the same, to the character.

        Raises:
            KerasZooError: for the first that differs.
        """
        from keraszoo.translation.export import verify_export

        return verify_export(self, directory, texts)

    # --- in between

    def _check_shared_embedding(self):
        """Two vocabularies of one size would share it: an id would stand for two words without kinship."""
        shared = getattr(self.model, "source_embedding", None)
        if shared is None or shared is not getattr(self.model, "target_embedding", None):
            return
        if self.source_subwords != self.target_subwords:
            tied = "tie_embeddings" in self.model.get_config()
            other = "tie_embeddings: target" if tied else "share_embeddings: false"
            raise KerasZooError(
                "source and target share one embedding, but have two vocabularies: "
                f"make one joint vocabulary of both, or the model with `overrides: {{{other}}}`"
            )

    def _checked(self, options):
        if options.coverage_penalty:
            self.require_attention("coverage penalty")
        return options

    def _options(self, search):
        """The options of a call; more hypotheses than the beam holds widen it."""
        options = self._checked(self.search.replace(**{**search, "num_hypotheses": None}))
        count = search.get("num_hypotheses")
        if isinstance(count, int) and search.get("beam_width") is None:
            return options.replace(num_hypotheses=count, beam_width=max(count, options.beam_width))
        return options.replace(num_hypotheses=count)

    def _cut(self, row):
        if len(row) <= self.max_source_tokens:
            return row, False
        return row[: self.max_source_tokens], True

    def _found(self, texts, batch_size, options, attention=False):
        """Searches for the texts that are not blank; yields (indices, Hypotheses, source ids, cut or not)."""
        if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
            raise KerasZooError(
                "expected a list of str, got " + ("a str" if isinstance(texts, str) else "other items")
            )
        encoded = self.source_subwords.encode(list(texts))
        rows, cut = zip(*map(self._cut, encoded), strict=True) if encoded else ((), ())
        if any(cut):
            first = cut.index(True)
            warnings.warn(
                f"{sum(cut)} of {len(texts)} sentences are cut to {self.max_source_tokens} subwords; "
                f"the first is number {first + 1} with {len(encoded[first])}",
                stacklevel=3,
            )
        order = sorted((i for i, row in enumerate(rows) if row), key=lambda i: len(rows[i]))
        for first in range(0, len(order), batch_size):
            indices = order[first : first + batch_size]
            some = [rows[i] for i in indices]
            found = self.compiled_search(self.compiled_search.pad(some), options, attention)
            yield indices, found, some, [cut[i] for i in indices]

    def _hypotheses(self, found):
        """A list of lists of `Hypothesis`, one for each sentence of a batch."""
        end_id, width = self.compiled_search.special.end_id, found.tokens.shape[1]
        rows = found.tokens.reshape(-1, found.tokens.shape[2])
        ids = [
            [token for token in row[:length].tolist() if token != end_id]
            for row, length in zip(rows, found.lengths.reshape(-1), strict=True)
        ]
        texts = self.target_subwords.decode(ids)
        return [
            [
                Hypothesis(texts[i * width + k], float(found.log_prob[i, k]), float(found.score[i, k]))
                for k in range(width)
                if found.lengths[i, k]
            ]
            for i in range(len(found.tokens))
        ]
