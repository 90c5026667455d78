from .clusters import Dask as Dask
from .clusters import Ray as Ray
from .engine import Engine as Engine
from .engine import Local as Local
from .processes import Processes as Processes
