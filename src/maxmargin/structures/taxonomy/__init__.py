"""Classes that are nodes of a tree or of a directed graph without cycles.

`Taxonomy` is a `Multiclass` whose parts are nodes. Node scores are one product X W, and class scores are sums along the
ancestors of each class (CSR lists, so trees and lattices are the same). All classes are at hand, so the compiled argmax
of `Multiclass` is exact for every loss and bound. A plane has the features of an example under the nodes that are above
only one of the two classes. `features/rows/hierarchy.py` reads hierarchies; the root has no weights, because they would
cancel.

Above 2^24 pairs of features and nodes, a compact index (`pairs.py`, as `SeenPairs` of chains) holds the pairs whose
feature occurs below the node or below its parent, and the vectors of solvers have the length of this index. The
children of a node share features: otherwise no example could lower the score of a sibling for a feature that the
sibling does not have. Nodes with more than 100 children are excepted.
"""
