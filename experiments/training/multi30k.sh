# The table of Multi30k in RESULTS.md: three seeds of a small Transformer, their ensemble, and students of an ensemble.
#   bash experiments/training/multi30k.sh FOLDER        # data/task1/raw of https://github.com/multi30k/dataset
set -euo pipefail
FOLDER=$(realpath "${1:?the folder of Multi30k}")
cd "$(dirname "$0")/../.."

mkdir -p runs/lower runs/student
for file in "$FOLDER"/*.gz; do zcat "$file" | sed 's/.*/\L&/' | gzip > "runs/lower/$(basename "$file")"; done
gzip -dkf runs/lower/*.gz
export MULTI30K=runs/lower
evaluate() {
    for part in val test_2016_flickr test_2017_flickr test_2017_mscoco; do
        keraszoo evaluate "runs/$1" --source "runs/lower/$part.en" --references "runs/lower/$part.de"
    done
}

# Three seeds.
keraszoo train experiments/recipes/multi30k_lower.yaml --output runs/lower_sixty
keraszoo train experiments/recipes/multi30k_lower.yaml --set training.seed=2 --output runs/lower_sixty_2
keraszoo train experiments/recipes/multi30k_lower.yaml --set training.seed=3 --output runs/lower_sixty_3
keraszoo ensemble runs/lower_sixty runs/lower_sixty_2 runs/lower_sixty_3 --output runs/lower_three_seeds

# The teachers: two seeds, and the first one trained for twice as long. They translate the training sentences.
keraszoo train experiments/recipes/multi30k_lower.yaml --set model.start_from=runs/lower_sixty \
    --set 'subwords={model: runs/lower_sixty/joint.model}' --set training.optimizer.learning_rate=0.0015 --output runs/lower_again
keraszoo ensemble runs/lower_sixty runs/lower_sixty_2 runs/lower_again --output runs/lower_three
keraszoo translate runs/lower_three runs/lower/train.en > runs/lower/translated.de
cat runs/lower/train.en runs/lower/train.en | gzip > runs/student/train.en.gz
cat runs/lower/train.de runs/lower/translated.de | gzip > runs/student/train.de.gz

# The students: each starts from a trained seed.
STUDENT="--set training.optimizer.learning_rate=0.001 --set training.optimizer.warmup_steps=400 --set training.epochs=10
    --set training.steps_per_evaluation=605"
keraszoo train experiments/recipes/multi30k_lower.yaml --set model.start_from=runs/lower_again $STUDENT \
    --set 'data.train={source: runs/student/train.en.gz, target: runs/student/train.de.gz}' \
    --set 'subwords={model: runs/lower_again/joint.model}' --output runs/lower_student
keraszoo train experiments/recipes/multi30k_lower.yaml --set model.start_from=runs/lower_sixty_2 $STUDENT \
    --set 'data.train={source: runs/student/train.en.gz, target: runs/student/train.de.gz}' \
    --set 'subwords={model: runs/lower_sixty_2/joint.model}' --set training.seed=2 --output runs/lower_student_2
keraszoo train experiments/recipes/multi30k_lower.yaml --set model.start_from=runs/lower_sixty_3 $STUDENT \
    --set 'data.train={source: runs/student/train.en.gz, target: runs/student/train.de.gz}' \
    --set 'subwords={model: runs/lower_sixty_3/joint.model}' --set training.seed=3 --output runs/lower_student_3
keraszoo ensemble runs/lower_student runs/lower_student_2 runs/lower_student_3 --output runs/lower_students

for model in lower_sixty lower_sixty_2 lower_sixty_3 lower_three_seeds lower_student lower_student_2 lower_student_3 \
    lower_students; do
    evaluate "$model"
done
