# Trains `tatoeba_en_fr_transformer`. DATA is the folder of the corpora; the card names them.
#   DATA=FOLDER bash experiments/training/tatoeba_en_fr_transformer.sh
set -euo pipefail
: "${DATA:?the folder of the corpora}"
cd "$(dirname "$0")/../.."

python experiments/tatoeba.py prepare ${DATA}/tatoeba/en-fr.tsv.gz runs/tatoeba_en_fr
python experiments/tatoeba.py prepare ${DATA}/tatoeba/en-de.tsv.gz runs/tatoeba_en_de
KERAS_BACKEND=jax keraszoo train experiments/recipes/tatoeba_en_fr_transformer.yaml --set training.steps=3922
keraszoo export runs/tatoeba_en_fr_transformer runs/int8 --format ctranslate2 --quantize int8
(cut -f1 runs/tatoeba_en_fr/train.tsv runs/tatoeba_en_de/train.tsv; zcat ${DATA}/tatoeba/en-de.tsv.gz | cut -f1) | sort -u > runs/more.en
cut -f2 runs/tatoeba_en_fr/train.tsv | sort -u > runs/more.fr
keraszoo translate runs/int8 runs/more.en --engine ctranslate2 | paste runs/more.en - > runs/forward.tsv
keraszoo translate tatoeba_fr_en_transformer runs/more.fr --engine ctranslate2 | paste - runs/more.fr > runs/back.tsv
python experiments/tatoeba_more.py runs/tatoeba_en_fr runs/tatoeba_en_fr_more --to fr --pairs runs/forward.tsv runs/back.tsv \
    --names ${DATA}/gazetteers/firstnames.txt.gz ${DATA}/gazetteers/surnames_us.txt.gz
keraszoo train experiments/recipes/tatoeba_en_fr_more.yaml
keraszoo export runs/tatoeba_en_fr_continued runs/int8 --format ctranslate2 --quantize int8
keraszoo translate runs/int8 runs/more.en --engine ctranslate2 | paste runs/more.en - > runs/forward.tsv
python experiments/tatoeba_more.py runs/tatoeba_en_fr runs/tatoeba_en_fr_more --to fr --pairs runs/forward.tsv runs/back.tsv \
    --names ${DATA}/gazetteers/firstnames.txt.gz ${DATA}/gazetteers/surnames_us.txt.gz
keraszoo train experiments/recipes/tatoeba_en_fr_more.yaml --set model.start_from=runs/tatoeba_en_fr_continued \
    --set model.overrides.num_layers=5 --set model.overrides.num_decoder_layers=3 --output runs/tatoeba_en_fr_deeper
keraszoo export runs/tatoeba_en_fr_deeper runs/int8 --format ctranslate2 --quantize int8
(cut -f1 runs/tatoeba_en_de/train.tsv runs/tatoeba_en_fr/train.tsv; zcat ${DATA}/tatoeba/en-de.tsv.gz ${DATA}/tatoeba/en-fr.tsv.gz | cut -f1) | sort -u > runs/more.en
keraszoo translate runs/int8 runs/more.en --engine ctranslate2 | paste runs/more.en - > runs/forward.tsv
python experiments/tatoeba_more.py runs/tatoeba_en_fr runs/tatoeba_en_fr_more --to fr --pairs runs/forward.tsv runs/back.tsv \
    --names ${DATA}/gazetteers/firstnames.txt.gz ${DATA}/gazetteers/surnames_us.txt.gz
KERAS_BACKEND=jax keraszoo train experiments/recipes/tatoeba_en_fr_more.yaml --set model.start_from=runs/tatoeba_en_fr_deeper \
    --set 'model.overrides={num_layers: 7, num_decoder_layers: 3, dropout: 0.15, attention_dropout: 0.1, hidden_dropout: 0.1}' \
    --set training.batch_tokens=8192 --set training.shapes=3 --set training.steps=15800 --set training.steps_per_evaluation=1580 \
    --set training.average_last=1 --set training.optimizer.learning_rate=0.001 --set training.optimizer.warmup_steps=500 \
    --output runs/tatoeba_en_fr_deepest
