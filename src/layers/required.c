/* SPDX-License-Identifier: Apache-2.0 */
/* The product's answer: every layer. See layer.h for who links another. */
#include "layers/layer.h"

uint32_t layers_required(void)
{
	return LAYERS_ALL;
}
