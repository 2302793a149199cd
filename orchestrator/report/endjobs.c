/* SPDX-License-Identifier: Apache-2.0 */
/* The table of what is done at a target's end. */
#include "report/endjobs.h"

#include "corpus/job_corpus.h"
#include "corpus/job_stability.h"
#include "report/fields.h"

const struct endjob endjobs[] = {
    {"corpus", corpus_keep_applies, corpus_keep_make},
    {"shuffle", job_stability_applies, job_stability_make},
};
const size_t endjobs_count = sizeof(endjobs) / sizeof(endjobs[0]);

json_t *endjob_result(const json_t *answer)
{
    json_t *j;

    if (!json_is_true(json_object_get(answer, "ok"))) {
        const char *text = fields_text(answer, "error");

        return json_pack("{s:s}", "why", text[0] != '\0' ? text : "there was no answer of use");
    }
    j = json_deep_copy(answer);
    (void)json_object_del(j, "ok");
    return j;
}
