"""Structures whose scores are sums over parts: arcs, spans, cells, pairs, rows.

    Ψ(x, y) = Σ_p c_p(y) φ_p(x)      s_p = w·φ_p(x)      w·Ψ(x, y) = Σ_p c_p(y) s_p
    Δ(y, ŷ) = Σ_p (c_p(ŷ) − c_p(y)) l_p                  if the loss is a sum over parts too

An argmax needs the scores s and no features; a plane is Φᵀ(c(y) − c(ŷ)). So a decode is `scores`, then `decode_scores`,
and `changes` returns c(y) − c(ŷ): minus the derivative of the hinge with respect to the scores (`core.scores`), from
which `planes` and `aggregate` follow.

`blocks.py`, `indicators.py`, `row_sums.py`
    Features of parts: dense or CSR as they came, stored once; one row under K outputs; tables that all examples share;
    forbidden parts with the score −∞. Features that are present or absent are columns alone, of 4 bytes each. Compiled
    scores and sums of rows.
`examples.py`, `costs.py`
    `PartExamples` adds costs to scores, calls the argmax of the structure, judges the answer (rise, loss, key) and
    makes planes. What else examples hold is declared in `data` and `derived`, from which `take` and the fingerprint
    follow. `PartCosts` are costs of single parts that a user passes with an output.
`structure.py`, `formed.py`
    `PartStructure`: outputs as codes, k best outputs, decision scores; structures whose outputs have several forms.
`ranking.py`
    The k best outputs (Lawler 1972, by forbidding and forcing parts: `restricted` scores), or an order of the
    structure's own (`ranked`); decision scores (`forced_scores`), by default by forcing each part with a bonus relative
    to the scores.

Buffers are sized from the counts at hand, never from what a structure promises. Part numbers and the number of parts
are checked before a compiled function reads them. The rows of one large example are scored and summed in chunks of a
fixed size, in threads if the engine has some (`Local.map_range`): results do not depend on the number of threads.
"""
