#!/usr/bin/env bash
# One run on several machines of Slurm, with Ray between them:
#
#   sbatch slurm-ray.sh s.toml runs/auto
#
# The command resumes: submit it again after a time limit or a lost machine. All machines see the folder of this script's
# caller, and have the same Python with fedflip, Ray 2.52 or later, and the same data sets.
#SBATCH --job-name=fedflip-ray
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=32
#SBATCH --time=24:00:00
set -euo pipefail

scenario=${1:?name the scenario}
out=${2:?name the folder of the run}

# A machine may belong to several jobs: each has its own port, and says how many processors are its own.
port=$((20000 + SLURM_JOB_ID % 20000))
head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
others=$((SLURM_JOB_NUM_NODES - 1))
cpus=("--num-cpus=$SLURM_CPUS_PER_TASK")

# Only this job may send work to its workers: others do not know its token, which is kept nowhere. Earlier versions of Ray ignore
# the token, and would do the work of anybody who reaches the port.
python -c 'import ray, sys; sys.exit(tuple(map(int, ray.__version__.split(".")[:2])) < (2, 52))' || {
    echo "slurm-ray.sh needs Ray 2.52 or later, which checks tokens: pip install 'ray>=2.52'" >&2
    exit 1
}
RAY_AUTH_TOKEN=$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')
export RAY_AUTH_TOKEN RAY_AUTH_MODE=token

trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT

# A step does not inherit the processors of each task.
step=(srun --overlap "--cpus-per-task=$SLURM_CPUS_PER_TASK")
"${step[@]}" --nodes=1 --ntasks=1 --nodelist="$head" \
    ray start --head --block --port="$port" --include-dashboard=false "${cpus[@]}" &

# A head that answers may not be ready yet for drivers and for other machines.
ready=(python -c 'import ray, sys; ray.init(address=sys.argv[1], log_to_driver=False)' "$head:$port")
for _ in {1..60}; do
    "${ready[@]}" 2>/dev/null && break
    sleep 2
done

if ((others > 0)); then
    "${step[@]}" --nodes="$others" --ntasks="$others" --exclude="$head" \
        ray start --block --address="$head:$port" "${cpus[@]}" &
fi

python -m fedflip run "$scenario" --out "$out" --resume --quiet \
    --crew ray --address "$head:$port" --workers $((SLURM_JOB_NUM_NODES * SLURM_CPUS_PER_TASK))
