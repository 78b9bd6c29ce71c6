"""Answers questions about a story with one word: a memory network with its vocabulary."""

import dataclasses

import keras
import numpy as np
from keras import ops

from keraszoo.answering.training import BATCH, AnsweringSection, train_answerer
from keraszoo.errors import DataError, KerasZooError
from keraszoo.messages import shown
from keraszoo.models.memory_network import MemoryNetwork
from keraszoo.saving.model_config import make_model
from keraszoo.tasks.task import Task
from keraszoo.tasks.training import check_output, checked_settings
from keraszoo.text.babi import Question, split_words
from keraszoo.text.vocabulary import Vocabulary

WORDS = "words.txt"
MEMORY = 50  # sentences that a new memory holds at most


@dataclasses.dataclass(frozen=True)
class Answer:
    """The answer to a question.

    Attributes:
        text: the answer, one word of the vocabulary.
        probability: its probability in the model, in [0, 1].
        sentences: the S sentences of the story in the memory; the last ones if the story was too long.
        attention_weights: float32 `(K, S)`, row k for hop k; a row may sum to less than 1.
    """

    text: str
    probability: float
    sentences: tuple
    attention_weights: np.ndarray


class QuestionAnswerer(Task):
    """Answers questions about a story with a `MemoryNetwork` and a vocabulary.

    Sentences are split into lower-case words without punctuation. The vocabulary is closed: a word that did
    not occur in training is an error.

    Args:
        model: a `MemoryNetwork`.
        vocabulary: a `keraszoo.text.vocabulary.Vocabulary` of the same size.

    Raises:
        KerasZooError: if vocabulary and model do not fit each other.

    Example:

    >>> from keraszoo.models import MemoryNetwork
    >>> from keraszoo.text.vocabulary import Vocabulary
    >>> vocabulary = Vocabulary(["mary", "went", "home", "where", "is"])
    >>> answerer = QuestionAnswerer(MemoryNetwork(len(vocabulary), width=4), vocabulary)
    >>> answer = answerer.answer(["Mary went home."], "Where is Mary?")
    >>> answer.attention_weights.shape, answer.text in vocabulary
    ((3, 1), True)
    """

    kind = "question answering"

    def __init__(self, model, vocabulary):
        super().__init__(model)
        self.vocabulary = vocabulary
        if len(vocabulary) != model.vocabulary_size:
            raise KerasZooError(
                f"the vocabulary has {len(vocabulary)} ids, the model {model.vocabulary_size}"
            )
        if model.pad_id != 0:
            raise KerasZooError(f"the vocabulary pads with 0, the model with {model.pad_id}")
        if not model.built:
            model.build()

    # --- text in, text out

    def answer(self, story, question):
        """Answers one question.

        Args:
            story: list of str, sentences in the order they were said; may be empty.
            question: str.

        Returns:
            An `Answer`.

        Raises:
            KerasZooError: a word is unknown, a sentence has none, or the arguments are of other types.
        """
        listed = hasattr(story, "__len__") and not isinstance(story, str)
        if not listed or not all(isinstance(text, str) for text in [*story, question]):
            raise KerasZooError(f"expected a list of str and a str, got {story!r:.40} and {question!r:.40}")
        return self.answer_all([Question(tuple(story), question, "")])[0]

    def answer_all(self, questions):
        """Answers many questions; the answers do not depend on each other.

        Args:
            questions: list of `Question`; their own answers are ignored.

        Returns:
            List of `Answer`.
        """
        answers = []
        for first in range(0, len(questions), BATCH):
            some = questions[first : first + BATCH]
            logits, attention_weights = self.model.read(*self.encode(some))
            probabilities = ops.convert_to_numpy(ops.softmax(ops.cast(logits, "float32")))
            weights = ops.convert_to_numpy(ops.cast(attention_weights, "float32"))
            chosen = 1 + np.argmax(probabilities[:, 1:], axis=1)  # padding is no answer
            for n, question in enumerate(some):
                kept = question.story[-self.model.memory_size :]
                answers.append(
                    Answer(
                        text=self.vocabulary.word(int(chosen[n])),
                        probability=float(probabilities[n, chosen[n]]),
                        sentences=tuple(kept),
                        attention_weights=weights[n, :, : len(kept)],
                    )
                )
        return answers

    def error_rate(self, questions):
        """Returns the share of wrong answers, in per cent.

        Args:
            questions: list of `Question`, at least one.

        Returns:
            float from 0 to 100. An answer outside the vocabulary always counts as wrong.
        """
        if not questions:
            raise DataError("questions: expected at least one, got none")
        answers = self.answer_all(questions)
        wrong = sum(a.text != q.answer for a, q in zip(answers, questions, strict=True))
        return 100 * wrong / len(questions)

    # --- training

    @classmethod
    def for_questions(cls, questions, **sizes):
        """Makes an untrained answerer that knows the words of stories, questions and answers.

        Args:
            questions: list of `Question`.
            **sizes: arguments of `MemoryNetwork`, such as `width=50`. The memory holds as many sentences as
                the longest story has, at most 50, unless `memory_size` says otherwise.
        """
        for question in questions:
            if not isinstance(question, Question):
                raise DataError(f"expected a list of Question of keraszoo.text.babi, got {question!r:.60}")
        texts = {text for question in questions for text in (*question.story, question.text)}
        words = {word for text in texts for word in split_words(text)}
        vocabulary = Vocabulary(sorted(words | {question.answer for question in questions}))
        longest = max((len(question.story) for question in questions), default=0)
        sizes = {"memory_size": min(MEMORY, max(longest, 1)), **sizes}
        return cls(MemoryNetwork(len(vocabulary), **sizes), vocabulary)

    def fit(self, questions, directory=None, *, callbacks=None, verbose=0, **settings):
        """Trains as the paper does, from several random starts, and keeps the best.

        Args:
            questions: list of `Question`; a share of them is the validation.
            directory: where the result is saved; `None`: nowhere.
            callbacks, verbose: as for `keras.Model.fit`, which trains several epochs in one call.
            **settings: fields of `keraszoo.answering.training.AnsweringSection`, such as `restarts=3`.

        Returns:
            List of dicts, one for each start: `seed`, `loss`, `validation_loss`, `error`, `validation_error`.

        Raises:
            RecipeError: an unknown setting, or one out of range.
            DataError: unusable questions.
        """
        settings = checked_settings(AnsweringSection, settings)
        if directory is not None:
            check_output(self.model, directory)
        starts = train_answerer(self, questions, settings, callbacks, verbose)
        if directory is not None:
            self.save_to_preset(directory)
        return starts

    # --- what the base class asks for

    @classmethod
    def _read(cls, directory):
        model = make_model(directory, [MemoryNetwork])
        return cls(model, Vocabulary.from_text(directory.read_text(WORDS)))

    def _contents(self):
        model, known = self.model, len(self.vocabulary.words)
        facts = {
            "title": f"{type(model).__name__}, {model.hops} hops, {model.count_params():,} parameters",
            "pipeline_tag": "question-answering",
            "summary": f"It knows {known} words and remembers {model.memory_size} sentences.",
            "example": [
                "from keraszoo import QuestionAnswerer",
                'QuestionAnswerer.from_preset("this directory").answer(["...", "..."], "...?")',
            ],
        }
        return {}, {WORDS: self.vocabulary.text()}, facts, {}

    # --- in between

    def encode(self, questions):
        """Word ids, padded with 0: int32 `(B, S, J)` and `(B, J')`, S from 1 to the memory's size."""
        if not all(isinstance(question, Question) for question in questions):
            raise DataError(f"questions: expected a list of Question objects, got {shown(questions)}")
        stories = [question.story[-self.model.memory_size :] for question in questions]
        ids = {text: self._ids(text) for story in stories for text in story}
        longest = max((len(story) for story in stories), default=0)
        words = max(map(len, ids.values()), default=0)
        story_rows = np.zeros((len(questions), max(longest, 1), max(words, 1)), "int32")
        for n, story in enumerate(stories):
            for i, text in enumerate(story):
                story_rows[n, i, : len(ids[text])] = ids[text]
        asked = [self._ids(question.text) for question in questions]
        return story_rows, keras.utils.pad_sequences(asked, padding="post")

    def _ids(self, text):
        words = split_words(text)
        if not words:
            raise DataError(f"expected a sentence with a word in it, got {shown(text)}")
        try:
            return self.vocabulary.ids(words)
        except DataError as error:
            raise DataError(f"{shown(text)}: {error}") from None
