"""What every other room builds on: planes, codes, examples, structures, objective, certificate, problem."""
