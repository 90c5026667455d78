"""Which structures have sums over their outputs: none may lose them without notice."""

import pytest

from tests.helpers.instances.alignment import Alignments
from tests.helpers.instances.folding import Folds
from tests.helpers.instances.grammar import Treebank
from tests.helpers.instances.graphs import Items
from tests.helpers.instances.rows_and_sequences import LabelledRows, Queries, Sequences, Strings
from tests.helpers.instances.sentences import Sentences
from tests.helpers.instances.taxonomy import ClassesInATree

SUMMABLE = (LabelledRows, Sequences, Strings, Queries, Sentences, ClassesInATree, Items, Treebank, Folds, Alignments)


@pytest.mark.parametrize("instance", SUMMABLE, ids=lambda instance: instance.__name__)
def test_sums_are_there(instance):
    assert any(instance(seed).examples.summable for seed in range(4))
