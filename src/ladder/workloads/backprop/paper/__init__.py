"""The chapter on back-propagation: the gains of loops, flags, threads and GPU kernels. Literals: docs/contracts.md."""

ORDER = 35
TITLE = "Back-propagation, loop by loop"
CATEGORY = "Backprop"
TABLES = ("programs", "memories", "kernels")
LOOKS = {  # {method: (label, colour, marker, dashes)}; further methods look as in other chapters
    "before": ("before tuning", "grey", (4, 0, 22), ""),
    "loop_order": ("loop order", "red", (3, 0, 90), ""),
    "contiguous": ("contiguous rows", "sky", (3, 0, 45), ""),
    "temporaries": ("temporaries", "orange", (3, 0, 270), ""),
    "fusion": ("fusion", "pink", (5, 0, 90), ""),
    "associativity": ("associativity", "brown", (6, 0, 0), ""),
    "tuned": ("tuned", "green", (4, 0, 0), ""),
    "cuda_flat": ("CUDA, one flat array", "rose", (8, 0, 0), ""),
    "cuda_kernels": ("CUDA, eleven kernels", "red", (9, 0, 0), ""),
}
