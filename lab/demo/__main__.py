"""Run the demonstration as ``make demo`` does."""

from lab.demo.contests import main

main()
