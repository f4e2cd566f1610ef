"""Checks of a chapter's data: whether the groups, lines, sources, machines and colours that its modules name exist.

Planning checks the chapters of a user's workloads, so that a misspelt name doesn't end a run after its measurements.
The project's own are checked by a test, because importing them takes longer than planning.
"""

import re
from pathlib import Path

from ladder.catalogue import code_errors, contracts, forms, literals, locations, soundness, workloads
from ladder.catalogue.literals import line_of
from ladder.errors import LadderError, did_you_mean, enumerate_words
from ladder.report import chapters
from ladder.report.figures import methods

# The commands of the paper that include a table or a figure.
TABLE_OR_FIGURE = re.compile(r"\\(?:long)?study(table|figure)\{(\w+)\}")
GROUPS = {"earlier": "what an earlier study claimed", "own": "claims of our own"}


def require_user_chapters(experiments):
    """Check the chapters of the user's own workloads. Raises LadderError.

    `experiments` is {name: experiment} of the whole configuration, with None for an experiment that it drops.
    """
    for chapter in chapters.chapters():
        if chapter.folder.is_relative_to(locations.WORKLOADS):
            continue
        contracts.require_chapter(chapter.folder)
        for path in sorted(chapter.folder.glob("*.py")):
            forms.require_forms(path)
            soundness.require_module(path)
        require_looks(chapter)
        if chapter.has_lines:
            # Here, because planning needs pandas only for users' chapters.
            from ladder.report import chapter_conditions, study_attributes

            require(chapter)
            require_experiments(chapter, experiments)
            require_variants(chapter, experiments)
            chapter_conditions.require(chapter, experiments)
            study_attributes.require(chapter)
        require_texts(chapter)


def require_looks(chapter):
    """Refuse LOOKS of a wrong form, of an unknown colour, or for a misspelt variant. Raises LadderError."""
    path = chapter.folder / "__init__.py"
    constants = literals.read(path)
    looks, variants = constants.get("LOOKS", {}), workloads.variants(chapter.workload)
    for method, look in looks.items():
        where = f"LOOKS in {line_of(path, 'LOOKS', method)} shows {method!r}"
        if not isinstance(look, tuple) or len(look) != 4:
            raise LadderError(f"{where} as {look!r}: give it a label, a colour, a marker and dashes.")
        if look[1] not in methods.COLOURS:
            known = enumerate_words(methods.COLOURS, "or")
            raise LadderError(f"{where} in {look[1]!r}, which is not a colour: choose {known}.")
        # Without METHOD a method is a variant; one that resembles no variant may be of another workload.
        hint = did_you_mean(method, [name for name in variants if name not in looks])
        if method not in variants and hint and "METHOD" not in constants:
            raise LadderError(f"{where}, which is not a variant of {chapter.workload}.{hint}")


def require(chapter):
    """Check the names in `lines.py` and `claims.py` of a chapter. Raises LadderError with the file and nearest name."""
    from ladder.report import chapter_forms  # here: planning needs pandas only for users' chapters

    path, data = chapter.folder / chapters.LINES_FILE, module(chapter, "lines")
    chapter_forms.require_lines(path, data)
    for name, line in data.LINES.items():
        require_name(f"The line {name!r} in {line_of(path, 'LINES', name)}", "source", line.source, data.SOURCES)
    for name, source in data.SOURCES.items():
        require_name(f"The source {name!r} in {line_of(path, 'SOURCES', name)}", "machine", source.role, data.MACHINES)
    for role, needs in data.MACHINES.items():
        for name in needs.sources:
            require_name(f"The machine {role!r} in {line_of(path, 'MACHINES', role)}", "source", name, data.SOURCES)
    for name in sum(map(list, getattr(data, "TABLE", [])), [*getattr(data, "FIGURE", [])]):
        require_name(f"TABLE or FIGURE in {path}", "line", name, data.LINES)
    require_peers(chapter, getattr(data, "RUNGS", getattr(workloads.load(chapter.workload), "RUNGS", {})))
    if claims := module(chapter, "claims"):
        chapter_forms.require_claims(chapter.folder / "claims.py", claims.CLAIMS)
        require_groups(chapter.folder / "claims.py", claims.CLAIMS)
        for claim in (claim for group in claims.CLAIMS.values() for claim in group):
            require_claim(chapter.folder / "claims.py", claim, data)


def require_peers(chapter, ideas):
    """Refuse an idea that begins with `peer: ` if its variant has no PEER, and the reverse. Raises LadderError."""
    for variant in {*ideas} & {*workloads.variants(chapter.workload)}:
        path = workloads.variant_path(chapter.workload, variant)
        is_peer = bool(workloads.constants(chapter.workload, variant).get("PEER"))
        if is_peer != ideas[variant].startswith(chapters.PEER_PREFIX):
            mistake = "lacks `peer: ` before" if is_peer else "has `peer: ` before"
            verb = "has" if is_peer else "lacks"
            raise LadderError(
                f"RUNGS in {rungs_line(chapter, variant)} {mistake} the idea of {variant!r}, but {path} {verb} "
                "`PEER = True`: a peer has both. See docs/contracts.md."
            )


def rungs_line(chapter, variant):
    """The words `line 3 of PATH`: where RUNGS, in the chapter's `lines.py` or else in the workload, names a variant."""
    path = chapter.folder / chapters.LINES_FILE
    has_ladder = literals.assigns(path, "RUNGS") if path.is_file() else False
    return line_of(path if has_ladder else workloads.workload_path(chapter.workload), "RUNGS", variant)


def require_groups(path, claims):
    """Refuse a claim of an unknown group, which no table would show. Returns the claims. Raises LadderError."""
    for group in claims:
        if group not in GROUPS:
            where = line_of(Path(path), "CLAIMS", group)
            meanings = enumerate_words(f"`{name}` ({meaning})" for name, meaning in GROUPS.items())
            raise LadderError(
                f"CLAIMS in {where} has the group {group!r}, which no table shows: the groups are {meanings}."
            )
    return claims


def require_claim(path, claim, data):
    """Refuse a claim without a `ratio` or two sides, and an unknown line or source of its sides or its cause's."""
    from ladder.report.telling.lines import FLOOR  # here: planning needs pandas only for users' chapters

    where = f"The claim {claim.key!r} in {line_of(path, 'CLAIMS', claim.key)}"
    if not claim.ratio and not (claim.slower and claim.faster):
        raise LadderError(
            f"{where} compares nothing: give it `slower` and `faster`, each a line's key or a Selection (`faster` may "
            "be FLOOR), or a function `ratio`."
        )
    for part in (claim, claim.cause):
        for side in filter(None, (getattr(part, "slower", None), getattr(part, "faster", None))):
            if side != FLOOR:
                require_name(where, "line", getattr(side, "line", side), data.LINES)
                if source := getattr(side, "source", None):
                    require_name(where, "source", source, data.SOURCES)


def require_name(where, kind, name, known):
    """Refuse a name that a chapter lacks. Raises LadderError with `where` it is and the nearest name."""
    if name not in known:
        raise LadderError(f"{where} names the {kind} {name!r}, which the chapter lacks.{did_you_mean(name, known)}")


def require_experiments(chapter, experiments):
    """Refuse a source of an unknown experiment whose name resembles one of the chapter's workload. Raises LadderError.

    Any other unknown experiment may be one of another configuration.
    """
    related = [name for name, value in experiments.items() if value and value["workload"] == chapter.workload]
    path = chapter.folder / chapters.LINES_FILE
    for name, source in module(chapter, "lines").SOURCES.items():
        for experiment in source.experiments:
            hint = did_you_mean(experiment, related)
            if experiment not in experiments and hint:
                raise LadderError(
                    f"The source {name!r} in {line_of(path, 'SOURCES', name)} names the experiment {experiment!r}, "
                    f"which the configuration lacks.{hint}"
                )


def require_variants(chapter, experiments):
    """Refuse a line whose variant is neither in the chapter's workload nor in those of its source's experiments.

    Raises LadderError.
    """
    path, data = chapter.folder / chapters.LINES_FILE, module(chapter, "lines")
    for name, line in data.LINES.items():
        names = data.SOURCES[line.source].experiments
        other_workloads = {experiments[experiment]["workload"] for experiment in names if experiments.get(experiment)}
        known = sorted(
            {variant for workload in {chapter.workload, *other_workloads} for variant in workloads.variants(workload)}
        )
        if line.variant not in known:
            owners = enumerate_words(sorted({chapter.workload, *other_workloads}), "and")
            raise LadderError(
                f"The line {name!r} in {line_of(path, 'LINES', name)} names the variant {line.variant!r}: no variant "
                f"of {owners} is called so.{did_you_mean(line.variant, known)}"
            )


def require_texts(chapter):
    """Refuse an unknown name in a chapter's texts. Raises LadderError with the line and the nearest name."""
    if any((chapter.folder / name).is_file() for name in chapters.TEMPLATE_FILES):
        from ladder.report import texts  # here: planning needs pandas only for users' chapters

        texts.require_names(chapter)
        require_tables_and_figures(chapter)


def require_tables_and_figures(chapter):
    """Refuse a table or a figure that a chapter's text includes and the study lacks. Raises LadderError."""
    from ladder.report import figures, tables

    known = {"table": tables.names(), "figure": figures.names()}
    for path in filter(Path.is_file, (chapter.folder / name for name in chapters.TEMPLATE_FILES)):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for kind, name in TABLE_OR_FIGURE.findall(line.partition("%")[0]):
                if name not in known[kind]:
                    hint = did_you_mean(name, known[kind])
                    raise LadderError(f"{path}:{number}: there is no {kind} {name!r}.{hint}")


def module(chapter, name):
    """A module of the chapter's data, or None without one. Raises LadderError if it can't be imported."""
    from ladder.report.telling import chapter_study  # here: planning needs pandas only for users' chapters

    path = chapter.folder / f"{name}.py"
    try:
        return chapter_study.chapter_module(chapter.workload, name)
    except code_errors.MISTAKES as error:
        sentence = (
            f"{code_errors.describe(error, f'The import of {path}', path)}.{code_errors.advice_on_keyword(error)}"
        )
        raise LadderError(f"{sentence} See docs/contracts.md.") from error
