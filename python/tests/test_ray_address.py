"""The address of a Ray cluster, with a stand-in for Ray."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Iterator
from types import SimpleNamespace

import fedflip as ff
import pytest


@pytest.fixture
def reached(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses with which Ray was initialised."""
    addresses: list[str] = []
    ray = SimpleNamespace(
        is_initialized=lambda: False,
        init=lambda address, **_: addresses.append(address),
        cluster_resources=lambda: {"CPU": 2},
    )
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    return addresses


@pytest.fixture
def port() -> Iterator[int]:
    """A port of this machine that nobody else uses, and at which nobody listens yet."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@pytest.mark.parametrize("by_variable", [False, True], ids=["argument", "RAY_ADDRESS"])
def test_an_address_where_nobody_listens_is_refused_at_once(
    reached: list[str], port: int, monkeypatch: pytest.MonkeyPatch, by_variable: bool
) -> None:
    address = f"127.0.0.1:{port}"
    if by_variable:
        monkeypatch.setenv("RAY_ADDRESS", address)
    crew = ff.RayCrew(1, address=None if by_variable else address)
    began = time.monotonic()
    with pytest.raises(ff.FedflipError, match=f"Ray cannot be reached at '{address}'") as caught:
        ff.simulate(ff.Scenario("synthetic"), crew=crew, rounds_max=1, progress=False)
    assert time.monotonic() - began < 10
    assert "`ray start --head` printed, or auto" in caught.value.remedy
    assert not reached


def test_an_address_that_does_not_exist_is_refused(reached: list[str]) -> None:
    for address in ["no-such-host.invalid:6379", "127.0.0.1:70000"]:
        with pytest.raises(ff.FedflipError, match="Ray cannot be reached at"):
            ff.RayCrew(1, address=address)._make_engine()
    assert not reached


def test_an_address_where_somebody_listens_goes_to_ray(reached: list[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        ff.RayCrew(1, address=address)._make_engine()
    assert reached == [address]


@pytest.mark.parametrize("address", [None, "auto", "local", "ray://127.0.0.1:1"])
def test_other_addresses_are_left_to_ray(reached: list[str], address: str | None) -> None:
    ff.RayCrew(1, address=address)._make_engine()
    assert reached == [address or "local"]
