"""Time to an error: the epoch at which a curve gets there, times the time of an epoch."""

from ladder.report import study
from ladder.workloads.backprop.paper import query

# Of an image: what a network has that answers each digit with its share of the images, 0.5 (0.9^2 + 9 0.1^2).
ERROR = 0.45


def epochs_to(curve, images, error=ERROR):
    """The first epoch whose error is at most so much for each image; None if none is."""
    reached = curve[curve["loss"] <= error * images]["epoch"] if len(curve) else ()
    return int(min(reached)) if len(reached) else None


def cases(*machines):
    """{variant: (rows, curve)} of the trainings that some machines have measured, each on most threads, in float32."""
    known = {}
    for one in (machine.found for machine in machines):
        rows = one.samples(query.LEARNING)
        for variant in study.values(rows, "variant"):
            own = study.where(rows, variant=variant)
            most = max(study.values(own, "threads"), default=None)
            own = study.where(own, threads=most) if most else own
            case = own["case"].iloc[0]
            known.setdefault(variant, (own, one.rows("curves", query.LEARNING, variant=variant, case=case)))
    return known
