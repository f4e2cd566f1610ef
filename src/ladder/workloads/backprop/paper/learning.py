"""Time to an error: the epoch at which a curve gets there, times the time of an epoch."""

from ladder.report.telling.lines import select

# Of an image: what a network has that answers each digit with its share of the images, 0.5 (0.9^2 + 9 0.1^2).
ERROR = 0.45
TRAINED = (
    select("tuned", "learning"),
    select("numpy_loop", "learning"),
    select("cuda_fused", "learning on a card"),
)


def epochs_of(study, selection):
    """The epochs to the error in the curve of a training; None where it wasn't measured, or doesn't get there."""
    rows = study.find(selection)
    if rows.empty:
        return None
    first = rows.iloc[0]
    case = {"variant": first["variant"], "case": first["case"]}
    return epochs_to(study.machine_of(selection).rows("curves", first["experiment"], **case), int(first["images"]))


def epochs_to(curve, images, error=ERROR):
    """The first epoch whose error is at most so much for each image; None if none is."""
    reached = curve[curve["loss"] <= error * images]["epoch"] if len(curve) else ()
    return int(min(reached)) if len(reached) else None
