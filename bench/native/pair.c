/*
 * A master and a slave that look at nothing: what the system's calls take of a replicated send.
 *
 *   pair FOLDER PORT ANSWER
 *       Sleeps until clients send frames to PORT. What a round of readiness brought is written to
 *       FOLDER/master, sent to the slave, a process of its own, which writes it to FOLDER/slave and
 *       says how much it has; then each frame is answered with the one in the file ANSWER. No sum,
 *       no queue, no index, no header. Both files may be emptied meanwhile. Ends when killed, both
 *       together. Loopback only.
 *
 * A frame is an int32 length, big-endian, and that many bytes.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CLIENTS_MAX = 1024,
    EVENTS_MAX = 256,
    CHUNK_BYTES = 256 << 10, /* of one read */
    GROUP_BYTES = 4 << 20,   /* of one round: behind it clients wait */
    ANSWER_MAX = 4 << 10,
    OUTPUT_BYTES = 1 << 20,
    UNCONFIRMED_MAX = 1 << 16,
    BACKLOG = 128,
    NOBODY = 0, /* no client's descriptor */
};

struct client {
    int descriptor;
    uint8_t length[4];
    uint32_t length_bytes, wanted;
};

struct unconfirmed {
    struct client *client;
    uint32_t frames;
    uint64_t end; /* of the group that they are in */
};

static struct client clients[CLIENTS_MAX];
static struct unconfirmed waiting[UNCONFIRMED_MAX];
static uint32_t first_waiting, behind_waiting;
static char group[GROUP_BYTES], answers[OUTPUT_BYTES];
static uint32_t answer_bytes;

static _Noreturn void give_up(const char *what) {
    fprintf(stderr, "pair: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int listen_at(int port) {
    int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&address, sizeof address)) give_up("bind");
    if (listen(listener, BACKLOG)) give_up("listen");
    return listener;
}

static int without_delay(int descriptor) {
    int on = 1;
    if (descriptor < 0) give_up("a connection");
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return descriptor;
}

static int open_log(const char *folder, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int log = open(path, O_CREAT | O_WRONLY | O_APPEND, 0600);
    if (log < 0) give_up(path);
    return log;
}

static void append(int log, const char *bytes, size_t size) {
    if (write(log, bytes, size) != (ssize_t)size) give_up("write");
}

/* Whether the other side took them all. */
static bool send_all(int descriptor, const char *bytes, size_t size) {
    while (size) {
        ssize_t sent = send(descriptor, bytes, size, MSG_NOSIGNAL);
        if (sent < 0) return false;
        bytes += sent;
        size -= sent;
    }
    return true;
}

static _Noreturn void follow(int link, const char *folder) {
    int log = open_log(folder, "slave");
    uint64_t end = 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        ssize_t size = recv(link, group, GROUP_BYTES, 0);
        if (size <= 0) exit(0);
        append(log, group, size);
        end += size;
        if (!send_all(link, (char *)&end, sizeof end)) exit(0);
    }
}

static int start_slave(const char *folder) {
    int listener = listen_at(0);
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    getsockname(listener, (struct sockaddr *)&address, &size);
    pid_t slave = fork();
    if (slave < 0) give_up("fork");
    if (slave == 0) {
        int link = without_delay(socket(AF_INET, SOCK_STREAM, 0));
        if (connect(link, (struct sockaddr *)&address, size)) give_up("connect");
        close(listener);
        follow(link, folder);
    }
    int link = without_delay(accept(listener, NULL, NULL));
    close(listener);
    return link;
}

/* In turn: what is still unconfirmed of who had it before is answered long before it comes up. */
static struct client *free_client(void) {
    static uint32_t next;
    for (uint32_t seen = 0; seen < CLIENTS_MAX; seen++) {
        struct client *client = &clients[next++ % CLIENTS_MAX];
        if (client->descriptor != NOBODY) continue;
        *client = (struct client){0};
        return client;
    }
    errno = ERANGE;
    give_up("clients");
}

/* How many frames these bytes complete. */
static uint32_t count_frames(struct client *client, const char *bytes, size_t size) {
    uint32_t complete = 0;
    size_t at = 0;
    while (at < size) {
        if (client->wanted == 0) {
            while (client->length_bytes < 4 && at < size)
                client->length[client->length_bytes++] = bytes[at++];
            if (client->length_bytes < 4) break;
            uint32_t length;
            memcpy(&length, client->length, 4);
            client->wanted = ntohl(length);
            client->length_bytes = 0;
        }
        size_t here = size - at < client->wanted ? size - at : client->wanted;
        at += here;
        client->wanted -= here;
        complete += client->wanted == 0;
    }
    return complete;
}

static void forget(struct client *client) {
    close(client->descriptor);
    client->descriptor = NOBODY;
}

/* What it sent, read behind `used` of the group that begins at `end`; who closed is forgotten. */
static size_t take(struct client *client, size_t used, uint64_t end) {
    if (client->descriptor == NOBODY) return 0; /* forgotten in this round */
    ssize_t size = recv(client->descriptor, group + used, CHUNK_BYTES, MSG_DONTWAIT);
    if (size < 0 && errno == EAGAIN) return 0;
    if (size <= 0) {
        forget(client);
        return 0;
    }
    uint32_t frames = count_frames(client, group + used, size);
    if (frames > OUTPUT_BYTES / answer_bytes) {
        errno = ENOBUFS;
        give_up("answers to one read");
    }
    if (frames) {
        if (behind_waiting - first_waiting == UNCONFIRMED_MAX) give_up("unconfirmed");
        struct unconfirmed *entry = &waiting[behind_waiting++ % UNCONFIRMED_MAX];
        *entry = (struct unconfirmed){client, frames, end + used + size};
    }
    return size;
}

/* Answers all that the slave has. */
static void confirm(uint64_t end) {
    while (first_waiting != behind_waiting) {
        struct unconfirmed *entry = &waiting[first_waiting % UNCONFIRMED_MAX];
        if (entry->end > end) return;
        first_waiting++;
        struct client *client = entry->client;
        if (client->descriptor == NOBODY) continue;
        if (!send_all(client->descriptor, answers, (size_t)entry->frames * answer_bytes))
            forget(client);
    }
}

/* How much the slave has, by the last it said. */
static uint64_t heard(int link) {
    static char unread[1 << 12];
    static size_t kept;
    ssize_t size = recv(link, unread + kept, sizeof unread - kept, 0);
    if (size <= 0) give_up("the slave is gone");
    size_t whole = (kept + size) / 8 * 8, all = kept + size;
    uint64_t end = 0;
    if (whole) memcpy(&end, unread + whole - 8, 8);
    memmove(unread, unread + whole, all - whole);
    kept = all - whole;
    return end;
}

static void read_answer(const char *path) {
    int file = open(path, O_RDONLY);
    ssize_t size = read(file, answers, ANSWER_MAX);
    if (size <= 0) give_up(path);
    answer_bytes = size;
    for (size_t at = size; at + size <= OUTPUT_BYTES; at += size)
        memcpy(answers + at, answers, size);
}

int main(int count, char **arguments) {
    if (count != 4) {
        fprintf(stderr, "usage: pair FOLDER PORT ANSWER\n");
        return 2;
    }
    read_answer(arguments[3]);
    int link = start_slave(arguments[1]), log = open_log(arguments[1], "master");
    int listener = listen_at(atoi(arguments[2])), poller = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN}, events[EVENTS_MAX];
    event.data.ptr = &listener;
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event);
    event.data.ptr = &link;
    epoll_ctl(poller, EPOLL_CTL_ADD, link, &event);
    for (uint64_t end = 0;;) {
        int ready = epoll_wait(poller, events, EVENTS_MAX, -1);
        size_t size = 0;
        for (int i = 0; i < ready; i++) {
            void *who = events[i].data.ptr;
            if (who == &link) {
                confirm(heard(link));
            } else if (who == &listener) {
                struct client *client = free_client();
                client->descriptor = without_delay(accept(listener, NULL, NULL));
                event.data.ptr = client;
                epoll_ctl(poller, EPOLL_CTL_ADD, client->descriptor, &event);
            } else if (size + CHUNK_BYTES <= GROUP_BYTES) {
                size += take(who, size, end);
            }
        }
        if (size == 0) continue;
        append(log, group, size);
        end += size;
        if (!send_all(link, group, size)) give_up("the slave is gone");
    }
}
