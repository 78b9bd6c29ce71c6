"""Tagged sentences and corpora: the result of every reader of entities."""

import dataclasses

from keraszoo.text.tag_schemes import split_tag

# What readers count, with the words of a report.
COUNTS = {
    "repaired": "invalid tags repaired",
    "moved": "entities widened to whole tokens",
    "dropped": "entities without a token left out",
    "skipped": "texts that were not accepted skipped",
}


@dataclasses.dataclass(frozen=True)
class TaggedSentence:
    """A sentence as tokens and their tags.

    Attributes:
        tokens: tuple of str.
        tags: tuple of as many valid IOB2 tags; empty if the text has no tags.
        document: the number of its document, from 0.
        line: the line of its file where it begins, from 1.
    """

    tokens: tuple
    tags: tuple = ()
    document: int = 0
    line: int = 1


@dataclasses.dataclass(frozen=True, repr=False)
class TaggedCorpus:
    """Tagged sentences, and what was changed when they were read. `corpus[0]` is the first sentence.

    Attributes:
        sentences: list of `TaggedSentence`.
        scheme: the tag scheme of the file, a key of `SCHEMES`; None if it has no tags.
        repaired: the number of tags that the scheme did not allow and that were repaired.
        moved: the number of entities that began or ended inside a token and were widened to whole tokens.
        dropped: the number of entities dropped because no token was left for them.
        skipped: the number of texts that their annotator did not accept.
        from_texts: whether token rules split its texts into tokens; files of tokens have their own.
        layout: for a file of columns its `Layout`, which `lines_with_tags` needs; otherwise None.

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
    skipped: int = 0
    from_texts: bool = False
    layout: object = None

    @classmethod
    def join(cls, corpora):
        """Joins corpora: documents are renumbered, counts are added up.

        Args:
            corpora: list of at least one `TaggedCorpus`; the first one's `scheme` is kept.
        """
        sentences, documents = [], 0
        for corpus in corpora:
            sentences += [dataclasses.replace(s, document=s.document + documents) for s in corpus]
            documents = 1 + max((sentence.document for sentence in sentences), default=-1)
        counts = {name: sum(getattr(corpus, name) for corpus in corpora) for name in COUNTS}
        from_texts = all(corpus.from_texts for corpus in corpora)
        return cls(sentences, corpora[0].scheme, from_texts=from_texts, **counts)

    @property
    def labels(self):
        """The labels of its entities, in alphabetical order."""
        tags = {tag for sentence in self.sentences for tag in sentence.tags}
        return tuple(sorted({split_tag(tag)[1] for tag in tags} - {""}))

    @property
    def shows_scheme(self):
        """Whether the tags identify their scheme; `O` and `I-` alone fit several."""
        return bool(self.labels) and self.scheme != "IO"

    def count_tokens(self):
        """Returns the number of tokens of all sentences."""
        return sum(len(sentence.tokens) for sentence in self.sentences)

    def changes(self):
        """Returns what was changed when the sentences were read, a list of str.

        >>> TaggedCorpus([], "IOB2", moved=3).changes()
        ['3 entities widened to whole tokens']
        """
        counts = {text: getattr(self, name) for name, text in COUNTS.items()}
        return [f"{count:,} {text}" for text, count in counts.items() if count]

    def __repr__(self):
        facts = [f"{len(self):,} sentences", f"{self.count_tokens():,} tokens"]
        facts += [f"labels {', '.join(self.labels)}", f"scheme {self.scheme}"] if self.labels else []
        return f"<TaggedCorpus: {'; '.join([', '.join(facts), *self.changes()])}>"

    def __getitem__(self, index):
        return self.sentences[index]

    def __len__(self):
        return len(self.sentences)

    def __iter__(self):
        return iter(self.sentences)
