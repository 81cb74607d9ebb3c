"""Whether a learner is pure: equal arguments give equal bytes, in any order and in any process."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, cast

from fedflip._arguments import flag, instance
from fedflip._check_probe import GlobalState, Outcome, Probe, changed_seed, thread_count
from fedflip._check_report import Finding, LearnerReport
from fedflip._errors import FedflipError, InputError, LearnerError
from fedflip._key import TrainKey
from fedflip._learner import FlatLearner
from fedflip._process_crew import ProcessCrew
from fedflip._process_parcel import pack, unpack

__all__ = ["check_learner"]


def check_learner(learner: Any, *, key: TrainKey | None = None, processes: bool = True) -> LearnerReport:
    """Trains one key again and again under different circumstances, and says where randomness leaks in.

    The function trains the key about twelve times: again, after other keys, with other seeds of the global generators of
    torch, numpy and random, with another number of threads, and in two other processes with different hash seeds. It
    compares updates and evaluations to the byte. It also looks for a changed model, and for a result that is the local
    model instead of its change. It raises no exception for what it finds.

    Args:
        learner: Any ``Learner``.
        key: The training to repeat; by default that of the first device with samples, in round 1.
        processes: Whether to train in other processes, too.

    Returns:
        A report; ``report.ok`` says whether the learner is pure, and ``report.raise_if_bad()`` is for tests.

    Examples:
        >>> class Leaky:
        ...     devices = 1
        ...     def samples(self, device): return 1
        ...     def initial(self, seed): return np.zeros(3, np.float32)
        ...     def train(self, model, key): return np.random.rand(3).astype(np.float32), 0.0
        ...     def evaluate(self, model): return {}
        >>> import numpy as np
        >>> check_learner(Leaky(), processes=False).failures[0].check
        'train with another seed of numpy.random'
    """
    remedy = "leave key out, or give TrainKey(seed=1, round=1, device=0)"
    instance("key", key, TrainKey, "a TrainKey", optional=True, remedy=remedy)
    flag("processes", processes)
    begun = time.perf_counter()
    name = type(learner).__name__
    before = GlobalState()
    findings: list[Finding] = []
    notes: list[str] = []
    try:
        _Checks(FlatLearner(learner), key, findings, notes).run(processes)
    except FedflipError as error:
        findings.append(Finding("the learner answers", False, error.problem, error.remedy))
    finally:
        before.restore()
    return LearnerReport(name, tuple(findings), tuple(notes), time.perf_counter() - begun)


class _Checks:
    """The checks of one learner, in the order in which one explains the next."""

    def __init__(
        self, flat: FlatLearner, key: TrainKey | None, findings: list[Finding], notes: list[str]
    ) -> None:
        self.flat, self.findings, self.notes = flat, findings, notes
        self.key = key if key is not None else TrainKey(1, 1, _first_device(flat))

    def run(self, processes: bool) -> None:
        seed = self.key.seed
        changed_seed("all", 1)
        model = self.flat.initial(seed)
        changed_seed("all", 2)
        same = model.tobytes() == self.flat.initial(seed).tobytes()
        source = "" if same else "draw the first parameters from a generator that `seed` seeds"
        self.findings.append(
            Finding(f"initial({seed}) twice", same, "" if same else "the models differ", source)
        )
        self.probe = Probe(self.flat, model, self.key)
        self.base = self.probe.train()
        finite = self.base.is_finite
        self.findings.append(
            Finding(
                "train",
                finite,
                "" if finite else "the update has NaN or infinity",
                "" if finite else "lower the rate",
            )
        )
        # Without its result, and with a model that changes, nothing else can be compared.
        if not self._unchanged():
            return
        if self._repeated():
            self._disturbed()
        self._evaluated()
        if processes:
            self._elsewhere()
        # Between results that differ anyway, a difference tells nothing.
        if all(finding.ok for finding in self.findings):
            self._is_change()
        self._remarks()

    def _is_change(self) -> None:
        """Whether the result is the change of the model, and not the local model, which follows the current one."""
        followed = self.probe.followed()
        # More than the movement itself is a rate that is far too high.
        ok = not 0.5 < followed < 1.5
        detail = (
            ""
            if ok
            else f"where the model moves, the result moves with it: {followed:.2f} times the movement"
        )
        self.findings.append(Finding("train returns the change", ok, detail, "" if ok else _LOCAL_MODEL))

    def _compare(self, check: str, trained: Outcome, source: str) -> bool:
        """Compares another training with the first one."""
        difference = self.base.difference(trained)
        ok = difference is None
        self.findings.append(
            Finding(check, ok, "" if ok else str(difference), "" if ok else source, difference)
        )
        return ok

    def _repeated(self) -> bool:
        if self._compare("train again", self.probe.train(), ""):
            return True
        found = self.findings.pop()
        try:
            parcel = pack(self.flat)
            fresh = [
                Probe(cast(FlatLearner, unpack(parcel)), self.probe.model, self.key).train() for _ in range(2)
            ]
            kept = fresh[0].difference(fresh[1]) is None
            source = _STATE if kept else _ENTROPY
        except FedflipError:
            source = f"either {_STATE}; or {_ENTROPY}"
        self.findings.append(
            Finding(found.check, False, found.detail, f"likely source: {source}", found.difference)
        )
        return False

    def _disturbed(self) -> None:
        for generator, advice in _GENERATORS.items():
            if changed_seed(generator, 1):
                trained = self.probe.train(partial(changed_seed, generator, 12345))
                self._compare(f"train with another seed of {generator}", trained, f"likely source: {advice}")
        self._compare(
            "train after other keys", self.probe.train(self._train_others), f"likely source: {_STATE}"
        )
        with thread_count(3) as changed:
            if changed:
                trained = self.probe.train()
                self._compare("train with 3 threads of torch", trained, f"likely source: {_THREADS}")

    def _train_others(self) -> None:
        for other in [
            self.key._replace(round=self.key.round + 1),
            self.key._replace(device=self._other_device()),
        ]:
            self.flat.train(self.probe.model, other)
        # Numbers that the others drew are no difference, so that only state in the learner is one.
        changed_seed("all", 1)

    def _unchanged(self) -> bool:
        ok = self.probe.is_model_unchanged
        detail = "" if ok else "train changed the model it was lent"
        self.findings.append(
            Finding("the model after training", ok, detail, "" if ok else f"likely source: {_MUTATION}")
        )
        return ok

    def _evaluated(self) -> None:
        first = self.probe.evaluate()
        changed_seed("all", 12345)
        second = self.probe.evaluate()
        names = [name for name in first if first[name] != second.get(name)]
        detail = "" if not names else f"{names[0]!r} is {first[names[0]]} and then {second.get(names[0])}"
        source = (
            ""
            if not names
            else "likely source: dropout or random samples in evaluate; use eval() and fixed test data"
        )
        self.findings.append(Finding("evaluate twice", not names, detail, source))
        self.scores = first

    def _elsewhere(self) -> None:
        try:
            with ThreadPoolExecutor(2) as threads:
                (one, scores), (other, _) = threads.map(self._in_process, ["1", "2"])
            between = one.difference(other)
            if between is not None:
                source = _HASH if one.difference(self._in_process("1")[0]) is None else _ENTROPY
                detail, advice = str(between), f"likely source: {source}"
                self.findings.append(Finding("train in two other processes", False, detail, advice, between))
                return
        except (InputError, LearnerError) as error:
            self.findings.append(Finding("train in another process", False, error.problem, error.remedy))
            return
        with thread_count(1):
            alone = self.probe.train()
        source = _THREADS if alone.difference(one) is None else _PROCESS
        same = self._compare("train in another process", one, f"likely source: {source}")
        if same:
            names = [name for name in self.scores if self.scores[name] != scores.get(name)]
            detail = (
                ""
                if not names
                else f"{names[0]!r} is {self.scores[names[0]]} here and {scores.get(names[0])} there"
            )
            source = f"likely source: {_THREADS}" if names else ""
            self.findings.append(Finding("evaluate in another process", not names, detail, source))

    def _in_process(self, hash_seed: str) -> tuple[Outcome, dict[str, tuple[float, float]]]:
        with ProcessCrew(1, timeout_secs=self.flat.timeout_secs) as crew:
            crew.open(self.flat, environment={"PYTHONHASHSEED": hash_seed})
            return self.probe.train_in(crew)

    def _remarks(self) -> None:
        other = Probe(self.flat, self.probe.model, self.key._replace(rate_factor=0.5)).train()
        if self.base.difference(other) is None:
            self.notes.append(
                "rate_factor of the key has no effect; schemes that put the weight there need it"
            )
        self.notes.append(f"one training takes {self.base.secs * 1e3:.3g} ms; {self.flat.size:,} parameters")

    def _other_device(self) -> int:
        others = [device for device in range(min(self.flat.devices, 100)) if device != self.key.device]
        return next((device for device in others if self.flat.samples(device) > 0), self.key.device)


def _first_device(flat: FlatLearner) -> int:
    return next((device for device in range(flat.devices) if flat.samples(device) > 0), 0)


_GENERATORS = {
    "torch": "dropout, shuffling or noise from torch's global generator; call fedflip.seed_torch(key) first in train",
    "numpy.random": "functions of numpy.random; use key.numpy_generator(), or call fedflip.seed_torch(key) first in train",
    "random": "functions of the module random; use random.Random(key.stream_seed())",
}
_STATE = (
    "the learner keeps something between calls, such as momentum, a counter, a generator or buffers of a module; "
    "make it anew in every train"
)
_ENTROPY = (
    "random numbers that the key does not determine, such as numpy.random.default_rng() without a seed, the clock, "
    "or memory that is not initialised; seed every generator with key.stream_seed()"
)
_HASH = "the order of a set or of hash(text), which differs between processes; sort before iterating"
_THREADS = (
    "sums on several threads; call torch.set_num_threads(1) in train, and set OMP_NUM_THREADS=1 for numpy"
)
_MUTATION = (
    "a tensor that shares memory with the model, as torch.from_numpy(model) does; use torch.tensor(model)"
)
_LOCAL_MODEL = (
    "likely source: train returns the local model; return the local model minus the model that it got"
)
_PROCESS = (
    "something that only this process has: settings of torch made in the script (put them into the learner), "
    "environment variables, the order of sets, or attributes that pickling drops"
)
