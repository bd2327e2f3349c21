"""Writes optionValues.tsv: values and greeks of European options by Black-Scholes-Merton, reckoned with fifty digits.

Needs Python's mpmath (Debian: python3-mpmath). Derivatives are taken numerically from the value alone.
"""
import random
import sys

import mpmath as mp

mp.mp.dps = 50
random.seed(20261124)


def value(kind, spot, strike, years, volatility, rate, dividend):
    deviation = volatility * mp.sqrt(years)
    d1 = (mp.log(spot / strike) + (rate - dividend) * years) / deviation + deviation / 2
    d2 = d1 - deviation
    sign = 1 if kind == "CALL" else -1
    return sign * (
        spot * mp.exp(-dividend * years) * mp.ncdf(sign * d1) - strike * mp.exp(-rate * years) * mp.ncdf(sign * d2)
    )


def row():
    kind = random.choice(["CALL", "PUT"])
    spot = round(random.uniform(5, 600), 2)
    numbers = [
        spot,
        round(spot * random.uniform(0.7, 1.4), 1),
        round(random.choice([random.uniform(1, 30) / 365, random.uniform(0.1, 3)]), 6),
        round(random.uniform(0.08, 1.5), 4),
        round(random.uniform(-0.01, 0.08), 4),
        round(random.uniform(0, 0.06), 4),
    ]
    of = [mp.mpf(str(number)) for number in numbers]

    def derivative(place, order=1):
        return mp.diff(lambda x: value(kind, *of[:place], x, *of[place + 1 :]), of[place], order)

    found = [value(kind, *of), derivative(0), derivative(0, 2), derivative(3), -derivative(2), derivative(4)]
    return [kind, *numbers, *[mp.nstr(number, 15) for number in found]]


header = "option_type spot strike years volatility rate dividend_yield value delta gamma vega theta rho"
sys.stdout.write("\t".join(header.split(" ")) + "\n")
for _ in range(200):
    sys.stdout.write("\t".join(str(cell) for cell in row()) + "\n")
