#include "conformance/process/client.h"

#include "conformance/process/client_call.h"
#include "contract/alloc.h"
#include <stdio.h>
#include <string.h>

enum { CLOSE_PATIENCE = 2 };

/* Adds the worker's last words to what is said of its end. */
static void death_words(fg_client *client) {
    size_t length = strlen(client->death);
    while (client->process.err_length > 0 &&
           client->process.err_tail[client->process.err_length - 1] == '\n') {
        client->process.err_length -= 1;
    }
    if (client->process.err_length > 0) {
        (void)snprintf(client->death + length, sizeof client->death - length, "; its stderr: %.*s",
                       (int)client->process.err_length, client->process.err_tail);
    }
}

/* Marks the client dead: reaps the worker and keeps how it ended as the message of every later
 * call. */
static fg_status client_die(fg_client *client, fg_status status, const char *during) {
    char cause[512], ending[64];
    (void)snprintf(cause, sizeof cause, "%s", fg_message());
    /* A worker that crashed is ending on its own; a coredump may take a moment. */
    (void)fg_process_end(&client->process, status == FG_STATUS_CRASH ? CLOSE_PATIENCE : 0);
    fg_process_ending(&client->process, ending, sizeof ending);
    client->dead = status;
    if (status == FG_STATUS_CRASH) {
        (void)snprintf(client->death, sizeof client->death, "worker %d ended with %s during %s",
                       (int)client->pid, ending, during);
    } else if (status == FG_STATUS_TIMEOUT) {
        (void)snprintf(client->death, sizeof client->death,
                       "worker %d did not answer %s within %g s and was killed", (int)client->pid,
                       during, client->timeout);
    } else {
        (void)snprintf(client->death, sizeof client->death, "worker %d during %s: %s",
                       (int)client->pid, during, cause);
    }
    death_words(client);
    return FG_FAIL(status, "%s", client->death);
}

json_t *fg_client_request(const char *name) {
    return json_pack("{s:s}", "call", name);
}

void fg_client_put(json_t *request, const char *key, json_t *value, int *failed) {
    if (value == NULL || json_object_set_new(request, key, value) != 0) {
        *failed = 1;
    }
}

json_t *fg_client_whole(json_t *request, int failed) {
    if (failed) {
        json_decref(request);
        return NULL;
    }
    return request;
}

fg_status fg_client_reply_struct(json_t *reply, const char *key, const fg_struct_fields *fields,
                                 void *out) {
    fg_status status = fg_json_to_struct(json_object_get(reply, key), fields, out);
    json_decref(reply);
    return status;
}

fg_status fg_client_reply_integer(json_t *reply, const char *key, int64_t *out) {
    fg_status status = fg_json_integer(reply, key, out);
    json_decref(reply);
    return status;
}

/* A line that is no answer to this request was written by code under test. */
static fg_status reply_own(const json_t *reply, int64_t id) {
    const json_t *found = json_object_get(reply, "id");
    if (!json_is_integer(found)) {
        return FG_FAIL(FG_STATUS_PROTOCOL, "found a line without id, expected the reply %lld",
                       (long long)id);
    }
    if (json_integer_value(found) != id) {
        return FG_FAIL(FG_STATUS_PROTOCOL, "found a line with id %lld, expected the reply %lld",
                       (long long)json_integer_value(found), (long long)id);
    }
    return FG_STATUS_OK;
}

/* Sends a line and reads one back as an object; a failure of either is the worker's death. */
static fg_status client_exchange(fg_client *client, const json_t *request, const char *name,
                                 json_t **reply) {
    char *text = NULL;
    const char *answer = NULL;
    size_t length = 0;
    FG_TRY(fg_protocol_dump(request, &text, &length));
    double deadline = fg_seconds_now() + client->timeout;
    fg_status status = fg_process_send(&client->process, text, length, deadline);
    fg_free(text);
    if (status == FG_STATUS_OK) {
        status = fg_process_receive(&client->process, deadline, &answer, &length);
    }
    if (status == FG_STATUS_OK) {
        status = fg_protocol_parse(answer, length, reply);
    }
    if (status == FG_STATUS_OK) {
        status = reply_own(*reply, client->calls);
    }
    if (status != FG_STATUS_OK && status != FG_STATUS_NO_MEMORY) {
        return client_die(client, status, name);
    }
    /* With no memory for the answer, requests and answers would no longer pair up. */
    if (status == FG_STATUS_NO_MEMORY) {
        (void)client_die(client, FG_STATUS_NO_MEMORY, name);
    }
    return status;
}

static void changes_note(fg_client *client, const char *text) {
    size_t held = strlen(client->changes);
    if (text != NULL && text[0] != '\0') {
        (void)snprintf(client->changes + held, sizeof client->changes - held, "%s%s",
                       held > 0 ? "; " : "", text);
    }
}

/* Takes what every reply tells, and its status. */
static fg_status reply_read(fg_client *client, const json_t *reply, const char *name) {
    int64_t number = 0;
    double seconds = 0;
    fg_status status = fg_json_integer(reply, "status", &number);
    if (status != FG_STATUS_OK || number < 0 || number > FG_STATUS_INTERNAL) {
        if (status == FG_STATUS_OK) {
            (void)FG_FAIL(FG_STATUS_PROTOCOL, "found status %lld, expected a known number",
                          (long long)number);
        }
        return client_die(client, FG_STATUS_PROTOCOL, name);
    }
    if (json_object_get(reply, "seconds") != NULL &&
        fg_json_real(reply, "seconds", &seconds) == FG_STATUS_OK) {
        client->seconds += seconds;
    }
    changes_note(client, json_string_value(json_object_get(reply, "state")));
    const char *message = json_string_value(json_object_get(reply, "message"));
    if (number != FG_STATUS_OK) {
        return FG_FAIL((fg_status)number, "%s",
                       message != NULL && message[0] != '\0'
                           ? message
                           : fg_status_sentence((fg_status)number));
    }
    return FG_STATUS_OK;
}

static fg_status request_number(fg_client *client, json_t *request) {
    client->calls += 1;
    if (json_object_set_new(request, "id", json_integer(client->calls)) != 0) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "no memory for a request");
    }
    return FG_STATUS_OK;
}

fg_status fg_client_call(fg_client *client, json_t *request, json_t **reply) {
    json_t *answer = NULL;
    fg_status status;
    if (request == NULL) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "no memory for a request");
    }
    (void)pthread_mutex_lock(&client->lock);
    if (client->dead != FG_STATUS_OK) {
        status = FG_FAIL(client->dead, "%s", client->death);
    } else {
        const char *name = json_string_value(json_object_get(request, "call"));
        status = request_number(client, request);
        status = status != FG_STATUS_OK ? status : client_exchange(client, request, name, &answer);
        if (status == FG_STATUS_OK) {
            status = reply_read(client, answer, name);
        }
    }
    (void)pthread_mutex_unlock(&client->lock);
    json_decref(request);
    if (status == FG_STATUS_OK && reply != NULL) {
        *reply = answer;
    } else {
        json_decref(answer);
    }
    return status;
}

/* Reads the worker's first line and checks that it speaks this protocol. */
static fg_status client_greet(fg_client *client) {
    const char *line = NULL;
    size_t length = 0;
    json_t *hello = NULL;
    int64_t version = 0;
    fg_status status =
        fg_process_receive(&client->process, fg_seconds_now() + client->timeout, &line, &length);
    if (status == FG_STATUS_OK) {
        status = fg_protocol_parse(line, length, &hello);
    }
    if (status == FG_STATUS_OK) {
        status = fg_json_integer(hello, "protocol", &version);
    }
    json_decref(hello);
    if (status == FG_STATUS_OK && version != FG_PROTOCOL) {
        status = FG_FAIL(FG_STATUS_PROTOCOL, "found protocol %lld, expected %d", (long long)version,
                         FG_PROTOCOL);
    }
    return status == FG_STATUS_OK ? status : client_die(client, status, "its first line");
}

static fg_status client_load(fg_client *client, const fg_client_options *options) {
    int failed = 0;
    json_t *request = fg_client_request("load");
    if (options->backend != NULL) {
        fg_client_put(request, "backend", json_string(options->backend), &failed);
    }
    if (options->executor != NULL) {
        fg_client_put(request, "executor", json_string(options->executor), &failed);
    }
    return fg_client_call(client, fg_client_whole(request, failed), NULL);
}

fg_status fg_client_open(const fg_client_options *options, fg_client **out) {
    char path[4096];
    *out = NULL;
    FG_TRY(fg_process_worker_path(path, sizeof path));
    fg_client *client = fg_alloc(sizeof *client, FG_ALLOC_GENERAL);
    if (client == NULL) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "no memory for a client");
    }
    client->timeout = options->timeout > 0 ? options->timeout : 60;
    (void)pthread_mutex_init(&client->lock, NULL);
    fg_status status = fg_process_start(path, &client->process);
    if (status == FG_STATUS_OK) {
        client->pid = client->process.pid;
        status = client_greet(client);
    }
    if (status == FG_STATUS_OK) {
        status = client_load(client, options);
    }
    if (status != FG_STATUS_OK) {
        fg_client_close(client);
        return status;
    }
    *out = client;
    return FG_STATUS_OK;
}

/* How a worker that was asked to end did so. */
static fg_status ending_judge(fg_client *client, double patience, int killed) {
    char ending[64];
    int64_t bytes = client->process.stdout_bytes - client->stdout_asked;
    fg_process_ending(&client->process, ending, sizeof ending);
    if (killed) {
        (void)snprintf(client->death, sizeof client->death,
                       "did not end within %g s after its last call and was killed", patience);
        return FG_STATUS_TIMEOUT;
    }
    if (client->process.exit_status != 0) {
        (void)snprintf(client->death, sizeof client->death, "ended with %s at exit", ending);
        return FG_STATUS_CRASH;
    }
    if (bytes > 0) {
        (void)snprintf(client->death, sizeof client->death,
                       "wrote %lld bytes to standard output at exit", (long long)bytes);
        return FG_STATUS_PROTOCOL;
    }
    return FG_STATUS_OK;
}

fg_status fg_client_finish(fg_client *client) {
    (void)pthread_mutex_lock(&client->lock);
    fg_status status = FG_STATUS_OK;
    if (client->dead == FG_STATUS_OK) {
        double patience = client->timeout > CLOSE_PATIENCE ? client->timeout : CLOSE_PATIENCE;
        status = ending_judge(client, patience, fg_process_end(&client->process, patience));
        if (status != FG_STATUS_OK) {
            death_words(client);
            (void)FG_FAIL(status, "%s", client->death);
        } else {
            (void)snprintf(client->death, sizeof client->death, "the worker was ended");
        }
        client->dead = status != FG_STATUS_OK ? status : FG_STATUS_CRASH;
    }
    (void)pthread_mutex_unlock(&client->lock);
    return status;
}

void fg_client_close(fg_client *client) {
    if (client == NULL) {
        return;
    }
    /* An idle worker ends by itself when its channel closes, and flushes what it holds. */
    (void)fg_process_end(&client->process, client->dead == FG_STATUS_OK ? CLOSE_PATIENCE : 0);
    fg_process_free(&client->process);
    fg_maps_free(&client->maps);
    (void)pthread_mutex_destroy(&client->lock);
    fg_free(client);
}

int32_t fg_client_pid(const fg_client *client) {
    return (int32_t)client->pid;
}

int fg_client_alive(const fg_client *client) {
    return client->dead == FG_STATUS_OK;
}

int64_t fg_client_stdout_bytes(fg_client *client) {
    (void)pthread_mutex_lock(&client->lock);
    fg_process_drain(&client->process);
    int64_t bytes = client->process.stdout_bytes - client->stdout_asked;
    client->stdout_asked += bytes;
    (void)pthread_mutex_unlock(&client->lock);
    return bytes;
}

const char *fg_client_state_changes(fg_client *client) {
    (void)pthread_mutex_lock(&client->lock);
    memcpy(client->changes_told, client->changes, sizeof client->changes);
    client->changes[0] = '\0';
    (void)pthread_mutex_unlock(&client->lock);
    return client->changes_told;
}

fg_status fg_client_quiet(fg_client *client, const char *when) {
    int64_t bytes = fg_client_stdout_bytes(client);
    const char *changes = fg_client_state_changes(client);
    if (bytes > 0) {
        return FG_FAIL(FG_STATUS_PROTOCOL, "%s: %lld bytes written to standard output", when,
                       (long long)bytes);
    }
    if (changes[0] != '\0') {
        return FG_FAIL(FG_STATUS_PROTOCOL, "%s: left the process changed: %s", when, changes);
    }
    return FG_STATUS_OK;
}

double fg_client_seconds(fg_client *client) {
    (void)pthread_mutex_lock(&client->lock);
    double seconds = client->seconds;
    client->seconds = 0;
    (void)pthread_mutex_unlock(&client->lock);
    return seconds;
}

/* Has both ends hold a mapping under its path's name. */
static fg_status client_map(fg_client *client, const fg_shm *shm) {
    json_t *request = json_pack("{s:s, s:s, s:I}", "call", "share", "map", shm->path, "bytes",
                                (json_int_t)shm->bytes);
    return fg_client_call(client, request, NULL);
}

fg_status fg_client_share(fg_client *client, fg_shm *shm) {
    FG_TRY(fg_maps_add(&client->maps, shm->path, shm->base, shm->bytes));
    fg_status status = client_map(client, shm);
    if (status != FG_STATUS_OK) {
        fg_maps_remove(&client->maps, shm->path);
        return status;
    }
    fg_shm_unlink(shm);
    return FG_STATUS_OK;
}

fg_status fg_client_unshare(fg_client *client, const fg_shm *shm) {
    const fg_map *map = fg_maps_of_address(&client->maps, shm->base, shm->bytes);
    if (map == NULL) {
        return FG_FAIL(FG_STATUS_INVALID, "found a mapping that is not shared");
    }
    json_t *request = json_pack("{s:s, s:s}", "call", "unshare", "map", map->path);
    fg_maps_remove(&client->maps, map->path);
    return fg_client_call(client, request, NULL);
}
