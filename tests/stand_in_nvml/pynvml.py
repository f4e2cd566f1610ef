"""A stand-in for NVML's bindings: LADDER_FAKE_GPUS is the number of GPUs, LADDER_FAKE_GPU_STATE (JSON) their report.

On a node of Slurm a GPU is named after the node. If LADDER_FAKE_GPUS_LOG names a file, each process that asks adds a
line: the node, the job and the GPUs that it may use.
"""

import json
import os
import time
from pathlib import Path
from types import SimpleNamespace

NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_TEMPERATURE_GPU = "clock", "memory_clock", "temperature"


class NVMLError(Exception):
    pass


def nvmlInit():
    if path := os.environ.get("LADDER_FAKE_GPUS_LOG"):
        names = ("SLURMD_NODENAME", "SLURM_JOB_ID", "CUDA_VISIBLE_DEVICES")
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(" ".join(os.environ.get(name, "") for name in names) + "\n")
    if not nvmlDeviceGetCount():
        raise NVMLError("Driver Not Loaded")


def nvmlDeviceGetCount():
    return int(os.environ.get("LADDER_FAKE_GPUS", "0"))


def nvmlDeviceGetHandleByIndex(index):
    return index


def nvmlDeviceGetHandleByUUID(uuid):
    indices = {nvmlDeviceGetUUID(index): index for index in range(nvmlDeviceGetCount())}
    if uuid not in indices:
        raise NVMLError("Not Found")
    return indices[uuid]


def nvmlDeviceGetHandleByPciBusId(bus_id):
    index = int(bus_id.split(":")[1], 16)
    if index >= nvmlDeviceGetCount():
        raise NVMLError("Not Found")
    return index


def nvmlDeviceGetUUID(handle):
    return f"GPU-{os.environ.get('SLURMD_NODENAME') or f'00000000-0000-0000-0000-{handle:012}'}"


def nvmlDeviceGetName(handle):
    return "No GPU"


def nvmlSystemGetDriverVersion():
    return "580.1"


def nvmlDeviceGetCudaComputeCapability(handle):
    return 9, 0


def nvmlDeviceGetMemoryInfo(handle):
    return SimpleNamespace(total=100 * 2**20)


def state_value(name):
    state = json.loads(os.environ.get("LADDER_FAKE_GPU_STATE", "{}"))
    if name not in state:
        raise NVMLError("Not Supported")
    return state[name]


def nvmlDeviceGetClockInfo(handle, kind):
    return state_value(kind)


def nvmlDeviceGetTemperature(handle, sensor):
    return state_value(sensor)


def nvmlDeviceGetPowerUsage(handle):
    return state_value("power")


def nvmlDeviceGetCurrentClocksEventReasons(handle):
    return state_value("reasons")


def nvmlDeviceGetTotalEnergyConsumption(handle):
    """What LADDER_FAKE_GPU_STATE has as `energy`, in mJ; it grows every 20 ms where there are `watts` too."""
    watts = json.loads(os.environ.get("LADDER_FAKE_GPU_STATE", "{}")).get("watts", 0)
    return state_value("energy") + 20 * watts * int(time.monotonic() / 0.02)
