/*
 * A broker that costs next to nothing: what is left of the end to end latency when it serves is
 * the clients, the kernel and the scheduler, the floor that no broker on this machine gets below.
 *
 *     standin PORT TOPIC
 *
 * One thread serves one topic of one partition on 127.0.0.1. Of its log only the newest batch is
 * kept, in memory: with one record in flight nobody asks for an older one. Every answer is
 * encoded once, at the start; later its changing fields are patched and it goes out in one send().
 * Nothing is checked that the clients of the benchmark get right by themselves. SIGTERM ends it.
 */

#define _GNU_SOURCE

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define HOST "127.0.0.1"

enum { NODE_ID = 1, LEADER_EPOCH = 0, PRODUCER_ID = 1000 };

enum {
    MAX_TOPIC = 249,
    MAX_BATCH = 1 << 16,
    MAX_REQUEST = MAX_BATCH + 1024,
    MAX_REPLY = MAX_BATCH + 1024,
    MAX_CONNECTIONS = 64,
    MAX_EVENTS = 16,
};

enum { PRODUCE = 0, FETCH = 1, LIST_OFFSETS = 2, METADATA = 3 };
enum { FIND_COORDINATOR = 10, API_VERSIONS = 18, INIT_PRODUCER_ID = 22 };

/* Where things lie in a request or a reply, and in a record batch. */
enum { LENGTH_SIZE = 4, CORRELATION_AT = 4, REPLY_BODY_AT = 8 };
enum { BATCH_LENGTH_AT = 8, BATCH_EPOCH_AT = 12, BATCH_LAST_DELTA_AT = 23, BATCH_MIN_SIZE = 61 };

struct reply {
    size_t size;
    uint8_t bytes[MAX_REPLY];
};

struct connection {
    int fd; /* -1 in a free slot */
    /* A Fetch at the end of the log waits; later requests of the connection wait behind it. */
    bool fetch_waits;
    int32_t fetch_correlation;
    int64_t fetch_deadline_ms;
    size_t received;
    uint8_t input[LENGTH_SIZE + MAX_REQUEST];
};

/* A request that is being read. Behind its end there are only zeros, and it counts as broken. */
struct request {
    const uint8_t *at, *end;
    bool broken;
    int16_t key, version;
    int32_t correlation;
};

static char topic[MAX_TOPIC + 1];
static int64_t log_start, log_end;

static struct connection connections[MAX_CONNECTIONS];
static int slots_used; /* those from here on were never taken */

static struct reply versions_reply, brokers_reply, metadata_reply, coordinator_reply;
static struct reply producer_id_reply, list_offsets_reply, produce_reply, empty_reply;
/* The log itself: the newest batch stands where the answer to a Fetch wants it. */
static struct reply batch_reply;
/* Where the patched fields lie; both answers to a Fetch are alike up to the records. */
static size_t list_offsets_offset_at, produce_offset_at, fetch_offsets_at, fetch_records_at;

/*
 * Clients take the newest version that both sides know, so only that one is served; the newest
 * without flexible encoding keeps this file short. Older ones are named because librdkafka
 * concludes from them what a broker can do: records of format 2 need Produce 3 and Fetch 4.
 */
static const struct api {
    int16_t key, oldest, newest;
    struct reply *always; /* the answer, if it is always the same */
} apis[] = {
    {PRODUCE, 3, 8, NULL},
    {FETCH, 4, 11, NULL},
    {LIST_OFFSETS, 1, 5, NULL},
    {METADATA, 1, 8, &metadata_reply},
    {FIND_COORDINATOR, 0, 2, &coordinator_reply},
    {API_VERSIONS, 0, 4, &versions_reply},
    {INIT_PRODUCER_ID, 0, 1, &producer_id_reply},
};
enum { API_COUNT = sizeof apis / sizeof apis[0] };

static void die(const char *what) {
    perror(what);
    exit(1);
}

/* ---- big-endian fields ---- */

static void store(uint8_t *at, size_t size, int64_t value) {
    uint64_t rest = (uint64_t)value;
    for (size_t index = size; index-- > 0; rest >>= 8)
        at[index] = (uint8_t)rest;
}

static int64_t load(const uint8_t *at, size_t size) {
    int64_t value = (int8_t)at[0];
    for (size_t index = 1; index < size; index++)
        value = value * 256 + at[index];
    return value;
}

static const uint8_t *take_bytes(struct request *request, int64_t size) {
    static const uint8_t zeros[8];
    if (size < 0 || size > request->end - request->at) {
        request->broken = true;
        request->at = request->end;
        return zeros;
    }
    const uint8_t *taken = request->at;
    request->at += size;
    return taken;
}

static int64_t take(struct request *request, size_t size) {
    return load(take_bytes(request, (int64_t)size), size);
}

static void skip_nullable_string(struct request *request) {
    int64_t length = take(request, 2);
    take_bytes(request, length > 0 ? length : 0);
}

/* Read up to the fields of our partition; it has to be the only one that the request names. */
static void enter_partition(struct request *request) {
    size_t expected = strlen(topic);
    bool one_topic = take(request, 4) == 1;
    int64_t length = take(request, 2);
    const uint8_t *name = take_bytes(request, length);
    bool ours = !request->broken && (size_t)length == expected && !memcmp(name, topic, expected);
    bool one_partition = take(request, 4) == 1;
    bool the_first = take(request, 4) == 0;
    if (!(one_topic && ours && one_partition && the_first))
        request->broken = true;
}

/* ---- answers, encoded once ---- */

static void frame(struct reply *reply) {
    store(reply->bytes, LENGTH_SIZE, (int64_t)reply->size - LENGTH_SIZE);
}

/*
 * Append fields, named as Python's struct.pack() does: an int for each b, h and i, an int64_t for
 * q; for s a string, or NULL. Returns where the field behind the mark @ lies.
 */
static size_t encode(struct reply *reply, const char *format, ...) {
    size_t marked = 0;
    va_list values;
    va_start(values, format);
    if (reply->size == 0)
        reply->size = REPLY_BODY_AT;
    for (; *format; format++) {
        uint8_t *at = reply->bytes + reply->size;
        size_t size = *format == 'q' ? 8 : *format == 'i' ? 4 : *format == 'b' ? 1 : 2;
        if (*format == ' ') {
            continue;
        } else if (*format == '@') {
            marked = reply->size;
            continue;
        } else if (*format == 's') {
            const char *text = va_arg(values, const char *);
            size_t length = text ? strlen(text) : 0;
            store(at, size, text ? (int64_t)length : -1);
            memcpy(at + size, text ? text : "", length);
            size += length;
        } else {
            store(at, size, size == 8 ? va_arg(values, int64_t) : va_arg(values, int));
        }
        reply->size += size;
    }
    va_end(values);
    frame(reply);
    return marked;
}

/* Throttle time 0, error 0 and session 0; the partition and its error; high watermark, last
 * stable and first offset; no aborted transactions, no preferred replica, no records so far. */
static void prepare_fetch(struct reply *reply) {
    const int64_t none = 0;
    encode(reply, "ihi isii h", 0, 0, 0, 1, topic, 1, 0, 0);
    fetch_offsets_at = encode(reply, "@qqq iii", none, none, none, -1, -1, 0);
    fetch_records_at = reply->size;
}

static void prepare_replies(int port) {
    const int64_t none = -1;

    /* The only flexible answer: its count is a varint and one too large, no field is tagged. */
    encode(&versions_reply, "hb", 0, API_COUNT + 1);
    for (const struct api *api = apis; api < apis + API_COUNT; api++)
        encode(&versions_reply, "hhhb", api->key, api->oldest, api->newest, 0);
    encode(&versions_reply, "ib", 0, 0);

    /* Version 1, which only asks whether we are up: the broker, the controller, no topics. */
    encode(&brokers_reply, "i isis ii", 1, NODE_ID, HOST, port, NULL, NODE_ID, 0);

    /* Version 8, always with everything there is: the broker, the cluster and its controller;
     * the topic; its partition with leader and replicas; operations, which nobody asks for. */
    encode(&metadata_reply, "i i isis si", 0, 1, NODE_ID, HOST, port, NULL, "standin", NODE_ID);
    encode(&metadata_reply, "i hsb", 1, 0, topic, 0);
    encode(&metadata_reply, "i hiii", 1, 0, 0, NODE_ID, LEADER_EPOCH);
    encode(&metadata_reply, "ii ii i ii", 1, NODE_ID, 1, NODE_ID, 0, INT32_MIN, INT32_MIN);

    /* Throttle time and error come first in both; then where it is, and who the producer is. */
    encode(&coordinator_reply, "ihs isi", 0, 0, NULL, NODE_ID, HOST, port);
    encode(&producer_id_reply, "ih qh", 0, 0, (int64_t)PRODUCER_ID, 0);

    /* Throttle time; the partition, its error, no timestamp, the offset and its epoch. */
    list_offsets_offset_at = encode(&list_offsets_reply, "i isii hq @qi", 0, 1, topic, 1, 0, 0,
                                    none, none, LEADER_EPOCH);

    /* The partition, its error, the offset; no append time, no log start; throttle time last. */
    produce_offset_at = encode(&produce_reply, "isii h @q qq is i", 1, topic, 1, 0, 0, none, none,
                               none, 0, NULL, 0);

    prepare_fetch(&batch_reply);
    prepare_fetch(&empty_reply);
}

/* ---- connections ---- */

static void drop(struct connection *connection) {
    if (connection->fd >= 0)
        close(connection->fd); /* epoll forgets it by itself */
    connection->fd = -1;
    connection->fetch_waits = false;
    connection->received = 0;
}

/* The send may block, but clients that read what they asked for never let it. */
static void answer(struct connection *connection, struct reply *reply, int32_t correlation) {
    store(reply->bytes + CORRELATION_AT, 4, correlation);
    if (send(connection->fd, reply->bytes, reply->size, MSG_NOSIGNAL) != (ssize_t)reply->size)
        drop(connection);
}

static void accept_connection(int listener, int poll) {
    int fd = accept(listener, NULL, NULL);
    int slot = 0;
    while (slot < slots_used && connections[slot].fd >= 0)
        slot++;
    if (fd < 0 || slot == MAX_CONNECTIONS)
        die("accept");
    if (slot == slots_used)
        slots_used++;
    connections[slot].fd = fd;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &connections[slot]};
    if (epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event) < 0)
        die("epoll_ctl");
}

/* Read what is there, even while a Fetch waits: epoll would report it again and again. */
static void receive(struct connection *connection) {
    uint8_t *unused = connection->input + connection->received;
    size_t room = sizeof connection->input - connection->received;
    ssize_t size = recv(connection->fd, unused, room, MSG_DONTWAIT);
    if (size > 0)
        connection->received += (size_t)size;
    else if (size == 0 || errno != EAGAIN)
        drop(connection);
}

/* ---- the log, and who waits for it ---- */

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void stamp_offsets(struct reply *fetch_reply) {
    uint8_t *offsets = fetch_reply->bytes + fetch_offsets_at;
    store(offsets, 8, log_end);
    store(offsets + 8, 8, log_end);
    store(offsets + 16, 8, log_start);
}

static void append(const uint8_t *batch, size_t size) {
    log_start = log_end;
    log_end += load(batch + BATCH_LAST_DELTA_AT, 4) + 1;
    uint8_t *kept = batch_reply.bytes + fetch_records_at;
    memcpy(kept, batch, size);
    store(kept, 8, log_start); /* the batch's checksum begins behind its offset and epoch */
    store(kept + BATCH_EPOCH_AT, 4, LEADER_EPOCH);
    store(kept - 4, 4, (int64_t)size);
    batch_reply.size = fetch_records_at + size;
    frame(&batch_reply);
    stamp_offsets(&batch_reply);
    stamp_offsets(&empty_reply);
}

/* Answer the waiting Fetches whose deadline is not later than this. */
static void answer_fetches(struct reply *reply, int64_t deadline_ms) {
    for (int slot = 0; slot < slots_used; slot++) {
        struct connection *connection = &connections[slot];
        if (connection->fetch_waits && connection->fetch_deadline_ms <= deadline_ms) {
            connection->fetch_waits = false;
            answer(connection, reply, connection->fetch_correlation);
        }
    }
}

/* Milliseconds until the next waiting Fetch expires, as epoll_wait() wants them. */
static int next_timeout(void) {
    int64_t earliest = INT64_MAX;
    for (int slot = 0; slot < slots_used; slot++)
        if (connections[slot].fetch_waits && connections[slot].fetch_deadline_ms < earliest)
            earliest = connections[slot].fetch_deadline_ms;
    if (earliest == INT64_MAX)
        return -1;
    int64_t left = earliest - now_ms();
    return left > 0 ? (int)left : 0;
}

/* ---- requests ---- */

static void serve_produce(struct connection *connection, struct request *request) {
    skip_nullable_string(request); /* transactional id */
    take(request, 2);              /* acks */
    take(request, 4);              /* timeout */
    enter_partition(request);
    int64_t size = take(request, 4);
    const uint8_t *batch = take_bytes(request, size);
    if (request->broken || size < BATCH_MIN_SIZE || size > MAX_BATCH ||
        load(batch + BATCH_LENGTH_AT, 4) != size - BATCH_EPOCH_AT) {
        request->broken = true; /* more than one batch, or none */
        return;
    }
    append(batch, (size_t)size);
    /* The latency lasts until the consumer has the record, so the producer is second. */
    answer_fetches(&batch_reply, INT64_MAX);
    store(produce_reply.bytes + produce_offset_at, 8, log_start);
    answer(connection, &produce_reply, request->correlation);
}

/* Without sessions: a consumer names its partition each time, as it would for a new offset. */
static void serve_fetch(struct connection *connection, struct request *request) {
    take(request, 4); /* replica id */
    int64_t max_wait_ms = take(request, 4);
    take_bytes(request, 4 + 4 + 1 + 4 + 4); /* least and most bytes, isolation, session, epoch */
    struct request ahead = *request;
    if (take(&ahead, 4) == 0) {
        /* A Java consumer that closes takes its leave without naming a topic. */
        answer(connection, &empty_reply, request->correlation);
        return;
    }
    enter_partition(request);
    take(request, 4); /* leader epoch */
    int64_t offset = take(request, 8);
    if (request->broken || offset < log_start || offset > log_end) {
        request->broken = true; /* whoever needs what is not kept does not measure the floor */
    } else if (offset < log_end) {
        answer(connection, &batch_reply, request->correlation);
    } else {
        connection->fetch_waits = true;
        connection->fetch_correlation = request->correlation;
        connection->fetch_deadline_ms = now_ms() + max_wait_ms;
    }
}

static void serve_list_offsets(struct connection *connection, struct request *request) {
    enum { EARLIEST = -2 };
    take_bytes(request, 4 + 1); /* replica id, isolation */
    enter_partition(request);
    take(request, 4); /* leader epoch */
    int64_t offset = take(request, 8) == EARLIEST ? log_start : log_end;
    if (request->broken)
        return;
    store(list_offsets_reply.bytes + list_offsets_offset_at, 8, offset);
    answer(connection, &list_offsets_reply, request->correlation);
}

/* The fixed answer to a request; NULL if there is none. */
static struct reply *fixed_reply(const struct request *request) {
    if (request->key == METADATA && request->version == 1)
        return &brokers_reply;
    if (request->key == API_VERSIONS && request->version == 3)
        return &versions_reply; /* same as 4 */
    for (const struct api *api = apis; api < apis + API_COUNT; api++)
        if (api->key == request->key && api->newest == request->version)
            return api->always;
    return NULL;
}

static void serve(struct connection *connection, const uint8_t *bytes, size_t size) {
    struct request request = {.at = bytes, .end = bytes + size};
    request.key = (int16_t)take(&request, 2);
    request.version = (int16_t)take(&request, 2);
    request.correlation = (int32_t)take(&request, 4);
    skip_nullable_string(&request); /* client id */
    struct reply *fixed = fixed_reply(&request);
    if (fixed != NULL)
        answer(connection, fixed, request.correlation);
    else if (request.key == PRODUCE)
        serve_produce(connection, &request);
    else if (request.key == FETCH)
        serve_fetch(connection, &request);
    else if (request.key == LIST_OFFSETS)
        serve_list_offsets(connection, &request);
    else
        request.broken = true;
    if (request.broken) {
        fprintf(stderr, "cannot serve key %d version %d\n", request.key, request.version);
        drop(connection);
    }
}

/* Serve the first request that is complete and need not wait behind a Fetch. */
static bool serve_next(struct connection *connection) {
    if (connection->fetch_waits || connection->received < LENGTH_SIZE)
        return false;
    int64_t size = load(connection->input, LENGTH_SIZE);
    if (size < 0 || size > MAX_REQUEST) {
        drop(connection);
        return false;
    }
    size_t framed = LENGTH_SIZE + (size_t)size;
    if (connection->received < framed)
        return false;
    serve(connection, connection->input + LENGTH_SIZE, (size_t)size);
    if (connection->fd >= 0) {
        connection->received -= framed;
        memmove(connection->input, connection->input + framed, connection->received);
    }
    return true;
}

/* Pass by pass, since an answered Fetch lets the requests behind it go on. */
static void serve_all(void) {
    for (bool served = true; served;) {
        served = false;
        for (int slot = 0; slot < slots_used; slot++)
            served |= serve_next(&connections[slot]);
    }
}

static int listen_on(int port) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, 16) < 0)
        die("listen");
    return fd;
}

static void end(int signal_number) {
    (void)signal_number;
    _exit(0); /* nothing to save */
}

int main(int argc, char **argv) {
    if (argc != 3 || strlen(argv[2]) > MAX_TOPIC) {
        fprintf(stderr, "usage: standin PORT TOPIC\n");
        return 2;
    }
    int port = atoi(argv[1]);
    strcpy(topic, argv[2]);
    prepare_replies(port);
    signal(SIGTERM, end);
    int listener = listen_on(port);
    int poll = epoll_create1(0);
    struct epoll_event incoming = {.events = EPOLLIN, .data.ptr = NULL};
    if (epoll_ctl(poll, EPOLL_CTL_ADD, listener, &incoming) < 0)
        die("epoll_ctl");
    for (;;) {
        struct epoll_event events[MAX_EVENTS];
        int count = epoll_wait(poll, events, MAX_EVENTS, next_timeout());
        for (int index = 0; index < count; index++) {
            if (events[index].data.ptr == NULL)
                accept_connection(listener, poll);
            else
                receive(events[index].data.ptr);
        }
        answer_fetches(&empty_reply, now_ms());
        serve_all();
    }
}
