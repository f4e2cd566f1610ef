"""Cases from the words of a command line, such as `gemm/tiled gemm/blas m=512 n=512 k=512 threads=1`.

A word with a slash is a variant, or a case's whole key; every other word is a pair, name=value, of a size, a tuning,
the cache protocol or an environment variable. A tuning goes to the variants that take it. Missing sizes and tunings get
their defaults; counts such as `threads`, which have none, are 1.
"""

import itertools

from ladder.catalogue import forms, setup_arguments, soundness, workloads
from ladder.errors import LadderError, did_you_mean
from ladder.harness.comparison import parse_key
from ladder.records.case import VARIABLE, Case, value_of


def cases_of(words, sweep_words=()):
    """The cases that the words of a command line request, without duplicates, in their order.

    `sweep_words` are words such as `tile=8,16,32`; a variant gets the product of the values of those tunings that it
    takes. Raises LadderError for a word that names nothing, and for cases of several workloads.
    """
    keys, pairs = [word for word in words if is_key(word)], pairs_of([word for word in words if not is_key(word)])
    swept_pairs = pairs_of_sweep(sweep_words)
    swept_values = {name: [value_of(name, value) for value in text.split(",")] for name, text in swept_pairs.items()}
    cases = [parse_key(key) for key in keys if key.count("/") > 1]
    names = [variant_of(key) for key in keys if key.count("/") == 1]
    if not keys:
        raise LadderError("No variant is named: write workload/variant, for example gemm/blas.")
    if others := sorted({*(case.workload for case in cases), *(workload for workload, _ in names)})[1:]:
        raise LadderError(f"Only variants of one workload can be ranked: run those of {others[0]} separately.")
    if names:
        workload, variants = names[0][0], [variant for _, variant in names]
        require_pairs(workload, variants, pairs, swept_values)
        sizes = workloads.complete(workload, parse_values(pairs, workloads.load(workload).SIZES))
        for variant in variants:
            cases += cases_of_variant(workload, variant, sizes, pairs, swept_values)
    elif pairs or swept_values:
        raise LadderError("A whole key has all sizes and tunings already: leave the pairs name=value to variants.")
    return list({case.key: case for case in cases}.values())


def is_key(word):
    """Whether a word names a variant or a case: it has a slash, and not in a value such as PATH=/usr."""
    return "/" in word.partition("=")[0]


def variant_of(word):
    """The (workload, variant) of a word. Raises LadderError unless both exist and keep their contracts."""
    workload, variant = word.split("/")
    soundness.require_contract(workload)
    soundness.require_contract(workload, variant)
    return workload, variant


def pairs_of(words):
    """{name: text} of words name=value."""
    pairs = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not text:
            is_workload = word in workloads.names()
            hint = (
                f": write {word}/variant, for example {word}/{next(iter(workloads.rungs(word)))}" if is_workload else ""
            )
            raise LadderError(f"{word!r} is neither a variant, workload/variant, nor a pair, name=value{hint}.")
        if name in pairs:
            raise LadderError(f"{name} has two values, {pairs[name]} and {text}: try several with --sweep {name}=…")
        pairs[name] = text
    return pairs


def pairs_of_sweep(words):
    """{name: text} of the words of --sweep."""
    for word in words:
        name, equals, text = word.partition("=")
        if not (name and equals and text):
            name = name or "tile"
            raise LadderError(f"--sweep {word} has no values: write --sweep {name}=8,16,32 for a tuning {name!r}.")
    return pairs_of(words)


def require_pairs(workload, variants, pairs, swept_values):
    """Refuse names that are neither sizes nor tunings, several values of one name, and a sweep of what is no tuning.

    `pairs` is {name: text}, `swept_values` {name: values}.
    """
    sizes = workloads.load(workload).SIZES
    tunings = {name: None for variant in variants for name in setup_arguments.tunings(workload, variant)}
    known = [*sizes, *tunings, "cache"]
    for name in pairs:
        if VARIABLE.fullmatch(name) and name.lower() in known:
            raise LadderError(f"{name} would be an environment variable. Did you mean {name.lower()!r}?")
        if name not in known and not VARIABLE.fullmatch(name):
            raise LadderError(
                f"{name!r} is neither a size of {workload} ({', '.join(sizes)}) nor a tuning of "
                f"{', '.join(variants)} ({', '.join(tunings) or 'none'}).{did_you_mean(name, known)}"
            )
        if "," in pairs[name] and not VARIABLE.fullmatch(name):
            is_size, options = name in sizes, f"--sweep {name}={pairs[name]}"
            advice = "only tunings are swept, so run once for each" if is_size else f"try them with {options}"
            raise LadderError(f"{name}={pairs[name]} has several values: {advice}.")
        if name in sizes:  # here, so that a wrong value is named even if another size is missing
            forms.require_size(workload, name, sizes[name], value_of(name, pairs[name]))
    for name in swept_values:
        if name in sizes:
            raise LadderError(
                f"--sweep {name}: {name} is a size of {workload}, and only tunings are swept ({', '.join(tunings)}). "
                f"Run once for each size, for example with {name}={swept_values[name][0]}."
            )
        if name not in tunings:
            raise LadderError(
                f"--sweep {name}: no variant has this tuning; the tunings are {', '.join(tunings) or 'none'}."
                f"{did_you_mean(name, tunings)}"
            )
        for value in swept_values[name]:
            require_value(workload, variants, name, value)


def require_value(workload, variants, name, value):
    """Refuse a value of a swept tuning that no variant accepts, since a sweep drops only impossible combinations."""
    refusals = []
    for variant in variants:
        kind = setup_arguments.tunings(workload, variant).get(name)
        if kind is None:
            continue
        try:
            setup_arguments.require_value(f"{workload}/{variant}", name, kind[0], value)
        except LadderError as error:
            refusals.append(error)
        else:
            return
    raise refusals[0]


def parse_values(pairs, names):
    """{name: value} of the pairs whose name is in `names`."""
    return {name: value_of(name, text) for name, text in pairs.items() if name in names}


def cases_of_variant(workload, variant, sizes, pairs, swept_values):
    """The cases of a variant: one for each combination of the `swept_values` of tunings that it takes."""
    accepted_tunings = setup_arguments.tunings(workload, variant)
    counts = {
        name: 1 for name, (_, is_required) in accepted_tunings.items() if is_required and name in setup_arguments.COUNTS
    }
    variables = {name: text for name, text in pairs.items() if VARIABLE.fullmatch(name)}
    swept = {name: values for name, values in swept_values.items() if name in accepted_tunings}
    for values in itertools.product(*swept.values()):
        tuning = counts | parse_values(pairs, accepted_tunings) | dict(zip(swept, values, strict=True))
        yield Case(workload, variant, sizes, tuning, pairs.get("cache", "cold"), variables)


def labels(cases):
    """A short name of each case, {case: workload/variant with the tunings that tell it from the others}."""
    tunings = {case: {**case.tuning, **case.variables} for case in cases}
    names = sorted({name for tuning in tunings.values() for name in tuning})
    differing = [
        name for name in names if len({str(tuning[name]) for tuning in tunings.values() if name in tuning}) > 1
    ]
    label_by_case = {}
    for case, tuning in tunings.items():
        words = [f"{name}={tuning[name]}" for name in differing if name in tuning]
        label_by_case[case] = " ".join([f"{case.workload}/{case.variant}", *words])
    are_unique = len(set(label_by_case.values())) == len(label_by_case)
    return label_by_case if are_unique else {case: case.key for case in cases}
