# Trains `tatoeba_de_en_transformer`. DATA is the folder of the corpora; the card names them.
#   DATA=FOLDER bash experiments/training/tatoeba_de_en_transformer.sh
set -euo pipefail
: "${DATA:?the folder of the corpora}"
cd "$(dirname "$0")/../.."

python experiments/tatoeba.py prepare ${DATA}/tatoeba/en-de.tsv.gz runs/tatoeba_en_de
python experiments/tatoeba.py reverse runs/tatoeba_en_de runs/tatoeba_de_en
keraszoo train experiments/recipes/tatoeba_de_en_transformer.yaml
