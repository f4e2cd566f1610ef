"""The chapter on transposed convolutions and the generator built from them. Literals: docs/contracts.md."""

ORDER = 50
TITLE = "Pictures from a generator"
CATEGORY = "Generator"
TABLES = ("gpus", "home", "layers", "most_gpus")
LOOKS = {  # {method: (label, colour, marker, dashes)}; further methods look as in other chapters
    "home": ("copied to host", "green", (12, 1, 0), ""),
    "mpi_home": ("copied to host, ranks", "indigo", (12, 1, 15), ""),
    "pytorch_home": ("PyTorch, copied to host", "sky", (11, 0, 0), ""),
}
