"""The NVIDIA GPUs of this machine, their state under load and their energy, as NVML reports them."""

import contextlib
import functools
import os
import re
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from ladder.errors import LadderError

# The beginning of a word of CUDA_VISIBLE_DEVICES that selects a GPU; a UUID is split from the text that follows it.
NUMBER = re.compile(r"[ \t\n\v\f\r]*([+-]?[0-9]+)")
UUID = re.compile(r"GPU-([0-9a-fA-F-]*)(.*)", re.DOTALL)

# Why a GPU has its current clock: the bits that NVML calls nvmlClocksEventReason...
REASONS = {
    0x1: "gpu_idle",
    0x2: "applications_clocks_setting",
    0x4: "sw_power_cap",
    0x8: "hw_slowdown",
    0x10: "sync_boost",
    0x20: "sw_thermal_slowdown",
    0x40: "hw_thermal_slowdown",
    0x80: "hw_power_brake_slowdown",
    0x100: "display_clock_setting",
}

# The reasons that mean throttling, by power or by temperature.
THROTTLING = {"sw_power_cap", "hw_slowdown", "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown"}


@functools.cache
def library() -> ModuleType | None:
    """NVML's bindings, initialised once in this process; None without a driver."""
    import pynvml  # here, because most processes query no GPU

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None
    return pynvml


def gpus() -> list[dict[str, str]]:
    """The GPUs that CUDA shows to this process, in its order, [{name, uuid, memory, driver, capability}].

    Without CUDA_VISIBLE_DEVICES, the order is NVML's. Raises LadderError as `visible_gpus` does.
    """
    if not (nvml := library()):
        return []
    descriptions = {}
    for index in range(nvml.nvmlDeviceGetCount()):
        with contextlib.suppress(nvml.NVMLError):  # skips a GPU that has failed
            descriptions[index] = description(nvml, nvml.nvmlDeviceGetHandleByIndex(index))
    return visible_gpus(descriptions, os.environ.get("CUDA_VISIBLE_DEVICES"))


def visible_gpus(gpus: Mapping[int, dict[str, str]], choice: str | None) -> list[dict[str, str]]:
    """The descriptions of the GPUs that CUDA shows if CUDA_VISIBLE_DEVICES is `choice`, None for unset.

    `gpus` are all GPUs, {number: description}. The rules are the driver's observed behaviour: The first word decides
    whether all words are numbers or UUIDs. A UUID may be shortened to a unique beginning. A word of the other kind, or
    a word that matches no GPU or several, ends the list. A GPU that is listed twice makes the list empty. Raises
    LadderError if GPUs are selected by number where models differ, unless they are numbered in the order of the bus.
    """
    if choice is None:
        return list(gpus.values())
    by_uuid = choice.startswith("GPU-")
    if not by_uuid and NUMBER.match(choice) and len({gpu["name"] for gpu in gpus.values()}) > 1:
        require_bus_order(choice)
    numbers = []
    for word in choice.split(","):
        matches = [number for number, gpu in gpus.items() if is_uuid_of(gpu, word)] if by_uuid else leading_number(word)
        if len(matches) != 1 or matches[0] not in gpus:
            break
        numbers += matches
    return [gpus[number] for number in numbers] if len(set(numbers)) == len(numbers) else []


def leading_number(word: str) -> list[int]:
    """A list of the number at the beginning of a word, as C's strtoul reads it into 32 bits; empty without a number."""
    match = NUMBER.match(word)
    if not match:
        return []
    number = int(match[1])
    return [(number if abs(number) < 2**64 else -1) % 2**32]


def is_uuid_of(gpu: Mapping[str, str], word: str) -> bool:
    """Whether a word begins with a GPU's UUID, or is a beginning of the UUID; hyphens are ignored."""
    if not (match := UUID.match(word)):
        return False
    digits, uuid = (text.replace("-", "").lower() for text in (match[1], gpu["uuid"].removeprefix("GPU-")))
    is_beginning = digits != "" and match[2] == ""
    return digits.startswith(uuid) or (is_beginning and uuid.startswith(digits))


def require_bus_order(choice: str) -> None:
    """Refuse GPU numbers unless they follow the bus: CUDA's default order, fastest first, can't be known here."""
    if os.environ.get("CUDA_DEVICE_ORDER") != "PCI_BUS_ID":
        raise LadderError(
            f"CUDA_VISIBLE_DEVICES={choice} names GPUs by numbers, and this machine's GPUs differ, so that CUDA may "
            "number them differently from `nvidia-smi`. Set CUDA_DEVICE_ORDER=PCI_BUS_ID as well, or use the UUIDs "
            "that `nvidia-smi -L` lists."
        )


def description(nvml: ModuleType, handle: Any) -> dict[str, str]:
    """The description of a GPU in a record; all values are texts, the memory in MiB."""
    major, minor = nvml.nvmlDeviceGetCudaComputeCapability(handle)
    return {
        "name": nvml.nvmlDeviceGetName(handle),
        "uuid": nvml.nvmlDeviceGetUUID(handle),
        "memory": f"{nvml.nvmlDeviceGetMemoryInfo(handle).total // 2**20} MiB",
        "driver": nvml.nvmlSystemGetDriverVersion(),
        "capability": f"{major}.{minor}",
    }


def uuid_at(address: str) -> str | None:
    """The UUID of the GPU at an address of the PCI bus, domain:bus:device.function; None if NVML finds none."""
    if nvml := library():
        with contextlib.suppress(nvml.NVMLError):
            return nvml.nvmlDeviceGetUUID(nvml.nvmlDeviceGetHandleByPciBusId(address))
    return None


def state(uuid: str) -> dict[str, Any]:
    """The current state of the GPU of this UUID: clocks in MHz, temperature in °C, power in W, and `reasons`.

    `reasons` are the REASONS for the current clock. Values that the GPU doesn't report are missing.
    """
    return query(
        uuid,
        clock=lambda nvml, handle: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM),
        memory_clock=lambda nvml, handle: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM),
        temperature=lambda nvml, handle: nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU),
        power=lambda nvml, handle: nvml.nvmlDeviceGetPowerUsage(handle) / 1000,
        reasons=lambda nvml, handle: reasons(nvml.nvmlDeviceGetCurrentClocksEventReasons(handle)),
    )


def energy(uuid: str) -> float | None:
    """The energy in J that the GPU of this UUID has used since its driver was loaded; None if it has no counter."""
    values = query(uuid, energy=lambda nvml, handle: nvml.nvmlDeviceGetTotalEnergyConsumption(handle) / 1000)
    return values.get("energy")


def query(uuid: str, **functions: Callable[[ModuleType, Any], Any]) -> dict[str, Any]:
    """Call functions with NVML and a GPU's handle: {name: value}, without values that the GPU doesn't report."""
    values, nvml = {}, library()
    if nvml:
        with contextlib.suppress(nvml.NVMLError):
            handle = nvml.nvmlDeviceGetHandleByUUID(uuid)
            for name, function in functions.items():
                with contextlib.suppress(nvml.NVMLError):
                    values[name] = function(nvml, handle)
    return values


def reasons(mask: int) -> list[str]:
    """The REASONS whose bits are set in a mask; an unknown bit as a hexadecimal number."""
    bits = [1 << position for position in range(mask.bit_length()) if mask >> position & 1]
    return [REASONS.get(bit, hex(bit)) for bit in bits]
