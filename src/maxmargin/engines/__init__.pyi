from .clusters import Dask as Dask
from .clusters import Ray as Ray
from .engine import Engine as Engine
from .local import Local as Local
from .processes import Processes as Processes
