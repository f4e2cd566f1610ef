"""The surroundings in which `test_surroundings.py` describes a study, as tables {name: surrounding}.

Together they are the matrix of surroundings, of which each row here is a cell.
"""

# Locales: the variables, and the locale's source and encoding for localedef, or None if the C library has it.
LOCALES = {
    "C": ({"LC_ALL": "C"}, None),
    "POSIX, no UTF-8 mode": ({"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, None),
    "C.UTF-8": ({"LANG": "C.UTF-8"}, None),
    "German": ({"LANG": "de_DE.UTF-8", "LANGUAGE": "de:en"}, ("de_DE", "UTF-8")),
    "German in Latin-1": ({"LC_ALL": "de_DE.ISO-8859-1", "PYTHONUTF8": "0"}, ("de_DE", "ISO-8859-1")),
    "French": ({"LC_ALL": "fr_FR.UTF-8", "LANGUAGE": "fr"}, ("fr_FR", "UTF-8")),
    "Japanese": ({"LC_ALL": "ja_JP.UTF-8", "LANGUAGE": "ja"}, ("ja_JP", "UTF-8")),
    "Japanese in EUC": ({"LC_ALL": "ja_JP.EUC-JP", "PYTHONUTF8": "0"}, ("ja_JP", "EUC-JP")),
    "Turkish": ({"LC_ALL": "tr_TR.UTF-8", "LANGUAGE": "tr"}, ("tr_TR", "UTF-8")),
    "Arabic": ({"LC_ALL": "ar_SA.UTF-8"}, ("ar_SA", "UTF-8")),
    "one that isn't installed": ({"LC_ALL": "xx_YY.UTF-8", "LANGUAGE": "xx"}, None),
    "output in ASCII": ({"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}, None),
    "German numbers and times alone": ({"LC_NUMERIC": "de_DE.UTF-8", "LC_TIME": "de_DE.UTF-8"}, ("de_DE", "UTF-8")),
}

# Variables of runtimes and programs: the variant that is measured with them (with `blas`, a figure is drawn, too), and
# the variables, which are set together. `{folder}` is an existing folder, `{library}` a library that does nothing,
# `{style}` a style of matplotlib's, `{repository}` a repository of git's.
VARIABLES = {
    "numba unoptimised": ("openmp", {"NUMBA_OPT": "0", "NUMBA_LOOP_VECTORIZE": "0", "NUMBA_ENABLE_AVX": "0"}),
    "numba without a compiler": ("openmp", {"NUMBA_DISABLE_JIT": "1"}),
    "numba for another CPU": ("openmp", {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}),
    "numba's threads": ("openmp", {"NUMBA_NUM_THREADS": "1", "NUMBA_THREADING_LAYER": "workqueue"}),
    "numba's debugging": ("openmp", {"NUMBA_DEBUGINFO": "1", "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": "{folder}"}),
    "limits of OpenMP": ("c_openmp", {"OMP_THREAD_LIMIT": "1", "OMP_DYNAMIC": "true", "OMP_MAX_ACTIVE_LEVELS": "0"}),
    "places of OpenMP": ("c_openmp", {"OMP_PLACES": "{{0}}", "OMP_PROC_BIND": "master", "OMP_NUM_THREADS": "7"}),
    "schedule of OpenMP": (
        "c_openmp",
        {"OMP_SCHEDULE": "guided,1", "OMP_WAIT_POLICY": "passive", "OMP_STACKSIZE": "1M"},
    ),
    "gcc's OpenMP": ("c_openmp", {"GOMP_CPU_AFFINITY": "0", "GOMP_SPINCOUNT": "0", "OMP_DISPLAY_ENV": "true"}),
    "clang's OpenMP": ("openmp", {"KMP_AFFINITY": "compact", "KMP_BLOCKTIME": "0", "KMP_DUPLICATE_LIB_OK": "TRUE"}),
    "OpenBLAS": ("blas", {"OPENBLAS_CORETYPE": "Nehalem", "OPENBLAS_NUM_THREADS": "3", "OPENBLAS_VERBOSE": "2"}),
    "other BLAS": ("blas", {"MKL_NUM_THREADS": "1", "MKL_CBWR": "COMPATIBLE", "BLIS_NUM_THREADS": "1"}),
    "numpy's": ("blas", {"NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3", "GOTO_NUM_THREADS": "3"}),
    "MPICH": ("on_ranks", {"MPIR_CVAR_CH3_NOLOCAL": "1", "MPICH_NO_LOCAL": "1", "MPICH_ASYNC_PROGRESS": "1"}),
    "Open MPI and UCX": ("on_ranks", {"OMPI_MCA_btl": "self", "UCX_TLS": "nonsense", "UCX_LOG_LEVEL": "trace"}),
    "hydra": ("on_ranks", {"HYDRA_BOOTSTRAP": "nonsense", "HYDRA_HOST_FILE": "/nowhere", "HYDRA_LAUNCHER": "nonsense"}),
    "CUDA": ("blas", {"CUDA_MODULE_LOADING": "EAGER", "CUDA_LAUNCH_BLOCKING": "1", "NVIDIA_TF32_OVERRIDE": "1"}),
    "libraries of GPUs": (
        "blas",
        {"NCCL_DEBUG": "TRACE", "CUBLAS_WORKSPACE_CONFIG": ":0:0", "CUDA_CACHE_PATH": "/nowhere"},
    ),
    "PyTorch": ("blas", {"PYTORCH_CUDA_ALLOC_CONF": "nonsense", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": "1"}),
    "memory": ("blas", {"MALLOC_ARENA_MAX": "1", "MALLOC_PERTURB_": "165", "GLIBC_TUNABLES": "glibc.malloc.check=3"}),
    "the loader": ("blas", {"LD_PRELOAD": "{library}", "LD_BIND_NOW": "1"}),
    "a library that isn't there": ("blas", {"LD_PRELOAD": "/nowhere/libnothing.so"}),
    "Python's memory": ("openmp", {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "7", "PYTHONDEVMODE": "1"}),
    "Python optimised": ("openmp", {"PYTHONOPTIMIZE": "2", "PYTHONNOUSERSITE": "1", "PYTHONDONTWRITEBYTECODE": "1"}),
    "Python's start": ("openmp", {"PYTHONSTARTUP": "/nowhere.py", "PYTHONINSPECT": "", "PYTHONWARNINGS": "default"}),
    "matplotlib from a notebook": ("blas", {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}),
    "matplotlib's own style": ("blas", {"MATPLOTLIBRC": "{style}", "MPLCONFIGDIR": "{folder}"}),
    "time": ("blas", {"TZ": "Asia/Kolkata", "SOURCE_DATE_EPOCH": "nonsense"}),
    "folders of the session": ("blas", {"XDG_RUNTIME_DIR": "/nowhere", "TMPDIR": "{folder}", "HOME": "/nowhere"}),
    "the shell": (
        "blas",
        {"CDPATH": "/tmp:/", "IFS": ",", "BASH_ENV": "/nowhere", "ENV": "/nowhere", "POSIXLY_CORRECT": "1"},
    ),
    "git's": ("blas", {"GIT_DIR": "{repository}", "GIT_WORK_TREE": "{folder}"}),
    "git's index": ("blas", {"GIT_INDEX_FILE": "/nowhere", "GIT_CEILING_DIRECTORIES": "/", "GIT_TRACE": "1"}),
    "LaTeX's": ("blas", {"TEXINPUTS": "/nowhere", "BIBINPUTS": "/nowhere", "LATEXMKRCSYS": "/nowhere"}),
}

# Names of a study's folder.
FOLDERS = {
    "blanks": "in  two blanks",
    "quotation marks": 'it\'s "mine"',
    "an ampersand and a comma": "Kim, Lee & co",
    "a semicolon": "a;b",
    "a dollar": "a$HOME b",
    "a colon": "a:b",
    "letters beyond ASCII": "Größe 測定 é",
    "a line's end": "a\nb",
    "a hash, a percent sign and a backslash": "a#b%c\\d",
    "a long path": "/".join(["long" * 50] * 4),
}

# Control groups, made up: the version that is mounted, the group of the process, {group: (time, period) of its quota},
# and the number of CPUs, perhaps a fraction, that the quota leaves the process; None without a quota.
GROUPS = {
    "v2, no quota": (2, "/", {"": ("max", "100000")}, None),
    "v2, a container's root": (2, "/", {"": ("100000", "100000")}, 1),
    "v2, a parent's quota": (2, "/user/run/job", {"user": ("100000", "100000"), "user/run/job": ("max", "100000")}, 1),
    "v2, half a CPU": (2, "/user", {"user": ("50000", "100000")}, 0.5),
    "v2, outside of what is mounted": (2, "/../other", {"": ("100000", "100000")}, 1),
    "v1, no quota": (1, "/", {"": ("-1", "100000")}, None),
    "v1, a quota": (1, "/job", {"job": ("20000", "20000")}, 1),
    "v1, a parent's quota": (1, "/a/b", {"a": ("100000", "100000"), "a/b": ("-1", "100000")}, 1),
    "v1, half a CPU of a parent": (1, "/a/b", {"a": ("50000", "100000"), "a/b": ("100000", "100000")}, 0.5),
}
