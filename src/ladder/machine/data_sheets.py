"""What data sheets promise of GPUs, by the driver's name of the model: FLOP/s without sparsity, and B/s of the memory.

Sources: NVIDIA H100 Tensor Core GPU data sheet (SXM, 2023) and NVIDIA H200 Tensor Core GPU data sheet (SXM, 2024).
`multiply-adds` are the rates without tensor cores.
"""

# The arithmetic of both models: FLOP/s by precision, and without tensor cores.
HOPPER_FLOPS = {
    "float64": 67e12,
    "float32": 67e12,
    "tf32": 494.7e12,
    "float16": 989.4e12,
    "multiply-adds": {"float64": 33.5e12, "float32": 67e12},
}
PEAK_RATES = {
    "NVIDIA H100 80GB HBM3": HOPPER_FLOPS | {"bandwidth": 3.35e12},
    "NVIDIA H200": HOPPER_FLOPS | {"bandwidth": 4.8e12},
}
