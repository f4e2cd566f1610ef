"""Why cases are skipped, as data and as sentences: tables that were published early have other sentences."""

import pytest

from ladder.planning import reasons
from ladder.planning.reasons import SENTENCES, SkipReason


@pytest.mark.parametrize("kind", SENTENCES)
def test_a_sentence_is_parsed_to_its_reason(kind):
    text = SENTENCES[kind]
    needed, available = (name if f"{{{name}}}" in text else None for name in ("needed", "available"))
    reason = SkipReason(kind, needed, available)
    assert reasons.parse(str(reason)) == reason


def test_sentences_of_tables_that_were_published_early_are_parsed():
    assert reasons.parse("needs 8 cores, 2 to be had") == SkipReason("cores", "8", "2")
    assert str(reasons.parse("descent/scipy_cg takes algorithm cg or jacobi only")).endswith("jacobi only")
