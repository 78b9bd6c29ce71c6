# Trains `tatoeba_en_de_transformer`. DATA is the folder of the corpora; the card names them.
#   DATA=FOLDER bash experiments/training/tatoeba_en_de_transformer.sh
set -euo pipefail
: "${DATA:?the folder of the corpora}"
cd "$(dirname "$0")/../.."

python experiments/tatoeba.py prepare ${DATA}/tatoeba/en-de.tsv.gz runs/tatoeba_en_de
KERAS_BACKEND=jax keraszoo train experiments/recipes/tatoeba_en_de_transformer.yaml --set training.steps=3855
keraszoo export runs/tatoeba_en_de_transformer runs/int8 --format ctranslate2 --quantize int8
(cut -f1 runs/tatoeba_en_de/train.tsv; zcat ${DATA}/tatoeba/en-fr.tsv.gz | cut -f1) | sort -u > runs/more.en
cut -f2 runs/tatoeba_en_de/train.tsv | sort -u > runs/more.de
keraszoo translate runs/int8 runs/more.en --engine ctranslate2 | paste runs/more.en - > runs/forward.tsv
keraszoo translate tatoeba_de_en_transformer runs/more.de --engine ctranslate2 | paste - runs/more.de > runs/back.tsv
python experiments/tatoeba_more.py runs/tatoeba_en_de runs/tatoeba_en_de_more --pairs runs/forward.tsv runs/back.tsv \
    --names ${DATA}/gazetteers/firstnames.txt.gz ${DATA}/gazetteers/surnames_us.txt.gz
keraszoo train experiments/recipes/tatoeba_en_de_more.yaml
python experiments/tatoeba.py prepare ${DATA}/tatoeba/en-fr.tsv.gz runs/tatoeba_en_fr
keraszoo export runs/tatoeba_en_de_continued runs/int8 --format ctranslate2 --quantize int8
(cut -f1 runs/tatoeba_en_de/train.tsv runs/tatoeba_en_fr/train.tsv; zcat ${DATA}/tatoeba/en-de.tsv.gz ${DATA}/tatoeba/en-fr.tsv.gz | cut -f1) | sort -u > runs/more.en
keraszoo translate runs/int8 runs/more.en --engine ctranslate2 | paste runs/more.en - > runs/forward.tsv
python experiments/tatoeba_more.py runs/tatoeba_en_de runs/tatoeba_en_de_more --pairs runs/forward.tsv runs/back.tsv \
    --names ${DATA}/gazetteers/firstnames.txt.gz ${DATA}/gazetteers/surnames_us.txt.gz
KERAS_BACKEND=jax keraszoo train experiments/recipes/tatoeba_en_de_more.yaml --set model.start_from=runs/tatoeba_en_de_continued \
    --set 'model.overrides={num_layers: 7, num_decoder_layers: 3, dropout: 0.15, attention_dropout: 0.1, hidden_dropout: 0.1}' \
    --set training.batch_tokens=8192 --set training.shapes=3 --set training.steps=16000 --set training.steps_per_evaluation=1600 \
    --set training.average_last=1 --set training.optimizer.learning_rate=0.001 --set training.optimizer.warmup_steps=500 \
    --output runs/tatoeba_en_de_deeper
