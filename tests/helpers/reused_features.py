"""Joint features that are one object, filled again at every call."""

import numpy as np


class ReusedFeatures:
    """To be put before a structure whose joint features are dense: ``"dense"``, ``"pair"`` or ``"dict"``."""

    def __init__(self, form):
        self.form, self.dense, self.places, self.entries = form, np.zeros(self.size), np.arange(self.size), {}

    def joint_feature(self, x, y):
        self.dense[:] = super().joint_feature(x, y)
        if self.form == "dense":
            return self.dense
        if self.form == "pair":
            return self.places, self.dense
        self.entries.clear()
        self.entries.update(enumerate(self.dense.tolist()))
        return self.entries
