/*
 * Asks a server for answers and counts them; or, to know this program's own ceiling, answers itself.
 *
 *   load ask PORT CONNECTIONS DEPTH SECONDS RATE FRAMES
 *       Sends random frames of the file FRAMES. RATE 0: each connection keeps DEPTH requests under
 *       way. RATE > 0: that many requests a second by the clock, each on a connection that is free;
 *       the latency of a request counts from the moment at which it was due, so that a server
 *       which pauses pays for those it kept waiting. A deaf or closing server ends the program.
 *   load answer PORT FRAMES [sleep]    sleep: between questions, as a server does
 *       Answers each frame with the first frame of the file FRAMES, until it is killed; never sleeps.
 *
 * A frame is an int32 length, big-endian, and that many bytes. Of an answer nothing but the length
 * and the code is looked at; those with code 0, whose header may be of either encoding, are
 * `accepted`.
 * `ask` prints one line of JSON. Loopback only.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    CONNECTIONS_MAX = 1024,
    INPUT_BYTES = 1 << 18,
    OUTPUT_BYTES = 1 << 20,
    LATENCIES_MAX = 8 << 20, /* 64 MiB of samples: far more than one run makes */
    LATENCY_NS = 100,        /* their unit: 32 bits hold seven minutes */
    DEAF_MS = 10000,
    HEAD_BYTES = 32,         /* of an answer: as far as its code */
};

struct connection {
    int descriptor;
    uint8_t length[4];     /* the length word of the frame under way, while it is incomplete */
    uint32_t length_bytes; /* how much of it is there */
    uint32_t wanted;       /* bytes still to come of the frame under way */
    char head[HEAD_BYTES]; /* how it begins */
    uint32_t head_bytes;
    uint32_t accepted; /* of those that were completed last */
    char *output;
    size_t output_begin, output_end;
    int64_t due; /* when the request under way should have been sent (depth 1 only) */
};

struct frames {
    char *bytes;
    uint32_t *starts;
    uint32_t count;
};

static struct connection connections[CONNECTIONS_MAX];
static char input[INPUT_BYTES];
static uint64_t random_state = 88172645463325252ULL;

static void give_up(const char *what) {
    fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static uint32_t random_below(uint32_t bound) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)((random_state >> 32) * bound >> 32);
}

static uint32_t big_endian(const void *bytes) {
    uint32_t value;
    memcpy(&value, bytes, 4);
    return ntohl(value);
}

static struct frames read_frames(const char *path) {
    struct frames frames = {0};
    struct stat status;
    FILE *file = fopen(path, "rb");
    if (!file || fstat(fileno(file), &status)) give_up(path);
    frames.bytes = malloc(status.st_size);
    frames.starts = malloc((status.st_size / 4 + 2) * sizeof(uint32_t));
    if (fread(frames.bytes, 1, status.st_size, file) != (size_t)status.st_size) give_up(path);
    fclose(file);
    for (uint32_t at = 0; at < status.st_size; at += 4 + big_endian(frames.bytes + at))
        frames.starts[frames.count++] = at;
    frames.starts[frames.count] = status.st_size;
    return frames;
}

static void flush_output(struct connection *peer) {
    while (peer->output_begin < peer->output_end) {
        ssize_t sent = send(peer->descriptor, peer->output + peer->output_begin,
                            peer->output_end - peer->output_begin, MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN) return; /* the next readiness brings us back */
        if (sent < 0) give_up("send");
        peer->output_begin += sent;
    }
    peer->output_begin = peer->output_end = 0;
}

static void put_frame(struct connection *peer, const struct frames *frames, uint32_t which) {
    uint32_t start = frames->starts[which], size = frames->starts[which + 1] - start;
    if (peer->output_end + size > OUTPUT_BYTES) flush_output(peer);
    if (peer->output_end + size > OUTPUT_BYTES) { errno = ENOBUFS; give_up("peer reads nothing"); }
    memcpy(peer->output + peer->output_end, frames->bytes + start, size);
    peer->output_end += size;
}

/* Behind a byte that tells the encoding and three of the header's length: `{"code":0,` or int16. */
static uint32_t is_accepted(const struct connection *peer) {
    const char *head = peer->head;
    if (peer->head_bytes < 14) return 0;
    return head[0] ? !head[4] && !head[5] : !memcmp(head + 4, "{\"code\":0", 9) && head[13] == ',';
}

/* How many frames the bytes of `input` complete. */
static uint32_t count_frames(struct connection *peer, size_t size) {
    uint32_t complete = 0;
    size_t at = 0;
    while (at < size) {
        if (peer->wanted == 0) {
            while (peer->length_bytes < 4 && at < size)
                peer->length[peer->length_bytes++] = input[at++];
            if (peer->length_bytes < 4) break;
            peer->wanted = big_endian(peer->length);
            peer->length_bytes = peer->head_bytes = 0;
        }
        size_t here = size - at < peer->wanted ? size - at : peer->wanted;
        size_t more = HEAD_BYTES - peer->head_bytes < here ? HEAD_BYTES - peer->head_bytes : here;
        memcpy(peer->head + peer->head_bytes, input + at, more);
        peer->head_bytes += more;
        at += here;
        peer->wanted -= here;
        if (peer->wanted == 0) {
            complete++;
            peer->accepted += is_accepted(peer);
        }
    }
    return complete;
}

/* The bytes read into `input`; 0 when there is nothing now, -1 when the peer has closed. */
static ssize_t read_input(struct connection *peer) {
    ssize_t size = recv(peer->descriptor, input, INPUT_BYTES, 0);
    if (size > 0) return size;
    if (size < 0 && errno == EAGAIN) return 0;
    if (size < 0 && errno != ECONNRESET) give_up("recv");
    return -1;
}

static void adopt(struct connection *peer, int poller, int descriptor) {
    int on = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
    peer->descriptor = descriptor;
    peer->output = malloc(OUTPUT_BYTES);
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = peer};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, descriptor, &event)) give_up("epoll_ctl");
}

static struct sockaddr_in loopback(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static int compare(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static double microseconds(const uint32_t *sorted, uint32_t count, double part) {
    return count ? sorted[(uint32_t)((count - 1) * part)] * (LATENCY_NS / 1e3) : 0;
}

struct load {
    struct frames frames;
    struct connection **idle;
    uint32_t *latencies, connections, depth, idle_count, latency_count;
    int64_t interval, next_due, last_answer, longest_gap;
    uint64_t sent, answers, accepted, bytes;
};

static void send_requests(struct load *load, struct connection *peer, uint32_t count) {
    load->sent += count;
    while (count--) put_frame(peer, &load->frames, random_below(load->frames.count));
    flush_output(peer);
}

static void send_due(struct load *load, int64_t now) {
    while (load->next_due <= now && load->idle_count) {
        struct connection *peer = load->idle[--load->idle_count];
        peer->due = load->next_due;
        load->next_due += load->interval;
        send_requests(load, peer, 1);
    }
}

static void take_answers(struct load *load, struct connection *peer, uint32_t count) {
    int64_t now = now_ns();
    load->answers += count;
    load->accepted += peer->accepted;
    peer->accepted = 0;
    if (now - load->last_answer > load->longest_gap) load->longest_gap = now - load->last_answer;
    load->last_answer = now;
    if (load->depth == 1 && load->latency_count < LATENCIES_MAX) {
        load->latencies[load->latency_count++] = (now - peer->due) / LATENCY_NS;
    }
    peer->due = now;
    if (load->interval)
        load->idle[load->idle_count++] = peer;
    else
        send_requests(load, peer, count);
}

/* Waits until a connection is ready, a request is due or the run is over; answers how many.
 *
 * At full speed it never sleeps: waking a process on another core is dear, and on loopback the
 * server would pay for it with each answer, as it does not when its clients are elsewhere.
 */
static int wait_ready(struct load *load, int poller, struct epoll_event *events, int64_t end) {
    if (!load->interval) return epoll_wait(poller, events, 256, 0);
    int64_t now = now_ns(), until = end;
    if (load->interval && load->idle_count && load->next_due < until) until = load->next_due;
    int64_t wait = until > now ? until - now : 0;
    struct pollfd ready = {.fd = poller, .events = POLLIN};
    struct timespec time = {wait / 1000000000, wait % 1000000000};
    if (ppoll(&ready, 1, &time, NULL) < 0) give_up("ppoll");
    return epoll_wait(poller, events, 256, 0);
}

static void run_load(struct load *load, int poller, int64_t begin, int64_t end) {
    struct epoll_event events[256];
    load->last_answer = load->next_due = begin;
    for (uint32_t i = 0; i < load->connections; i++) {
        connections[i].due = begin;
        if (load->interval)
            load->idle[load->idle_count++] = &connections[i];
        else
            send_requests(load, &connections[i], load->depth);
    }
    for (int64_t now = begin; now < end; now = now_ns()) {
        if (load->interval) send_due(load, now);
        if (load->sent > load->answers && now - load->last_answer > DEAF_MS * 1000000LL) {
            errno = ETIMEDOUT;
            give_up("no answer");
        }
        int count = wait_ready(load, poller, events, end);
        for (int i = 0; i < count; i++) {
            struct connection *peer = events[i].data.ptr;
            ssize_t size;
            if (peer->output_end) flush_output(peer);
            while ((size = read_input(peer)) > 0) {
                load->bytes += size;
                uint32_t complete = count_frames(peer, size);
                if (complete) take_answers(load, peer, complete);
                if (size < INPUT_BYTES) break;
            }
            if (size < 0) { errno = ECONNRESET; give_up("closed by the server"); }
        }
    }
    int64_t silence = now_ns() - load->last_answer;
    if (load->sent > load->answers && silence > load->longest_gap) load->longest_gap = silence;
}

static void print_result(struct load *load, double seconds) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    qsort(load->latencies, load->latency_count, sizeof(uint32_t), compare);
    uint32_t count = load->latency_count;
    printf("{\"answers\":%lu,\"accepted\":%lu,\"bytes\":%lu,\"seconds\":%.6f,\"own_cpu_seconds\":%.6f,"
           "\"p50_us\":%.1f,\"p99_us\":%.1f,\"max_us\":%.1f,\"longest_gap_us\":%.1f}\n",
           load->answers, load->accepted, load->bytes, seconds,
           usage.ru_utime.tv_sec + usage.ru_stime.tv_sec +
               (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6,
           microseconds(load->latencies, count, 0.50), microseconds(load->latencies, count, 0.99),
           microseconds(load->latencies, count, 1), load->longest_gap / 1e3);
}

static int ask(char **arguments) {
    struct sockaddr_in address = loopback(atoi(arguments[0]));
    struct load load = {.connections = atoi(arguments[1]), .depth = atoi(arguments[2])};
    double seconds = atof(arguments[3]), rate = atof(arguments[4]);
    if (load.connections > CONNECTIONS_MAX) { errno = ERANGE; give_up("connections"); }
    load.frames = read_frames(arguments[5]);
    load.interval = rate > 0 ? (int64_t)(1e9 / rate) : 0;
    load.idle = calloc(load.connections, sizeof *load.idle);
    load.latencies = malloc(LATENCIES_MAX * sizeof(uint32_t));
    int poller = epoll_create1(0);
    prctl(PR_SET_TIMERSLACK, 1UL);
    for (uint32_t i = 0; i < load.connections; i++) {
        int descriptor = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(descriptor, (struct sockaddr *)&address, sizeof address)) give_up("connect");
        adopt(&connections[i], poller, descriptor);
    }
    int64_t begin = now_ns();
    run_load(&load, poller, begin, begin + (int64_t)(seconds * 1e9));
    print_result(&load, (now_ns() - begin) / 1e9);
    return 0;
}

static _Noreturn void answer(char **arguments) {
    struct sockaddr_in address = loopback(atoi(arguments[0]));
    struct frames frames = read_frames(arguments[1]);
    int poller = epoll_create1(0), listener = socket(AF_INET, SOCK_STREAM, 0), on = 1, used = 0;
    int wait_ms = arguments[2] ? -1 : 0; /* asleep, it would be dear to wake */
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&address, sizeof address)) give_up("bind");
    listen(listener, 128);
    struct epoll_event event = {.events = EPOLLIN}, events[256];
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        int count = epoll_wait(poller, events, 256, wait_ms);
        for (int i = 0; i < count; i++) {
            struct connection *peer = events[i].data.ptr;
            if (!peer) {
                if (used == CONNECTIONS_MAX) { errno = ERANGE; give_up("connections"); }
                adopt(&connections[used++], poller, accept(listener, NULL, NULL));
                continue;
            }
            ssize_t size;
            if (peer->output_end) flush_output(peer);
            while ((size = read_input(peer)) > 0)
                for (uint32_t left = count_frames(peer, size); left; left--)
                    put_frame(peer, &frames, 0);
            if (size < 0)
                close(peer->descriptor);
            else
                flush_output(peer);
        }
    }
}

int main(int count, char **arguments) {
    if (count == 8 && !strcmp(arguments[1], "ask")) return ask(arguments + 2);
    if ((count == 4 || count == 5) && !strcmp(arguments[1], "answer")) answer(arguments + 2);
    fprintf(stderr, "usage: load ask PORT CONNECTIONS DEPTH SECONDS RATE FRAMES\n"
                    "       load answer PORT FRAMES [sleep]\n");
    return 2;
}
