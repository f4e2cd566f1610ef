"""Our own question: what one pass gains over two."""

from ladder.report.telling.lines import Claim

CLAIMS = {"own": [Claim("one-pass", "`parallel` over `vectorised`", "vectorised", "parallel")]}
