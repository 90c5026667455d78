"""maxmargin learns the objective of any argmax: max-margin structured prediction with a certificate.

Public names are listed once, in the stub next to this file, and imported when they are first used, so that
``import maxmargin`` takes almost no time.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
