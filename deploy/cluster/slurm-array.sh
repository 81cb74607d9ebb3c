#!/usr/bin/env bash
# A comparison as an array of jobs, without an engine. The shards share one folder:
#
#   job=$(sbatch --parsable --array=0-9 slurm-array.sh 10 compare s.toml comparison)
#   sbatch --dependency=afterok:"$job" --wrap "python -m fedflip compare s.toml --out comparison --resume"
#
# The first word is the number of shards, and the number of a task is its shard, counted from 0. Tasks that were lost are submitted
# again alone, with the same number of shards: sbatch --array=3,7 slurm-array.sh 10 compare s.toml comparison
#
# The second job only reads the runs and writes comparison/compare.json. Words after the folder go to both commands, such as
# --seeds 5; `sweep` takes the same arguments and --over.
#SBATCH --job-name=fedflip-shard
#SBATCH --array=0-9
#SBATCH --cpus-per-task=8
#SBATCH --time=12:00:00
set -euo pipefail

shards=${1:?say how many shards there are, such as 10}
command=${2:?compare or sweep}
scenario=${3:?name the scenario}
out=${4:?name the folder of all runs}
shift 4

python -m fedflip "$command" "$scenario" --out "$out" --resume --quiet --threads "$SLURM_CPUS_PER_TASK" \
    --shard "$SLURM_ARRAY_TASK_ID/$shards" "$@"
