/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIAGE_SCRATCH_H
#define TRIAGE_SCRATCH_H

/*
 * The working folder of a job, below TMPDIR, and the one line that says it is ours: a fuzzd that is killed leaves the folder, and the
 * next one may remove only what its own state directory names. The name is drawn at random and recorded before
 * the folder is made, so that a folder of that name is nobody else's.
 */

/* Makes the folder, mode 0700. record: path of the record's file, or NULL for none. Caller frees *ret_dir. 0 or -errno. */
int scratch_make(const char *record, char **ret_dir);
/* Removes the folder and then its record. dir NULL: nothing. */
void scratch_remove(const char *record, const char *dir);
/*
 * Removes the folder that the record names, when it is one that scratch_make makes: by the form of its name, a folder and no link, of our own user, closed to
 * others. The caller holds the state directory's lock: whoever wrote the record is dead. Anything else stays where it is.
 */
void scratch_sweep(const char *record);

/* In the job's process: lets programs of another user pass through the folder to their own in it. 0 or -errno. */
int scratch_open_way(void);

#endif
