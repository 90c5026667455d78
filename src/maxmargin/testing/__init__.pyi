from .cases import every_case as every_case
from .conformance import StructureConformance as StructureConformance
from .estimator_checks import structured_estimator_checks as structured_estimator_checks
from .instance import Instance as Instance
