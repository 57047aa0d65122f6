# SPDX-License-Identifier: Apache-2.0
NUMERALS = [(1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"),
            (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]


def roman(number):
    text = ""
    for value, sign in NUMERALS:
        count, number = divmod(number, value)
        text += sign * count
    return text


for year in (1066, 1492, 1789, 1999, 2024):
    print(year, roman(year))
