"""Text in, entities out: a tagging model with its vocabulary."""

import keras
import numpy as np

from keraszoo.errors import KerasZooError, check_texts, checked_sentences
from keraszoo.tagging import calibration, evaluation
from keraszoo.tagging import directory as tagger_directory
from keraszoo.tagging.building import check_sizes, make_tagger
from keraszoo.tagging.corpora import checked_corpora, part_of
from keraszoo.tagging.recipe import TaggerTrainingSection, fine_tuning
from keraszoo.tagging.results import TaggedTokens, check_threshold, tagged_text
from keraszoo.tagging.sentence_tagger import BATCH_TOKENS, SentenceTagger
from keraszoo.tagging.training import digests, held_out_figures, sentences_of
from keraszoo.tasks.renewed import renewed
from keraszoo.tasks.task import Task
from keraszoo.tasks.training import fit_task, plan_fit
from keraszoo.text.tokens import sentence_tokens
from keraszoo.training.tag_batches import TagBatches, TaggedRows


class EntityTagger(Task):
    """Finds named entities with a `TaggingVocabulary` and a `TaggingModel`.

    `keraszoo.text.tokens` splits text into sentences and words; entities refer to characters of the text.
    A sentence of more than 512 words is tagged in pieces of 512, so time grows linearly with the length of a
    text, and memory does not grow. `tag_tokens` tags text that is already split; it does not cut a sentence.

    Args:
        model: a `TaggingModel`.
        vocabulary: a `TaggingVocabulary` of the same sizes.
        corpora: names of corpora whose labels the model tells apart, such as `wikigold.PER` and `btc.PER`;
            see `for_corpus`. The first is the default of `from_preset`.

    Raises:
        KerasZooError: if vocabulary and model do not fit each other, or no label is one of a corpus.

    Example:

    >>> from keraszoo.text.tagged_corpus import TaggedSentence
    >>> pets = TaggedSentence(("A", "cat", "and", "a", "dog"), ("O", "B-PET", "O", "O", "B-PET"))
    >>> tagger = EntityTagger.for_sentences([pets], configuration="tiny")
    >>> tagger.vocabulary.tags
    ('O', 'B-PET', 'I-PET')
    >>> [len(tags) for tags in tagger.tag_tokens([["A", "cat"], []])]
    [2, 0]
    """

    kind = "tagging"
    export_formats = {"savedmodel": "keraszoo.tagging.export", "onnx": "keraszoo.tagging.onnx_export"}
    _read = classmethod(tagger_directory.read)
    _contents = tagger_directory.contents

    def __init__(self, model, vocabulary, corpora=()):
        super().__init__(model)
        self.vocabulary = vocabulary
        self.corpora = checked_corpora(vocabulary, corpora)
        check_sizes(model, vocabulary)
        if not model.built:
            model.build()

    @renewed
    def sentence_tagger(self):
        return SentenceTagger(self.model, self.vocabulary)

    @classmethod
    def from_preset(cls, name, corpus=None, all_corpora=False):
        """Reads a directory that `save_to_preset` wrote.

        Args:
            name: path of the directory, the name of an included model, or `hf://user/name`.
            corpus: of a tagger of several corpora, the one whose labels it gives, as for `for_corpus`;
                `None`: the first.
            all_corpora: keep the labels of all corpora apart, for `for_corpus`, `calibrate` and training.

        Returns:
            An `EntityTagger`.

        Raises:
            PresetError: no such directory, a damaged one, or one of another task.
            KerasZooError: no such corpus.
        """
        if all_corpora and corpus is not None:
            raise KerasZooError(f"expected a corpus or all of them, got all_corpora=True and {corpus!r}")
        tagger = super().from_preset(name)
        if all_corpora or (corpus is None and not tagger.corpora):
            return tagger
        return tagger.for_corpus(tagger.corpora[0] if corpus is None else corpus)

    def warm_up(self):
        """Lets XLA compile programs for single sentences of up to 128 words: see docs/export.md.

        Until then, `tag` and `tag_tokens` run plain graphs for all texts. Call it again after `quantize` or
        `enable_lora`. On other backends than TensorFlow it does nothing.
        """
        if keras.backend.backend() == "tensorflow":
            self.sentence_tagger.details.warm_up()
            self.sentence_tagger.tags.warm_up()

    def tag(self, texts, batch_tokens=BATCH_TOKENS, threshold=0.0, context=0, **choice):
        """Finds the entities of a text, or of several.

        Args:
            texts: str, or list of str, of at most 1,048,576 characters each; a text without a word has no
                entities.
            batch_tokens: words or subwords tagged at a time, with padding, grouped by length; the result
                does not depend on it. With TensorFlow on a CPU, as many batches as there are cores, at most
                8, are tagged at once.
            threshold: leave out entities whose probability is smaller, in [0, 1].
            context: average the probabilities of tags over the same words in this many sentences of the text
                before, and after; 0: do not. See `keraszoo.tagging.repeated_words`. It helps where a word has
                one meaning in a text.
            **choice: `labels`, a list of the labels to find, all by default; `mapping`, a dict that renames
                labels before, such as `{"PERSON": "PER"}`.

        Returns:
            List of `Entity`; or a list of such lists, one for each text.

        Raises:
            KerasZooError: `texts` is neither, one is too long, a threshold outside [0, 1], a context below 0,
                or a label that the tagger does not have.
        """
        if isinstance(texts, str):
            return self.tag([texts], batch_tokens, threshold, context, **choice)[0]
        check_threshold(threshold)
        details = self.tag_details(texts, batch_tokens, context, **choice)
        return [tagged.above(threshold).entities for tagged in details]

    def tag_details(self, texts, batch_tokens=BATCH_TOKENS, context=0, **choice):
        """Finds the entities of texts, with the tag, probability and attention of every word.

        Args:
            texts: list of str.
            batch_tokens, context, **choice: as for `tag`; probabilities are those of the tagger's own tags.

        Returns:
            List of `TaggedText`.
        """
        check_texts(texts)
        sentences = [sentence_tokens(text, self.vocabulary.token_rules) for text in texts]
        words = [[token.text for token in tokens] for some in sentences for tokens in some]
        documents = [number for number, some in enumerate(sentences) for _ in some]
        tagged = iter(self.tag_tokens_details(words, batch_tokens, context, documents, **choice))
        return [
            tagged_text(text, some, [next(tagged) for _ in some], self.model.attends)
            for text, some in zip(texts, sentences, strict=True)
        ]

    def tag_tokens(self, sentences, batch_tokens=BATCH_TOKENS, context=0, documents=None, **choice):
        """Tags sentences that are already split into words.

        Args:
            sentences: list of lists of str; an empty one has no tags.
            batch_tokens, context, **choice: as for `tag`.
            documents: for `context`, a number for each sentence, equal in a document; `None`: one document.

        Returns:
            List of lists of str: valid IOB2 tags, one for each word.

        Raises:
            KerasZooError: `sentences` is something else.
        """
        sentences = checked_sentences(sentences)
        results = [[] for _ in sentences]
        for i, tags, *_ in self.sentence_tagger.iob2(sentences, batch_tokens, context, documents, choice):
            results[i] = tags
        return results

    def tag_tokens_details(self, sentences, batch_tokens=BATCH_TOKENS, context=0, documents=None, **choice):
        """As `tag_tokens`, with probabilities and attention weights: a list of `TaggedTokens`."""
        sentences, tagger = checked_sentences(sentences), self.sentence_tagger
        nothing = np.zeros(0, "float32")
        results = [TaggedTokens([], [], nothing, nothing if self.model.attends else None) for _ in sentences]
        found = tagger.iob2(sentences, batch_tokens, context, documents, choice, details=True)
        for i, tags, probabilities, *weights in found:
            results[i] = TaggedTokens(list(sentences[i]), tags, probabilities, *(weights or [None]))
        return results

    def tag_probabilities(self, sentences, batch_tokens=BATCH_TOKENS):
        """The probabilities of all tags at each word; with a CRF, its marginals.

        Args: as for `tag_tokens`.

        Returns:
            List of float32 `(T, K)`, one for each sentence; column k is the tag `vocabulary.tags[k]`.
        """
        sentences, tagger = checked_sentences(sentences), self.sentence_tagger
        results = [np.zeros((0, len(self.vocabulary.tags)), "float32") for _ in sentences]
        for i, probabilities, *_ in tagger.outputs(sentences, batch_tokens, tagger.probabilities):
            results[i] = probabilities
        return results

    def evaluate(
        self, sentences, known=None, batch_tokens=BATCH_TOKENS, context=0, labels=None, mapping=None
    ):
        """Tags sentences and compares the result with their tags.

        Args:
            sentences: a `TaggedCorpus`, or a list of `TaggedSentence`.
            known: a training corpus, for separate scores of entities that occur in it and others.
            batch_tokens, context: as for `tag`; the documents are those of the sentences.
            labels: list of the labels to score, after renaming; others count on neither side. `None`: all.
            mapping: dict that renames labels, those of the sentences as well as the tagger's.

        Returns:
            `TaggingScores`: precision, recall and F1 by seqeval, strict and by default, and more.
        """
        return evaluation.evaluate(self, sentences, known, batch_tokens, context, labels, mapping)

    def for_corpus(self, corpus):
        """The tagger of one corpus, of a tagger that was trained on several.

        Corpora disagree on what an entity is. Where each has labels of its own over a shared encoder, this
        keeps the scores and transitions of one: with a CRF,

            p'(y | x) = p(y | x, y has labels of this corpus alone)

        Args:
            corpus: one of `corpora`.

        Returns:
            An `EntityTagger` with labels such as `PER` instead of `wikigold.PER`, and weights of its own.

        Raises:
            KerasZooError: no such corpus.
        """
        model, vocabulary, _ = part_of(self, corpus)
        alone = type(self)(model, vocabulary)
        alone.metrics, alone.about, alone.recipe = dict(self.metrics), dict(self.about), self.recipe
        return alone

    def calibrate(self, sentences, corpus=None):
        """Divides all scores by a temperature, so that the probabilities match how often entities are right.

        Trained taggers are too sure of themselves. The temperature is that at which the tags of held-out
        sentences are likeliest; which tags are found does not change. See `best_temperature`.

        Args:
            sentences: a `TaggedCorpus` or list of `TaggedSentence` that the tagger was not trained on.
            corpus: of a tagger of several corpora, the one whose scores are divided.

        Returns:
            The temperature: above 1 if the tagger was too sure.

        Raises:
            DataError: no sentence, or an unknown label.
            KerasZooError: no such corpus, or none given for a tagger of several; scores in int8 or with LoRA.
        """
        return calibration.calibrate(self, sentences, corpus)

    @classmethod
    def for_sentences(cls, sentences, vectors=None, model="recurrent", configuration=None, **options):
        """Makes an untrained tagger that knows the tags, words and characters of sentences.

        Args:
            sentences: a `TaggedCorpus` or list of `TaggedSentence`: the training data and, if vectors of
                their words are to be kept, sentences to tag later.
            vectors: `WordVectors`, not trained unless the configuration says so; `None`: learned ones.
            model: `"attention"`, `"recurrent"`, `"transformer"` or `"pretrained"`.
            configuration: name of a configuration of the model; `None`: the default of recipes.
            **options: arguments of the model's constructor, such as `dropout=0.3`, and

                - `backbone`: for `"pretrained"`, the encoder, as in `TaggingModelSection`;
                - `scheme`: the tag scheme that the model predicts, `"IOB2"` or `"BIOES"`;
                - `constrain`: where the scheme is enforced, `"decode"`, `"both"` or `"none"`;
                - `keep`: `"corpus"`, the vectors that a word of the sentences uses; `"all"`; or a list of
                  words, the vectors that these use;
                - `backoff`: the sequence of forms by which a word finds its vector;
                - `token_rules`: how text is split into words, a key of `keraszoo.text.tokens.TOKEN_RULES`;
                  `None`: as in the sentences.

        Returns:
            An `EntityTagger`.

        Raises:
            DataError: no sentence, no entity in any, or no word with a vector.
            RecipeError: an unknown model, configuration or option.
        """
        return make_tagger(cls, sentences_of(sentences), vectors, (model, configuration), options)

    def fit(self, train, validation=None, directory=None, checkpoints=None, **settings):
        """Trains the model, as `Translator.fit` does.

        Args:
            train: a `TaggedCorpus` or a list of `TaggedSentence`.
            validation: held-out sentences; their score selects the weights that are kept.
            directory, checkpoints: as for `Translator.fit`.
            **settings: as for `Translator.fit`; the fields are those of a tagger's recipe.

        Returns, raises: as `Translator.fit`.
        """
        if self.vocabulary.subwords is not None:
            frozen = not self.model.words.backbone.trainable
            settings = fine_tuning(settings, self.model.lora is not None, frozen)
        plan = plan_fit(self, TaggerTrainingSection, validation, directory, checkpoints, settings)
        train, validation = sentences_of(train, "train"), sentences_of(validation, "validation")
        rows = TaggedRows(train, self.vocabulary, self.model.features)
        batches = TagBatches(rows, plan.settings.batch_tokens, **plan.batch_options)
        evaluate = None if validation is None else held_out_figures(self, validation, plan.settings)
        return fit_task(self, plan, batches, evaluate, data=digests(self, train, validation))
