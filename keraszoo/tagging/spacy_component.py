"""The spaCy component `keraszoo`: `nlp.add_pipe("keraszoo", config={"preset": "english_entities"})`.

spaCy imports this module by its entry point; nothing else of keraszoo imports spaCy.
"""

import bisect
import itertools

from spacy.language import Language
from spacy.scorer import get_ner_prf
from spacy.tokens import SpanGroup
from spacy.util import minibatch

from keraszoo.errors import check_at_least
from keraszoo.tagging.results import check_threshold

BATCH = 256  # documents
OF_TOKENS = "TAG", "POS", "MORPH", "DEP"


class SpacyEntities:
    """A component that sets `doc.ents` to the entities that an `EntityTagger` finds in `doc.text`.

    They have the tagger's character offsets. A token of spaCy that an entity begins or ends inside is split
    there.

    Args:
        tagger: an `EntityTagger`.
        threshold: leave out entities that are less probable, in [0, 1].
        context: as for `EntityTagger.tag`.
    """

    def __init__(self, tagger, threshold=0.0, context=0):
        check_threshold(threshold)
        check_at_least(context=(context, 0))
        self.tagger = tagger
        self.options = {"threshold": threshold, "context": context}

    def __call__(self, doc):
        return next(self.pipe([doc]))

    def pipe(self, stream, batch_size=BATCH):
        """Yields the documents of a stream with their entities.

        Raises:
            KerasZooError: in a forked process (`n_process=2` of spaCy), where TensorFlow would wait forever.
        """
        for docs in minibatch(stream, batch_size):
            texts = [doc.text for doc in docs]
            for doc, entities in zip(docs, self.tagger.tag(texts, **self.options), strict=True):
                _split_tokens(doc, {place for entity in entities for place in (entity.start, entity.end)})
                doc.ents = [doc.char_span(entity.start, entity.end, entity.label) for entity in entities]
                yield doc

    def score(self, examples, **options):
        """Scores the entities as spaCy's own `ner` does, for `nlp.evaluate`.

        Args:
            examples: iterable of `spacy.training.Example`.
            options: of other components; none has an effect here.

        Returns:
            Dict of `ents_p`, `ents_r`, `ents_f` and `ents_per_type`.
        """
        return get_ner_prf(examples)


def _split_tokens(doc, places):
    """Splits the tokens of a document that have one of these character offsets inside.

    Span groups count tokens, so they are made again from the characters of their spans.
    """
    inside = sorted(places - {token.idx for token in doc} - {token.idx + len(token) for token in doc})
    if not inside:
        return
    groups = {key: (group.name, group.attrs, _described(group)) for key, group in doc.spans.items()}
    known = [name for name in OF_TOKENS if doc.has_annotation(name)]
    with doc.retokenize() as retokenizer:
        for token in doc:
            first, after = (bisect.bisect(inside, place) for place in (token.idx, token.idx + len(token)))
            if first < after:
                cuts = [0, *(place - token.idx for place in inside[first:after]), len(token)]
                parts = [token.text[i:j] for i, j in itertools.pairwise(cuts)]
                head = (token, 0) if token.head == token else token.head
                own = {"TAG": token.tag_, "POS": token.pos_, "MORPH": str(token.morph), "DEP": token.dep_}
                attributes = {name: [own[name]] * len(parts) for name in known}
                retokenizer.split(token, parts, [head, *[(token, 0)] * (len(parts) - 1)], attributes)
    for key, (name, attrs, spans) in groups.items():
        made = [doc.char_span(start, end, **about) for start, end, about in spans]
        doc.spans[key] = SpanGroup(doc, name=name, attrs=attrs, spans=made)


def _described(group):
    """The characters and labels of the spans of a group; an empty span has no characters, and is left out."""
    return [
        (span.start_char, span.end_char, {"label": span.label, "kb_id": span.kb_id, "span_id": span.id})
        for span in group
        if len(span)
    ]


@Language.factory(
    "keraszoo",
    assigns=["doc.ents"],
    default_score_weights={"ents_f": 1.0, "ents_p": 0.0, "ents_r": 0.0, "ents_per_type": None},
    default_config={"preset": "english_entities", "threshold": 0.0, "context": 0, "corpus": None},
)
def make_component(nlp: Language, name: str, preset: str, threshold: float, context: int, corpus: str | None):
    """Makes the component from its settings in a pipeline's configuration.

    Args:
        nlp, name: given by spaCy.
        preset: path, name or `hf://user/name` of a tagger.
        threshold: leave out entities that are less probable, in [0, 1].
        context: as for `EntityTagger.tag`.
        corpus: of a tagger of several corpora, whose labels; `None`: the first.
    """
    from keraszoo.tagging.entity_tagger import EntityTagger

    return SpacyEntities(EntityTagger.from_preset(preset, corpus), threshold, context)
