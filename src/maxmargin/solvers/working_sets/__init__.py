"""Solvers that hold planes of each example: proximal working sets, the same in shards, and n-slack cutting planes.

**In memory** (`sets.py`). Example i owns the slots ``first[i] … first[i] + room[i]``, of which `count[i]` are in use.
Slot 0 is the truth and holds the rest of the budget C c_i; every other slot holds a plane: its dual value α, b, key and
age, and the span ``start:stop`` of its entries in one pool of (uint32 index, value). The code of its output lies in the
pool just before ``start``. Besides, each example has the ``room × room`` inner products of its planes. Room starts at 2
and doubles when needed, up to `most_slots`; a block that grows moves to the end of the arrays. Dropped planes leave
holes, and compacting moves the live ones to the front, in the order of examples. Memory is O(entries of the held planes
+ Σ room²). Neither dense vectors per example nor a dual vector are kept: w is kept, and u = Σ α a follows from w and
the centre.

**Rounds** of the default solver (`proximal.py`). A step is the first round that applies and does not decline,
then a decode of all examples and a certificate; `history_` names the round of every step. The rounds share one state
(`proximal_state.py`) of named parts, each of which saves itself: weights and centre (w, z, ρ), the lift of lower
bounds, working sets, effort, counted work, growing budgets.

    batches, start   take in the planes found last by themselves, batch by batch
    exact            solves for few held planes (`few_planes`, `least_norm`); takes in all planes without block steps,
                     with them for a hard margin
    held             solves for all held planes together (`held_planes`); takes in all planes without block steps
    blocks           takes in planes with a block step on every example, then works on held planes

Planes are taken in before a round runs (`take_in`), and a round that declines leaves no trace. Without block steps,
taking in changes neither dual values nor weights, except where a full working set makes room. A round that has declined
is not tried again before the effort has doubled (for a hard margin, it is tried in every step). `balanced` decides the
next ρ. Public parameters are those of `Tuning`; all other numbers are constants beside the code that uses them.

Steps on one example at a time are fastest if examples pull at different weights. If all pull at the same few weights
(unscaled features, few long sequences), they undo each other's steps for thousands of passes. Then, and when
``"nslack"`` has used up its passes over S, the problem over the held planes is solved as a whole. It is a problem like
any other, whose argmax is the best held plane, so the proximal bundle solves it; the weights of its aggregate planes
are dual values again.
"""
