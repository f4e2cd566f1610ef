"""The system A x = b: a dense matrix with a known spectrum, and matrix-free products in O(n log n).

A[i, j] = d[i] d[j] c[(p[i] - p[j]) mod n]: a symmetric circulant (Golub and Van Loan, Matrix Computations, 2013,
section 4.8.2), whose rows and columns are permuted by p and scaled by d, powers of two. Its elements are exact in the
case's dtype. The circulant's eigenvalues are the Fourier transform of c. They are between 1 / kappa and 1, and their
logarithms are evenly spaced. Without scaling, A has the same eigenvalues. A variant receives only the elements of A,
which look random: a row gives no information about the others.
"""

import functools
from dataclasses import dataclass

import numpy as np

# If rows are scaled, d has the powers 2 ** 0 to 2 ** (EXPONENTS - 1). The condition number grows by up to the square of
# the largest.
EXPONENTS = 4
# Columns of A that are generated at once on the host, few enough for a cache.
CHUNK_COLUMNS = 2**14


@dataclass(frozen=True)
class System:
    """The vectors that define A and b, (n,) each: float64 c, d and b, exact in the case's dtype, and int64 p."""

    c: np.ndarray
    d: np.ndarray
    p: np.ndarray
    b: np.ndarray

    @functools.cached_property
    def eigenvalues(self):
        """The circulant's eigenvalues by mode, float64 (n // 2 + 1,)."""
        return np.fft.rfft(self.c).real

    @property
    def norm(self):
        """The largest eigenvalue of the circulant times the largest square of d: an upper bound of the norm of A."""
        return self.eigenvalues.max() * self.d.max() ** 2

    @property
    def row_norm(self):
        """A nearly tight upper bound of the Euclidean norms of A's rows."""
        return self.d.max() ** 2 * np.linalg.norm(self.c)

    @property
    def diagonal(self):
        """The diagonal of A."""
        return self.d**2 * self.c[0]

    def product(self, x, eigenvalues=None):
        """A x in float64; `eigenvalues` may replace those of the circulant."""
        permuted = np.empty_like(x)
        permuted[self.p] = self.d * x
        eigenvalues = self.eigenvalues if eigenvalues is None else eigenvalues
        return self.d * np.fft.irfft(eigenvalues * np.fft.rfft(permuted), len(x))[self.p]


@functools.lru_cache(maxsize=4)
def make(n, kappa, start, scaling, dtype, seed, round):
    """The System of a round; every round has a different one."""
    generator = np.random.default_rng([seed, round])
    modes = n // 2 + 1
    mode_order = generator.permutation(modes)  # the modes by eigenvalue, from the largest to the smallest
    eigenvalues = np.empty(modes)
    eigenvalues[mode_order] = kappa ** -np.linspace(0, 1, modes)
    c = np.fft.irfft(eigenvalues, n).astype(dtype).astype(np.float64)
    c[n // 2 + 1 :] = c[1 : (n + 1) // 2][::-1]  # symmetric to the last bit
    p = generator.permutation(n)
    d = 2.0 ** generator.integers(0, EXPONENTS, n) if scaling == "rows" else np.ones(n)
    b = worst_right_hand_side(n, p, mode_order) if start == "worst" else generator.uniform(-1, 1, n)
    return System(c, d, p, b.astype(dtype).astype(np.float64))


def worst_right_hand_side(n, p, mode_order):
    """The sum of two eigenvectors of equal norm, of the largest and of the smallest eigenvalue.

    With this b and x = 0 at the start, steepest descent converges most slowly (Akaike, Annals of the Institute of
    Statistical Mathematics 11, 1959): the residual falls by (kappa - 1) / (kappa + 1) in each step.
    """
    modes = {mode_order[0], mode_order[-1]}
    vectors = [np.cos(2 * np.pi * mode / n * p) for mode in modes]
    return sum(vector * np.sqrt(n / (vector @ vector)) for vector in vectors)


def from_sizes(sizes, round):
    """The System of a case's round."""
    names = ("n", "kappa", "start", "scaling", "dtype", "seed")
    return make(*(sizes[name] for name in names), round)


CUDA = r"""
extern "C" __global__ void generate(REAL *matrix, const REAL *c, const REAL *d, const long long *p, long long n) {
  for (long long i = blockIdx.y; i < n; i += gridDim.y) {
    const long long row_index = p[i];
    const REAL scale = d[i];
    for (long long j = blockIdx.x * blockDim.x + threadIdx.x; j < n; j += gridDim.x * blockDim.x) {
      const long long distance = row_index - p[j];
      matrix[i * n + j] = scale * d[j] * c[distance < 0 ? distance + n : distance];
    }
  }
}
"""


def generate(problem, c, d, p):
    """Write `problem.matrix` (n, n) in place from the host arrays c, d and p, without a second (n, n) array."""
    if isinstance(problem.matrix, np.ndarray):
        generate_on_host(problem.matrix, c, d, p)
    else:
        generate_on_gpu(problem.matrix, c, d, p)


def generate_on_host(matrix, c, d, p):
    """Generate the matrix row by row, with a thread per CPU."""
    from ladder.devices import chunked

    two_periods = np.concatenate([c, c])  # indexed without a modulo operation

    def write_rows(rows):
        for i in range(rows.start, rows.stop):
            for start in range(0, len(p), CHUNK_COLUMNS):
                columns = slice(start, start + CHUNK_COLUMNS)
                values = two_periods[p[i] - p[columns] + len(p)]
                np.multiply(values, d[i] * d[columns], out=matrix[i, columns], casting="same_kind")

    chunked.map_on_threads(write_rows, chunked.chunk_slices(len(p)))


def generate_on_gpu(matrix, c, d, p):
    """Generate the matrix by a kernel that allocates only c, d and p."""
    from ladder.cuda.gpus import load_cupy

    cupy, n = load_cupy(), len(p)
    real = {"float64": "double", "float32": "float"}[matrix.dtype.name]
    kernel = cupy.RawKernel(CUDA, "generate", options=(f"-DREAL={real}",))
    arguments = (*(cupy.asarray(array, matrix.dtype) for array in (c, d)), cupy.asarray(p), np.int64(n))
    kernel((min(-(-n // 256), 64), min(n, 65535)), (256,), (matrix, *arguments))
