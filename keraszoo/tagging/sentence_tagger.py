"""Sentences of words to tags: in batches of similar length, several at once; used by `EntityTagger`."""

import numpy as np

from keraszoo.compiling import compiled
from keraszoo.errors import KerasZooError, check_at_least
from keraszoo.tagging.compiled_tagger import (
    CompiledTagger,
    length_batches,
    tag_features,
    tag_probabilities,
    tags_alone,
)
from keraszoo.tagging.repeated_words import averaged, best_tags
from keraszoo.tasks.batch_threads import batches_at_once, in_threads
from keraszoo.tasks.process import check_process
from keraszoo.text.tag_choice import chosen
from keraszoo.text.tag_schemes import convert

BATCH_TOKENS = 8192
FEW_TOKENS = 1024  # not worth two batches on two threads


class SentenceTagger:
    """Runs the compiled programs of a built `TaggingModel` over sentences."""

    def __init__(self, model, vocabulary):
        self.model = model
        self.vocabulary = vocabulary
        self.details, self.tags, self.probabilities = (
            CompiledTagger(model, vocabulary, outputs)
            for outputs in (tag_features, tags_alone, tag_probabilities)
        )
        self.best_tags = compiled(model.head.best_valid_tags, model)

    def tagged(self, sentences, batch_tokens, context, documents, details=False):
        """Tags the sentences that have a word; the arguments are those of `EntityTagger.tag_tokens`.

        Yields the number of a sentence, its tags in the scheme of the vocabulary, a list of str, and with
        `details`, or with a context, its probabilities and attention weights, an array `(T,)` each.
        """
        check_at_least(context=(context, 0))
        found = self.outputs(sentences, batch_tokens, self.details if details else self.tags)
        if context:
            found = self._agreed(sentences, batch_tokens, context, documents)
        names = self.vocabulary.tags
        for i, tags, *others in found:
            yield i, [names[tag] for tag in tags.tolist()], *others

    def iob2(self, sentences, batch_tokens, context, documents, choice, details=False):
        """Yields what `tagged` yields, with tags in IOB2, after checking the dict `choice` for `chosen`."""
        choose = chosen(self.vocabulary.labels, **choice)
        for i, tags, *others in self.tagged(sentences, batch_tokens, context, documents, details):
            yield i, choose(convert(tags, self.vocabulary.scheme, "IOB2")), *others

    def _agreed(self, sentences, batch_tokens, context, documents):
        """Yields what `outputs` yields for `details`, where the words of a document agree."""
        if documents is not None and len(documents) != len(sentences):
            count = len(sentences)
            raise KerasZooError(f"documents: expected {count}, one for each sentence, got {len(documents)}")
        found = {i: parts for i, *parts in self.outputs(sentences, batch_tokens, self.probabilities)}
        nothing = [np.zeros((0, len(self.vocabulary.tags)), "float32")]
        probabilities = [found.get(i, nothing)[0] for i in range(len(sentences))]
        documents = [0] * len(sentences) if documents is None else documents
        means = averaged(sentences, probabilities, context, documents)
        best = best_tags(self.best_tags, means, batch_tokens)
        # A repeat may have another place in an entity: its B-, I-, E- and S- count as one.
        labels = np.array([tag[2:] for tag in self.vocabulary.tags])
        for i, (_, *others) in found.items():
            same = labels[best[i]][:, None] == labels
            yield i, best[i], np.minimum(np.sum(means[i] * same, axis=1), 1), *others

    def outputs(self, sentences, batch_tokens, program):
        """Yields the number of each sentence that has a word, and its rows of the outputs of a program."""
        check_process()
        lengths, threads = self.vocabulary.lengths(sentences), batches_at_once()
        if threads > 1 and isinstance(batch_tokens, int):
            batch_tokens = min(batch_tokens, max(FEW_TOKENS, -(-sum(lengths) // threads)))

        def outputs(indices):
            encoded = self.vocabulary.encode([list(sentences[i]) for i in indices])
            return indices, program({name: encoded[name] for name in self.model.features})

        batches = list(length_batches(lengths, batch_tokens))[::-1]  # the longest first
        for indices, parts in in_threads(outputs, batches, threads):
            for row, i in enumerate(indices):
                yield i, *(part[row, : len(sentences[i])] for part in parts)
