"""Text in, entities out: a tagging model with its vocabulary."""

import numpy as np

from keraszoo.errors import KerasZooError
from keraszoo.tagging import directory as tagger_directory
from keraszoo.tagging.compiled_tagger import CompiledTagger, tags_alone
from keraszoo.tagging.length_batches import length_batches
from keraszoo.tagging.results import TaggedTokens, tagged_text
from keraszoo.text.tag_schemes import convert
from keraszoo.text.tagging_features import CASINGS
from keraszoo.text.tokens import Token, split_sentences, tokenize

BATCH_TOKENS = 8192


class EntityTagger:
    """Finds named entities: a `TaggingVocabulary` in front of a `TaggingModel`.

    Text is cut into sentences and words by `keraszoo.text.tokens`; every character keeps its place. Words
    that something else has cut are tagged by `tag_tokens`. A sentence may be of any length: none is cut, and
    a long one is tagged alone.

    Args:
        model: a `TaggingModel`.
        vocabulary: a `TaggingVocabulary` of the same sizes.

    Raises:
        KerasZooError: if vocabulary and model do not fit each other.

    Example:

    >>> from keraszoo.text.tagged_corpus import TaggedSentence
    >>> pets = TaggedSentence(("A", "cat", "and", "a", "dog"), ("O", "B-PET", "O", "O", "B-PET"))
    >>> tagger = EntityTagger.for_sentences([pets], preset="tiny")
    >>> tagger.vocabulary.tags
    ('O', 'B-PET', 'I-PET')
    >>> [len(tags) for tags in tagger.tag_tokens([["A", "cat"], []])]
    [2, 0]
    """

    def __init__(self, model, vocabulary):
        self.model = model
        self.vocabulary = vocabulary
        self.metrics = {}
        self.recipe = None
        self.about = {}
        for name, size in vocabulary_sizes(vocabulary).items():
            used = model.sizes[name]
            if used is not None and used != size:
                raise KerasZooError(f"the vocabulary makes a {name} of {size}, but the model has {used}")
        if not model.built:
            model.build()
        self.compiled_tagger = CompiledTagger(model, vocabulary)
        self.compiled_tags = CompiledTagger(model, vocabulary, tags_alone)

    # --- text in, entities out

    def tag(self, texts, batch_tokens=BATCH_TOKENS):
        """Finds the entities of a text, or of several.

        Args:
            texts: str, or list of str; a text without a word has no entities.
            batch_tokens: how many tokens are tagged at a time, padding counted, those of sentences of like
                length together; the result does not depend on it.

        Returns:
            List of `Entity`; or a list of such lists, one for each text.

        Raises:
            KerasZooError: if `texts` is neither.
        """
        if isinstance(texts, str):
            return self.tag([texts], batch_tokens)[0]
        return [found.entities for found in self.tag_details(texts, batch_tokens)]

    def tag_details(self, texts, batch_tokens=BATCH_TOKENS):
        """Finds the entities of texts, and says how every word was tagged and where the model looked.

        Args:
            texts: list of str.
            batch_tokens: as for `tag`.

        Returns:
            List of `TaggedText`.
        """
        _check_texts(texts)
        sentences = [sentence_tokens(text, self.vocabulary.token_rules) for text in texts]
        words = [[token.text for token in tokens] for some in sentences for tokens in some]
        tagged = iter(self.tag_tokens_details(words, batch_tokens))
        return [
            tagged_text(text, some, [next(tagged) for _ in some], self.model.attends)
            for text, some in zip(texts, sentences, strict=True)
        ]

    def tag_tokens(self, sentences, batch_tokens=BATCH_TOKENS):
        """Tags sentences that are cut into words already.

        Args:
            sentences: list of lists of str; an empty one has no tags.
            batch_tokens: as for `tag`.

        Returns:
            List of lists of str: valid IOB2 tags, one for each word.

        Raises:
            KerasZooError: if `sentences` is something else.
        """
        results = [[] for _ in sentences]
        for i, tags in self._found(sentences, batch_tokens, self.compiled_tags):
            results[i] = list(convert(tags, self.vocabulary.scheme, "IOB2"))
        return results

    def tag_tokens_details(self, sentences, batch_tokens=BATCH_TOKENS):
        """Tags sentences of words, and says how sure the model was and where it looked.

        Args: as for `tag_tokens`.

        Returns:
            List of `TaggedTokens`.
        """
        nothing = np.zeros(0, "float32")
        results = [TaggedTokens([], [], nothing, nothing if self.model.attends else None) for _ in sentences]
        for i, tags, probabilities, *weights in self._found(sentences, batch_tokens, self.compiled_tagger):
            tags = list(convert(tags, self.vocabulary.scheme, "IOB2"))
            results[i] = TaggedTokens(
                list(sentences[i]), tags, probabilities, weights[0] if weights else None
            )
        return results

    def evaluate(self, sentences, known=None, batch_tokens=BATCH_TOKENS):
        """Tags sentences and scores that against their tags.

        Args:
            sentences: a `TaggedCorpus`, or a list of `TaggedSentence`.
            known: a training corpus, for scores of entities that are in it and of those that are not.
            batch_tokens: as for `tag`.

        Returns:
            `TaggingScores`: precision, recall and F1 by seqeval, strict and by default, and more.
        """
        from keraszoo.evaluation.tagging import known_entities, score_tags

        sentences = sentences_of(sentences)
        tokens = [list(sentence.tokens) for sentence in sentences]
        predicted = [[] for _ in tokens]
        for i, tags in self._found(tokens, batch_tokens, self.compiled_tags):
            predicted[i] = tags  # as the model gave them: invalid ones are counted, not mended
        known = None if known is None else known_entities(sentences_of(known))
        gold = [sentence.tags for sentence in sentences]
        return score_tags(gold, predicted, tokens, known, self.vocabulary.scheme)

    def require_attention(self, wanted="attention weights"):
        """Raises KerasZooError if the model attends to nothing, and so has not what is wanted."""
        if not self.model.attends:
            raise KerasZooError(f"{type(self.model).__name__} attends to nothing: it has no {wanted}")

    # --- training

    @classmethod
    def for_sentences(cls, sentences, vectors=None, model="recurrent", preset=None, **options):
        """An untrained tagger that knows the tags, words and characters of sentences.

        Args:
            sentences: a `TaggedCorpus` or list of `TaggedSentence`: those to be trained on and, where vectors
                of the words that occur alone are kept, those to be tagged later.
            vectors: `WordVectors` for words, kept as they are unless the preset trains them on; `None`: the
                model learns its own.
            model: `"attention"`, `"recurrent"` or `"transformer"`.
            preset: of the model's sizes; `None`: the one that a recipe takes, `"strong"` of `"recurrent"`.
            **options: see `keraszoo.tagging.building.make_tagger`; what it does not know are
                arguments of the model's constructor, such as `dropout=0.3`.
        """
        from keraszoo.tagging.building import make_tagger

        return make_tagger(cls, sentences_of(sentences), vectors, model, preset, options)

    def fit(self, train, validation=None, directory=None, checkpoints=None, **settings):
        """Trains the model on tagged sentences.

        Args:
            train: a `TaggedCorpus` or list of `TaggedSentence`.
            validation: the same; its strict F1 picks the weights that are kept.
            directory: where the tagger is saved whenever it is the best so far, and at the end; `None`:
                nowhere.
            checkpoints: a folder in which the run is saved, so that the same call goes on where it was
                stopped; it is deleted when the run is over. `None`: none are made.
            **settings: fields of a recipe's `training` section, such as `epochs=10`, `batch_tokens=1024` or
                `optimizer={"learning_rate": 1e-3}`.

        Returns:
            A `keras.callbacks.History`.

        Raises:
            RecipeError: an unknown setting, or one out of range; or `checkpoints` of a run that began
                otherwise.
            DataError: no sentence, or a tag that the tagger does not have.
            KeyboardInterrupt, SystemExit: with `checkpoints`, after Ctrl-C or SIGTERM, when the step in hand
                is made and the run saved.
        """
        from keraszoo.tagging.training import train_tagger

        validation = None if validation is None else sentences_of(validation)
        return train_tagger(self, sentences_of(train), validation, directory, settings, checkpoints)

    # --- directories

    @classmethod
    def from_preset(cls, name):
        """Reads a tagger from a directory, or by the name of one that ships.

        Raises:
            PresetError: no such directory, a damaged one, or one of another kind.
        """
        return tagger_directory.read(cls, name)

    def save_to_preset(self, directory, dtype=None):
        """Writes the tagger to a directory, whole or not at all.

        Args:
            directory: a new one, or one of an earlier model, which is replaced.
            dtype: `"float16"` stores weights and vectors in half precision, at half the size; `None`: as they
                are. They are loaded as float32 in either case.

        Raises:
            PresetError: what stands there is not a model directory, or the disk refuses.
        """
        tagger_directory.write(self, directory, dtype)

    def export(self, directory):
        """Writes a SavedModel that turns strings into entities and needs neither Keras nor keraszoo.

        Its signatures are listed in `keraszoo.tagging.export`.

        Args:
            directory: a new one, or an earlier export, which is replaced.

        Raises:
            KerasZooError: another backend than TensorFlow, or a disk that refuses.
        """
        from keraszoo.tagging.export import export_tagger

        export_tagger(self, directory)

    def verify_export(self, directory, texts):
        """Tags with an exported SavedModel in a process of its own and compares all that it says.

        Args:
            directory: what `export` wrote.
            texts: list of str.

        Returns:
            How many texts were compared; all are tagged alike.

        Raises:
            KerasZooError: for the first that is not.
        """
        from keraszoo.tagging.export import verify_export

        return verify_export(self, directory, texts)

    # --- in between

    def _found(self, sentences, batch_tokens, compiled):
        """Tags the sentences that have a word; yields number, tags and whatever else a program gives."""
        _check_sentences(sentences)
        names = self.vocabulary.tags
        for indices in length_batches(list(map(len, sentences)), batch_tokens):
            encoded = self.vocabulary.encode([list(sentences[i]) for i in indices])
            found = compiled({name: encoded[name] for name in self.model.features})
            for row, i in enumerate(indices):
                tags, *others = (part[row, : len(sentences[i])] for part in found)
                yield i, [names[tag] for tag in tags.tolist()], *others


def vocabulary_sizes(vocabulary):
    """What a `TaggingModel` must know of its vocabulary, by the names of its arguments."""
    return {
        "num_tags": len(vocabulary.tags),
        "vocabulary_size": len(vocabulary.words) + 2,  # padding and the unknown word
        "character_vocabulary_size": len(vocabulary.characters) + 2,
        "casing_size": len(CASINGS) + 1,
    }


def sentence_tokens(text, rules="words"):
    """Cuts a text into sentences, and these into tokens: lists of `Token`, placed in the whole text.

    Example:

    >>> sentence_tokens("A cat. A dog.")[1]
    [Token(text='A', start=7, end=8), Token(text='dog', start=9, end=12), Token(text='.', start=12, end=13)]
    """
    return [
        [Token(token.text, token.start + sentence.start, token.end + sentence.start) for token in tokens]
        for sentence in split_sentences(text)
        if (tokens := tokenize(sentence.text, rules))
    ]


def sentences_of(corpus):
    """The sentences of a `TaggedCorpus`, or of a list of `TaggedSentence`, as a list."""
    return list(getattr(corpus, "sentences", corpus))


def _check_texts(texts):
    if not isinstance(texts, (list, tuple)) or not all(isinstance(text, str) for text in texts):
        came = "other items" if isinstance(texts, (list, tuple)) else f"a {type(texts).__name__}"
        raise KerasZooError(f"expected a list of str, got {came}")


def _check_sentences(sentences):
    for i, tokens in enumerate(sentences):
        if isinstance(tokens, str) or not all(isinstance(token, str) for token in tokens):
            raise KerasZooError(f"sentence {i}: expected a list of str, its words, got {tokens!r:.60}")
