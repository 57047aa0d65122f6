# SPDX-License-Identifier: Apache-2.0
import io
import unittest


def median(values):
    values = sorted(values)
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


class TestMedian(unittest.TestCase):
    def test_odd(self):
        self.assertEqual(median([3, 1, 2]), 2)

    def test_even(self):
        self.assertEqual(median([4, 1, 2, 3]), 2.5)

    def test_empty(self):
        with self.assertRaises(IndexError):
            median([])


suite = unittest.defaultTestLoader.loadTestsFromTestCase(TestMedian)
result = unittest.TextTestRunner(stream=io.StringIO()).run(suite)
print(result.testsRun, len(result.failures), len(result.errors))
