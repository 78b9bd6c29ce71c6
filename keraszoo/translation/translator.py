"""Text in, text out: a translation model with its vocabularies and its search."""

import dataclasses
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
from keraszoo.translation.pair_scores import log_probabilities

MAX_SOURCE_TOKENS = 512


@dataclasses.dataclass(frozen=True)
class Hypothesis:
    """A translation from a search: its text, its natural log-probability and its score."""

    text: str
    log_prob: float
    score: float


@dataclasses.dataclass(frozen=True)
class Translation:
    """The translation of one sentence, with its details.

    Attributes:
        text: the best translation.
        log_prob: natural logarithm of its probability, the sum over `tokens`.
        tokens: its T subword pieces, ending with `</s>` (unless cut at the maximum length).
        source_tokens: the S pieces of the source, ending with `</s>`.
        attention_weights: float32 `(T, S)`, row t for token t; `None` if the model does not use attention.
        hypotheses: all requested hypotheses, the best first.
        truncated: whether the source was longer than the model accepts, so that its end was cut.
    """

    text: str
    log_prob: float
    tokens: list
    source_tokens: list
    attention_weights: np.ndarray | None
    hypotheses: list
    truncated: bool = False


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

    # --- text in, text out

    def translate(self, texts, batch_size=64, **search):
        """Translates sentences.

        Args:
            texts: list of str; a blank one gives an empty translation.
            batch_size: sentences searched at a time, grouped by length; the result does not depend on it.
            **search: fields of `SearchOptions` that override the translator's, such as `beam_width=1`.

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
        """Returns the `num_hypotheses` best translations of each sentence, the best first.

        Args: as for `translate`.

        Returns:
            List of lists of `Hypothesis`; the list of a blank text is empty.
        """
        options = self._options(search)
        results = [[] for _ in texts]
        for indices, batch, *_ in self._searched(texts, batch_size, options):
            for i, hypotheses in zip(indices, self._hypotheses(batch), strict=True):
                results[i] = hypotheses
        return results

    def translate_details(self, texts, batch_size=64, **search):
        """Translates sentences, with log-probabilities, pieces and attention weights.

        Args: as for `translate`.

        Returns:
            List of `Translation`; their `attention_weights` are `None` if the model has no
                attention.
        """
        options, attends = self._options(search), self.model.attends
        nothing = np.zeros((0, 0), "float32") if attends else None
        results = [Translation("", 0.0, [], [], nothing, []) for _ in texts]
        for indices, batch, rows, cut in self._searched(texts, batch_size, options, attends):
            for i, k, hypotheses in zip(indices, range(len(indices)), self._hypotheses(batch), strict=True):
                length = batch.lengths[k, 0]
                results[i] = Translation(
                    text=hypotheses[0].text,
                    log_prob=hypotheses[0].log_prob,
                    tokens=self.target_subwords.pieces(batch.tokens[k, 0, :length].tolist()),
                    source_tokens=[*self.source_subwords.pieces(rows[k]), "</s>"],
                    attention_weights=(
                        batch.attention_weights[k, 0, :length, : len(rows[k]) + 1] if attends else None
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
            KerasZooError: the arguments are not lists of str of equal length.
        """
        _check_texts(sources), _check_texts(targets)
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

    def _cut(self, row):
        if len(row) <= self.max_source_tokens:
            return row, False
        return row[: self.max_source_tokens], True

    def _searched(self, texts, batch_size, options, attention=False):
        """Translates the texts that are not blank; yields (indices, Hypotheses, source ids, cut or not)."""
        _check_texts(texts)
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
            batch = self.compiled_search(self.compiled_search.pad(some), options, attention)
            yield indices, batch, some, [cut[i] for i in indices]

    def _hypotheses(self, batch):
        """A list of lists of `Hypothesis`, one for each sentence of a batch."""
        end_id, width = self.compiled_search.special.end_id, batch.tokens.shape[1]
        rows = batch.tokens.reshape(-1, batch.tokens.shape[2])
        ids = [
            [token for token in row[:length].tolist() if token != end_id]
            for row, length in zip(rows, batch.lengths.reshape(-1), strict=True)
        ]
        texts = self.target_subwords.decode(ids)
        return [
            [
                Hypothesis(texts[i * width + k], float(batch.log_prob[i, k]), float(batch.score[i, k]))
                for k in range(width)
                if batch.lengths[i, k]
            ]
            for i in range(len(batch.tokens))
        ]


def _check_texts(texts):
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        came = f"a str, {texts!r:.40}" if isinstance(texts, str) else "other items"
        raise KerasZooError(f"expected a list of str, got {came}")
