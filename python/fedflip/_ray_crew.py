"""A crew of Ray actors."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedflip._arguments import count, mapped, number, text
from fedflip._cluster_crew import WORKERS_REMEDY, ClusterCrew
from fedflip._cluster_engine import Answered, Event, Gone, Joined, LostError, Order
from fedflip._cluster_worker import Actor
from fedflip._errors import FedflipError
from fedflip._learner_layout import Array
from fedflip._ray_address import chosen, try_connection, unreachable

__all__ = ["RayCrew"]


class RayCrew(ClusterCrew):
    """Workers that are actors of a Ray cluster (``pip install ray``).

    Each worker is an actor that loads learner and data once. A model is put into Ray's object store once, however many
    workers train from it. An actor, a raylet or a machine that dies costs its unfinished updates, which others repeat.

    Args:
        num_workers: The number of actors; by default as many as the cluster has room for.
        num_cpus: The processors of an actor.
        num_gpus: The GPUs of an actor, such as 0.25.
        address: The cluster, such as ``"auto"`` or ``"ray://host:10001"``. By default that of ``RAY_ADDRESS``, or one on this
            machine that ends with the crew.
        resources: Further resources of an actor, as Ray names them.
        mixed: Admit workers that differ in processor, version or data, and record them.
        join_secs: The longest time without any worker.

    Examples:
        >>> crew = RayCrew(num_workers=2)  # doctest: +SKIP
        >>> run = simulate(Scenario("synthetic"), crew=crew, rounds_max=5)  # doctest: +SKIP
    """

    def __init__(
        self,
        num_workers: int | None = None,
        *,
        num_cpus: float = 1,
        num_gpus: float = 0,
        address: str | None = None,
        resources: dict[str, float] | None = None,
        mixed: bool = False,
        join_secs: float = 300.0,
    ) -> None:
        super().__init__(mixed=mixed, join_secs=join_secs)
        self.num_workers = count("num_workers", num_workers, optional=True, least=1, remedy=WORKERS_REMEDY)
        self.address = text("address", address, optional=True)
        remedy = 'give amounts by name, such as {"disk": 1}'
        self.options: dict[str, Any] = {
            "max_restarts": -1,
            "scheduling_strategy": "SPREAD",
            "num_cpus": number("num_cpus", num_cpus, least=0),
            "num_gpus": number("num_gpus", num_gpus, least=0),
            "resources": mapped("resources", resources, "a dict of amounts", number, remedy, least=0),
        }

    def __repr__(self) -> str:
        return f"RayCrew(num_workers={self.num_workers}, address={self.address!r})"

    def _make_engine(self) -> _RayEngine:
        try:
            import ray
        except ModuleNotFoundError as error:
            raise FedflipError("RayCrew needs Ray", remedy="pip install 'ray>=2.49'") from error
        if began := not ray.is_initialized():
            address = chosen(self.address)
            try:
                try_connection(address)
                ray.init(address=address, include_dashboard=False, log_to_driver=False)
            except Exception as error:
                raise unreachable(address, error) from error
        return _RayEngine(ray, self.num_workers or self._room(ray.cluster_resources()), self.options, began)

    def _room(self, has: dict[str, float]) -> int:
        """The number of actors that a cluster with these resources has room for."""
        options = self.options
        asked = {"CPU": options["num_cpus"], "GPU": options["num_gpus"], **options["resources"]}
        rooms = [int(has.get(name, 0) / share) for name, share in asked.items() if share]
        return max(1, min(rooms, default=1))


class _RayEngine:
    """Orders as calls of actors, and answers as objects of Ray."""

    def __init__(self, ray: Any, slots: int, options: dict[str, Any], began: bool) -> None:
        self._ray, self.slots, self._options, self._began = ray, slots, options, began
        #: For each object that is awaited the slot and the ticket; no ticket for one who joins.
        self._awaited: dict[Any, tuple[int, int | None]] = {}
        self._updates, self._actors = dict[int, Any](), list[Any]()

    def start(self, parcel: bytes) -> None:
        made = self._ray.remote(Actor).options(**self._options)
        self._parcel = self._ray.put(np.frombuffer(parcel, np.uint8))
        self._actors = [made.remote() for _ in range(self.slots)]

    def join(self, slot: int) -> None:
        self._awaited[self._actors[slot].join.remote(self._parcel)] = (slot, None)

    def publish(self, model: Array) -> Any:
        return self._ray.put(model)

    def send(self, slot: int, order: Order) -> None:
        do = self._actors[slot].do.options(num_returns=2)
        answer, update = do.remote(order.model, order.kind, order.number, order.argument)
        self._awaited[answer] = (slot, order.ticket)
        if order.kind == "train":
            self._updates[order.ticket] = update

    def wait(self, secs: float) -> list[Event]:
        awaited = list(self._awaited)
        self._ray.wait(awaited, num_returns=1, timeout=secs, fetch_local=False)
        ready, _ = self._ray.wait(awaited, num_returns=len(awaited), timeout=0, fetch_local=False)
        events, gone = list[Event](), dict[int, str]()
        for answer in ready:
            slot, ticket = self._awaited.pop(answer)
            try:
                found = self._ray.get(answer)
            except self._ray.exceptions.RayError as error:
                gone.setdefault(slot, _why(error))
                continue
            if ticket is not None and not found[0]:
                self._updates.pop(ticket, None)
            events.append(Joined(slot, found) if ticket is None else Answered(slot, ticket, *found))
        self._awaited = {answer: order for answer, order in self._awaited.items() if order[0] not in gone}
        return [*events, *(Gone(slot, why) for slot, why in gone.items())]

    def fetch(self, ticket: int) -> Array:
        try:
            return np.asarray(self._ray.get(self._updates.pop(ticket)))
        except self._ray.exceptions.RayError as error:
            raise LostError(_why(error)) from None

    def close(self) -> None:
        for actor in self._actors if self._ray.is_initialized() else []:
            self._ray.kill(actor)
        if self._began:
            self._ray.shutdown()


def _why(error: Any) -> str:
    """The reason in one line: what a worker raised, or what Ray says of its end."""
    cause = getattr(error, "cause", None)
    return f"{type(cause).__name__}: {cause}" if cause else str(error).strip().partition("\n")[0]
