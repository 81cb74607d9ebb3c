"""The job scripts of deploy/cluster: their syntax, and a dry run of their commands with variables of a scheduler."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[3] / "deploy" / "cluster"
SCENARIO = 'seed = 3\n[task]\nname = "synthetic"\n[stop]\nrounds_max = 20\ntarget_accuracy = 0.3\n'
CHOICES = ["--schemes", "auto,full", "--seeds", "2", "--no-pilot"]
if not SCRIPTS.is_dir():
    pytest.skip("the scripts are not part of the wheel", allow_module_level=True)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a scenario, and programs in the place of those of a cluster."""
    (tmp_path / "s.toml").write_text(SCENARIO)
    programs = tmp_path / "bin"
    programs.mkdir()
    lines = {
        "python": f'exec {sys.executable} "$@"',
        "fedflip": f'exec {sys.executable} -m fedflip "$@"',
        # That of this Python, whose workers can import fedflip.
        "ray": f'exec {sys.executable} -m ray.scripts.scripts "$@"',
        # The list of nodes names them one by one.
        "scontrol": 'test "$1 $2" = "show hostnames" && printf "%s\\n" $3',
        # The words of srun end where the program begins.
        "srun": 'echo "$*" >> srun.log\nwhile [ "${1#-}" != "$1" ]; do shift; done\nexec "$@"',
    }
    for name, line in lines.items():
        (programs / name).write_text(f"#!/bin/sh\n{line}\n")
        (programs / name).chmod(0o755)
    return tmp_path


def run(place: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(place / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        words,
        cwd=place,
        env={**os.environ, "PATH": path, **variables},
        capture_output=True,
        text=True,
        timeout=290,
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.parametrize("script", sorted(SCRIPTS.glob("*.sh")), ids=lambda path: path.name)
def test_scripts_are_sound(script: Path) -> None:
    subprocess.run(["bash", "-n", str(script)], check=True)
    assert "#SBATCH" in script.read_text() and os.access(script, os.X_OK)
    shellcheck = shutil.which(
        "shellcheck", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    )
    if shellcheck is not None:
        done = subprocess.run([shellcheck, str(script)], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


def test_the_array_of_slurm_is_a_whole_comparison(place: Path) -> None:
    for task in ("7", "5", "6"):
        variables = {"SLURM_ARRAY_TASK_ID": task, "SLURM_ARRAY_TASK_MIN": "5", "SLURM_ARRAY_TASK_COUNT": "3"}
        script = str(SCRIPTS / "slurm-array.sh")
        run(place, "bash", script, "compare", "s.toml", "out", *CHOICES, SLURM_CPUS_PER_TASK="1", **variables)
    assert len(list((place / "out" / "runs").glob("*/model.safetensors"))) == 4
    run(place, "python", "-m", "fedflip", "compare", "s.toml", "--out", "out", "--resume", *CHOICES)
    assert (place / "out" / "compare.json").exists()


def test_the_indexed_job_of_kubernetes_is_a_whole_comparison(place: Path) -> None:
    yaml = pytest.importorskip("yaml")
    claim, job = yaml.safe_load_all((SCRIPTS / "kubernetes-job.yaml").read_text())
    assert claim["kind"] == "PersistentVolumeClaim" and job["spec"]["completionMode"] == "Indexed"
    [container] = job["spec"]["template"]["spec"]["containers"]
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in job["spec"]["template"]["spec"]["volumes"]}
    [text] = container["args"]
    completions = job["spec"]["completions"]
    assert f'--shard "$JOB_COMPLETION_INDEX/{completions}"' in text
    text = text.replace("/scenario/", f"{place}/").replace("/runs/", f"{place}/") + " " + " ".join(CHOICES)
    for index in range(completions):
        run(place, *container["command"], text, JOB_COMPLETION_INDEX=str(index))
    assert len(list((place / "comparison" / "runs").glob("*/model.safetensors"))) == 4


def test_the_ray_job_of_slurm_trains(place: Path) -> None:
    pytest.importorskip("ray")
    variables = {"SLURM_JOB_NODELIST": "127.0.0.1", "SLURM_JOB_NUM_NODES": "1", "SLURM_CPUS_PER_TASK": "2"}
    script = str(SCRIPTS / "slurm-ray.sh")
    run(place, "bash", script, "s.toml", "run", SLURM_JOB_ID=str(os.getpid()), **variables)
    assert (place / "run" / "model.safetensors").exists()
    assert '"RayCrew"' in (place / "run" / "host.json").read_text()


def test_the_ray_job_of_slurm_trains_on_several_machines(place: Path) -> None:
    """Two raylets on this machine stand for two machines: the first has the driver."""
    pytest.importorskip("ray")
    variables = {
        "SLURM_JOB_NODELIST": "127.0.0.1 node-2",
        "SLURM_JOB_NUM_NODES": "2",
        "SLURM_CPUS_PER_TASK": "1",
    }
    script = str(SCRIPTS / "slurm-ray.sh")
    run(place, "bash", script, "s.toml", "run", SLURM_JOB_ID=str(os.getpid() + 1), **variables)
    head, others = sorted(
        (place / "srun.log").read_text().splitlines(), key=lambda line: "--head" not in line
    )
    assert "--nodelist=127.0.0.1 ray start --head --block" in head and "--num-cpus=1" in head
    assert "--nodes=1 --ntasks=1 --exclude=127.0.0.1 ray start --block --address=127.0.0.1:" in others
    # Each raylet has one processor, so the two workers are on different machines.
    [session] = json.loads((place / "run" / "host.json").read_text())["sessions"]
    assert session["workers"] == {"crew": "RayCrew", "joined": 2}


def test_the_ray_job_of_slurm_says_which_word_is_missing(place: Path) -> None:
    done = subprocess.run(["bash", str(SCRIPTS / "slurm-ray.sh")], cwd=place, capture_output=True, text=True)
    assert done.returncode != 0 and "name the scenario" in done.stderr
