"""The NVIDIA GPUs of this machine, their state at work and their energy, as NVML reports them."""

import contextlib
import functools
import os
import re

from ladder.errors import LadderError

# How a word of CUDA_VISIBLE_DEVICES begins that names a card; of a UUID also what follows it.
NUMBER = re.compile(r"[ \t\n\v\f\r]*([+-]?[0-9]+)")
UUID = re.compile(r"GPU-([0-9a-fA-F-]*)(.*)", re.DOTALL)

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
    """The cards that this process may use: [{name, uuid, memory, driver, capability}]; none where there are none.

    They are those that CUDA sees, in its order. Raises LadderError where the order can't be known.
    """
    if not (nvml := library()):
        return []
    found = {}
    for index in range(nvml.nvmlDeviceGetCount()):
        with contextlib.suppress(nvml.NVMLError):  # a card that has failed is none
            found[index] = description(nvml, nvml.nvmlDeviceGetHandleByIndex(index))
    return visible(found, os.environ.get("CUDA_VISIBLE_DEVICES"))


def visible(cards, choice):
    """Of the cards, by their number, those that CUDA sees where CUDA_VISIBLE_DEVICES is `choice`, None for unset.

    As its driver was seen to read it. The first word says of all words whether they are numbers or UUIDs, of which
    enough of the beginning suffices. A word that is not of that kind, or is no card's, or several cards', ends the
    list; a card that is in it twice empties it. Raises LadderError for numbers where cards differ, unless they are
    known to be those of the bus.
    """
    if choice is None:
        return list(cards.values())
    by_uuid = choice.startswith("GPU-")
    if not by_uuid and NUMBER.match(choice) and len({card["name"] for card in cards.values()}) > 1:
        require_bus_order(choice)
    chosen = []
    for word in choice.split(","):
        named = [number for number, card in cards.items() if is_uuid_of(card, word)] if by_uuid else numbered(word)
        if len(named) != 1 or named[0] not in cards:
            break
        chosen += named
    return [cards[number] for number in chosen] if len(set(chosen)) == len(chosen) else []


def numbered(word):
    """The number that a word begins with, in a list, as strtoul reads it into 32 bits; none where it has no number."""
    found = NUMBER.match(word)
    if not found:
        return []
    number = int(found[1])
    return [(number if abs(number) < 2**64 else -1) % 2**32]


def is_uuid_of(card, word):
    """Whether a word is a card's UUID, whatever follows it, or the beginning of it; hyphens count for nothing."""
    if not (found := UUID.match(word)):
        return False
    digits, due = (text.replace("-", "").lower() for text in (found[1], card["uuid"].removeprefix("GPU-")))
    is_beginning = digits != "" and found[2] == ""
    return digits.startswith(due) or (is_beginning and due.startswith(digits))


def require_bus_order(choice):
    """Refuse numbers of cards in an order that CUDA alone knows, since it puts the fastest first."""
    if os.environ.get("CUDA_DEVICE_ORDER") != "PCI_BUS_ID":
        raise LadderError(
            f"CUDA_VISIBLE_DEVICES={choice} names GPUs by numbers, and this machine's GPUs differ, so that CUDA may "
            "number them otherwise than `nvidia-smi`. Set CUDA_DEVICE_ORDER=PCI_BUS_ID as well, with which it doesn't, "
            "or use the UUIDs that `nvidia-smi -L` lists."
        )


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
