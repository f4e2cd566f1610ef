"""The paper's chapter on transposed convolutions and the generator that they make up."""

ORDER = 50
TITLE = "Pictures from a generator"
TABLES = ("ladder", "home", "verdicts")
LOOKS = {
    "home": ("copies home", "green", (6, 1, 0), ""),
    "mpi_home": ("copies home, ranks", "indigo", (6, 1, 30), ""),
    "pytorch_home": ("PyTorch, copies home", "sky", (6, 0, 0), ""),
}
