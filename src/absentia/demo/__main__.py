"""Run the demonstration as ``make demo`` does."""

from absentia.demo.contests import main

main()
