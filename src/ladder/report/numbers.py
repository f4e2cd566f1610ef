r"""The numbers and verdicts of the paper's sentences: one LaTeX value per key, written as `numbers.tex`.

The keys are fixed by this module, never by what was measured: a key without data has a value that says so in words, and
`\ifmeasured` tells it apart; a key that isn't here is an error of the text, and stops LaTeX. They read
`experiment/variant/…/quantity` and speak of one machine, the study's subject. Verdicts come from
`ladder.statistics.compare`, so that a sentence claims a difference only where the samples show one.
"""

import itertools
import math

import pandas as pd

from ladder.errors import LadderError
from ladder.report import latex, study
from ladder.report.latex import code, digits, listed, number, percent, rate, seconds, seconds_between
from ladder.statistics import intervals, verdicts

EXPERIMENTS = ("gemm_square", "gemm_large", "gemm_threads", "mlp_threads", "mlp_peers", "mlp_accuracy")
RUNGS = ("openmp", "interchanged", "tiled", "blas")
GEMM = (*RUNGS, "c_openmp")
FORMS = ("nn", "tn", "nt")
DTYPES = ("float64", "float32")
PEERS = {
    "tiled": {"variant": "host", "product": "tiled"},
    "blas": {"variant": "host", "product": "blas"},
    "numpy_loop": {"variant": "numpy_loop"},
    "pytorch": {"variant": "pytorch"},
}
KERNELS = ("read", "copy", "triad")
OPERATIONS = {"forward": "the forward products", "gradient": "the weight gradients", "delta": "the deltas"}
# A time within a tenth of the shortest counts as levelled off.
LEVEL = 1.1
# The earlier study's words: "from about 4 threads", "best at 12, worse at 24", "more than 99 %", "far ahead".
FINDINGS = {"levels-off": (3, 6), "best": 12, "worse": 24, "share": 0.99, "far": 2.0}


class Missing(str):
    """A value for want of a measurement: words that fit where the value would stand."""


NOTHING = Missing(r"\nomeasurement{}")
NO_ROWS = pd.DataFrame()


def numbers(found, protocol, margin):
    """Every key's value for a study, a measuring protocol and the margin of the ceilings."""
    parts = [
        about(found, protocol, margin),
        ceilings(found),
        gemm_square(found),
        gemm_large(found),
        gemm_threads(found),
        mlp_threads(found),
        mlp_peers(found),
        mlp_accuracy(found),
        validation(found),
        findings(found),
    ]
    keys = [key for part in parts for key in part]
    if len(keys) != len(set(keys)):
        raise LadderError("Two numbers of the paper have the same key: rename one in ladder.numbers.")
    return filled({key: value for part in parts for key, value in part.items()})


def filled(values):
    """The values, words in the place of those that are missing."""
    return {key: NOTHING if value is None else value for key, value in values.items()}


def text(values):
    """The definitions that `paper/ladder.tex` reads."""
    lines = [
        f"\\{'defineunmeasured' if isinstance(value, Missing) else 'defineresult'}{{{key}}}{{{value}}}"
        for key, value in values.items()
    ]
    return "\n".join(lines) + "\n"


# What every experiment's numbers are made of


def headed(prefix, values):
    """The values under longer keys."""
    return {f"{prefix}/{key}": value for key, value in values.items()}


def time_of(frame):
    """The median time of a case and its 95 % interval."""
    if frame.empty:
        return {"time": None, "interval": None}
    found = intervals.summary(study.processes(frame))
    return {"time": seconds(found.median), "interval": seconds_between(found.low, found.high)}


def rate_of(frame, ceiling):
    """FLOP/s at the median time, and its share of the ceiling."""
    if frame.empty:
        return {"rate": None, "share-of-ceiling": None}
    found = frame["flops"].iloc[0] / frame["seconds"].median()
    return {"rate": rate(found, "flops"), "share-of-ceiling": percent(found / ceiling) if ceiling else None}


def comparison(frame, other, name):
    """How a case does against another, as the predicate of a sentence."""
    if frame.empty or other.empty:
        return Missing(f"was not compared with {name} for want of a measurement")
    found = verdicts.compare(study.processes(frame), study.processes(other))
    if found.word == "faster":
        return f"is {number(1 / found.ratio)} times as fast as {name} ({between(1 / found.high, 1 / found.low)})"
    if found.word == "slower":
        return f"takes {number(found.ratio)} times as long as {name} ({between(found.low, found.high)})"
    if not bounded(found.low, found.high):
        return f"takes {number(found.ratio)} times as long as {name} (from too few processes to rule out chance)"
    around = f"it takes {number(found.ratio)} times as long; {between(found.low, found.high)}"
    return f"can't be told apart from {name} ({around})"


def bounded(low, high):
    """Whether an interval of ratios has ends."""
    return low > 0 and high < math.inf


def between(low, high, level=99):
    """An interval of ratios, in brackets' words."""
    if not bounded(low, high):
        return "no interval from so few processes"
    return f"\\qty{{{level}}}{{\\percent}} interval \\numrange{{{digits(low)}}}{{{digits(high)}}}"


def threads_named(count):
    """1 thread, 2 threads."""
    return f"\\num{{{count}}} thread{'s' if count > 1 else ''}"


def by_threads(frame):
    """The rows of every thread count."""
    return {count: study.where(frame, threads=count) for count in study.values(frame, "threads")}


def fastest(cases):
    """The key of the case with the shortest median."""
    return min(cases, key=lambda key: cases[key]["seconds"].median())


def levels_off(cases):
    """The fewest threads whose median is within a tenth of the shortest."""
    shortest = cases[fastest(cases)]["seconds"].median()
    return min(count for count in cases if cases[count]["seconds"].median() <= LEVEL * shortest)


def scaling(cases):
    """How the time goes with the number of threads: {threads: rows} to numbers and a predicate."""
    names = ("fewest-threads", "fewest-time", "best-threads", "best-time", "most-threads", "speedup", "levels-off")
    if not cases:
        return dict.fromkeys(names) | {"scaling": Missing("has no measurement")}
    few, best, most = min(cases), fastest(cases), max(cases)
    start, end = (seconds(cases[count]["seconds"].median()) for count in (few, best))
    single = f"was measured on {threads_named(few)} alone: {start}"
    values = {"fewest-threads": threads_named(few), "fewest-time": start, "best-threads": threads_named(best)}
    values |= {"best-time": end, "most-threads": threads_named(most)}
    if len(cases) == 1:
        return values | {"speedup": Missing("none"), "levels-off": Missing("unknown"), "scaling": single}
    ratio, low, high = verdicts.speedup(study.processes(cases[few]), study.processes(cases[best]))
    told = verdicts.compare(study.processes(cases[best]), study.processes(cases[few])).word == "faster"
    if told:
        sentence = (
            f"falls from {start} on {threads_named(few)} to {end} on {threads_named(best)}, the best of those tried: "
            f"a speed-up of {number(ratio)} ({between(low, high, 95)})"
        )
        if best < most:
            back = comparison(cases[most], cases[best], threads_named(best))
            sentence += f"; on {threads_named(most)} the program {back}"
    elif best == few:
        sentence = f"is {start} on {threads_named(few)}; no other count up to {most} has a shorter median"
    else:
        sentence = (
            f"is {start} on {threads_named(few)}, from which the best median, {end} on {threads_named(best)}, "
            "can't be told apart"
        )
    return values | {"speedup": number(ratio), "levels-off": threads_named(levels_off(cases)), "scaling": sentence}


def shape(frame):
    """The sizes of a product."""
    if frame.empty:
        return None
    row = frame.iloc[0]
    return f"${row['m']} \\times {row['n']} \\times {row['k']}$"


def intensity(frame):
    """FLOPs per byte moved at least."""
    return float(frame["flops"].iloc[0] / frame["bytes"].iloc[0]) if len(frame) else None


def caches(frame):
    """The cache protocols of some rows."""
    return listed(study.values(frame, "cache")) or None


def pairs(prefix, cases, under=""):
    """Every case against every other: prefix/case/under/against/other."""
    return {
        f"{prefix}/{name}{under}/against/{other}": comparison(frame, cases[other], code(other))
        for name, frame in cases.items()
        for other in cases
        if other != name
    }


# The experiments


def about(found, protocol, margin):
    """The machines, the protocol, and how many cases there are."""
    description = found.descriptions.get(found.subject, {})
    cpu = description.get("cpu", {})
    machines = found.machines()
    everything = found.everything("samples")
    own = study.where(everything, machine=found.subject)
    own = own[own["phase"] == "total"] if len(own) else own
    missing = study.where(found.everything("missing"), machine=found.subject)
    keys = ["workload", "variant", "case"]
    by_case = [rows for _, rows in own.groupby(keys)] if len(own) else []
    per_process = [count for rows in by_case for count in rows.groupby(["experiment", "process"]).size()]
    unmeasured = missing[missing["why"] == "not measured"] if len(missing) else missing
    return {
        "machine/name": code(found.subject) if found.subject else Missing("no machine"),
        "machine/cpu": latex.escape(cpu["Model name"]) if cpu else None,
        "machine/cores": f"\\num{{{description['cores']}}}" if description else None,
        "machine/memory": latex.memory(description["memory"]) if description else None,
        "machine/origin": origin(found.subject),
        "machines/named": listed(code(name) for name in machines) or None,
        **{f"{name}/cases": cases_of(found, name, device="host") for name in EXPERIMENTS},
        "cases/measured": f"\\num{{{len(by_case)}}}",
        "cases/left-out": f"\\num{{{distinct(missing, keys) - distinct(unmeasured, keys)}}}",
        "cases/unmeasured": f"\\num{{{distinct(unmeasured, keys)}}}",
        "cases/converged": f"\\num{{{sum(bool(rows['converged'].all()) for rows in by_case)}}}" if by_case else None,
        "cases/processes": span(rows["process"].nunique() for rows in by_case),
        "cases/samples": span(per_process),
        "cases/caches": caches(own),
        "protocol/processes": f"\\num{{{protocol['processes']}}}",
        "protocol/most-processes": f"\\num{{{protocol['most_processes']}}}",
        "protocol/samples": f"\\num{{{protocol['samples']}}}",
        "protocol/least": f"\\num{{{protocol['least']}}}",
        "protocol/target": f"\\qty{{{100 * protocol['target']:g}}}{{\\percent}}",
        "protocol/cap": f"\\qty{{{protocol['cap']:g}}}{{\\second}}",
        "protocol/phase-passes": f"\\num{{{protocol['phase_passes']}}}",
        "protocol/margin": f"\\qty{{{100 * (margin - 1):g}}}{{\\percent}}",
    }


def origin(subject):
    """Where the subject's measurements come from."""
    if subject is None:
        return Missing("nowhere: nothing was measured and nothing is published")
    published = subject.endswith(study.PUBLISHED)
    return "the measurements published with the source" if published else "measurements taken for this build"


def distinct(frame, columns):
    """How many different cases some rows speak of."""
    return len(frame[columns].drop_duplicates()) if len(frame) else 0


def cases_of(found, experiment, **conditions):
    """The number of an experiment's cases with a measurement, or None."""
    count = distinct(found.samples(experiment, **conditions), ["variant", "case"])
    return f"\\num{{{count}}}" if count else None


def span(counts):
    """One count, or the lowest and the highest."""
    found = sorted(set(counts))
    if not found:
        return None
    return f"\\num{{{found[0]}}}" if len(found) == 1 else f"\\numrange{{{found[0]}}}{{{found[-1]}}}"


def ceilings(found):
    """Arithmetic by precision and streams by kernel: on one thread, and the best of all thread counts."""
    values = {}
    for experiment, column, names, work, kind in (
        ("ceiling_arithmetic", "dtype", DTYPES, "flops", "flops"),
        ("ceiling_bandwidth", "kernel", KERNELS, "bytes", "bandwidth"),
    ):
        for name in names:
            frame = found.samples(experiment, **{column: name})
            one, best = (study.best_rate(rows, work) for rows in (study.where(frame, threads=1), frame))
            values[f"ceiling/{name}/one"] = rate(one, kind) if one else None
            values[f"ceiling/{name}/best"] = rate(best, kind) if best else None
    for dtype in DTYPES:
        ridge = ridge_of(found, dtype)
        values[f"ceiling/{dtype}/ridge"] = number(ridge) if ridge else None
    return values


def ridge_of(found, dtype):
    """FLOPs per byte at which one thread's two ceilings meet, or None."""
    peak, stream = study.ceiling(found, dtype, 1), study.bandwidth(found, 1)
    return peak / stream if peak and stream else None


def side(value, ridge):
    """Which ceiling limits a product of this intensity."""
    if value is None or ridge is None:
        return Missing("on a side of the ridge that is unknown for want of a measurement")
    return (
        "above the ridge, where arithmetic is the limit"
        if value >= ridge
        else "below the ridge, where memory is the limit"
    )


def gemm_square(found):
    """The rungs on one large product, one thread each."""
    frame = found.samples("gemm_square", threads=1)
    values = {"gemm_square/cache": caches(frame)}
    for dtype, form in itertools.product(DTYPES, FORMS):
        here = study.one_size(study.where(frame, dtype=dtype, form=form))
        cases = {variant: study.where(here, variant=variant) for variant in GEMM}
        ceiling = study.ceiling(found, dtype, 1)
        for variant, rows in cases.items():
            values |= headed(f"gemm_square/{variant}/{form}/{dtype}", time_of(rows) | rate_of(rows, ceiling))
        values |= pairs("gemm_square", cases, f"/{form}/{dtype}")
        measured = {variant: rows for variant, rows in cases.items() if len(rows)}
        values[f"gemm_square/{form}/{dtype}/fastest"] = code(fastest(measured)) if measured else None
        values[f"gemm_square/{form}/{dtype}/shape"] = shape(here)
        moved = intensity(here)
        values[f"gemm_square/{form}/{dtype}/intensity"] = number(moved) if moved else None
        values[f"gemm_square/{form}/{dtype}/side"] = side(moved, ridge_of(found, dtype))
    return values


def gemm_large(found):
    """The faster rungs on the smallest and the largest of the products beyond the caches, one thread each."""
    frame = found.samples("gemm_large", threads=1, dtype="float64", form="nn")
    work = study.values(frame, "flops")
    roles = {"smallest": work[:1], "largest": work[1:][-1:]}
    values = {"gemm_large/cache": caches(frame)}
    for role, flops in roles.items():
        here = study.one_size(study.where(frame, flops=flops[0] if flops else None))
        cases = {variant: study.where(here, variant=variant) for variant in RUNGS}
        values[f"gemm_large/{role}/shape"] = shape(here)
        for variant, rows in cases.items():
            rates = rate_of(rows, study.ceiling(found, "float64", 1))
            values |= headed(f"gemm_large/{variant}/{role}", time_of(rows) | rates)
        values |= pairs("gemm_large", cases, f"/{role}")
    return values


def gemm_threads(found):
    """The training's products by the number of threads."""
    frame = found.samples("gemm_threads", dtype="float64")
    values = {
        "gemm_threads/cache": caches(frame),
        "gemm_threads/threads": listed(study.values(frame, "threads")) or None,
    }
    for form in FORMS:
        here = study.one_size(study.where(frame, form=form))
        moved = intensity(here)
        values[f"gemm_threads/{form}/shape"] = shape(here)
        values[f"gemm_threads/{form}/intensity"] = number(moved) if moved else None
        cases = {variant: by_threads(study.where(here, variant=variant)) for variant in RUNGS}
        for variant, counts in cases.items():
            values |= headed(f"gemm_threads/{variant}/{form}", scaling(counts))
        values |= pairs("gemm_threads", {name: best_of(counts) for name, counts in cases.items()}, f"/{form}/best")
    return values


def best_of(counts):
    """The rows of the best thread count; none where nothing was measured."""
    return counts[fastest(counts)] if counts else NO_ROWS


def mlp_threads(found):
    """The training by threads and product, and where its time goes."""
    frame = study.one_size(found.samples("mlp_threads", dtype="float64", device="host"))
    cases = {product: by_threads(study.where(frame, product=product)) for product in RUNGS}
    values = {"mlp_threads/threads": listed(study.values(frame, "threads")) or None, "mlp_threads/cache": caches(frame)}
    values |= headed("mlp_threads", training(frame))
    for product, counts in cases.items():
        values |= headed(f"mlp_threads/{product}", scaling(counts))
        passes = operations(found, product, 1)
        shares = {name: passes[name].median() for name in passes} if len(passes) else {}
        for name in (*OPERATIONS, "products", "rest"):
            values[f"mlp_threads/{product}/share/{name}"] = percent(shares[name]) if shares else None
    one = {product: counts.get(1, NO_ROWS) for product, counts in cases.items()}
    values |= pairs("mlp_threads", one, "/one")
    values |= pairs("mlp_threads", {name: best_of(counts) for name, counts in cases.items()}, "/best")
    return values


def training(frame):
    """What a training is, in words."""
    names = ("layers", "images", "batch", "source")
    if frame.empty:
        return dict.fromkeys(names)
    row = frame.iloc[0]
    return {
        "layers": latex.escape(row["layers"]).replace("-", "--"),
        "images": f"\\num{{{row['images']}}}",
        "batch": f"\\num{{{row['batch']}}}",
        "source": source(row["source"]),
    }


def source(name):
    """A data set in words."""
    return {"mnist": "MNIST", "digits": "the offline digits"}.get(name, latex.escape(name))


def operations(found, product, threads):
    """The share of each kind of operation in every pass of a training: rows of process and pass, columns by kind."""
    rows = found.rows("samples", "mlp_threads", product=product, threads=threads, dtype="float64")
    rows = study.one_size(rows[rows["phase"] != "total"] if len(rows) else rows)
    if rows.empty:
        return rows.iloc[:0, :0]
    kind = rows["phase"].str.split(" ").str[0]
    spent = rows.groupby([rows["process"], rows["sample"], kind])["seconds"].sum().unstack(fill_value=0.0)
    shares = spent.div(spent.sum(axis=1), axis=0).reindex(columns=[*OPERATIONS], fill_value=0.0)
    products = shares.sum(axis=1)
    return shares.assign(products=products, rest=1 - products)


def mlp_peers(found):
    """The training against the peers, for the smallest and the largest batch, each at its best thread count."""
    frame = found.samples("mlp_peers", dtype="float64")
    batches = study.values(frame, "batch")
    roles = {"small": batches[:1], "large": batches[1:][-1:]}
    values = {"mlp_peers/cache": caches(frame)}
    for role, batch in roles.items():
        here = study.one_size(study.where(frame, batch=batch[0] if batch else None))
        values[f"mlp_peers/{role}/batch"] = f"\\num{{{batch[0]}}}" if batch else None
        cases = {name: best_of(by_threads(study.where(here, **chosen))) for name, chosen in PEERS.items()}
        for name, rows in cases.items():
            values |= headed(f"mlp_peers/{role}/{name}", time_of(rows))
            threads = study.values(rows, "threads")
            values[f"mlp_peers/{role}/{name}/threads"] = threads_named(threads[0]) if threads else None
        values |= pairs(f"mlp_peers/{role}", cases)
    return values


def mlp_accuracy(found):
    """What the trainings have learned."""
    curves = found.rows("curves", "mlp_accuracy")
    last = curves[curves["epoch"] == curves["epochs"]] if len(curves) else curves
    distance = (last["loss"] - last["reference_loss"]).abs() / last["loss_bound"] if len(last) else None
    values = headed("mlp_accuracy", training(last))
    values["mlp_accuracy/epochs"] = span(study.values(last, "epochs"))
    values["mlp_accuracy/trainings"] = f"\\num{{{distinct(last, ['variant', 'case'])}}}" if len(last) else None
    for dtype in DTYPES:
        here = study.where(last, dtype=dtype)
        ends = [percent(value, 4) for value in study.values(here, "accuracy")]
        values[f"mlp_accuracy/{dtype}/accuracy"] = agreement(ends)
        for product in RUNGS:
            rows = study.where(here, product=product)
            reached = study.values(rows, "accuracy")
            values[f"mlp_accuracy/{product}/{dtype}/accuracy"] = percent(reached[0], 4) if reached else None
            values[f"mlp_accuracy/{product}/{dtype}/loss"] = number(rows["loss"].median(), 4) if len(rows) else None
        values[f"mlp_accuracy/{dtype}/worst-loss"] = percent(distance[here.index].max()) if len(here) else None
    return values


def agreement(ends):
    """The predicate of the accuracies at which some trainings end."""
    if not ends:
        return Missing("have no measurement")
    if ends[0] == ends[-1]:
        return f"all end at an accuracy of {ends[0]}"
    return f"end at accuracies from {ends[0]} to {ends[-1]}"


def validation(found):
    """How many comparisons with the reference there were, and the one nearest its bound."""
    checks = found.everything("checks")
    if checks.empty:
        return dict.fromkeys(("validation/checks", "validation/worst-share", "validation/worst-case"))
    checks = checks.drop_duplicates(["machine", "workload", "variant", "case", "process", "check"]).reset_index(
        drop=True
    )
    worst = checks.loc[(checks["error"] / checks["bound"]).idxmax()]
    return {
        "validation/checks": f"\\num{{{len(checks)}}}",
        "validation/worst-share": percent(worst["error"] / worst["bound"]),
        "validation/worst-case": f"{code(worst['variant'])} of {code(worst['workload'])} in {code(worst['dtype'])}",
    }


# The findings of the earlier study


def findings(found):
    """Whether each finding of the earlier study holds on the subject: a verdict and the evidence for it."""
    frame = study.one_size(found.samples("mlp_threads", dtype="float64", device="host"))
    plain, blas = (by_threads(study.where(frame, product=name)) for name in ("openmp", "blas"))
    shares = operations(found, "openmp", 1)
    answers = {
        "levels-off": finding_levels_off(plain),
        "best": finding_best(plain),
        "serial": finding_ahead(blas.get(1, NO_ROWS), plain.get(1, NO_ROWS)),
        "parallel": finding_ahead(best_of(blas), best_of(plain)),
        "share": finding_share(shares),
    }
    return {
        f"findings/{name}/{part}": value
        for name, answer in answers.items()
        for part, value in zip(("verdict", "evidence"), answer, strict=True)
    }


def untested(why):
    return Missing("not tested"), Missing(why)


def finding_levels_off(cases):
    low, high = FINDINGS["levels-off"]
    if not (any(count <= low for count in cases) and any(count > high for count in cases)):
        return untested(f"needs thread counts on both sides of {low} to {high}; {most_threads(cases)}")
    count = levels_off(cases)
    evidence = f"within a tenth of the shortest time from {threads_named(count)} on"
    return "holds" if low <= count <= high else "does not hold", evidence


def finding_best(cases):
    best, worse = FINDINGS["best"], FINDINGS["worse"]
    if best not in cases or worse not in cases:
        return untested(f"needs {best} and {worse} threads; {most_threads(cases)}")
    found = verdicts.compare(study.processes(cases[worse]), study.processes(cases[best])).word
    verdict = {"slower": "holds" if fastest(cases) == best else "holds in part", "faster": "does not hold"}
    evidence = f"best on {threads_named(fastest(cases))}; {worse} {comparison(cases[worse], cases[best], str(best))}"
    return verdict.get(found, "can't be told"), evidence


def most_threads(cases):
    """How far the thread counts went."""
    return f"at most {threads_named(max(cases))} ran" if cases else "none ran"


def finding_ahead(blas, plain):
    if blas.empty or plain.empty:
        return untested("a measurement is missing")
    found = verdicts.compare(study.processes(blas), study.processes(plain))
    far = found.high < 1 / FINDINGS["far"]
    verdict = (
        "holds" if far else {"faster": "holds in part", "slower": "does not hold"}.get(found.word, "can't be told")
    )
    return verdict, f"{code('blas')} {comparison(blas, plain, code('openmp'))}"


def finding_share(shares):
    if shares.empty:
        return untested("a measurement is missing")
    by_process = shares["products"].groupby("process").median()
    least = FINDINGS["share"]
    verdict = "can't be told"
    if (by_process > least).all() or (by_process <= least).all():
        verdict = "holds" if by_process.iloc[0] > least else "does not hold"
    return verdict, f"{percent(shares['products'].median())} of the plain loops' training on one thread"
