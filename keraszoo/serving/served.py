"""The models that `keraszoo serve` has, by languages and by name."""

from keraszoo.errors import KerasZooError
from keraszoo.text.languages import LANGUAGES


class Pair:
    """Translates sentences from one language into another.

    Args:
        name: of the model.
        translator: a `TextTranslator`.
        language: the name of the target language in a model with several, or `None`.
        beam_width: `None`: that of the translator.
        source: the code of the source language, by which sentences of HTML are split; `None`: the model's.
    """

    def __init__(self, name, translator, language=None, beam_width=None, source=None):
        self.name, self.translator, self.language, self.source = name, translator, language, source
        self.beam_width = beam_width or translator.search.beam_width

    def check(self, sentences):
        """Raises KerasZooError for a sentence that the model would cut."""
        limit = self.translator.max_source_tokens - (self.language is not None)  # whose name is a subword
        for sentence, ids in zip(sentences, self.translator.source_subwords.encode(sentences), strict=True):
            if len(ids) > limit:
                counts = f"a sentence has {len(ids):,} subwords, expected at most {limit:,}"
                raise KerasZooError(f"q: {counts}: {sentence!r:.40}")

    def translate(self, sentences):
        """The translations of each sentence in the beam, the best first: a list of lists of str."""
        width = self.beam_width
        options = {"beam_width": width, "num_hypotheses": width, "target_language": self.language}
        found = self.translator.n_best(sentences, **options)
        return [[hypothesis.text for hypothesis in hypotheses] or [""] for hypotheses in found]

    def translate_html(self, texts):
        """The translations of texts with tags: a list of lists of one str."""
        options = {"beam_width": self.beam_width, "target_language": self.language}
        translate = self.translator.translate_document
        return [[translate(text, "html", language=self.source, **options)] for text in texts]


class Served:
    """Translators by pairs of languages, and taggers by name.

    Args:
        pairs: dict of (source, target) -> `Pair`.
        taggers: dict of name -> `EntityTagger`; requests that name none get the first.
    """

    def __init__(self, pairs, taggers):
        self.pairs, self.taggers = pairs, taggers
        self.sources = sorted({source for source, _ in pairs})

    def about(self):
        """The models for `GET /health`: a list of dicts."""
        pairs = [
            {"name": pair.name, "task": "translation", "source": source, "target": target}
            for (source, target), pair in self.pairs.items()
        ]
        labels = {name: list(tagger.vocabulary.labels) for name, tagger in self.taggers.items()}
        return pairs + [{"name": name, "task": "tagging", "labels": labels[name]} for name in labels]

    def languages(self):
        """The languages as LibreTranslate lists them: a list of dicts."""
        codes = sorted({code for pair in self.pairs for code in pair})
        return [
            {"code": code, "name": LANGUAGES.get(code, code), "targets": self._targets(code)}
            for code in codes
        ]

    def _targets(self, code):
        return sorted(target for source, target in self.pairs if source == code)

    def source(self, code):
        """The code of a source language; for `"auto"`, the only one that there is.

        Raises:
            KerasZooError: no translator has it, or it is `"auto"` and there are several.
        """
        if code == "auto" and len(self.sources) == 1:
            return self.sources[0]
        if code not in self.sources:
            known = ", ".join(self.sources) or "none"
            raise KerasZooError(f"source: {code!r:.40} is not supported, expected one of {known}")
        return code

    def pair(self, source, target):
        """The `Pair` of two codes. Raises KerasZooError if there is none."""
        if (source, target) not in self.pairs:
            known = ", ".join(self._targets(source))
            raise KerasZooError(
                f"target: {target!r:.40} is not supported for source {source!r}, expected one of {known}"
            )
        return self.pairs[source, target]

    def tagger(self, name=None):
        """The tagger of a name, or the first one. Raises KerasZooError if there is none."""
        name = next(iter(self.taggers), None) if name is None else name
        if name not in self.taggers:
            known = ", ".join(self.taggers) or "none"
            raise KerasZooError(f"model: there is no tagger {name!r:.60}, expected one of {known}")
        return self.taggers[name]
