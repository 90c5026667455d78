"""Sizes of queries in the place of the query of each row."""

import numpy as np
import pytest

import maxmargin as mm


def test_sizes_as_lightgbm_takes_them_are_answered_with_groups():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(9, 2)), np.tile([0, 1, 2], 3)
    with pytest.raises(TypeError, match=r"StructuredRanker.fit takes the query of each row.* pass groups=np.repeat"):
        mm.StructuredRanker().fit(X, y, group=[3, 3, 3])
