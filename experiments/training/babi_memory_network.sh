# Trains `babi_memory_network`. DATA is the folder of the corpora; the card names them.
#   DATA=FOLDER bash experiments/training/babi_memory_network.sh
set -euo pipefail
: "${DATA:?the folder of the corpora}"
cd "$(dirname "$0")/../.."

python experiments/babi.py --data ${DATA}/babi_en --joint
