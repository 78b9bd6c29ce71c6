# %% [markdown]
# # Translate in five minutes
#
# The repository includes small translators between English and German, and English and French. This page loads one, translates, and
# shows where the model looked. [Install](../install.md) the package first, with the extra `plot`.

# %% tags=["remove-cell"]
# %matplotlib inline

# %%
from keraszoo import Translator

translator = Translator.from_preset("tatoeba_en_de_transformer")
translator.translate(["Where did you park the car?", "I would like a cup of tea, please."])

# %% [markdown]
# `translate` takes a list of sentences and returns a list of strings. It uses beam search, which keeps the five best hypotheses at each
# step. Ask for more than the best one:

# %%
(hypotheses,) = translator.n_best(["She has never been to Berlin."], num_hypotheses=3)
for hypothesis in hypotheses:
    print(f"{hypothesis.log_prob:7.3f}  {hypothesis.text}")

# %% [markdown]
# The number is the natural logarithm of the probability that the model gives to the translation. You can also give the beginning of a
# translation; the model continues it:

# %%
translator.translate(["She has never been to Berlin."], prefix="In Berlin")

# %% [markdown]
# ## Where the model looks
#
# Each word of a translation attends to the words of the source. RNNsearch (Bahdanau et al. 2015) has one set of attention weights, which
# is easy to read. Each row is a German word; its weights sum to 1.

# %%
rnnsearch = Translator.from_preset("tatoeba_en_de_rnnsearch")
(translation,) = rnnsearch.translate_details(["My brother bought a new car yesterday."])
translation.plot()

# %% [markdown]
# Look at "gekauft", the last German word: it attends to "bought", the third English one. German puts the participle at the end, and the model
# learned this from sentence pairs alone.
#
# ## On the command line
#
# A line of the input gives a line of the output.

# %% language="bash"
# echo "Where did you park the car?" | keraszoo translate tatoeba_en_fr_transformer

# %% tags=["remove-cell"]
assert translator.translate(["Where did you park the car?"]) == ["Wo hast du das Auto geparkt?"]
assert "gekauft" in translation.text

# %% [markdown]
# ## Next
#
# - The models are small and trained on short everyday sentences; other text translates badly.
#   [The cards](../models/index.md) say what each model is for.
# - [Train a translator on your own two text files](../training.md).
# - [Export it](../export.md) as a SavedModel that maps strings to strings.
# - [Search](../searching.md) explains beam width, length penalty, sampling and given prefixes.
