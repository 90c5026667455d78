"""What tests of several folders share: random instances, small problems, and the conformance test of structures."""
