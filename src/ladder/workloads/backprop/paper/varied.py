"""One tuning changed at a time: of the loops on threads, and of the kernels of the earlier study on a card."""

from dataclasses import dataclass

from ladder.report import study


@dataclass(frozen=True)
class Form:
    """A variant, what its tunings are where nothing is changed, and which others were tried."""

    variant: str
    base: dict
    others: dict

    def rows(self, frame, **changes):
        """Its rows with some tunings changed, of a frame of one machine."""
        return study.where(frame, variant=self.variant, **(self.base | changes))

    def pairs(self, frame):
        """[(tuning, value, rows, rows of the base)] of what was measured on as many threads, the most of them."""
        every = [(name, value) for name, values in self.others.items() for value in values]
        found = [(name, value, *paired(self.rows(frame, **{name: value}), self.rows(frame))) for name, value in every]
        return [one for one in found if len(one[2]) and len(one[3])]


def paired(rows, base):
    """Two cases on equally many threads, the most on which both were measured; as they are on a card."""
    if "threads" not in rows or "threads" not in base or rows["threads"].isna().all():
        return rows, base
    most = max(set(study.values(rows, "threads")) & set(study.values(base, "threads")), default=None)
    return study.where(rows, threads=most), study.where(base, threads=most)


OPENMP = Form(
    "openmp",
    {"schedule": "static", "error": "reduction", "update": "accumulators", "simd": 1},
    {"schedule": ("dynamic", "guided"), "error": ("atomic",), "update": ("owner", "atomic"), "simd": (0,)},
)
FLAT = Form("cuda_flat", {"index": "offsets"}, {"index": ("walk",)})
KERNELS = Form(
    "cuda_kernels",
    {"operands": "shared", "scalars": "constant", "tables": "texture", "error": "block", "block": 256},
    {
        "operands": ("global",),
        "scalars": ("argument",),
        "tables": ("global", "readonly"),
        "error": ("atomic", "emulated"),
        "block": (64, 512),
    },
)
FORMS = {"host": (OPENMP,), "cuda": (KERNELS, FLAT)}
