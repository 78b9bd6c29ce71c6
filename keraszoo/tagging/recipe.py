"""The recipe of a tagger: one YAML file with everything that decides a training run.

    task: tagging
    data:
      train: train.tsv
      validation: devel.tsv
    vectors: {file: vectors.txt}
    model: {name: recurrent, preset: strong}
    output: runs/tagger

Only `task`, `data.train` and `output` have no default.
"""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from keraszoo.recipes.file import Path, Preset
from keraszoo.recipes.sections import (
    BaseModelSection,
    BaseRecipe,
    Count,
    FitSection,
    Fraction,
    OptimizerSection,
    Positive,
    Schedule,
    Section,
)
from keraszoo.registry import models_of
from keraszoo.text.columns import PLAIN
from keraszoo.text.tag_schemes import SCHEMES
from keraszoo.text.tokens import TOKEN_RULES
from keraszoo.text.word_vectors import DEFAULT_BACKOFF, check_backoff

FINE_TUNING = {"schedule": "cosine", "weight_decay": 0.01, "global_clipnorm": 1.0}
RATES = {  # what is trained: epochs, peak of the learning rate, and another for scores of tags and the CRF
    "all": (5, 1e-4, 1e-3),
    "lora": (5, 1e-3, 1e-3),  # its matrices are new, as those of the head are
    "head": (10, 1e-2, None),  # nothing else is trained
}


def fine_tuning(settings, lora=False, frozen=False):
    """Adds to the settings of `fit`, a dict, the defaults of fine-tuning where they are not given.

    The encoder learns slowly and its head fast, with a warm-up over a tenth of the run, weight decay on
    matrices, and a rate that falls to 0 (Devlin et al. 2018; Loshchilov and Hutter 2019). With `lora`, only
    products of low rank are trained in the encoder; if it is `frozen`, nothing.
    """
    epochs, rate, head_rate = RATES["lora" if lora else "head" if frozen else "all"]
    rates = {**FINE_TUNING, "learning_rate": rate, "head_learning_rate": head_rate}
    given = settings.get("optimizer")
    if given is None or isinstance(given, dict):
        if given and given.get("clipnorm") is not None:
            del rates["global_clipnorm"]
        settings = {**settings, "optimizer": {**rates, **(given or {})}}
    return {"epochs": epochs, **settings}


def _listed(value):
    return [value] if isinstance(value, str) else value


Files = Annotated[list[Path], BeforeValidator(_listed), Field(min_length=1)]
Column = Annotated[int | str, Field(union_mode="left_to_right")]


class TaggedDataSection(Section):
    """The corpora: one file or a list of files each, of CoNLL columns or, for names in .jsonl, of JSON lines.

    A column is a number, from 0 or, from the right, from -1 on, or a name in the file's header. `separator:
    null` is a tab if the first row has one, otherwise any run of blanks; `scheme: null` is the tag scheme
    detected in the files, and `plain` that of labels without `B-` and `I-`. `label` is the label of tags that
    are `B`, `I` and `O` alone. `token_rules` split the texts of JSON lines into words, and those that the
    tagger reads later; `null` is `words` for texts in JSON lines, and for sentences of tokens in `train` the
    rules that fit their words.
    """

    train: Files
    validation: Files | None = None
    test: Files | None = None
    token_column: Column = 0
    tag_column: Column = -1
    separator: str | None = None
    scheme: Literal[*SCHEMES, PLAIN] | None = None
    label: str = "ENTITY"
    token_rules: Literal[*TOKEN_RULES] | None = None


class VectorsSection(Section):
    """Pretrained word vectors, which stay fixed unless the model trains them.

    `keep: corpus` keeps those that a word of the corpora (validation and test included) can use by the
    `backoff` sequence; `keep: all` keeps all, for unknown text. `file` is a path or the name of included
    vectors.
    """

    file: Preset
    format: str = "auto"
    keep: Literal["corpus", "all"] = "corpus"
    backoff: list[str] = list(DEFAULT_BACKOFF)

    @model_validator(mode="after")
    def _backoff_that_there_is(self):
        check_backoff(self.backoff)
        return self


class TagsSection(Section):
    """The tags that the model predicts; input and output are always IOB2.

    `constraints` says where sequences that the scheme forbids are excluded: when tags are chosen, also in the
    loss of a CRF, or nowhere.
    """

    scheme: Literal["IOB2", "BIOES"] = "IOB2"
    constraints: Literal["decode", "both", "none"] = "decode"


class TaggingModelSection(BaseModelSection):
    """The model: a preset of sizes, and `overrides` for single arguments of its constructor.

    `attention` is a recurrent net with attention over the words of the sentence; `recurrent` one with
    characters, casing and a CRF; `transformer` an encoder of Vaswani 2017.

    `start_from` is the path or the name of a trained tagger whose encoder the model begins with, where it
    fits; see `keraszoo.tagging.transfer`.

    `pretrained` reads subwords with a `backbone`: `hf://USER/NAME`, the name of a preset of KerasHub, a
    folder of either kind, or a tagger over such an encoder. With `lora_rank`, only products of this rank are
    trained in the encoder, and merged into its matrices when it is saved.
    """

    task = "tagging"

    name: Literal[*models_of("tagging")] = "recurrent"
    backbone: Preset | None = None
    lora_rank: Count | None = None

    @model_validator(mode="after")
    def _a_backbone_for_pretrained(self):
        if self.name != "pretrained":
            self.refuse(["backbone", "lora_rank"], f"with {self.name}")
        elif self.backbone is None:
            raise ValueError("`backbone` is missing: hf://USER/NAME, a preset of KerasHub or a folder")
        else:
            self.refuse(["start_from"], "with pretrained, whose `backbone` may be a trained tagger")
            if self.overrides.get("train_backbone") is False:
                self.refuse(["lora_rank"], "with train_backbone: false")
        return self


class TaggerOptimizerSection(OptimizerSection):
    """Adam, by default at a constant rate; the schedules are those of `OptimizerSection`.

    `head_learning_rate` is the peak for the scores of tags and the CRF; `null` is that of all other weights.

    The defaults for `model: {name: pretrained}` are those of fine-tuning: 5 epochs, `schedule: cosine`,
    `learning_rate: 1.0e-4` (with `lora_rank`: 1.0e-3), `head_learning_rate: 1.0e-3`, `weight_decay: 0.01`,
    `global_clipnorm: 1.0`. With `train_backbone: false`, they are 10 epochs and rates of 1.0e-2.
    """

    schedule: Schedule = "constant"
    beta_2: Fraction = 0.999
    epsilon: Positive = 1e-7
    global_clipnorm: Positive | None = 5.0
    head_learning_rate: Positive | None = None


class TaggerTrainingSection(FitSection):
    """The settings of `fit` of a tagger.

    `monitor` is the figure that selects the weights: the strict F1 of the held-out entities, or the loss.
    """

    batch_tokens: Count = 1024
    optimizer: TaggerOptimizerSection = TaggerOptimizerSection()
    monitor: Literal["val_f1", "val_loss"] = "val_f1"


class TaggerRecipe(BaseRecipe):
    """Everything that decides a training run of a tagger."""

    task: Literal["tagging"]
    data: TaggedDataSection
    vectors: VectorsSection | None = None
    tags: TagsSection = TagsSection()
    model: TaggingModelSection = TaggingModelSection()
    training: TaggerTrainingSection = TaggerTrainingSection()
    output: Path

    @model_validator(mode="before")
    @classmethod
    def _defaults_of_fine_tuning(cls, values):
        model = values.get("model") if isinstance(values, dict) else None
        training = values.get("training", {}) if isinstance(model, dict) else None
        if isinstance(training, dict) and model.get("name") == "pretrained":
            if values.get("vectors") is not None:
                raise ValueError("`vectors` have no effect with pretrained; leave them out")
            overrides = model.get("overrides")
            frozen = isinstance(overrides, dict) and overrides.get("train_backbone") is False
            training = fine_tuning(training, bool(model.get("lora_rank")), frozen)
            values = {**values, "training": training}
        return values
