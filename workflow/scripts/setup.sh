#!/bin/sh
# Sets up the study's software: Debian packages, then a virtual environment of pinned packages in .venv.
# `setup.sh latex` adds LaTeX. Does nothing if everything is installed; may be interrupted and repeated.
# GPU=1 installs the packages for GPUs even without a GPU; WHEELHOUSE is a folder of packages, for an offline machine.
set -eu
# CDPATH changes what `cd` does, PYTHONHOME where Python searches its library, SOURCE_DATE_EPOCH the dates of packages.
unset CDPATH PYTHONHOME SOURCE_DATE_EPOCH
export PYTHONSAFEPATH=1 # otherwise a `random.py` in this folder replaces that of Python
cd "$(dirname "$0")/../.."
python=${PYTHON:-python3}
stamp=.venv/.installed

fail() {
    printf 'ladder: %s\n' "$*" >&2
    exit 1
}

# Each package is tested by its use, because it may be installed without Debian's packages.
missing_packages() {
    [ -f "$stamp" ] || "$python" -c 'import ensurepip' 2>/dev/null ||
        "$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])'
    "$python" -c 'import ctypes; ctypes.CDLL("libgomp.so.1")' 2>/dev/null || echo libgomp1
    [ "${1:-}" = latex ] || return 0
    command -v latexmk >/dev/null || echo latexmk
    while read -r package file; do
        kpsewhich -engine=pdftex "$file" >/dev/null 2>&1 || echo "$package"
    done <<END
texlive-latex-base pdflatex.fmt
texlive-latex-recommended booktabs.sty
texlive-fonts-recommended phvr8t.tfm
texlive-science siunitx.sty
lmodern lmodern.sty
END
}

# Optional packages: without a compiler, cases in C are skipped.
optional_packages() {
    [ "${1:-}" = latex ] || return 0
    echo 'int main(void) { return 0; }' | gcc -fopenmp -x c -o /dev/null - 2>/dev/null || echo gcc libc6-dev
}

may_install() {
    [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null
}

install_packages() {
    export DEBIAN_FRONTEND=noninteractive
    # Waits for a running installation, and completes one that was killed.
    apt-get check -o DPkg::Lock::Timeout=300 >/dev/null || dpkg --configure -a
    apt-get update &&
        apt-get install --yes --no-install-recommends -o DPkg::Lock::Timeout=300 "$@"
}

# True if the packages for GPUs are requested, useful or installed: a login node may share .venv with nodes with GPUs.
for_gpu() {
    [ "${GPU:-}" = 1 ] || nvidia-smi -L | grep -q '^GPU ' || ls -d .venv/lib/python3.*/site-packages/cupy
} >/dev/null 2>&1

pins() {
    echo requirements.txt
    ! for_gpu || echo requirements-gpu.txt
}

environment() {
    .venv/bin/python -c 'import sys; print(sys.prefix, *sys.version_info[:2])' 2>/dev/null
}

state() {
    # shellcheck disable=SC2086 # a list of words
    environment && cat $pins pyproject.toml | sha256sum
}

exec 9<"workflow/scripts/setup.sh"
# `make smoke` and `make test` may be started together. In a read-only folder everything must be installed already.
if ! flock -n 9; then
    printf 'ladder: waiting for the set-up in this folder by %s.\n' "$(cat .venv.lock 2>/dev/null || echo another process)" >&2
    flock 9
fi
[ -f .venv.lock ] || rm -f .venv.lock 2>/dev/null || : # if it is a named pipe, writing to it would block
{ printf 'process %s, running since %s' "$$" "$(date +%T)" >.venv.lock; } 2>/dev/null || :

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
    fail "Python 3.11 or newer is required and '$python' is not: name one with 'make PYTHON=/path/to/python ...'."

case $PWD in *[{}]*) fail "$PWD has a brace in its name, which setuptools and Snakemake can't handle: rename it." ;; esac

case $PWD in *:*) fail "$PWD has a colon in its name, which a virtual environment can't have: rename it." ;; esac

"$python" -c 'import os; os.getcwdb().decode("utf-8")' 2>/dev/null ||
    fail "$PWD isn't UTF-8, and results that contain the path must be: rename the folder."

case ${GPU:-} in '' | 1) ;; *) fail "GPU=$GPU: write GPU=1 for the packages for GPUs, or omit it." ;; esac

packages=$(missing_packages "$@" | xargs)
optional=$(optional_packages "$@" | xargs)
if may_install; then
    packages=$(echo "$packages $optional" | xargs)
elif [ -n "$optional" ]; then
    echo "Without a compiler, cases in C are skipped: 'sudo apt-get install $optional' installs one." >&2
fi
if [ -n "$packages" ]; then
    command="apt-get install --no-install-recommends $packages"
    may_install ||
        fail "Some Debian packages are missing: install them, or equivalents, with 'sudo $command'."
    echo "== Debian packages: $packages"
    # shellcheck disable=SC2086 # a list of words
    install_packages $packages || fail "'$command' failed: see above, then run the same make command again."
    packages=$(missing_packages "$@" | xargs)
    [ -z "$packages" ] ||
        fail "$packages: installed, but not found; is another TeX or Python first on the PATH ($PATH)?"
fi

pins=$(pins | xargs)
if [ ! -f "$stamp" ] || [ "$(cat "$stamp")" != "$(state)" ]; then
    advice="see above, then run the same make command again; docs/how-to/offline.md explains the set-up without a network."
    set --
    if [ -n "${WHEELHOUSE:-}" ]; then
        [ -d "$WHEELHOUSE" ] || fail "WHEELHOUSE=$WHEELHOUSE: there is no such folder; 'make wheelhouse' creates one."
        advice="see above; 'make wheelhouse' adds packages that $WHEELHOUSE lacks, see docs/how-to/offline.md."
        set -- --no-index --find-links "$WHEELHOUSE"
    fi
    echo "== Python packages of $pins, into .venv"
    # New pins keep packages that a user has added; an environment that is unfinished, moved or foreign is created again.
    if [ ! -f "$stamp" ] || [ "$(head -n 1 "$stamp")" != "$(environment)" ]; then
        [ ! -L .venv ] || # venv would empty the folder behind the link, and then fail
            fail ".venv is a link to $(readlink .venv), which a set-up would empty: remove the link."
        "$python" -m venv --clear .venv
    fi
    rm -f "$stamp"
    export PIP_DISABLE_PIP_VERSION_CHECK=1
    # A user's settings for other projects could make pip install elsewhere, or nothing. Mirrors, proxies, caches stay.
    unset PIP_TARGET PIP_PREFIX PIP_ROOT PIP_PYTHON PIP_DRY_RUN PIP_REQUIRE_HASHES PIP_NO_BINARY PIP_ONLY_BINARY \
        PIP_CONSTRAINT PIP_BUILD_CONSTRAINT PIP_REQUIREMENT PIP_EDITABLE PIP_PLATFORM PIP_PYTHON_VERSION PIP_ABI \
        PIP_IMPLEMENTATION PIP_NO_DEPS PIP_ONLY_DEPS PIP_REQUIRE_VIRTUALENV PIP_UPGRADE PIP_FORCE_REINSTALL \
        PIP_IGNORE_INSTALLED PIP_REPORT PIP_GROUP
    export PIP_USER=0 # overrides pip's configuration file too
    # shellcheck disable=SC2046,SC2086 # lists of words
    { .venv/bin/python -m pip install "$@" --require-hashes $(printf -- '-r %s ' $pins) &&
        .venv/bin/python -m pip install "$@" --no-deps --no-build-isolation --editable .; } ||
        fail "The Python packages could not be installed: $advice"
    state >"$stamp.new"
    mv "$stamp.new" "$stamp"
fi
