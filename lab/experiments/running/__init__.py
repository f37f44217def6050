"""The cells of an experiment: run by processes, kept one by one."""
