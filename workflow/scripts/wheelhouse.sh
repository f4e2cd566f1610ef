#!/bin/sh
# Downloads the packages that `make setup WHEELHOUSE=folder` installs without a network: the pinned packages for the
# Python version FOR on PLATFORM, by default this machine's; with GPU=1 also those for GPUs. Existing packages stay.
set -eu
unset CDPATH PYTHONHOME # CDPATH changes what `cd` does, PYTHONHOME where Python searches its library
export PYTHONSAFEPATH=1 # otherwise a `random.py` in this folder replaces that of Python
# A user's settings for other projects could make pip download other packages, or those for another system.
unset PIP_TARGET PIP_PREFIX PIP_ROOT PIP_PYTHON PIP_DRY_RUN PIP_REQUIRE_HASHES PIP_NO_BINARY PIP_ONLY_BINARY PIP_DEST \
    PIP_CONSTRAINT PIP_REQUIREMENT PIP_EDITABLE PIP_PLATFORM PIP_PYTHON_VERSION PIP_ABI PIP_IMPLEMENTATION \
    PIP_REQUIRE_VIRTUALENV
export PIP_USER=0
cd "$(dirname "$0")/../.."
python=${PYTHON:-python3}
folder=${WHEELHOUSE:-wheelhouse}

fail() {
    printf 'ladder: %s\n' "$*" >&2
    exit 1
}

# The pins for a Python version on an architecture, without markers, which pip would evaluate for its own Python.
pins() {
    "$tools/bin/python" - "$@" <<END
import sys
from pathlib import Path
from packaging.requirements import Requirement

version, machine, *files = sys.argv[1:]
environment = {"sys_platform": "linux", "platform_machine": machine, "python_full_version": f"{version}.0"}
for line in "".join(Path(file).read_text(encoding="utf-8") for file in files).replace("\\\\\n", "").splitlines():
    pin, *hashes = line.split(" --hash=")
    pin = Requirement(pin)
    if pin.marker is None or pin.marker.evaluate(environment):
        pin.marker = None
        print(pin, *hashes, sep=" --hash=")
END
}

# A system also runs packages built for an older glibc, but pip considers these only for its own system.
platforms() {
    seq --format="--platform manylinux_2_%g_$machine" "$glibc" -1 5
    echo "--platform manylinux2014_$machine"
}

download() {
    # shellcheck disable=SC2046 # a list of words
    "$tools/bin/python" -m pip download --no-deps --dest "$folder" --python-version "$version" $(platforms) \
        --only-binary :all: "$@"
}

version_and_platform=$("$python" -c 'import platform, sys
glibc = platform.libc_ver()[1].replace(".", "_")
print("%d.%d" % sys.version_info[:2], f"manylinux_{glibc}_{platform.machine()}")' 2>/dev/null) ||
    fail "'$python' is not a Python: name one with 'make wheelhouse PYTHON=/path/to/python'."
version=${FOR:-${version_and_platform% *}}
platform=${PLATFORM:-${version_and_platform#* }}
case $version in
3.1[1-9] | 3.[2-9][0-9]) ;;
*) fail "FOR=$version: the project requires Python 3.11 or newer; write it as in FOR=3.12." ;;
esac
case $platform in
manylinux_2_[5-9]_?* | manylinux_2_[1-9][0-9]_?*) ;;
*) fail "PLATFORM=$platform: write it as in PLATFORM=manylinux_2_28_x86_64, for glibc 2.28 on x86_64." ;;
esac
machine=${platform#manylinux_2_*_}
glibc=${platform#manylinux_2_}
glibc=${glibc%%_*}
case ${GPU:-} in
1) files="requirements.txt requirements-gpu.txt" ;;
'') files=requirements.txt ;;
*) fail "GPU=$GPU: write GPU=1 for the packages for GPUs, or omit it." ;;
esac

tools=$(mktemp -d)
trap 'rm -r "$tools"' EXIT
trap 'exit 1' HUP INT TERM
{ "$python" -m venv "$tools" && "$tools/bin/python" -m pip install --quiet --upgrade pip packaging; } ||
    fail "pip could not be installed: see above; 'make wheelhouse' requires a network."

echo "== Python packages of $files for Python $version on $platform, into $folder"
# shellcheck disable=SC2086 # a list of words
pins "$version" "$machine" $files >"$tools/pins.txt"
# connection-pool has no wheel; the pinned setuptools builds one, before pip 24 with the package wheel.
{ download --no-binary connection-pool --require-hashes -r "$tools/pins.txt" && download wheel; } ||
    fail "Not all packages for Python $version on $platform could be downloaded: see above. A package without a" \
        "matching distribution has no wheel for this Python and platform; otherwise run the same make command again."
echo "== Copy $folder, and run there: make setup WHEELHOUSE=/path/to/the/copy${GPU:+ GPU=1}"
