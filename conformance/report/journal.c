#include "conformance/report/journal.h"

#include "conformance/process/protocol.h"
#include "contract/alloc.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { JOURNAL_SCHEMA = 1 };

struct fg_journal {
    int fd;
    char path[4096];
};

static fg_status journal_open(const char *folder, int flags, fg_journal **out) {
    fg_journal *journal = fg_alloc(sizeof *journal, FG_ALLOC_GENERAL);
    if (journal == NULL) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "no memory for a journal");
    }
    int length = snprintf(journal->path, sizeof journal->path, "%s/journal.jsonl", folder);
    errno = ENAMETOOLONG;
    journal->fd = length > 0 && (size_t)length < sizeof journal->path
                      ? open(journal->path, flags | O_CLOEXEC, 0666)
                      : -1;
    if (journal->fd < 0) {
        fg_status status =
            FG_FAIL(FG_STATUS_IO, "cannot write %s: %s", journal->path, strerror(errno));
        fg_free(journal);
        return status;
    }
    *out = journal;
    return FG_STATUS_OK;
}

/* Writes one object as a line, in one system call, so that a kill cannot mix two lines. */
static fg_status line_append(const fg_journal *journal, json_t *object) {
    char *text = NULL;
    size_t length = 0;
    fg_status status = fg_protocol_dump(object, &text, &length);
    json_decref(object);
    FG_TRY(status);
    ssize_t written = write(journal->fd, text, length);
    int error = errno;
    fg_free(text);
    if (written != (ssize_t)length) {
        return FG_FAIL(FG_STATUS_IO, "cannot write %s: %s", journal->path,
                       written < 0 ? strerror(error) : "the disk is full");
    }
    return FG_STATUS_OK;
}

fg_status fg_journal_create(const char *folder, const fg_run_facts *facts, fg_journal **out) {
    fg_journal *journal = NULL;
    *out = NULL;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        return FG_FAIL(FG_STATUS_IO, "cannot make the folder %s: %s", folder, strerror(errno));
    }
    FG_TRY(journal_open(folder, O_CREAT | O_TRUNC | O_WRONLY | O_APPEND, &journal));
    json_t *head =
        json_pack("{s:i, s:o}", "journal", JOURNAL_SCHEMA, "run", fg_json_from_facts(facts));
    fg_status status = line_append(journal, head);
    if (status != FG_STATUS_OK) {
        fg_journal_close(journal);
        return status;
    }
    *out = journal;
    return FG_STATUS_OK;
}

static fg_status head_read(const json_t *line, fg_run_facts *facts) {
    int64_t schema = 0;
    FG_TRY(fg_json_integer(line, "journal", &schema));
    if (schema != JOURNAL_SCHEMA) {
        return FG_FAIL(FG_STATUS_PROTOCOL, "found journal schema %lld, expected %d",
                       (long long)schema, JOURNAL_SCHEMA);
    }
    return fg_json_to_facts(json_object_get(line, "run"), facts);
}

static fg_status record_read(const json_t *line, fg_records *records) {
    const char *ending = json_string_value(json_object_get(line, "worker"));
    if (ending != NULL) {
        fg_records_ending(records, ending);
        return FG_STATUS_OK;
    }
    FG_TRY(fg_json_to_record(line, records));
    int64_t added = records->items[records->count - 1].index;
    for (int64_t i = 0; i + 1 < records->count; i++) {
        if (records->items[i].index == added) {
            return FG_FAIL(FG_STATUS_PROTOCOL, "found case %lld twice", (long long)added);
        }
    }
    return FG_STATUS_OK;
}

/* Takes every whole line; *whole counts their bytes. */
static fg_status lines_read(fg_journal *journal, fg_line_buffer *buffer, fg_run_facts *facts,
                            fg_records *records, off_t *whole) {
    int64_t number = 0;
    int ended = 0;
    while (!ended) {
        const char *line;
        size_t length = 0;
        while ((line = fg_line_next(buffer, &length)) != NULL) {
            json_t *value = NULL;
            number++;
            fg_status status = fg_protocol_parse(line, length, &value);
            if (status == FG_STATUS_OK) {
                status = number == 1 ? head_read(value, facts) : record_read(value, records);
            }
            json_decref(value);
            if (status != FG_STATUS_OK) {
                return FG_FAIL(status, "%s:%lld: %s", journal->path, (long long)number,
                               fg_message());
            }
            *whole += (off_t)length + 1;
        }
        FG_TRY(fg_line_fill(buffer, journal->fd, &ended));
    }
    if (number == 0) {
        return FG_FAIL(FG_STATUS_PROTOCOL, "%s: found no whole line, expected the facts of a run",
                       journal->path);
    }
    return FG_STATUS_OK;
}

/* Says of a folder without a journal what it lacks. */
static fg_status journal_there(const char *folder) {
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/journal.jsonl", folder);
    if (length > 0 && (size_t)length < sizeof path && access(path, F_OK) != 0) {
        return FG_FAIL(FG_STATUS_IO, "%s holds no run: no journal.jsonl there: %s", folder,
                       strerror(errno));
    }
    return FG_STATUS_OK;
}

fg_status fg_journal_resume(const char *folder, fg_run_facts *facts, fg_records *records,
                            fg_journal **out) {
    fg_journal *journal = NULL;
    fg_line_buffer buffer = {0};
    off_t whole = 0;
    *out = NULL;
    *records = (fg_records){0};
    FG_TRY(journal_there(folder));
    FG_TRY(journal_open(folder, O_RDWR | O_APPEND, &journal));
    fg_status status = lines_read(journal, &buffer, facts, records, &whole);
    fg_line_free(&buffer);
    if (status == FG_STATUS_OK && ftruncate(journal->fd, whole) != 0) {
        status = FG_FAIL(FG_STATUS_IO, "cannot write %s: %s", journal->path, strerror(errno));
    }
    if (status != FG_STATUS_OK) {
        fg_records_free(records);
        fg_journal_close(journal);
        return status;
    }
    *out = journal;
    return FG_STATUS_OK;
}

fg_status fg_journal_ending(fg_journal *journal, const char *text) {
    json_t *line = json_object();
    if (json_object_set_new(line, "worker", fg_json_from_text(text)) != 0) {
        json_decref(line);
        line = NULL;
    }
    return line_append(journal, line);
}

fg_status fg_journal_append(fg_journal *journal, const fg_record *record) {
    return line_append(journal, fg_json_from_record(record, 1));
}

void fg_journal_close(fg_journal *journal) {
    if (journal != NULL) {
        (void)close(journal->fd);
        fg_free(journal);
    }
}
