from .bundle import ProximalBundle as ProximalBundle
from .joint.solver import CertificateProgram as CertificateProgram
from .joint.solver import MinMax as MinMax
from .nslack import NSlack as NSlack
from .oneslack import OneSlack as OneSlack
from .perceptron import AveragedPerceptron as AveragedPerceptron
from .proximal import ProximalWorkingSets as ProximalWorkingSets
from .subgradient import Subgradient as Subgradient
