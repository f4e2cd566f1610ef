"""The NVIDIA GPUs of this machine, their state at work and their energy, as NVML reports them."""

import contextlib
import functools
import os

# Why a card's clock is what it is: the bits that NVML calls nvmlClocksEventReason...
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

# Those that hold it back for power or heat.
THROTTLING = {"sw_power_cap", "hw_slowdown", "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown"}


@functools.cache
def library():
    """NVML's bindings, initialised once in this process; None without a driver."""
    import pynvml  # here, because most processes ask no card

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None
    return pynvml


def gpus():
    """The cards that this process may use: [{name, uuid, memory, driver, capability}]; none where there are none."""
    if not (nvml := library()):
        return []
    found = []
    for index in range(nvml.nvmlDeviceGetCount()):
        with contextlib.suppress(nvml.NVMLError):  # a card that has failed is none
            found.append((str(index), description(nvml, nvml.nvmlDeviceGetHandleByIndex(index))))
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    chosen = None if visible is None else set(visible.split(","))
    return [card for index, card in found if chosen is None or {index, card["uuid"]} & chosen]


def description(nvml, handle):
    """What a record says of a card: texts, the memory in MiB."""
    major, minor = nvml.nvmlDeviceGetCudaComputeCapability(handle)
    return {
        "name": nvml.nvmlDeviceGetName(handle),
        "uuid": nvml.nvmlDeviceGetUUID(handle),
        "memory": f"{nvml.nvmlDeviceGetMemoryInfo(handle).total // 2**20} MiB",
        "driver": nvml.nvmlSystemGetDriverVersion(),
        "capability": f"{major}.{minor}",
    }


def uuid_at(place):
    """The UUID of the card at a place on the PCI bus, domain:bus:device.function; None where NVML finds none there."""
    if nvml := library():
        with contextlib.suppress(nvml.NVMLError):
            return nvml.nvmlDeviceGetUUID(nvml.nvmlDeviceGetHandleByPciBusId(place))
    return None


def state(card):
    """The state of the card of this UUID now: clocks in MHz, temperature in °C, power in W, and `reasons`.

    The reasons for the clock being what it is are of REASONS. What the card doesn't report is left out.
    """
    return asked(
        card,
        clock=lambda nvml, handle: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM),
        memory_clock=lambda nvml, handle: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM),
        temperature=lambda nvml, handle: nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU),
        power=lambda nvml, handle: nvml.nvmlDeviceGetPowerUsage(handle) / 1000,
        reasons=lambda nvml, handle: reasons(nvml.nvmlDeviceGetCurrentClocksEventReasons(handle)),
    )


def energy(card):
    """The energy in J that the card of this UUID has taken since its driver was loaded; None where it doesn't count."""
    found = asked(card, energy=lambda nvml, handle: nvml.nvmlDeviceGetTotalEnergyConsumption(handle) / 1000)
    return found.get("energy")


def asked(card, **questions):
    """The answers of a card to functions of NVML and its handle: {name: answer}, without what it doesn't report."""
    found, nvml = {}, library()
    if nvml:
        with contextlib.suppress(nvml.NVMLError):
            handle = nvml.nvmlDeviceGetHandleByUUID(card)
            for name, question in questions.items():
                with contextlib.suppress(nvml.NVMLError):
                    found[name] = question(nvml, handle)
    return found


def reasons(mask):
    """The names of the bits of a mask of REASONS; a bit without a name as hexadecimal number."""
    bits = [1 << place for place in range(mask.bit_length()) if mask >> place & 1]
    return [REASONS.get(bit, hex(bit)) for bit in bits]
