"""Every kernel that the library exports has a contract; a new one needs no entry in a list."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from absentia import kernels
from absentia.kernels import KERNELS_BY_NAME, Kernel
from kernels.contract import KernelContract

# Users' functions and matrices have no formula; categories have tables of their own.
WITHOUT_CONTRACT = {"Kernel", "CategoryKernel", "FunctionKernel", "PrecomputedKernel"}

EXPORTED = {
    name: found
    for name in kernels.__all__
    if isinstance(found := getattr(kernels, name), type) and issubclass(found, Kernel)
}


def _contracts(base=KernelContract):
    for path in Path(__file__).parent.glob("test_*.py"):
        importlib.import_module(f"kernels.{path.stem}")
    for contract in base.__subclasses__():
        yield from [contract, *_contracts(contract)]


def _parts(kernel):
    values = [kernel, *kernel.get_params().values()]
    return {type(value).__name__ for value in values if isinstance(value, Kernel)}


def test_every_exported_kernel_has_a_contract():
    tested = set()
    for contract in _contracts():
        if contract.make is not KernelContract.make:
            tested |= _parts(contract().make())
    assert set(EXPORTED) - WITHOUT_CONTRACT <= tested


@pytest.mark.parametrize("name", KERNELS_BY_NAME)
def test_kernels_with_a_name_are_exported(name):
    assert KERNELS_BY_NAME[name] in EXPORTED.values()
    assert KERNELS_BY_NAME[name].name == name
