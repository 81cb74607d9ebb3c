#!/usr/bin/env bash
# A comparison as an array of jobs, without an engine. The shards share one folder:
#
#   job=$(sbatch --parsable slurm-array.sh compare s.toml comparison)
#   sbatch --dependency=afterok:"$job" --wrap "python -m fedflip compare s.toml --out comparison --resume"
#
# The second job only reads the runs and writes comparison/compare.json. Words after the folder go to both commands, such as
# --seeds 5; `sweep` takes the same arguments and --over.
#SBATCH --job-name=fedflip-shard
#SBATCH --array=0-9
#SBATCH --cpus-per-task=8
#SBATCH --time=12:00:00
set -euo pipefail

command=${1:?compare or sweep}
scenario=${2:?name the scenario}
out=${3:?name the folder of all runs}
shift 3

python -m fedflip "$command" "$scenario" --out "$out" --resume --quiet --threads "$SLURM_CPUS_PER_TASK" \
    --shard "$((SLURM_ARRAY_TASK_ID - SLURM_ARRAY_TASK_MIN))/$SLURM_ARRAY_TASK_COUNT" "$@"
