# SPDX-License-Identifier: Apache-2.0
import pickle
from datetime import date

state = {"level": 3, "started": date(2024, 5, 1), "found": {"key", "map"}}
with open("game.sav", "wb") as file:
    pickle.dump(state, file)
with open("game.sav", "rb") as file:
    again = pickle.load(file)
print(again == state, sorted(again["found"]), again["started"].isoformat())
