"""The NVIDIA GPUs of this machine, and their state at work."""

import os
import re

from ladder.machine.programs import output

GPU_PROPERTIES = {
    "name": "name",
    "uuid": "uuid",
    "memory": "memory.total",
    "driver": "driver_version",
    "capability": "compute_cap",
}

GPU_STATE = {
    "clock": "clocks.sm",
    "memory_clock": "clocks.mem",
    "temperature": "temperature.gpu",
    "power": "power.draw",
}

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


def gpus():
    """The cards that this process may use: [{name, uuid, memory, driver, capability}]; none where there are none."""
    text = output("nvidia-smi", f"--query-gpu=index,{','.join(GPU_PROPERTIES.values())}", "--format=csv,noheader")
    rows = [[value.strip() for value in line.split(",")] for line in text.splitlines() if line.count(",") >= 5]
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        rows = [row for row in rows if {row[0], row[2]} & set(visible.split(","))]
    return [dict(zip(GPU_PROPERTIES, row[1:], strict=True)) for row in rows]


def state(card):
    """What nvidia-smi tells of the card of this UUID now: clocks in MHz, temperature in °C, power in W, and `reasons`.

    The reasons are words of REASONS for the clock being what it is. What the card doesn't tell is left out.
    """
    asked = ",".join([*GPU_STATE.values(), "clocks_event_reasons.active"])
    text = output("nvidia-smi", f"--id={card}", f"--query-gpu={asked}", "--format=csv,noheader,nounits")
    *values, mask = [value.strip() for value in text.split(",")]
    found = {
        name: float(value) for name, value in zip(GPU_STATE, values, strict=False) if re.fullmatch(r"[0-9.]+", value)
    }
    return found | ({"reasons": reasons(int(mask, 16))} if re.fullmatch(r"0x[0-9a-fA-F]+", mask) else {})


def reasons(mask):
    """The words of a bit mask of REASONS; a bit without a word as hexadecimal number."""
    bits = [1 << place for place in range(mask.bit_length()) if mask >> place & 1]
    return [REASONS.get(bit, hex(bit)) for bit in bits]
