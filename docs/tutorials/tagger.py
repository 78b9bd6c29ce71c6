# %% [markdown]
# # A named-entity tagger from CoNLL columns and word2vec
#
# A tagger needs two things: tagged sentences, and word vectors that know more words than these sentences. This tutorial writes a small corpus in CoNLL
# columns, trains word2vec on raw text, trains a BiLSTM-CRF tagger from a recipe, and looks at its errors. With your own files, change the paths.

# %% tags=["remove-cell"]
# %matplotlib inline

# %% [markdown]
# ## A corpus
#
# The sentences are made from templates. Half of the names occur only in the test sentences: a tagger that learns names by heart fails on them.

# %%
import random
from pathlib import Path

TEMPLATES = [
    "{PER} moved from {LOC} to {LOC} .",
    "In {LOC} , {PER} met {PER} again .",
    "Nobody in {LOC} had heard of {PER} .",
    "The weather in {LOC} was fine , and {PER} walked home .",
    "They wrote letters to each other for years .",
    "{PER} likes the markets of {LOC} .",
]
NAMES = {
    "PER": ["Ada Lovelace", "Grace Hopper", "Alan Turing", "Emmy Noether", "Kurt Gödel", "Hedy Lamarr", "Maria Merian", "Rosa Parks"],
    "LOC": ["Paris", "New York", "Göttingen", "Princeton", "Buenos Aires", "Oslo", "Kyoto", "Cape Town"],
}  # fmt: skip
draw = random.Random(1)


def sentence(names):
    """Returns the lines of a sentence, a word and its tag each."""
    lines = []
    for word in draw.choice(TEMPLATES).split():
        label = word.strip("{}")
        words = draw.choice(names[label]).split() if label in names else [word]
        tags = [f"B-{label}", *[f"I-{label}"] * (len(words) - 1)] if label in names else ["O"]
        lines += [f"{word}\t{tag}" for word, tag in zip(words, tags, strict=True)]
    return "\n".join(lines) + "\n\n"


known = {label: names[:4] for label, names in NAMES.items()}
Path("train.tsv").write_text("".join(sentence(known) for _ in range(300)), encoding="utf-8")
Path("devel.tsv").write_text("".join(sentence(known) for _ in range(50)), encoding="utf-8")
Path("test.tsv").write_text("".join(sentence(NAMES) for _ in range(100)), encoding="utf-8")
print(sentence(known))

# %% [markdown]
# The second column has the tag: `B-` begins an entity, `I-` continues it, `O` is outside. A blank line ends a sentence. Other tag schemes are
# detected.
#
# ## Word vectors
#
# word2vec learns a vector for each word from raw text, so that words in similar contexts get similar vectors. Raw text is free: here it contains **all**
# names, without tags. With real text use hundreds of thousands of lines, or the included vectors `english_words`.

# %%
raw = "".join(
    " ".join(line.split("\t")[0] for line in sentence(NAMES).split("\n")) + "\n" for _ in range(3000)
)
_ = Path("text.txt").write_text(raw, encoding="utf-8")

# %% language="bash"
# keraszoo vectors train text.txt --width 50 --output vectors.bin 2> /dev/null
# keraszoo vectors coverage vectors.bin test.tsv
# keraszoo vectors neighbours vectors.bin Kyoto | head -5

# %% [markdown]
# **Look at** the neighbours of Kyoto: mostly other places, although no tag says that Kyoto is one. This is what the tagger will use.
#
# ## Train
#
# The model `recurrent` is the BiLSTM-CRF of Huang et al. (2015) and Ma and Hovy (2016). The preset `tiny` suits this small corpus; the default,
# `strong`, is for real ones. Small corpora need small batches.

# %%
_ = Path("tagger.yaml").write_text("""
task: tagging
data: {train: train.tsv, validation: devel.tsv, test: test.tsv}
vectors: {file: vectors.bin, keep: all}     # also vectors of words that are not in the training files
model: {name: recurrent, preset: tiny}
training: {epochs: 10, batch_tokens: 128, optimizer: {learning_rate: 0.005}}
output: tagger
""")

# %% language="bash"
# keraszoo train tagger.yaml 2>&1

# %% [markdown]
# ## Score
#
# F1 counts an entity as right only if its words and its label are right. With `--known`, entities that occur in the training file are scored
# separately from new ones.

# %% language="bash"
# keraszoo evaluate tagger --data test.tsv --known train.tsv

# %% [markdown]
# **Look at** the lines "seen" and "unseen". Here both are equal: the vectors know the new names from the raw text. On real text, the difference shows
# how much the tagger has learned by heart; the [cards](../models/index.md) of the included taggers list both scores.
#
# ## Use it

# %%
from IPython.display import HTML

from keraszoo import EntityTagger
from keraszoo.plots import entities_html
from keraszoo.text.columns import read_columns

tagger = EntityTagger.from_preset("tagger")
(tagged,) = tagger.tag_details(
    ["Rosa Parks moved from Cape Town to Paris. Nobody in Kyoto had heard of her."]
)
HTML(entities_html(tagged))

# %%
scores = tagger.evaluate(read_columns("test.tsv"), known=read_columns("train.tsv"))
print(scores.f1_seen, scores.f1_unseen, sep="\n")

# %% [markdown]
# ## Exercises
#
# 1. Remove the line `vectors:` from the recipe and train again. How far does F1 fall on unseen names?
# 2. Train `model: {name: attention, preset: tiny}` and draw its attention with `keraszoo plot tagger "Rosa Parks likes Oslo." attention.png`.
# 3. Write a sentence with a name that is in neither file. Which clue does the tagger have left?

# %%
import os

print(f"strict F1 {scores.f1.score:.1f}; this page took {sum(os.times()[:4]):.0f} CPU seconds")

# %% tags=["remove-cell"]
assert scores.f1.score > 90
