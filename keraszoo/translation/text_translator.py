"""Text in, text out, by any search over ids."""

import functools
import numbers
import warnings

import numpy as np

from keraszoo.errors import KerasZooError, check_at_least, check_texts
from keraszoo.tasks.batch_threads import in_threads
from keraszoo.tasks.process import check_process
from keraszoo.training.batch_plans import batches_of_rows
from keraszoo.translation import documents
from keraszoo.translation.input_warnings import (
    lost_addresses,
    warn_of_addresses,
    warn_of_sentences,
    warn_of_unknown,
)
from keraszoo.translation.minimum_risk import MinimumRisk
from keraszoo.translation.prefixes import prefix_rows
from keraszoo.translation.results import Hypothesis, Translation
from keraszoo.translation.target_languages import in_language, target_languages
from keraszoo.translation.terms import term_rows

FEW = 16  # sentences; smaller batches are not split over threads


class TextTranslator(documents.DocumentTranslator):
    """Translates texts with vocabularies and a search; the base of `Translator` and `CTranslate2Translator`.

    Attributes:
        source_subwords, target_subwords: `Subwords` of the two languages.
        search: the `SearchOptions` of all calls that do not override them.
        max_source_tokens: longer sources are cut, with a warning.
        attends: whether there are attention weights.
        confidence: the `Confidence` of a translator that was calibrated, or `None`.
    """

    confidence = None

    @functools.cached_property
    def target_languages(self):
        """The names that `target_language` can have; an empty list if the model has one target language."""
        return target_languages(self.source_subwords)

    def translate(
        self, texts, batch_size=64, prefix=None, target_language=None, *, markup=None, keep=(), **search
    ):
        """Translates sentences.

        A `UnknownCharacters` warning names characters that the vocabulary does not have, a
        `SeveralSentences` warning a text that looks like more than one sentence, and a `LostAddresses`
        warning an address that its translation does not have. A `NoWords` warning names a text such as `-`,
        for which a model may invent a word.

        Args:
            texts: list of str; a blank one gives an empty translation.
            batch_size: sentences searched at a time, those of similar length together; the result does not
                depend on it. With TensorFlow on a CPU, as many batches as there are cores, at most 8, are
                searched at once.
            prefix: str, or list of str or of lists of subwords, one per text: how each translation begins. A
                str is split into subwords. The translation continues after the last subword, so it may
                complete a word: the prefix "Hund" allows "Hunde". An empty prefix leaves it free.
            target_language: str, one of `target_languages`, of texts that do not begin with `>>NAME<<`.
            terms: dict of str to str, words of a source and what its translation then contains, such as
                `{"car": "Wagen"}`; or a list of dicts, one per text. `TermFinder` says where a term is found;
                its target occurs as often. It begins a word, and the word may go on ("Wagens"). It needs a
                beam of at least 2; a beam of 10 finds better places for several terms.
            decision: `"map"`, the hypothesis with the best score, or `"mbr"`, the candidate that is most like
                all of them (see `MinimumRisk`).
            candidates: how many for `"mbr"`, hypotheses of the beam, or with `sampling=True` samples with the
                seeds `seed`, `seed + 1`, ...; `None`: the width of the beam, or 32 samples.
            markup: `"text"`, `"html"` or `"markdown"`: placeholders such as `{name}`, addresses and numbers
                come out unchanged, and tags around the words that the attention weights align. `None`: a text
                is translated as it is, unless there are words to `keep`.
            keep: list of str, words that come out unchanged, with `markup` of `"text"` unless it is given.
            **search: fields of `SearchOptions` that differ from the translator's, such as `beam_width=1`.

        Returns:
            List of str, one for each text.

        Raises:
            KerasZooError: if `texts` is not a list of str, a search option is out of range, a prefix or the
                terms of a text have `max_length` or more subwords, a term has two targets or characters that
                the vocabulary lacks, or the target language is unknown. With markup: it is unknown, there is
                a prefix or a list of terms, or it has tags and there are no attention weights.
        """
        keep = () if keep is None else keep
        if markup is not None or len(keep):
            check_texts(texts)
            if prefix is not None:
                raise KerasZooError("prefix: expected None with markup or keep")
            options = {"batch_size": batch_size, "target_language": target_language, **search}
            return documents.translate_marked(self, texts, markup or "text", keep, **options)
        found = self.n_best(texts, batch_size, prefix, target_language, **search)
        return [hypotheses[0].text if hypotheses else "" for hypotheses in found]

    def n_best(self, texts, batch_size=64, prefix=None, target_language=None, **search):
        """The `num_hypotheses` best translations of each sentence, the best first.

        Args: as for `translate`. Without `beam_width`, a `num_hypotheses` above the translator's beam width
            widens the beam, so that the first translation can differ from that of `translate`.

        Returns:
            List of lists of `Hypothesis`; the list of a blank text is empty.
        """
        check_texts(texts)
        warn_of_sentences(texts)
        texts, searched = self._started(texts, False, batch_size, prefix, target_language, **search)
        results = [[] for _ in texts]
        for indices, best, *_ in searched:
            for i, hypotheses in zip(indices, self._hypotheses(best), strict=True):
                results[i] = hypotheses
        warn_of_addresses(texts, [found[0].text if found else "" for found in results])
        return results

    def translate_details(self, texts, batch_size=64, prefix=None, target_language=None, **search):
        """Translates sentences; returns log-probabilities, tokens, attention weights and confidence as well.

        Args: as for `translate`.

        Returns:
            List of `Translation`; their `attention_weights` are `None` if the model has no
                attention.
        """
        check_texts(texts)
        warn_of_sentences(texts)
        attends, unknown_id = self.attends, self.source_subwords.unknown_id
        texts, searched = self._started(texts, attends, batch_size, prefix, target_language, **search)
        nothing = np.zeros((0, 0), "float32") if attends else None
        results = [Translation("", 0.0, [], [], nothing, []) for _ in texts]
        for indices, best, rows, cut in searched:
            for i, k, hypotheses in zip(indices, range(len(indices)), self._hypotheses(best), strict=True):
                if not hypotheses:  # no translation satisfies the constraints
                    continue
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
                    unknown=lost_addresses(texts[i], hypotheses[0].text)
                    + (self.source_subwords.unknown(texts[i]) if unknown_id in rows[k] else []),
                    confidence=self.confidence and self.confidence(hypotheses[0].log_prob, int(length)),
                )
        warn_of_addresses(texts, [found.text for found in results])
        return results

    def evaluate(self, sources, references, batch_size=64, tokenizer=None, **search):
        """Translates and scores against references.

        Args:
            sources: list of str.
            references: list of str, one for each source; or several such lists, so that `references[r][i]`
                belongs to `sources[i]`.
            batch_size, **search: as for `translate`.
            tokenizer: sacrebleu's for BLEU, such as `"zh"`; `None`: the one that fits the references.

        Returns:
            `TranslationScores`: BLEU, chrF, TER and their signatures.

        Raises:
            ScoreError: there is no sentence, not one reference for each, or no such tokenizer.
        """
        from keraszoo.evaluation.tokenizers import choose_tokenizer
        from keraszoo.evaluation.translation import as_streams, score_translations

        check_texts(sources, "sources")
        # Errors come before the translation, which takes longer.
        tokenizer = choose_tokenizer(as_streams(sources, references)[1][0], tokenizer)
        return score_translations(self.translate(sources, batch_size, **search), references, tokenizer)

    # --- in between

    def _checked(self, options):
        if options.coverage_penalty:
            self.require_attention("coverage penalty")
        return options

    def _options(self, search):
        """The options of a call; `num_hypotheses` above the beam width widens the beam."""
        options = self._checked(self.search.replace(**{**search, "num_hypotheses": None}))
        count = search.get("num_hypotheses")
        if isinstance(count, numbers.Integral) and search.get("beam_width") is None:
            return options.replace(num_hypotheses=count, beam_width=max(count, options.beam_width))
        return options.replace(num_hypotheses=count)

    def _started(
        self,
        texts,
        attention,
        batch_size,
        prefix,
        target_language,
        terms=None,
        decision="map",
        candidates=None,
        **search,
    ):
        """The texts with their target languages, and the search for their translations; see `_searched`."""
        options, texts = self._options(search), in_language(texts, target_language, self.target_languages)
        prefixes = prefix_rows(prefix, texts, self.target_subwords, options.max_length)
        terms = term_rows(terms, texts, self.target_subwords, options, prefixes)
        risk = MinimumRisk.of(decision, options, candidates)
        return texts, self._searched(texts, batch_size, options, attention, prefixes, terms, risk)

    def _source_rows(self, texts):
        """The ids of source texts, cut to `max_source_tokens` with a warning, and whether each was cut."""
        limit, texts = self.max_source_tokens, list(texts)
        encoded = self.source_subwords.encode(texts)
        cut = [len(row) > limit for row in encoded]
        if any(cut):
            first = cut.index(True)
            warnings.warn(
                f"{sum(cut)} of {len(texts)} sentences are cut to {limit} subwords; "
                f"the first has {len(encoded[first])}: {texts[first].strip()[:40]!r}",
                stacklevel=4,
            )
        warn_of_unknown(texts, encoded, self.source_subwords)
        return [row[:limit] for row in encoded], cut

    def _searched(self, texts, batch_size, options, attention=False, prefixes=None, terms=None, risk=None):
        """Searches for the texts that are not blank; yields (indices, Hypotheses, source ids, cut or not)."""
        check_process()
        rows, cut = self._source_rows(texts)
        check_at_least(batch_size=(batch_size, 1))
        threads = self._batches_at_once()
        size = min(batch_size, max(FEW, -(-sum(map(bool, rows)) // threads)))

        def searched(indices):
            some = [rows[i] for i in indices]
            given = [rows and [rows[i] for i in indices] for rows in (prefixes, terms)]
            search = lambda options: self._search(some, options, attention, *given)  # noqa: E731
            best = risk.searched(search, self._hypotheses) if risk else search(options)
            return indices, best, some, [cut[i] for i in indices]

        batches = list(batches_of_rows(list(map(len, rows)), size))
        # the longest first, so that all threads end at about the same time
        yield from in_threads(searched, batches[::-1], threads)

    def _batches_at_once(self):
        """The number of batches that `_search` may get at once, on different threads."""
        return 1

    def _search(self, rows, options, attention, prefixes, terms):
        """`Hypotheses` of NumPy arrays for lists of source ids.

        `prefixes` are such lists, or `None`; `terms` lists of such lists, or `None`.
        """
        raise NotImplementedError

    def _hypotheses(self, best):
        """A list of lists of `Hypothesis`, one for each sentence of a batch."""
        end_id, width = self.target_subwords.end_id, best.tokens.shape[1]
        rows = best.tokens.reshape(-1, best.tokens.shape[2])
        ids = [
            [token for token in row[:length].tolist() if token != end_id]
            for row, length in zip(rows, best.lengths.reshape(-1), strict=True)
        ]
        texts = [text.strip(" ") for text in self.target_subwords.decode(ids)]
        return [
            [
                Hypothesis(texts[i * width + k], float(best.log_prob[i, k]), float(best.score[i, k]))
                for k in range(width)
                if best.lengths[i, k]
            ]
            for i in range(len(best.tokens))
        ]
