/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_PROTO_H
#define CTL_PROTO_H

#include <jansson.h>
#include <stddef.h>

/*
 * The control protocol: newline-delimited JSON over STATE/fuzzd.sock. Request: {"version":1,"id":N,"verb":"status",...}; answer:
 * {"version":1,"id":N,"ok":true,...} or {"version":1,"id":N,"ok":false,"exit":E,"error":"..."} with E an exit code of fuzzctl. An
 * answer to "wait", "start" and "stop" may come later. Described in fuzzd(8).
 *   ping     -> {"pid","fz_version","started_at"}
 *   start    {"plan":{...},"spec_text":"...","spec_path"} -> {"run","campaign","state"} once the first instance is up or has failed
 *   status   {"name"?} -> {"status":{...}} the document of status --json
 *   stop     {"name"? ,"all"?} -> once ended (triage at most 30 s): {"verdict"?}
 *   wait     {"name","run"?,"timeout_ms"} -> {"ended":bool,"verdict"?}
 *   add      {"name"?, "run"?, "target", "data"?} -> {"dir","out","sha256","present"}: an input in base64 for a target that is fuzzed
 *   shutdown {} -> refused with exit 4 while campaigns run
 */
#define PROTO_VERSION  1
#define PROTO_MAX_LINE (8 << 20) /* a plan of many instances; a longer line drops the peer */
/* The end of the line in fuzzd.lock of one that is started again when it dies. */
#define PROTO_KEPT     ", kept by systemd"

/* Splits what a socket brings into lines; bounded. */
struct proto_buf {
    char *data;
    size_t used, size;
    size_t scanned; /* no line ends before it: a line that comes in crumbs is looked at once */
};
/* Appends bytes. 0 or -E2BIG (drop the peer). */
int proto_buf_add(struct proto_buf *b, const void *data, size_t size);
/* The next whole line as JSON object, removed from the buffer: 1 with *ret (new reference), 0 none yet, -EBADMSG not a JSON object, -EPROTO wrong version. */
int proto_buf_next(struct proto_buf *b, json_t **ret);
void proto_buf_clear(struct proto_buf *b);

#endif
