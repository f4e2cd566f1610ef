"""Our own claim: one pass is faster than two."""

from ladder.report.telling.lines import Claim

CLAIMS = {"own": [Claim("one-pass", "`parallel` over `vectorised`", "vectorised", "parallel")]}
