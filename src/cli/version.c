/* SPDX-License-Identifier: Apache-2.0 */
/* `belljar version` */
#include "base/cleanup.h"
#include "cli/say.h"

int version_verb(const struct invocation *invocation)
{
	if (!invocation->json) {
		(void)printf("belljar %s\n", bj_version());
		return say_flush(STATUS_OK);
	}
	return say_json(json_pack("{s:s, s:s, s:s}", "schema", "belljar.version/1", "version",
				  bj_version(), "result_schema", "belljar.result/1"));
}
