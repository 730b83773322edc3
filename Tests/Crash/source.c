// Gives a process an address of its own on the loopback interface (LD_PRELOAD), in SOURCE_ADDRESS: whoever it connects to there
// can tell it from others.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

int connect(int descriptor, const struct sockaddr *address, socklen_t length) {
    static int (*next)(int, const struct sockaddr *, socklen_t);
    if (!next) next = (int (*)(int, const struct sockaddr *, socklen_t))dlsym(RTLD_NEXT, "connect");
    const struct sockaddr_in *target = (const struct sockaddr_in *)address;
    const char *own = getenv("SOURCE_ADDRESS");
    int error = errno, kind = 0;
    socklen_t size = sizeof kind;
    if (own && length >= sizeof *target && target->sin_family == AF_INET && ntohl(target->sin_addr.s_addr) >> 24 == 127
        && !getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &kind, &size) && kind == SOCK_STREAM) {
        struct sockaddr_in source = {.sin_family = AF_INET, .sin_addr.s_addr = inet_addr(own)};
        int one = 1;
        setsockopt(descriptor, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one);
        // If this fails, the process is not told apart, which the attack notices.
        bind(descriptor, (const struct sockaddr *)&source, sizeof source);
    }
    errno = error;
    return next(descriptor, address, length);
}
