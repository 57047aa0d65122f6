# SPDX-License-Identifier: Apache-2.0
class Account:
    def __init__(self, owner, balance=0):
        self.owner = owner
        self._balance = balance
        self._history = []

    @property
    def balance(self):
        return self._balance

    def transfer(self, other, amount):
        if amount > self._balance:
            raise ValueError(f"{self.owner} has only {self._balance}")
        self._balance -= amount
        other._balance += amount
        self._history.append((other.owner, amount))


ann, bob = Account("Ann", 100), Account("Bob")
ann.transfer(bob, 30)
try:
    bob.transfer(ann, 31)
except ValueError as error:
    print("refused:", error)
print(ann.balance, bob.balance, ann._history)
