"""The mean of ratios of pairs with its 95 % interval, for scripts of this folder that measure two things in turn."""

import math
import statistics

# Student's t at 95 % for 1, 2, … degrees of freedom.
T = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13, 2.12, 2.11, 2.10, 2.09]


def ratio(pairs):
    """`1.012 (1.001 – 1.023)` of at least two pairs: first ÷ second, by Student's t on logarithms."""
    logarithms = [math.log(first / second) for first, second in pairs]
    mean = statistics.mean(logarithms)
    t = T[min(len(logarithms) - 2, len(T) - 1)]
    half = t * statistics.stdev(logarithms) / math.sqrt(len(logarithms))
    return f"{math.exp(mean):.3f} ({math.exp(mean - half):.3f} – {math.exp(mean + half):.3f})"
