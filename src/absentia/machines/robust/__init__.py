"""The robust support vector machine and its solvers."""
