"""Text in, text out: a translation model with its vocabularies and its search."""

import warnings

import numpy as np

from keraszoo.errors import KerasZooError
from keraszoo.search import SearchOptions
from keraszoo.tasks.task import Task
from keraszoo.text.corpus import SpecialIds
from keraszoo.text.subwords import Subwords
from keraszoo.training.losses import TokenCrossentropy
from keraszoo.translation import directory as translator_directory
from keraszoo.translation.compiled_search import CompiledSearch
from keraszoo.translation.forced_decoding import ForcedDecoding
from keraszoo.translation.results import Hypothesis, Translation

MAX_SOURCE_TOKENS = 512


class Translator(Task):
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
    counted = "target_tokens"

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
        if not isinstance(max_source_tokens, int) or max_source_tokens < 1:
            raise KerasZooError(f"max_source_tokens must be at least 1. Received: {max_source_tokens!r}")
        self.max_source_tokens = max_source_tokens
        for side in ("source", "target"):
            ours, theirs = (
                getattr(self, f"{side}_subwords").vocabulary_size,
                getattr(model, f"{side}_vocabulary_size"),
            )
            if ours != theirs:
                raise KerasZooError(f"the {side} vocabulary has {ours} subwords, but the model {theirs}")
        if model.source_pad_id != self.source_subwords.pad_id:
            ours, theirs = self.source_subwords.pad_id, model.source_pad_id
            raise KerasZooError(f"the id of padding is {theirs} in the model, {ours} in the vocabulary")
        self._check_shared_embedding()
        model.build()
        specials = [
            SpecialIds(s.pad_id, s.start_id, s.end_id) for s in (self.target_subwords, self.source_subwords)
        ]
        self.compiled_search = CompiledSearch(model, *specials)
        self.forced_decoding = ForcedDecoding(model, *specials)

    # --- text in, text out

    def translate(self, texts, batch_size=64, prefix=None, **search):
        """Translates sentences.

        Args:
            texts: list of str; a blank one gives an empty translation.
            batch_size: sentences searched at a time, those of similar length together; the result does not
                depend on it.
            prefix: str, or list of str, one per text: how each translation begins. A prefix is split into
                subwords, and the translation continues after the last of them. It may therefore complete the
                last word: the prefix "Hund" allows "Hunde". An empty prefix leaves the translation free.
            **search: fields of `SearchOptions` that differ from the translator's, such as `beam_width=1`.

        Returns:
            List of str, one for each text.

        Raises:
            KerasZooError: if `texts` is not a list of str, a search option is out of range, or a prefix has
                `max_length` or more subwords.
        """
        return [
            hypotheses[0].text if hypotheses else ""
            for hypotheses in self.n_best(texts, batch_size, prefix, **search)
        ]

    def n_best(self, texts, batch_size=64, prefix=None, **search):
        """The `num_hypotheses` best translations of each sentence, the best first.

        Args: as for `translate`.

        Returns:
            List of lists of `Hypothesis`; the list of a blank text is empty.
        """
        options = self._options(search)
        prefixes = self._prefixes(prefix, texts, options)
        results = [[] for _ in texts]
        for indices, best, *_ in self._searched(texts, batch_size, options, prefixes=prefixes):
            for i, hypotheses in zip(indices, self._hypotheses(best), strict=True):
                results[i] = hypotheses
        return results

    def translate_details(self, texts, batch_size=64, prefix=None, **search):
        """Translates sentences; returns log-probabilities, tokens and attention weights as well.

        Args: as for `translate`.

        Returns:
            List of `Translation`; their `attention_weights` are `None` if the model has no
                attention.
        """
        options, attends = self._options(search), self.model.attends
        prefixes = self._prefixes(prefix, texts, options)
        nothing = np.zeros((0, 0), "float32") if attends else None
        results = [Translation("", 0.0, [], [], nothing, []) for _ in texts]
        for indices, best, rows, cut in self._searched(texts, batch_size, options, attends, prefixes):
            for i, k, hypotheses in zip(indices, range(len(indices)), self._hypotheses(best), strict=True):
                length = best.lengths[k, 0]
                results[i] = Translation(
                    text=hypotheses[0].text,
                    log_prob=hypotheses[0].log_prob,
                    tokens=self.target_subwords.pieces(best.tokens[k, 0, :length].tolist()),
                    source_tokens=[*self.source_subwords.pieces(rows[k]), "</s>"],
                    attention_weights=(
                        best.attention_weights[k, 0, :length, : len(rows[k]) + 1] if attends else None
                    ),
                    hypotheses=hypotheses,
                    truncated=cut[k],
                )
        return results

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

    def align(self, sources, targets, batch_size=64):
        """Attention weights of given translations: which source subwords each target subword attends to.

        The model reads each target with teacher forcing. `translate_details` returns the same weights for the
        model's own translations. `keraszoo.translation.lines.word_alignment` turns a matrix into word pairs.

        Args:
            sources: list of str.
            targets: list of str, as many.
            batch_size: pairs per batch.

        Returns:
            List of float32 `(T, S)`: T subwords of the target and S of the source, `</s>` the last of each.

        Raises:
            KerasZooError: if either is not a list of str, they differ in length, or the model attends to
                nothing.
        """
        self.require_attention()
        return self.forced_decoding.attention_weights(*self._pair_rows(sources, targets), batch_size)

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

    # --- what the base class asks for

    @classmethod
    def _read(cls, directory):
        return translator_directory.read(cls, directory)

    def _contents(self):
        return translator_directory.contents(self)

    def _settings(self):
        from keraszoo.translation.recipe import TrainingSection

        return TrainingSection

    def _data(self, train, validation, run):
        from keraszoo.translation.training import make_data

        return make_data(self, train, validation, run)

    def _loss(self, settings):
        return TokenCrossentropy(settings.label_smoothing)

    def _exporter(self):
        from keraszoo.translation.export import export_translator, verify_export

        return export_translator, verify_export

    # --- in between

    def _check_shared_embedding(self):
        """Raises KerasZooError if two vocabularies share one embedding: an id would stand for two words."""
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
        """The options of a call; `num_hypotheses` above the beam width widens the beam."""
        options = self._checked(self.search.replace(**{**search, "num_hypotheses": None}))
        count = search.get("num_hypotheses")
        if isinstance(count, int) and search.get("beam_width") is None:
            return options.replace(num_hypotheses=count, beam_width=max(count, options.beam_width))
        return options.replace(num_hypotheses=count)

    def _prefixes(self, prefix, texts, options):
        """The ids that each translation begins with: a list of lists, or `None`."""
        if prefix is None:
            return None
        prefixes = [prefix] * len(texts) if isinstance(prefix, str) else list(prefix)
        _check_texts(prefixes, "prefix")
        if len(prefixes) != len(texts):
            raise KerasZooError(f"prefix: expected a str, or {len(texts)} of them, got {len(prefixes)}")
        rows = self.target_subwords.encode(prefixes)
        for i, row in enumerate(rows, start=1):
            if len(row) >= options.max_length:
                raise KerasZooError(f"prefix {i} has {len(row)} subwords, max_length is {options.max_length}")
        return rows

    def _source_rows(self, texts):
        """The ids of source texts, cut to `max_source_tokens` with a warning, and whether each was cut."""
        _check_texts(texts)
        limit, encoded = self.max_source_tokens, self.source_subwords.encode(list(texts))
        cut = [len(row) > limit for row in encoded]
        if any(cut):
            first = cut.index(True)
            warnings.warn(
                f"{sum(cut)} of {len(texts)} sentences are cut to {limit} subwords; "
                f"the first is number {first + 1} with {len(encoded[first])}",
                stacklevel=4,
            )
        return [row[:limit] for row in encoded], cut

    def _pair_rows(self, sources, targets):
        """The ids of sources and of their given translations."""
        _check_texts(sources, "sources")
        _check_texts(targets, "targets")
        if len(sources) != len(targets):
            raise KerasZooError(f"{len(sources)} sources, but {len(targets)} targets")
        return self._source_rows(sources)[0], self.target_subwords.encode(list(targets))

    def _searched(self, texts, batch_size, options, attention=False, prefixes=None):
        """Searches for the texts that are not blank; yields (indices, Hypotheses, source ids, cut or not)."""
        rows, cut = self._source_rows(texts)
        order = sorted((i for i, row in enumerate(rows) if row), key=lambda i: len(rows[i]))
        for first in range(0, len(order), batch_size):
            indices = order[first : first + batch_size]
            some = [rows[i] for i in indices]
            prefix = prefixes and self.compiled_search.pad_prefixes([prefixes[i] for i in indices])
            best = self.compiled_search(self.compiled_search.pad(some), options, attention, prefix)
            yield indices, best, some, [cut[i] for i in indices]

    def _hypotheses(self, best):
        """A list of lists of `Hypothesis`, one for each sentence of a batch."""
        end_id, width = self.compiled_search.special.end_id, best.tokens.shape[1]
        rows = best.tokens.reshape(-1, best.tokens.shape[2])
        ids = [
            [token for token in row[:length].tolist() if token != end_id]
            for row, length in zip(rows, best.lengths.reshape(-1), strict=True)
        ]
        texts = self.target_subwords.decode(ids)
        return [
            [
                Hypothesis(texts[i * width + k], float(best.log_prob[i, k]), float(best.score[i, k]))
                for k in range(width)
                if best.lengths[i, k]
            ]
            for i in range(len(best.tokens))
        ]


def _check_texts(texts, name="texts"):
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        received = f"a str, {texts!r:.40}" if isinstance(texts, str) else "other items"
        raise KerasZooError(f"{name}: expected a list of str, got {received}")
