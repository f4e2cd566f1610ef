"""What variants offer to other workloads."""

import pytest

from ladder.catalogue import workloads
from ladder.errors import LadderError


def test_a_variant_without_the_function_is_a_sentence():
    assert callable(workloads.offered("gemm", "blas", "product"))
    with pytest.raises(LadderError, match="gemm/cublas_mixed offers no `product` to other workloads"):
        workloads.offered("gemm", "cublas_mixed", "product")
