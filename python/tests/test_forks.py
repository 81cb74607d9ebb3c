"""Learners that fork: the child neither continues the run nor keeps its folder."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import fedflip as ff
from learners import Quadratic

HERE = str(Path(__file__).parent)
PACKAGE = str(Path(ff.__file__).parents[1])


def run_forking(folder: Path, in_child: str) -> subprocess.CompletedProcess[str]:
    """A run whose learner forks once for each training; the child does what is asked for."""
    text = f"""
        import os
        import sys
        import time

        import fedflip as ff
        from learners import Quadratic

        class Forks(Quadratic):
            def train(self, model, key):
                if os.fork() == 0:
                    {in_child}
                return super().train(model, key)

        if __name__ == "__main__":
            ff.simulate(Forks(3), plan="full", rounds_max=3, seed=1, out="forks", progress=False)
            print("done")
        """
    (folder / "script.py").write_text(textwrap.dedent(text))
    path = os.pathsep.join([HERE, PACKAGE, os.environ.get("PYTHONPATH", "")])
    words = [sys.executable, "script.py"]
    with (folder / "stdout").open("w") as stdout, (folder / "stderr").open("w") as stderr:
        # Children that live on have these files open; a pipe would not end before they do.
        done = subprocess.run(
            words,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": path},
            stdout=stdout,
            stderr=stderr,
            timeout=60,
        )
    assert done.returncode == 0, (folder / "stderr").read_text()
    return done


def test_a_fork_that_comes_back_from_the_learner_does_not_continue_the_run(tmp_path: Path) -> None:
    run_forking(tmp_path, "pass")
    assert (tmp_path / "stdout").read_text() == "done\n"
    assert "forked came back" in (tmp_path / "stderr").read_text()
    ff.simulate(Quadratic(3), plan="full", rounds_max=3, seed=1, out=tmp_path / "calm", progress=False)
    for name in ("records.jsonl", "model.safetensors"):
        assert (tmp_path / "forks" / name).read_bytes() == (tmp_path / "calm" / name).read_bytes(), name


def test_a_fork_that_outlives_the_run_does_not_keep_its_folder(tmp_path: Path) -> None:
    run_forking(tmp_path, "time.sleep(30); os._exit(0)")
    settings = {"plan": "full", "rounds_max": 4, "seed": 1, "out": tmp_path / "forks"}
    assert len(ff.simulate(Quadratic(3), resume=True, progress=False, **settings)) == 4
