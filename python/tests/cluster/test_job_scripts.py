"""The job scripts of deploy/cluster: their syntax, and a dry run of their commands with variables of a scheduler."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

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
        # The words of srun end where the program begins. Since Slurm 22.05, a step has one processor for each task if nobody asks
        # for more.
        "srun": """
            echo "$* mode=$RAY_AUTH_MODE token=${#RAY_AUTH_TOKEN}" >> srun.log
            processors=1
            while [ "${1#-}" != "$1" ]; do
                case $1 in --cpus-per-task=*) processors=${1#*=} ;; esac
                shift
            done
            for word in "$@"; do
                case $word in --num-cpus=*) test "${word#*=}" -le "$processors" || exit 9 ;; esac
            done
            exec "$@\"""",
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
    script = str(SCRIPTS / "slurm-array.sh")

    def submit(*tasks: int) -> None:
        limits = {"MIN": min(tasks), "MAX": max(tasks), "COUNT": len(tasks)}
        variables = {f"SLURM_ARRAY_TASK_{name}": str(value) for name, value in limits.items()}
        for task in tasks:
            variables["SLURM_ARRAY_TASK_ID"] = str(task)
            words = ["bash", script, "4", "compare", "s.toml", "out", *CHOICES]
            run(place, *words, SLURM_CPUS_PER_TASK="1", **variables)

    # Four runs in four shards. Two tasks were lost, and are submitted again alone.
    submit(0, 2)
    assert len(list((place / "out" / "runs").glob("*/model.safetensors"))) == 2
    submit(1, 3)
    assert len(list((place / "out" / "runs").glob("*/model.safetensors"))) == 4
    run(place, "python", "-m", "fedflip", "compare", "s.toml", "--out", "out", "--resume", *CHOICES)
    assert (place / "out" / "compare.json").exists()


def test_the_array_of_slurm_asks_for_the_number_of_shards(place: Path) -> None:
    words = ["bash", str(SCRIPTS / "slurm-array.sh")]
    done = subprocess.run(words, cwd=place, capture_output=True, text=True)
    assert done.returncode != 0 and "how many shards" in done.stderr


def image_of(target: str) -> dict[str, str]:
    """The instructions of a target of the Containerfile, by name."""
    text = (SCRIPTS.parent / "Containerfile").read_text()
    [stage] = [
        part for part in re.split(r"(?m)^(?=FROM )", text) if re.match(rf"FROM .* AS {target}\n", part)
    ]
    return dict(line.split(" ", 1) for line in stage.splitlines() if line)


def expanded(container: dict[str, Any], values: dict[str, str]) -> tuple[list[str], dict[str, str]]:
    """The arguments and variables of a container, as Kubernetes makes them: only variables of ``env`` are replaced."""
    variables = {
        each["name"]: each["value"] if "value" in each else values[each["valueFrom"]["fieldRef"]["fieldPath"]]
        for each in container["env"]
    }
    refer = re.compile(r"\$\((\w+)\)")
    args = [refer.sub(lambda found: variables.get(found[1], found[0]), word) for word in container["args"]]
    return args, variables


def test_the_indexed_job_of_kubernetes_is_a_whole_comparison(place: Path) -> None:
    yaml = pytest.importorskip("yaml")
    claim, job = yaml.safe_load_all((SCRIPTS / "kubernetes-job.yaml").read_text())
    assert claim["kind"] == "PersistentVolumeClaim" and job["spec"]["completionMode"] == "Indexed"
    pod, image = job["spec"]["template"]["spec"], image_of("server")
    [container] = pod["containers"]
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in pod["volumes"]}
    # The image has no shell, and its user writes to the volume.
    assert image["FROM"] == "scratch AS server" and image["ENTRYPOINT"] == '["/fedflip"]'
    assert "command" not in container
    security = pod["securityContext"]
    assert image["USER"] == f"{security['runAsUser']}:{security['runAsGroup']}"
    assert security["fsGroup"] == security["runAsGroup"]
    completions = job["spec"]["completions"]
    for index in range(completions):
        field = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
        args, variables = expanded(container, {field: str(index)})
        assert args[-1] == f"--shard={index}/{completions}" and variables["FEDFLIP_DATA"].startswith("/runs/")
        args = [word.replace("/scenario/", f"{place}/").replace("/runs/", f"{place}/") for word in args]
        # The entry point is the program itself.
        run(place, "fedflip", *args, *CHOICES)
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
    assert all("--cpus-per-task=1 " in line and "mode=token token=64" in line for line in (head, others))
    # Each raylet has one processor, so the two workers are on different machines.
    [session] = json.loads((place / "run" / "host.json").read_text())["sessions"]
    assert session["workers"] == {"crew": "RayCrew", "joined": 2}


def test_the_ray_job_of_slurm_says_which_word_is_missing(place: Path) -> None:
    done = subprocess.run(["bash", str(SCRIPTS / "slurm-ray.sh")], cwd=place, capture_output=True, text=True)
    assert done.returncode != 0 and "name the scenario" in done.stderr


def test_the_ray_job_of_slurm_refuses_a_ray_that_checks_no_tokens(place: Path) -> None:
    """The variables do nothing before Ray 2.52, and everybody on the network could send work."""
    (place / "old" / "ray").mkdir(parents=True)
    (place / "old" / "ray" / "__init__.py").write_text('__version__ = "2.51.1"\n')
    path = os.pathsep.join([str(place / "bin"), os.environ["PATH"]])
    variables = {"SLURM_JOB_NODELIST": "127.0.0.1", "SLURM_JOB_NUM_NODES": "1", "SLURM_CPUS_PER_TASK": "1"}
    done = subprocess.run(
        ["bash", str(SCRIPTS / "slurm-ray.sh"), "s.toml", "run"],
        cwd=place,
        env={**os.environ, **variables, "SLURM_JOB_ID": "1", "PATH": path, "PYTHONPATH": str(place / "old")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1 and "Ray 2.52 or later" in done.stderr
    assert not (place / "srun.log").exists()
