/* SPDX-License-Identifier: Apache-2.0 */
/* Writes BYTES to standard output as fast as the pipe takes them. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	static char block[65536];
	unsigned long long left = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;

	memset(block, 'x', sizeof(block));
	while (left > 0) {
		size_t want = left < sizeof(block) ? (size_t)left : sizeof(block);
		ssize_t wrote = write(1, block, want);

		if (wrote <= 0)
			return 1;
		left -= (unsigned long long)wrote;
	}
	return 0;
}
