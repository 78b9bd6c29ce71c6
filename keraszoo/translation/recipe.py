"""The recipe of a translator: one YAML file with everything that decides a training run.

    data:
      train: {source: train.en, target: train.de}
      validation: {source: val.en, target: val.de}
    model: {name: transformer, preset: small, overrides: {dropout: 0.3}}
    output: runs/small

Only `data.train` and `output` have no default.
"""

import dataclasses
from typing import Annotated, Literal

from pydantic import Field, create_model, model_validator

from keraszoo.evaluation.tokenizers import TOKENIZERS
from keraszoo.recipes.file import Path, Preset
from keraszoo.recipes.sections import BaseModelSection, BaseRecipe, Count, FitSection, Fraction, Section
from keraszoo.registry import models_of
from keraszoo.search.options import SearchOptions
from keraszoo.text.normalization import RULES


class Pairs(Section):
    """Parallel text: two aligned files `source` and `target`, or one tab-separated file `tsv`."""

    source: Path | None = None
    target: Path | None = None
    tsv: Path | None = None

    @model_validator(mode="after")
    def _two_files_or_one(self):
        given = {key for key in ("source", "target", "tsv") if getattr(self, key) is not None}
        if given not in ({"source", "target"}, {"tsv"}):
            came = " and ".join(sorted(given)) or "nothing"
            raise ValueError(f"expected `source` and `target`, or `tsv` alone, got {came}")
        return self


class DataSection(Section):
    """The corpora. Pairs with more than `max_length` subwords on a side are left out of training."""

    train: Pairs
    validation: Pairs | None = None
    test: Pairs | None = None
    max_length: Count = 100


class SubwordsSection(Section):
    """The subword vocabulary: trained on `data.train`, or read from sentencepiece models.

    There is one file for both languages (`model`) or one for each (`source_model`, `target_model`). `model`
    may also be the directory, the name or the address on the Hub of a translator, whose vocabulary is used.
    `normalization` is `nfc`, which keeps all that a reader sees, or sentencepiece's `nmt_nfkc`, which unifies
    more characters; see `Subwords.train`.
    """

    type: Literal["bpe", "unigram"] = "bpe"
    vocabulary_size: Annotated[int, Field(ge=8)] = 8000
    joint: bool = True
    character_coverage: Annotated[float, Field(ge=0.98, le=1)] = 1.0
    normalization: Literal[*RULES] = "nfc"
    model: Preset | None = None
    source_model: Path | None = None
    target_model: Path | None = None

    @model_validator(mode="before")
    @classmethod
    def _two_models_are_not_joint(cls, values):
        if isinstance(values, dict) and values.get("source_model") is not None:
            return {"joint": False, **values}
        return values

    @model_validator(mode="after")
    def _trained_or_brought(self):
        if (self.source_model is None) != (self.target_model is None):
            raise ValueError("expected `source_model` and `target_model` together, got one of them")
        if self.model is not None and self.source_model is not None:
            raise ValueError("expected `model`, or `source_model` and `target_model`, got all three")
        if self.model is not None and not self.joint:
            raise ValueError("`model` is one vocabulary for both languages, but `joint` is false")
        if self.source_model is not None and self.joint:
            raise ValueError("`source_model` and `target_model` are two vocabularies, but `joint` is true")
        if self.model is not None or self.source_model is not None:
            trained = ("type", "vocabulary_size", "character_coverage", "normalization")
            self.refuse(trained, "on an existing model")
        return self


class ModelSection(BaseModelSection):
    """The model: a preset of sizes, and `overrides` for single arguments of its constructor.

    From the oldest: `rnnencdec` (Cho 2014), `deeplstm` (Sutskever 2014), `simplified` (RNNsearch without
    gates), `rnnsearch` (Bahdanau 2015), `luong` (Luong 2015), `gnmt` (Wu 2016), `convs2s` (Gehring
    2017), `transformer` (Vaswani 2017).

    `start_from` is the path or the name of a trained translator whose weights the model begins with, where
    they fit; see `keraszoo.translation.transfer`.
    """

    task = "translation"

    name: Literal[*models_of("translation")] = "transformer"


class TrainingSection(FitSection):
    """The settings of `fit` of a translator.

    `monitor` is the figure that selects the weights: the BLEU of the held-out pairs, or their loss, which
    needs no search.

    `bleu_tokenizer` is sacrebleu's, for validation and test; `null` is the one that fits the references: `zh`
    for Chinese, `ja-mecab`, `ko-mecab`, `char` for other scripts without blanks, else `13a`.

    `r_drop` is the weight of R-Drop: every sentence goes through the model twice, and the two predictions,
    which differ by dropout, are pulled towards each other (`TokenCrossentropy`). A step takes twice the time
    and memory.
    """

    label_smoothing: Fraction = 0.1
    r_drop: Annotated[float, Field(ge=0)] = 0.0
    monitor: Literal["val_bleu", "val_loss"] = "val_bleu"
    bleu_tokenizer: Literal[*TOKENIZERS] | None = None


class _SearchSection(Section):
    """The options of the search for validation, test and the saved model: those of `SearchOptions`."""

    @model_validator(mode="after")
    def _options_that_fit_together(self):
        SearchOptions(**self.model_dump())
        return self


def _search_field(field):
    limits = field.metadata
    kind = Annotated[field.type, Field(ge=limits["least"], le=limits["most"])]
    return Literal[*limits["choices"]] if limits["choices"] else kind, field.default


SearchSection = create_model(
    "SearchSection",
    __base__=_SearchSection,
    __doc__=_SearchSection.__doc__,
    **{
        field.name: _search_field(field)
        for field in dataclasses.fields(SearchOptions)
        if field.name not in ("num_hypotheses", "sampling", *SearchOptions.of_draws())
    },
)


class Recipe(BaseRecipe):
    """Everything that decides a training run of a translator.

    Example:

    >>> recipe = Recipe.from_dict({"data": {"train": {"tsv": "pairs.tsv"}}, "output": "runs/one"})
    >>> recipe.data.train.tsv, recipe.training.optimizer.beta_2, recipe.search.beam_width
    ('pairs.tsv', 0.98, 5)
    >>> Recipe.from_dict({"data": {"train": {"tsv": "pairs.tsv"}}, "output": "runs", "serach": {}})
    Traceback (most recent call last):
    keraszoo.errors.RecipeError: recipe: serach: unknown key, did you mean search?
    """

    task: Literal["translation"] = "translation"
    data: DataSection
    subwords: SubwordsSection = SubwordsSection()
    model: ModelSection = ModelSection()
    training: TrainingSection = TrainingSection()
    search: SearchSection = SearchSection()
    output: Path
