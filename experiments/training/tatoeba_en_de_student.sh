# Trains `tatoeba_en_de_student`. DATA is the folder of the corpora; the card names them.
#   DATA=FOLDER bash experiments/training/tatoeba_en_de_student.sh
set -euo pipefail
: "${DATA:?the folder of the corpora}"
cd "$(dirname "$0")/../.."

python experiments/tatoeba.py prepare ${DATA}/tatoeba/en-de.tsv.gz runs/tatoeba_en_de
KERAS_BACKEND=jax keraszoo train experiments/recipes/tatoeba_en_de_transformer.yaml
keraszoo distil runs/tatoeba_en_de_transformer --recipe experiments/recipes/tatoeba_en_de_student.yaml --engine ctranslate2
