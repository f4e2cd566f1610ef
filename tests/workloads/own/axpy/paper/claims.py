"""What the rungs claim."""

from ladder.report.telling.lines import Claim

CLAIMS = {"rungs": [Claim("one-pass", "`parallel` over `vectorised`", "vectorised", "parallel")]}
