"""Generated data, tiny data of every kind (`toy`), and loaders of public data sets that are fetched at first use."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
