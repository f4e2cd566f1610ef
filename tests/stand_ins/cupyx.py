"""What `cupyx` has beside the stand-in for CuPy."""

from numpy import empty as empty_pinned

__all__ = ["empty_pinned"]
