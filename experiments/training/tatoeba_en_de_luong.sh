# Trains `tatoeba_en_de_luong`. DATA is the folder of the corpora; the card names them.
#   DATA=FOLDER bash experiments/training/tatoeba_en_de_luong.sh
set -euo pipefail
: "${DATA:?the folder of the corpora}"
cd "$(dirname "$0")/../.."

# runs/tatoeba_en_de_more/train.tsv is written by the second round of tatoeba_en_de_transformer.sh.
python experiments/tatoeba.py prepare ${DATA}/tatoeba/en-de.tsv.gz runs/tatoeba_en_de
keraszoo train experiments/recipes/tatoeba_en_de_luong.yaml
KERAS_BACKEND=jax keraszoo train experiments/recipes/tatoeba_en_de_transformer.yaml
keraszoo distil runs/tatoeba_en_de_transformer --recipe experiments/recipes/tatoeba_en_de_luong.yaml --engine ctranslate2 \
    --set model.start_from=runs/tatoeba_en_de_luong --set 'subwords={model: runs/tatoeba_en_de_luong/joint.model}' \
    --set model.overrides.dropout=0.1 --set training.monitor=val_bleu --set training.epochs=12 \
    --set training.optimizer.learning_rate=0.001 --set training.optimizer.warmup_steps=500 \
    --output runs/tatoeba_en_de_luong_distilled
keraszoo train experiments/recipes/tatoeba_en_de_luong.yaml --set 'data.train={tsv: runs/tatoeba_en_de_more/train.tsv}' \
    --set model.start_from=runs/tatoeba_en_de_luong_distilled --set training.precision=mixed_bfloat16 --set model.overrides.units=512 \
    --set 'subwords={model: runs/tatoeba_en_de_luong_distilled/joint.model}' --set model.overrides.dropout=0.1 \
    --set training.monitor=val_bleu --set training.batch_tokens=4096 --set training.steps=6500 \
    --set training.steps_per_evaluation=650 --set training.average_last=3 --set training.optimizer.schedule=cosine \
    --set training.optimizer.learning_rate=0.003 --set training.optimizer.warmup_steps=300 --output runs/tatoeba_en_de_luong_more
