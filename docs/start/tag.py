# %% [markdown]
# # Tag in five minutes
#
# A tagger finds names in text. The repository includes one for people, places, organisations and other names, and one for chemicals and
# diseases. [Install](../install.md) the package first.

# %%
from keraszoo import EntityTagger

tagger = EntityTagger.from_preset("english_entities")
text = "Ada Lovelace was born in London and wrote to Charles Babbage at the University of Cambridge."
for entity in tagger.tag(text):
    print(entity.start, entity.end, entity.label, f"{entity.probability:.2f}", entity.text)

# %% [markdown]
# `start` and `end` count characters, and `end` is exclusive, so `text[start:end]` is the entity. `tag` also takes a list of texts.
#
# ## Highlighted entities
#
# `html_page` makes a complete HTML page; `entities_html` makes a fragment to embed in one.

# %%
from IPython.display import HTML

from keraszoo.plots import entities_html

biomedical = EntityTagger.from_preset("biomedical_entities")
texts = ["Aspirin may cause asthma in some patients.", "Lithium was stopped because of renal failure."]
HTML("".join(entities_html(tagged) for tagged in biomedical.tag_details(texts)))

# %% [markdown]
# ## Text that is already split into words
#
# `tag_tokens` takes words and returns one tag per word. `B-` begins an entity, `I-` continues it, and `O` is outside of all entities.

# %%
words = ["Marie", "Curie", "lived", "in", "Paris", "."]
(tags,) = tagger.tag_tokens([words])
print(*(f"{word:10} {tag}" for word, tag in zip(words, tags, strict=True)), sep="\n")

# %% [markdown]
# ## On the command line
#
# The default output is one JSON object per line. `--to columns` writes words and tags, `--to html` a page with highlighted entities.

# %% language="bash"
# echo "Marie Curie lived in Paris." | keraszoo tag english_entities

# %% tags=["remove-cell"]
assert [entity.text for entity in tagger.tag("Marie Curie lived in Paris.")] == ["Marie Curie", "Paris"]
assert any(entity.label == "Disease" for entity in biomedical.tag(texts[0]))

# %% [markdown]
# ## Next
#
# - [The cards](../models/index.md) have the scores of both taggers, by corpus and by label, and say where they fail.
# - [Train a tagger](../tagging.md) on your own [CoNLL columns or JSON lines](../data.md#tagged-sentences).
