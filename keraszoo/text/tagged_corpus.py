"""Tokens with a tag each, sentence by sentence: what every reader of entities returns."""

import dataclasses

from keraszoo.text.tag_schemes import split_tag


@dataclasses.dataclass(frozen=True)
class TaggedSentence:
    """A sentence as tokens and their tags.

    Attributes:
        tokens: tuple of str.
        tags: tuple of as many tags in IOB2, valid; empty where the file has none.
        document: number of the document it is part of, from 0.
        line: where it begins in its file, counted from 1.
    """

    tokens: tuple
    tags: tuple = ()
    document: int = 0
    line: int = 1


@dataclasses.dataclass(frozen=True)
class TaggedCorpus:
    """Sentences of one file, and what was met on the way to them.

    Attributes:
        sentences: list of `TaggedSentence`.
        scheme: the tag scheme of the file, a key of `SCHEMES`; None where it has no tags.
        repaired: how many tags its scheme did not allow where they stood; they were mended.
        moved: how many entities begin or end inside a token and were widened to whole tokens.
        dropped: how many entities have no token, or none that is not part of the entity before.
        columns: what `retagged_lines` writes back into; None if the file has no columns.

    Example:

    >>> corpus = TaggedCorpus([TaggedSentence(("Ed", "Koch"), ("B-PER", "I-PER"))], "IOB2")
    >>> len(corpus), corpus.labels, corpus.count_tokens()
    (1, ('PER',), 2)
    """

    sentences: list
    scheme: str | None = None
    repaired: int = 0
    moved: int = 0
    dropped: int = 0
    columns: object = dataclasses.field(default=None, repr=False)

    @classmethod
    def join(cls, corpora):
        """Joins corpora into one.

        Documents are renumbered, counts are added up, and `columns` is None.

        Args:
            corpora: list of at least one `TaggedCorpus`; the first one's `scheme` is kept.
        """
        sentences, documents = [], 0
        for corpus in corpora:
            sentences += [dataclasses.replace(s, document=s.document + documents) for s in corpus]
            documents = 1 + max((sentence.document for sentence in sentences), default=-1)
        counts = {name: sum(getattr(c, name) for c in corpora) for name in ("repaired", "moved", "dropped")}
        return cls(sentences, corpora[0].scheme, **counts)

    @property
    def labels(self):
        """The labels of its entities, in alphabetical order."""
        tags = {tag for sentence in self.sentences for tag in sentence.tags}
        return tuple(sorted({split_tag(tag)[1] for tag in tags} - {""}))

    def count_tokens(self):
        """The number of tokens of all sentences."""
        return sum(len(sentence.tokens) for sentence in self.sentences)

    def __len__(self):
        return len(self.sentences)

    def __iter__(self):
        return iter(self.sentences)
